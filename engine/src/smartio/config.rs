//! Configuration of this engine.

use std::collections::BTreeMap;

pub use crate::kit::Mode;
use crate::kit::Section;
use serde::{Deserialize, Serialize};

use crate::smartio::profile::Profile;

/// Configuration of the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Adaptive: by what is measured and observed. Paper: as dissertation 4.4.1 says, with its constants, all the time.
    pub mode: Mode,
    /// Reads with a mean latency below this need no settings. A launch during writes always gets them.
    pub read_delay_aim_ms: f64,
    /// How long a write may be deferred by reads of higher priority (the paper's time slice: 100 ms).
    pub writes_wait_max_ms: u32,
    /// Whether apps that are launched during writes get the I/O class `launching_priority`.
    pub boost_launches: bool,
    /// Minimum write throughput of a profile, in percent of the default's, for `brisk study frontier` to choose it.
    pub write_throughput_min_percent: f64,
    /// Writes below this rate are ignored.
    pub writes_min_per_s: f64,
    /// Reads below this rate are ignored.
    pub reads_min_per_s: f64,
    /// Dirty pages from which on writes are expected: an app that begins then gets its priority in advance. 0 never
    /// does.
    pub dirty_min_mib: u64,
    /// An app waits for storage when it stalled on it for this share of the time.
    pub stall_min_percent: f64,
    /// Minimum dwell time between two changes of a knob.
    pub dwell_ms: u64,
    /// Hold-off: how long settings stay after the last need.
    pub hold_ms: u64,
    /// I/O class and level of apps that are launched, and of apps in front that wait, as ionice(1) takes them. Not
    /// `realtime` by default: what such an app starts inherits it, and would starve the others until it is taken back.
    pub launching_priority: String,
    /// The same for background apps while the foreground waits. Not `idle` by default: a journal commit waits for the
    /// data that all apps wrote before it.
    pub background_priority: String,
    pub batch_priority: String,
    /// Weight of the control groups of those that `launching_priority` is for, where they have one (io.weight,
    /// io.bfq.weight; 100 is usual). 0 leaves it.
    pub launching_weight: u32,
    /// The same for apps in the background and batches.
    pub background_weight: u32,
    /// Measured profiles, by model of device.
    pub profiles: BTreeMap<String, Profile>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::Adaptive,
            read_delay_aim_ms: 2.0,
            writes_wait_max_ms: 100,
            boost_launches: true,
            write_throughput_min_percent: 90.0,
            writes_min_per_s: 5.0,
            reads_min_per_s: 5.0,
            dirty_min_mib: 32,
            stall_min_percent: 10.0,
            dwell_ms: 1_000,
            hold_ms: 3_000,
            launching_priority: "best-effort 0".to_owned(),
            background_priority: "best-effort 7".to_owned(),
            batch_priority: "idle".to_owned(),
            launching_weight: 1_000,
            background_weight: 10,
            profiles: BTreeMap::new(),
        }
    }
}

impl Section for Config {}

impl Config {
    pub(crate) fn dwell_ns(&self) -> u64 {
        self.dwell_ms.saturating_mul(1_000_000)
    }

    pub(crate) fn hold_ns(&self) -> u64 {
        self.hold_ms.saturating_mul(1_000_000)
    }
}
