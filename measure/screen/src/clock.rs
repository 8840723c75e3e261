//! The clock of all reports of this crate, and the processor time of the thread that watches.

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC now, in nanoseconds.
#[must_use]
pub fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// Processor time that the calling thread has used, in nanoseconds.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    // Neither clock is ever negative.
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}
