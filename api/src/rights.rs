//! Rights that the service lacks, as `org.brisk.Daemon.varlink` describes them.

use serde::{Deserialize, Serialize};

/// A right, and what goes missing without it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LackingRight {
    /// As units and manuals name it.
    pub right: String,
    /// Engines that need it.
    pub engines: Vec<String>,
    /// What goes missing, in words.
    pub costs: String,
}
