//! Cross-validation: how well a way of choosing does on workloads that it has never seen.
//!
//! Where all settings were measured for a workload, every way to choose one can be held against the best there was. The
//! workloads are others than those of the profile, or each of its own in turn with a profile that lacks it.

use crate::results::{ProfileJudged, ProfilePick, ProfileSetting};
use brisk_core::stats::bootstrapped;
use brisk_engine::smartstorage::model::{Ratio, Workload, blend};
use brisk_engine::smartstorage::{Config, Model, Setting, paper};

/// A choice that costs this share more than the best counts as good as the best.
const TIE_SHARE: f64 = 0.02;
/// After so many changes of setting a choice that does not settle counts as it is.
const STEPS_MAX: usize = 4;

/// Lets every way to choose choose for every workload of `held_out`, which was measured on the same device as `model`
/// and with the same meter.
#[must_use]
pub(crate) fn judge(config: &Config, model: &Model, held_out: &[Workload]) -> Vec<ProfileJudged> {
    let one_for_all = one_for_all(config, model);
    held_out.iter().filter_map(|workload| judge_one(config, model, &one_for_all, workload)).collect()
}

/// [`judge`] over the model's own workloads, each with a model that has never seen it.
#[must_use]
pub(crate) fn leave_one_out(config: &Config, model: &Model) -> Vec<ProfileJudged> {
    let without = |index: usize| {
        let mut rest = model.clone();
        let one = rest.workloads.remove(index);
        judge(config, &rest, &[one])
    };
    (0..model.workloads.len()).flat_map(without).collect()
}

/// A setting in the document.
pub(crate) fn document_of(setting: &Setting) -> ProfileSetting {
    ProfileSetting {
        scheduler: setting.scheduler.clone(),
        queue_depth_requests: setting.depth_requests,
        read_ahead_kb: setting.read_ahead_kb,
        wbt_lat_usec: setting.wbt_lat_usec,
    }
}

fn judge_one(config: &Config, model: &Model, one_for_all: &Setting, workload: &Workload) -> Option<ProfileJudged> {
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
    let soon_enough = |delay: f64| delay <= 1.0 + config.slower_share_max.max(TIE_SHARE);
    let pick = |(chooser, setting): (&str, Setting)| {
        let (cost, energy_ratio, delay_ratio) = cost(&setting)?;
        let over_best = cost / least;
        let right = over_best <= 1.0 + TIE_SHARE && soon_enough(delay_ratio);
        // Rounds may differ by so much that a choice cannot be distinguished from a right one. The best setting was
        // found among noisy ones, so the lower end of its interval is kind to the choice.
        let over_best_low = low_over(config, workload, &setting, best).unwrap_or(over_best);
        let delay_low = workload.cell(&setting).and_then(|cell| low(cell.rounds.values().map(|ratio| ratio.delay)));
        let may_be_right = over_best_low <= 1.0 + TIE_SHARE && soon_enough(delay_low.unwrap_or(delay_ratio));
        Some(ProfilePick {
            chooser: chooser.to_owned(),
            setting: document_of(&setting),
            over_best,
            energy_ratio,
            delay_ratio,
            right,
            not_told_from_right: right || may_be_right,
        })
    };
    let choices = [
        ("adaptive", adaptive(config, model, workload)),
        ("paper", published(model, workload)),
        ("one_for_all", one_for_all.clone()),
        ("own", model.own.clone()),
    ];
    Some(ProfileJudged {
        workload: workload.name.clone(),
        best: document_of(best),
        picks: choices.into_iter().filter_map(pick).collect(),
    })
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

/// What the engine comes to when it starts from the device's own setting and samples again after each switch.
fn adaptive(config: &Config, model: &Model, workload: &Workload) -> Setting {
    let mut setting = model.own.clone();
    for _ in 0..STEPS_MAX {
        let Some(cell) = workload.cell(&setting) else { break };
        let Some(advice) = model.advise(config.criteria(), &setting, &cell.pattern, config.delay_share) else { break };
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

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_engine::smartstorage::model::{Cell, MODEL_VERSION};
    use brisk_engine::smartstorage::pattern::Pattern;

    fn pattern(reads_per_s: f64, writes_per_s: f64) -> Pattern {
        Pattern { reads_per_s, writes_per_s, busy_share: 0.2, depth_requests_mean: 0.2, ..Pattern::default() }
    }

    /// A device of three settings. A workload of reads is cheapest under `none`, one of writes under `bfq`.
    fn model() -> Model {
        let settings = [Setting::new("mq-deadline", 256), Setting::new("none", 128), Setting::new("bfq", 4)];
        let workload = |name: &str, reads: f64, writes: f64, costs: [(f64, f64); 3]| {
            let cell = |(setting, (uj, us)): (&Setting, (f64, f64))| Cell {
                setting: setting.clone(),
                pattern: pattern(reads, writes),
                request_uj_mean: uj,
                read_us_mean: Some(us),
                write_us_mean: Some(us),
                rounds: Default::default(),
                high: None,
            };
            Workload { name: name.to_owned(), cells: settings.iter().zip(costs).map(cell).collect() }
        };
        let own = (100.0, 200.0);
        Model {
            version: MODEL_VERSION,
            device: "TEST".to_owned(),
            kind: "emmc".to_owned(),
            meter: "test".to_owned(),
            workloads: vec![
                workload("reads", 1000.0, 10.0, [own, (70.0, 180.0), (90.0, 150.0)]),
                workload("writes", 10.0, 1000.0, [own, (110.0, 200.0), (60.0, 190.0)]),
                workload("slow", 100.0, 100.0, [own, (50.0, 400.0), (99.5, 200.0)]),
            ],
            own: settings[0].clone(),
        }
    }

    /// A workload near `of`, with its costs.
    fn near(of: &str, factor: f64) -> Workload {
        let mut workload = model().workloads.into_iter().find(|w| w.name == of).expect("known");
        workload.name = format!("like {of}");
        for cell in &mut workload.cells {
            let (reads, writes) = (cell.pattern.reads_per_s * factor, cell.pattern.writes_per_s * factor);
            cell.pattern = pattern(reads, writes);
        }
        workload
    }

    fn pick<'a>(judged: &'a ProfileJudged, chooser: &str) -> &'a ProfilePick {
        judged.picks.iter().find(|pick| pick.chooser == chooser).expect("each chooses")
    }

    fn best(judged: &ProfileJudged) -> (&str, u32) {
        (&judged.best.scheduler, judged.best.queue_depth_requests)
    }

    #[test]
    fn a_model_is_right_about_what_is_like_it_and_one_setting_for_all_is_not() {
        let judged = judge(&Config::default(), &model(), &[near("reads", 1.2), near("writes", 0.8)]);
        let right = |chooser| judged.iter().filter(|one| pick(one, chooser).right).count();
        assert_eq!((right("adaptive"), right("one_for_all"), right("own")), (2, 1, 0));
        assert_eq!(best(&judged[0]), ("none", 128));
        let saved = pick(&judged[0], "adaptive");
        assert_eq!((saved.energy_ratio, saved.delay_ratio), (0.7, 0.9));
    }

    #[test]
    fn what_saves_energy_by_being_slow_is_not_right() {
        // A profile that does not know how slow `none` is chooses it.
        let mut hopeful = Model { workloads: model().workloads.split_off(2), ..model() };
        hopeful.workloads[0].cells[1].read_us_mean = Some(200.0);
        hopeful.workloads[0].cells[1].write_us_mean = Some(200.0);
        let judged = judge(&Config::default(), &hopeful, &[near("slow", 1.0)]);
        assert_eq!(best(&judged[0]), ("bfq", 4));
        let slow = pick(&judged[0], "one_for_all");
        assert_eq!((slow.setting.scheduler.as_str(), slow.energy_ratio, slow.delay_ratio), ("none", 0.5, 2.0));
        assert!(slow.over_best < 1.0 && !slow.right && !slow.not_told_from_right);
    }

    #[test]
    fn what_noise_hides_is_counted_apart() {
        let mut workload = near("reads", 1.0);
        let with = |workload: &mut Workload, setting: usize, energies: [f64; 5]| {
            let rounds = energies.map(|energy| Ratio { energy, delay: 1.0 });
            workload.cells[setting].rounds = (0..).zip(rounds).collect();
        };
        with(&mut workload, 0, [1.0; 5]);
        with(&mut workload, 1, [0.90, 1.02, 0.91, 1.05, 0.92]);
        with(&mut workload, 2, [1.3; 5]);
        let own = |workload: &Workload| {
            let judged = judge(&Config::default(), &model(), std::slice::from_ref(workload));
            let pick = pick(&judged[0], "own");
            (judged[0].best.scheduler.clone(), pick.right, pick.not_told_from_right)
        };
        // The best saves 8 % in the middle and nothing for sure.
        assert_eq!(own(&workload), ("none".to_owned(), false, true));
        with(&mut workload, 1, [0.90, 0.91, 0.91, 0.90, 0.92]);
        assert_eq!(own(&workload), ("none".to_owned(), false, false));
    }

    #[test]
    fn left_out_means_unseen() {
        // Without its own row, each of the three is far from the others or matched with the wrong one.
        let judged = leave_one_out(&Config::default(), &model());
        assert_eq!(judged.len(), 3);
        assert!(judged.iter().any(|one| !pick(one, "adaptive").right), "{judged:?}");
    }
}
