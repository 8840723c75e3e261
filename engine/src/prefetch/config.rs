//! Configuration of this engine.

pub use crate::kit::Mode;
use crate::kit::{Invalid, Section, check};
use brisk_core::device::{Device, Speeds};
use serde::{Deserialize, Serialize};

/// Configuration of the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Adaptive: by what launches use, in the order of the device, within limits, and where a trial shows that it pays.
    /// Paper: as FAST (Joo et al., "FAST: Quick Application Launch on Solid-State Drives", FAST '11): all that the last
    /// launch had in memory, by one thread, for each launch.
    pub mode: Mode,
    /// Adaptive: the read-ahead of the kernel during the first launch of an app, so that little more is learned than
    /// the pages that the app asks for. A device that reads the rest sooner than another page (UFS) keeps its own.
    pub learn_read_ahead_kib: u64,
    /// Adaptive: a page is read ahead when a launch uses it with this chance.
    pub use_min_percent: f64,
    /// Adaptive: number of threads that ask the device.
    pub streams: u8,
    /// I/O class and level of these threads, as ionice(1) takes them.
    pub priority: String,
    /// Adaptive: what is read ahead of one launch takes at most this share of the memory that is available.
    pub memory_max_percent: f64,
    /// Adaptive: so much is read ahead before the engine checks whether the launch still goes on as expected.
    pub window_mib: u64,
    /// Adaptive: so many of the likeliest next apps have their launch sets in memory before they are launched; 0: none.
    pub ready_apps: u16,
    /// Adaptive: these sets take at most this share of the memory that is free beyond a tenth of all, at most
    /// 256 MiB; where memory is full without memory pressure, of that and of the inactive page cache beyond as much.
    pub ready_memory_percent: f64,
    /// Adaptive: and at most so much is read from the device for them on a day.
    pub ready_mib_per_day: u64,
    /// Directories whose files are not learned, with all below them.
    pub private: Vec<String>,
    /// Speeds of the device that has the programs, instead of what `brisk tune` measured, or of what its kind is.
    pub flash: Option<Speeds>,
    /// Speeds of the device that has the programs, as it is known.
    #[serde(skip)]
    pub known: Option<Speeds>,
}

impl Default for Config {
    fn default() -> Self {
        let private =
            ["/home", "/root", "/tmp", "/var/tmp", "/run", "/media", "/mnt", "/sdcard", "/storage", "/data/media"];
        Self {
            mode: Mode::Adaptive,
            learn_read_ahead_kib: 32,
            use_min_percent: 50.0,
            streams: 4,
            priority: "best-effort 5".to_owned(),
            memory_max_percent: 25.0,
            window_mib: 64,
            ready_apps: 9,
            ready_memory_percent: 50.0,
            ready_mib_per_day: 512,
            private: private.map(str::to_owned).to_vec(),
            flash: None,
            known: None,
        }
    }
}

impl Config {
    /// Takes in how fast the device with the programs is; of several the first.
    pub(crate) fn know(&mut self, devices: &[Device]) {
        self.known = devices.iter().find(|device| device.has_programs).map(Device::speeds);
    }

    /// Speeds of the device that has the programs.
    #[must_use]
    pub fn speeds(&self) -> Speeds {
        self.flash.or(self.known).unwrap_or_else(|| Speeds::of_kind(""))
    }
}

impl Section for Config {
    fn check(&self) -> Result<(), Invalid> {
        check::shares(&[
            ("use_min_percent", self.use_min_percent),
            ("memory_max_percent", self.memory_max_percent),
            ("ready_memory_percent", self.ready_memory_percent),
        ])?;
        check::ranges(&[("ready_apps", u64::from(self.ready_apps), 0, 100)])?;
        check::ranges(&[("ready_mib_per_day", self.ready_mib_per_day, 0, 1 << 20)])?;
        check::ranges(&[("learn_read_ahead_kib", self.learn_read_ahead_kib, 0, 1024)])?;
        check::ranges(&[("streams", u64::from(self.streams), 1, 16), ("window_mib", self.window_mib, 1, 1 << 20)])?;
        check::speeds(self.flash.as_ref())?;
        self.private.iter().try_for_each(|dir| {
            Invalid::unless(dir.starts_with('/'), "private", dir, "directories from the root, such as /home")
        })?;
        let classes = "realtime or best-effort with a level from 0 to 7, or idle";
        Invalid::unless(is_priority(&self.priority), "priority", &self.priority, classes)
    }
}

/// Whether a text is an I/O class and level.
fn is_priority(text: &str) -> bool {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    match words.as_slice() {
        ["realtime" | "best-effort", level] => matches!(level.parse::<u8>(), Ok(0..=7)),
        ["idle"] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_can_be_used_and_other_values_are_checked() {
        check::assert_defaults_hold::<Config>();
        let complaint = check::complaint::<Config>;
        assert!(complaint("use_min_percent = 101").starts_with("use_min_percent = 101: write a number from 0 to 100"));
        assert_eq!(complaint("streams = 0"), "streams = 0: write a number from 1 to 16");
        let flash = "flash = { random_read_us = nan, read_mib_per_s = 1, write_mib_per_s = 1, parallel_reads = 1 }";
        assert!(complaint(flash).starts_with("flash = { random_read_us = NaN }"));
        assert!(complaint("private = [\"home\"]").starts_with("private = home"));
        for bad in ["", "best-effort", "best-effort 8", "realtime x", "idle 1"] {
            assert!(complaint(&format!("priority = \"{bad}\"")).starts_with("priority = "), "{bad}");
        }
    }
}
