//! Apps with and without brisk, beside a load and without one.

use brisk_core::stats::Summary;
use serde::{Deserialize, Serialize};

use crate::Header;
use crate::launch::Temperature;
use crate::suite::{Condition, PhoneFacts, SuiteApp};

/// Names of the four conditions: what the load is, and who is at work.
pub mod conditions {
    /// Nothing happens, the kernel's own settings.
    pub const IDLE: &str = "idle";
    /// Nothing happens, brisk at work.
    pub const IDLE_BRISK: &str = "idle_with_brisk";
    /// A writer, the kernel's own settings.
    pub const WRITERS: &str = "writers";
    /// A writer, brisk at work.
    pub const WRITERS_BRISK: &str = "writers_with_brisk";
}

/// What brisk did for one app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// Short name.
    pub app: String,
    /// Cold or warm.
    pub temperature: Temperature,
    /// Beside the load: settled time with brisk over that without, pair by pair of interleaved launches.
    pub loaded_ratio: Option<Summary>,
    /// The same without load.
    pub idle_ratio: Option<Summary>,
    /// What the load adds without brisk, by medians.
    pub added_ms: Option<f64>,
    /// Share of it that is gone with brisk; `None` where the load adds less than a twentieth of the launch.
    pub gone_percent: Option<f64>,
}

/// A setting that brisk changed while it was at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedSetting {
    /// The knob's text, such as `queue/mmcblk0/mq-deadline/fifo_batch`.
    pub knob: String,
    /// Before brisk.
    pub before: String,
    /// With it, one after the other.
    pub values: Vec<String>,
}

/// `brisk prove`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProveReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// The phone.
    pub phone: PhoneFacts,
    /// The four conditions (see [`conditions`]).
    pub conditions: Vec<Condition>,
    /// The apps, each with a set for each condition.
    pub apps: Vec<SuiteApp>,
    /// What brisk did for each.
    pub gains: Vec<Gain>,
    /// What brisk set.
    pub settings: Vec<ChangedSetting>,
    /// Configuration that brisk ran with.
    pub config: String,
}
