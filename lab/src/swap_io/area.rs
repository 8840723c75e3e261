//! The swap area that is recorded.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use brisk_sense::{Sense, Swap};

use crate::swap_io::error::{Error, Result};

/// A swap area in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Area {
    /// Number of its block device, as the kernel encodes it.
    pub device: u32,
    /// Its slots, with that of the header.
    pub slots: u32,
    /// Whether it is the only area in use: then all swapped pages are in it.
    pub is_sole: bool,
}

impl Area {
    /// Finds the area at a path.
    ///
    /// # Errors
    /// When it is not in use, on no block device of its own, or shares that with another area.
    pub fn find(sense: &Sense, path: &Path) -> Result<Self> {
        let areas = sense.swaps()?;
        let resolved = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let is_it = |area: &&Swap| area.path == path || area.path == resolved;
        let Some(area) = areas.iter().find(is_it) else {
            let names: Vec<String> = areas.iter().map(|area| area.path.display().to_string()).collect();
            let in_use = if names.is_empty() { "is none".to_owned() } else { format!("are {}", names.join(", ")) };
            return Err(Error::NoArea { path: path.to_owned(), in_use });
        };
        let device = device_of(&area.path)?.ok_or_else(|| Error::NoDevice(area.path.clone()))?;
        for other in areas.iter().filter(|other| other.path != area.path) {
            // An area that cannot be examined is on no device that could be confused.
            if device_of(&other.path).ok().flatten() == Some(device) {
                return Err(Error::SharedDevice { path: area.path.clone(), other: other.path.clone() });
            }
        }
        let page_bytes = rustix::param::page_size() as u64;
        // The kernel counts the slots without that of the header.
        let slots = area.size_bytes / page_bytes + 1;
        let most = u32::MAX;
        let too_large = |_| Error::TooLarge { path: area.path.clone(), slots, most };
        Ok(Self { device, slots: u32::try_from(slots).map_err(too_large)?, is_sole: areas.len() == 1 })
    }
}

/// The block device of a device node or file, as the kernel encodes numbers; `None` for a file without one.
fn device_of(path: &Path) -> Result<Option<u32>> {
    let metadata = fs::metadata(path).map_err(|source| Error::Area { path: path.to_owned(), source })?;
    let number = if metadata.file_type().is_block_device() { metadata.rdev() } else { metadata.dev() };
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    Ok((major != 0).then_some(major << 20 | minor))
}
