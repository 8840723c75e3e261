//! What a record holds.

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
}

/// A frame of JSON.
pub(crate) fn json_frame<T: Serialize>(kind: Kind, value: &T) -> crate::Result<Vec<u8>> {
    let payload = serde_json::to_vec(value).expect("numbers and strings have a form in JSON");
    frame::encode(kind as u8, &payload)
}
