//! A daemon under a filter of system calls, as a service manager sets one: what is refused costs one part, and what
//! kills it twice is not done again. Needs root and control groups.

use crate::harness;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::Command;

use brisk_api::Resting;
use brisk_api::resting::part;
use brisk_daemon::attempts::CRASHES_MAX;
use brisk_requires::requires;
use brisk_sense::Sense;
use harness::{App, Briskd, place, turn};
use rustix::process::Signal;

const ALL_ENGINES: &str =
    "[engines]\norder = [\"prefetch\", \"smartio\", \"smartstorage\", \"mars\", \"iram\"]\ntrial = false\n";
const PREFETCH: &str = "[engines]\norder = [\"prefetch\"]\ntrial = false\n";

/// What the filter does with a call.
#[derive(Clone, Copy)]
enum Verdict {
    Refuse,
    Kill,
}

/// Has the program run under a filter that lets all calls through but these (seccomp(2)).
fn filter(command: &mut Command, calls: &[libc::c_long], verdict: Verdict) {
    let instruction = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let ends = |k: u32| instruction(libc::BPF_RET | libc::BPF_K, 0, 0, k);
    let verdict = match verdict {
        Verdict::Refuse => libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
        Verdict::Kill => libc::SECCOMP_RET_KILL_PROCESS,
    };
    // The number of the call is the first word of what the filter sees.
    let mut program = vec![instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    for call in calls {
        program.push(instruction(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            0,
            1,
            u32::try_from(*call).expect("small"),
        ));
        program.push(ends(verdict));
    }
    program.push(ends(libc::SECCOMP_RET_ALLOW));
    let install = move || {
        let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
        // SAFETY: both calls take integers and a program that lives through them, and are safe after a fork.
        let installed = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter, 0, 0) == 0
        };
        if installed { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(install) };
}

fn group(name: &str) -> PathBuf {
    let v2 = Sense::default().cgroups().expect("Linux").v2.expect("mounted");
    v2.mount_point.join(format!("app-{name}-{}.scope", std::process::id()))
}

#[test]
fn a_daemon_that_was_killed_twice_in_one_place_does_without_it() {
    requires!(Root, Cgroup2);
    // Each sees the apps of the other.
    let _turn = turn();
    let start = |dir| Briskd::start_as(dir, &[], |command| filter(command, &[libc::SYS_fanotify_init], Verdict::Kill));
    let killed_by_a_launch = |daemon: Briskd, name: &str| {
        let app = App::new(&group(name)).expect("a group");
        app.begin();
        let (status, dir) = daemon.ended();
        assert_eq!(status.signal(), Some(libc::SIGSYS), "{status}");
        dir
    };
    let mut dir = place(&[], PREFETCH);
    for nth in 0..CRASHES_MAX {
        let daemon = start(dir);
        dir = killed_by_a_launch(daemon, &format!("killing{nth}"));
    }
    // It stays so over starts, and launches are met all the same.
    let rests = [Resting { part: part::OPENED_FILES.to_owned(), crashes: CRASHES_MAX }];
    for nth in 0..2 {
        let daemon = start(dir);
        daemon.line("opened files rests: briskd has died in it 2 times");
        let app = App::new(&group(&format!("resting{nth}"))).expect("a group");
        app.begin();
        let status = daemon.status_when(|status| status.counts.launches >= 1 && status.counts.rounds > 2);
        assert_eq!(status.resting, rests);
        let (ended, place) = daemon.end(Signal::TERM);
        assert!(ended.success(), "{ended}");
        dir = place;
    }
    // Reading the configuration is no word about it.
    let daemon = start(dir);
    daemon.client().answer("Reload", &[]).expect("usable");
    assert_eq!(daemon.status().resting, rests);
    daemon.client().answer("Reload", &[("retry", true.into())]).expect("usable");
    killed_by_a_launch(daemon, "told");
}

#[test]
fn a_call_that_is_refused_costs_a_part_and_never_the_daemon() {
    requires!(Root, Cgroup2);
    let _turn = turn();
    let watches = "files that apps read without mapping them are not known";
    for (call, lack) in [
        (libc::SYS_fanotify_init, Some(watches)),
        (libc::SYS_mincore, Some(watches)),
        (libc::SYS_inotify_init1, Some("apps with a control group of their own are not seen")),
        (libc::SYS_pidfd_open, None),
        (libc::SYS_process_madvise, None),
        (libc::SYS_process_vm_readv, None),
        (libc::SYS_fadvise64, None),
        (libc::SYS_ioprio_set, None),
        (libc::SYS_timerfd_create, None),
        (libc::SYS_eventfd2, Some("thread")),
    ] {
        let daemon =
            Briskd::start_as(place(&[], ALL_ENGINES), &[], |command| filter(command, &[call], Verdict::Refuse));
        let app = App::new(&group(&format!("refused{call}"))).expect("a group");
        app.begin();
        let is_told = |trouble: &Vec<String>| {
            lack.is_none_or(|lack| trouble.iter().any(|one| one.contains(lack) && one.contains("permi")))
        };
        let sees_launches = call != libc::SYS_inotify_init1;
        let status = daemon.status_when(|status| {
            is_told(&status.trouble) && (!sees_launches || (status.counts.launches >= 1 && status.counts.rounds > 2))
        });
        assert!(status.resting.is_empty(), "{call}: {:?}", status.resting);
        let (ended, _) = daemon.end(Signal::TERM);
        assert!(ended.success(), "{call}: {ended}");
    }
}
