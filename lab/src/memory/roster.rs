//! The apps that run, as those see them who end apps: what each is, and when it was in front.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::results::EndedBy;

/// Shared between the ground and a killer's thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct Roster(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    apps: Vec<Entry>,
    turn: u64,
    blamed: BTreeMap<String, EndedBy>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Member {
    /// All processes of a control group of version 2.
    Group(PathBuf),
    /// One process, whose id is not free before the ground has waited for it.
    Process(u32),
    /// An app that is being launched: it is in front, and cannot be ended yet.
    Launching,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) member: Member,
    /// When it came to the front, in turns.
    front_turn: u64,
}

impl Roster {
    fn with<T>(&self, use_it: impl FnOnce(&mut Entries) -> T) -> T {
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds an app, which is in front.
    pub(crate) fn add(&self, name: &str, member: Member) {
        self.with(|entries| {
            entries.turn += 1;
            entries.blamed.remove(name);
            entries.apps.retain(|entry| entry.name != name);
            entries.apps.push(Entry { name: name.to_owned(), member, front_turn: entries.turn });
        });
    }

    /// Notes that an app comes to the front.
    pub(crate) fn to_front(&self, name: &str) {
        self.with(|entries| {
            entries.turn += 1;
            let turn = entries.turn;
            entries.apps.iter_mut().filter(|entry| entry.name == name).for_each(|entry| entry.front_turn = turn);
        });
    }

    /// Takes an app off that has ended; gives who is to blame.
    pub(crate) fn remove(&self, name: &str) -> Option<EndedBy> {
        self.with(|entries| {
            entries.apps.retain(|entry| entry.name != name);
            entries.blamed.remove(name)
        })
    }

    /// Takes off the app in the background that was in front longest ago, to be ended. The one in front stays.
    pub(crate) fn take_oldest(&self) -> Option<Entry> {
        self.with(|entries| {
            let front_turn = entries.apps.iter().map(|entry| entry.front_turn).max()?;
            let background = entries.apps.iter().enumerate().filter(|(_, entry)| entry.front_turn != front_turn);
            let oldest = background.min_by_key(|(_, entry)| entry.front_turn)?.0;
            let entry = entries.apps.remove(oldest);
            entries.blamed.insert(entry.name.clone(), EndedBy::Oldest);
            Some(entry)
        })
    }

    /// Notes who ends processes of `name`: of use when all have ended.
    pub(crate) fn blame(&self, name: &str, by: EndedBy) {
        self.with(|entries| entries.blamed.insert(name.to_owned(), by));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_was_in_front_longest_ago_is_taken_and_never_the_one_in_front() {
        let roster = Roster::default();
        for name in ["a", "b", "c"] {
            roster.add(name, Member::Group(PathBuf::from(name)));
        }
        roster.to_front("a");
        let taken = || roster.take_oldest().map(|entry| entry.name);
        assert_eq!(taken().as_deref(), Some("b"));
        assert_eq!(taken().as_deref(), Some("c"));
        assert_eq!(taken(), None, "the one in front stays");
        roster.add("d", Member::Launching);
        assert_eq!(taken().as_deref(), Some("a"), "the other one is being launched");
        assert_eq!(taken(), None);
        assert_eq!(roster.remove("b"), Some(EndedBy::Oldest));
        assert_eq!(roster.remove("b"), None);
    }

    #[test]
    fn blame_does_not_outlive_the_app() {
        let roster = Roster::default();
        roster.add("a", Member::Process(1));
        roster.blame("a", EndedBy::Earlyoom);
        roster.add("a", Member::Process(2));
        assert_eq!(roster.remove("a"), None);
    }
}
