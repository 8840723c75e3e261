//! What a person chose of apps, by id: the section `[apps]`.
//!
//! An entry is the app id of a window, which is the name of the desktop file (`org.gnome.Evince`), the last part of one
//! or the name of a program (`evince`, `signal`), in any case, or a pattern in which `*` stands for any characters. It
//! means the same apps as what a shell tells of a window in front (`apps::window`): one notion of app ids.
//!
//! Properties: `an_entry_means_the_apps_that_its_window_would`; `the_closest_entry_gives_the_class`;
//! `an_app_on_both_lists_is_an_error`.

use std::collections::BTreeMap;

use brisk_core::app::{EndOrder, Preference, Tolerance, is_named};
use serde::{Deserialize, Serialize};

use crate::apps::window::{Likeness, likeness};

/// The section.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Choices {
    /// Apps from which nothing is taken: they are not frozen, not written to swap and not ended.
    pub protect: Vec<String>,
    /// Apps that end first, where any are ended.
    pub end_first: Vec<String>,
    /// How much delay an app tolerates.
    pub class: BTreeMap<String, Tolerance>,
}

/// How an entry means the app with this id; `None` where it does not.
fn means(entry: &str, id: &str, is_program: bool) -> Option<Likeness> {
    // A pattern is as far off as can be.
    let by_pattern = || (entry.contains('*') && is_named(entry, id)).then_some(Likeness::LastPart);
    likeness(id, is_program, entry).or_else(by_pattern)
}

impl Choices {
    /// The class of the app with this id, which is the name of a program where sessions of processes stand for apps.
    #[must_use]
    pub fn class_of(&self, id: &str, is_program: bool) -> Option<Tolerance> {
        let known = self.class.iter().filter_map(|(entry, class)| Some((means(entry, id, is_program)?, class)));
        known.min_by_key(|(likeness, _)| *likeness).map(|(_, class)| *class)
    }

    /// The entry that protects it.
    #[must_use]
    pub fn protects(&self, id: &str, is_program: bool) -> Option<&str> {
        self.protect.iter().find(|entry| means(entry, id, is_program).is_some()).map(String::as_str)
    }

    /// That it ends first, where it does.
    #[must_use]
    pub fn preference(&self, id: &str, is_program: bool) -> Option<Preference> {
        let entry = self.end_first.iter().find(|entry| means(entry, id, is_program).is_some())?;
        Some(Preference { order: EndOrder::First, by: format!("[apps] end_first names {entry}") })
    }

    /// # Errors
    /// When an entry is empty, or an app is on both lists.
    pub fn check(&self) -> Result<(), String> {
        let lists = [("protect", &self.protect), ("end_first", &self.end_first)];
        for (name, list) in lists {
            if list.iter().any(|entry| entry.trim_matches('*').is_empty()) {
                return Err(format!("an entry of '{name}' names no app: write an app id such as \"org.gnome.Evince\""));
            }
        }
        match self.end_first.iter().find(|entry| self.protects(entry, false).is_some()) {
            Some(both) => Err(format!("'{both}' is in 'protect' and in 'end_first': take it out of one")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> Vec<String> {
        entries.iter().map(|&entry| entry.to_owned()).collect()
    }

    #[test]
    fn an_entry_means_the_apps_that_its_window_would() {
        let choices = Choices { protect: list(&["org.gnome.Evince", "signal", "steam*"]), ..Choices::default() };
        for (id, is_program, entry) in [
            ("org.gnome.Evince", false, Some("org.gnome.Evince")),
            ("evince", true, Some("org.gnome.Evince")),
            ("org.signal.Signal", false, Some("signal")),
            ("Signal", false, Some("signal")),
            ("steamwebhelper", false, Some("steam*")),
            ("org.kde.Evince", false, None),
            ("signal-desktop", false, None),
            ("", false, None),
        ] {
            assert_eq!(choices.protects(id, is_program), entry, "{id}");
        }
        let choices = Choices { end_first: list(&["chromium"]), ..Choices::default() };
        let preference = choices.preference("org.chromium.Chromium", false).expect("named");
        assert_eq!((preference.order, preference.by.as_str()), (EndOrder::First, "[apps] end_first names chromium"));
        assert_eq!(choices.preference("firefox", false), None);
    }

    #[test]
    fn the_closest_entry_gives_the_class() {
        let class = [("mail", Tolerance::Batch), ("org.x.Mail", Tolerance::Streaming), ("*", Tolerance::Background)];
        let class = class.map(|(entry, class)| (entry.to_owned(), class)).into();
        let choices = Choices { class, ..Choices::default() };
        assert_eq!(choices.class_of("org.x.Mail", false), Some(Tolerance::Streaming));
        assert_eq!(choices.class_of("org.y.Mail", false), Some(Tolerance::Background));
        assert_eq!(choices.class_of("other", false), Some(Tolerance::Background));
        assert_eq!(Choices::default().class_of("other", false), None);
    }

    #[test]
    fn an_app_on_both_lists_is_an_error() {
        let both = Choices { protect: list(&["org.x.Mail"]), end_first: list(&["mail"]), ..Choices::default() };
        assert!(both.check().is_err_and(|what| what.starts_with("'mail' is in 'protect' and in 'end_first'")));
        let empty = Choices { protect: list(&["*"]), ..Choices::default() };
        assert!(empty.check().is_err_and(|what| what.contains("names no app")));
        let fine = Choices { protect: list(&["a"]), end_first: list(&["b*"]), ..Choices::default() };
        assert_eq!(fine.check(), Ok(()));
    }
}
