//! What a measurement costs the CPUs, and whether they were free for it.

/// Share of the run in which something waited for a CPU from which on results carry a warning, in percent. Response
/// times of a fast device grow by about the time that the measuring thread waits.
pub const CPU_PRESSURE_LIMIT_PERCENT: f64 = 10.0;

/// CPU time of this process with all its threads, user and system, in nanoseconds (getrusage).
#[must_use]
pub fn process_cpu_ns() -> u64 {
    // SAFETY: rusage is plain numbers, for which zeros are valid, and the call fills the one that it is given.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}
