//! What a root directory needs around it before programs run in it: /proc, /sys, /dev, /tmp, /run.
//!
//! All of it is in memory or the kernel's own, so an app that uses these does not touch the phone's flash. No device file of
//! this machine is in there but the seven that every program may expect.

use std::ffi::{CStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use brisk_launch::User;
use brisk_sense::Sense;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::error::{Error, Result, io as failed};

/// How long the kernel may take to let go of a file system that nobody uses any more.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(5);
/// The phone's user and its group.
pub(crate) const UID: u32 = 10_000;
/// Its home, inside of the root.
pub(crate) const HOME: &str = "/home/user";
/// What XDG_RUNTIME_DIR is for it.
pub(crate) const RUNTIME_DIR: &str = "/run/user/10000";
/// Where its session bus listens.
pub(crate) const BUS_ADDRESS: &str = "unix:path=/run/user/10000/bus";

/// The phone's user.
pub(crate) fn user() -> User {
    User { uid: UID, gid: UID, groups: Vec::new() }
}

/// The environment of an app on `display`. Nothing of the caller's own is in it.
pub(crate) fn environment(display: Option<&str>) -> Vec<(OsString, OsString)> {
    let fixed = [
        ("HOME", HOME),
        ("USER", "user"),
        ("LOGNAME", "user"),
        ("SHELL", "/bin/bash"),
        ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/games"),
        ("LANG", "C.UTF-8"),
        ("TERM", "xterm"),
        ("XDG_RUNTIME_DIR", RUNTIME_DIR),
        ("XDG_SESSION_TYPE", "x11"),
        ("GDK_BACKEND", "x11"),
        ("DBUS_SESSION_BUS_ADDRESS", BUS_ADDRESS),
        // No bridge to screen readers and no portal: both wait for services that a phone of apps alone has not.
        ("NO_AT_BRIDGE", "1"),
        ("GTK_A11Y", "none"),
        ("GTK_USE_PORTAL", "0"),
        ("LIBGL_ALWAYS_SOFTWARE", "1"),
    ];
    let display = display.map(|display| ("DISPLAY", display));
    fixed.into_iter().chain(display).map(|(name, value)| (name.into(), value.into())).collect()
}

/// Mounts everything around `root`.
///
/// # Errors
/// When something cannot be made or mounted; what was mounted by then stays, for [`strip`].
pub(crate) fn furnish(root: &Path) -> Result<()> {
    let quiet = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let data = MountFlags::NOSUID | MountFlags::NODEV;
    put(root, "proc", "proc", quiet, c"")?;
    put(root, "sys", "sysfs", quiet | MountFlags::RDONLY, c"")?;
    put(root, "dev", "tmpfs", MountFlags::NOSUID | MountFlags::NOEXEC, c"mode=755,size=1m")?;
    fill_dev(&root.join("dev"))?;
    put(root, "dev/pts", "devpts", MountFlags::NOSUID | MountFlags::NOEXEC, c"newinstance,ptmxmode=0666,mode=620")?;
    put(root, "dev/shm", "tmpfs", data, c"mode=1777")?;
    put(root, "tmp", "tmpfs", data, c"mode=1777")?;
    put(root, "run", "tmpfs", data, c"mode=755")?;
    let runtime = inside(root, RUNTIME_DIR);
    let made = fs::create_dir_all(&runtime)
        .and_then(|()| std::os::unix::fs::chown(&runtime, Some(UID), Some(UID)))
        .and_then(|()| fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700)));
    made.map_err(failed(format!("make {}", runtime.display())))
}

/// A path of the phone as this machine sees it.
pub(crate) fn inside(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

fn put(root: &Path, at: &str, kind: &str, flags: MountFlags, data: &CStr) -> Result<()> {
    let target = root.join(at);
    fs::create_dir_all(&target).map_err(failed(format!("make {}", target.display())))?;
    mount(kind, &target, kind, flags, data).map_err(failed(format!("mount {kind} on {}", target.display())))
}

fn fill_dev(dev: &Path) -> Result<()> {
    for (name, major, minor) in
        [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0)]
    {
        let node = dev.join(name);
        let made = mknodat(CWD, &node, FileType::CharacterDevice, Mode::from_raw_mode(0o666), makedev(major, minor))
            .map_err(std::io::Error::from)
            // Whatever the caller's umask is.
            .and_then(|()| fs::set_permissions(&node, fs::Permissions::from_mode(0o666)));
        made.map_err(failed(format!("make {}", node.display())))?;
    }
    for (name, target) in [
        ("ptmx", "pts/ptmx"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        symlink(target, dev.join(name)).map_err(failed(format!("make {}", dev.join(name).display())))?;
    }
    Ok(())
}

/// Unmounts everything at and below `dir`, the latest first, and gives how many mounts that were. With `lazily` what is in
/// use goes away when its last user does.
///
/// # Errors
/// When a mount is in use and not to be taken away lazily.
pub(crate) fn strip(dir: &Path, lazily: bool) -> Result<usize> {
    let mut count = 0;
    // A mount may hide another one on the same point, which shows when it is gone.
    loop {
        let mounts = Sense::default().mounts()?;
        let Some(last) = mounts.iter().rev().find(|mount| mount.mount_point.starts_with(dir)) else { return Ok(count) };
        let done = match unmount_patiently(&last.mount_point) {
            Err(Errno::BUSY) if lazily => unmount(&last.mount_point, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH),
            other => other,
        };
        done.map_err(failed(format!("unmount {}", last.mount_point.display())))?;
        count += 1;
    }
}

/// A process that has ended may hold its files for a moment more: the kernel lets go of them after it.
fn unmount_patiently(mount_point: &Path) -> std::result::Result<(), Errno> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match unmount(mount_point, UnmountFlags::NOFOLLOW) {
            Err(Errno::BUSY) if Instant::now() < deadline => std::thread::sleep(LOOK_AGAIN_AFTER),
            other => return other,
        }
    }
}

/// The first mount on exactly this directory, which the kernel says is there.
pub(crate) fn mount_on(dir: &Path) -> Result<Option<brisk_sense::Mount>> {
    Ok(Sense::default().mounts()?.into_iter().rev().find(|mount| mount.mount_point == dir))
}

/// What is wrong with a name that has to become a mount's option or a file.
pub(crate) fn c_text(text: String) -> Result<std::ffi::CString> {
    std::ffi::CString::new(text).map_err(|_| Error::Io {
        action: "mount with a zero byte in an option".to_owned(),
        source: std::io::ErrorKind::InvalidInput.into(),
    })
}
