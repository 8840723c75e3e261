//! What a time was spent on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a process tree's wall time went to. At each instant the first cause in this order that holds for any of its
/// threads gets the time, so the parts exclude each other and add up to the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A thread ran, in its own code.
    UserCpu,
    /// A thread ran, in the kernel.
    SystemCpu,
    /// A thread was ready to run and no processor was free.
    CpuWait,
    /// A thread was freeing memory for itself (direct reclaim).
    Reclaim,
    /// A thread waited for a file to be read.
    StorageRead,
    /// A thread waited for a page to come back from swap.
    SwapIn,
    /// A thread waited for a write to finish (fsync, journal, throttled writer).
    StorageWrite,
    /// Where reads, swap and writes cannot be distinguished.
    Storage,
    /// A thread waited for an answer or a connection from the network.
    Network,
    /// All slept: locks, timers, other processes such as the display server.
    Sleep,
    /// What the method cannot attribute.
    Other,
}

/// How a [`Split`] was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SplitMethod {
    /// Scheduler, block and socket events of the kernel, by eBPF: exclusive to the microsecond.
    Bpf,
    /// cpu.stat and io.pressure of the app's control group: user, system, storage and the rest.
    Cgroup,
    /// Formulas 4.1 and 4.2 of the dissertation: storage time as bytes over rates, network as the rest.
    Paper,
}

/// Wall time by cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Split {
    /// How it was found.
    pub method: SplitMethod,
    /// The whole.
    pub wall_ms: f64,
    /// Its parts in the order of [`Cause`], those that the method knows; zero is a measured zero.
    pub parts: Vec<Part>,
    /// Kernel events that were lost on the way: with any, the parts are estimates.
    #[serde(default)]
    pub lost_events: u64,
}

/// One part of a [`Split`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// What the time went to.
    pub cause: Cause,
    /// How much.
    pub time_ms: f64,
}

impl Split {
    /// Time of one cause; `None` when the method does not know it.
    #[must_use]
    pub fn time_ms(&self, cause: Cause) -> Option<f64> {
        self.parts.iter().find(|part| part.cause == cause).map(|part| part.time_ms)
    }
}
