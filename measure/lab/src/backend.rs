//! The two ways by which the emulated device reaches the kernel's block layer, and the choice between them.
//!
//! A FUSE file under a loop device ([`crate::fuse`], [`crate::loopdev`]) works on every kernel since 5.8. ublk
//! ([`crate::ublk`]) works where the kernel has it, costs less on the way, and takes any queue depth, also those below the
//! loop driver's four. Behind both are the same server, model, memory, calibration and judgement.

use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::Path;

use brisk_lab_client::state::{StateDir, Way};
use brisk_sense::Sense;

use crate::error::{Error, Result};
use crate::{fuse, loopdev, ublk};

/// How a new device is to reach the block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// By ublk where it works, else by FUSE.
    #[default]
    Auto,
    /// A FUSE file under a loop device.
    Fuse,
    /// A user-space block device.
    Ublk,
}

impl Backend {
    /// The way that it comes to on this machine.
    ///
    /// # Errors
    /// When the way that is asked for does not exist here, and what to do about it.
    pub(crate) fn choose(self) -> Result<Way> {
        let by_ublk = || ublk::Control::open().map(|_| Way::Ublk { mark: mark() });
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
            Ok(Way::Fuse)
        };
        match self {
            Self::Auto => by_ublk().or_else(|_| by_fuse()),
            Self::Fuse => by_fuse(),
            Self::Ublk => by_ublk(),
        }
    }
}

/// A random number that no other device bears; zero is what others leave there.
fn mark() -> u64 {
    std::hash::RandomState::new().build_hasher().finish() | 1
}

/// Kernel names of the block devices of the lab device in `dir`, by what the kernel says: one, or none.
pub(crate) fn block_devices(sense: &Sense, dir: &StateDir) -> Result<Vec<String>> {
    match dir.way() {
        Way::Fuse => loopdev::carriers(sense, &dir.backing_file()),
        Way::Ublk { mark } => {
            Ok(own_ublk_devices(mark)?.into_iter().filter(|own| own.live).map(ublk::Own::name).collect())
        }
    }
}

/// The devices that bear the mark; none where the driver is gone, and its devices with it.
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
