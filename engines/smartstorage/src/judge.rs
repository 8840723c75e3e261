//! How well a way of choosing does on workloads that it has never seen.
//!
//! Where all settings were measured for a workload, every way to choose one can be held against the best there was.

use brisk_core::stats::bootstrapped;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::model::{Model, Ratio, Workload, blend};
use crate::paper;
use crate::setting::Setting;

/// A choice that costs this share more than the best counts as good as the best.
pub const TIE_SHARE: f64 = 0.02;
/// After so many changes of setting a choice that does not come to rest is taken as it is.
const STEPS_MAX: usize = 4;

/// A way to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chooser {
    /// By the model: [`crate::adaptive`].
    Adaptive,
    /// By rate proportion and the published table: [`crate::paper`].
    Paper,
    /// The one setting that is best over all workloads of the model.
    OneForAll,
    /// The device's own setting, always.
    Own,
}

/// All ways.
pub const CHOOSERS: [Chooser; 4] = [Chooser::Adaptive, Chooser::Paper, Chooser::OneForAll, Chooser::Own];

/// What came of a choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pick {
    /// Who chose.
    pub chooser: Chooser,
    /// What.
    pub setting: Setting,
    /// Cost over the least that any setting has that is not too slow; below 1 when the choice is cheaper and too slow.
    pub over_best: f64,
    /// Lower end of the interval of that, round by round; absent where rounds are not told apart or too few. The best setting
    /// was found among noisy ones, so this is kind to it.
    #[serde(default)]
    pub over_best_low: Option<f64>,
    /// Energy over that of the device's own setting.
    pub energy_ratio: f64,
    /// Delay over that of the device's own setting.
    pub delay_ratio: f64,
    /// Lower end of the interval of that.
    #[serde(default)]
    pub delay_low: Option<f64>,
}

/// The choices for one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Its name.
    pub workload: String,
    /// The setting of least cost that is not too slow.
    pub best: Setting,
    /// One for each way to choose.
    pub picks: Vec<Pick>,
}

impl Pick {
    /// Whether it is as good as the best, and not too slow.
    #[must_use]
    pub fn is_right(&self, config: &Config) -> bool {
        self.over_best <= 1.0 + TIE_SHARE && self.is_soon_enough(config, self.delay_ratio)
    }

    /// Whether it is right, or rounds differ by so much that it cannot be told from one that is.
    #[must_use]
    pub fn is_not_told_from_right(&self, config: &Config) -> bool {
        let over_best = self.over_best_low.unwrap_or(self.over_best);
        let delay = self.delay_low.unwrap_or(self.delay_ratio);
        self.is_right(config) || over_best <= 1.0 + TIE_SHARE && self.is_soon_enough(config, delay)
    }

    fn is_soon_enough(&self, config: &Config, delay: f64) -> bool {
        delay <= 1.0 + config.slower_share_max.max(TIE_SHARE)
    }
}

/// Lets every chooser choose for every workload of `held_out`, which was measured on the same device as `model` and with
/// the same meter.
#[must_use]
pub fn judge(config: &Config, model: &Model, held_out: &[Workload]) -> Vec<Judged> {
    let one_for_all = one_for_all(config, model);
    held_out.iter().filter_map(|workload| judge_one(config, model, &one_for_all, workload)).collect()
}

/// [`judge`] over the model's own workloads, each with a model that has never seen it.
#[must_use]
pub fn leave_one_out(config: &Config, model: &Model) -> Vec<Judged> {
    let without = |index: usize| {
        let mut rest = model.clone();
        let one = rest.workloads.remove(index);
        judge(config, &rest, &[one])
    };
    (0..model.workloads.len()).flat_map(without).collect()
}

fn judge_one(config: &Config, model: &Model, one_for_all: &Setting, workload: &Workload) -> Option<Judged> {
    let cost = |setting: &Setting| {
        let (energy, delay) = workload.ratios(setting, &model.own)?;
        Some((blend(config.delay_share, energy, delay), energy, delay))
    };
    let allowed = |delay: f64| config.delay_share >= 1.0 || delay <= 1.0 + config.slower_share_max;
    let (best, least) = workload
        .cells
        .iter()
        .filter_map(|cell| {
            let (cost, _, delay) = cost(&cell.setting)?;
            (cell.setting == model.own || allowed(delay)).then_some((&cell.setting, cost))
        })
        .min_by(|a, b| a.1.total_cmp(&b.1))?;
    let picks = CHOOSERS
        .into_iter()
        .filter_map(|chooser| {
            let setting = match chooser {
                Chooser::Adaptive => adaptive(config, model, workload),
                Chooser::Paper => published(model, workload),
                Chooser::OneForAll => one_for_all.clone(),
                Chooser::Own => model.own.clone(),
            };
            let (cost, energy_ratio, delay_ratio) = cost(&setting)?;
            let over_best_low = low_over(config, workload, &setting, best);
            let delay_low = workload.cell(&setting).and_then(|cell| low(cell.rounds.values().map(|ratio| ratio.delay)));
            Some(Pick {
                chooser,
                setting,
                over_best: cost / least,
                over_best_low,
                energy_ratio,
                delay_ratio,
                delay_low,
            })
        })
        .collect();
    Some(Judged { workload: workload.name.clone(), best: best.clone(), picks })
}

/// Lower end of the interval of the cost of one setting over that of another, round by round.
fn low_over(config: &Config, workload: &Workload, setting: &Setting, best: &Setting) -> Option<f64> {
    let (these, those) = (&workload.cell(setting)?.rounds, &workload.cell(best)?.rounds);
    let cost = |ratio: &Ratio| blend(config.delay_share, ratio.energy, ratio.delay);
    low(these.iter().filter_map(|(round, this)| Some(cost(this) / cost(those.get(round)?))))
}

fn low(ratios: impl Iterator<Item = f64>) -> Option<f64> {
    bootstrapped(&ratios.collect::<Vec<_>>()).map(|found| found.low)
}

/// What the engine comes to when it starts from the device's own setting and looks again after each switch.
fn adaptive(config: &Config, model: &Model, workload: &Workload) -> Setting {
    let mut setting = model.own.clone();
    for _ in 0..STEPS_MAX {
        let Some(cell) = workload.cell(&setting) else { break };
        let Some(advice) = model.advise(config, &setting, &cell.pattern, config.delay_share) else { break };
        let next = advice.better_than(&setting, config.gain_share_min).unwrap_or(&setting).clone();
        let next = if advice.costs.is_empty() { model.own.clone() } else { next };
        if next == setting {
            break;
        }
        setting = next;
    }
    setting
}

fn published(model: &Model, workload: &Workload) -> Setting {
    let pattern = workload.cell(&model.own).map(|cell| cell.pattern).unwrap_or_default();
    match paper::rate_proportion(pattern.reads_per_s, pattern.writes_per_s) {
        Some(rp) => {
            let row = paper::nearest(rp);
            Setting::new(row.scheduler, row.depth_requests)
        }
        None => model.own.clone(),
    }
}

/// The setting of least mean cost over the workloads of the model, among those that are not too slow on the mean.
fn one_for_all(config: &Config, model: &Model) -> Setting {
    let mean = |setting: &Setting| {
        let ratios: Vec<(f64, f64)> = model.workloads.iter().filter_map(|w| w.ratios(setting, &model.own)).collect();
        let count = ratios.len().max(1) as f64;
        let log = |of: fn(&(f64, f64)) -> f64| (ratios.iter().map(|r| of(r).ln()).sum::<f64>() / count).exp();
        (log(|r| r.0), log(|r| r.1))
    };
    let settings = model.workloads.first().map(|workload| workload.cells.as_slice()).unwrap_or_default();
    settings
        .iter()
        .map(|cell| (&cell.setting, mean(&cell.setting)))
        .filter(|(_, (_, delay))| config.delay_share >= 1.0 || *delay <= 1.0 + config.slower_share_max)
        .map(|(setting, (energy, delay))| (setting, blend(config.delay_share, energy, delay)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map_or_else(|| model.own.clone(), |(setting, _)| setting.clone())
}

/// Share of the workloads for which a chooser was right, 0 to 1; `None` without any.
#[must_use]
pub fn share_right(config: &Config, judged: &[Judged], chooser: Chooser) -> Option<f64> {
    share(judged, chooser, |pick| pick.is_right(config))
}

/// Share of the workloads for which a chooser was right or cannot be told from right.
#[must_use]
pub fn share_not_told_from_right(config: &Config, judged: &[Judged], chooser: Chooser) -> Option<f64> {
    share(judged, chooser, |pick| pick.is_not_told_from_right(config))
}

fn share(judged: &[Judged], chooser: Chooser, of: impl Fn(&Pick) -> bool) -> Option<f64> {
    let picks: Vec<bool> =
        judged.iter().flat_map(|one| &one.picks).filter(|pick| pick.chooser == chooser).map(of).collect();
    let right = picks.iter().filter(|right| **right).count();
    (!picks.is_empty()).then(|| right as f64 / picks.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::model;
    use crate::pattern::{Window, tests::rates};

    /// A workload near `of`, with its costs.
    fn near(of: &str, factor: f64) -> Workload {
        let mut workload = model().workloads.into_iter().find(|w| w.name == of).expect("known");
        workload.name = format!("like {of}");
        for cell in &mut workload.cells {
            let (reads, writes) = (cell.pattern.reads_per_s * factor, cell.pattern.writes_per_s * factor);
            cell.pattern = Window::of(&rates(reads, writes, 0.2), 1.0).pattern();
        }
        workload
    }

    #[test]
    fn a_model_is_right_about_what_is_like_it_and_one_setting_for_all_is_not() {
        let config = Config::default();
        let judged = judge(&config, &model(), &[near("reads", 1.2), near("writes", 0.8)]);
        assert_eq!(share_right(&config, &judged, Chooser::Adaptive), Some(1.0));
        assert_eq!(share_right(&config, &judged, Chooser::OneForAll), Some(0.5));
        assert_eq!(share_right(&config, &judged, Chooser::Own), Some(0.0));
        assert_eq!(judged[0].best.to_string(), "none/128");
        let saved = &judged[0].picks[0];
        assert_eq!((saved.energy_ratio, saved.delay_ratio), (0.7, 0.9));
    }

    #[test]
    fn what_saves_energy_by_being_slow_is_not_right() {
        let config = Config::default();
        let judged = judge(&config, &model(), &[near("slow", 1.0)]);
        assert_eq!(judged[0].best.to_string(), "bfq/4");
        let slow = Pick { delay_ratio: 2.0, over_best: 0.5, ..judged[0].picks[0].clone() };
        assert!(!slow.is_right(&config));
    }

    #[test]
    fn what_noise_hides_is_counted_apart() {
        let config = Config::default();
        let model = model();
        let mut workload = near("reads", 1.0);
        let with = |workload: &mut Workload, setting: usize, energies: [f64; 5]| {
            let rounds = energies.map(|energy| Ratio { energy, delay: 1.0 });
            workload.cells[setting].rounds = (0..).zip(rounds).collect();
        };
        with(&mut workload, 0, [1.0; 5]);
        with(&mut workload, 1, [0.90, 1.02, 0.91, 1.05, 0.92]);
        with(&mut workload, 2, [1.3; 5]);
        let own = |workload: Workload| {
            let judged = judge(&config, &model, &[workload]);
            let shares = [share_right, share_not_told_from_right].map(|of| of(&config, &judged, Chooser::Own));
            (judged[0].best.to_string(), shares)
        };
        // The best saves 8 % in the middle and nothing for sure.
        assert_eq!(own(workload.clone()), ("none/128".to_owned(), [Some(0.0), Some(1.0)]));
        with(&mut workload, 1, [0.90, 0.91, 0.91, 0.90, 0.92]);
        assert_eq!(own(workload).1, [Some(0.0), Some(0.0)]);
    }

    #[test]
    fn left_out_means_unseen() {
        // Without its own row, each of the three is far from the others or matched with the wrong one.
        let config = Config::default();
        let judged = leave_one_out(&config, &model());
        assert_eq!(judged.len(), 3);
        assert!(share_right(&config, &judged, Chooser::Adaptive) < Some(1.0), "{judged:?}");
        assert_eq!(share_right(&config, &[], Chooser::Paper), None);
    }
}
