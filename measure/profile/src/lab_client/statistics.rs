//! What the server counted: requests by size and kind, requests in flight, and how late its replies were.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindCount {
    pub requests: u64,
    /// Their bytes; zero for flushes.
    pub bytes: u64,
    /// Requests by size: (largest size of the class in bytes, requests), classes that occurred, ascending.
    pub by_size_bytes: Vec<(u64, u64)>,
}

impl KindCount {
    /// Adds a request.
    pub fn count(&mut self, len_bytes: u64) {
        self.requests += 1;
        self.bytes += len_bytes;
        let class = len_bytes.max(4096).next_power_of_two();
        match self.by_size_bytes.binary_search_by_key(&class, |&(size, _)| size) {
            Ok(found) => self.by_size_bytes[found].1 += 1,
            Err(place) => self.by_size_bytes.insert(place, (class, 1)),
        }
    }
}

/// Requests since the counters were reset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    pub read: KindCount,
    pub write: KindCount,
    pub flush: KindCount,
    /// Discards, and zeroed ranges.
    pub discard: KindCount,
    /// Requests that waited in the server because the device's queue was full.
    pub parked: u64,
    /// Requests that failed, by fault or power cut.
    pub failed: u64,
    /// Most requests that the server held at once: the queue depth that the device showed.
    pub in_flight_max: u64,
    /// Time of the model in which it had at least one request.
    pub busy_ns: u64,
    /// Requests whose time in the model is shorter than the lab's own overhead, so that they came late for certain.
    pub faster_than_lab: u64,
}

/// How late replies were against the model's instant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Timed replies.
    pub count: u64,
    pub lateness_us_p50: f64,
    /// 99th percentile.
    pub lateness_us_p99: f64,
    pub lateness_us_max: f64,
    /// Mean of the times that the model gave these requests, to hold the lateness against.
    pub service_us_mean: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fall_into_classes_of_powers_of_two() {
        let mut kind = KindCount::default();
        for len in [4096, 512, 131_072, 100_000, 0] {
            kind.count(len);
        }
        assert_eq!((kind.requests, kind.bytes), (5, 235_680));
        assert_eq!(kind.by_size_bytes, [(4096, 3), (131_072, 2)]);
    }
}
