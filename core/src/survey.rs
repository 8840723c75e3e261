//! What engines show to people when asked: typed data that travels unchanged from an engine to the socket and the
//! commands.
//!
//! A person asks about a [`Topic`]; each engine returns what it knows of it as [`Shown`], or nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::app::{Branch, Preference};
use crate::decision::Observed;
use crate::reason::Reason;

/// What a person asks about.
#[derive(Debug, Clone, Copy)]
pub enum Topic<'a> {
    /// The memory of apps, and what would be taken from which.
    Memory(&'a Observed<'a>),
    /// Where the pages of apps are.
    Pages(&'a Observed<'a>),
    /// The launches of apps.
    Launches,
    /// What was written and read so far.
    Totals,
}

/// What an engine shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    /// Of [`Topic::Memory`].
    Memory(MemorySurvey),
    /// Of [`Topic::Pages`].
    Pages(PagesSurvey),
    /// Of [`Topic::Launches`]: the apps, by id.
    Launches(Vec<AppLaunches>),
    /// Of [`Topic::Totals`].
    Prefetched(Prefetched),
}

/// Importance of an app (dissertation 5.5). What is less is more important.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Importance {
    /// The system itself.
    System,
    /// Services that the system needs all the time.
    Persistent,
    /// The user interacts with it.
    Foreground,
    /// On the screen, or was a moment ago.
    Visible,
    /// Not on the screen, and its user would notice its end: it plays, or holds unsaved work.
    Perceptible,
    /// Work without a window.
    Service,
    /// An app that the user left.
    Background,
    /// A process without anything that a user would miss.
    Empty,
}

impl Importance {
    /// All levels, most important first, with their names as in records.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::System, "system"),
        (Self::Persistent, "persistent"),
        (Self::Foreground, "foreground"),
        (Self::Visible, "visible"),
        (Self::Perceptible, "perceptible"),
        (Self::Service, "service"),
        (Self::Background, "background"),
        (Self::Empty, "empty"),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether no memory of such an app may be taken, in any mode.
    #[must_use]
    pub fn is_untouchable(self) -> bool {
        self <= Self::Foreground
    }
}

/// Ways to get memory, least harm first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Page cache of the app's group.
    FreeCaches,
    /// Memory of the app's group, to swap too.
    Reclaim,
    /// Anonymous memory of the app's processes, to swap: where its group has no memory controller.
    PageOut,
    /// The app stops, so that what was reclaimed is not read back.
    Freeze,
    /// The app ends.
    End,
}

impl Step {
    /// All, least harm first.
    pub const ALL: [Self; 5] = [Self::FreeCaches, Self::Reclaim, Self::PageOut, Self::Freeze, Self::End];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FreeCaches => "free_caches",
            Self::Reclaim => "reclaim",
            Self::PageOut => "page_out",
            Self::Freeze => "freeze",
            Self::End => "end",
        }
    }
}

/// Memory of all apps at one moment: what would be taken first, and why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MemorySurvey {
    /// Memory that is available.
    pub available_bytes: u64,
    /// Memory that is to be available.
    pub wanted_bytes: u64,
    /// How much is to be freed.
    pub short_bytes: u64,
    /// Apps, those first from which memory would be taken first; those from which nothing is taken last.
    pub apps: Vec<AppMemory>,
}

impl MemorySurvey {
    /// Ids that apps of several users have: an id alone does not tell them apart.
    #[must_use]
    pub fn shared_ids(&self) -> BTreeSet<&str> {
        let mut users: BTreeMap<&str, BTreeSet<Option<u32>>> = BTreeMap::new();
        for app in self.apps.iter().filter(|app| !app.id.is_empty()) {
            users.entry(&app.id).or_default().insert(app.user);
        }
        users.into_iter().filter(|(_, users)| users.len() > 1).map(|(id, _)| id).collect()
    }
}

/// Memory of an app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppMemory {
    /// Name of its control group.
    pub group: String,
    /// Its id.
    pub id: String,
    /// Whose it is; `None` when unknown.
    pub user: Option<u32>,
    /// Its importance.
    pub importance: Importance,
    /// Why it has that.
    pub reason: Reason,
    /// Memory that it has; `None` when unknown.
    pub memory_bytes: Option<u64>,
    /// What of it is in swap; `None` when unknown.
    pub swap_bytes: Option<u64>,
    /// Memory that it is expected to need at the most; `None` when unknown.
    pub threshold_bytes: Option<u64>,
    /// Chance that it is the next app, from 0 to 1.
    pub chance: f64,
    /// Time that its relaunch takes.
    pub relaunch_s: f64,
    /// Expected cost of its end: seconds of waiting for each MiB.
    pub cost_s_per_mib: f64,
    /// Why nothing is taken from it; `None` when something may be.
    pub protected: Option<Reason>,
    /// What may be done to it, least harm first.
    pub steps: Vec<Step>,
    /// Whether the engine froze it.
    pub frozen: bool,
    /// Of a terminal or session: the process that would end first, and what it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_first: Option<Branch>,
    /// A preference that the person gave to another program that ends apps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preference: Option<Preference>,
}

/// Pages of all apps at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PagesSurvey {
    /// When, CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Memory that is available.
    pub available_bytes: u64,
    /// Memory that is to be available for returns.
    pub wanted_bytes: u64,
    /// What may still be written out today at once; `None` is no limit.
    pub wear_left_bytes: Option<u64>,
    /// What was written out since the engine began to count.
    pub written_bytes: u64,
    /// Apps, those first that are written out first; those that are spared last.
    pub apps: Vec<AppPages>,
}

/// Pages of an app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppPages {
    /// Name of its control group.
    pub group: String,
    /// Its id.
    pub id: String,
    /// When it was in front last, or seen first, CLOCK_MONOTONIC.
    pub left_ns: u64,
    /// Why nothing is taken from it; `None` when something may be.
    pub spared: Option<Reason>,
    /// Its pages; `None` when they were not scanned.
    pub pages: Option<PrivatePages>,
    /// Memory that a return needs; `None` when none was seen.
    pub need_bytes: Option<u64>,
    /// Share of the hot set that the kernel does not keep, from 0 to 1; `None` when unknown.
    pub lost: Option<f64>,
    /// Whether this engine froze it.
    pub frozen: bool,
}

/// Private pages of an app at its last scan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PrivatePages {
    /// When it was scanned, CLOCK_MONOTONIC.
    pub scanned_ns: u64,
    /// Cold pages in memory.
    pub cold_bytes: u64,
    /// Pages in memory of which nothing is known.
    pub unknown_bytes: u64,
    /// Hot pages in memory.
    pub hot_bytes: u64,
    /// Hot pages in swap.
    pub hot_swapped_bytes: u64,
    /// Expected time of reading these.
    pub read_us: f64,
}

/// Bytes that engines have written to swap, without what the kernel swaps by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapWrites {
    /// Since it began to count.
    pub written_bytes: u64,
    /// What may still be written at this moment; `None` is no limit.
    pub left_bytes: Option<u64>,
}

/// What was read ahead of launches, and what they used of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Prefetched {
    /// Apps that are known.
    pub apps: u64,
    /// Launches that were read ahead and learned.
    pub launches: u64,
    /// Bytes that were asked for.
    pub asked_bytes: u64,
    /// What of them the device read; the others were in memory.
    pub read_bytes: u64,
    /// What of those asked for launches used.
    pub used_bytes: u64,
    /// Apps that are ready before they are launched.
    pub ready_apps: u64,
    /// What was read from the device for that today.
    pub ready_day_bytes: u64,
    /// The most that is read on a day.
    pub ready_day_max_bytes: u64,
    /// Why no set is read at this moment.
    pub ready_waits: Option<Reason>,
}

/// Whether what a launch of an app uses is in memory before it is launched.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Readiness {
    /// Since when, by the wall clock; `None`: it is not.
    pub since_unix_ms: Option<u64>,
    /// Why it is not.
    pub why_not: Option<Reason>,
    /// What the device read for that since its last launch.
    pub read_bytes: u64,
}

/// What the engine for launch prefetch knows of an app.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AppLaunches {
    /// Its id.
    pub id: String,
    /// Its launches so far.
    pub launches: u64,
    /// Launches that were learned.
    pub learned: u64,
    /// Whether the pages that it uses are known exactly.
    pub exact: bool,
    /// Files that its next launch is expected to use.
    pub files: u64,
    /// What is read ahead of its next launch, where memory is not short.
    pub planned_bytes: u64,
    /// What of that is of files that other apps use as well.
    pub shared_bytes: u64,
    /// Bytes that were asked for.
    pub asked_bytes: u64,
    /// What of them the device read.
    pub read_bytes: u64,
    /// What of those asked for launches used.
    pub used_bytes: u64,
    /// Whether it is ready.
    pub ready: Readiness,
}
