//! The log of the server.

/// A line in the log, with the seconds of the machine's clock.
pub(crate) fn log(text: &str) {
    let uptime = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    brisk_program::info!("[{}.{:03}] {text}", uptime.tv_sec, uptime.tv_nsec / 1_000_000);
}
