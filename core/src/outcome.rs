//! What became of a requested setting or action.
//!
//! One enum from the actuator to the record, the control socket and the command line, which alone renders it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::knob::Knob;

/// What became of settings, by knob.
pub type Outcomes = BTreeMap<Knob, Outcome>;

/// What became of a setting or a one-shot action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The knob had the value already.
    Unchanged,
    /// The knob was written.
    Written {
        /// Value before.
        from: String,
        /// Value now: the kernel may have rounded.
        to: String,
    },
    /// No engine requests the knob any more: it has the value from before brisk, or the default of a scheduler that was
    /// chosen since.
    Restored {
        /// Value now.
        to: String,
    },
    /// The action takes time and was begun; its final outcome follows.
    Begun,
    /// The action was done.
    Done,
    /// The action was ended before it was complete, since an app returned.
    Cancelled {
        /// Bytes that were advised or reclaimed before that.
        done_bytes: u64,
    },
    /// Files were read ahead of a launch.
    Prefetched {
        /// What the device had to read; what was in memory already is not part of it.
        read_bytes: u64,
        /// Files that are not there any more, or were changed since.
        changed_files: u32,
        /// Whether all of it was asked for: not ended early, and no error.
        complete: bool,
    },
    /// The queue was busy: the write is tried again.
    Pending {
        /// Message of the kernel.
        why: String,
    },
    /// A dry run: it would be written or done.
    Planned {
        /// Value now; absent for a tunable whose scheduler is not in force yet, and for an action.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
        /// The value that would be written; absent for an action.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    /// The knob was changed externally, and is left alone.
    Left {
        /// Value now.
        found: String,
    },
    /// The device, group or process is gone.
    Gone,
    /// The setting could not be written, or the action not done.
    Refused {
        /// Reason, and what would work.
        why: String,
    },
    /// The daemon is paused: values are those from before brisk.
    Paused,
    /// The arbiter dropped the request; its rule says why.
    Dropped,
    /// The trial of the engine left the request out; its rule says why. The engine may request it again.
    HeldOut,
}

impl Outcome {
    /// Whether the knob has the value that it should have.
    #[must_use]
    pub fn is_in_force(&self) -> bool {
        matches!(self, Self::Unchanged | Self::Written { .. } | Self::Restored { .. })
    }

    /// Whether the arbiter dropped the request, for whichever reason.
    #[must_use]
    pub fn is_dropped(&self) -> bool {
        matches!(self, Self::Dropped | Self::HeldOut)
    }

    /// Its name, as in records.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Written { .. } => "written",
            Self::Restored { .. } => "restored",
            Self::Begun => "begun",
            Self::Done => "done",
            Self::Cancelled { .. } => "cancelled",
            Self::Prefetched { .. } => "prefetched",
            Self::Pending { .. } => "pending",
            Self::Planned { .. } => "planned",
            Self::Left { .. } => "left",
            Self::Gone => "gone",
            Self::Refused { .. } => "refused",
            Self::Paused => "paused",
            Self::Dropped => "dropped",
            Self::HeldOut => "held_out",
        }
    }

    /// Whether something was written or done on the machine.
    #[must_use]
    pub fn is_a_change(&self) -> bool {
        matches!(self, Self::Written { .. } | Self::Restored { .. } | Self::Done | Self::Prefetched { .. })
    }

    /// Whether the two mean the same to a reader: values in force are alike however they came about.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        (self.is_in_force() && other.is_in_force()) || std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::QueueSetting;

    #[test]
    fn an_outcome_is_read_back_from_its_record() {
        let knob = Knob::queue("sda", QueueSetting::Scheduler);
        let (from, to) = ("none".to_owned(), "bfq".to_owned());
        for outcome in [
            Outcome::Unchanged,
            Outcome::Written { from: from.clone(), to: to.clone() },
            Outcome::Restored { to },
            Outcome::Begun,
            Outcome::Done,
            Outcome::Cancelled { done_bytes: 4096 },
            Outcome::Prefetched { read_bytes: 7, changed_files: 1, complete: true },
            Outcome::Pending { why: "busy".to_owned() },
            Outcome::Planned { from: None, to: Some("bfq".to_owned()) },
            Outcome::Left { found: from },
            Outcome::Gone,
            Outcome::Refused { why: "busy".to_owned() },
            Outcome::Paused,
            Outcome::Dropped,
            Outcome::HeldOut,
        ] {
            let value = serde_json::to_value(Outcomes::from([(knob.clone(), outcome.clone())])).expect("JSON");
            assert_eq!(value["queue/sda/scheduler"]["outcome"].as_str(), Some(outcome.name()));
            assert_eq!(serde_json::from_value::<Outcomes>(value).expect("the same")[&knob], outcome);
        }
    }
}
