//! The result of `brisk launch`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::results::{Header, LaunchComparison, LaunchSet, ScreenFacts};

/// `brisk launch`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// The app's name, or the program's.
    pub app: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// The screen that was watched.
    pub screen: ScreenFacts,
    /// Without a screen: how long a program that keeps running had to be idle to count as done.
    #[serde(default)]
    pub idle_limit_ms: Option<f64>,
    /// One for each condition and temperature.
    pub sets: Vec<LaunchSet>,
    /// With `--vs`, or cold against warm.
    pub comparisons: Vec<LaunchComparison>,
}
