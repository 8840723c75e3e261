//! The one clock that all parts of a launch are dated by: the kernel's monotonic clock, as eBPF sees it.

/// CLOCK_MONOTONIC in nanoseconds.
#[must_use]
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Lets time pass, where there is nothing to wait on but the clock.
pub(crate) fn wait(time: std::time::Duration) {
    std::thread::sleep(time);
}

/// Lets time pass until `at_ns`.
pub(crate) fn wait_until(at_ns: u64) {
    wait(std::time::Duration::from_nanos(at_ns.saturating_sub(now_ns())));
}
