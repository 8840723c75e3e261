//! Which app a window is of, by its app id: all that a Wayland compositor tells of the windows of others.
//!
//! An app id is to be the name of the app's desktop file without its ending (xdg-shell, `xdg_toplevel.set_app_id`),
//! which is also the id in the names of units. Apps that set none get the name of their program from most toolkits, and
//! some differ in case. Where sessions of processes stand for apps, the id is the name of a program, of which the
//! kernel keeps 15 bytes.
//!
//! Several apps may be of one id, such as two terminals; a window does not tell them apart. Then all of them are meant:
//! an app in front that counts as background may lose its memory, which costs more than memory that an app in the
//! background keeps.
//!
//! Properties: `an_app_id_means_the_apps_with_the_closest_id`; `ids_of_two_vendors_are_not_alike`.

use brisk_sense::Group;

use super::{Apps, id_of};

/// The kernel keeps this much of a program's name (TASK_COMM_LEN without the terminating zero).
const PROGRAM_BYTES: usize = 15;

/// How an app id is like the id of an app, closest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    Same,
    Case,
    /// One of them is the last part of the other: `org.gnome.Evince` and `evince`.
    LastPart,
}

impl Apps {
    /// The running apps that a window with this app id may be of, the closest first, of these the last in front.
    #[must_use]
    pub fn of_window(&self, app_id: &str) -> Vec<(Likeness, Group)> {
        let like = |known| Some((likeness(&id_of(known), known.session.is_some(), app_id)?, known));
        let mut found: Vec<_> = self.known.values().filter(|known| known.is_app()).filter_map(like).collect();
        found.sort_by_key(|(likeness, known)| (*likeness, std::cmp::Reverse(known.front_key())));
        found.into_iter().map(|(likeness, known)| (likeness, known.group.clone())).collect()
    }
}

/// How `app_id` is like `id`, which may be the name of a program; `None` when it is not.
pub(crate) fn likeness(id: &str, is_program: bool, app_id: &str) -> Option<Likeness> {
    let app_id = app_id.strip_suffix(".desktop").unwrap_or(app_id);
    if id.is_empty() || app_id.is_empty() {
        return None;
    }
    // A name that was cut is compared with as much of the other.
    let cut = |name: &str| match name.as_bytes() {
        bytes if is_program && id.len() == PROGRAM_BYTES => bytes[..bytes.len().min(PROGRAM_BYTES)].to_vec(),
        bytes => bytes.to_vec(),
    };
    if cut(app_id) == id.as_bytes() {
        return Some(Likeness::Same);
    }
    if cut(app_id).eq_ignore_ascii_case(id.as_bytes()) {
        return Some(Likeness::Case);
    }
    // A snap's app of the snap's own name.
    let is_of_snap = |doubled: &str, name: &str| doubled.split_once('_').is_some_and(|(a, b)| a == b && a == name);
    if is_of_snap(id, app_id) || is_of_snap(app_id, id) {
        return Some(Likeness::LastPart);
    }
    let last = |name: &str| name.rsplit('.').next().map(str::to_owned).unwrap_or_default();
    let is_last = match (id.contains('.'), app_id.contains('.')) {
        (false, true) => cut(&last(app_id)).eq_ignore_ascii_case(id.as_bytes()),
        (true, false) => last(id).eq_ignore_ascii_case(app_id),
        // Two apps of one name by two vendors, or two that differ altogether.
        _ => false,
    };
    is_last.then_some(Likeness::LastPart)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use brisk_sense::ProcessSession;

    use super::*;

    fn named(apps: &Apps, app_id: &str) -> Vec<String> {
        apps.of_window(app_id).into_iter().map(|(_, group)| group.key).collect()
    }

    #[test]
    fn an_app_id_means_the_apps_with_the_closest_id() {
        let mut apps = Apps::default();
        let group = |name: &str| Group { dir: Path::new("/c").join(name), key: name.to_owned(), ..Group::default() };
        let both = [group("app-foot-1.scope"), group("app-sway-foot-2.scope")];
        let others =
            [group("app-Foot-3.scope"), group("app-org.gnome.Evince-4.scope"), group("system.slice/foot.service")];
        both.iter().chain(&others).for_each(|group| apps.was_there(group.clone()));
        assert_eq!(named(&apps, "foot").len(), 3);
        let likenesses: Vec<Likeness> = apps.of_window("foot").into_iter().map(|(likeness, _)| likeness).collect();
        assert_eq!(likenesses, [Likeness::Same, Likeness::Same, Likeness::Case]);
        // The one that was in front last is the first of its likeness.
        for (at_ns, group) in both.iter().enumerate() {
            apps.tell_front(std::slice::from_ref(group), None, at_ns as u64 + 1);
            apps.tell_front(&[], None, at_ns as u64 + 1);
            assert_eq!(named(&apps, "foot")[0], group.key);
        }
        for (app_id, expected) in [
            ("org.gnome.Evince", Some("app-org.gnome.Evince-4.scope")),
            ("org.gnome.Evince.desktop", Some("app-org.gnome.Evince-4.scope")),
            ("evince", Some("app-org.gnome.Evince-4.scope")),
            ("Foot", Some("app-Foot-3.scope")),
            ("", None),
            ("gnome", None),
            ("eevince", None),
        ] {
            assert_eq!(named(&apps, app_id).first().map(String::as_str), expected, "{app_id:?}");
        }
    }

    #[test]
    fn a_session_is_of_the_program_whose_name_the_kernel_cut() {
        let mut apps = Apps::default();
        apps.session_was_there(ProcessSession {
            id: 40,
            pid: 40,
            program: "gnome-text-edit".to_owned(),
            of_user: true,
            user: None,
        });
        assert_eq!(named(&apps, "gnome-text-editor"), ["session-40"]);
        assert_eq!(named(&apps, "gnome-text"), [""; 0]);
    }

    #[test]
    fn ids_of_two_vendors_are_not_alike() {
        for (id, is_program, app_id, expected) in [
            ("org.gnome.Calculator", false, "org.kde.Calculator", None),
            ("org.gnome.Calculator", false, "calculator", Some(Likeness::LastPart)),
            ("evince", true, "org.gnome.Evince", Some(Likeness::LastPart)),
            // The kernel cuts the names of programs, desktops do not cut ids.
            ("gnome-text-edit", true, "gnome-text-editor", Some(Likeness::Same)),
            ("gnome-text-edit", true, "org.x.Gnome-Text-Editor", Some(Likeness::LastPart)),
            ("gnome-text-edit", true, "gnome-text-edi", None),
            ("gnome-text-edit", false, "gnome-text-editor", None),
            ("gnome-text", true, "gnome-text-editor", None),
            ("", false, "", None),
            ("app", false, "app.", None),
            ("firefox_firefox", false, "firefox_firefox.desktop", Some(Likeness::Same)),
            ("firefox_firefox", false, "firefox", Some(Likeness::LastPart)),
            ("a_firefox", false, "firefox", None),
            ("ghostty", false, "com.mitchellh.ghostty", Some(Likeness::LastPart)),
        ] {
            assert_eq!(likeness(id, is_program, app_id), expected, "{id} {app_id}");
        }
    }
}
