//! Apps with and without brisk, under a load and without one.

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::WITH_BRISK_OVER_WITHOUT;
use crate::results::{Condition, Header, PhoneFacts, SuiteApp, Temperature};

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

/// `brisk phone launch`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProveReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// The phone.
    pub phone: PhoneFacts,
    /// Loads without brisk, with it, and with other engines (see `conditions`).
    pub conditions: Vec<Condition>,
    /// The apps, each with a set for each condition.
    pub apps: Vec<SuiteApp>,
    /// What brisk did for each.
    pub gains: Vec<Gain>,
}
