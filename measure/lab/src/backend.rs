//! The border between the emulated device and the kernel's block layer.
//!
//! On this side of the border: requests with an offset and a length, and replies at their instants ([`crate::emulated`]).
//! On the other: how requests get here, and how a block device comes to be and goes away. Today there is one way, a FUSE
//! file under a loop device ([`crate::fuse`], [`crate::loopdev`]), because every kernel since 5.8 has it. On kernels with
//! ublk the same requests can come through io_uring commands on `/dev/ublkcN` with less overhead; that way is to be
//! built and tested in the virtual machine.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// How the device reaches the block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// A FUSE file under a loop device.
    #[default]
    Fuse,
    /// A user-space block device.
    Ublk,
}

const UBLK_CONTROL: &str = "/dev/ublk-control";

impl Backend {
    /// Whether this machine and this version of brisk can do it.
    pub(crate) fn check(self) -> Result<()> {
        match (self, Path::new(UBLK_CONTROL).exists()) {
            (Self::Fuse, _) => Ok(()),
            (Self::Ublk, true) => Err(Error::Backend(
                "the lab does not serve ublk yet, although this kernel has it; use --backend fuse".to_owned(),
            )),
            (Self::Ublk, false) => Err(Error::Backend(format!(
                "this kernel has no ublk ({UBLK_CONTROL} is missing: CONFIG_BLK_DEV_UBLK, module ublk_drv), and the lab does \
                 not serve it yet; use --backend fuse"
            ))),
        }
    }
}
