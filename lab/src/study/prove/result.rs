//! Apps with and without brisk, under a load and without one.

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::WITH_BRISK_OVER_WITHOUT;
use crate::results::{Condition, Header, PhoneFacts, ProfileMeter, ProveJobs, SuiteApp, Temperature};

/// What one engine of brisk did for an app with no other engine at work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EngineGain {
    /// Its name.
    pub engine: String,
    /// Under the load: settled time with it over that without brisk, pair by pair of interleaved launches.
    #[schemars(extend("measure" = WITH_BRISK_OVER_WITHOUT))]
    pub loaded_ratio: Option<Summary>,
    /// The same without load.
    #[schemars(extend("measure" = WITH_BRISK_OVER_WITHOUT))]
    pub idle_ratio: Option<Summary>,
}

/// What brisk did for one app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gain {
    /// Short name.
    pub app: String,
    /// Cold or warm.
    pub temperature: Temperature,
    /// Under the load: settled time with brisk over that without, pair by pair of interleaved launches.
    #[schemars(extend("measure" = WITH_BRISK_OVER_WITHOUT))]
    pub loaded_ratio: Option<Summary>,
    /// The same without load.
    #[schemars(extend("measure" = WITH_BRISK_OVER_WITHOUT))]
    pub idle_ratio: Option<Summary>,
    /// What the load adds without brisk, by medians.
    pub added_ms: Option<f64>,
    /// Share of it that is gone with brisk; `None` where the load adds less than a twentieth of the launch.
    pub gone_percent: Option<f64>,
    /// What each engine did alone; empty where all were at work together only.
    #[serde(default)]
    pub engines: Vec<EngineGain>,
}

/// A setting that brisk changed while it was at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedSetting {
    /// The knob's text, such as `queue/mmcblk0/mq-deadline/fifo_batch`.
    pub knob: String,
    /// Before brisk.
    pub before: String,
    /// With it, one after the other.
    pub values: Vec<String>,
}

/// The storage part of a proof.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProveStorage {
    /// Size of a request.
    pub block_bytes: u64,
    /// What energy was counted with.
    pub meter: ProfileMeter,
    /// One for each pattern.
    pub jobs: Vec<ProveJobs>,
}

/// `brisk prove`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProveReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// The phone.
    pub phone: PhoneFacts,
    /// The four conditions (see `conditions`).
    pub conditions: Vec<Condition>,
    /// The apps, each with a set for each condition.
    pub apps: Vec<SuiteApp>,
    /// What brisk did for each.
    pub gains: Vec<Gain>,
    /// Readers concurrent with writers; absent where that was not asked for.
    #[serde(default)]
    pub storage: Option<ProveStorage>,
    /// What brisk set.
    pub settings: Vec<ChangedSetting>,
    /// From where it had the values, such as `smartio: default for emmc` or `smartio: measured on galaxy-s5-emmc`.
    #[serde(default)]
    pub set_ups: Vec<String>,
    /// Configuration that brisk ran with.
    pub config: String,
}
