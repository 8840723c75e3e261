//! Which control group an action, a setting, an event or a journal means.
//!
//! *Problem*: the program that makes a control group chooses its name. Two users run `app-firefox-1.scope`, and a user
//! may call a group of that user `system.slice`. *Approach*: a group goes by a *key*, the inode number of its
//! directory with the way to it below the mount point of its hierarchy:
//! `4711/user.slice/user-1000.slice/…/app-firefox-1.scope`. A kernel gives that number to no other group, so one that
//! was removed and made again has another key. The last part is the *name*, which is for people alone: what acts takes
//! keys.
//!
//! An app that has no control group has a key of another form: a session of processes (`session-40`), and a launch that
//! was told before the app had any process, with the user who told it (`told/1000/org.gnome.Evince`).
//!
//! Properties: `a_key_is_read_back`; `a_text_that_is_no_key_means_no_group`; `a_name_is_the_last_part_of_a_key`.

use std::path::{Component, Path};

use crate::app::SESSION;

/// First part of the key of a launch that was told.
const TOLD: &str = "told";

/// What a key stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupKey<'a> {
    /// A control group.
    Control {
        /// Inode number of its directory in the hierarchy in which apps have groups.
        inode: u64,
        /// Its directory below the mount point.
        path: &'a str,
    },
    /// The processes of a session (setsid(2)).
    Session(u32),
    /// An app that has no process yet.
    Told {
        /// The user who told of it.
        user: &'a str,
        /// Its id.
        id: &'a str,
    },
}

impl GroupKey<'_> {
    /// The key as a text.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::Control { inode, path } => format!("{inode}/{path}"),
            Self::Session(id) => format!("{SESSION}{id}"),
            Self::Told { user, id } => format!("{TOLD}/{user}/{id}"),
        }
    }
}

/// What this key stands for; `None` when it is none.
#[must_use]
pub fn parse(key: &str) -> Option<GroupKey<'_>> {
    match key.split_once('/') {
        None => key.strip_prefix(SESSION)?.parse().ok().map(GroupKey::Session),
        Some((TOLD, of)) => of.split_once('/').map(|(user, id)| GroupKey::Told { user, id }),
        Some((inode, path)) => {
            let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
            let is_below = !path.is_empty() && !path.starts_with('/') && Path::new(path).components().all(is_plain);
            let is_path = is_below && !path.contains(char::is_control);
            let inode = inode.parse().ok()?;
            is_path.then_some(GroupKey::Control { inode, path })
        }
    }
}

/// What people call it: the last part of its key.
#[must_use]
pub fn name(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

/// Whether a person who says `text` may mean the group of this key.
#[must_use]
pub fn is_meant(key: &str, text: &str) -> bool {
    key == text || name(key) == text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_that_is_no_key_means_no_group() {
        for text in [
            "",
            "/",
            "app-x-1.scope",
            "system.slice",
            "user.slice/app-x-1.scope",
            "7/",
            "7//a",
            "7/../a",
            "7/a/../b",
            "7/./a",
            "7/a\nb",
            "-7/a",
            "told/x",
            "told",
            "session-",
            "session-c1.scope",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_name_is_the_last_part_of_a_key() {
        for (key, of_people) in [
            ("7/user.slice/app-x-1.scope", "app-x-1.scope"),
            ("7/app-x-1.scope", "app-x-1.scope"),
            ("session-40", "session-40"),
            ("told/1000/org.x.Mail", "org.x.Mail"),
        ] {
            assert_eq!(name(key), of_people);
            assert!(is_meant(key, of_people) && is_meant(key, key) && !is_meant(key, "x"));
        }
    }

    proptest! {
        #[test]
        fn a_key_is_read_back(
            inode in any::<u64>(),
            path in "[a-z]{1,4}(/[a-z.]{0,3}[a-z-]{1,4}){0,3}",
            id in "[a-z]{1,9}",
        ) {
            for key in [
                GroupKey::Control { inode, path: &path },
                GroupKey::Session(inode as u32),
                GroupKey::Told { user: "7", id: &id },
            ] {
                let text = key.text();
                prop_assert_eq!(parse(&text), Some(key));
            }
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in ".*") {
            let _ = (parse(&text), name(&text));
        }
    }
}
