//! The words of trials: what is tried, how, and where it stands.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::app::id_of;
use crate::device::Device;

/// What a trial is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Subject {
    /// The machine as a whole.
    Machine,
    /// Block devices of a model, which outlives the kernel's names; by that name where a device reports no model.
    Disk(String),
    /// An app, by its user and id ([`crate::app::App::owned_id`]).
    App(String),
}

impl Subject {
    /// The subject of a disk.
    #[must_use]
    pub fn disk(device: &Device) -> Self {
        Self::Disk(if device.model.is_empty() { &device.name } else { &device.model }.clone())
    }
}

/// What people call it.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine => f.write_str("machine"),
            Self::Disk(name) => write!(f, "disk {name}"),
            Self::App(owned_id) => write!(f, "app {}", id_of(owned_id)),
        }
    }
}

impl From<Subject> for String {
    fn from(subject: Subject) -> Self {
        match subject {
            Subject::App(owned_id) => format!("app {owned_id}"),
            other => other.to_string(),
        }
    }
}

impl TryFrom<String> for Subject {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.split_once(' ') {
            None if text == "machine" => Ok(Self::Machine),
            Some(("disk", name)) => Ok(Self::Disk(name.to_owned())),
            Some(("app", id)) => Ok(Self::App(id.to_owned())),
            _ => Err(format!("'{text}' is no subject of a trial: machine, disk NAME or app ID")),
        }
    }
}

/// What an episode is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// A launch of the app.
    Launch,
    /// The time between two launches of the app, in which the engine prepares the next one; that tells the outcome.
    Prepared,
    /// A stretch in which the engine has requests, cut after this time.
    Load {
        /// The time.
        most_s: u64,
    },
    /// A block of time. What the engine did before carries over, so that the first part counts for nothing.
    Time {
        /// All of it.
        block_s: u64,
        /// The first part.
        wash_out_s: u64,
    },
}

/// The outcome by which an engine is judged; the others of an episode are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Time that the app waited for storage.
    StorageWait,
    /// Share of the time that apps in front waited for storage.
    StorageShare,
    /// Share of the time that apps in front waited for storage or memory.
    StallShare,
    /// Time that the disk was busy for each request.
    BusyTime,
}

impl Figure {
    /// Added to both outcomes before their ratio is taken: what is smaller makes no difference to a user.
    #[must_use]
    pub fn least(self) -> f64 {
        match self {
            // us, a share, ms.
            Self::StorageWait => 1_000.0,
            Self::StorageShare | Self::StallShare => 0.001,
            Self::BusyTime => 0.005,
        }
    }

    /// What the ratio is a ratio of, as the beginning of "... 0.62 times as long".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::StorageWait => "launches wait for storage",
            Self::StorageShare => "apps in mixed load wait for storage",
            Self::StallShare => "apps wait for storage and memory",
            Self::BusyTime => "the disk is busy for a request",
        }
    }
}

/// Whether a trial is of an app, a disk or the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The machine.
    Machine,
    /// Each disk.
    Disk,
    /// Each app.
    App,
}

/// How the trial of an engine is made: data that the engine declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Of what each trial is.
    pub scope: Scope,
    /// What an episode is.
    pub span: Span,
    /// What decides.
    pub figure: Figure,
    /// Episodes in which it had something to request, before its trial begins.
    pub learn: u32,
}

/// By which rules a trial goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ladder {
    /// Evidence alone decides.
    #[default]
    Auto,
    /// The configuration names the engine: it begins with acting, and rests only where harm is certain.
    Named,
    /// A person wants it on: it acts whatever the evidence, one of ten held out so that there is any.
    On,
    /// A person wants it off.
    Off,
}

/// A place on the ladder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It learns, and changes nothing.
    #[default]
    Observing,
    /// Half of the episodes are held out.
    OnTrial,
    /// One of ten is.
    Acting,
    /// It changes nothing.
    Resting,
}

impl Phase {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Observing => "observing",
            Self::OnTrial => "on trial",
            Self::Acting => "acting",
            Self::Resting => "resting",
        }
    }
}

/// Why a trial is in its phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Nothing was seen yet.
    #[default]
    New,
    /// It knows enough to act.
    Learned,
    /// The gain is certain.
    Gains,
    /// The harm is certain.
    Harms,
    /// The gain is certainly less than the least that is worth it.
    GainsTooLittle,
    /// No gain was shown.
    NotShown,
    /// A gain that was shown is not shown any more.
    NotShownAgain,
    /// The rest is over.
    Rested,
    /// A package, kernel or device is another.
    Changed,
    /// The configuration names it.
    Named,
    /// A person switched it.
    Person,
}

impl Why {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::New => "nothing was seen yet",
            Self::Learned => "it has learned enough",
            Self::Gains => "it gains",
            Self::Harms => "it makes things worse",
            Self::GainsTooLittle => "it gains too little",
            Self::NotShown => "no gain was found",
            Self::NotShownAgain => "its gain was not found again",
            Self::Rested => "its rest is over",
            Self::Changed => "a package, the kernel or the device changed",
            Self::Named => "the configuration names it",
            Self::Person => "switched by a person",
        }
    }
}

/// What happens to the requests of an engine for a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// The engine's requests are applied.
    On,
    /// The requests are dropped: this episode is compared with others.
    HeldOut,
    /// The requests are dropped: the engine only observes.
    Observing,
    /// The requests are dropped: the engine did not pay.
    Resting,
    /// The requests are dropped: a person switched the engine off.
    Off,
}

impl Arm {
    /// Why requests are dropped, in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::On => "applied",
            Self::HeldOut => "held out for comparison",
            Self::Observing => "the engine only observes so far",
            Self::Resting => "the engine rests, as it did not pay here",
            Self::Off => "the engine is switched off",
        }
    }
}

/// Requests that are not applied at this moment: those of one engine for one subject, or all of it. What a record needs
/// to have the same decisions again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Name of the engine.
    pub engine: String,
    /// The subject; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// Why: never [`Arm::On`].
    pub arm: Arm,
    /// What reads back for an app is applied all the same: what the engine had done before carries over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_back: bool,
}

/// Sums over the episodes of an arm, for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sums {
    /// Episodes.
    pub episodes: u64,
    /// Their length.
    pub length_s: f64,
    /// Time that their apps waited for storage.
    pub storage_s: f64,
    /// The same for memory.
    pub memory_s: f64,
    /// The same for a processor.
    pub processor_s: f64,
    /// Bytes that their apps, or the disk, read.
    pub read_mib: f64,
    /// The same for writes.
    pub written_mib: f64,
    /// Pages of the machine that came back after reclaim.
    pub refault_pages: u64,
    /// Apps that were ended.
    pub ended_apps: u64,
}

impl Sums {
    /// Adds another.
    pub fn add(&mut self, other: &Self) {
        self.episodes += other.episodes;
        self.length_s += other.length_s;
        self.storage_s += other.storage_s;
        self.memory_s += other.memory_s;
        self.processor_s += other.processor_s;
        self.read_mib += other.read_mib;
        self.written_mib += other.written_mib;
        self.refault_pages += other.refault_pages;
        self.ended_apps += other.ended_apps;
    }
}

/// What an engine says of its trial on a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// The episode that ends now tells nothing, such as a launch that found all of its files in memory.
    Void,
    /// What it acts on is another thing now, such as an app whose package changed.
    Anew,
}

/// An episode that has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ended {
    /// With this outcome, and what else is known of it.
    Counts {
        /// Value of the plan's figure.
        value: f64,
        /// Sums of one episode.
        sums: Sums,
    },
    /// It tells nothing.
    Void,
    /// What the engine acts on is another thing now: the trial begins anew.
    Anew,
}
