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
//! A program can also be started without any right ([`without_rights`]).
//!
//! Properties: `a_program_ends_when_the_process_that_started_it_is_killed`,
//! `a_program_whose_parent_has_ended_is_not_executed`.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::io::Errno;
pub use rustix::process::Signal;
use rustix::process::{Pid, getpid, getppid, set_parent_process_death_signal};
use rustix::thread::{CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities, set_no_new_privs};

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
