//! Clock of all timestamps of this crate, and CPU time of the watching thread.

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC now, in nanoseconds.
#[must_use]
pub fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// CPU time of the calling thread, in nanoseconds.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    // Neither clock is ever negative.
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}
