//! The machine's memory as one sparse file: what belongs to its kernel, the flash, and what the flash's model needs.
//!
//! ```text
//! 0        KERNEL_MIB          + flash            + MODEL_MIB
//! | kernel | data of the flash | state of its model | packages, while the image is made |
//! ```
//!
//! The part of the kernel is a hole: a machine takes as much of it as `mem=` says, so the file of an image fits
//! machines of every size. [`KERNEL_MIB`] is where QEMU divides a PC's memory when it has more than that.

/// Memory below the flash: the most that a phone may have.
pub const KERNEL_MIB: u64 = 2048;
/// Room for the state of the flash's model, which depends on its capacity.
pub const MODEL_MIB: u64 = 64;
/// Capacity of a phone's flash.
pub const FLASH_MIB: u64 = 3072;
/// Pages of the flash in a MiB.
pub const PAGES_PER_MIB: u64 = 256;

/// Size of the file of an image, with `packages_mib` behind it.
#[must_use]
pub fn file_mib(packages_mib: u64) -> u64 {
    KERNEL_MIB + FLASH_MIB + MODEL_MIB + packages_mib
}

/// Where the packages begin, from the begin of the flash.
#[must_use]
pub fn packages_at_mib() -> u64 {
    FLASH_MIB + MODEL_MIB
}
