//! The gauge of a discharging battery (power_supply).
//!
//! Gauges report power, not energy, a few times a second at best: a thread samples it during a cell, and the mean of
//! the samples times the length is the energy.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use brisk_sense::{PowerSupply, Sense};

use super::{About, Meter, MeterKind, Work};
use crate::error::Result;

/// How often the gauge is read.
const EVERY: Duration = Duration::from_millis(250);
/// Most gauges update about once a second; a cell must contain several updates.
const CELL_MIN: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Battery {
    sense: Sense,
    watch: Option<Watch>,
}

#[derive(Debug)]
struct Watch {
    began: Instant,
    stop: Sender<()>,
    thread: JoinHandle<Vec<u64>>,
}

impl Battery {
    /// Opens the gauge below the root of `sense`.
    ///
    /// # Errors
    /// When there is no battery, none that tells its power, or it is being charged.
    pub fn open(sense: Sense) -> Result<Self> {
        let batteries = batteries(&sense)?;
        let unusable = |why: &str| Err(MeterKind::Battery.unusable(why));
        if batteries.is_empty() {
            return unusable("there is no battery in /sys/class/power_supply");
        }
        if !batteries.iter().any(PowerSupply::measures_power) {
            return unusable("the battery tells neither its power nor its current and voltage");
        }
        if batteries.iter().any(|battery| battery.status.as_deref() != Some("Discharging")) {
            return unusable("the battery does not discharge: unplug the charger");
        }
        Ok(Self { sense, watch: None })
    }
}

fn batteries(sense: &Sense) -> Result<Vec<PowerSupply>> {
    let mut supplies = sense.power_supplies()?;
    supplies.retain(|supply| supply.kind == "Battery");
    Ok(supplies)
}

fn power_uw(sense: &Sense) -> Option<u64> {
    let batteries = batteries(sense).ok()?;
    let readings: Vec<u64> = batteries.iter().filter_map(PowerSupply::power_uw).collect();
    (!readings.is_empty()).then(|| readings.iter().sum())
}

impl Meter for Battery {
    fn about(&self) -> About {
        About {
            kind: MeterKind::Battery,
            what: "energy that the whole device took from its battery".to_owned(),
            uncertainty: "about 5 %, as gauges are read a few times a second, and whatever else ran".to_owned(),
        }
    }

    fn begin(&mut self) -> Result<()> {
        let (stop, stopped) = channel();
        let sense = self.sense.clone();
        let thread = std::thread::Builder::new().name("battery".to_owned()).spawn(move || {
            let mut readings: Vec<u64> = power_uw(&sense).into_iter().collect();
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                readings.extend(power_uw(&sense));
            }
            readings
        });
        let thread =
            thread.map_err(|error| MeterKind::Battery.unusable(format!("no thread can be started: {error}")))?;
        self.watch = Some(Watch { began: Instant::now(), stop, thread });
        Ok(())
    }

    fn end(&mut self, _work: &Work) -> Result<f64> {
        let nothing = || MeterKind::Battery.unusable("the gauge had no reading meanwhile");
        let watch = self.watch.take().ok_or_else(nothing)?;
        let elapsed_s = watch.began.elapsed().as_secs_f64();
        // A thread that has ended receives nothing.
        let _ = watch.stop.send(());
        let readings = watch.thread.join().map_err(|_| nothing())?;
        if readings.is_empty() {
            return Err(nothing());
        }
        let mean_uw = readings.iter().map(|uw| *uw as f64).sum::<f64>() / readings.len() as f64;
        Ok(mean_uw * elapsed_s)
    }

    fn cell_min(&self) -> Duration {
        CELL_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn supply(root: &std::path::Path, files: &[(&str, &str)]) {
        let dir = root.join("sys/class/power_supply/BAT0");
        fs::create_dir_all(&dir).expect("directory");
        for (file, text) in files {
            fs::write(dir.join(file), text).expect("written");
        }
    }

    #[test]
    fn the_mean_power_times_the_time_is_the_energy() {
        let root = tempfile::tempdir().expect("directory");
        supply(root.path(), &[("type", "Battery\n"), ("status", "Discharging\n"), ("power_now", "2000000\n")]);
        let mut meter = Battery::open(Sense::new(root.path())).expect("a gauge");
        let begun = Instant::now();
        meter.begin().expect("begun");
        let begun_after = Instant::now();
        while begun_after.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        let least_uj = begun_after.elapsed().as_secs_f64() * 2e6;
        let uj = meter.end(&Work::default()).expect("a reading");
        let most_uj = begun.elapsed().as_secs_f64() * 2e6;
        // The clock starts within `begin` and stops within `end`.
        assert!((least_uj * 0.99..=most_uj).contains(&uj), "{uj} of {least_uj} to {most_uj}");
    }

    #[test]
    fn a_battery_that_is_charged_or_says_nothing_is_refused_with_the_reason() {
        let root = tempfile::tempdir().expect("directory");
        let why = || Battery::open(Sense::new(root.path())).expect_err("refused").to_string();
        assert!(why().contains("no battery"), "{}", why());
        supply(root.path(), &[("type", "Battery\n"), ("status", "Charging\n")]);
        assert!(why().contains("neither its power"), "{}", why());
        supply(root.path(), &[("power_now", "5\n")]);
        assert!(why().contains("unplug"), "{}", why());
    }
}
