//! What shells, window managers and launchers tell: which app is in front, and which is launched.
//!
//! Each user tells of the apps on a seat of that user's. What was told goes before what the system shows while it is
//! recent; where the system shows nothing it holds until
//! something else is told. A launch may be told before the app has a group: it is remembered, and counts when the group
//! comes. A launch without a process is none: any user can tell of one, of an app that there is not.
//!
//! Properties: `what_is_told_goes_before_what_is_seen_while_it_is_recent`;
//! `a_told_launch_is_the_launch_of_the_group_that_follows`; `a_told_launch_of_an_app_that_never_comes_ends`.

use std::path::{Path, PathBuf};

use brisk_api::Target;
use brisk_core::event::{Event, EventKind};
use brisk_core::group::{GroupKey, is_meant};
use brisk_sense::Group;

use super::{Apps, LAUNCH_NS_MAX, Launch, ProcessGroups, SAMPLE_NS, TrackedGroup, id_of};

/// How long a told foreground goes before one that the system shows.
const RECENT_NS: u64 = 30_000_000_000;
/// Apps that were told by id and have no group yet, at most.
const TOLD_MAX: usize = 8;
/// Where such an app is listed: a directory that no group has.
const TOLD_DIR: &str = "/told";
/// Longest id of an app.
const ID_BYTES_MAX: usize = 256;

/// No running app is meant by what a caller named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSuchApp;

/// The apps that were told to be in front: several where a caller cannot tell them apart, and none for the desktop.
#[derive(Debug)]
pub(super) struct ToldFront {
    dirs: Vec<PathBuf>,
    at_ns: u64,
}

#[derive(Debug)]
pub(super) struct ToldLaunch {
    id: String,
    /// The user whose app it is; `None` for any.
    user: Option<u32>,
    dir: PathBuf,
    at_ns: u64,
}

impl Apps {
    /// The app that a caller means: its directory and group. Of several with one id or name the caller's own, if the
    /// caller is such a `user`, then the last in front, else the last. An id never means another user's app.
    ///
    /// # Errors
    /// When no such app runs.
    pub fn find(
        &self,
        target: &Target,
        user: Option<u32>,
        place_of: impl Fn(u32) -> ProcessGroups,
    ) -> Result<Group, NoSuchApp> {
        let is_own = |known: &TrackedGroup| user.is_none() || known.group.user.is_none() || known.group.user == user;
        let apps = self.known.values().filter(|known| known.is_app());
        let place = if let Target::Pid(pid) = target { place_of(*pid) } else { ProcessGroups::default() };
        let is_it = |known: &&TrackedGroup| match target {
            Target::Group(text) => is_meant(&known.group.key, text),
            Target::Id(id) => is_own(known) && id_of(known) == *id,
            Target::Pid(_) => known.holds(&place),
        };
        let found = apps.filter(is_it).max_by_key(|known| (is_own(known), known.front_key()));
        found.map(|known| known.group.clone()).ok_or(NoSuchApp)
    }

    /// The app in the group of this key.
    #[must_use]
    pub fn of_key(&self, key: &str) -> Option<&Group> {
        self.known.values().find(|known| known.is_app() && known.group.key == key).map(|known| &known.group)
    }

    /// The id of the app in the group of this key; empty when there is none.
    #[must_use]
    pub fn id_in(&self, key: &str) -> String {
        let known = self.known.values().find(|known| known.is_app() && known.group.key == key);
        known.map(super::id_of).unwrap_or_default()
    }

    /// The app in the group of this key, when its coming to the foreground is a return: it is not being launched anew.
    #[must_use]
    pub fn that_returns(&self, key: &str) -> Option<&Group> {
        let group = self.of_key(key)?;
        let known = self.known.get(&group.dir)?;
        let is_told = || self.told_launches.iter().any(|told| told.dir == group.dir);
        (!known.is_told && (known.launch.is_none() || is_told())).then_some(group)
    }

    /// The apps in front, as far as they are known: each seat has one.
    pub fn front(&self) -> impl Iterator<Item = &Group> {
        self.known.values().filter(|known| known.focused == Some(true)).map(|known| &known.group)
    }

    /// Apps were told to be in front on the seat of this user, or none. Gives the apps that came to the foreground.
    pub fn tell_front(&mut self, groups: &[Group], user: Option<u32>, at_ns: u64) -> Vec<Event> {
        let dirs = groups.iter().map(|group| group.dir.clone()).collect();
        let known = &self.known;
        self.told_fronts.retain(|user, _| known.values().any(|known| known.group.user == *user));
        self.told_fronts.insert(user, ToldFront { dirs, at_ns });
        self.resolve_front(at_ns)
    }

    /// Whether something tells which app of this user is in front.
    pub(super) fn knows_front(&self, user: Option<u32>) -> bool {
        self.told_fronts.contains_key(&user) || self.known.values().any(|known| known.detected.is_some())
    }

    /// Decides which apps are in front; gives those that came there.
    pub(super) fn resolve_front(&mut self, at_ns: u64) -> Vec<Event> {
        let shows = self.known.values().any(|known| known.detected.is_some());
        let is_recent = |told: &&ToldFront| !shows || at_ns.saturating_sub(told.at_ns) < RECENT_NS;
        let mut came = Vec::new();
        for known in self.known.values_mut().filter(|known| known.is_app()) {
            let told = self.told_fronts.get(&known.group.user).filter(is_recent);
            let is_told = |told: &ToldFront| told.dirs.contains(&known.group.dir);
            let now = told.map_or(known.detected, |told| Some(is_told(told)));
            let before = std::mem::replace(&mut known.focused, now);
            if (now == Some(true)) != (before == Some(true)) {
                known.activity.front_at_ns = Some(at_ns);
            }
            if now == Some(true) && before != Some(true) {
                came.push(Event { at_ns, kind: EventKind::Focused { group: known.group.key.clone() } });
            }
        }
        came
    }

    /// A launch of the app in this group was told. Gives the event, unless the app is being launched.
    pub fn tell_launch(&mut self, group: &Group, at_ns: u64) -> Option<Event> {
        let known = self.known.get_mut(&group.dir).filter(|known| known.launch.is_none())?;
        known.launch = Some(Launch::at(at_ns, at_ns));
        let (id, key) = (id_of(known), known.group.key.clone());
        self.told_launches.push(ToldLaunch { id, user: group.user, dir: group.dir.clone(), at_ns });
        let is_told = known.is_told;
        self.next_sample_ns.get_or_insert(at_ns.saturating_add(SAMPLE_NS));
        (!is_told).then_some(Event { at_ns, kind: EventKind::LaunchBegan { group: key } })
    }

    /// A launch of an app of this user that does not run was told by its id: the group that comes to life for it was
    /// launched at this time. Gives what stands for it until then; of one user, the oldest is forgotten.
    ///
    /// # Errors
    /// When that is no id of an app.
    pub fn tell_launch_of(&mut self, id: &str, user: Option<u32>, at_ns: u64) -> Result<Group, NoSuchApp> {
        let is_id = !id.is_empty() && id.len() <= ID_BYTES_MAX && !id.starts_with('.');
        if !is_id || id.contains(|c: char| c.is_control() || c == '/') {
            return Err(NoSuchApp);
        }
        let of_user = user.map_or_else(|| "unknown".to_owned(), |user| user.to_string());
        let dir = Path::new(TOLD_DIR).join(&of_user).join(id);
        let group = Group { dir, key: GroupKey::Told { user: &of_user, id }.text(), user, package: None };
        if self.known.contains_key(&group.dir) {
            return Ok(group);
        }
        let told = || self.known.values().filter(|known| known.is_told && known.group.user == user);
        let oldest = told().min_by_key(|known| known.launch.as_ref().map(|launch| launch.began_ns));
        if let Some(oldest) = oldest.map(|known| known.group.clone())
            && told().count() >= TOLD_MAX
        {
            self.tell_launch_end(&oldest, at_ns);
        }
        self.insert(TrackedGroup { is_told: true, ..TrackedGroup::of(group.clone()) });
        self.tell_launch(&group, at_ns);
        Ok(group)
    }

    /// The end of a launch was told; gives the event, unless the app is not being launched any more.
    pub fn tell_launch_end(&mut self, group: &Group, at_ns: u64) -> Option<Event> {
        let known = self.known.get_mut(&group.dir)?;
        let is_told = known.is_told;
        known.launch.take()?;
        self.forget_told();
        (!is_told).then(|| Event { at_ns, kind: EventKind::LaunchEnded { group: group.key.clone() } })
    }

    /// When the launch of this app of the user was told, if it was, and whether it counts as begun since: the group
    /// that comes to life now is the one that was meant.
    pub(super) fn take_told(&mut self, id: &str, user: Option<u32>, at_ns: u64) -> Option<(u64, bool)> {
        let is_it = |told: &ToldLaunch| {
            told.id == id
                && (told.user.is_none() || told.user == user)
                && at_ns.saturating_sub(told.at_ns) < LAUNCH_NS_MAX
        };
        let told = self.told_launches.iter().position(is_it).map(|place| self.told_launches.remove(place))?;
        // The launch goes on in the new group.
        let known = self.known.get_mut(&told.dir)?;
        let has_begun = !known.is_told;
        known.launch.take()?;
        self.forget_told();
        Some((told.at_ns, has_begun))
    }

    /// Forgets told launches that have ended, and apps that were listed for one.
    pub(super) fn forget_told(&mut self) {
        self.known.retain(|_, known| !known.is_told || known.launch.is_some());
        let launches = |told: &ToldLaunch| self.known.get(&told.dir).is_some_and(|known| known.launch.is_some());
        self.told_launches.retain(launches);
    }
}

impl TrackedGroup {
    pub(super) fn front_key(&self) -> (bool, Option<u64>) {
        (self.focused == Some(true), self.activity.front_at_ns)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::config::{Choices, Services};

    const SECOND_NS: u64 = 1_000_000_000;

    fn group(dir: &str) -> Group {
        Group { dir: dir.into(), key: dir.rsplit('/').next().expect("a name").to_owned(), ..Group::default() }
    }

    fn nowhere(_: u32) -> ProcessGroups {
        ProcessGroups::default()
    }

    fn focused(apps: &Apps) -> Vec<(String, Option<bool>)> {
        let listed = apps.list(&Choices::default(), &Services::default());
        listed.into_iter().map(|app| (app.id, app.activity.focused)).collect()
    }

    fn kinds(events: Vec<Event>) -> Vec<EventKind> {
        events.into_iter().map(|event| event.kind).collect()
    }

    fn came(name: &str) -> EventKind {
        EventKind::Focused { group: name.to_owned() }
    }

    #[test]
    fn what_is_told_goes_before_what_is_seen_while_it_is_recent() {
        let (a, b) = (group("/c/app-a-1.scope"), group("/c/app-b-1.scope"));
        let mut apps = Apps::default();
        apps.was_there(a.clone());
        apps.was_there(b.clone());
        let processes = |dir: &Path| if dir.ends_with("app-a-1.scope") { vec![1] } else { vec![2] };
        let see =
            |apps: &mut Apps, pid: u32, at_ns| kinds(apps.update_front(at_ns, Some(&BTreeSet::from([pid])), processes));
        assert_eq!(see(&mut apps, 1, SECOND_NS), [came("app-a-1.scope")]);
        assert_eq!(kinds(apps.tell_front(std::slice::from_ref(&b), None, 2 * SECOND_NS)), [came("app-b-1.scope")]);
        // Told once more, and seen otherwise meanwhile.
        assert_eq!(kinds(apps.tell_front(std::slice::from_ref(&b), None, 3 * SECOND_NS)), []);
        assert_eq!(see(&mut apps, 1, 4 * SECOND_NS), []);
        assert_eq!(focused(&apps), [("a".to_owned(), Some(false)), ("b".to_owned(), Some(true))]);
        assert_eq!(see(&mut apps, 1, 3 * SECOND_NS + RECENT_NS), [came("app-a-1.scope")]);
        assert_eq!(apps.front().collect::<Vec<_>>(), [&a]);
        let listed = apps.list(&Choices::default(), &Services::default());
        assert_eq!(listed[1].activity.front_at_ns, Some(3 * SECOND_NS + RECENT_NS));
    }

    #[test]
    fn where_the_system_shows_nothing_what_was_told_holds() {
        let (a, b) = (group("/c/app-a-1.scope"), group("/c/app-b-1.scope"));
        let mut apps = Apps::default();
        apps.was_there(a.clone());
        apps.was_there(b.clone());
        assert_eq!(focused(&apps), [("a".to_owned(), None), ("b".to_owned(), None)]);
        apps.tell_front(std::slice::from_ref(&a), None, 0);
        assert_eq!(kinds(apps.update_front(1000 * SECOND_NS, None, |_| Vec::new())), []);
        assert_eq!(focused(&apps), [("a".to_owned(), Some(true)), ("b".to_owned(), Some(false))]);
        // The desktop, and then an app that goes away.
        assert_eq!(kinds(apps.tell_front(&[], None, 1001 * SECOND_NS)), []);
        assert_eq!((focused(&apps)[0].1, apps.front().count()), (Some(false), 0));
        // One that begins now has not been told.
        apps.was_there(group("/c/app-c-1.scope"));
        assert_eq!(focused(&apps).pop(), Some(("c".to_owned(), Some(false))));
        apps.gone(&group("/c/app-c-1.scope"), 1001 * SECOND_NS);
        assert_eq!(kinds(apps.tell_front(std::slice::from_ref(&b), None, 1002 * SECOND_NS)), [came("app-b-1.scope")]);
        apps.gone(&b, 1003 * SECOND_NS);
        apps.update_front(1004 * SECOND_NS, None, |_| Vec::new());
        assert_eq!(focused(&apps), [("a".to_owned(), Some(false))]);
    }

    #[test]
    fn an_app_is_named_by_group_id_or_process() {
        let (one, two) = (group("/c/app-a-1.scope"), group("/c/app-a-2.scope"));
        let mut apps = Apps::default();
        apps.was_there(one.clone());
        apps.was_there(two.clone());
        apps.was_there(group("/c/system.slice/cron.service"));
        let find = |apps: &Apps, target: Target| {
            apps.find(&target, None, |pid| ProcessGroups {
                group: (pid == 7).then(|| "/c/app-a-2.scope/tab-1".into()),
                session: None,
            })
        };
        assert_eq!(find(&apps, Target::Group("app-a-1.scope".to_owned())), Ok(one.clone()));
        assert_eq!(find(&apps, Target::Pid(7)), Ok(two.clone()));
        for unknown in [Target::Pid(8), Target::Group("cron.service".to_owned()), Target::Id("b".to_owned())] {
            assert_eq!(find(&apps, unknown.clone()), Err(NoSuchApp), "{unknown}");
        }
        // Of two with one id the last in front.
        apps.tell_front(std::slice::from_ref(&one), None, 1);
        apps.tell_front(&[], None, 2);
        assert_eq!(find(&apps, Target::Id("a".to_owned())), Ok(one));
        // Sessions too.
        let mut apps = Apps::default();
        apps.session_was_there(brisk_sense::ProcessSession {
            id: 40,
            pid: 40,
            program: "foot".to_owned(),
            of_user: true,
            user: None,
        });
        let place = |_| ProcessGroups { group: Some("/c".into()), session: Some("/proc/40".into()) };
        assert_eq!(apps.find(&Target::Pid(41), None, place).map(|group| group.key), Ok("session-40".to_owned()));
    }

    fn of_user(dir: &str, user: u32) -> Group {
        Group { key: dir.trim_start_matches("/c/").to_owned(), user: Some(user), ..group(dir) }
    }

    #[test]
    fn each_seat_has_a_front_of_its_own() {
        let (one, two) = (of_user("/c/1000/app-a-1.scope", 1000), of_user("/c/1001/app-a-1.scope", 1001));
        let mut apps = Apps::default();
        apps.was_there(one.clone());
        apps.was_there(two.clone());
        assert_eq!(kinds(apps.tell_front(std::slice::from_ref(&one), Some(1000), 1)), [came("1000/app-a-1.scope")]);
        assert_eq!(kinds(apps.tell_front(std::slice::from_ref(&two), Some(1001), 2)), [came("1001/app-a-1.scope")]);
        assert_eq!(apps.front().collect::<Vec<_>>(), [&one, &two]);
        // The first user's desktop; what the other one sees stays.
        apps.tell_front(&[], Some(1000), 3);
        assert_eq!(apps.front().collect::<Vec<_>>(), [&two]);
    }

    #[test]
    fn an_id_means_no_other_users_app() {
        let (one, two) = (of_user("/c/1000/app-a-1.scope", 1000), of_user("/c/1001/app-a-1.scope", 1001));
        let mut apps = Apps::default();
        apps.was_there(two.clone());
        let by_id = |apps: &Apps, user| apps.find(&Target::Id("a".to_owned()), user, nowhere);
        assert_eq!((by_id(&apps, Some(1000)), by_id(&apps, None)), (Err(NoSuchApp), Ok(two.clone())));
        // What is told of it is launched for its own user alone.
        apps.tell_launch_of("a", Some(1000), 1).expect("an id");
        let began_ns =
            |apps: &Apps, group: &Group| apps.known[&group.dir].launch.as_ref().map(|launch| launch.began_ns);
        let third = of_user("/c/1001/app-a-2.scope", 1001);
        apps.began(third.clone(), 2);
        apps.began(one.clone(), 3);
        assert_eq!((began_ns(&apps, &third), began_ns(&apps, &one)), (Some(2), Some(1)), "the second was told");
        assert_eq!((by_id(&apps, Some(1000)), by_id(&apps, Some(1001)).map(|of| of.user)), (Ok(one), Ok(Some(1001))));
        // Nor do invented ids of one user end what another one told.
        apps.tell_launch_of("b", Some(1000), 4).expect("an id");
        for nth in 0..3 * TOLD_MAX {
            apps.tell_launch_of(&format!("x{nth}"), Some(1001), 5).expect("an id");
        }
        assert!(apps.told_launches.iter().any(|told| told.id == "b"));
    }

    fn began(name: &str) -> EventKind {
        EventKind::LaunchBegan { group: name.to_owned() }
    }

    fn ended(name: &str) -> EventKind {
        EventKind::LaunchEnded { group: name.to_owned() }
    }

    fn launching(apps: &Apps) -> Vec<String> {
        let listed = apps.list(&Choices::default(), &Services::default());
        listed.into_iter().filter(|app| app.launching).map(|app| app.group).collect()
    }

    #[test]
    fn a_told_launch_is_the_launch_of_the_group_that_follows() {
        let mut apps = Apps::default();
        assert_eq!(apps.find(&Target::Id("org.x.Mail".to_owned()), None, nowhere), Err(NoSuchApp));
        let told = apps.tell_launch_of("org.x.Mail", None, SECOND_NS).expect("an id");
        assert!(!apps.has_launches() && launching(&apps).is_empty(), "a launch without a process is none");
        // The sampler has nothing to read of it.
        assert_eq!(apps.groups().count(), 0);
        // Told twice is told once.
        assert_eq!(apps.tell_launch_of("org.x.Mail", None, SECOND_NS), Ok(told));
        let real = group("/c/app-gnome-org.x.Mail-7.scope");
        let event = apps.began(real.clone(), 2 * SECOND_NS).expect("it has a process");
        assert_eq!(event.kind, began("app-gnome-org.x.Mail-7.scope"));
        assert_eq!(launching(&apps), ["app-gnome-org.x.Mail-7.scope"]);
        assert_eq!(apps.list(&Choices::default(), &Services::default()).len(), 1);
        let event = apps.tell_launch_end(&real, 3 * SECOND_NS).expect("it was launched");
        assert_eq!(event.kind, ended("app-gnome-org.x.Mail-7.scope"));
        assert_eq!(apps.tell_launch_end(&real, 4 * SECOND_NS), None);
        // Later ones are launches of their own.
        let second = group("/c/app-gnome-org.x.Mail-8.scope");
        assert_eq!(
            apps.began(second, 5 * SECOND_NS).map(|event| event.kind),
            Some(began("app-gnome-org.x.Mail-8.scope"))
        );
    }

    #[test]
    fn an_app_that_runs_is_launched_by_being_told_and_not_twice() {
        let app = group("/c/app-a-1.scope");
        let mut apps = Apps::default();
        apps.was_there(app.clone());
        assert_eq!(apps.tell_launch(&app, 0).map(|event| event.kind), Some(began("app-a-1.scope")));
        assert_eq!(apps.tell_launch(&app, 1), None);
        // It starts a second instance: the launch goes on there.
        assert_eq!(apps.began(group("/c/app-a-2.scope"), 2), None);
        assert_eq!(launching(&apps), ["app-a-2.scope"]);
        let mut found = Vec::new();
        while let Some(due_ns) = apps.next_sample_ns() {
            found.extend(kinds(apps.sample_launches(due_ns, |_| Some(7))));
        }
        assert_eq!(found, [ended("app-a-2.scope")]);
    }

    #[test]
    fn a_told_launch_of_an_app_that_never_comes_ends() {
        let mut apps = Apps::default();
        apps.tell_launch_of("org.x.Mail", None, 0).expect("an id");
        let mut found = Vec::new();
        while let Some(due_ns) = apps.next_sample_ns() {
            assert!(due_ns <= LAUNCH_NS_MAX + SAMPLE_NS, "a launch has no end");
            found.extend(kinds(apps.sample_launches(due_ns, |_| None)));
        }
        assert_eq!(found, []);
        assert!(apps.known.is_empty());
        // No client makes it grow.
        for number in 0..3 * TOLD_MAX as u64 {
            apps.tell_launch_of(&format!("a{number}"), None, number).expect("an id");
            assert!(!apps.has_launches());
        }
        assert_eq!((apps.known.len(), apps.told_launches.len()), (TOLD_MAX, TOLD_MAX));
        assert!(apps.list(&Choices::default(), &Services::default()).is_empty());
        let oldest = apps.told_launches.first().map(|told| told.id.as_str());
        assert_eq!(oldest, Some("a16"), "the oldest was forgotten");
        for bad in ["", ".", "a/b", "a\nb", &"x".repeat(300)] {
            assert_eq!(apps.tell_launch_of(bad, None, 0), Err(NoSuchApp), "{bad:?}");
        }
    }
}
