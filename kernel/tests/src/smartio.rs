//! The policy of the kernel scheduler `smartio`, callable from tests outside of the kernel.
//!
//! `smartio_policy.h` has learning and decisions as pure functions on plain integers. The module calls them under its
//! lock; this crate compiles the same header with the system's compiler and wraps each function safely, to test
//! properties with random inputs (`policy.rs` of the tests) and whole loads with a simple device (`share.rs`). The
//! scheduler around it is compiled as well, with `host/kernel.h` in place of the kernel: [`scheduler`] wraps it
//! (`dispatch.rs` with loads, `requests.rs` with single requests). Units and meanings are those of the header.

pub mod scheduler;

/// Size classes of requests: powers of two from 4 KiB to 512 KiB.
pub const SIZES: usize = 8;
/// "Never", for [`wake_ns`] and [`settle_ns`].
pub const NEVER: u64 = u64::MAX;
/// All of the device, as the unit of what a write occupies.
pub const WHOLE: u32 = 4096;
pub const LEAST: u32 = 16;
/// Device time of a burst of writes with concurrent reads.
pub const BURST_NS: u64 = 4_000_000;
/// During a write of this length no second one is needed in the device.
pub const LONG_NS: u32 = 2_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Synchronous: fsync, log, swap.
    Urgent = 1,
    /// Its thread reads as well.
    Own = 2,
    Bulk = 3,
    /// Discard, erase, write of zeroes.
    Trim = 4,
}

/// Decision on a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Verdict {
    Go = 0,
    /// The limit of writes in flight is reached.
    WaitCap = 1,
    /// A read is expected.
    WaitHold = 2,
    /// The share of writes is used up.
    WaitShare = 3,
}

/// Input of the decision on a write: `struct smartio_view`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct View {
    pub now_ns: u64,
    /// How long the write has waited.
    pub age_ns: u64,
    /// Longest wait for others.
    pub slice_ns: u64,
    /// Time until which the next read is expected.
    pub hold_until_ns: u64,
    /// Time until which it is deferred for synchronous writes.
    pub awaited_until_ns: u64,
    /// Time from which expired writes go; 0 for any time.
    pub due_at_ns: u64,
    /// Whether the share is used up.
    pub spent: bool,
    /// Whether it was, and no read was dispatched since.
    pub behind: bool,
    /// Whether all writes leave reads half of the device.
    pub few: bool,
    /// Device time beyond the share.
    pub debt_ns: u64,
    /// Part of the device's time for writes under mixed load.
    pub share_percent: u32,
    pub reads_waiting: u32,
    pub reads_in_flight: u32,
    pub writes_in_flight: u32,
    /// Limit of writes in flight with concurrent reads.
    pub cap: u32,
    /// Limit of writes in flight without reads.
    pub cap_alone: u32,
    pub kind: Kind,
}

mod raw {
    use super::{Verdict, View};

    // Verdict is returned by C as one of its values.
    unsafe extern "C" {
        /// Size class of a request, 0 to `SIZES` - 1.
        pub safe fn host_size(bytes: u32) -> u32;
        /// A mean that forgets: an eighth of the new sample; 0 stands for not known.
        pub safe fn host_mean(old: u32, sample: u64) -> u32;
        /// Service time in nanoseconds with a new sample; one that is not clean never lengthens it.
        pub safe fn host_learn_service(old: u32, sample: u64, clean: bool) -> u32;
        /// Pace in nanoseconds with a new window, in which a write took so much at least and at most.
        pub safe fn host_learn_pace(old: u32, least_ns: u64, most_ns: u64) -> u32;
        pub(crate) fn host_known(table: *const u32, size: u32) -> u32;
        pub(crate) fn host_scaled(table: *const u32, size: u32) -> u32;
        /// Part of the device that each of some writes occupied, in 1/[`WHOLE`](super::WHOLE): work of so much service
        /// time was done in the time elapsed.
        pub safe fn host_occupied(work_ns: u64, elapsed_ns: u64) -> u32;
        /// The same with a read that was sent behind one or two writes, and was done before the last or not.
        pub safe fn host_learn_passed(old: u32, passed: bool, writes: u32) -> u32;
        pub(crate) fn host_occupied_by(table: *const u32, size: u32) -> u32;
        /// Whether so many writes leave half of the device to reads.
        pub safe fn host_few(writes: u32, occupied: u32) -> bool;
        /// Tags for writes, without the reserve of reads; at least one.
        pub safe fn host_tags(tags: u32, reserve_percent: u32) -> u32;
        /// Writes in flight under mixed load, 1 to `depth`.
        pub safe fn host_cap(occupied: u32, depth: u32) -> u32;
        /// Writes in flight without reads, 1 to `depth`.
        pub safe fn host_cap_alone(occupied: u32, depth: u32) -> u32;
        /// Device time in nanoseconds that a write takes from others without a cache.
        pub safe fn host_cost(service_ns: u32, occupied: u32) -> u64;
        /// The same of a device with a cache while the pace is not known, with the time since the write before.
        pub safe fn host_cost_hidden(since_ns: u64, service_ns: u32) -> u64;
        /// What a write took of a window, with the time since the one before and its own.
        pub safe fn host_interval_ns(since_ns: u64, took_ns: u64) -> u64;
        /// Pace in nanoseconds when reads have lost so much to each write at least, or just so much where they never
        /// stopped.
        pub safe fn host_learn_lost(old: u32, lost_ns: u64, steady: bool) -> u32;
        /// What may raise a pace, in nanoseconds, with what it was the time before; 0 tells nothing.
        pub safe fn host_confirmed(old: u32, sample_ns: u64, before_ns: u64) -> u64;
        /// Shortest time in nanoseconds of a read, with one more; it rises slowly.
        pub safe fn host_learn_base(old: u32, sample: u64) -> u32;
        /// What reads have lost to writes that the device had taken before, when for so long nothing was done.
        pub safe fn host_lost_ns(base_ns: u32, silence_ns: u64) -> u64;
        /// Whether nothing of the cache stood before a read that was done after a silence, with the longest one seen,
        /// in nanoseconds.
        pub safe fn host_quick(silence_ns: u64, longest_ns: u64) -> bool;
        /// Device time in nanoseconds that a discard takes from reads.
        pub safe fn host_trim_cost(trim_ns: u32, read_ns: u32) -> u64;
        /// Share in percent of a write that has waited so long.
        pub safe fn host_share(share_percent: u32, age_ns: u64, slice_ns: u64) -> u32;
        /// Time in nanoseconds from one write that was due to the next, under mixed load.
        pub safe fn host_due(cost_ns: u64, share_percent: u32, slice_ns: u64) -> u64;
        /// What is left in nanoseconds of a debt after some time.
        pub safe fn host_debt(debt_ns: u64, elapsed_ns: u64, share_percent: u32) -> u64;
        /// Whether the share is used up; `burst_ns` is 0 for a device without a cache.
        pub safe fn host_spent(spent: bool, debt_ns: u64, share_percent: u32, cost_ns: u64, burst_ns: u64) -> bool;
        /// Device time of a burst of writes under mixed load, with a pace that is known or not (0).
        pub safe fn host_burst_ns(cached: bool, pace_ns: u32) -> u64;
        /// How long a debt takes to settle; `NEVER` without a share.
        pub safe fn host_settle_ns(debt_ns: u64, share_percent: u32) -> u64;
        /// Readiness of readers to go on, 0 to 256, after a pause.
        pub safe fn host_learn_hits(hits: u32, pause_ns: u64, hold_max_ns: u64) -> u32;
        /// How long the next read is awaited.
        pub safe fn host_hold_ns(pause_ns: u32, hits: u32, hold_max_ns: u64) -> u64;
        /// Background writes in flight while a synchronous write is likely to come.
        pub safe fn host_cap_awaited(cap: u32, cap_alone: u32, service_ns: u32) -> u32;
        /// Patience that is left when other writes were kept waiting for so long.
        pub safe fn host_patience(patience_ns: u64, held_ns: u64) -> u64;
        /// Patience with a write that went.
        pub safe fn host_earn(patience_ns: u64, cost_ns: u64, slice_ns: u64) -> u64;
        /// Whether a write may go now.
        pub safe fn host_judge(view: &View) -> Verdict;
        /// When a write that waits is judged anew at the latest.
        pub safe fn host_wake_ns(view: &View, verdict: Verdict) -> u64;
        /// Size of the view in C, to hold [`View`](super::View) against.
        pub safe fn host_view_bytes() -> u32;
    }
}

pub use raw::{
    host_burst_ns as burst_ns, host_cap as cap, host_cap_alone as cap_alone, host_cap_awaited as cap_awaited,
    host_confirmed as confirmed_ns, host_cost as cost_ns, host_cost_hidden as cost_hidden_ns, host_debt as debt_ns,
    host_due as due_ns, host_earn as earn_ns, host_few as few, host_hold_ns as hold_ns,
    host_interval_ns as interval_ns, host_judge as judge, host_learn_base as learn_base_ns,
    host_learn_hits as learn_hits, host_learn_lost as learn_lost_ns, host_learn_pace as learn_pace,
    host_learn_passed as learn_passed, host_learn_service as learn_service, host_lost_ns as lost_ns, host_mean as mean,
    host_occupied as occupied, host_patience as patience_ns, host_quick as quick, host_settle_ns as settle_ns,
    host_share as share_percent, host_size as size, host_spent as spent, host_tags as tags,
    host_trim_cost as trim_cost_ns, host_view_bytes as view_bytes, host_wake_ns as wake_ns,
};

/// Entry of a table by size: that of the nearest size with one, 0 without any.
#[must_use]
pub fn known(table: &[u32; SIZES], size: u32) -> u32 {
    assert!((size as usize) < SIZES, "there are {SIZES} sizes");
    // SAFETY: the table has SIZES entries, which is what the header reads at most.
    unsafe { raw::host_known(table.as_ptr(), size) }
}

/// The same of device times, of a larger size in proportion.
#[must_use]
pub fn scaled(table: &[u32; SIZES], size: u32) -> u32 {
    assert!((size as usize) < SIZES, "there are {SIZES} sizes");
    // SAFETY: the table has SIZES entries, which is what the header reads at most.
    unsafe { raw::host_scaled(table.as_ptr(), size) }
}

/// Part of the device that a write of a size occupies, from the nearest size with an entry; 0 without any.
#[must_use]
pub fn occupied_by(table: &[u32; SIZES], size: u32) -> u32 {
    assert!((size as usize) < SIZES, "there are {SIZES} sizes");
    // SAFETY: the table has SIZES entries, which is what the header reads at most.
    unsafe { raw::host_occupied_by(table.as_ptr(), size) }
}
