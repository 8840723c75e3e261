//! The run folder, in which daemon and laboratory keep locks, sockets, journals and devices: made in one place, so that
//! it is the same whichever part makes it first.
//!
//! Every user may pass through it, whatever the file mode mask of the process is: the control socket in it is for a
//! group, and its own mode decides who may connect. What is root's alone has a folder of its own in it. The group is
//! the maker's.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

/// As `RuntimeDirectoryMode=` of the service.
const MODE: u32 = 0o755;

/// Makes the run folder and missing folders above it. A folder that exists stays as it is.
///
/// # Errors
/// When it cannot be made, or is not a folder.
pub fn make_run_dir(run_dir: &Path) -> io::Result<()> {
    if let Some(parent) = run_dir.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.exists()) {
        make_run_dir(parent)?;
    }
    match DirBuilder::new().mode(MODE).create(run_dir) {
        Ok(()) => fs::set_permissions(run_dir, Permissions::from_mode(MODE)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && run_dir.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_exists_keeps_its_mode() {
        let dir = tempfile::tempdir().expect("temporary directory");
        fs::set_permissions(dir.path(), Permissions::from_mode(0o700)).expect("changed");
        make_run_dir(dir.path()).expect("it is there");
        assert_eq!(fs::metadata(dir.path()).expect("there").permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_file_is_no_folder() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        assert_eq!(make_run_dir(file.path()).expect_err("a file").kind(), io::ErrorKind::AlreadyExists);
        assert!(make_run_dir(&file.path().join("run")).is_err());
    }
}
