//! Which services of the session bus are apps: those with a desktop entry of the same name that says so
//! (`DBusActivatable`, Desktop Entry Specification). The others are helpers that apps wait for.

use std::path::Path;

use brisk_formats::group_name::{bus_id, last_name};

use crate::machine::Sense;

/// Where entries for all users are: of the distribution, its administrator, Flatpak and snapd.
const DIRS: [&str; 4] = [
    "/usr/share/applications",
    "/usr/local/share/applications",
    "/var/lib/flatpak/exports/share/applications",
    "/var/lib/snapd/desktop/applications",
];

impl Sense {
    /// The name of the app that the bus has started in the group at `dir`; `None` where that is a helper or no such
    /// group.
    pub(crate) fn bus_app(&self, dir: &Path) -> Option<String> {
        let id = bus_id(&last_name(dir))?;
        // Users name groups: only what can be a name on the bus is looked for.
        let is_name = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        let entry = |dir: &&str| self.read(format!("{dir}/{id}.desktop")).ok();
        let text = DIRS.iter().filter(|_| is_name).find_map(entry)?;
        let has = |line: &[u8]| text.split(|byte| *byte == b'\n').any(|of_entry| of_entry.trim_ascii() == line);
        (has(b"DBusActivatable=true") && !has(b"NoDisplay=true")).then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_bus_started_is_an_app_where_a_desktop_entry_says_so() {
        let root = tempfile::tempdir().expect("a directory");
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("below the root")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        let entry = "[Desktop Entry]\nName=X\nDBusActivatable=true\n";
        put("usr/share/applications/org.gnome.Nautilus.desktop", entry);
        put("var/lib/flatpak/exports/share/applications/org.example.My-App.desktop", entry);
        put("usr/share/applications/org.gnome.Alarm.desktop", &format!("{entry}NoDisplay=true\n"));
        put("usr/share/applications/org.gnome.Old.desktop", "[Desktop Entry]\nName=X\n");
        put("x.desktop", entry);
        let sense = Sense::new(root.path());
        for (name, app) in [
            ("dbus-:1.2-org.gnome.Nautilus@0.service", Some("org.gnome.Nautilus")),
            (r"dbus-:1.2-org.example.My\x2dApp@0.service", Some("org.example.My-App")),
            ("dbus-:1.2-org.gnome.Alarm@0.service", None),
            ("dbus-:1.2-org.gnome.Old@0.service", None),
            ("dbus-:1.2-org.gnome.Portal@0.service", None),
            (r"dbus-:1.2-..\x2f..\x2f..\x2fx@0.service", None),
            ("org.gnome.Nautilus.service", None),
        ] {
            assert_eq!(sense.bus_app(&Path::new("/c").join(name)).as_deref(), app, "{name}");
        }
    }
}
