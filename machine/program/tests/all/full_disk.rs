//! Replacing a file on a full file system.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use brisk_program::files::{Replacement, replace};
use brisk_requires::requires;

/// A tmpfs of 64 KiB.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let size = Some(c"size=64k");
        rustix::mount::mount("tmpfs", dir.path(), "tmpfs", rustix::mount::MountFlags::empty(), size).unwrap();
        Self(dir)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(self.0.path(), rustix::mount::UnmountFlags::DETACH);
    }
}

#[test]
fn a_replacement_that_fails_leaves_the_earlier_file_as_it_was() {
    requires!(Mount);
    let small = Small::mount();
    let file = small.path().join("page.html");
    replace(&file, b"earlier").unwrap();
    let error = replace(&file, &vec![b'x'; 1 << 20]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    let mut streamed = Replacement::begin(&file).unwrap();
    let written = (0..64).try_for_each(|_| streamed.write_all(&[b'y'; 4096])).and_then(|()| streamed.finish());
    assert_eq!(written.unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(fs::read(&file).unwrap(), b"earlier");
    assert_eq!(fs::read_dir(small.path()).unwrap().count(), 1, "an unfinished file stays");
}

#[test]
fn a_block_device_is_not_overwritten() {
    requires!(Loop, Program("losetup"));
    let output = std::process::Command::new("losetup").arg("--find").output().unwrap();
    let device = String::from_utf8(output.stdout).unwrap();
    let error = replace(Path::new(device.trim()), b"x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}
