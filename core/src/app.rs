//! Apps, and how much delay each tolerates.
//!
//! An app is the control group that its processes are in. Its tolerance decides about priority: each read of an
//! interactive app delays its user; a stream has a buffer; background work is not visible; a batch has no deadline.
//! (Dissertation, chapter 6: applications are classified by their tolerance of delay.) A service is none of these: apps
//! wait for its answers, so its priority is not changed.
//!
//! Properties, each with a test: `the_first_rule_that_holds_gives_the_class`;
//! `no_service_gets_a_lower_class_unless_it_is_named`.

pub mod spare;

use serde::{Deserialize, Serialize};

use crate::knob::GroupSetting;
use crate::reason::Reason;

/// Prefix of the key of an app that is a session of processes and no control group; the session number follows.
pub const SESSION: &str = "session-";

/// How much delay an app tolerates, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tolerance {
    /// A service: apps wait for its answers, so its priority is not changed.
    System,
    /// The user waits for it.
    Interactive,
    /// It reads or writes steadily into a buffer.
    Streaming,
    /// Its work is not visible now.
    Background,
    /// Work without a deadline: installs, backups, indexing.
    Batch,
}

impl Tolerance {
    /// All classes, with their names as in records.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::System, "system"),
        (Self::Interactive, "interactive"),
        (Self::Streaming, "streaming"),
        (Self::Background, "background"),
        (Self::Batch, "batch"),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// Role of a group in the system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// An app, as a desktop or Android names it, or the session of a person.
    App,
    /// A unit of a service manager, or a daemon.
    Service,
    /// None of these, such as a container.
    #[default]
    Other,
}

/// When an app is ended, by the preference of another program that ends apps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndOrder {
    /// Before the others.
    First,
    /// After the others.
    Last,
    /// Never.
    Never,
}

/// A preference that the person gave to another program that ends apps, which brisk honours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preference {
    /// When it is ended.
    pub order: EndOrder,
    /// By what: `earlyoom --avoid, which matches firefox`.
    pub by: String,
}

/// A process of a terminal or session with all that it has started: it can be ended while shell and terminal stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// The process at its root.
    pub pid: u32,
    /// When that started, in ticks after boot: with the pid it is one process for ever.
    pub start_ticks: u64,
    /// Its name.
    pub name: String,
    /// Anonymous memory and swap of all its processes.
    pub memory_bytes: u64,
    /// By how much that has grown in the last half minute or more.
    pub growth_bytes: u64,
    /// A preference for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preference: Option<Preference>,
}

/// What an app does for its user now, by which its importance is rated. `None`: the system does not tell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Activity {
    /// Its role.
    pub role: Role,
    /// It runs under a user's session rather than the system's.
    pub of_user: bool,
    /// It is in the foreground.
    pub focused: Option<bool>,
    /// When it was in the foreground last, CLOCK_MONOTONIC.
    pub front_at_ns: Option<u64>,
    /// It plays or records sound, or did so in the last minute.
    pub audible: Option<bool>,
    /// It holds an inhibitor: the session must not end, or the machine not sleep, as with unsaved work.
    pub inhibits: Option<bool>,
    /// It has used processor or network in the last minute.
    pub works: Option<bool>,
    /// The least `oom_score_adj` of its processes.
    pub oom_score_adj: Option<i16>,
    /// The system rates by that how important the app is now, and freezes and ends it accordingly, as Android does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_rated: bool,
    /// Its processes are stopped by the freezer.
    pub frozen: Option<bool>,
    /// Where it is a terminal or session: what can be ended in it, first what is to end first. `None` for an app that
    /// is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branches: Option<Vec<Branch>>,
    /// A preference for its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preference: Option<Preference>,
    /// The name by which the configuration protects it: nothing is taken from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protected: Option<String>,
}

impl Activity {
    /// When it is ended; `None` without a preference.
    #[must_use]
    pub fn end_order(&self) -> Option<EndOrder> {
        self.preference.as_ref().map(|preference| preference.order)
    }
}

/// Facts about an app by which it is classified.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppFacts {
    /// Key of its control group ([`crate::group`]).
    pub group: String,
    /// Its id, such as `org.gnome.Evince`, as far as the group's name tells.
    pub id: String,
    /// The user whose app it is; `None` when unknown.
    pub user: Option<u32>,
    /// It is being launched.
    pub launching: bool,
    /// It is in the foreground; `None` where the system does not tell.
    pub focused: Option<bool>,
    /// It runs under a user's session rather than the system's.
    pub of_user: bool,
    /// Its role.
    pub role: Role,
    /// Its service manager has put it where background work goes (`background.slice`, systemd.special(7)).
    pub in_background: bool,
    /// The list of names that holds it: `System` or `Background`.
    pub listed: Option<Tolerance>,
    /// Its nice value at the least; `None` when unknown.
    pub nice_min: Option<i8>,
    /// The class that the person chose for it.
    pub chosen: Option<Tolerance>,
    /// Settings that its control group offers.
    pub offers: Vec<GroupSetting>,
    /// Disks that its requests may go to; `None` when unknown.
    pub disks: Option<Vec<String>>,
    /// What it does for its user now; `role`, `of_user` and `focused` are those above.
    pub activity: Activity,
}

/// An app as engines see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct App {
    /// Key of its control group ([`crate::group`]).
    pub group: String,
    /// Its id.
    pub id: String,
    /// The user whose app it is; `None` when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
    /// It is being launched.
    pub launching: bool,
    /// What it tolerates.
    pub tolerance: Tolerance,
    /// Why it is in that class.
    pub reason: Reason,
    /// Settings that its control group offers, which reach all that runs in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<GroupSetting>,
    /// Kernel names of the disks that its requests may go to: those under its program and its open files, those that
    /// its group has sent requests to, and swap. `None` when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disks: Option<Vec<String>>,
    /// What it does for its user now.
    #[serde(default)]
    pub activity: Activity,
}

/// The id without the user, of what [`App::owned_id`] gives.
#[must_use]
pub fn id_of(owned_id: &str) -> &str {
    parts_of(owned_id).1
}

/// The user of what [`App::owned_id`] gives.
#[must_use]
pub fn user_of(owned_id: &str) -> Option<u32> {
    parts_of(owned_id).0
}

fn parts_of(owned_id: &str) -> (Option<u32>, &str) {
    let owned = owned_id.split_once('/').and_then(|(user, id)| Some((Some(user.parse().ok()?), id)));
    owned.unwrap_or((None, owned_id))
}

impl App {
    /// What is learned of the app, and tried with it, goes by this: its user and its id. Another user chooses any id
    /// for an app of that user's, and is to change nothing that concerns this one.
    #[must_use]
    pub fn owned_id(&self) -> String {
        self.user.map_or_else(|| self.id.clone(), |user| format!("{user}/{}", self.id))
    }

    /// Whether requests of the app may go to the disk `name`: false only when its disks are known, and others.
    #[must_use]
    pub fn may_use(&self, name: &str) -> bool {
        self.disks.as_ref().is_none_or(|disks| disks.iter().any(|disk| disk == name))
    }

    /// Why the configuration has nothing taken from it, where it does: it is on the list of protected apps, of class
    /// `system`, or on the list of protected services.
    #[must_use]
    pub fn protection(&self) -> Option<Reason> {
        let by_class = || self.tolerance == Tolerance::System && ["chosen", "protected"].contains(&&*self.reason.rule);
        let reason = Reason::rule("protected_by_configuration");
        match &self.activity.protected {
            Some(name) => Some(reason.word("protect", name)),
            None => by_class().then_some(reason),
        }
    }
}

/// Puts an app into its class.
#[must_use]
pub fn classify(facts: &AppFacts) -> App {
    let (tolerance, rule) = match facts {
        AppFacts { chosen: Some(chosen), .. } => (*chosen, "chosen"),
        AppFacts { launching: true, .. } => (Tolerance::Interactive, "launching"),
        AppFacts { listed: Some(Tolerance::System), .. } => (Tolerance::System, "protected"),
        AppFacts { nice_min: Some(10..), .. } => (Tolerance::Batch, "nice"),
        AppFacts { listed: Some(listed), .. } => (*listed, "listed"),
        AppFacts { in_background: true, .. } => (Tolerance::Background, "background_slice"),
        AppFacts { role: Role::Service, .. } => (Tolerance::System, "service"),
        AppFacts { focused: Some(true), .. } => (Tolerance::Interactive, "focused"),
        AppFacts { focused: Some(false), .. } => (Tolerance::Background, "not_focused"),
        AppFacts { of_user: true, .. } if facts.group.ends_with(".scope") => {
            (Tolerance::Interactive, "scope_of_a_user")
        }
        AppFacts { of_user: true, .. } if facts.group.starts_with(SESSION) => {
            (Tolerance::Interactive, "session_of_a_user")
        }
        AppFacts { role: Role::App, .. } => (Tolerance::Background, "app_in_the_background"),
        _ => (Tolerance::Background, "no_app"),
    };
    App {
        group: facts.group.clone(),
        id: facts.id.clone(),
        user: facts.user,
        launching: facts.launching,
        tolerance,
        reason: Reason::rule(rule),
        offers: facts.offers.clone(),
        disks: facts.disks.clone(),
        activity: Activity {
            role: facts.role,
            of_user: facts.of_user,
            focused: facts.focused,
            ..facts.activity.clone()
        },
    }
}

/// Whether `name` is what `pattern` says, in which each `*` stands for any characters or none.
#[must_use]
pub fn is_named(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        // The first place is as good as any later one: it leaves the most for the parts behind.
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_rule_that_holds_gives_the_class() {
        let facts = AppFacts { group: "app-x-1.scope".to_owned(), of_user: true, ..AppFacts::default() };
        let with = |change: fn(&mut AppFacts)| {
            let mut facts = facts.clone();
            change(&mut facts);
            let app = classify(&facts);
            (app.tolerance, app.reason.rule.into_owned())
        };
        type Change = fn(&mut AppFacts);
        let cases: [(Change, Tolerance, &str); 12] = [
            (|_| (), Tolerance::Interactive, "scope_of_a_user"),
            (|f| (f.group, f.role) = ("dbus.service".to_owned(), Role::Service), Tolerance::System, "service"),
            (|f| f.group = "session-40".to_owned(), Tolerance::Interactive, "session_of_a_user"),
            (|f| (f.of_user, f.role) = (false, Role::App), Tolerance::Background, "app_in_the_background"),
            (|f| f.group = "writer".to_owned(), Tolerance::Background, "no_app"),
            (|f| (f.role, f.in_background) = (Role::Service, true), Tolerance::Background, "background_slice"),
            (|f| (f.role, f.listed) = (Role::Service, Some(Tolerance::Background)), Tolerance::Background, "listed"),
            (|f| (f.listed, f.nice_min) = (Some(Tolerance::System), Some(19)), Tolerance::System, "protected"),
            (|f| f.focused = Some(false), Tolerance::Background, "not_focused"),
            (|f| (f.focused, f.nice_min) = (Some(true), Some(19)), Tolerance::Batch, "nice"),
            (|f| (f.launching, f.focused) = (true, Some(false)), Tolerance::Interactive, "launching"),
            (|f| (f.launching, f.chosen) = (true, Some(Tolerance::Batch)), Tolerance::Batch, "chosen"),
        ];
        for (change, tolerance, rule) in cases {
            assert_eq!(with(change), (tolerance, rule.to_owned()));
        }
    }

    #[test]
    fn an_app_of_unknown_place_may_use_every_disk() {
        let may_use = |disks: Option<&[&str]>| {
            let disks = disks.map(|disks| disks.iter().map(|&disk| disk.to_owned()).collect());
            classify(&AppFacts { disks, ..AppFacts::default() }).may_use("sda")
        };
        assert_eq!((may_use(None), may_use(Some(&["sdb", "sda"]))), (true, true));
        assert_eq!((may_use(Some(&["sdb"])), may_use(Some(&[]))), (false, false));
    }

    #[test]
    fn the_configuration_protects_by_list_or_class() {
        let protection = |change: fn(&mut AppFacts)| {
            let mut facts = AppFacts { group: "app-x-1.scope".to_owned(), of_user: true, ..AppFacts::default() };
            change(&mut facts);
            classify(&facts).protection().map(|reason| reason.to_string())
        };
        let by_list = "protected by configuration (protect signal)";
        assert_eq!(protection(|f| f.activity.protected = Some("signal".to_owned())).as_deref(), Some(by_list));
        // Its class is its own.
        let facts = AppFacts { focused: Some(true), ..AppFacts::default() };
        let activity = Activity { protected: Some("signal".to_owned()), ..Activity::default() };
        assert_eq!(classify(&AppFacts { activity, ..facts }).tolerance, Tolerance::Interactive);
        let by_class = Some("protected by configuration".to_owned());
        assert_eq!(protection(|f| f.chosen = Some(Tolerance::System)), by_class);
        assert_eq!(protection(|f| f.listed = Some(Tolerance::System)), by_class);
        assert_eq!(protection(|f| f.role = Role::Service), None);
        assert_eq!(protection(|_| ()), None);
    }

    #[test]
    fn what_is_learned_goes_by_user_and_id() {
        let owned = |user| classify(&AppFacts { id: "org.x/y".to_owned(), user, ..AppFacts::default() }).owned_id();
        assert_eq!([owned(Some(1000)), owned(None)], ["1000/org.x/y", "org.x/y"]);
        for (text, user, id) in [
            ("1000/org.x/y", Some(1000), "org.x/y"),
            ("65534/1000/firefox", Some(65_534), "1000/firefox"),
            ("org.x/y", None, "org.x/y"),
            ("firefox", None, "firefox"),
        ] {
            assert_eq!((user_of(text), id_of(text)), (user, id));
        }
    }

    #[test]
    fn every_class_has_its_name() {
        for (tolerance, name) in Tolerance::ALL {
            assert_eq!((tolerance.name(), serde_json::to_value(tolerance).expect("JSON").as_str()), (name, Some(name)));
        }
    }

    #[test]
    fn a_pattern_names_what_it_says() {
        for (pattern, name, named) in [
            ("dbus", "dbus", true),
            ("dbus", "dbus-broker", false),
            ("dbus*", "dbus-broker", true),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
            ("org.*.Shell@*", "org.gnome.Shell@wayland", true),
            ("org.*.Shell@*", "org.gnome.Shell", false),
            ("a*a", "a", false),
            ("a*a*a", "aba", false),
            ("*-clean", "tmp-clean-x-clean", true),
        ] {
            assert_eq!(is_named(pattern, name), named, "{pattern} {name}");
        }
    }

    proptest! {
        #[test]
        fn no_service_gets_a_lower_class_unless_it_is_named(
            group in "[a-z]{1,8}(\\.service|\\.scope)?",
            of_user in any::<bool>(),
            focused in prop::option::of(any::<bool>()),
            nice_min in prop::option::of(-20i8..10),
        ) {
            let facts = AppFacts { group, of_user, focused, nice_min, role: Role::Service, ..AppFacts::default() };
            prop_assert_eq!(classify(&facts).tolerance, Tolerance::System);
        }

        /// Against the definition, by trying all ways.
        #[test]
        fn patterns_agree_with_trying_all(pattern in "[ab*]{0,6}", name in "[ab]{0,8}") {
            fn all(pattern: &[u8], name: &[u8]) -> bool {
                match (pattern.split_first(), name.split_first()) {
                    (None, None) => true,
                    (Some((b'*', more)), _) => (0..=name.len()).any(|skip| all(more, &name[skip..])),
                    (Some((a, more)), Some((b, rest))) => a == b && all(more, rest),
                    _ => false,
                }
            }
            prop_assert_eq!(is_named(&pattern, &name), all(pattern.as_bytes(), name.as_bytes()));
        }
    }
}
