//! The file behind a loop device: `loop/backing_file` in its directory of /sys.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::fields::split_deleted;

/// Takes the path and the mark ` (deleted)` apart. The path is not escaped, so a file of that very name is misread; the
/// kernel gives no way to tell.
#[must_use]
pub fn parse_backing_file(bytes: &[u8]) -> (PathBuf, bool) {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let (path, deleted) = split_deleted(line);
    (OsString::from_vec(path.to_vec()).into(), deleted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_deleted_file_is_known_by_its_mark() {
        assert_eq!(parse_backing_file(b"/a b\n"), (PathBuf::from("/a b"), false));
        assert_eq!(parse_backing_file(b"/a b (deleted)\n"), (PathBuf::from("/a b"), true));
    }

    proptest! {
        #[test]
        fn any_path_comes_back(path in prop::collection::vec(1u8..=255, 0..60)) {
            let mut line = path.clone();
            line.extend(b" (deleted)\n");
            let (file, deleted) = parse_backing_file(&line);
            prop_assert!(deleted);
            prop_assert_eq!(file.as_os_str().as_bytes(), &path[..]);
        }
    }
}
