//! What happened on the machine, by the kernel, by a person or by brisk itself.

use crate::action::Once;
use crate::knob::Knob;
use crate::launch::LaunchFiles;
use crate::outcome::Outcome;
use crate::pages::{AppPages, Touched};

use serde::{Deserialize, Serialize};

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Time, CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Kind.
    pub kind: EventKind,
}

/// Kinds of events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// An app's group came to life.
    LaunchBegan {
        /// Key of its control group ([`crate::group`]).
        group: String,
    },
    /// The launch ended: the app came to rest, or took too long.
    LaunchEnded {
        /// Key of its control group ([`crate::group`]).
        group: String,
    },
    /// The app ended.
    AppGone {
        /// Key of its control group ([`crate::group`]).
        group: String,
    },
    /// An app came to the foreground.
    Focused {
        /// Key of its control group ([`crate::group`]).
        group: String,
    },
    /// The page tables of an app were scanned.
    Scanned {
        /// Key of its control group ([`crate::group`]).
        group: String,
        /// Where its pages are.
        pages: AppPages,
    },
    /// A return to an app ended: it came to rest, or took too long.
    Returned {
        /// Key of its control group ([`crate::group`]).
        group: String,
        /// What it touched of what was away.
        touched: Touched,
    },
    /// What a launch used of files, at its end.
    LaunchUsed {
        /// Key of its control group ([`crate::group`]).
        group: String,
        /// The files.
        files: LaunchFiles,
    },
    /// The screen was switched on or off.
    Screen {
        /// Whether it is on now.
        on: bool,
    },
    /// The user has not touched the device for a while, or does so again.
    UserIdle {
        /// Whether the user is idle now.
        idle: bool,
    },
    /// Local time differs from UTC by another span than before: at the start, in another time zone, when summer time
    /// begins or ends.
    LocalTime {
        /// What is added to UTC, s.
        utc_offset_s: i32,
    },
    /// The kernel ended a process of an app, since memory had run out.
    OutOfMemory {
        /// Key of its control group ([`crate::group`]).
        group: String,
    },
    /// A device appeared.
    DeviceCame {
        /// Kernel name.
        device: String,
    },
    /// A device disappeared.
    DeviceGone {
        /// Kernel name.
        device: String,
    },
    /// A knob that brisk had set was changed externally: brisk leaves it alone from now on.
    ChangedExternally {
        /// The knob.
        knob: Knob,
        /// Its value now.
        found: String,
    },
    /// A value was refused by the kernel, or is not what the kernel shows after the write.
    Refused {
        /// The knob.
        knob: Knob,
        /// Reason.
        why: String,
    },
    /// A one-shot action that an engine had requested has an outcome.
    Performed {
        /// The action.
        once: Once,
        /// What became of it.
        outcome: Outcome,
    },
    /// Tasks stalled on storage or memory for longer than the trigger allows.
    Pressure {
        /// `io` or `memory`.
        resource: String,
    },
    /// The machine was suspended or stopped, or its clock was set: rates across the gap are void.
    Resumed {
        /// Length of the gap, by the wall clock.
        gap_ms: u64,
    },
    /// The configuration was read again.
    Configured,
}
