//! Energy counters of the processors (RAPL, through powercap).

use std::time::Duration;

use brisk_sense::{PowercapZone, Sense};

use super::{About, Meter, MeterKind, Work};
use crate::error::Result;

/// The counters update about once a millisecond; over a hundred updates the resolution is small.
const CELL_MIN: Duration = Duration::from_millis(100);

/// Reads all packages.
#[derive(Debug)]
pub struct Rapl {
    sense: Sense,
    began: Vec<PowercapZone>,
}

impl Rapl {
    /// Opens the counters below the root of `sense`.
    ///
    /// # Errors
    /// When there is none, or only root may read it.
    pub fn open(sense: Sense) -> Result<Self> {
        let zones = packages(&sense)?;
        if zones.is_empty() {
            return Err(MeterKind::Rapl.unusable("the kernel shows no package in /sys/class/powercap"));
        }
        if zones.iter().any(|zone| zone.energy_uj.is_none()) {
            return Err(MeterKind::Rapl.unusable("only root may read the counters: run as root"));
        }
        Ok(Self { sense, began: zones })
    }
}

/// The zones of whole packages, which hold those of cores and caches.
fn packages(sense: &Sense) -> Result<Vec<PowercapZone>> {
    let mut zones = sense.powercap_zones()?;
    zones.retain(|zone| zone.name.starts_with("package"));
    Ok(zones)
}

/// What was counted from `began` to `ended`: counters begin anew at their range.
fn counted_uj(began: &[PowercapZone], ended: &[PowercapZone]) -> Option<u64> {
    let one = |then: &PowercapZone| {
        let now = ended.iter().find(|zone| zone.zone == then.zone)?;
        let (then_uj, now_uj) = (then.energy_uj?, now.energy_uj?);
        now_uj.checked_sub(then_uj).or_else(|| now.max_energy_range_uj?.checked_sub(then_uj)?.checked_add(now_uj))
    };
    began.iter().map(one).sum()
}

impl Meter for Rapl {
    fn about(&self) -> About {
        About {
            kind: MeterKind::Rapl,
            what: "energy of the processor packages, idle included; storage itself is not in it".to_owned(),
            uncertainty: "a few percent, and whatever else ran".to_owned(),
        }
    }

    fn begin(&mut self) -> Result<()> {
        self.began = packages(&self.sense)?;
        Ok(())
    }

    fn end(&mut self, _work: &Work) -> Result<f64> {
        let ended = packages(&self.sense)?;
        counted_uj(&self.began, &ended)
            .map(|uj| uj as f64)
            .ok_or_else(|| MeterKind::Rapl.unusable("a counter went away meanwhile"))
    }

    fn cell_min(&self) -> Duration {
        CELL_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn zone(dir: &Path, zone: &str, name: &str, energy_uj: u64) {
        let dir = dir.join("sys/class/powercap").join(zone);
        fs::create_dir_all(&dir).expect("directory");
        for (file, text) in [
            ("name", name.to_owned()),
            ("energy_uj", energy_uj.to_string()),
            ("max_energy_range_uj", "1000".to_owned()),
        ] {
            fs::write(dir.join(file), text + "\n").expect("written");
        }
    }

    #[test]
    fn packages_are_added_up_and_wraps_are_seen() {
        let root = tempfile::tempdir().expect("directory");
        zone(root.path(), "intel-rapl:0", "package-0", 900);
        zone(root.path(), "intel-rapl:0:0", "core", 5);
        zone(root.path(), "intel-rapl:1", "package-1", 100);
        let mut meter = Rapl::open(Sense::new(root.path())).expect("counters");
        meter.begin().expect("begun");
        zone(root.path(), "intel-rapl:0", "package-0", 50);
        zone(root.path(), "intel-rapl:0:0", "core", 500);
        zone(root.path(), "intel-rapl:1", "package-1", 130);
        assert_eq!(meter.end(&Work::default()).expect("counted"), 150.0 + 30.0);
    }

    #[test]
    fn without_counters_it_says_why() {
        let root = tempfile::tempdir().expect("directory");
        let error = Rapl::open(Sense::new(root.path())).expect_err("none").to_string();
        assert!(error.contains("'rapl'") && error.contains("powercap"), "{error}");
    }
}
