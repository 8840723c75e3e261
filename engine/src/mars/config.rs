//! Configuration of this engine.

pub use crate::kit::Mode;
use crate::kit::{Invalid, Section, check};
use serde::{Deserialize, Serialize};

/// Speeds of the device that has the swap area, as `brisk tune` measures them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Flash {
    /// Latency of a random read of 4 KiB.
    pub random_read_us: f64,
    /// Bandwidth of sequential reads.
    pub read_mib_per_s: f64,
    /// Bandwidth of sequential writes.
    pub write_mib_per_s: f64,
}

impl Default for Flash {
    /// A Nexus 4 (MARS, tables 1 and 2).
    fn default() -> Self {
        Self { random_read_us: 585.0, read_mib_per_s: 63.0, write_mib_per_s: 16.0 }
    }
}

/// Configuration of the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Adaptive: by learned hot sets: cold parts are written out first, hot sets only where the kernel does not keep
    /// them; hot sets are read back. Paper: as MARS 3.1 to 3.4 says, as far as a kernel without changes allows: all of
    /// a background app out, all of it back in, a reserve of free memory, no write-back during a return.
    pub mode: Mode,
    /// Whether memory of background apps is written out.
    pub page_out: bool,
    /// Whether memory of an app that returns is read back at once.
    pub read_back: bool,
    /// Whether background apps are frozen before their memory is written out; an app that cannot be frozen is left to
    /// the kernel.
    pub freeze: bool,
    /// Adaptive: a page is read back, and written out last, when a return touches it with this chance.
    pub hot_min_percent: f64,
    /// Adaptive: an app keeps its memory for this time after it left the foreground.
    pub grace_s: u64,
    /// Share of the memory that is kept available, whatever is expected.
    pub reserve_min_percent: f64,
    /// Largest share of the memory that is freed before it is needed.
    pub reserve_max_percent: f64,
    /// Adaptive: memory is short when tasks stalled on it for this share of the time.
    pub stall_min_percent: f64,
    /// Adaptive: what is written out a day at most; 0 is no limit.
    pub wear_mib_per_day: u64,
    /// Longest time that write-back and swap-out are held for a return.
    pub window_max_s: u64,
    /// Adaptive: back-off after a hot set was written out for nothing; doubled each time, up to an hour.
    pub retry_after_s: u64,
    /// Speeds of the swap device.
    pub flash: Flash,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::Adaptive,
            page_out: true,
            read_back: true,
            freeze: true,
            hot_min_percent: 25.0,
            grace_s: 30,
            reserve_min_percent: 4.0,
            reserve_max_percent: 25.0,
            stall_min_percent: 10.0,
            wear_mib_per_day: 2_048,
            window_max_s: 10,
            retry_after_s: 300,
            flash: Flash::default(),
        }
    }
}

impl Section for Config {
    fn check(&self) -> Result<(), Invalid> {
        check::shares(&[("hot_min_percent", self.hot_min_percent), ("stall_min_percent", self.stall_min_percent)])?;
        check::reserve(self.reserve_min_percent, self.reserve_max_percent)?;
        check::ranges(&[("window_max_s", self.window_max_s, 1, 60)])?;
        let Flash { random_read_us, read_mib_per_s, write_mib_per_s } = self.flash;
        check::speeds(&[
            ("flash.random_read_us", random_read_us),
            ("flash.read_mib_per_s", read_mib_per_s),
            ("flash.write_mib_per_s", write_mib_per_s),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_can_be_used_and_other_values_are_checked() {
        check::assert_defaults_hold::<Config>();
        let complaint = check::complaint::<Config>;
        assert!(complaint("hot_min_percent = 101").starts_with("hot_min_percent = 101: write a number from 0 to 100"));
        assert!(complaint("reserve_min_percent = 30").contains("no more than reserve_max_percent = 25"));
        assert!(complaint("window_max_s = 0").contains("a number from 1 to 60"));
        assert!(complaint("flash = { write_mib_per_s = 0 }").starts_with("flash.write_mib_per_s = 0"));
        assert!(complaint("flash = { random_read_us = nan }").contains("flash.random_read_us"));
    }
}
