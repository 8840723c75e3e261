//! `brisk profile`: what each setting of a device costs, and how well settings are chosen by that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::ENERGY_PER_REQUEST;
use crate::results::{Header, ProfileMeter};
use brisk_report::vocabulary::{READ_LATENCY, REQUESTS_PER_S, WRITE_LATENCY};

/// A scheduler with a queue depth.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ProfileSetting {
    /// The I/O scheduler.
    pub scheduler: String,
    /// `nr_requests`.
    pub queue_depth_requests: u32,
    /// Read-ahead in KiB; absent: the device's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead_kb: Option<u32>,
    /// Target of write-back throttling in us, 0 for none; absent: the device's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wbt_lat_usec: Option<u32>,
}

/// One workload under one setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileCell {
    /// The setting.
    pub setting: ProfileSetting,
    /// Reads and writes done.
    #[schemars(extend("measure" = REQUESTS_PER_S))]
    pub requests_per_s: f64,
    /// Whether the device kept up with what arrived.
    pub kept_up: bool,
    /// Energy of a request by the report's meter.
    #[schemars(extend("measure" = ENERGY_PER_REQUEST))]
    pub request_uj_mean: f64,
    /// From when a read was due to its end.
    #[schemars(extend("measure" = READ_LATENCY))]
    pub read_us_mean: Option<f64>,
    /// From when a write was due to its end.
    #[schemars(extend("measure" = WRITE_LATENCY))]
    pub write_us_mean: Option<f64>,
    /// Energy over that under the device's own setting.
    pub energy_ratio: f64,
    /// Delay (of reads; of writes where nothing is read) over that under the device's own setting.
    pub delay_ratio: f64,
    /// Upper end of the bootstrap interval of `energy_ratio`, round by round; absent with fewer than three rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_ratio_high: Option<f64>,
    /// The same of `delay_ratio`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ratio_high: Option<f64>,
}

/// One workload under all settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileWorkload {
    /// Its name.
    pub name: String,
    /// What it stands for.
    pub about: String,
    /// The setting of least energy of those that are not slower than the device's own by more than 1 %.
    pub best: ProfileSetting,
    /// One for each setting, the device's own first.
    pub cells: Vec<ProfileCell>,
}

/// What one way of choosing came to for a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfilePick {
    /// `adaptive`, `paper`, `one_for_all` or `own`.
    pub chooser: String,
    /// What it chose.
    pub setting: ProfileSetting,
    /// Energy over the least of settings that are not too slow.
    pub over_best: f64,
    /// Energy over that under the device's own setting.
    pub energy_ratio: f64,
    /// Delay over that under the device's own setting.
    pub delay_ratio: f64,
    /// Whether it is within 2 % of the best energy and not too slow.
    pub right: bool,
    /// Whether it is right, or whether the rounds differ by too much to exclude that.
    #[serde(default)]
    pub not_told_from_right: bool,
}

/// What all ways of choosing came to for a workload that the profile does not hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileJudged {
    /// Its name.
    pub workload: String,
    /// The setting of least energy that is not too slow.
    pub best: ProfileSetting,
    /// One for each way.
    pub picks: Vec<ProfilePick>,
}

/// `brisk profile`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// What the device calls itself: the profile is kept under this name.
    pub device_model: String,
    /// Its kind, such as `emmc`.
    pub device_kind: String,
    /// What energy was counted with.
    pub meter: ProfileMeter,
    /// The device's own setting.
    pub own: ProfileSetting,
    /// Length of a cell in each round.
    pub cell_s: f64,
    /// Rounds.
    pub rounds: u32,
    /// Cells that a run which was stopped had measured before.
    #[serde(default)]
    pub taken_over_cells: u64,
    /// What was measured.
    pub workloads: Vec<ProfileWorkload>,
    /// How well the profile chooses for workloads that it does not hold: those measured here, with `held_out`, else
    /// each of its own with a profile that lacks it.
    pub judged: Vec<ProfileJudged>,
    /// Whether these are workloads to judge a profile by, and not one.
    pub held_out: bool,
    /// The file of the profile.
    pub profile: Option<String>,
}
