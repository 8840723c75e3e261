//! Rights, tried: each function uses one right in the smallest way that leaves nothing behind.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mount::{MountFlags, UnmountFlags};
use rustix::process::{DumpableBehavior, Gid, Uid};

/// `LOOP_CTL_GET_FREE` of linux/loop.h.
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4c82;
/// `IOPRIO_WHO_PROCESS` and the lowest level of the class `IOPRIO_CLASS_RT` of linux/ioprio.h.
const IOPRIO_WHO_PROCESS: libc::c_int = 1;
const REALTIME: libc::c_int = 1 << 13 | 7;

/// Names a number that no other attempt of this or another process uses.
fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("brisk-attempt-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The number that a system call returned, or its error.
fn returned(number: libc::c_long) -> io::Result<libc::c_long> {
    if number < 0 { Err(io::Error::last_os_error()) } else { Ok(number) }
}

/// Runs `attempt` in a thread of its own, for rights whose use changes the thread.
fn in_a_thread(attempt: fn() -> Result<(), String>) -> Result<(), String> {
    std::thread::spawn(attempt).join().unwrap_or_else(|_| Err("the attempt panicked".to_owned()))
}

fn opens(path: &str) -> Result<(), String> {
    let opened = File::options().read(true).write(true).open(path);
    opened.map(drop).map_err(|error| format!("cannot open {path}: {error}"))
}

/// A file of settings, which is opened and not written.
pub(crate) fn opens_for_writing(path: &str) -> Result<(), String> {
    let opened = File::options().write(true).open(path);
    opened.map(drop).map_err(|error| format!("cannot write {path}: {error}"))
}

pub(crate) fn become_another_user() -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("the user is not root".to_owned());
    }
    // These change the calling thread alone.
    in_a_thread(|| {
        let (user, group) = (Uid::from_raw(65_534), Gid::from_raw(65_534));
        let became = rustix::thread::set_thread_res_gid(group, group, group)
            .and_then(|()| rustix::thread::set_thread_res_uid(user, user, user));
        // The whole process counts as one with secrets from then on, whose /proc/PID/fd its own children may not open.
        let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable);
        became.map_err(|errno| format!("no right to become another user (CAP_SETUID, CAP_SETGID): {errno}"))
    })
}

/// Mounts an empty file system on a folder of its own, and unmounts it.
pub(crate) fn mount() -> Result<(), String> {
    let folder = std::env::temp_dir().join(unique());
    fs::create_dir(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let mounted = rustix::mount::mount("none", &folder, "tmpfs", MountFlags::empty(), None::<&CStr>)
        .and_then(|()| rustix::mount::unmount(&folder, UnmountFlags::DETACH));
    let _ = fs::remove_dir(&folder);
    mounted.map_err(|errno| format!("no right to mount (CAP_SYS_ADMIN): {errno}"))
}

/// The kernel checks the right before the path: an area that does not exist is refused for one or the other.
pub(crate) fn swap() -> Result<(), String> {
    // SAFETY: the path is a string that outlives the call.
    let outcome = unsafe { libc::swapon(c"/nonexistent/swap".as_ptr(), 0) };
    match returned(outcome.into()) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
            Err(format!("no right to switch swap on (CAP_SYS_ADMIN): {error}"))
        }
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Err(format!("this kernel has no swap: {error}")),
        _ => Ok(()),
    }
}

/// Asks for a free loop device, and opens it.
pub(crate) fn loop_device() -> Result<(), String> {
    let control = crate::loop_device::loop_control();
    let control = control.map_err(|error| format!("cannot open /dev/loop-control: {error}"))?;
    // SAFETY: the request takes no argument; the descriptor is open.
    let number = returned(unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) }.into());
    let number = number.map_err(|error| format!("no loop device is free: {error}"))?;
    opens(&format!("/dev/loop{number}"))
}

pub(crate) fn zram() -> Result<(), String> {
    let control = Path::new("/sys/class/zram-control/hot_add");
    if !control.exists() {
        return Err("this kernel has no zram".to_owned());
    }
    // Reading it makes a device: whether it may be read shows in its mode and in the mount.
    let remove = Path::new("/sys/class/zram-control/hot_remove");
    let may = rustix::fs::access(control, rustix::fs::Access::READ_OK)
        .and_then(|()| rustix::fs::access(remove, rustix::fs::Access::WRITE_OK));
    may.map_err(|errno| format!("no right to make zram devices: {errno}"))?;
    swap()
}

pub(crate) fn queue_setting() -> Result<(), String> {
    let devices = fs::read_dir("/sys/block").map_err(|error| format!("cannot read /sys/block: {error}"))?;
    let files = devices.flatten().map(|device| device.path().join("queue/read_ahead_kb"));
    let Some(file) = files.into_iter().find(|file| file.exists()) else {
        return Err("there is no block device with a queue".to_owned());
    };
    opens_for_writing(&file.to_string_lossy())
}

/// Makes a control group below `root`, lets its list of processes be opened, and removes it.
pub(crate) fn group(root: &Path) -> Result<(), String> {
    let group = root.join(unique());
    fs::create_dir(&group)
        .map_err(|error| format!("no right to make control groups in {}: {error}", root.display()))?;
    let opened = opens_for_writing(&group.join("cgroup.procs").to_string_lossy());
    let _ = fs::remove_dir(&group);
    opened
}

pub(crate) fn realtime_io() -> Result<(), String> {
    in_a_thread(|| {
        // SAFETY: the call takes numbers alone; 0 is the calling thread, which ends after it.
        let outcome = unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, REALTIME) };
        let outcome = returned(outcome).map(drop);
        outcome.map_err(|error| format!("no right to give real-time priority (CAP_SYS_NICE): {error}"))
    })
}

/// Looks up a page that is in memory: without the right its frame is 0.
pub(crate) fn page_frames() -> Result<(), String> {
    let byte = std::hint::black_box(Box::new(1u8));
    let address = (&raw const *byte).addr() as u64;
    let mut entry = [0; 8];
    let place = address / rustix::param::page_size() as u64 * 8;
    let read = File::open("/proc/self/pagemap").and_then(|file| file.read_exact_at(&mut entry, place));
    read.map_err(|error| format!("cannot read /proc/self/pagemap: {error}"))?;
    // Bits 0 to 54: the frame (the kernel's admin-guide/mm/pagemap.rst).
    match u64::from_ne_bytes(entry) & ((1 << 55) - 1) {
        0 => Err("no right to see the frames of pages (CAP_SYS_ADMIN)".to_owned()),
        _ => Ok(()),
    }
}

pub(crate) fn fanotify() -> Result<(), String> {
    // SAFETY: the call takes numbers alone.
    let outcome = unsafe { libc::syscall(libc::SYS_fanotify_init, libc::FAN_CLOEXEC, libc::O_RDONLY) };
    let number = returned(outcome).map_err(|error| format!("no right to watch files (CAP_SYS_ADMIN): {error}"))?;
    let number = libc::c_int::try_from(number).map_err(|error| error.to_string())?;
    // SAFETY: the kernel has made this descriptor for this caller alone.
    drop(unsafe { OwnedFd::from_raw_fd(number) });
    Ok(())
}
