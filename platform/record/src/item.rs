//! What a record holds.

use std::collections::BTreeMap;

use brisk_core::app::App;
use brisk_core::arbiter::Resolved;
use brisk_core::decision::{Device, Reason};
use brisk_core::event::Event;
use brisk_core::knob::Knob;
use brisk_core::snapshot::Snapshot;
use serde::{Deserialize, Serialize};

use crate::frame::{self, Kind};

/// Who recorded, where and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// Version of brisk.
    pub brisk_version: String,
    /// Release of the kernel, as `uname -r` prints it.
    pub kernel_release: String,
    /// The machine in a few words.
    pub machine: String,
    /// Time from one sample to the next.
    pub interval_ms: u64,
    /// When the session began, by the clock on the wall.
    pub started_unix_ms: u64,
    /// How many files of this session were filled before this one.
    pub part: u64,
}

/// How a session ended. One that crashed has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct End {
    /// When, by the clock on the wall.
    pub ended_unix_ms: u64,
    /// Samples taken.
    pub samples: u64,
    /// Samples that were left out as the machine was too busy to take them in time.
    pub missed_samples: u64,
    /// Processor time that recording took, user and system.
    pub own_cpu_us: u64,
    /// Memory that recording took at the end.
    pub own_rss_bytes: u64,
}

/// What engines were told by the person and by what was measured before. It holds until the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Configuration {
    /// The text of the configuration's file.
    pub text: String,
    /// Texts of other files that belong to it, by name: what was measured on devices.
    pub files: BTreeMap<String, String>,
}

/// What is there besides what is counted. It holds until the next one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scene {
    /// Devices that are managed.
    pub devices: Vec<Device>,
    /// Apps that run.
    pub apps: Vec<App>,
}

/// What was decided on the snapshot before, and what was done. It holds until the next one: a decision that changes
/// nothing is not recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Decided {
    /// When, CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// When, by the clock on the wall.
    pub wall_unix_ms: u64,
    /// Every knob that is to have a value of its own.
    pub settings: Vec<Setting>,
    /// What was done to bring that about.
    pub effects: Vec<Effect>,
    /// What engines want people to know besides.
    pub notes: Vec<Note>,
}

/// A knob with its value, and since when it has had that for that reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Knob, value, whose it is, and why.
    #[serde(flatten)]
    pub resolved: Resolved,
    /// Since when, by the clock on the wall.
    pub since_unix_ms: u64,
}

/// What became of one knob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// The knob.
    pub knob: Knob,
    /// `written`, `put_back`, `planned`, `left`, `refused`, `paused` or `unchanged`.
    pub outcome: String,
    /// What stood there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What stands there now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What an engine wants people to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Name of the engine.
    pub engine: String,
    /// What.
    pub reason: Reason,
}

/// One thing of a record, in its order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Item {
    /// A session begins, or goes on in this file.
    Session(Session),
    /// A sample.
    Snapshot(Box<Snapshot>),
    /// The session ends.
    End(End),
    /// Something happened, before the snapshot that follows.
    Event(Event),
    /// The configuration from here on.
    Configuration(Configuration),
    /// What is there from here on.
    Scene(Scene),
    /// What was decided on the snapshot before.
    Decided(Decided),
}

/// A frame of JSON.
pub(crate) fn json_frame<T: Serialize>(kind: Kind, value: &T) -> crate::error::Result<Vec<u8>> {
    let payload = serde_json::to_vec(value).expect("numbers and strings have a form in JSON");
    frame::encode(kind as u8, &payload)
}
