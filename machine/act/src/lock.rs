//! One daemon at a time: a file that is locked while it runs, and says who holds it.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;

use crate::Error;

const FILE: &str = "briskd.lock";

/// The right to be the daemon, until it is dropped. The kernel takes it back from a process that dies.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock in `run_dir` (`/run/brisk`), which is made if it is missing.
    ///
    /// # Errors
    /// When another process holds it (the error says which), or the file cannot be made.
    pub fn acquire(run_dir: &Path) -> Result<Self, Error> {
        let path = run_dir.join(FILE);
        let failed = |source| Error::Lock { path: path.clone(), source };
        crate::make_run_dir(run_dir).map_err(failed)?;
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        // Of this process alone: what it starts would keep that of the file (flock) until it has become its program.
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::AGAIN | Errno::ACCESS) => {
                let mut text = String::new();
                let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
                return Err(Error::Locked { path, pid });
            }
            Err(errno) => return Err(failed(errno.into())),
        }
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(failed)?;
        Ok(Self { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The file stays: to remove it would let two hold locks of one name.
        let _ = self.file.set_len(0);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Where a child of [`holder`] waits between fork and exec, with all descriptors of its parent.
    fn before_exec() -> std::io::Result<()> {
        while rustix::io::read(rustix::stdio::stdin(), &mut [0; 16])? > 0 {}
        Err(std::io::ErrorKind::Interrupted.into())
    }

    #[test]
    #[ignore = "holds a lock, with a child that has not become its program, until another test kills it"]
    fn holder() {
        let lock = Lock::acquire(Path::new(&std::env::var_os("HOLDER").expect("a folder"))).expect("no other has it");
        let mut command = std::process::Command::new("true");
        // SAFETY: the closure makes one system call between fork and exec; it does not allocate or lock.
        unsafe { std::os::unix::process::CommandExt::pre_exec(&mut command, before_exec) };
        println!("\nholds");
        let _ = command.spawn();
        drop(lock);
    }

    #[test]
    fn the_second_is_told_who_is_the_first_and_a_child_of_a_killed_one_holds_nothing() {
        use std::io::BufRead as _;
        use std::process::{Command, Stdio};
        let dir = tempfile::tempdir().expect("temporary directory");
        let run_dir = dir.path().join("run");
        let mut first = Command::new(std::env::current_exe().expect("this program"))
            .args(["--ignored", "--exact", "lock::tests::holder", "--nocapture"])
            .env("HOLDER", &run_dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let stdout = std::io::BufReader::new(first.stdout.take().expect("a pipe"));
        let child_waits_for = first.stdin.take();
        let _limit = brisk_requires::killed_late(first.id(), "its lock");
        assert!(stdout.lines().map_while(Result::ok).any(|line| line == "holds"));
        let refused = Lock::acquire(&run_dir).expect_err("one at a time");
        assert!(matches!(refused, Error::Locked { pid: Some(pid), .. } if pid == first.id()), "{refused}");
        assert!(refused.to_string().contains(&format!("as process {}", first.id())), "{refused}");
        // Its child is on its way to its program.
        let children = format!("/proc/{0}/task", first.id());
        let has_child = || {
            let tasks = fs::read_dir(&children).into_iter().flatten().flatten();
            tasks.into_iter().any(|task| {
                fs::read_to_string(task.path().join("children")).is_ok_and(|children| !children.trim().is_empty())
            })
        };
        while !has_child() {
            std::thread::yield_now();
        }
        first.kill().and_then(|()| first.wait()).expect("it ran");
        drop(Lock::acquire(&run_dir).expect("the first has gone"));
        drop(child_waits_for);
    }

    #[test]
    fn the_run_folder_is_the_same_whoever_makes_it_first() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().expect("temporary directory");
        let mode = |dir: &Path| fs::metadata(dir).expect("made").permissions().mode() & 0o7777;
        let (by_lock, by_journal) = (dir.path().join("one/run"), dir.path().join("two/run"));
        let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        drop(Lock::acquire(&by_lock).expect("made"));
        drop(crate::Journal::open("test", &crate::Paths::with_run_dir(&by_journal)).expect("made"));
        rustix::process::umask(before);
        for run_dir in [by_lock, by_journal] {
            assert_eq!((mode(&run_dir), mode(run_dir.parent().expect("a parent"))), (0o755, 0o755));
        }
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let file = dir.path().join("file");
        fs::write(&file, "").expect("fixture");
        assert!(matches!(Lock::acquire(&file.join("run")), Err(Error::Lock { .. })));
    }
}
