//! Figures of a replay.

use crate::flash::{Counters, PAGE_BYTES};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    pub app: u16,
    /// Time that its faults waited.
    pub waited_ns: u64,
    /// Pages that it used from the swap area.
    pub pages: u64,
}

/// Figures of a replay.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    pub launches: Vec<Launch>,
    /// Time during which a read waited or was under way.
    pub reading_ns: u64,
    /// The part of it with a write in the device.
    pub reading_with_writes_ns: u64,
    /// Latency of each read request, from the queue to its end, ascending.
    pub read_latencies_ns: Vec<u64>,
    /// The same from when the device took it, ascending.
    pub read_device_ns: Vec<u64>,
    /// Pages read, and those of them that an app used before they left the swap cache.
    pub read_pages: u64,
    /// Pages of them that an app used.
    pub used_pages: u64,
    pub written_pages: u64,
    /// Reads of a request that continue where the one before ended.
    pub adjacent_reads: u64,
    /// Faults that needed a read, found their page in the swap cache, or found it in memory since its write had not
    /// begun.
    pub faults: u64,
    /// Faults that found their page in the swap cache.
    pub cache_hits: u64,
    /// Pages that the trace reads in without having written them out, or for which no slot was free: left out.
    pub unknown_pages: u64,
    /// Pages whose write was put off during a launch, at most at a time: so much memory the policy has to reserve.
    pub reserve_pages_max: u64,
    /// Pages that got a slot outside of an extent of their app.
    pub strays: u64,
    pub counters: Counters,
    /// Time from the first event to the last completion.
    pub duration_ns: u64,
}

impl Outcome {
    /// Mean bandwidth of swap-in while it reads, in bytes per second.
    #[must_use]
    pub fn read_bytes_per_s(&self) -> f64 {
        let bytes = (self.read_pages * PAGE_BYTES) as f64;
        if self.reading_ns == 0 { 0.0 } else { bytes * 1e9 / self.reading_ns as f64 }
    }

    /// Mean latency of a read request in ns; `None` without reads.
    #[must_use]
    pub fn read_latency_ns_mean(&self) -> Option<f64> {
        mean(&self.read_latencies_ns)
    }

    /// The same from when the device took it.
    #[must_use]
    pub fn read_device_ns_mean(&self) -> Option<f64> {
        mean(&self.read_device_ns)
    }

    /// Time that all launches waited.
    #[must_use]
    pub fn waited_ns(&self) -> u64 {
        self.launches.iter().map(|launch| launch.waited_ns).sum()
    }
}

fn mean(all: &[u64]) -> Option<f64> {
    (!all.is_empty()).then(|| all.iter().map(|&one| one as f64).sum::<f64>() / all.len() as f64)
}
