//! A memory group that can be swapped out: to a file on the disk, by a loop device that is slow enough to be waited
//! for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use brisk_requires::{Capability, available, skip};
use brisk_sense::Sense;

/// A memory group of version 1, and a swap area of its own.
pub(crate) struct SwappedOut {
    group: PathBuf,
    area: PathBuf,
    _dir: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

/// Swap areas are the kernel's, so one test has one at a time.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static SWAP: Mutex<()> = Mutex::new(());
    SWAP.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run(program: &str, words: &[&str]) -> bool {
    Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
}

impl SwappedOut {
    /// `None`, recorded as skipped, where the machine cannot do it or swaps already.
    pub(crate) fn make(name: &str) -> Option<Self> {
        available(&[
            Capability::Swap,
            Capability::MemoryV1,
            Capability::Program("mkswap"),
            Capability::Program("swapon"),
        ])?;
        let alone = one_at_a_time();
        let sense = Sense::default();
        if !sense.swaps().is_ok_and(|areas| areas.is_empty()) {
            skip(Capability::SwapFile, "another swap area is in use");
            return None;
        }
        // A file in memory cannot be swap; the build folder is on the disk.
        let here = std::env::current_exe().expect("this test");
        let dir = tempfile::tempdir_in(here.parent().expect("a folder")).expect("temporary directory");
        let area = dir.path().join("swap");
        let path = area.to_str().expect("UTF-8");
        let made = run("dd", &["if=/dev/zero", &format!("of={path}"), "bs=1M", "count=128"])
            && run("chmod", &["600", path])
            && run("mkswap", &[path])
            && run("swapon", &[path]);
        if !made {
            skip(Capability::SwapFile, "a file on this disk cannot be swap");
            return None;
        }
        let root = sense.cgroups().expect("groups").v1_with("memory").expect("required").mount_point.clone();
        let group = root.join(format!("brisk-test-{name}-{}", std::process::id()));
        fs::create_dir(&group).expect("made");
        Some(Self { group, area, _dir: dir, _alone: alone })
    }

    pub(crate) fn group(&self) -> &Path {
        &self.group
    }

    /// Reclaims all that can be reclaimed.
    pub(crate) fn swap_out(&self) {
        // The kernel gives up after some rounds; what is under writeback then is reclaimed by the next.
        for _ in 0..5 {
            let _ = fs::write(self.group.join("memory.force_empty"), "0");
        }
    }
}

impl Drop for SwappedOut {
    fn drop(&mut self) {
        run("swapoff", &[self.area.to_str().unwrap_or_default()]);
        let _ = fs::remove_dir(&self.group);
    }
}
