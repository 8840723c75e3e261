//! The two connections of an emulated device to the kernel's block layer, and the choice between them.
//!
//! A FUSE file under a loop device ([`crate::device::fuse`], [`crate::device::loopdev`]) works on every kernel since
//! 5.8. ublk ([`crate::device::ublk`]) works where the kernel has it, has less overhead, and allows any queue depth,
//! even below the loop driver's minimum of four. Server, model, memory, calibration and fidelity check are the same for
//! both.

use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::Path;

use brisk_profile::lab_client::state::{StateDir, Transport};
use brisk_sense::Sense;

use crate::device::error::{Error, Result};
use crate::device::{fuse, loopdev, ublk};

/// Requested connection of a new device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// ublk where it works, otherwise FUSE.
    #[default]
    Auto,
    /// A FUSE file under a loop device.
    Fuse,
    /// A user-space block device.
    Ublk,
}

impl Backend {
    /// The connection to use on this machine.
    ///
    /// # Errors
    /// When the requested connection is not available, with the remedy.
    pub(crate) fn choose(self) -> Result<Transport> {
        let by_ublk = || ublk::Control::open().map(|_| Transport::Ublk { mark: mark() });
        let by_fuse = || {
            for (path, remedy) in [
                (fuse::DEV_FUSE, "the kernel needs CONFIG_FUSE_FS (try: modprobe fuse)"),
                (loopdev::DEV_LOOP_CONTROL, "the kernel needs CONFIG_BLK_DEV_LOOP (try: modprobe loop)"),
            ] {
                File::options().read(true).write(true).open(path).map_err(|source| Error::NoDeviceFile {
                    path: path.into(),
                    remedy,
                    source,
                })?;
            }
            Ok(Transport::Fuse)
        };
        match self {
            Self::Auto => by_ublk().or_else(|_| by_fuse()),
            Self::Fuse => by_fuse(),
            Self::Ublk => by_ublk(),
        }
    }
}

/// A random number that identifies a device; never zero, the default of other programs.
fn mark() -> u64 {
    std::hash::RandomState::new().build_hasher().finish() | 1
}

/// Kernel names of the block devices of the lab device in `dir`, by what the kernel says: one, or none.
pub(crate) fn block_devices(sense: &Sense, dir: &StateDir) -> Result<Vec<String>> {
    match dir.way() {
        Transport::Fuse => loopdev::carriers(sense, &dir.backing_file()),
        Transport::Ublk { mark } => {
            Ok(own_ublk_devices(mark)?.into_iter().filter(|own| own.live).map(ublk::Own::name).collect())
        }
    }
}

/// The ublk devices with the mark; none without the driver.
pub(crate) fn own_ublk_devices(mark: u64) -> Result<Vec<ublk::Own>> {
    if Path::new(ublk::DEV_CONTROL).exists() { ublk::Control::open()?.own(mark) } else { Ok(Vec::new()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_differ_and_are_never_nothing() {
        assert!(mark() != 0 && mark() != mark());
    }
}
