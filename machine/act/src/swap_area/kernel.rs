//! The kernel's side of swap areas: swapon(2), swapoff(2), and zram devices
//! (Documentation/admin-guide/blockdev/zram.rst).

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use brisk_formats::{Swap, parse_swaps};

use super::{Result, SwapAreaError, area, failed};

/// Flag of swapon(2): a priority is given (include/linux/swap.h).
const SWAP_FLAG_PREFER: i32 = 0x8000;
const CONTROL: &str = "/sys/class/zram-control";

pub(super) fn areas() -> Result<Vec<Swap>> {
    let list = Path::new("/proc/swaps");
    let bytes = fs::read(list).map_err(failed("read", list))?;
    parse_swaps(&bytes).map_err(|error| failed("read", list)(io::Error::other(error)))
}

/// Whether a file or device is an area in use, by whatever name.
pub(super) fn is_on(area: &Path) -> Result<bool> {
    let identity = |path: &Path| {
        let found = fs::metadata(path).ok()?;
        Some(if found.file_type().is_block_device() { (found.rdev(), 0) } else { (found.dev(), found.ino()) })
    };
    let requested = identity(area);
    Ok(areas()?.iter().any(|one| one.path == area || (requested.is_some() && identity(&one.path) == requested)))
}

/// Switches an area on; the highest priority is filled first.
///
/// # Errors
/// When the kernel refuses it.
pub fn switch_on(area: &Path, priority: i32) -> Result<()> {
    let not_on = |source| SwapAreaError::NotOn { path: area.to_owned(), source };
    let path = CString::new(area.as_os_str().as_bytes()).map_err(|error| not_on(error.into()))?;
    // SAFETY: the string ends with a zero byte and outlives the call.
    let done = unsafe { libc::swapon(path.as_ptr(), SWAP_FLAG_PREFER | priority) };
    if done == 0 { Ok(()) } else { Err(not_on(io::Error::last_os_error())) }
}

pub(super) fn switch_off(area: &Path) -> Result<()> {
    let not_off = |source| SwapAreaError::NotOff { path: area.to_owned(), source };
    let path = CString::new(area.as_os_str().as_bytes()).map_err(|error| not_off(error.into()))?;
    // SAFETY: the string ends with a zero byte and outlives the call.
    let done = unsafe { libc::swapoff(path.as_ptr()) };
    if done == 0 { Ok(()) } else { Err(not_off(io::Error::last_os_error())) }
}

/// Distinguishes this start of the kernel from others.
pub(super) fn boot_id() -> Result<String> {
    let path = Path::new("/proc/sys/kernel/random/boot_id");
    fs::read_to_string(path).map(|text| text.trim().to_owned()).map_err(failed("read", path))
}

/// Adds a device of compressed memory; returns its number. The module is loaded where it is not yet, without a device of
/// its own, and stays until the next restart.
///
/// # Errors
/// When the kernel refuses.
pub fn add_zram() -> Result<u32> {
    let path = Path::new(CONTROL).join("hot_add");
    if !path.exists() {
        let mut load = std::process::Command::new("modprobe");
        let output = load.args(["zram", "num_devices=0"]).output().map_err(failed("load zram for", &path))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(failed("load zram for", &path)(io::Error::other(said)));
        }
    }
    let text = fs::read_to_string(&path).map_err(failed("add a zram device by", &path))?;
    text.trim().parse().map_err(|error| failed("add a zram device by", &path)(io::Error::other(error)))
}

/// The device of that number.
#[must_use]
pub fn zram(number: u32) -> PathBuf {
    PathBuf::from(format!("/dev/zram{number}"))
}

/// Sizes it. lz4 is used where the kernel has it: it reads back fastest.
///
/// # Errors
/// When the kernel refuses.
pub fn size_zram(number: u32, size_bytes: u64) -> Result<()> {
    let setting = |name: &str| PathBuf::from(format!("/sys/block/zram{number}/{name}"));
    let size = setting("disksize");
    if fs::read_to_string(&size).is_ok_and(|text| text.trim() != "0") {
        // Of a start that was interrupted.
        let reset = setting("reset");
        fs::write(&reset, "1").map_err(failed("write", &reset))?;
    }
    let algorithm = setting("comp_algorithm");
    let offered = fs::read_to_string(&algorithm).unwrap_or_default();
    if offered.split([' ', '[', ']', '\n']).any(|name| name == "lz4") {
        fs::write(&algorithm, "lz4").map_err(failed("write", &algorithm))?;
    }
    fs::write(&size, size_bytes.to_string()).map_err(failed("write", &size))
}

/// Switches the device off, frees its memory and removes it. One that is gone, or that bears the mark of another
/// program, is left.
pub(super) fn remove_zram(number: u32, uuid: &str) -> Result<()> {
    let device = zram(number);
    let setting = |name: &str| PathBuf::from(format!("/sys/block/zram{number}/{name}"));
    let reset = setting("reset");
    if !reset.exists() {
        return Ok(());
    }
    let is_on = is_on(&device)?;
    match area::uuid_of(&device) {
        Ok(Some(found)) if found == uuid => {}
        // Of a start that was interrupted before the area was made.
        Ok(None) if !is_on => {}
        _ => return Ok(()),
    }
    if is_on {
        switch_off(&device)?;
    }
    free_zram(number)
}

/// Frees the memory of a device that is off, and removes it.
///
/// # Errors
/// When it is in use.
pub fn free_zram(number: u32) -> Result<()> {
    let reset = PathBuf::from(format!("/sys/block/zram{number}/reset"));
    fs::write(&reset, "1").map_err(failed("write", &reset))?;
    let path = Path::new(CONTROL).join("hot_remove");
    fs::write(&path, number.to_string()).map_err(failed("remove a zram device by", &path))
}
