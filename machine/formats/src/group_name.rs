//! What the name of a control group says of what runs in it, as systemd (<https://systemd.io/DESKTOP_ENVIRONMENTS>,
//! systemd.special(7)), OpenRC and Android (system/core/libprocessgroup/processgroup.cpp) give names.

use std::path::Path;

use crate::android::is_app_user;
use crate::fields::unescape;

/// The last part of a group's directory, which is its name; empty for the root.
#[must_use]
pub fn last_name(dir: &Path) -> String {
    dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Whether a group of this name is one app's: as desktops name them, or snapd (`snap.NAME.APP-UUID.scope`).
#[must_use]
pub fn is_app(name: &str) -> bool {
    let is_of_desktop = name.starts_with("app-") && [".scope", ".service"].iter().any(|tail| name.ends_with(tail));
    is_of_desktop || snap_id(name).is_some()
}

/// The name on the bus that a group was made for when the bus started a service (`dbus-:1.2-org.x.App@0.service`): an
/// app, where a desktop entry has this name.
#[must_use]
pub fn bus_id(name: &str) -> Option<String> {
    let (_connection, rest) = name.strip_prefix("dbus-:")?.strip_suffix(".service")?.split_once('-')?;
    Some(unescaped(rest.rsplit_once('@')?.0))
}

/// The id of a snap's app, which is the name of its desktop entry: `NAME_APP`.
fn snap_id(name: &str) -> Option<String> {
    let (snap, app) = without_uuid(name.strip_prefix("snap.")?.strip_suffix(".scope")?)?.split_once('.')?;
    Some(format!("{snap}_{app}"))
}

/// What stands before a UUID and its separator.
fn without_uuid(name: &str) -> Option<&str> {
    const UUID_BYTES: usize = 36;
    let (rest, uuid) = name.split_at_checked(name.len().checked_sub(UUID_BYTES)?)?;
    let is_uuid = uuid.bytes().enumerate().all(|(place, byte)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    rest.strip_suffix(['-', '.']).filter(|_| is_uuid)
}

/// Whether a service manager itself runs in the group of this name.
#[must_use]
pub fn is_service_manager(name: &str) -> bool {
    name == "init.scope" || name.starts_with("user@")
}

/// Whether the processes of a group are apps by the sessions that they make (setsid(2)), since no group stands for
/// each: of a login's scope (`session-2.scope`), in which desktops run that make no scope for an app, and of groups
/// that no manager has made which makes groups for apps, services or containers.
#[must_use]
pub fn has_apps_by_session(dir: &Path) -> bool {
    let of_manager = |part: &str| {
        ["app-", "user@", "uid_", "lxc.payload"].iter().any(|begin| part.starts_with(begin))
            || matches!(part, "system.slice" | "user.slice" | "machine.slice" | "init.scope")
    };
    let is_login = |name: &str| name.starts_with("session-") && name.ends_with(".scope");
    is_login(&last_name(dir)) || !dir.iter().any(|part| of_manager(&part.to_string_lossy()))
}

/// Whether a group is a unit of systemd or of OpenRC (`openrc.NAME`) or lies below one, or is what Android's init
/// starts.
#[must_use]
pub fn is_service(dir: &Path) -> bool {
    let is_unit = dir.iter().map(|part| part.to_string_lossy()).any(|part| {
        part == "init.scope"
            || part.starts_with("openrc.")
            || (part.ends_with(".service") && !part.starts_with("user@"))
    });
    let is_of_android =
        || last_name(dir).starts_with("pid_") && dir.parent().is_some_and(|above| last_name(above).starts_with("uid_"));
    is_unit || is_of_android()
}

/// The user of an app's group on Android: `.../uid_10123/pid_4567`. None in a container: what Waydroid runs has one
/// window for all to the desktop, so that which of its apps is in front is not known.
#[must_use]
pub fn android_uid(dir: &Path) -> Option<u32> {
    if dir.iter().any(|part| part == "lxc" || part.to_string_lossy().starts_with("lxc.payload")) {
        return None;
    }
    dir.file_name()?.to_str()?.strip_prefix("pid_")?.parse::<u32>().ok()?;
    let uid = dir.parent()?.file_name()?.to_str()?.strip_prefix("uid_")?.parse().ok()?;
    is_app_user(uid).then_some(uid)
}

/// The user by the slice that a group lies in, as logind and the user's manager make them, or by its folder on Android.
/// Only the first parts count, which are root's: below them a user gives any names.
#[must_use]
pub fn user_by_place(path: &Path) -> Option<u32> {
    let mut parts = path.iter().filter_map(|part| part.to_str());
    match (parts.next()?, parts.next()) {
        ("user.slice", Some(slice)) => slice.strip_prefix("user-")?.strip_suffix(".slice")?.parse().ok(),
        ("apps", Some(user)) | (user, _) => user.strip_prefix("uid_")?.parse().ok(),
    }
}

/// The id of an app from the name of its group: of `app[-LAUNCHER]-ID-RANDOM.scope` and
/// `app[-LAUNCHER]-ID[@RANDOM].service`, where a hyphen in the id is written `\x2d`, RANDOM is a number or UUID, and a
/// launcher has no dot; of snaps `NAME_APP`; of what the bus started its name there; of the surfaces of Ghostty
/// (`app-ghostty-surface-transient-PID.scope`) `ghostty`. Of others the name without its ending.
#[must_use]
pub fn app_id(name: &str) -> String {
    if let Some(id) = snap_id(name).or_else(|| bus_id(name)) {
        return id;
    }
    let service = name.strip_suffix(".service");
    let bare = service.or_else(|| name.strip_suffix(".scope")).unwrap_or(name);
    let bare = bare.strip_prefix("openrc.").unwrap_or(bare);
    let Some(app) = bare.strip_prefix("app-") else { return unescaped(bare) };
    let random =
        if service.is_some() { None } else { without_uuid(app).or(app.rsplit_once('-').map(|(rest, _)| rest)) };
    let named = random.unwrap_or(app);
    let first = named.split('-').next().unwrap_or_default();
    let last = named.rsplit('-').next().unwrap_or_default();
    unescaped(match named {
        "ghostty-surface-transient" => first,
        _ if service.is_some() => last.split('@').next().unwrap_or(last),
        _ if first.contains('.') => first,
        _ => last,
    })
}

/// Undoes `\xHH`.
fn unescaped(name: &str) -> String {
    let hex = |escape: &str| {
        let digits = escape.strip_prefix('x').filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        u8::from_str_radix(digits, 16).ok()
    };
    String::from_utf8_lossy(&unescape(name.as_bytes(), hex)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_apps_are_known_by_their_names() {
        for (name, app) in [
            ("app-org.gnome.Evince-4711.scope", true),
            ("app-gnome\\x2dsession.service", true),
            ("snap.firefox.firefox-6c6c1ab1-1b1a-4f2e-8e5b-0123456789ab.scope", true),
            ("snap.cups.cupsd.service", false),
            ("dbus-:1.2-org.gnome.Nautilus@0.service", false),
            ("app.slice", false),
            ("app-flatpak.slice", false),
            ("user@1000.service", false),
        ] {
            assert_eq!(is_app(name), app, "{name}");
        }
    }

    #[test]
    fn the_user_of_a_place_is_that_of_its_first_parts() {
        for (path, user) in [
            ("user.slice/user-1000.slice/user@1000.service/app.slice/app-x-1.scope", Some(1000)),
            ("user.slice/user-1001.slice/session-2.scope", Some(1001)),
            ("user.slice/user-1000.slice/user@1000.service/user.slice/user-0.slice/app-x-1.scope", Some(1000)),
            ("apps/uid_10123/pid_400", Some(10_123)),
            ("uid_10123/pid_400", Some(10_123)),
            ("app-x-1.scope", None),
            ("machine.slice/user-1000.slice", None),
            ("user.slice/user-.slice/user@x.service", None),
            ("system.slice/uid_10123", None),
        ] {
            assert_eq!(user_by_place(Path::new(path)), user, "{path}");
        }
    }

    #[test]
    fn an_app_of_android_in_a_container_is_a_service() {
        for (dir, uid) in [
            ("/c/uid_10123/pid_4567", Some(10123)),
            ("/c/apps/uid_10123/pid_4567", Some(10123)),
            ("/c/lxc.payload.waydroid/uid_10123/pid_4567", None),
            ("/c/lxc/waydroid/uid_10123/pid_4567", None),
        ] {
            assert_eq!(android_uid(Path::new(dir)), uid, "{dir}");
            assert!(is_service(Path::new(dir)), "{dir}");
        }
    }

    #[test]
    fn ids_are_read_as_desktops_write_them() {
        for (name, id) in [
            ("app-gnome-org.gnome.Evince-4711.scope", "org.gnome.Evince"),
            ("app-org.gnome.Evince-4711.scope", "org.gnome.Evince"),
            ("app-KDE-org.kde.okular@12ab.service", "org.kde.okular"),
            (r"app-gnome-gnome\x2dsession\x2dmanager@gnome.service", "gnome-session-manager"),
            ("cron.service", "cron"),
            ("openrc.cron", "cron"),
            ("writer", "writer"),
            ("app-.scope", ""),
            (r"app-a\x2-1.scope", r"a\x2"),
            ("snap.firefox.firefox-6c6c1ab1-1b1a-4f2e-8e5b-0123456789ab.scope", "firefox_firefox"),
            ("snap.mesa-demos.glx-gears.6c6c1ab1-1b1a-4f2e-8e5b-0123456789ab.scope", "mesa-demos_glx-gears"),
            ("snap.cups.cupsd.service", "snap.cups.cupsd"),
            ("dbus-:1.2-org.gnome.Nautilus@0.service", "org.gnome.Nautilus"),
            (r"dbus-:1.17-org.example.My\x2dApp@12.service", "org.example.My-App"),
            ("dbus.service", "dbus"),
            ("app-ghostty-surface-transient-4711.scope", "ghostty"),
            ("app-steam-6c6c1ab1-1b1a-4f2e-8e5b-0123456789ab.scope", "steam"),
            ("app-com.obsproject.Studio-d70acc38b5154a3a8b4a60accc4b15f4.scope", "com.obsproject.Studio"),
            ("app-org.telegram.desktop-1-22.scope", "org.telegram.desktop"),
            ("app-cosmic-com.system76.CosmicAppList-4376.scope", "com.system76.CosmicAppList"),
            ("app-x.scope", "x"),
        ] {
            assert_eq!(app_id(name), id, "{name}");
        }
    }

    #[test]
    fn apps_are_told_by_session_where_no_group_stands_for_one() {
        let user = "/c/user.slice/user-1000.slice";
        for (dir, by_session) in [
            // No manager, OpenRC, elogind, and a login under systemd.
            ("/c".to_owned(), true),
            ("/c/openrc.lightdm".to_owned(), true),
            ("/c/c2".to_owned(), true),
            (format!("{user}/session-2.scope"), true),
            (format!("{user}/user@1000.service/app.slice/app-flatpak-org.example.Game-991.scope"), false),
            (format!("{user}/user@1000.service/session.slice/pipewire.service"), false),
            (format!("{user}/user@1000.service/init.scope"), false),
            ("/c/system.slice/cron.service".to_owned(), false),
            ("/c/init.scope".to_owned(), false),
            ("/c/app-x-1.scope".to_owned(), false),
            ("/c/uid_10123/pid_4567".to_owned(), false),
            ("/c/lxc.payload.guest/session".to_owned(), false),
        ] {
            assert_eq!(has_apps_by_session(Path::new(&dir)), by_session, "{dir}");
        }
    }
}
