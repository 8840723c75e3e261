//! Low wake-up latency of this process: real-time scheduling, exact timers, locked memory.
//!
//! Each measure is applied if permitted; refusals are reported, because they make the lab less faithful.

use std::io;

/// Above ordinary tasks, below the kernel's own real-time threads (50).
const FIFO_PRIORITY: libc::c_int = 40;

/// Not yet in the libc crate (kernel: include/uapi/linux/prctl.h).
const PR_SET_IO_FLUSHER: libc::c_int = 57;

/// Applies all measures. Returns a message for each refusal.
pub(crate) fn prepare() -> Vec<String> {
    let mut refused = Vec::new();
    let mut note = |what: &str, result: io::Result<()>| {
        if let Err(error) = result {
            refused.push(format!("{what}: {error}"));
        }
    };
    note("real-time scheduling (CAP_SYS_NICE)", fifo());
    note("exact timers", prctl(libc::PR_SET_TIMERSLACK, 1));
    note("locked memory (CAP_IPC_LOCK)", lock_memory());
    note(
        "protection from the out-of-memory killer (CAP_SYS_RESOURCE)",
        std::fs::write("/proc/self/oom_score_adj", "-1000"),
    );
    // Reclaim in this process must not wait for its own device.
    note("reclaim without I/O (CAP_SYS_RESOURCE; matters only for swap on the device)", prctl(PR_SET_IO_FLUSHER, 1));
    refused
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn fifo() -> io::Result<()> {
    // SAFETY: sched_param is integers, for which zero is a value.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = FIFO_PRIORITY;
    // SAFETY: the pointer is valid for the call, which concerns this process alone. Children start as ordinary tasks.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const param) })
}

fn prctl(option: libc::c_int, value: libc::c_ulong) -> io::Result<()> {
    // SAFETY: these options take plain numbers.
    check(unsafe { libc::prctl(option, value, 0, 0, 0) })
}

/// Locks on fault: the data of the device takes memory only as it is written.
fn lock_memory() -> io::Result<()> {
    // SAFETY: mlockall changes no memory.
    check(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT) })
}
