//! What a warning's code means for the person who reads the numbers.

/// The meaning of a code in a few words; unknown codes stand for themselves.
pub(crate) fn meaning(code: &str) -> Option<&'static str> {
    Some(match code {
        "cpu_pressure" => "other work took CPU time, so response times may be too long",
        "not_direct" => "requests went through the page cache, so some numbers are memory's",
        "lab_late" => "the emulated device answered later than its model says",
        "few_repeats" => "too few runs to promise an interval",
        "wide_interval" | "noisy" => "runs differ so much that small differences mean nothing",
        "interrupted" => "the run was cut short",
        "memory_backed" | "tmpfs" | "memory" => "this is memory, not storage",
        "lying_cache" | "lying" => "the device saw fewer bytes than were asked for: something caches",
        "unverified" | "cache_unverified" => "no counter of the device confirms that requests reached it",
        "fallback_engine" | "no_io_uring" => "plain calls cost more CPU time than io_uring would",
        "not_restored" => "a setting of the device could not be put back",
        "low_space" | "small_file" => {
            "the work file is smaller than it should be, so caches in the device may serve it"
        }
        _ => return None,
    })
}
