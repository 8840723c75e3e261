//! Programs that end when the process that started them ends, however it ends.
//!
//! A process that is killed (SIGKILL, out of memory) runs no destructor, so a daemon, a display server or a writer that
//! it had started would live on. The kernel's parent-death signal (prctl(2), `PR_SET_PDEATHSIG`) ends such a program.
//! It is set between fork and exec, and the parent may have ended before that, without a signal. The child therefore
//! compares its parent with the process that forked it, and is not executed for another one.
//!
//! What the kernel's signal does not cover: it is sent when the *thread* that started the program ends, so start
//! programs from a thread that stays; a change of user or group and a program with set-user-ID clear it, so set it
//! after such a change; children of the program do not inherit it.
//!
//! A program can also be started without any right ([`without_rights`]), and have mounts of its own
//! ([`with_own_mounts`]), which end with it and its children.
//!
//! Properties: `a_program_ends_when_the_process_that_started_it_is_killed`,
//! `a_program_whose_parent_has_ended_is_not_executed`.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_change};
pub use rustix::process::Signal;
use rustix::process::{Pid, chdir, chroot, fchdir, getpid, getppid, set_parent_process_death_signal};
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, clear_ambient_capability_set, set_capabilities, set_no_new_privs,
};

/// Directories above a changed root; further steps up stay at the top.
const ABOVE_MAX: usize = 512;

/// Lets the program that `command` starts get `signal` when the thread that starts it ends. Steps that change the user
/// belong before this one.
pub fn end_with_parent(command: &mut Command, signal: Signal) {
    tie(command, signal, getpid());
}

fn tie(command: &mut Command, signal: Signal, parent: Pid) {
    // SAFETY: the closure makes two system calls on copied numbers between fork and exec; it does not allocate or lock.
    unsafe {
        command.pre_exec(move || end_with(parent, signal));
    }
}

/// The step of [`end_with_parent`] for a child that is prepared elsewhere: to be called between fork and exec, with the
/// process that forks as `parent`. It allocates nothing and takes no lock.
///
/// # Errors
/// `ESRCH` when `parent` has ended already, so that no signal will come; or what the kernel refuses.
pub fn end_with(parent: Pid, signal: Signal) -> io::Result<()> {
    set_parent_process_death_signal(Some(signal))?;
    // In this order: a parent that ends from here on is noticed by the kernel.
    if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
}

/// The program that `command` starts has no capability, also as root, and gets none by what it executes. It is in a
/// session of its own, whose process group has its id. Root without capabilities owns root's files and
/// no more. Starting the program fails where a right cannot be given up.
pub fn without_rights(command: &mut Command) {
    // SAFETY: the closure makes system calls on constants between fork and exec; it does not allocate or lock.
    unsafe {
        command.pre_exec(give_up_rights);
    }
}

fn give_up_rights() -> io::Result<()> {
    rustix::process::setsid()?;
    // Else root's programs get all of root's rights again when they are executed.
    set_no_new_privs(true)?;
    let none = CapabilitySet::empty();
    match clear_ambient_capability_set() {
        // Linux before 4.3 has no such set.
        Err(Errno::INVAL) | Ok(()) => {}
        Err(errno) => return Err(errno.into()),
    }
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}

/// Gives the program that `command` starts a mount namespace of its own: its mounts are seen by it and its children
/// alone, and end with them. As `unshare --mount --propagation private`, but also where the root directory was changed
/// to one that is no mount point. Takes CAP_SYS_ADMIN, and in such a root CAP_SYS_CHROOT; starting the program fails
/// without.
pub fn with_own_mounts(command: &mut Command) {
    // SAFETY: the closure makes system calls on constants between fork and exec; it does not allocate or lock.
    unsafe {
        command.pre_exec(own_mounts);
    }
}

fn own_mounts() -> io::Result<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    // SAFETY: a namespace of mounts touches no memory; the process has one thread after the fork.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS)? };
    match mount_change(c"/", private) {
        Err(Errno::INVAL) => {}
        done => return Ok(done?),
    }
    // Propagation is a matter of mounts, and the one that holds this root begins above it. Another root, below this
    // one, leaves the way up open.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(c"/", flags, Mode::empty())?;
    let place = rustix::fs::open(c".", flags, Mode::empty())?;
    fchdir(&root)?;
    chroot(c"/proc")?;
    for _ in 0..ABOVE_MAX {
        chdir(c"..")?;
    }
    mount_change(c".", private)?;
    fchdir(&root)?;
    chroot(c".")?;
    fchdir(&place)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::process::Stdio;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{PidfdFlags, pidfd_open};

    use super::*;

    /// Time limit against hangs.
    const LIMIT: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

    #[test]
    #[ignore = "starts a program and waits until another test kills it"]
    fn parent_that_is_killed() {
        let mut command = Command::new("sleep");
        end_with_parent(command.arg("600"), Signal::TERM);
        let mut child = command.spawn().expect("sleep starts");
        println!("\nchild {}", child.id());
        let _ = io::stdin().read(&mut [0]);
        child.kill().and_then(|()| child.wait()).expect("it was not killed");
    }

    #[test]
    fn a_program_without_rights_has_no_capability_and_a_session_of_its_own() {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "grep -E '^(CapEff|CapPrm|NoNewPrivs)' /proc/self/status; cut -d ' ' -f 5 /proc/self/stat; echo $$",
        ]);
        without_rights(&mut command);
        let output = command.output().expect("sh runs");
        let said = String::from_utf8_lossy(&output.stdout);
        let words: Vec<&str> = said.split_whitespace().collect();
        let zero = "0000000000000000";
        assert_eq!(words[..6], ["CapPrm:", zero, "CapEff:", zero, "NoNewPrivs:", "1"], "{said}");
        assert_eq!(words[6], words[7], "its process group is its own: {said}");
    }

    #[test]
    fn a_program_ends_when_the_process_that_started_it_is_killed() {
        let mut parent = Command::new(std::env::current_exe().expect("this program"))
            .args(["--ignored", "--exact", "child::tests::parent_that_is_killed", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(parent.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
        let _limit = brisk_requires::killed_late(parent.id(), "its child");
        let pid = lines.find_map(|line| line.strip_prefix("child ")?.parse().ok()).expect("a process id");
        let child = pidfd_open(Pid::from_raw(pid).expect("not zero"), PidfdFlags::empty()).expect("it runs");
        parent.kill().expect("it runs");
        parent.wait().expect("it ended");
        assert_eq!(poll(&mut [PollFd::new(&child, PollFlags::IN)], Some(&LIMIT)), Ok(1), "{pid} lives on");
    }

    #[test]
    fn mounts_of_a_program_are_its_own_also_in_a_changed_root() {
        use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
        brisk_requires::requires!(Mount, Program("busybox"));
        let dir = tempfile::tempdir().expect("a directory");
        mount("none", dir.path(), "tmpfs", MountFlags::empty(), None::<&std::ffi::CStr>).expect("mounted");
        // What is mounted below it is mounted for all that share it.
        mount_change(dir.path(), MountPropagationFlags::SHARED).expect("changed");
        let root = dir.path().join("root");
        for below in ["proc", "place"] {
            std::fs::create_dir_all(root.join(below)).expect("made");
        }
        let copied = Command::new("sh").args(["-c", "cp \"$(command -v busybox)\" \"$0/busybox\""]).arg(&root).status();
        assert!(copied.expect("sh runs").success());
        let mut command = Command::new("/busybox");
        let script = "/busybox mount -t tmpfs none /place && /busybox touch /place/file && /busybox pwd";
        command.args(["sh", "-c", script]).current_dir(&root);
        let to = std::ffi::CString::new(root.to_str().expect("UTF-8")).expect("no zero byte");
        // SAFETY: a system call on a string that exists.
        unsafe { command.pre_exec(move || Ok(chroot(to.as_c_str())?)) };
        with_own_mounts(&mut command);
        let output = command.output();
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
        unmount(dir.path(), UnmountFlags::DETACH).expect("unmounted");
        let output = output.expect("it starts");
        assert_eq!(
            (String::from_utf8_lossy(&output.stdout).as_ref(), output.status.success()),
            ("/\n", true),
            "{output:?}"
        );
        assert!(!mounts.contains(&format!("{}/place", root.display())), "{mounts}");
    }

    #[test]
    fn a_program_whose_parent_has_ended_is_not_executed() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("executed");
        let mut command = Command::new("touch");
        // As if the process that forked had ended before the child made its first system call.
        tie(command.arg(&file), Signal::TERM, Pid::INIT);
        let error = command.spawn().expect_err("it has another parent");
        assert_eq!(error.raw_os_error(), Some(Errno::SRCH.raw_os_error()));
        assert!(!file.exists());
    }
}
