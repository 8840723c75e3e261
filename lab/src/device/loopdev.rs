//! Loop devices (kernel: include/uapi/linux/loop.h): attach, check, detach.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use brisk_profile::lab_client::state::FILE_NAME;
use brisk_sense::Sense;

use crate::device::error::{Error, Result, io as failed};
use crate::device::wire;

/// The device file that allocates loop devices.
pub(crate) const DEV_LOOP_CONTROL: &str = "/dev/loop-control";

const LOOP_CLR_FD: libc::c_ulong = 0x4c01;
const LOOP_SET_STATUS64: libc::c_ulong = 0x4c04;
const LOOP_GET_STATUS64: libc::c_ulong = 0x4c05;
const LOOP_CONFIGURE: libc::c_ulong = 0x4c0a;
const LOOP_CTL_GET_FREE: libc::c_ulong = 0x4c82;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;
/// Other processes may take the free device first; after this many attempts another reason is assumed.
const ATTEMPTS: u32 = 64;

/// `struct loop_info64`.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    sizelimit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// Attaches a free loop device to `file`: direct I/O, blocks of 4 KiB. Returns its kernel name, such as `loop3`.
pub(crate) fn attach(file: BorrowedFd<'_>) -> Result<String> {
    let control = OpenOptions::new().read(true).write(true).open(DEV_LOOP_CONTROL).map_err(|source| {
        let remedy = "the kernel needs CONFIG_BLK_DEV_LOOP (try: modprobe loop)";
        Error::NoDeviceFile { path: DEV_LOOP_CONTROL.into(), remedy, source }
    })?;
    // The kernel claims a device exclusively before it sees that it is attached already: of two that got the same
    // number, the later one would have the first refused what it opens exclusively (resize2fs).
    rustix::fs::flock(&control, rustix::fs::FlockOperation::LockExclusive)
        .map_err(failed("wait for others that attach loop devices"))?;
    let mut refusal = io::Error::from_raw_os_error(libc::EBUSY);
    for _ in 0..ATTEMPTS {
        // SAFETY: LOOP_CTL_GET_FREE takes no argument.
        let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
        if number < 0 {
            return Err(failed("get a free loop device")(io::Error::last_os_error()));
        }
        let name = format!("loop{number}");
        let device = OpenOptions::new().read(true).write(true).open(node(&name)).map_err(|source| {
            let remedy = "the kernel allocated this number, but /dev has no such file (is devtmpfs mounted on /dev?)";
            Error::NoDeviceFile { path: node(&name), remedy, source }
        })?;
        match configure(&device, file) {
            Ok(()) => return Ok(name),
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => refusal = error,
            Err(error) => return Err(failed(format!("attach /dev/{name}"))(error)),
        }
    }
    Err(failed("attach a loop device: each free one was taken by another process first")(refusal))
}

fn configure(device: &File, file: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: all fields are integers or arrays of them, for which zero is a value.
    let mut config: LoopConfig = unsafe { std::mem::zeroed() };
    config.fd = file.as_raw_fd() as u32;
    config.block_size = 4096;
    config.info.flags = LO_FLAGS_DIRECT_IO;
    // SAFETY: the argument points to a loop_config of the kernel's layout that outlives the call.
    match unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Detaches the device unless another process has it open. Then it is detached when the returned handle is dropped, and
/// nothing can open it meanwhile; its queue still has its settings. `None` when it is open elsewhere: it stays
/// attached, as it was.
///
/// For an open device the kernel defers LOOP_CLR_FD to the last close by setting a flag, which is cleared again here. A
/// device that does not carry a file of the file system `file_system` any more counts as detached.
pub(crate) fn detach_if_unused(name: &str, file_system: Option<u64>) -> io::Result<Option<File>> {
    let device = OpenOptions::new().read(true).open(node(name))?;
    if has_left(&device, file_system) {
        return Ok(Some(device));
    }
    let detached = |error: &io::Error| error.raw_os_error() == Some(libc::ENXIO);
    // SAFETY: LOOP_CLR_FD takes no argument.
    if unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CLR_FD) } != 0 {
        let error = io::Error::last_os_error();
        return if detached(&error) { Ok(Some(device)) } else { Err(error) };
    }
    // The kernel reports the status of an attached device only.
    let mut info = match status(&device) {
        Ok(info) => info,
        Err(error) if detached(&error) => return Ok(Some(device)),
        Err(error) => return Err(error),
    };
    info.flags &= !LO_FLAGS_AUTOCLEAR;
    // SAFETY: the argument points to a loop_info64 of the kernel's layout that outlives the call.
    match unsafe { libc::ioctl(device.as_raw_fd(), LOOP_SET_STATUS64, &raw const info) } {
        0 => Ok(None),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether the open device carries no file of the lab's file system: it was detached since its name was found, and
/// another program may have it by now or any moment. One that carries such a file keeps it while it is open.
fn has_left(device: &File, file_system: Option<u64>) -> bool {
    file_system.is_some_and(|lab| match status(device) {
        Ok(info) => info.device != lab,
        // Of an attached device with a dead server the status cannot be read either.
        Err(error) => error.raw_os_error() == Some(libc::ENXIO),
    })
}

fn status(device: &File) -> io::Result<LoopInfo> {
    // SAFETY: all fields are integers or arrays of them, for which zero is a value.
    let mut info: LoopInfo = unsafe { std::mem::zeroed() };
    // SAFETY: the argument points to a loop_info64 of the kernel's layout that outlives the call.
    match unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64, &raw mut info) } {
        0 => Ok(info),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Processes that have the device open, by name and id; those of other users only for root.
pub(crate) fn users(sense: &Sense, name: &str) -> Result<Vec<String>> {
    let node = node(name);
    let has_open = |pid: &u32| sense.open_files(*pid).ok().flatten().is_some_and(|files| files.contains(&node));
    let own = std::process::id();
    let users = sense.process_ids()?.into_iter().filter(|pid| *pid != own && has_open(pid));
    let name = |pid| sense.process_stat(pid).ok().flatten().map(|stat| stat.comm.to_string_lossy().into_owned());
    Ok(users.map(|pid| format!("{} ({pid})", name(pid).unwrap_or_default())).collect())
}

/// Detaches the device if it still carries a file of the file system `file_system`; the kernel completes it when the
/// last user closes it.
pub(crate) fn detach(name: &str, file_system: Option<u64>) -> io::Result<()> {
    let device = OpenOptions::new().read(true).open(node(name))?;
    if has_left(&device, file_system) {
        return Ok(());
    }
    // SAFETY: LOOP_CLR_FD takes no argument.
    match unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CLR_FD) } {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            gone if gone.raw_os_error() == Some(libc::ENXIO) => Ok(()),
            error => Err(error),
        },
    }
}

/// Whether a file system, swap or another exclusive user holds the device. One that carries no file of `file_system`
/// any more is not examined: its new user would be refused what it opens exclusively meanwhile.
pub(crate) fn is_held(name: &str, file_system: Option<u64>) -> io::Result<bool> {
    let device = OpenOptions::new().read(true).open(node(name))?;
    if has_left(&device, file_system) {
        return Ok(false);
    }
    match OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(node(name)) {
        Ok(_) => Ok(false),
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(true),
        Err(error) => Err(error),
    }
}

/// The loop devices attached to `file`.
pub(crate) fn carriers(sense: &Sense, file: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for name in sense.block_device_names()? {
        if name.starts_with("loop") && sense.loop_backing(&name)?.is_some_and(|backing| backing.file == file) {
            names.push(name);
        }
    }
    Ok(names)
}

/// Whether the device is attached to the lab's file of the file system with this number, even though the file has no
/// path any more, after an external unmount. The number stays allocated as long as the device uses the file system.
pub(crate) fn carries_unmounted(sense: &Sense, name: &str, file_system: u64) -> Result<bool> {
    let bare = Path::new("/").join(FILE_NAME);
    if sense.loop_backing(name)?.is_none_or(|backing| backing.file != bare) {
        return Ok(false);
    }
    let device = File::open(node(name)).map_err(failed(format!("open /dev/{name}")))?;
    Ok(status(&device).is_ok_and(|info| info.device == file_system && info.inode == wire::FILE))
}

/// The device file of a kernel name.
pub(crate) fn node(name: &str) -> PathBuf {
    Path::new("/dev").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structs_have_the_kernels_size() {
        assert_eq!(std::mem::size_of::<LoopInfo>(), 232);
        assert_eq!(std::mem::size_of::<LoopConfig>(), 304);
    }
}
