//! Requests with what became of them: the state that the daemon keeps, records and sends.

use serde::{Deserialize, Serialize};

use crate::action::{Once, Setting};
use crate::arbiter::Resolved;
use crate::knob::Knob;
use crate::outcome::Outcome;

/// A level that engines or the configuration request, with what became of it: what `brisk status` and `brisk explain` show
/// and the record keeps.
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
    /// What became of it; `None` in a record from before brisk stored it here.
    #[serde(flatten)]
    pub outcome: Option<Outcome>,
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
        self.outcome.as_ref().is_some_and(Outcome::is_in_force)
    }
}

/// An edge that an engine requested, with what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionState {
    /// Edge, requester, rule and reason.
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
    /// What was written.
    pub ours: String,
    /// What stands there.
    pub found: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_of_an_older_record_is_read() {
        let state: SettingState = serde_json::from_str(
            r#"{"knob":"queue/sda/scheduler","value":"bfq","engine":"smartio","rule":"only_wish",
                "reason":{"rule":"reads_wait"},"over":[["smartstorage","none"]],"since_unix_ms":5}"#,
        )
        .expect("a setting");
        assert_eq!((state.outcome, state.resolved.over[0].value.as_str()), (None, "none"));
    }
}
