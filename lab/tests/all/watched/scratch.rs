//! A control group for one test, gone with all that runs in it when the test ends.

#![allow(clippy::print_stderr, reason = "a test reports to its output")]

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A control group of the second version.
pub(crate) struct ScratchGroup {
    path: PathBuf,
}

impl ScratchGroup {
    /// Makes one below `parent`.
    pub(crate) fn below(parent: &Path) -> io::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("brisk-probes-test-{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A command that will run in the group from its first instruction on.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> io::Result<Command> {
        let members = fs::File::options().write(true).open(self.path.join("cgroup.procs"))?;
        let mut command = Command::new(program);
        // SAFETY: between fork and exec it only writes one byte to a file that is open.
        unsafe {
            command.pre_exec(move || rustix::io::write(&members, b"0").map(drop).map_err(io::Error::from));
        }
        Ok(command)
    }
}

impl Drop for ScratchGroup {
    fn drop(&mut self) {
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
        // Those who were killed leave the group when they are reaped, by this process or by init.
        for _ in 0..1000 {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::yield_now();
        }
        eprintln!("could not remove {}", self.path.display());
    }
}

/// Where groups of the second version are mounted.
pub(crate) fn mounted() -> io::Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let found = mounts.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        system.starts_with("cgroup2 ").then(|| mount.split(' ').nth(4).map(PathBuf::from))?
    });
    found.ok_or_else(|| io::Error::other("no cgroup2 is mounted"))
}
