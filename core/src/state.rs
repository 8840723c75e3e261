//! Requests with what became of them: the state that the daemon keeps, records and sends.

use serde::{Deserialize, Serialize};

use crate::action::{Once, Setting};
use crate::arbiter::Resolved;
use crate::knob::Knob;
use crate::outcome::Outcome;

/// A setting that engines or the configuration request, with what became of it: what `brisk status` and `brisk explain`
/// show and the record keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingState {
    /// Knob, value, requester, rule and reason.
    #[serde(flatten)]
    pub resolved: Resolved<Setting>,
    /// Value before brisk; `None` where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
    /// Since when it has that value for that reason, by the wall clock.
    pub since_unix_ms: u64,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl SettingState {
    /// The knob.
    #[must_use]
    pub fn knob(&self) -> &Knob {
        &self.resolved.what.knob
    }

    /// Whether the value stands in the knob.
    #[must_use]
    pub fn is_in_force(&self) -> bool {
        self.outcome.is_in_force()
    }
}

/// A one-shot action that an engine requested, with what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionState {
    /// Action, requester, rule and reason.
    #[serde(flatten)]
    pub resolved: Resolved<Once>,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// A knob that brisk had written and that was changed externally since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedExternally {
    /// The knob.
    pub knob: Knob,
    /// Value that brisk wrote.
    pub written: String,
    /// Value now.
    pub found: String,
}
