//! The clock of all timestamps of a launch: CLOCK_MONOTONIC, as in eBPF.

/// CLOCK_MONOTONIC in nanoseconds.
#[must_use]
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Sleeps, where there is nothing else to wait on.
pub(crate) fn wait(time: std::time::Duration) {
    std::thread::sleep(time);
}

/// Sleeps until `at_ns`.
pub(crate) fn wait_until(at_ns: u64) {
    wait(std::time::Duration::from_nanos(at_ns.saturating_sub(now_ns())));
}
