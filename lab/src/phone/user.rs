//! The user of a phone, and the environment of the apps.

use std::ffi::OsString;

use crate::launch::User;

/// The phone's user and its group.
pub(crate) const UID: u32 = 10_000;
pub(crate) const HOME: &str = "/home/user";

/// The phone's user.
pub(crate) fn user() -> User {
    User { uid: UID, gid: UID, groups: Vec::new() }
}

/// The environment of an app, without the caller's own.
pub(crate) fn environment() -> Vec<(OsString, OsString)> {
    let fixed = [
        ("HOME", HOME),
        ("USER", "user"),
        ("LOGNAME", "user"),
        ("SHELL", "/bin/bash"),
        ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/games"),
        ("LANG", "C.UTF-8"),
        ("TERM", "xterm"),
        ("XDG_RUNTIME_DIR", "/run/user/10000"),
        ("XDG_SESSION_TYPE", "x11"),
        ("GDK_BACKEND", "x11"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/10000/bus"),
        // Neither accessibility bridge nor portal: both wait for services that the phone does not have.
        ("NO_AT_BRIDGE", "1"),
        ("GTK_A11Y", "none"),
        ("GTK_USE_PORTAL", "0"),
        ("LIBGL_ALWAYS_SOFTWARE", "1"),
        // Scroll bars over the content fade out for three seconds after a key, which looks like a late answer.
        ("GTK_OVERLAY_SCROLLING", "0"),
    ];
    fixed.map(|(name, value)| (name.into(), value.into())).to_vec()
}
