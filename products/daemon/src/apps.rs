//! Apps that run, and launches that are under way.
//!
//! An app is a control group. When a group that a desktop named as an app's comes to life, that is a launch; it ends when
//! the app has not waited for storage for a second, or after twenty. What an app tolerates is for `brisk_core::app` to say.
//!
//! Properties: every launch that began ends, by rest, by time or with the app; groups that were there before the daemon are
//! not launched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brisk_core::app::{App, AppFacts, Tolerance, classify};
use brisk_core::event::{Event, EventKind};
use brisk_sense::Group;

/// How long an app has not waited for storage when its launch is over.
const REST_NS: u64 = 1_000_000_000;
/// How long a launch may take.
const LAUNCH_NS_MAX: u64 = 20_000_000_000;
/// How often a launch is looked at.
const LOOK_NS: u64 = 250_000_000;
/// How often it is looked at how nice apps are: a service may be made nice after it began.
const NICE_NS: u64 = 60_000_000_000;
/// Waiting for storage for less than this part of the time is rest.
const REST_PERCENT: u64 = 2;

/// All apps.
#[derive(Debug, Default)]
pub struct Apps {
    known: BTreeMap<PathBuf, Known>,
    next_look_ns: Option<u64>,
    /// When it was looked at how nice apps are.
    nice_ns: Option<u64>,
}

#[derive(Debug)]
struct Known {
    group: Group,
    launch: Option<Launch>,
    nice_min: Option<i8>,
}

#[derive(Debug)]
struct Launch {
    began_ns: u64,
    /// The last look, and what the app had waited for storage by then, in all.
    looked_ns: u64,
    waited_us: Option<u64>,
    /// Since when it rests.
    rests_since_ns: u64,
}

impl Apps {
    /// Takes in a group that was there before.
    pub fn was_there(&mut self, group: Group) {
        self.known.insert(group.dir.clone(), Known { group, launch: None, nice_min: None });
    }

    /// Takes in a group that came to life; gives the launch when it is an app's.
    pub fn began(&mut self, group: Group, at_ns: u64) -> Option<Event> {
        let launch = is_app(&group).then_some(Launch {
            began_ns: at_ns,
            looked_ns: at_ns,
            waited_us: None,
            rests_since_ns: at_ns,
        });
        let event =
            launch.is_some().then(|| Event { at_ns, kind: EventKind::LaunchBegan { group: group.name.clone() } });
        if launch.is_some() {
            self.next_look_ns.get_or_insert(at_ns.saturating_add(LOOK_NS));
        }
        self.known.insert(group.dir.clone(), Known { group, launch, nice_min: None });
        event
    }

    /// Lets go of a group; gives the end of the app.
    pub fn gone(&mut self, group: &Group, at_ns: u64) -> Option<Event> {
        let known = self.known.remove(&group.dir)?;
        is_app(&known.group).then_some(Event { at_ns, kind: EventKind::AppGone { group: known.group.name } })
    }

    /// When launches want to be looked at.
    #[must_use]
    pub fn next_look_ns(&self) -> Option<u64> {
        self.next_look_ns
    }

    /// Looks at launches that are due; `waited_us` says what the group in a directory has waited for storage so far. Gives
    /// those that ended.
    pub fn look(&mut self, at_ns: u64, waited_us: impl Fn(&Path) -> Option<u64>) -> Vec<Event> {
        if self.next_look_ns.is_none_or(|due_ns| at_ns < due_ns) {
            return Vec::new();
        }
        let mut ended = Vec::new();
        let mut more = false;
        for known in self.known.values_mut() {
            let Some(launch) = &mut known.launch else { continue };
            if launch.is_over(at_ns, waited_us(&known.group.dir)) {
                known.launch = None;
                ended.push(Event { at_ns, kind: EventKind::LaunchEnded { group: known.group.name.clone() } });
            } else {
                more = true;
            }
        }
        self.next_look_ns = more.then(|| at_ns.saturating_add(LOOK_NS));
        ended
    }

    /// Looks at how nice apps are, where that was not done for a minute; `nice_min` says how nice the least nice process of the
    /// group in a directory is.
    pub fn look_at_nice(&mut self, at_ns: u64, nice_min: impl Fn(&Path) -> Option<i8>) {
        let due = self.nice_ns.is_none_or(|nice_ns| at_ns.saturating_sub(nice_ns) >= NICE_NS);
        for known in self.known.values_mut().filter(|known| due || known.nice_min.is_none()) {
            known.nice_min = nice_min(&known.group.dir);
        }
        if due {
            self.nice_ns = Some(at_ns);
        }
    }

    /// Groups of apps, for the sampler: directory and name.
    pub fn groups(&self) -> impl Iterator<Item = (PathBuf, String)> {
        let apps = self.known.values().map(|known| &known.group).filter(|group| is_app(group));
        apps.map(|group| (group.dir.clone(), group.name.clone()))
    }

    /// All that runs, classified; `chosen` are the classes that the person chose, by id.
    #[must_use]
    pub fn list(&self, chosen: &BTreeMap<String, Tolerance>) -> Vec<App> {
        self.known.values().map(|known| classify(&facts(known, chosen))).collect()
    }
}

impl Launch {
    fn is_over(&mut self, at_ns: u64, waited_us: Option<u64>) -> bool {
        let elapsed_us = at_ns.saturating_sub(self.looked_ns) / 1000;
        // The first look has nothing to compare with, so it counts as work.
        let rested = match (self.waited_us, waited_us) {
            (Some(before), Some(now)) => now.saturating_sub(before) * 100 < elapsed_us * REST_PERCENT,
            _ => false,
        };
        if !rested {
            self.rests_since_ns = at_ns;
        }
        (self.looked_ns, self.waited_us) = (at_ns, waited_us);
        at_ns.saturating_sub(self.rests_since_ns) >= REST_NS || at_ns.saturating_sub(self.began_ns) >= LAUNCH_NS_MAX
    }
}

fn is_app(group: &Group) -> bool {
    group.dir.file_name().is_some_and(|name| name.to_string_lossy().starts_with("app-"))
}

fn facts(known: &Known, chosen: &BTreeMap<String, Tolerance>) -> AppFacts {
    let last = known.group.dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let id = id_of(&last);
    let parts = || known.group.dir.iter().map(|part| part.to_string_lossy());
    let managed = parts().any(|part| part == "system.slice" || part == "user.slice");
    let of_user = parts().any(|part| part == "user.slice" || part.starts_with("user@"));
    AppFacts {
        group: known.group.name.clone(),
        launching: known.launch.is_some(),
        focused: None,
        // Without a service manager, who is named as an app is one that a person started.
        of_user: of_user || (!managed && is_app(&known.group)),
        nice_min: known.nice_min,
        chosen: chosen.get(&id).copied(),
        id,
    }
}

/// The id of an app from the name of its group (systemd.io/DESKTOP_ENVIRONMENTS): `app[-LAUNCHER]-ID-RANDOM.scope` or
/// `app[-LAUNCHER]-ID[@RANDOM].service`, where a hyphen in the id is written `\x2d`. Of others the name without its ending.
fn id_of(name: &str) -> String {
    let service = name.strip_suffix(".service");
    let bare = service.or_else(|| name.strip_suffix(".scope")).unwrap_or(name);
    let Some(app) = bare.strip_prefix("app-") else { return unescaped(bare) };
    let parts: Vec<&str> = app.split('-').collect();
    let id = match (service, parts.as_slice()) {
        (Some(_), [.., last]) => last.split('@').next().unwrap_or(last),
        (None, [.., id, _random]) => id,
        (_, [only]) => only,
        (_, []) => app,
    };
    unescaped(id)
}

/// Undoes `\xHH`.
fn unescaped(name: &str) -> String {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.strip_prefix(b"x").and_then(|hex| hex.get(..2)).filter(|_| first == b'\\');
        let byte =
            digits.and_then(|hex| std::str::from_utf8(hex).ok()).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match byte {
            Some(byte) => {
                out.push(byte);
                rest = &after[3..];
            }
            None => {
                out.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn group(dir: &str) -> Group {
        let dir = PathBuf::from(dir);
        Group { name: dir.file_name().expect("a name").to_string_lossy().into_owned(), dir }
    }

    /// Begins at 0 and looks whenever asked for; when the launch ended.
    fn ended_ns(waited_us: impl Fn(u64) -> Option<u64>) -> u64 {
        let mut apps = Apps::default();
        assert!(apps.began(group("/c/app-x-1.scope"), 0).is_some());
        while let Some(due_ns) = apps.next_look_ns() {
            assert!(due_ns <= LAUNCH_NS_MAX + LOOK_NS, "a launch has no end");
            if let [event] = apps.look(due_ns, |_| waited_us(due_ns)).as_slice() {
                assert_eq!(event.kind, EventKind::LaunchEnded { group: "app-x-1.scope".to_owned() });
                assert_eq!(apps.next_look_ns(), None);
                return event.at_ns;
            }
        }
        panic!("nobody looks at a launch");
    }

    #[test]
    fn a_launch_ends_a_second_after_its_last_wait_for_storage() {
        // It waits for half of the time in the first four seconds.
        let end = ended_ns(|at_ns| Some(at_ns.min(4 * SECOND_NS) / 2000));
        assert!((5 * SECOND_NS..=5 * SECOND_NS + 2 * LOOK_NS).contains(&end), "{end}");
        assert!((SECOND_NS..=SECOND_NS + 2 * LOOK_NS).contains(&ended_ns(|_| Some(7))));
        // Always waiting, and without a kernel that counts it.
        assert_eq!(ended_ns(|at_ns| Some(at_ns / 1000)), LAUNCH_NS_MAX);
        assert_eq!(ended_ns(|_| None), LAUNCH_NS_MAX);
    }

    #[test]
    fn only_apps_are_launched_and_what_was_there_is_not() {
        let mut apps = Apps::default();
        apps.was_there(group("/c/app-old-1.scope"));
        assert_eq!(apps.began(group("/c/system.slice/cron.service"), 5), None);
        assert_eq!(apps.next_look_ns(), None);
        assert_eq!(apps.gone(&group("/c/system.slice/cron.service"), 6), None);
        let gone = apps.gone(&group("/c/app-old-1.scope"), 7).expect("an app");
        assert_eq!(gone.kind, EventKind::AppGone { group: "app-old-1.scope".to_owned() });
        assert_eq!(apps.gone(&group("/c/app-old-1.scope"), 8), None);
    }

    #[test]
    fn classes_follow_place_and_choice() {
        let mut apps = Apps::default();
        apps.was_there(group("/c/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-org.x.Mail-7.scope"));
        apps.was_there(group("/c/system.slice/app-updater.service"));
        apps.was_there(group("/c/phone/writer"));
        apps.began(group("/c/app-brisk-xterm-1.scope"), 0);
        let chosen = BTreeMap::from([("org.x.Mail".to_owned(), Tolerance::Streaming)]);
        let mut found: Vec<(String, Tolerance, bool)> =
            apps.list(&chosen).into_iter().map(|app| (app.id, app.tolerance, app.launching)).collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let expected = [
            ("org.x.Mail", Tolerance::Streaming, false),
            ("updater", Tolerance::Background, false),
            ("writer", Tolerance::Background, false),
            ("xterm", Tolerance::Interactive, true),
        ];
        assert_eq!(found, expected.map(|(id, tolerance, launching)| (id.to_owned(), tolerance, launching)));
    }

    #[test]
    fn who_gives_way_is_a_batch_once_that_is_seen() {
        let mut apps = Apps::default();
        let class = |apps: &Apps| apps.list(&BTreeMap::new()).remove(0).tolerance;
        apps.was_there(group("/c/system.slice/backup.service"));
        apps.look_at_nice(0, |_| Some(0));
        assert_eq!(class(&apps), Tolerance::Background);
        apps.look_at_nice(NICE_NS - 1, |_| Some(19));
        assert_eq!(class(&apps), Tolerance::Background);
        apps.look_at_nice(NICE_NS, |_| Some(19));
        assert_eq!(class(&apps), Tolerance::Batch);
    }

    #[test]
    fn ids_are_read_as_desktops_write_them() {
        for (name, id) in [
            ("app-gnome-org.gnome.Evince-4711.scope", "org.gnome.Evince"),
            ("app-org.gnome.Evince-4711.scope", "org.gnome.Evince"),
            ("app-KDE-org.kde.okular@12ab.service", "org.kde.okular"),
            (r"app-gnome-gnome\x2dsession\x2dmanager@gnome.service", "gnome-session-manager"),
            ("cron.service", "cron"),
            ("writer", "writer"),
            ("app-.scope", ""),
            (r"app-a\x2-1.scope", r"a\x2"),
        ] {
            assert_eq!(id_of(name), id, "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_name_makes_the_reader_panic(name in "(app-)?.{0,30}(\\.scope|\\.service)?") {
            let _ = id_of(&name);
        }
    }
}
