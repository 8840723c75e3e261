//! The one clock that all parts of a launch are dated by: the kernel's monotonic clock, as eBPF sees it.

/// CLOCK_MONOTONIC in nanoseconds.
#[must_use]
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
