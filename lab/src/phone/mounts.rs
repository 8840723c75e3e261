//! Mounts that programs in a root need: /proc, /sys, /dev, /tmp, /run.
//!
//! All are in memory or virtual, so apps that use them do not access the phone's flash. /dev contains only the seven
//! standard device files.

use std::ffi::{CStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::launch::User;
use brisk_sense::Sense;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::phone::error::{Error, Result, io as failed};

/// Time limit of the kernel for releasing an unused file system.
const UNMOUNT_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The phone's user and its group.
pub(crate) const UID: u32 = 10_000;
pub(crate) const HOME: &str = "/home/user";
pub(crate) const RUNTIME_DIR: &str = "/run/user/10000";
/// Address of its session bus.
pub(crate) const BUS_ADDRESS: &str = "unix:path=/run/user/10000/bus";

/// The phone's user.
pub(crate) fn user() -> User {
    User { uid: UID, gid: UID, groups: Vec::new() }
}

/// The environment of an app on `display`, without the caller's own.
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
        // Neither accessibility bridge nor portal: both wait for services that the phone does not have.
        ("NO_AT_BRIDGE", "1"),
        ("GTK_A11Y", "none"),
        ("GTK_USE_PORTAL", "0"),
        ("LIBGL_ALWAYS_SOFTWARE", "1"),
        // Scroll bars over the content fade out for three seconds after a key, which looks like a late answer.
        ("GTK_OVERLAY_SCROLLING", "0"),
    ];
    let display = display.map(|display| ("DISPLAY", display));
    fixed.into_iter().chain(display).map(|(name, value)| (name.into(), value.into())).collect()
}

/// Mounts everything around `root`.
///
/// # Errors
/// When a directory or mount cannot be made; earlier mounts stay, for [`unmount_all`].
pub(crate) fn mount_all(root: &Path) -> Result<()> {
    let quiet = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let data = MountFlags::NOSUID | MountFlags::NODEV;
    mount_one(root, "proc", "proc", quiet, c"")?;
    mount_one(root, "sys", "sysfs", quiet | MountFlags::RDONLY, c"")?;
    mount_one(root, "dev", "tmpfs", MountFlags::NOSUID | MountFlags::NOEXEC, c"mode=755,size=1m")?;
    fill_dev(&root.join("dev"))?;
    mount_one(
        root,
        "dev/pts",
        "devpts",
        MountFlags::NOSUID | MountFlags::NOEXEC,
        c"newinstance,ptmxmode=0666,mode=620",
    )?;
    mount_one(root, "dev/shm", "tmpfs", data, c"mode=1777")?;
    mount_one(root, "tmp", "tmpfs", data, c"mode=1777")?;
    mount_one(root, "run", "tmpfs", data, c"mode=755")?;
    let runtime = inside(root, RUNTIME_DIR);
    let made = fs::create_dir_all(&runtime)
        .and_then(|()| std::os::unix::fs::chown(&runtime, Some(UID), Some(UID)))
        .and_then(|()| fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700)));
    made.map_err(failed(format!("make {}", runtime.display())))
}

/// A path in the phone as a path of this machine.
pub(crate) fn inside(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

fn mount_one(root: &Path, at: &str, kind: &str, flags: MountFlags, data: &CStr) -> Result<()> {
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
            // Set explicitly, independent of the caller's umask.
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

/// Unmounts everything at and below `dir`, the latest first; returns the number of mounts. With `lazily`, a mount in
/// use is detached and disappears after its last use.
///
/// # Errors
/// When a mount is in use and `lazily` is not set.
pub(crate) fn unmount_all(dir: &Path, lazily: bool) -> Result<usize> {
    unmount_all_but(None, dir, lazily)
}

/// As [`unmount_all`], but without the mount on `kept`.
pub(crate) fn unmount_all_but(kept: Option<&Path>, dir: &Path, lazily: bool) -> Result<usize> {
    let mut count = 0;
    // A mount may hide another one on the same point, which is listed after its removal.
    loop {
        let mounts = Sense::default().mounts()?;
        let is_wanted = |mount_point: &Path| mount_point.starts_with(dir) && kept != Some(mount_point);
        let Some(last) = mounts.iter().rev().find(|mount| is_wanted(&mount.mount_point)) else { return Ok(count) };
        let done = match unmount_when_free(&last.mount_point) {
            Err(Errno::BUSY) if lazily => unmount(&last.mount_point, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH),
            other => other,
        };
        done.map_err(failed(format!("unmount {}", last.mount_point.display())))?;
        count += 1;
    }
}

/// Retries while the mount is busy: the kernel releases the files of an ended process slightly later.
fn unmount_when_free(mount_point: &Path) -> std::result::Result<(), Errno> {
    let deadline = Instant::now() + UNMOUNT_TIMEOUT;
    loop {
        match unmount(mount_point, UnmountFlags::NOFOLLOW) {
            Err(Errno::BUSY) if Instant::now() < deadline => std::thread::sleep(POLL_INTERVAL),
            other => return other,
        }
    }
}

/// The mount on exactly this directory.
pub(crate) fn mount_on(dir: &Path) -> Result<Option<brisk_sense::Mount>> {
    Ok(Sense::default().mounts()?.into_iter().rev().find(|mount| mount.mount_point == dir))
}

/// A C string for a mount option or file name; an error if it contains a zero byte.
pub(crate) fn c_text(text: String) -> Result<std::ffi::CString> {
    std::ffi::CString::new(text).map_err(|_| Error::Io {
        action: "mount with a zero byte in an option".to_owned(),
        source: std::io::ErrorKind::InvalidInput.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scroll_bars_do_not_fade() {
        let environment = environment(Some(":9"));
        assert!(environment.contains(&("GTK_OVERLAY_SCROLLING".into(), "0".into())));
        assert!(environment.contains(&("DISPLAY".into(), ":9".into())));
    }
}
