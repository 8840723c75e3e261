//! One moment of the machine, and what happened between two of them.
//!
//! A [`Snapshot`] holds totals as the kernel counts them (they only grow, until they wrap or their device goes) and
//! levels as they stand. What people ask for are rates: [`Snapshot::since`] gives an [`Interval`] of shares, rates and
//! means. So nothing is lost by recording snapshots, and a missed one costs resolution only.
//!
//! Terms: a *total* is since boot or since the device, interface or group was made; a *level* is at this moment. Times
//! of processors are in us though the kernel counts in steps of 10 ms. Disks are named as in /sys/block, interfaces as in
//! /sys/class/net, apps by their control group.
//!
//! Properties: shares are between 0 and 100 %; no rate is negative or infinite; what appeared, went, or began to count
//! anew has no rate for that interval rather than a wrong one; a wall clock that was set changes no rate.

mod interval;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use interval::{
    AppRates, CpuShares, DiskRates, FlushRates, Interval, IoRates, MergeRates, NetRates, PagingRates, PressureShares,
    StallShares,
};

/// One moment of the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// When, by the clock that nobody can set (CLOCK_MONOTONIC: since boot, without suspend).
    pub at_ns: u64,
    /// When, by the clock on the wall: since 1970 in UTC.
    pub wall_unix_ms: u64,
    /// Processors.
    pub cpu: CpuTotals,
    /// Memory.
    pub memory: MemoryLevels,
    /// Reclaim and swap.
    pub paging: PagingTotals,
    /// Time that tasks stood still.
    pub pressure: PressureTotals,
    /// Disks.
    pub disks: Vec<DiskTotals>,
    /// Network interfaces.
    pub nets: Vec<NetTotals>,
    /// Apps.
    pub apps: Vec<AppTotals>,
}

/// Where the time of all processors together went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTotals {
    /// Level: how many processors are online.
    pub processors: u64,
    /// Programs.
    pub user_us: u64,
    /// Programs of low priority.
    pub nice_us: u64,
    /// The kernel.
    pub system_us: u64,
    /// Nothing to do, no storage request outstanding.
    pub idle_us: u64,
    /// Nothing to do, with a storage request of one of the processor's tasks outstanding. May run backwards.
    pub iowait_us: u64,
    /// Interrupts.
    pub irq_us: u64,
    /// Deferred work of interrupts.
    pub softirq_us: u64,
    /// Taken by other guests of the host.
    pub steal_us: u64,
}

/// What the memory is used for: levels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryLevels {
    /// All memory that the kernel manages.
    pub total_bytes: u64,
    /// Used for nothing.
    pub free_bytes: u64,
    /// What new programs can have without swapping; `None` before Linux 3.14.
    pub available_bytes: Option<u64>,
    /// Pages of block devices.
    pub buffers_bytes: u64,
    /// Pages of files, those of tmpfs included.
    pub cached_bytes: u64,
    /// Anonymous memory: active and inactive.
    pub anon_bytes: u64,
    /// Waits to be written.
    pub dirty_bytes: u64,
    /// Is being written.
    pub writeback_bytes: u64,
    /// All swap.
    pub swap_total_bytes: u64,
    /// Swap that is not used.
    pub swap_free_bytes: u64,
    /// In memory and still in its swap slot.
    pub swap_cached_bytes: u64,
}

/// Reclaim and swap. A kernel without swap has moved no pages; other counters are `None` where a kernel has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PagingTotals {
    /// Pages brought back from swap.
    pub swap_in_pages: u64,
    /// Pages written to swap.
    pub swap_out_pages: u64,
    /// Faults that had to wait for storage.
    pub major_faults: u64,
    /// Anonymous pages that came back soon after they were reclaimed; `None` before Linux 5.9.
    pub refault_anon_pages: Option<u64>,
    /// Pages of files that came back soon after they were reclaimed, before Linux 5.9 all pages.
    pub refault_file_pages: Option<u64>,
    /// Pages looked at by the kernel's own thread.
    pub scan_kswapd_pages: Option<u64>,
    /// Pages looked at by tasks that wanted memory and had to wait for it.
    pub scan_direct_pages: Option<u64>,
    /// Pages reclaimed by the kernel's own thread.
    pub steal_kswapd_pages: Option<u64>,
    /// Pages reclaimed by tasks that wanted memory and had to wait for it.
    pub steal_direct_pages: Option<u64>,
}

/// Time that tasks stood still for want of one resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallTotals {
    /// At least one task stood still.
    pub some_us: u64,
    /// All tasks that had work stood still; `None` for processors before Linux 5.13.
    pub full_us: Option<u64>,
}

/// The three resources; `None` where the kernel counts no pressure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PressureTotals {
    /// A processor.
    pub cpu: Option<StallTotals>,
    /// Storage.
    pub io: Option<StallTotals>,
    /// Memory.
    pub memory: Option<StallTotals>,
}

/// Requests of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoTotals {
    /// Requests completed.
    pub requests: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Sum over the requests of the time from queueing to completion; wraps at 2^32.
    pub time_ms: u64,
}

/// Flushes of a disk's cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlushTotals {
    /// Flushes completed.
    pub requests: u64,
    /// Sum of their times; wraps at 2^32.
    pub time_ms: u64,
}

/// Requests that became part of another before they were issued, since they continued it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeTotals {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

/// One disk or partition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskTotals {
    /// Kernel name, such as `mmcblk0`.
    pub name: String,
    /// Reads.
    pub read: IoTotals,
    /// Writes.
    pub write: IoTotals,
    /// Discards; `None` before Linux 4.18.
    pub discard: Option<IoTotals>,
    /// Flushes; `None` before Linux 5.5.
    pub flush: Option<FlushTotals>,
    /// Merged requests; `None` in records from before these were kept. Records hold them apart, see `brisk-record`.
    #[serde(skip)]
    pub merged: Option<MergeTotals>,
    /// Level: requests issued and not completed.
    pub in_flight_requests: u64,
    /// Time in which at least one request was in flight; wraps at 2^32.
    pub busy_ms: u64,
    /// Sum over time of the requests that were waiting or in flight; wraps at 2^32.
    pub queue_ms: u64,
}

/// One network interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetTotals {
    /// Its name, such as `wlan0`.
    pub name: String,
    /// Received.
    pub receive_bytes: u64,
    /// Received.
    pub receive_packets: u64,
    /// Sent.
    pub transmit_bytes: u64,
    /// Sent.
    pub transmit_packets: u64,
}

/// One app: the tasks of a control group and of the groups below it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppTotals {
    /// The name of its group, such as `app-org.gnome.Evince-4711.scope`.
    pub name: String,
    /// Time on processors.
    pub cpu_us: Option<u64>,
    /// Level: memory charged to it, page cache included; `None` without the memory controller.
    pub memory_bytes: Option<u64>,
    /// Level: sum of what its processes have in memory, where `memory_bytes` is not known. Pages that they share count
    /// once for each.
    pub rss_bytes: Option<u64>,
    /// Its tasks waited for storage.
    pub io_pressure: Option<StallTotals>,
    /// Its tasks waited for memory.
    pub memory_pressure: Option<StallTotals>,
}
