//! Which way a measure improves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which way a measure improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Times, energy, slowdowns.
    Lower,
    /// Throughput.
    Higher,
    /// Circumstances, such as the load of a background writer.
    Neither,
}
