//! What was measured on a device, and what it advises.
//!
//! A model is a table: for each reference workload and each setting, the pattern that the kernel's counters showed, the
//! energy of a request and its times. It is asked with the pattern of now and the setting in force: workloads are
//! compared by what they looked like *under that setting*, since a queue's depth and the rates of apps that wait change
//! with it. The nearest ones decide.
//!
//! Nearest neighbours were chosen because they can say why (the nearest workload has a name), know when they do not
//! know (nothing is near), and take a new workload without training. Whether they choose well on a device,
//! cross-validation tells, which `brisk profile` runs each time. How many neighbours, and what a switch has to
//! save, were chosen by leaving workloads out of profiles in turn, on emulated devices in virtual time (`brisk profile
//! --virtual`): three, and half of what counts as equal.
//!
//! Where nothing is near, the answer is the *safe* setting: one that was worse than the device's own for no workload of
//! the profile, in energy or in delay. Noise makes every setting worse for some workload, so a noisy profile has none,
//! and the device's own is what stays.

use std::collections::BTreeMap;

use brisk_core::device::Device;
use serde::{Deserialize, Serialize};

use crate::smartstorage::pattern::Pattern;
use crate::smartstorage::setting::Setting;

/// Version of the table's form.
pub const MODEL_VERSION: u32 = 1;
/// Nearness at which two neighbours count the same.
const NEAR: f64 = 0.1;
/// A pattern is known if it is within this distance of a workload, whatever the table ...
const REACH_MIN: f64 = 1.0;
/// ... and unknown beyond this.
const REACH_MAX: f64 = 3.0;

/// What the configuration says about a choice.
#[derive(Debug, Clone, Copy)]
pub struct Criteria {
    /// Number of nearest workloads that decide.
    pub neighbours: usize,
    /// Share by which a setting may be slower than the device's own, where energy counts.
    pub slower_share_max: f64,
}

/// What was measured on a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// [`MODEL_VERSION`].
    pub version: u32,
    /// What the device calls itself, firmware included, as in [`Device::model`].
    pub device: String,
    /// Its kind, as in [`Device::kind`].
    pub kind: String,
    /// The meter of the energy, with its uncertainty, in words. A modelled joule is called so here.
    pub meter: String,
    /// The device's own setting, to which all others are compared.
    pub own: Setting,
    pub workloads: Vec<Workload>,
}

/// A workload under all settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    pub name: String,
    pub cells: Vec<Cell>,
}

/// A workload under one setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    pub setting: Setting,
    /// What the kernel's counters showed.
    pub pattern: Pattern,
    /// Energy, by the model's meter.
    pub request_uj_mean: f64,
    /// From when the read was due to its end.
    pub read_us_mean: Option<f64>,
    /// From when the write was due to its end.
    pub write_us_mean: Option<f64>,
    /// What each round came to over the device's own setting in the same round, a moment before or after: whatever else
    /// the machine did then is in both. By number of the round; empty where rounds are not numbered.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rounds: BTreeMap<u32, Ratio>,
    /// Upper ends of the intervals of their medians; absent with fewer than three rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<Ratio>,
}

/// A cost over that of the device's own setting.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    pub energy: f64,
    pub delay: f64,
}

/// A model that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the profile of {device} cannot be used ({why}): measure it again with `brisk profile`")]
pub struct ModelError {
    pub device: String,
    pub why: String,
}

/// What a model says of a pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    pub nearest: String,
    /// How far it is, see [`Pattern::distance`].
    pub distance: f64,
    /// Whether it is near. If not, the costs are those of [`Model::safe`] and of the device's own setting.
    pub is_known: bool,
    /// Settings with their costs over the device's own setting, least first; such as are too slow are left out. Empty
    /// when nothing is near and no setting but the device's own is safe.
    pub costs: Vec<(Setting, f64)>,
}

impl Advice {
    /// The setting of least cost, when it costs less than `current` by more than `gain_share`; a current setting that
    /// is too slow costs more than any.
    #[must_use]
    pub fn better_than(&self, current: &Setting, gain_share: f64) -> Option<&Setting> {
        let cost_now =
            self.costs.iter().find(|(setting, _)| setting == current).map_or(f64::INFINITY, |(_, cost)| *cost);
        self.costs.first().filter(|(_, cost)| *cost < cost_now * (1.0 - gain_share)).map(|(setting, _)| setting)
    }
}

impl Cell {
    /// Foreground latency: that of reads, where there are reads, since writes wait in the page cache.
    #[must_use]
    pub fn delay_us(&self) -> Option<f64> {
        self.read_us_mean.or(self.write_us_mean)
    }

    fn median_of_rounds(&self) -> Option<Ratio> {
        let median =
            |of: fn(&Ratio) -> f64| brisk_core::stats::median(&self.rounds.values().map(of).collect::<Vec<_>>());
        Some(Ratio { energy: median(|ratio| ratio.energy)?, delay: median(|ratio| ratio.delay)? })
    }

    /// A ratio as the engine counts it: 1 where its interval does not exclude 1.
    fn believed(&self, (energy, delay): (f64, f64)) -> (f64, f64) {
        let believe = |ratio: f64, high: f64| if high >= 1.0 { ratio.max(1.0) } else { ratio };
        match self.high {
            Some(high) => (believe(energy, high.energy), believe(delay, high.delay)),
            None => (energy, delay),
        }
    }
}

impl Workload {
    /// Its numbers under a setting; where that was not measured, under the nearest depth, since what the driver lacks
    /// cannot be set, and without what it says more, which is measured only where it can matter.
    #[must_use]
    pub fn cell(&self, setting: &Setting) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.setting == *setting).or_else(|| {
            let plain = self.cells.iter().filter(|cell| cell.setting.is_plain());
            let same = plain.filter(|cell| cell.setting.scheduler == setting.scheduler);
            same.min_by_key(|cell| cell.setting.depth_requests.abs_diff(setting.depth_requests))
        })
    }

    /// Energy and delay of a setting over those of `own`: the medians of the rounds' ratios, where there are rounds,
    /// else the ratios of what the rounds came to.
    #[must_use]
    pub fn ratios(&self, setting: &Setting, own: &Setting) -> Option<(f64, f64)> {
        let (cell, base) = (self.cell(setting)?, self.cell(own)?);
        if let Some(median) = cell.median_of_rounds() {
            return Some((median.energy, median.delay));
        }
        let delay = match (cell.delay_us(), base.delay_us()) {
            (Some(delay), Some(base)) if base > 0.0 => delay / base,
            _ => 1.0,
        };
        let energy = if base.request_uj_mean > 0.0 { cell.request_uj_mean / base.request_uj_mean } else { 1.0 };
        Some((energy, delay))
    }
}

/// One cost of two, weighted.
#[must_use]
pub fn blend(delay_share: f64, energy: f64, delay: f64) -> f64 {
    energy.powf(1.0 - delay_share) * delay.powf(delay_share)
}

impl Model {
    /// The model that was measured on `device`.
    #[must_use]
    pub fn for_device<'a>(models: &'a [Self], device: &Device) -> Option<&'a Self> {
        let measured = |name: &str| models.iter().find(|model| model.device == name);
        let of_any_firmware = || device.model_of_any_firmware().and_then(measured);
        measured(&device.model).or_else(of_any_firmware)
    }

    /// Validates the model.
    ///
    /// # Errors
    /// When it is of another version, has no workload, lacks the own setting of one, or holds a number that is none.
    pub fn check(&self) -> Result<(), ModelError> {
        let wrong = |why: String| Err(ModelError { device: self.device.clone(), why });
        if self.version != MODEL_VERSION {
            return wrong(format!("version {} instead of {MODEL_VERSION}", self.version));
        }
        if self.workloads.is_empty() {
            return wrong("it has no workload".to_owned());
        }
        for workload in &self.workloads {
            if !workload.cells.iter().any(|cell| cell.setting == self.own) {
                return wrong(format!("{} lacks the setting {}", workload.name, self.own));
            }
            let sane = |cell: &Cell| {
                let p = &cell.pattern;
                let numbers = [
                    p.reads_per_s,
                    p.writes_per_s,
                    p.read_bytes_mean,
                    p.write_bytes_mean,
                    p.flushes_per_s,
                    p.depth_requests_mean,
                    p.busy_share,
                    p.merged_share.unwrap_or(0.0),
                    cell.request_uj_mean,
                    cell.read_us_mean.unwrap_or(0.0),
                    cell.write_us_mean.unwrap_or(0.0),
                ];
                let ratios = cell.rounds.values().chain(&cell.high).flat_map(|ratio| [ratio.energy, ratio.delay]);
                numbers.into_iter().chain(ratios).all(|number| number.is_finite() && number >= 0.0)
            };
            if let Some(cell) = workload.cells.iter().find(|cell| !sane(cell)) {
                return wrong(format!("a number of {} under {} cannot be", workload.name, cell.setting));
            }
        }
        Ok(())
    }

    /// How far a pattern may be from the nearest workload to count as known: a little farther than workloads are from
    /// each other.
    #[must_use]
    pub fn reach(&self) -> f64 {
        let patterns: Vec<&Pattern> =
            self.workloads.iter().filter_map(|w| w.cell(&self.own)).map(|cell| &cell.pattern).collect();
        let nearest = |index: usize| {
            let others = patterns.iter().enumerate().filter(|(other, _)| *other != index);
            others.map(|(_, other)| patterns[index].distance(other)).fold(f64::INFINITY, f64::min)
        };
        let farthest = (0..patterns.len()).map(nearest).filter(|d| d.is_finite()).fold(0.0, f64::max);
        farthest.clamp(REACH_MIN, REACH_MAX)
    }

    /// The setting of least mean cost among those that were worse than the device's own for none of the workloads:
    /// neither dearer nor, where energy counts at all, slower by more than the configuration allows. With its mean
    /// cost; `None` when there is none.
    #[must_use]
    pub fn safe(&self, criteria: Criteria, delay_share: f64) -> Option<(&Setting, f64)> {
        let plain = self.workloads.first()?.cells.iter().map(|cell| &cell.setting).filter(|s| **s != self.own);
        let mean = |setting: &Setting| {
            let mut logs = 0.0;
            for workload in &self.workloads {
                let ratios = workload.ratios(setting, &self.own)?;
                let (energy, delay) = workload.cell(setting)?.believed(ratios);
                let cost = blend(delay_share, energy, delay);
                let counts = delay_share < 1.0;
                if cost > 1.0 || counts && (energy > 1.0 || delay > 1.0 + criteria.slower_share_max) {
                    return None;
                }
                logs += cost.max(f64::MIN_POSITIVE).ln();
            }
            Some((logs / self.workloads.len() as f64).exp())
        };
        let safe = plain.filter_map(|setting| Some((setting, mean(setting)?)));
        safe.min_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(b.0)))
    }

    /// What to do with `pattern`, seen under `in_force`, when delay counts for `delay_share` of the cost.
    ///
    /// The cost of a setting is the geometric mean of its energy and delay over those of the device's own setting,
    /// weighted by `delay_share` (a ratio whose interval does not exclude 1 counts as 1), and over the nearest
    /// workloads, weighted by the inverse square of their distance. Where energy counts at all, a setting that is
    /// slower than the device's own by more than the configuration allows is left out.
    #[must_use]
    pub fn advise(
        &self,
        criteria: Criteria,
        in_force: &Setting,
        pattern: &Pattern,
        delay_share: f64,
    ) -> Option<Advice> {
        let mut near: Vec<(f64, &Workload)> = self
            .workloads
            .iter()
            .filter_map(|workload| Some((workload.cell(in_force)?.pattern.distance(pattern), workload)))
            .collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (distance, first) = *near.first()?;
        let is_known = distance <= self.reach();
        let mut advice = Advice { nearest: first.name.clone(), distance, is_known, costs: Vec::new() };
        if !is_known {
            if let Some((safe, cost)) = self.safe(criteria, delay_share) {
                advice.costs = vec![(safe.clone(), cost), (self.own.clone(), 1.0)];
            }
            return Some(advice);
        }
        near.truncate(criteria.neighbours.max(1));
        let weight = |distance: f64| 1.0 / (distance + NEAR).powi(2);
        let total: f64 = near.iter().map(|(distance, _)| weight(*distance)).sum();
        for cell in &first.cells {
            let logs = near.iter().filter_map(|(distance, workload)| {
                let ratios = workload.ratios(&cell.setting, &self.own)?;
                let (energy, delay) = workload.cell(&cell.setting)?.believed(ratios);
                let share = weight(*distance) / total;
                Some((share * energy.max(f64::MIN_POSITIVE).ln(), share * delay.max(f64::MIN_POSITIVE).ln()))
            });
            let (energy, delay) = logs.fold((0.0, 0.0), |sum, log| (sum.0 + log.0, sum.1 + log.1));
            let too_slow = delay_share < 1.0 && delay > (1.0 + criteria.slower_share_max).ln();
            if !too_slow || cell.setting == self.own {
                let cost = ((1.0 - delay_share) * energy + delay_share * delay).exp();
                advice.costs.push((cell.setting.clone(), cost));
            }
        }
        advice.costs.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
        Some(advice)
    }
}

#[cfg(test)]
pub(crate) mod tests;
