//! Apps that run, and launches that are under way.
//!
//! An app is a control group: one that a desktop named as an app's, or that Android made for one. Where there are no such
//! groups, a session of processes is one. When it comes to life, that is a launch; it ends when the app has not waited for
//! storage for a second, or after twenty. What an app tolerates is for `brisk_core::app` to say.
//!
//! Properties: every launch that began ends, by rest, by time or with the app; what was there before the daemon is not
//! launched; who is in front is said only where something says it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use brisk_core::app::{App, AppFacts, SESSION, Tolerance, classify};
use brisk_core::event::{Event, EventKind};
use brisk_sense::{Group, ProcessSession};

/// How long an app has not waited for storage when its launch is over.
const REST_NS: u64 = 1_000_000_000;
/// How long a launch may take.
const LAUNCH_NS_MAX: u64 = 20_000_000_000;
/// How often a launch is looked at.
const LOOK_NS: u64 = 250_000_000;
/// How often it is looked at how nice apps are: a service may be made nice after it began.
const NICE_NS: u64 = 60_000_000_000;
/// Users of apps on Android begin here (AID_APP_START, system/core/libcutils/include/private/android_filesystem_config.h).
const ANDROID_APP_UID_MIN: u32 = 10_000;
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
    /// Of a session: the directory of its leader in /proc, and `session-` with its number.
    group: Group,
    /// What a session is, which its name does not tell.
    session: Option<ProcessSession>,
    launch: Option<Launch>,
    nice_min: Option<i8>,
    /// Whether it is in front; `None` where nobody says, or it is no app.
    focused: Option<bool>,
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
        self.insert(Known::of(group));
    }

    /// Takes in a session that was there before.
    pub fn session_was_there(&mut self, session: ProcessSession) {
        self.insert(Known::of_session(session));
    }

    /// Takes in a group that came to life; gives the launch when it is an app's.
    pub fn began(&mut self, group: Group, at_ns: u64) -> Option<Event> {
        self.launched(Known::of(group), at_ns)
    }

    /// Takes in a session in which a program began; gives the launch when it is a person's.
    pub fn session_began(&mut self, session: ProcessSession, at_ns: u64) -> Option<Event> {
        self.launched(Known::of_session(session), at_ns)
    }

    fn launched(&mut self, mut known: Known, at_ns: u64) -> Option<Event> {
        let mut event = None;
        if known.is_app() {
            known.launch = Some(Launch { began_ns: at_ns, looked_ns: at_ns, waited_us: None, rests_since_ns: at_ns });
            self.next_look_ns.get_or_insert(at_ns.saturating_add(LOOK_NS));
            event = Some(Event { at_ns, kind: EventKind::LaunchBegan { group: known.group.name.clone() } });
        }
        self.insert(known);
        event
    }

    fn insert(&mut self, known: Known) {
        self.known.insert(known.group.dir.clone(), known);
    }

    /// Lets go of a group; gives the end of the app.
    pub fn gone(&mut self, group: &Group, at_ns: u64) -> Option<Event> {
        self.left(&group.dir, at_ns)
    }

    /// Lets go of a session; gives the end of the app.
    pub fn session_gone(&mut self, id: u32, at_ns: u64) -> Option<Event> {
        self.left(&dir_of_session(id), at_ns)
    }

    fn left(&mut self, dir: &Path, at_ns: u64) -> Option<Event> {
        let known = self.known.remove(dir)?;
        known.is_app().then_some(Event { at_ns, kind: EventKind::AppGone { group: known.group.name } })
    }

    /// Lets go of all sessions: groups stand for apps from now on.
    pub fn forget_sessions(&mut self) {
        self.known.retain(|_, known| known.session.is_none());
    }

    /// Numbers of the sessions that are known.
    pub fn sessions(&self) -> impl Iterator<Item = u32> {
        self.known.values().filter_map(|known| known.session.as_ref()).map(|session| session.id)
    }

    /// Whether any group was named as an app's by a desktop.
    #[must_use]
    pub fn has_groups_of_apps(&self) -> bool {
        self.known.values().any(|known| known.session.is_none() && known.is_app())
    }

    /// Takes in which processes are in front, `None` where nothing says so; `processes` gives those of the app in a
    /// directory. Gives the apps that are in front and were not.
    pub fn look_at_front(
        &mut self,
        at_ns: u64,
        front: Option<&BTreeSet<u32>>,
        processes: impl Fn(&Path) -> Vec<u32>,
    ) -> Vec<Event> {
        let mut came = Vec::new();
        for known in self.known.values_mut().filter(|known| known.is_app()) {
            let before = known.focused;
            let is_front = |front: &BTreeSet<u32>| processes(&known.group.dir).iter().any(|pid| front.contains(pid));
            known.focused = front.map(is_front);
            if known.focused == Some(true) && before != Some(true) {
                came.push(Event { at_ns, kind: EventKind::Focused { group: known.group.name.clone() } });
            }
        }
        came
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
        let apps = self.known.values().filter(|known| known.session.is_none() && known.is_app());
        apps.map(|known| (known.group.dir.clone(), known.group.name.clone()))
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

impl Known {
    fn of(group: Group) -> Self {
        Self { group, session: None, launch: None, nice_min: None, focused: None }
    }

    fn of_session(session: ProcessSession) -> Self {
        let group = Group { dir: dir_of_session(session.id), name: format!("{SESSION}{}", session.id) };
        Self { session: Some(session), ..Self::of(group) }
    }

    fn is_app(&self) -> bool {
        match &self.session {
            Some(session) => session.of_user,
            None => is_named_as_app(&self.group) || android_uid(&self.group).is_some(),
        }
    }
}

fn dir_of_session(id: u32) -> PathBuf {
    Path::new("/proc").join(id.to_string())
}

/// Whether a directory is that of a session rather than a control group.
#[must_use]
pub fn is_session(dir: &Path) -> bool {
    dir.parent() == Some(Path::new("/proc"))
}

fn is_named_as_app(group: &Group) -> bool {
    group.dir.file_name().is_some_and(|name| name.to_string_lossy().starts_with("app-"))
}

/// The user of an app's group on Android: `.../uid_10123/pid_4567` (system/core/libprocessgroup/processgroup.cpp).
fn android_uid(group: &Group) -> Option<u32> {
    group.dir.file_name()?.to_str()?.strip_prefix("pid_")?.parse::<u32>().ok()?;
    let uid = group.dir.parent()?.file_name()?.to_str()?.strip_prefix("uid_")?.parse().ok()?;
    (uid >= ANDROID_APP_UID_MIN).then_some(uid)
}

fn facts(known: &Known, chosen: &BTreeMap<String, Tolerance>) -> AppFacts {
    let last = known.group.dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let android = android_uid(&known.group);
    // Each app is a user of its own there.
    let id = match (&known.session, android) {
        (Some(session), _) => session.program.clone(),
        (None, Some(uid)) => format!("uid_{uid}"),
        (None, None) => id_of(&last),
    };
    let parts = || known.group.dir.iter().map(|part| part.to_string_lossy());
    let managed = parts().any(|part| part == "system.slice" || part == "user.slice");
    let of_user = parts().any(|part| part == "user.slice" || part.starts_with("user@"));
    AppFacts {
        group: known.group.name.clone(),
        launching: known.launch.is_some(),
        focused: known.focused,
        // Without a service manager, who is named as an app is one that a person started.
        of_user: of_user || android.is_some() || (!managed && known.is_app()),
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

    fn session(id: u32, of_user: bool) -> ProcessSession {
        ProcessSession { id, program: "foot".to_owned(), of_user }
    }

    #[test]
    fn a_session_of_a_person_is_an_app_where_there_are_no_groups() {
        let mut apps = Apps::default();
        apps.session_was_there(session(1, false));
        assert_eq!(apps.session_began(session(40, false), 0), None);
        let began = apps.session_began(session(41, true), 0).expect("a launch");
        assert_eq!(began.kind, EventKind::LaunchBegan { group: "session-41".to_owned() });
        let of = |apps: &Apps| apps.list(&BTreeMap::new()).pop().map(|app| (app.id, app.tolerance, app.launching));
        assert_eq!(of(&apps), Some(("foot".to_owned(), Tolerance::Interactive, true)));
        // It rests when the machine does.
        let due_ns = apps.next_look_ns().expect("looked at");
        apps.look(due_ns, |dir| is_session(dir).then_some(7));
        let ended = (1..9).flat_map(|look| apps.look(due_ns + look * LOOK_NS, |_| Some(7))).next().expect("an end");
        assert_eq!(ended.kind, EventKind::LaunchEnded { group: "session-41".to_owned() });
        // The sampler knows groups alone.
        assert_eq!(apps.groups().count(), 0);
        assert_eq!(apps.session_gone(40, 9), None);
        assert!(apps.session_gone(41, 9).is_some());
        assert!(!apps.has_groups_of_apps());
        apps.forget_sessions();
        assert!(apps.list(&BTreeMap::new()).is_empty());
    }

    #[test]
    fn who_is_in_front_is_said_only_where_something_says_it() {
        let mut apps = Apps::default();
        let launched = apps.began(group("/sys/fs/cgroup/uid_10123/pid_400"), 0).expect("an app of Android");
        assert_eq!(launched.kind, EventKind::LaunchBegan { group: "pid_400".to_owned() });
        assert_eq!(apps.began(group("/sys/fs/cgroup/uid_1000/pid_300"), 0), None);
        apps.was_there(group("/sys/fs/cgroup/uid_10200/pid_500"));
        let processes = |dir: &Path| if dir.ends_with("pid_400") { vec![400, 401] } else { vec![500] };
        let rules = |apps: &Apps| {
            apps.list(&BTreeMap::new()).into_iter().map(|app| app.reason.rule.into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(apps.look_at_front(1, None, processes), []);
        assert_eq!(rules(&apps), ["service", "launching", "service"]);
        let focused = |name: &str, at_ns| Event { at_ns, kind: EventKind::Focused { group: name.to_owned() } };
        assert_eq!(apps.look_at_front(2, Some(&BTreeSet::from([500])), processes), [focused("pid_500", 2)]);
        assert_eq!(rules(&apps), ["service", "launching", "focused"]);
        assert_eq!(apps.look_at_front(3, Some(&BTreeSet::from([500])), processes), []);
        assert_eq!(apps.look_at_front(4, Some(&BTreeSet::from([401])), processes), [focused("pid_400", 4)]);
        assert_eq!(rules(&apps), ["service", "launching", "not_focused"]);
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
