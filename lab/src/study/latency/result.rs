//! The result of `brisk latency`: how long an app takes to answer an input.

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::{FIRST_CHANGE, LATENCY, TIME_OF_ALL_EVENTS};
use crate::results::{Ending, Header, PhoneFacts, ScreenFacts, Split, StorageUse};

/// How long a person minds (Nielsen's three limits, user-perceived latency paper, section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HciLimit {
    /// Up to 0.1 s: feels immediate.
    Instant,
    /// Up to 1 s: noticed, the thread of thought stays.
    Flow,
    /// Up to 10 s: attention holds.
    Attention,
    /// Beyond 10 s: the person does something else.
    Lost,
}

impl HciLimit {
    /// The class of a latency.
    #[must_use]
    pub fn of_ms(latency_ms: f64) -> Self {
        match latency_ms {
            ms if ms <= 100.0 => Self::Instant,
            ms if ms <= 1_000.0 => Self::Flow,
            ms if ms <= 10_000.0 => Self::Attention,
            _ => Self::Lost,
        }
    }
}

/// One step of a script, over all repetitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyStep {
    /// What the script calls it.
    pub name: String,
    /// The inputs, in words, such as `key Ctrl+O`.
    pub input: String,
    /// Each repetition.
    pub runs: Vec<LatencyRun>,
    /// From the input to the next stable state.
    #[schemars(extend("measure" = LATENCY))]
    pub latency_ms: Option<Summary>,
    /// Class of the median.
    pub limit: Option<HciLimit>,
    /// Median of each part, scaled to add up to the median.
    pub split: Option<Split>,
}

/// One repetition of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyRun {
    /// How it ended.
    #[serde(flatten)]
    pub ending: Ending,
    /// From the input to the first change of the screen; absent when nothing changed.
    #[schemars(extend("measure" = FIRST_CHANGE))]
    pub first_change_ms: Option<f64>,
    /// From the input to the next stable state; zero when the input changed nothing.
    #[schemars(extend("measure" = LATENCY))]
    pub latency_ms: f64,
    /// What that time went to.
    pub split: Option<Split>,
    /// What was read and written meanwhile.
    pub storage: Option<StorageUse>,
}

/// Time that a stream of pseudo-random events takes (dissertation 4.5.4, run-time delay).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeDelay {
    /// Events sent.
    pub events: u64,
    /// Seed: the same seed gives the same events.
    pub seed: u64,
    /// From the first event until the app settled after the last.
    #[schemars(extend("measure" = TIME_OF_ALL_EVENTS))]
    pub total_ms: Summary,
    /// Where the median repetition's time went.
    pub split: Option<Split>,
}

/// `brisk latency`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// The app's name.
    pub app: String,
    /// Program and arguments; empty for an app that ran already.
    pub command: Vec<String>,
    /// The script's name, or `monkey`.
    pub script: String,
    /// The emulated phone that it ran on; absent on this machine itself.
    #[serde(default)]
    pub phone: Option<PhoneFacts>,
    /// The screen that was watched.
    pub screen: ScreenFacts,
    /// The steps in order.
    pub steps: Vec<LatencyStep>,
    /// For pseudo-random events.
    pub runtime_delay: Option<RuntimeDelay>,
}
