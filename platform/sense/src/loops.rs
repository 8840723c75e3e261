//! Which file stands behind a loop device: /sys/block/loopN/loop.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Sense;
use crate::block::checked_name;
use crate::error::Result;
use crate::fields;

/// What a loop device is set to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopBacking {
    /// The file, as the kernel prints it, without the mark of a deleted one.
    pub file: PathBuf,
    /// Whether the kernel says that the file was deleted.
    pub deleted: bool,
    /// Where in the file the device begins.
    pub offset_bytes: u64,
    /// Size if limited, else 0.
    pub size_limit_bytes: u64,
    /// Whether it goes away with its last user.
    pub autoclear: bool,
    /// Whether it reads and writes the file past the page cache.
    pub direct_io: bool,
}

/// Takes the path and the mark ` (deleted)` apart. The path is not escaped, so a file of that very name is misread; the
/// kernel gives no way to tell.
fn parse_backing_file(bytes: &[u8]) -> (PathBuf, bool) {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let (path, deleted) = match line.strip_suffix(b" (deleted)") {
        Some(path) => (path, true),
        None => (line, false),
    };
    (OsString::from_vec(path.to_vec()).into(), deleted)
}

impl Sense {
    /// What the loop device `name` is set to; `None` when it has no file, or is not a loop device.
    ///
    /// # Errors
    /// When `name` is not a name, or the files of /sys are not readable or not understood.
    pub fn loop_backing(&self, name: &str) -> Result<Option<LoopBacking>> {
        let dir = format!("/sys/block/{}/loop", checked_name(name)?);
        let Some(bytes) = self.read_optional(format!("{dir}/backing_file"))? else { return Ok(None) };
        let number = |file: &'static str| {
            self.parse_optional(format!("{dir}/{file}"), |bytes| fields::only_number::<u64>(file, bytes))
        };
        let (file, deleted) = parse_backing_file(&bytes);
        Ok(Some(LoopBacking {
            file,
            deleted,
            offset_bytes: number("offset")?.unwrap_or(0),
            size_limit_bytes: number("sizelimit")?.unwrap_or(0),
            autoclear: number("autoclear")?.unwrap_or(0) != 0,
            direct_io: number("dio")?.unwrap_or(0) != 0,
        }))
    }
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
