//! One daemon at a time: a file that is locked while it runs, and says who holds it.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

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
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
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

    #[test]
    fn the_second_is_told_who_is_the_first() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let run_dir = dir.path().join("run");
        let first = Lock::acquire(&run_dir).expect("no other process has it");
        let refused = Lock::acquire(&run_dir).expect_err("one at a time");
        assert!(matches!(refused, Error::Locked { pid: Some(pid), .. } if pid == std::process::id()));
        assert!(refused.to_string().contains(&format!("as process {}", std::process::id())), "{refused}");
        drop(first);
        drop(Lock::acquire(&run_dir).expect("the first has gone"));
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
