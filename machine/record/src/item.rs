//! The items of a record.

use std::collections::BTreeMap;

use brisk_core::app::App;
use brisk_core::decision::Note;
use brisk_core::device::Device;
use brisk_core::event::Event;
use brisk_core::outcome::Outcomes;
use brisk_core::snapshot::Snapshot;
use brisk_core::state::{ActionState, SettingState};
use brisk_core::trial::LeftOut;
use serde::{Deserialize, Serialize};

use crate::frame::{self, Kind};

/// Where and how a session was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    pub brisk_version: String,
    /// Release of the kernel, as `uname -r` prints it.
    pub kernel_release: String,
    /// Short description of the machine.
    pub machine: String,
    /// Time from one sample to the next.
    pub interval_ms: u64,
    /// When the session began, by the wall clock.
    pub started_unix_ms: u64,
    /// Number of files of this session before this one.
    pub part: u64,
}

/// How a session ended. One that crashed has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct End {
    /// Time, by the wall clock.
    pub ended_unix_ms: u64,
    pub samples: u64,
    /// Samples that were left out as the machine was too busy to take them in time.
    pub missed_samples: u64,
    /// Processor time of the recorder, user and system.
    pub own_cpu_us: u64,
    /// Resident memory of the recorder at the end.
    pub own_rss_bytes: u64,
}

/// Configuration and measured profiles that engines got. It holds until the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Configuration {
    /// The text of the configuration's file.
    pub text: String,
    /// Texts of the profiles that were measured on devices, by file name.
    pub files: BTreeMap<String, String>,
}

/// Devices and apps, and which requests are not applied. It holds until the next one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scene {
    pub devices: Vec<Device>,
    pub apps: Vec<App>,
    /// What the trials of engines leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// The decision on the snapshot before, and its outcome. It holds until the next one: a decision that changes nothing
/// is not recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Decided {
    /// Time, CLOCK_MONOTONIC.
    pub at_ns: u64,
    pub wall_unix_ms: u64,
    /// Every requested setting, with what became of it.
    pub settings: Vec<SettingState>,
    /// Outcomes that are new: what was written, and what was restored since no engine requests it any more.
    pub outcomes: Outcomes,
    /// Every requested action, with what became of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<ActionState>,
    /// Messages of engines.
    pub notes: Vec<Note>,
}

/// One thing of a record, in its order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Item {
    /// A session begins, or goes on in this file.
    Session(Session),
    Snapshot(Box<Snapshot>),
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

pub(crate) fn json_frame<T: Serialize>(kind: Kind, value: &T) -> crate::error::Result<Vec<u8>> {
    let payload = serde_json::to_vec(value).expect("numbers and strings have a form in JSON");
    frame::encode(kind as u8, &payload)
}
