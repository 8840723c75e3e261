//! Of which apps processes are: by their control groups, and by their sessions where they have none.
//!
//! It takes no time for each group that there is: any user can make a thousand of them, and tell of as many streams.

use std::collections::BTreeSet;
use std::path::PathBuf;

use brisk_sense::{Hierarchies, Sense};

use super::{Apps, TrackedGroup};

/// Where a process is: its control group where apps have some, and the directory of its session in /proc.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessGroups {
    pub group: Option<PathBuf>,
    pub session: Option<PathBuf>,
}

impl ProcessGroups {
    /// Where a process or thread is; empty when it has ended.
    #[must_use]
    pub fn of(sense: &Sense, hierarchies: &Hierarchies, pid: u32) -> Self {
        let groups = sense.process_cgroups(pid).ok().flatten().unwrap_or_default();
        let session = sense.process_stat(pid).ok().flatten().and_then(|stat| u32::try_from(stat.session).ok());
        Self { group: hierarchies.group(&groups), session: session.map(super::dir_of_session) }
    }
}

/// The apps of which some processes are.
#[derive(Debug, Default)]
pub(super) struct Holders {
    /// Their directories.
    pub(super) dirs: BTreeSet<PathBuf>,
    /// Whether a process is of none, or of one that works for others.
    pub(super) has_others: bool,
}

impl Apps {
    /// The apps of which processes of these places are; `is_server` says which of them work for others.
    pub(super) fn holders(&self, places: &[ProcessGroups], is_server: impl Fn(&TrackedGroup) -> bool) -> Holders {
        let mut holders = Holders::default();
        for place in places {
            let apps: Vec<&TrackedGroup> = self.holding(place).filter(|known| known.is_app()).collect();
            holders.has_others |= apps.iter().all(|known| is_server(known));
            holders.dirs.extend(apps.iter().map(|known| known.group.dir.clone()));
        }
        holders
    }

    /// The groups and the session that a process of this place is of.
    fn holding<'a>(&'a self, place: &'a ProcessGroups) -> impl Iterator<Item = &'a TrackedGroup> {
        let above = place.group.iter().flat_map(|dir| dir.ancestors());
        let all = above.chain(place.session.as_deref()).filter_map(|dir| self.known.get(dir));
        all.filter(move |known| known.holds(place))
    }
}

impl TrackedGroup {
    /// Whether a process of this place is of the app.
    pub(super) fn holds(&self, place: &ProcessGroups) -> bool {
        match &self.session {
            Some(_) => place.session.as_ref() == Some(&self.group.dir),
            None => place.group.as_ref().is_some_and(|group| group.starts_with(&self.group.dir)),
        }
    }
}

#[cfg(test)]
mod tests {
    use brisk_sense::Group;

    use super::*;

    #[test]
    fn what_holds_a_process_is_found_without_asking_each_group() {
        let mut apps = Apps::default();
        let dirs = ["/c", "/c/app-a-1.scope", "/c/app-a-1.scope/tab", "/c/app-a-10.scope", "/d/app-a-1.scope"];
        dirs.iter().for_each(|dir| apps.was_there(Group { dir: dir.into(), ..Group::default() }));
        apps.session_was_there(brisk_sense::ProcessSession {
            id: 40,
            pid: 40,
            program: "foot".to_owned(),
            of_user: true,
            user: None,
        });
        let groups = dirs.iter().chain(&["/c/app-a-1.scope/tab/x", "/c/app-a-1", "/e", "/proc/40"]);
        for group in groups.map(|dir| Some(PathBuf::from(dir))).chain([None]) {
            for session in [None, Some("/proc/40".into()), Some("/proc/41".into()), Some("/c".into())] {
                let place = ProcessGroups { group: group.clone(), session };
                let dirs = |known: &TrackedGroup| known.group.dir.clone();
                let found: BTreeSet<PathBuf> = apps.holding(&place).map(dirs).collect();
                let asked: BTreeSet<PathBuf> =
                    apps.known.values().filter(|known| known.holds(&place)).map(dirs).collect();
                assert_eq!(found, asked, "{place:?}");
            }
        }
    }
}
