//! What each app does for its user: sound, inhibitor locks, the freezer, and what the kernel's killer thinks of it and
//! did to it.
//!
//! Where a server stands between apps and a device, the system does not tell for which app it works: while a sound
//! server plays, or sound may go to a Bluetooth device, an app that does not play by itself is of unknown audibility
//! (`None`), unless the session of its user tells whose the streams of its sound server are (`SetSound`). It is unknown
//! also while that server plays and has no stream, and while a stream is of no app. It is the same with inhibitor locks
//! that a session manager takes for apps.
//!
//! It costs some files of each app, so it is read at most every two seconds, and only for an engine that decides by it,
//! or a client that asks. Kills are counted too when a group gets its first process and loses its last.
//!
//! Properties: `what_is_not_fresh_any_more_is_unknown_again`;
//! `an_app_that_owns_a_running_stream_is_audible_and_others_are_silent`;
//! `behind_a_sound_server_no_app_is_known_to_be_silent`; `a_session_tells_whose_streams_a_sound_server_plays`;
//! `a_kill_by_the_kernel_is_reported_once`;
//! `scores_of_processes_are_read_once_a_minute_and_before_an_app_is_stopped`.

use std::collections::BTreeMap;
use std::path::Path;

use brisk_core::app::{Activity, Tolerance};
use brisk_core::event::{Event, EventKind};
use brisk_core::group::name;
use brisk_sense::{Hierarchies, OomdPreference, Sense};

use super::branches::{self, Process};
use super::preference::Preferences;
use super::process_groups::{Holders, ProcessGroups};
use super::recent::Recent;
use super::{Apps, TrackedGroup, id_of};
use crate::config::Services;

/// How long what was read counts as fresh.
const FRESH_NS: u64 = 2_000_000_000;
/// The same of `oom_score_adj`, which stands in a file of each process: a Linux desktop sets it when a program starts.
/// Android sets it whenever an app comes to the foreground or leaves it.
const SCORE_NS: u64 = 60_000_000_000;

/// What the machine says of all apps together. `None`: it does not tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SoundAndLocks {
    /// Threads through whose streams sound goes.
    pub sound: Option<Vec<ProcessGroups>>,
    /// Sound may go where no sound card shows it.
    pub sound_elsewhere: bool,
    /// Processes whose streams the sound server of a user plays or records, as a session of that user tells.
    pub told: BTreeMap<u32, Vec<ProcessGroups>>,
    /// Processes that hold an inhibitor lock for their work.
    pub locks: Option<Vec<ProcessGroups>>,
}

impl SoundAndLocks {
    /// Reads it; what cannot be read is unknown. `told` has the processes that sessions tell, by user.
    #[must_use]
    pub fn read(sense: &Sense, hierarchies: &Hierarchies, told: &BTreeMap<u32, Vec<u32>>) -> Self {
        let place = |pid: u32| ProcessGroups::of(sense, hierarchies, pid);
        let locks = sense.inhibitors().ok().flatten();
        let of_work = locks.map(|locks| {
            // A lock without a process is one of unknown place.
            let holders = locks.into_iter().filter(|lock| lock.is_of_work());
            holders.map(|lock| lock.pid.map_or_else(ProcessGroups::default, place)).collect()
        });
        Self {
            sound: sense.sound_owners().ok().flatten().map(|owners| owners.into_iter().map(place).collect()),
            sound_elsewhere: sense.has_bluetooth_connection().unwrap_or(true),
            told: told.iter().map(|(user, pids)| (*user, pids.iter().map(|pid| place(*pid)).collect())).collect(),
            locks: of_work,
        }
    }
}

/// What the files of one app's group say. `None`: they do not tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfGroup {
    pub frozen: Option<bool>,
    /// The least `oom_score_adj` of its processes, where that is asked for.
    pub oom_score_adj: Option<i16>,
    /// Processor time of its processes so far.
    pub cpu_us: Option<u64>,
    /// Whether they have a connection to another machine, where the scores are asked for.
    pub is_connected: Option<bool>,
    /// Processes that the out-of-memory killer has ended.
    pub oom_kills: Option<u64>,
    /// Its processes, where they are asked for.
    pub processes: Option<Vec<Process>>,
    /// What systemd tells systemd-oomd of it, where that is asked for.
    pub oomd: Option<OomdPreference>,
}

impl Apps {
    /// Whether activities are to be read again.
    #[must_use]
    pub fn is_observation_due(&self, at_ns: u64) -> bool {
        self.observed_ns.is_none_or(|then_ns| at_ns.saturating_sub(then_ns) >= FRESH_NS)
    }

    /// Honours these preferences from now on.
    pub fn prefer(&mut self, preferences: Preferences) {
        self.preferences = preferences;
        for known in self.known.values_mut() {
            known.scored_ns = None;
        }
    }

    /// Has all of the app in `group` read at the next observation, which is due unless it was at this moment.
    pub fn expect_all_of(&mut self, group: &str, at_ns: u64) {
        for known in self.known.values_mut().filter(|known| known.group.key == group && known.scored_ns != Some(at_ns))
        {
            (known.scored_ns, self.observed_ns) = (None, None);
        }
    }

    /// Takes in what apps do; one that used processor or network in the last `rest_ns` works. `of_group` reads the
    /// files of the group (or session) in a directory, and the scores of its processes and a list of them when these
    /// are asked for. Gives the kills by the kernel since the last time.
    pub fn observe(
        &mut self,
        (at_ns, rest_ns): (u64, u64),
        seen: &SoundAndLocks,
        services: &Services,
        of_group: impl Fn(&Path, bool, bool) -> OfGroup,
    ) -> Vec<Event> {
        (self.has_activities, self.observed_ns) = (true, Some(at_ns));
        // A server that a desktop starts like an app works for others all the same.
        let is_server = |known: &TrackedGroup| services.class_of(&id_of(known)) == Some(Tolerance::System);
        let holders = |places: &Vec<ProcessGroups>| self.holders(places, is_server);
        let (sound, locks) = (seen.sound.as_ref().map(holders), seen.locks.as_ref().map(holders));
        let told: BTreeMap<u32, Holders> = seen.told.iter().map(|(user, streams)| (*user, holders(streams))).collect();
        let server_plays = sound.as_ref().is_some_and(|sound| sound.has_others);
        let mut events = Vec::new();
        for known in self.known.values_mut().filter(|known| known.is_app() && !known.is_told) {
            let does = |holders: &Option<Holders>, of_others: bool| match holders {
                None => None,
                Some(holders) if holders.dirs.contains(&known.group.dir) => Some(true),
                Some(_) => (!of_others).then_some(false),
            };
            let audible = match known.group.user.and_then(|user| told.get(&user)) {
                Some(streams) if streams.dirs.contains(&known.group.dir) => Some(true),
                Some(streams) => does(&sound, streams.has_others || server_plays && streams.dirs.is_empty()),
                None => does(&sound, seen.sound_elsewhere || server_plays),
            };
            let inhibits = does(&locks, locks.as_ref().is_some_and(|locks| locks.has_others));
            let audible = known.recent.hear(at_ns, audible);
            let is_scored = known.is_score_due(at_ns);
            // Of a terminal or session the processes are read each time, as what grows in it ends first.
            let is_listed = is_scored || known.activity.branches.is_some();
            let OfGroup { frozen, oom_score_adj, cpu_us, is_connected, oom_kills, processes, oomd } =
                of_group(&known.group.dir, is_scored, is_listed);
            known.recent.follow(at_ns, cpu_us);
            if let Some(processes) = processes {
                known.take_processes(at_ns, &processes, oomd, services, &self.preferences);
            }
            if is_scored {
                known.recent.connect(is_connected);
            }
            let activity = &mut known.activity;
            activity.works = known.recent.works(at_ns, rest_ns);
            (activity.audible, activity.inhibits, activity.frozen) = (audible, inhibits, frozen);
            if is_scored {
                (activity.oom_score_adj, known.scored_ns) = (oom_score_adj, Some(at_ns));
            }
            events.extend(known.note_oom_kills(at_ns, oom_kills));
        }
        events
    }

    /// Makes unknown again what is not fresh any more: where activities are read for clients alone, what the last one
    /// got would stand in records for hours.
    pub fn forget_activities(&mut self, at_ns: u64) {
        if !self.has_activities || !self.is_observation_due(at_ns) {
            return;
        }
        (self.has_activities, self.observed_ns) = (false, None);
        for known in self.known.values_mut() {
            known.scored_ns = None;
            known.recent = Recent::default();
            known.activity = Activity { front_at_ns: known.activity.front_at_ns, ..Activity::default() };
        }
    }

    /// Takes in the kills of one group: of a new one, so that later ones are told from earlier ones, and of one that is
    /// about to be removed.
    pub fn count_kills(&mut self, dir: &Path, at_ns: u64, oom_kills: Option<u64>) -> Option<Event> {
        self.known.get_mut(dir)?.note_oom_kills(at_ns, oom_kills)
    }
}

impl TrackedGroup {
    /// What of it can be ended alone, and by which preferences.
    fn take_processes(
        &mut self,
        at_ns: u64,
        processes: &[Process],
        oomd: Option<OomdPreference>,
        services: &Services,
        preferences: &Preferences,
    ) {
        let is_protected = |name: &str| services.class_of(name) == Some(Tolerance::System);
        let found = branches::branches(name(&self.group.key), processes, is_protected);
        self.activity.branches =
            found.map(|found| self.growth.weigh(at_ns, processes, &found, |names| preferences.of(names, None)));
        let mut oldest_first: Vec<&Process> = processes.iter().collect();
        oldest_first.sort_by_key(|process| (process.start_ticks, process.pid));
        let names: Vec<&str> = oldest_first.iter().map(|process| process.name.as_str()).collect();
        // Of a terminal a pattern means the process, not all.
        let names = if self.activity.branches.is_some() { &[][..] } else { &names[..] };
        self.activity.preference = preferences.of(names, oomd);
    }

    /// Whether the scores of its processes are to be read again.
    fn is_score_due(&self, at_ns: u64) -> bool {
        let fresh_ns = if self.is_of_android() { FRESH_NS } else { SCORE_NS };
        self.scored_ns.is_none_or(|then_ns| at_ns.saturating_sub(then_ns) >= fresh_ns)
    }

    /// The event of kills since the last count. The first count has no predecessor: those kills may be of an earlier
    /// app of this group.
    fn note_oom_kills(&mut self, at_ns: u64, oom_kills: Option<u64>) -> Option<Event> {
        let now = oom_kills?;
        let before = self.oom_kills.replace(now)?;
        (now > before).then(|| Event { at_ns, kind: EventKind::OutOfMemory { group: self.group.key.clone() } })
    }
}

#[cfg(test)]
mod tests {

    use brisk_core::app::App;
    use brisk_sense::Group;

    use super::*;
    use crate::config::Choices;

    fn group(dir: &str) -> Group {
        Group { dir: dir.into(), key: dir.rsplit('/').next().expect("a name").to_owned(), ..Group::default() }
    }

    fn at(dir: &str) -> ProcessGroups {
        ProcessGroups { group: Some(dir.into()), session: None }
    }

    fn observed(apps: &mut Apps, seen: &SoundAndLocks) -> Vec<App> {
        apps.observe((0, 60_000_000_000), seen, &Services::default(), |_, _, _| OfGroup::default());
        apps.list(&Choices::default(), &Services::default())
    }

    /// Whether a player, an editor and a service are known to do what `places` do.
    fn audible(places: Option<Vec<ProcessGroups>>, elsewhere: bool) -> [Option<bool>; 3] {
        let mut apps = Apps::default();
        apps.was_there(group("/c/app-editor-1.scope"));
        apps.was_there(group("/c/app-player-1.scope"));
        apps.was_there(group("/c/system.slice/cron.service"));
        let seen = SoundAndLocks { sound: places, sound_elsewhere: elsewhere, ..SoundAndLocks::default() };
        let listed = observed(&mut apps, &seen);
        [0, 1, 2].map(|place| listed[place].activity.audible)
    }

    #[test]
    fn an_app_that_owns_a_running_stream_is_audible_and_others_are_silent() {
        assert_eq!(audible(Some(vec![at("/c/app-player-1.scope/inner")]), false), [Some(false), Some(true), None]);
        assert_eq!(audible(Some(vec![]), false), [Some(false), Some(false), None]);
        assert_eq!(audible(None, false), [None, None, None]);
        // It may be heard from a headset.
        assert_eq!(audible(Some(vec![]), true), [None, None, None]);
    }

    #[test]
    fn behind_a_sound_server_no_app_is_known_to_be_silent() {
        let server = at("/c/user.slice/user@1000.service/session.slice/pipewire.service");
        let player = at("/c/app-player-1.scope");
        assert_eq!(audible(Some(vec![server.clone()]), false), [None, None, None]);
        assert_eq!(audible(Some(vec![server, player]), false), [None, Some(true), None]);
        // One that has ended meanwhile, or is of another namespace.
        assert_eq!(audible(Some(vec![ProcessGroups::default()]), false), [None, None, None]);
        // A server that is a session of its own, like an app.
        let mut apps = Apps::default();
        let session = |id, program: &str| brisk_sense::ProcessSession {
            id,
            pid: id,
            program: program.to_owned(),
            of_user: true,
            user: None,
        };
        apps.session_was_there(session(40, "pulseaudio"));
        apps.session_was_there(session(41, "mpv"));
        let plays = ProcessGroups { group: Some("/c".into()), session: Some("/proc/40".into()) };
        let listed = observed(&mut apps, &SoundAndLocks { sound: Some(vec![plays]), ..SoundAndLocks::default() });
        assert_eq!(listed.iter().find(|app| app.id == "mpv").expect("listed").activity.audible, None);
    }

    #[test]
    fn a_session_tells_whose_streams_a_sound_server_plays() {
        let of =
            |user: u32, name: &str| format!("/c/user.slice/user-{user}.slice/user@{user}.service/app.slice/{name}");
        let audible = |sound: Vec<ProcessGroups>, elsewhere: bool, told: Option<Vec<ProcessGroups>>| {
            let mut apps = Apps::default();
            for (user, name) in
                [(1000, "app-editor-1.scope"), (1000, "app-player-1.scope"), (1001, "app-other-1.scope")]
            {
                apps.was_there(Group { user: Some(user), ..group(&of(user, name)) });
            }
            let told = told.map(|streams| (1000, streams)).into_iter().collect();
            let seen = SoundAndLocks { sound: Some(sound), sound_elsewhere: elsewhere, told, locks: None };
            let listed = observed(&mut apps, &seen);
            ["editor", "player", "other"]
                .map(|id| listed.iter().find(|app| app.id == id).expect("listed").activity.audible)
        };
        let server = || vec![at(&of(1000, "pipewire.service"))];
        let player = || at(&of(1000, "app-player-1.scope"));
        assert_eq!(audible(server(), false, None), [None, None, None]);
        // The session tells of its own user's apps alone.
        assert_eq!(audible(server(), false, Some(vec![player()])), [Some(false), Some(true), None]);
        // To a headset.
        assert_eq!(audible(vec![], true, Some(vec![player()])), [Some(false), Some(true), None]);
        assert_eq!(audible(vec![], true, Some(vec![])), [Some(false), Some(false), None]);
        // The server plays what no stream tells, as of JACK; and a stream is of a process that is no app.
        assert_eq!(audible(server(), false, Some(vec![])), [None, None, None]);
        let unknown = || vec![player(), ProcessGroups::default()];
        assert_eq!(audible(server(), false, Some(unknown())), [None, Some(true), None]);
        assert_eq!(audible(vec![], false, Some(vec![])), [Some(false), Some(false), Some(false)]);
    }

    #[test]
    fn who_holds_a_lock_for_work_inhibits() {
        let mut apps = Apps::default();
        apps.was_there(group("/c/app-editor-1.scope"));
        apps.was_there(group("/c/app-player-1.scope"));
        let mut inhibits = |locks: Option<Vec<ProcessGroups>>| {
            let seen = SoundAndLocks { locks, ..SoundAndLocks::default() };
            let listed = observed(&mut apps, &seen);
            [0, 1].map(|place| listed[place].activity.inhibits)
        };
        assert_eq!(inhibits(None), [None, None]);
        assert_eq!(inhibits(Some(vec![])), [Some(false), Some(false)]);
        assert_eq!(inhibits(Some(vec![at("/c/app-editor-1.scope")])), [Some(true), Some(false)]);
        // A session manager holds one for any of its apps.
        assert_eq!(inhibits(Some(vec![at("/c/session.slice/gnome-session.service")])), [None, None]);
    }

    #[test]
    fn a_kill_by_the_kernel_is_reported_once() {
        let mut apps = Apps::default();
        apps.was_there(group("/c/app-a-1.scope"));
        let mut observe = |oom_kills: Option<u64>| {
            let of_group = |_: &Path, _, _| OfGroup {
                oom_kills,
                frozen: Some(true),
                oom_score_adj: Some(100),
                ..OfGroup::default()
            };
            apps.observe((7, 60_000_000_000), &SoundAndLocks::default(), &Services::default(), of_group)
        };
        let killed = Event { at_ns: 7, kind: EventKind::OutOfMemory { group: "app-a-1.scope".to_owned() } };
        // The first count may be of an earlier app.
        assert_eq!(observe(Some(3)), []);
        assert_eq!(observe(Some(3)), []);
        assert_eq!(observe(Some(5)), std::slice::from_ref(&killed));
        assert_eq!(observe(None), []);
        assert_eq!(observe(Some(5)), []);
        let app = apps.list(&Choices::default(), &Services::default()).remove(0);
        assert_eq!((app.activity.frozen, app.activity.oom_score_adj), (Some(true), Some(100)));
        // Its last process was killed: counted before the group goes.
        let dir = Path::new("/c/app-a-1.scope");
        assert_eq!(apps.count_kills(dir, 7, Some(6)), Some(killed));
        assert_eq!(apps.count_kills(dir, 7, None), None);
        assert_eq!(apps.count_kills(Path::new("/c/gone"), 7, Some(9)), None);
    }

    #[test]
    fn what_is_not_fresh_any_more_is_unknown_again() {
        let mut apps = Apps::default();
        let dir = Path::new("/c/app-a-1.scope");
        apps.was_there(group("/c/app-a-1.scope"));
        apps.tell_front(&[group("/c/app-a-1.scope")], None, 3);
        let of_group = |_: &Path, _, _| OfGroup {
            oom_kills: Some(4),
            frozen: Some(false),
            oom_score_adj: Some(100),
            ..OfGroup::default()
        };
        let seen = SoundAndLocks { sound: Some(vec![at("/c/app-a-1.scope")]), ..SoundAndLocks::default() };
        apps.observe((5, 60_000_000_000), &seen, &Services::default(), of_group);
        let activity = |apps: &Apps| apps.list(&Choices::default(), &Services::default()).remove(0).activity;
        apps.forget_activities(4 + FRESH_NS);
        assert_eq!((activity(&apps).audible, activity(&apps).oom_score_adj), (Some(true), Some(100)));
        apps.forget_activities(5 + FRESH_NS);
        let left = activity(&apps);
        assert_eq!((left.audible, left.inhibits, left.oom_score_adj, left.frozen), (None, None, None, None));
        // What was told stays, and so do kills that were counted.
        assert_eq!((left.focused, left.front_at_ns), (Some(true), Some(3)));
        assert!(apps.count_kills(dir, 9, Some(5)).is_some());
        assert!(apps.is_observation_due(6 + FRESH_NS));
        // Also when another app began meanwhile, of which nothing was read.
        apps.observe((20, 60_000_000_000), &seen, &Services::default(), of_group);
        apps.began(group("/c/app-b-1.scope"), 21);
        apps.forget_activities(22 + FRESH_NS);
        assert_eq!(activity(&apps).oom_score_adj, None);
    }

    #[test]
    fn scores_of_processes_are_read_once_a_minute_and_before_an_app_is_stopped() {
        let mut apps = Apps::default();
        apps.was_there(group("/c/app-a-1.scope"));
        apps.was_there(group("/c/uid_10086/pid_400"));
        let observe = |apps: &mut Apps, at_ns: u64, adj: i16| {
            let of_group = |_: &Path, is_scored: bool, _| OfGroup {
                oom_score_adj: is_scored.then_some(adj),
                ..OfGroup::default()
            };
            apps.observe((at_ns, 60_000_000_000), &SoundAndLocks::default(), &Services::default(), of_group);
            let listed = apps.list(&Choices::default(), &Services::default());
            [0, 1].map(|place| listed[place].activity.oom_score_adj.expect("read"))
        };
        assert_eq!(observe(&mut apps, 0, 0), [0, 0]);
        assert_eq!(observe(&mut apps, FRESH_NS, 100), [0, 100]);
        assert_eq!(observe(&mut apps, SCORE_NS, 200), [200, 200]);
        let stop_ns = SCORE_NS + 1;
        apps.expect_all_of("app-a-1.scope", stop_ns);
        assert!(apps.is_observation_due(stop_ns));
        assert_eq!(observe(&mut apps, stop_ns, -800), [-800, 200]);
        // Another stop at the same moment.
        apps.expect_all_of("app-a-1.scope", stop_ns);
        assert!(!apps.is_observation_due(stop_ns));
    }

    #[test]
    fn activities_are_fresh_for_two_seconds() {
        let mut apps = Apps::default();
        assert!(apps.is_observation_due(5));
        apps.observe((5, 60_000_000_000), &SoundAndLocks::default(), &Services::default(), |_, _, _| {
            OfGroup::default()
        });
        assert!(!apps.is_observation_due(4 + FRESH_NS) && apps.is_observation_due(5 + FRESH_NS));
        // A new app is observed at once.
        apps.was_there(group("/c/system.slice/cron.service"));
        assert!(!apps.is_observation_due(6));
        apps.began(group("/c/app-a-1.scope"), 6);
        assert!(apps.is_observation_due(6));
    }
}
