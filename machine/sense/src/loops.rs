//! Which file stands behind a loop device: /sys/block/loopN/loop.

use std::path::PathBuf;

use brisk_formats::parse_backing_file;
use serde::{Deserialize, Serialize};

use crate::block::checked_name;
use crate::error::Result;
use crate::machine::Sense;

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

impl Sense {
    /// What the loop device `name` is set to; `None` when it has no file, or is not a loop device.
    ///
    /// # Errors
    /// When `name` is not a name, or the files of /sys are not readable or not understood.
    pub fn loop_backing(&self, name: &str) -> Result<Option<LoopBacking>> {
        let dir = format!("/sys/block/{}/loop", checked_name(name)?);
        let Some(bytes) = self.read_optional(format!("{dir}/backing_file"))? else { return Ok(None) };
        let number = |file| self.number_optional::<u64>(&dir, file);
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
