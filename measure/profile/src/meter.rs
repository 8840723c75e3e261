//! Energy meters, with their uncertainty.
//!
//! A profile uses one meter throughout, since meters measure different things:
//! - [`rapl`]: the processors' own counters. Measured, of the package, without the storage.
//! - [`rails`]: counters of supply rails, as in some phones. Measured, of the monitored rails.
//! - [`battery`]: the gauge of a discharging battery. Measured, of the whole device, coarse.
//! - [`modelled`]: counted operations times assumed energies, plus CPU time. Modelled, and labelled so.

pub mod battery;
mod guest_flash;
pub mod modelled;
pub mod rails;
pub mod rapl;

use std::time::Duration;

use brisk_sense::Sense;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeterKind {
    /// Energy counters of the processors (powercap).
    Rapl,
    /// Counters of supply rails (on-device power monitors).
    Rails,
    /// A battery's gauge (power_supply).
    Battery,
    /// Operations and CPU time, times assumed energies.
    Modelled,
}

/// Description of a meter for reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    pub kind: MeterKind,
    pub what: String,
    pub uncertainty: String,
}

/// Work between begin and end, which some meters need.
#[derive(Debug, Clone, Copy, Default)]
pub struct Work {
    /// CPU time of this process, including io_uring's workers.
    pub cpu_ns: u64,
    /// Completed reads and writes.
    pub requests: u64,
}

/// Measures energy between two moments.
pub trait Meter {
    fn about(&self) -> About;

    /// Begins the measurement.
    ///
    /// # Errors
    /// When its source cannot be read.
    fn begin(&mut self) -> Result<()>;

    /// Returns the energy since [`Meter::begin`], in uJ.
    ///
    /// # Errors
    /// When its source cannot be read, or had no reading since.
    fn end(&mut self, work: &Work) -> Result<f64>;

    /// The shortest cell that it can resolve.
    fn cell_min(&self) -> Duration;
}

/// The meter for `disk`: the one asked for, or else for the flash of an emulated machine the model, as only that knows
/// the device; for others the processors' counters, the rails', the battery's gauge, or the model, in
/// this order.
///
/// # Errors
/// When the one asked for does not work here, with the reason.
pub fn choose(sense: &Sense, disk: &str, wanted: Option<MeterKind>) -> Result<Box<dyn Meter>> {
    let is_guest = guest_flash::read(sense, disk).is_ok_and(|found| found.is_some());
    let modelled = || -> Box<dyn Meter> {
        Box::new(match is_guest {
            true => modelled::Modelled::of_guest(sense.clone(), disk),
            false => modelled::Modelled::of_counters(sense.clone(), disk),
        })
    };
    let rapl = || rapl::Rapl::open(sense.clone()).map(|meter| Box::new(meter) as Box<dyn Meter>);
    let rails = || rails::Rails::open(sense.clone()).map(|meter| Box::new(meter) as Box<dyn Meter>);
    let battery = || battery::Battery::open(sense.clone()).map(|meter| Box::new(meter) as Box<dyn Meter>);
    match wanted {
        Some(MeterKind::Modelled) => Ok(modelled()),
        Some(MeterKind::Rapl) => rapl(),
        Some(MeterKind::Rails) => rails(),
        Some(MeterKind::Battery) => battery(),
        None if is_guest => Ok(modelled()),
        None => Ok(rapl().or_else(|_| rails()).or_else(|_| battery()).unwrap_or_else(|_| modelled())),
    }
}

impl MeterKind {
    /// Its name in options and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rapl => "rapl",
            Self::Rails => "rails",
            Self::Battery => "battery",
            Self::Modelled => "modelled",
        }
    }

    pub(crate) fn unusable(self, why: impl Into<String>) -> Error {
        Error::Meter { meter: self.name(), why: why.into() }
    }
}

impl About {
    /// Its description in one line.
    #[must_use]
    pub fn in_words(&self) -> String {
        format!("{}: {} ({})", self.kind.name(), self.what, self.uncertainty)
    }
}
