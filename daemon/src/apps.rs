//! Running apps and their launches.
//!
//! An app is a control group: one that a desktop named as an app's, or that Android made for one (each process has a
//! group there; its id is the name of the package). Android starts processes of apps for their services too: one is
//! launched when it is in front soon after it began. A session of processes is one where no such group holds it:
//! without a service manager that makes groups for apps, and in the scope of a login, in which desktops run that make
//! none (`group_name::has_apps_by_session`). When it comes to life, that is a launch; it ends when the app has not
//! waited for storage for a second, or after twenty. What an app tolerates is for `brisk_core::app` to say.
//!
//! Shells and launchers may tell which app is in front and which is launched (`told.rs`); what each app does for its
//! user is in `activity.rs`.
//!
//! Properties: every launch that began ends, by rest, by time or with the app; what was there before the daemon is not
//! launched; the foreground is known only where the system tells it; services keep their priority.

mod activity;
mod branches;
mod preference;
mod process_groups;
mod recent;
mod told;
pub(crate) mod window;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use brisk_core::app::{Activity, App, AppFacts, Role, Tolerance, classify};
use brisk_core::event::{Event, EventKind};
use brisk_core::group::{GroupKey, name};
use brisk_core::knob::GroupSetting;
use brisk_core::text::one_line;
use brisk_formats::group_name::{self, android_uid, app_id, is_app, last_name};
use brisk_sense::{Group, ProcessSession};

use crate::config::{Choices, Services};

pub use activity::{OfGroup, SoundAndLocks};
use branches::Growth;
pub use branches::Process;
pub use preference::Preferences;
pub use process_groups::ProcessGroups;
use recent::Recent;
pub use told::NoSuchApp;
use told::{ToldFront, ToldLaunch};
pub use window::Likeness;

/// A launch ends when the app has not waited for storage for this time.
const REST_NS: u64 = 1_000_000_000;
/// Maximum length of a launch.
const LAUNCH_NS_MAX: u64 = 20_000_000_000;
/// Interval between samples of a launch.
const SAMPLE_NS: u64 = 250_000_000;
/// Interval between readings of nice values and group settings: a service may be made nice after its start.
const REFRESH_NS: u64 = 60_000_000_000;
/// How long the disks of an app that is not launched are known.
const LOCATED_NS: u64 = 5_000_000_000;
/// A process of an app on Android that comes to the front within this time after its start was started for that.
const STARTS_NS: u64 = 5_000_000_000;
/// Waiting for storage for less than this part of the time is rest.
const REST_PERCENT: u64 = 2;

#[derive(Debug, Default)]
pub struct Apps {
    known: BTreeMap<PathBuf, TrackedGroup>,
    next_sample_ns: Option<u64>,
    /// When nice values were read.
    refreshed_ns: Option<u64>,
    /// When activities were read; `None` too when an app began since.
    observed_ns: Option<u64>,
    /// Whether any of them is known.
    has_activities: bool,
    /// The system shows which apps are in front.
    shows_front: bool,
    /// What was told by the user whose seat it is of; `None` of one that is unknown.
    told_fronts: BTreeMap<Option<u32>, ToldFront>,
    told_launches: Vec<ToldLaunch>,
    preferences: Preferences,
}

#[derive(Debug)]
struct TrackedGroup {
    /// Of a session: the directory of its leader in /proc.
    group: Group,
    /// The session, for an app that is one.
    session: Option<ProcessSession>,
    launch: Option<Launch>,
    /// When it began, of an app of Android that is launched if it comes to the front.
    began_ns: Option<u64>,
    nice_min: Option<i8>,
    /// Settings that its control group offers; `None` before the first reading.
    offers: Option<Vec<GroupSetting>>,
    /// Whether it is in the foreground; `None` where that is unknown, or it is no app.
    focused: Option<bool>,
    /// The same as the system tells it, whatever a shell told.
    detected: Option<bool>,
    /// What it does for its user; role and foreground are above.
    activity: Activity,
    /// When the scores of its processes were read.
    scored_ns: Option<u64>,
    /// What it did in the last minute.
    recent: Recent,
    /// What the parts of a terminal or session had before.
    growth: Growth,
    /// Processes of it that the out-of-memory killer has ended; `None` before the first reading, and where the kernel
    /// does not count them.
    oom_kills: Option<u64>,
    /// Whether a launcher told its id, and it has no group yet.
    is_told: bool,
    /// Disks that its requests may go to; `None` when unknown.
    disks: Option<BTreeSet<String>>,
    /// When they were found out.
    located_ns: Option<u64>,
}

#[derive(Debug)]
struct Launch {
    began_ns: u64,
    /// Time of the last sample, and the total wait for storage of the app by then.
    sampled_ns: u64,
    waited_us: Option<u64>,
    /// Since when the app does not wait for storage.
    rests_since_ns: u64,
}

impl Apps {
    /// Adds a group that existed before the daemon.
    pub fn was_there(&mut self, group: Group) {
        self.insert(TrackedGroup::of(group));
    }

    /// Adds a session that existed before the daemon.
    pub fn session_was_there(&mut self, session: ProcessSession) {
        self.insert(TrackedGroup::of_session(session));
    }

    /// Adds a group that got its first process; gives the launch when it is an app.
    pub fn began(&mut self, group: Group, at_ns: u64) -> Option<Event> {
        self.launched(TrackedGroup::of(group), at_ns)
    }

    /// Adds a session in which a program started; gives the launch when it is a user's.
    pub fn session_began(&mut self, session: ProcessSession, at_ns: u64) -> Option<Event> {
        self.launched(TrackedGroup::of_session(session), at_ns)
    }

    fn launched(&mut self, mut known: TrackedGroup, at_ns: u64) -> Option<Event> {
        let mut event = None;
        if known.is_of_android() && self.shows_front {
            known.began_ns = Some(at_ns);
        } else if known.is_app() {
            let told = self.take_told(&id_of(&known), known.group.user, at_ns);
            known.launch = Some(Launch::at(told.map_or(at_ns, |(told_ns, _)| told_ns), at_ns));
            self.next_sample_ns.get_or_insert(at_ns.saturating_add(SAMPLE_NS));
            // A launch that was told of an app that runs has begun already.
            let began = || Event { at_ns, kind: EventKind::LaunchBegan { group: known.group.key.clone() } };
            event = (!told.is_some_and(|(_, has_begun)| has_begun)).then(began);
        }
        self.insert(known);
        event
    }

    fn insert(&mut self, mut known: TrackedGroup) {
        if known.is_app() {
            // What it does is unknown.
            self.observed_ns = None;
            // It is in the background until it is told or seen elsewhere.
            known.focused = self.knows_front(known.group.user).then_some(false);
        }
        self.known.insert(known.group.dir.clone(), known);
    }

    /// Removes a group; gives the end of the app.
    pub fn gone(&mut self, group: &Group, at_ns: u64) -> Option<Event> {
        self.left(&group.dir, at_ns)
    }

    /// Removes a session; gives the end of the app.
    pub fn session_gone(&mut self, id: u32, at_ns: u64) -> Option<Event> {
        self.left(&dir_of_session(id), at_ns)
    }

    fn left(&mut self, dir: &Path, at_ns: u64) -> Option<Event> {
        let known = self.known.remove(dir)?;
        known.is_app().then_some(Event { at_ns, kind: EventKind::AppGone { group: known.group.key } })
    }

    pub fn sessions(&self) -> impl Iterator<Item = u32> {
        self.known.values().filter_map(|known| known.session.as_ref()).map(|session| session.id)
    }

    /// Sessions that one of these processes has begun.
    #[must_use]
    pub fn sessions_of(&self, pids: &[u32]) -> Vec<u32> {
        let sessions = self.known.values().filter_map(|known| known.session.as_ref());
        sessions.filter(|session| pids.contains(&session.pid)).map(|session| session.id).collect()
    }

    /// Updates which apps are in the foreground; `front` has the processes there, and is `None` where that is unknown;
    /// `processes` gives those of the app in a directory. Gives the apps that came to the foreground.
    pub fn update_front(
        &mut self,
        at_ns: u64,
        front: Option<&BTreeSet<u32>>,
        processes: impl Fn(&Path) -> Vec<u32>,
    ) -> Vec<Event> {
        let mut events = Vec::new();
        for known in self.known.values_mut().filter(|known| known.is_app()) {
            let is_front = |front: &BTreeSet<u32>| processes(&known.group.dir).iter().any(|pid| front.contains(pid));
            known.detected = front.map(is_front);
            let is_start = |began_ns: &u64| at_ns.saturating_sub(*began_ns) < STARTS_NS;
            if known.detected == Some(true)
                && let Some(began_ns) = known.began_ns.take().filter(is_start)
                && known.launch.is_none()
            {
                known.launch = Some(Launch::at(began_ns, at_ns));
                self.next_sample_ns.get_or_insert(at_ns.saturating_add(SAMPLE_NS));
                events.push(Event { at_ns, kind: EventKind::LaunchBegan { group: known.group.key.clone() } });
            }
        }
        events.extend(self.resolve_front(at_ns));
        events
    }

    /// The system shows which apps are in front, or does not any more.
    pub fn expect_front(&mut self, shows_front: bool) {
        self.shows_front = shows_front;
    }

    /// Groups of apps of Android whose package is not known yet.
    pub fn nameless(&self) -> impl Iterator<Item = &Path> {
        let is_nameless = |known: &&TrackedGroup| known.group.package.is_none() && known.is_of_android();
        self.known.values().filter(is_nameless).map(|known| known.group.dir.as_path())
    }

    /// The package of the app in this group is known now.
    pub fn name(&mut self, dir: &Path, package: String) {
        if let Some(known) = self.known.get_mut(dir) {
            known.group.package = Some(package);
        }
    }

    /// When launches are to be sampled.
    #[must_use]
    pub fn next_sample_ns(&self) -> Option<u64> {
        self.next_sample_ns
    }

    /// Samples launches that are due; `waited_us` gives the time that the group in a directory has waited for storage
    /// so far. Gives the launches that ended.
    pub fn sample_launches(&mut self, at_ns: u64, waited_us: impl Fn(&Path) -> Option<u64>) -> Vec<Event> {
        if self.next_sample_ns.is_none_or(|due_ns| at_ns < due_ns) {
            return Vec::new();
        }
        let mut ended = Vec::new();
        let mut more = false;
        for known in self.known.values_mut() {
            let Some(launch) = &mut known.launch else { continue };
            if launch.is_over(at_ns, waited_us(&known.group.dir)) {
                known.launch = None;
                if !known.is_told {
                    ended.push(Event { at_ns, kind: EventKind::LaunchEnded { group: known.group.key.clone() } });
                }
            } else {
                more = true;
            }
        }
        self.next_sample_ns = more.then(|| at_ns.saturating_add(SAMPLE_NS));
        self.forget_told();
        ended
    }

    /// Samples the nice values of apps and the settings that their groups offer, where the last sample is older than a
    /// minute; `nice_min` gives the least nice value of the processes of the group in a directory, and `offers` the
    /// settings there.
    pub fn refresh(
        &mut self,
        at_ns: u64,
        nice_min: impl Fn(&Path) -> Option<i8>,
        offers: impl Fn(&Path) -> Vec<GroupSetting>,
    ) {
        let due = self.refreshed_ns.is_none_or(|refreshed_ns| at_ns.saturating_sub(refreshed_ns) >= REFRESH_NS);
        for known in self.known.values_mut() {
            if due || known.nice_min.is_none() {
                known.nice_min = nice_min(&known.group.dir);
            }
            if due || known.offers.is_none() {
                known.offers = Some(if known.session.is_some() { Vec::new() } else { offers(&known.group.dir) });
            }
        }
        if due {
            self.refreshed_ns = Some(at_ns);
        }
    }

    /// Finds out on which disks apps are: those that are launched each time, as their files come and go, the others
    /// when that is older than five seconds; with `front_only` those that are no apps are left out. `disks` gives those
    /// of the app in a directory, and whether it is launched; a session is of unknown place.
    pub fn locate(
        &mut self,
        at_ns: u64,
        front_only: bool,
        (choices, services): (&Choices, &Services),
        mut disks: impl FnMut(&Path, bool) -> Option<BTreeSet<String>>,
    ) {
        for known in self.known.values_mut().filter(|known| known.session.is_none() && !known.is_told) {
            if front_only && !known.is_app() {
                continue;
            }
            let launching = known.launch.is_some();
            let is_fresh = known.located_ns.is_some_and(|then_ns| at_ns.saturating_sub(then_ns) < LOCATED_NS);
            // The priority of a service is not changed.
            if (is_fresh && !launching) || classify(&facts(known, choices, services)).tolerance == Tolerance::System {
                continue;
            }
            let before = known.disks.take().filter(|_| launching);
            known.disks = disks(&known.group.dir, launching)
                .map(|found| found.into_iter().chain(before.into_iter().flatten()).collect());
            known.located_ns = Some(at_ns);
        }
    }

    /// The users whose apps run.
    #[must_use]
    pub fn users(&self) -> BTreeSet<Option<u32>> {
        self.known.values().filter(|known| known.is_app()).map(|known| known.group.user).collect()
    }

    /// Whether an app is being launched.
    #[must_use]
    pub fn has_launches(&self) -> bool {
        self.known.values().any(|known| known.launch.is_some() && !known.is_told)
    }

    /// Groups of apps, for the sampler: directory and key.
    pub fn groups(&self) -> impl Iterator<Item = (PathBuf, String)> {
        let is_group = |known: &&TrackedGroup| known.session.is_none() && known.is_app() && !known.is_told;
        self.known.values().filter(is_group).map(|known| (known.group.dir.clone(), known.group.key.clone()))
    }

    /// All that runs, classified; `choices` are what the person chose, by id, and `services` the names that a rule goes
    /// by.
    #[must_use]
    pub fn list(&self, choices: &Choices, services: &Services) -> Vec<App> {
        let running = self.known.values().filter(|known| !known.is_told);
        running.map(|known| classify(&facts(known, choices, services))).collect()
    }
}

impl Launch {
    fn at(began_ns: u64, at_ns: u64) -> Self {
        Self { began_ns, sampled_ns: at_ns, waited_us: None, rests_since_ns: at_ns }
    }

    fn is_over(&mut self, at_ns: u64, waited_us: Option<u64>) -> bool {
        let elapsed_us = at_ns.saturating_sub(self.sampled_ns) / 1000;
        // The first sample has no predecessor, so it counts as work.
        let rested = match (self.waited_us, waited_us) {
            (Some(before), Some(now)) => now.saturating_sub(before) * 100 < elapsed_us * REST_PERCENT,
            _ => false,
        };
        if !rested {
            self.rests_since_ns = at_ns;
        }
        (self.sampled_ns, self.waited_us) = (at_ns, waited_us);
        at_ns.saturating_sub(self.rests_since_ns) >= REST_NS || at_ns.saturating_sub(self.began_ns) >= LAUNCH_NS_MAX
    }
}

impl TrackedGroup {
    fn of(group: Group) -> Self {
        Self {
            group,
            session: None,
            launch: None,
            began_ns: None,
            nice_min: None,
            offers: None,
            focused: None,
            detected: None,
            activity: Activity::default(),
            scored_ns: None,
            recent: Recent::default(),
            growth: Growth::default(),
            oom_kills: None,
            is_told: false,
            disks: None,
            located_ns: None,
        }
    }

    fn of_session(session: ProcessSession) -> Self {
        let key = GroupKey::Session(session.id).text();
        let group = Group { dir: dir_of_session(session.id), key, user: session.user, package: None };
        Self { session: Some(session), ..Self::of(group) }
    }

    fn role(&self) -> Role {
        match &self.session {
            _ if self.is_app() => Role::App,
            Some(_) => Role::Service,
            None if group_name::is_service(&self.group.dir) => Role::Service,
            None => Role::Other,
        }
    }

    fn is_app(&self) -> bool {
        match &self.session {
            _ if self.is_told => true,
            Some(session) => session.of_user,
            None => is_app(&last_name(&self.group.dir)) || self.is_of_android() || self.is_of_bus(),
        }
    }

    /// An app that the bus has started.
    fn is_of_bus(&self) -> bool {
        self.group.package.is_some() && group_name::bus_id(&last_name(&self.group.dir)).is_some()
    }

    fn is_of_android(&self) -> bool {
        self.session.is_none() && android_uid(&self.group.dir).is_some()
    }
}

fn dir_of_session(id: u32) -> PathBuf {
    Path::new("/proc").join(id.to_string())
}

/// Whether a session counts beside control groups: no group of a service manager stands for what runs in it. Where
/// groups cannot be watched, those of apps do not stand for them either.
#[must_use]
pub fn is_told_by_session(group: Option<&Path>, watches_groups: bool) -> bool {
    let is_of_app = |dir: &Path| dir.iter().any(|part| is_app(&part.to_string_lossy()));
    group.is_none_or(|dir| group_name::has_apps_by_session(dir) || (!watches_groups && is_of_app(dir)))
}

/// Whether a directory is that of a session rather than a control group.
#[must_use]
pub fn is_session(dir: &Path) -> bool {
    dir.parent() == Some(Path::new("/proc"))
}

/// The id, as a name of one line: a program or group may have any.
fn id_of(known: &TrackedGroup) -> String {
    let id = match (&known.session, android_uid(&known.group.dir)) {
        _ if known.is_told => name(&known.group.key).to_owned(),
        (Some(session), _) => session.program.clone(),
        // Each app is a user of its own there.
        (None, Some(uid)) => known.group.package.clone().unwrap_or_else(|| format!("uid_{uid}")),
        (None, None) => app_id(&last_name(&known.group.dir)),
    };
    one_line(&id).into_owned()
}

fn facts(known: &TrackedGroup, choices: &Choices, services: &Services) -> AppFacts {
    let is_of_android = known.is_of_android();
    let (id, is_program) = (id_of(known), known.session.is_some());
    let parts = || known.group.dir.iter().map(|part| part.to_string_lossy());
    let managed = parts().any(|part| part == "system.slice" || part == "user.slice");
    let of_user = parts().any(|part| part == "user.slice" || part.starts_with("user@"));
    AppFacts {
        group: known.group.key.clone(),
        user: known.group.user,
        launching: known.launch.is_some(),
        focused: known.focused,
        // Without a service manager, a group that is named as an app was started by a user.
        of_user: of_user || is_of_android || (!managed && known.is_app()),
        role: known.role(),
        in_background: parts().any(|part| part == "background.slice"),
        listed: services.class_of(&id),
        nice_min: known.nice_min,
        offers: known.offers.clone().unwrap_or_default(),
        disks: known.disks.as_ref().map(|disks| disks.iter().cloned().collect()),
        chosen: choices.class_of(&id, is_program),
        activity: Activity {
            is_rated: is_of_android,
            protected: choices.protects(&id, is_program).map(str::to_owned),
            // A person who tells brisk means brisk.
            preference: choices.preference(&id, is_program).or_else(|| known.activity.preference.clone()),
            ..known.activity.clone()
        },
        id,
    }
}

#[cfg(test)]
mod tests;
