//! Background load: the writes of a phone while apps are installed and accounts are synced.
//!
//! Two rate-limited streams, each in a thread of its own, as different programs install and sync on a phone:
//!
//! - *install*: package files in the sizes of the ten apps that Revisiting storage installs (table IV), written in
//!   buffered writes of 512 KiB, synced and renamed into place. The paper's AppInstall wrote 123.1 MB sequentially for
//!   55.6 MB of packages (table V), so each package is followed by its unpacked data, 1.2 times its size.
//! - *sync*: pages of 4 KiB overwritten at random places of a database, with an fsync after each few, as in SQLite. For
//!   Email and Facebook together the paper counts 5.3 MB of random and 3.0 MB of sequential writes (table V).
//!
//! By table V an install concurrent with both syncs writes 10.9 MB at random of 137 MB, so sync gets 8 % of the target
//! rate. *Pacing*: each unit of work has a due time relative to the start, so delays do not shift later units. A stream
//! that is more than [`BEHIND_MAX`] behind skips units instead of catching up in a burst.
//!
//! The default of 6 MB/s is what a Galaxy S5's flash sustains with an app: on `galaxy-s5-emmc` without any app, the
//! flash was busy for 8, 11, 23, 35, 45 and 68 % of the time at 1, 2, 4, 6, 8 and 12 MB/s. Up to 6 no unit was skipped;
//! from 8 on single syncs took longer than [`BEHIND_MAX`], behind the writeback of packages, and some were skipped.

mod streams;

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::streams::{Progress, Stop};
use super::error::{Error, Result, io};

/// Where it writes.
const PLACE: &str = "/home/user/.local/share/brisk-writer";

/// Bytes of a page of a database.
const PAGE_BYTES: u64 = 4096;
/// Bytes of one buffered write of an install.
const WRITE_BYTES: u64 = 512 << 10;
/// Delay from which on a stream skips units.
const BEHIND_MAX: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WriterSpec {
    /// Target rate of both streams together in bytes a second.
    pub target_bytes_per_s: f64,
    /// Share of the sync stream, from 0 to 1.
    pub sync_share: f64,
    /// Pages overwritten between two syncs.
    pub pages_per_sync: u32,
    /// Seed of places, contents and the order of packages.
    pub seed: u64,
}

impl Default for WriterSpec {
    fn default() -> Self {
        Self { target_bytes_per_s: 6e6, sync_share: 0.08, pages_per_sync: 4, seed: 1 }
    }
}

impl WriterSpec {
    #[must_use]
    pub fn text(&self) -> String {
        let percent = 100.0 * self.sync_share;
        format!(
            "app installs ({:.0} % of the bytes) concurrent with sync of accounts ({percent:.0} %)",
            100.0 - percent
        )
    }

    /// Bytes a second of the install stream.
    fn install_bytes_per_s(&self) -> f64 {
        self.target_bytes_per_s * (1.0 - self.sync_share)
    }

    /// Syncs a second of the sync stream.
    fn syncs_per_s(&self) -> f64 {
        self.target_bytes_per_s * self.sync_share / (f64::from(self.pages_per_sync) * PAGE_BYTES as f64)
    }

    /// Why it is invalid, if so.
    #[must_use]
    pub fn trouble(&self) -> Option<&'static str> {
        let sane = |value: f64, max: f64| value.is_finite() && (0.0..=max).contains(&value);
        if !sane(self.target_bytes_per_s, 1e11) {
            Some("the target rate is not a rate")
        } else if !sane(self.sync_share, 1.0) {
            Some("the share of syncs is not between 0 and 1")
        } else if !(1..=1024).contains(&self.pages_per_sync) {
            Some("between two syncs are 1 to 1,024 pages")
        } else {
            None
        }
    }
}

/// Writes as `spec` (JSON) says until it is killed or a write fails.
///
/// # Errors
/// When the parameters are invalid, or a write fails.
pub fn serve_writer(spec: &str) -> Result<()> {
    let spec: WriterSpec = serde_json::from_str(spec).map_err(|error| Error::Writer(error.to_string()))?;
    if let Some(trouble) = spec.trouble() {
        return Err(Error::Writer(trouble.to_owned()));
    }
    streams::run(&spec, Path::new(PLACE), &Progress::default(), &Stop::default())
        .map_err(io(format!("write to {PLACE}")))
}

/// Due times of a stream's units of work.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pace {
    interval_s: f64,
    /// Units done or skipped.
    units: u64,
}

impl Pace {
    fn new(units_per_s: f64) -> Self {
        Self { interval_s: 1.0 / units_per_s, units: 0 }
    }

    /// Advances to the next unit; returns the time until it is due, and the number of skipped units.
    fn next(&mut self, elapsed_s: f64) -> (Duration, u64) {
        let behind_s = elapsed_s - self.units as f64 * self.interval_s;
        let skipped = if behind_s > BEHIND_MAX.as_secs_f64() { (behind_s / self.interval_s) as u64 } else { 0 };
        self.units += skipped;
        let wait_s = self.units as f64 * self.interval_s - elapsed_s;
        self.units += 1;
        (Duration::try_from_secs_f64(wait_s.max(0.0)).unwrap_or(Duration::MAX), skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_default_is_the_mix_of_table_five() {
        let spec = WriterSpec::default();
        assert_eq!(spec.trouble(), None);
        // AppInstall, Email and Facebook: share of random writes.
        let random_share = (5.6 + 2.2 + 3.1) / (123.1 + 5.6 + 1.0 + 2.2 + 2.0 + 3.1);
        assert!((spec.sync_share - random_share).abs() < 0.005, "{random_share}");
        assert!((spec.syncs_per_s() - 29.3).abs() < 0.1, "{}", spec.syncs_per_s());
    }

    #[test]
    fn invalid_parameters_are_refused() {
        for (wrong, said) in [
            (WriterSpec { target_bytes_per_s: -1.0, ..WriterSpec::default() }, "rate"),
            (WriterSpec { target_bytes_per_s: f64::NAN, ..WriterSpec::default() }, "rate"),
            (WriterSpec { sync_share: 1.5, ..WriterSpec::default() }, "share"),
            (WriterSpec { pages_per_sync: 0, ..WriterSpec::default() }, "pages"),
        ] {
            assert!(wrong.trouble().is_some_and(|trouble| trouble.contains(said)), "{wrong:?}");
        }
    }

    #[test]
    fn a_stream_on_time_does_every_unit_without_drift() {
        let mut pace = Pace::new(10.0);
        let mut now_s = 0.0;
        for unit in 0..1_000 {
            let (wait, skipped) = pace.next(now_s);
            assert_eq!(skipped, 0);
            now_s += wait.as_secs_f64();
            assert!((now_s - f64::from(unit) * 0.1).abs() < 1e-6, "{unit}: {now_s}");
            // The work takes most of the interval.
            now_s += 0.09;
        }
    }

    #[test]
    fn a_stream_far_behind_skips_units_instead_of_bursting() {
        let mut pace = Pace::new(10.0);
        assert_eq!(pace.next(0.0), (Duration::ZERO, 0));
        // A delay of one second is caught up.
        assert_eq!(pace.next(1.0), (Duration::ZERO, 0));
        // A delay of ten seconds is not.
        let (wait, skipped) = pace.next(10.0);
        assert!(skipped >= 97 && wait < Duration::from_millis(100), "{skipped} {wait:?}");
        assert_eq!(pace.next(10.0).1, 0);
    }

    proptest! {
        #[test]
        fn a_pace_never_exceeds_its_rate(late in proptest::collection::vec(0.0f64..3.0, 1..200)) {
            let mut pace = Pace::new(20.0);
            let (mut now_s, mut done) = (0.0, 0u64);
            for late_s in late {
                let (wait, _) = pace.next(now_s);
                now_s += wait.as_secs_f64();
                done += 1;
                prop_assert!(done as f64 <= now_s * 20.0 + 1.0 + 1e-6);
                now_s += late_s;
            }
        }
    }
}
