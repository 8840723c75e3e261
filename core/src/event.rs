//! What happened on the machine, told by the kernel or by a person.

use serde::{Deserialize, Serialize};

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When, CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// What.
    pub kind: EventKind,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// An app's group came to life.
    LaunchBegan {
        /// Name of its control group.
        group: String,
    },
    /// It came to rest, or took too long to be called a launch.
    LaunchEnded {
        /// Name of its control group.
        group: String,
    },
    /// It is gone.
    AppGone {
        /// Name of its control group.
        group: String,
    },
    /// Another app has the focus.
    Focused {
        /// Name of its control group.
        group: String,
    },
    /// A device came.
    DeviceCame {
        /// Kernel name.
        device: String,
    },
    /// A device went.
    DeviceGone {
        /// Kernel name.
        device: String,
    },
    /// Somebody else changed a knob that brisk had set: it is theirs now.
    TakenOver {
        /// The knob's text.
        knob: String,
        /// What stands there.
        found: String,
    },
    /// A value that was written is not what the kernel shows, or was refused.
    Refused {
        /// The knob's text.
        knob: String,
        /// Why.
        why: String,
    },
    /// Tasks stood still for want of storage or memory for longer than the trigger allows.
    Pressure {
        /// `io` or `memory`.
        resource: String,
    },
    /// The machine was suspended, or stood still: what was measured across is void.
    Resumed {
        /// For how long, by the clock on the wall.
        gap_ms: u64,
    },
    /// The configuration is another one.
    Configured,
}
