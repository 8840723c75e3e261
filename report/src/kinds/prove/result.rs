//! Apps with and without brisk, under a load and without one.

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::WITH_BRISK_OVER_WITHOUT;
use crate::results::{Condition, Header, Pattern, PhoneFacts, ProfileMeter, SuiteApp, Temperature};

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

/// One quantity without brisk and with it, over repetitions in turns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BothWays {
    /// Without.
    pub without: Summary,
    /// With.
    pub with: Summary,
    /// With over without, pair by pair.
    pub ratio: Summary,
}

/// Readers and writers at the same time: an app that reads, and something in the background that writes. All are
/// *finite jobs*, as fio runs them: they begin together, each moves the same number of bytes, one request at a time and
/// past the page cache, and ends. So who is served first ends first, and the work and its energy are the same with
/// brisk and without.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProveJobs {
    /// Order of addresses of all of them.
    pub pattern: Pattern,
    /// Readers, and as many writers.
    pub streams: u32,
    /// What each of them moves.
    pub stream_bytes: u64,
    /// Mean response time of a read of one reader alone, without brisk.
    pub read_alone_us: Summary,
    /// Mean response time of a write of one writer alone, without brisk.
    pub write_alone_us: Summary,
    /// Mean response time of a read concurrent with the other streams.
    pub read_us: BothWays,
    /// Mean response time of a write concurrent with the other streams.
    pub write_us: BothWays,
    /// Mean response time of a read concurrent with the other streams over that alone without brisk, repetition by
    /// repetition.
    pub read_slowdown: BothWays,
    /// The same of a write.
    pub write_slowdown: BothWays,
    /// Bytes of all readers over the time until the last of them ended.
    pub read_bytes_per_s: BothWays,
    /// The same of the writers.
    pub write_bytes_per_s: BothWays,
    /// Bytes of all over the time until the last of all ended.
    pub bytes_per_s: BothWays,
    /// Energy of all of it, what brisk itself took included, by the meter of the report.
    pub energy_uj: BothWays,
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
