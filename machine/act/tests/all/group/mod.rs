//! A control group of a test's own.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use brisk_core::group::GroupKey;

/// A control group of our own below the root of the second version.
pub(crate) struct Group(pub(crate) PathBuf);

impl Group {
    pub(crate) fn new() -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
        let root = mounts.lines().find_map(|line| {
            let mut words = line.split(' ').skip(1);
            let (dir, kind) = (words.next()?, words.next()?);
            (kind == "cgroup2").then_some(dir)
        });
        let parent = Path::new(root.expect("mounted")).join(format!("brisk-act-test-{}", std::process::id()));
        fs::create_dir_all(parent.join("app-test.scope/inner")).expect("root makes groups");
        Self(parent)
    }

    /// The key of the app's group.
    pub(crate) fn key(&self) -> String {
        let inode = fs::metadata(self.0.join("app-test.scope")).expect("a group").ino();
        let of_test = self.0.file_name().and_then(|name| name.to_str()).expect("a name");
        GroupKey::Control { inode, path: &format!("{of_test}/app-test.scope") }.text()
    }

    pub(crate) fn inner(&self) -> PathBuf {
        self.0.join("app-test.scope/inner")
    }

    /// Removes the group and all that is in it.
    pub(crate) fn remove(&self) {
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
        for dir in ["app-test.scope/inner", "app-test.scope", ""] {
            // What was killed takes a moment to leave.
            let is_busy = |error: std::io::Error| error.raw_os_error() == Some(libc::EBUSY);
            brisk_requires::until("the end of a group", || !fs::remove_dir(self.0.join(dir)).is_err_and(is_busy));
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.remove();
    }
}
