//! Parts of the daemon that rest, since it has died in them.

use std::fmt;

use brisk_core::knob::Knob;
use serde::{Deserialize, Serialize};

/// Parts that are no action.
pub mod part {
    /// The watch of files that launches open.
    pub const OPENED_FILES: &str = "opened_files";
    /// Scans of page tables.
    pub const PAGE_TABLES: &str = "page_tables";
    /// What launches used of files.
    pub const LAUNCH_FILES: &str = "launch_files";
    /// Settings of queues.
    pub const QUEUE_SETTINGS: &str = "queue_settings";
    /// Settings of control groups.
    pub const GROUP_SETTINGS: &str = "group_settings";
    /// I/O priorities of processes.
    pub const IO_PRIORITIES: &str = "io_priorities";
    /// Settings of virtual memory.
    pub const VM_SETTINGS: &str = "vm_settings";
    /// Threads for actions that take time.
    pub const WORKER: &str = "worker";
    /// The process that holds frozen apps.
    pub const KEEPER: &str = "keeper";
}

/// The part that a setting belongs to.
#[must_use]
pub const fn of_knob(knob: &Knob) -> &'static str {
    match knob {
        Knob::Queue { .. } => part::QUEUE_SETTINGS,
        Knob::Group { .. } => part::GROUP_SETTINGS,
        Knob::IoPriority { .. } => part::IO_PRIORITIES,
        Knob::Vm { .. } => part::VM_SETTINGS,
    }
}

/// Whether a part is that of a kind of settings.
#[must_use]
pub fn is_of_settings(part: &str) -> bool {
    [part::QUEUE_SETTINGS, part::GROUP_SETTINGS, part::IO_PRIORITIES, part::VM_SETTINGS].contains(&part)
}

/// A part in which the daemon has died too often.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resting {
    /// Which: an action (`page_out`), a source of events (`mounts`), or another feature (`opened_files`).
    pub part: String,
    /// How often the daemon has died in it.
    pub crashes: u32,
}

impl fmt::Display for Resting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, crashes } = self;
        let part = brisk_core::text::one_line(part).replace('_', " ");
        write!(f, "{part} rests: briskd has died in it {crashes} times ('brisk config reload --retry' tries it again)")
    }
}
