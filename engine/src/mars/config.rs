//! Configuration of this engine.

pub use crate::kit::Mode;
use crate::kit::{Invalid, Section, check};
use brisk_core::device::{Device, Speeds};
use brisk_core::survey::SwapWrites;
use serde::{Deserialize, Serialize};

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
    /// Longest time that write-back and swap-out are held for a return.
    pub window_max_s: u64,
    /// Adaptive: back-off after a hot set was written out for nothing; doubled each time, up to an hour.
    pub retry_after_s: u64,
    /// Speeds of the device that has the swap area, instead of what `brisk tune` measured, or of what its kind is.
    pub flash: Option<Speeds>,
    /// Speeds of the device that has the swap area, as it is known.
    #[serde(skip)]
    pub known: Option<Speeds>,
    /// What all engines have written to swap, and what may still be.
    #[serde(skip)]
    pub wear: SwapWrites,
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
            window_max_s: 10,
            retry_after_s: 300,
            flash: None,
            known: None,
            wear: SwapWrites::default(),
        }
    }
}

impl Config {
    /// Takes in how fast the device with the swap area is; of several the first.
    pub(crate) fn know(&mut self, devices: &[Device]) {
        self.known = devices.iter().find(|device| device.has_swap).map(Device::speeds);
    }

    /// Speeds of the device that has the swap area.
    #[must_use]
    pub fn speeds(&self) -> Speeds {
        self.flash.or(self.known).unwrap_or_else(|| Speeds::of_kind(""))
    }
}

impl Section for Config {
    fn check(&self) -> Result<(), Invalid> {
        check::shares(&[("hot_min_percent", self.hot_min_percent), ("stall_min_percent", self.stall_min_percent)])?;
        check::reserve(self.reserve_min_percent, self.reserve_max_percent)?;
        check::ranges(&[("window_max_s", self.window_max_s, 1, 60)])?;
        check::speeds(self.flash.as_ref())
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
        let flash = "flash = { random_read_us = 1, read_mib_per_s = 1, write_mib_per_s = 0, parallel_reads = 1 }";
        assert!(complaint(flash).starts_with("flash = { write_mib_per_s = 0 }: write numbers above 0"));
        assert!(complaint("flash = { random_read_us = 1 }").contains("read_mib_per_s"));
    }

    #[test]
    fn the_speeds_are_those_that_a_person_chose_then_those_of_the_device_with_swap() {
        let slow = Speeds { random_read_us: 585.0, ..Speeds::of_kind("sd") };
        let device = |speeds| Device { speeds, has_swap: true, kind: "sd".to_owned(), ..Device::default() };
        let other = Device { speeds: Some(Speeds::of_kind("ufs")), has_programs: true, ..Device::default() };
        let mut config = Config::default();
        for (devices, expected) in [
            (vec![other.clone(), device(Some(slow))], slow),
            (vec![device(None)], Speeds::of_kind("sd")),
            (vec![other], Speeds::of_kind("")),
        ] {
            config.know(&devices);
            assert_eq!(config.speeds(), expected, "{devices:?}");
        }
        config.flash = Some(slow);
        assert_eq!(config.speeds(), slow);
    }
}
