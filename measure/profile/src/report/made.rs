//! The report of a profile, and of its judgement.

use std::path::Path;

use crate::results::{ProfileCell, ProfileJudged, ProfileMeter, ProfileReport, ProfileWorkload};
use brisk_engine::smartstorage::model::Workload;
use brisk_engine::smartstorage::{Config, Model, Setting};

use crate::cross_validation::{document_of, judge, leave_one_out};
use crate::error::{Error, Result};
use crate::meter::About;
use crate::run::{Measured, Options};
use crate::workload;

/// The document of a profile, with the judgement of workloads left out in turn, and its file, if it is kept.
#[must_use]
pub fn of_profile(measured: Measured, options: &Options, file: Option<&Path>) -> ProfileReport {
    let config = Config::default();
    let judged = leave_one_out(&config, &measured.model);
    let mut report = of(measured, options, &config, judged);
    report.profile = file.map(|file| file.display().to_string());
    report
}

/// The document of a judgement: how well `profile` chooses for what was measured.
///
/// # Errors
/// When the profile is of another meter, whose joules are not the same, or of another own setting of the device.
pub fn of_judgement(profile: &Model, measured: Measured, options: &Options, file: &Path) -> Result<ProfileReport> {
    let other = |why: &str| Error::Damaged { path: file.to_owned(), why: why.to_owned() };
    if profile.meter != measured.model.meter {
        return Err(other("its energy was counted with another meter"));
    }
    if profile.own != measured.model.own {
        return Err(other("the device had another setting of its own then"));
    }
    let config = Config::default();
    let judged = judge(&config, profile, &measured.model.workloads);
    let mut report = of(measured, options, &config, judged);
    report.profile = Some(file.display().to_string());
    report.held_out = true;
    Ok(report)
}

fn of(measured: Measured, options: &Options, config: &Config, judged: Vec<ProfileJudged>) -> ProfileReport {
    let Measured { model, rates, meter, taken_over, header, .. } = measured;
    let workloads = model.workloads.iter().map(|of| {
        let asked = options.workloads.iter().find(|asked: &&workload::Workload| asked.name == of.name);
        ProfileWorkload {
            name: of.name.clone(),
            about: asked.map_or_else(String::new, |asked| asked.about.clone()),
            best: document_of(best(config, of, &model.own)),
            cells: of
                .cells
                .iter()
                .map(|cell| {
                    let (energy_ratio, delay_ratio) = of.ratios(&cell.setting, &model.own).unwrap_or((1.0, 1.0));
                    let rate = rates.get(&(of.name.clone(), cell.setting.clone()));
                    let (requests_per_s, kept_up) = rate.copied().unwrap_or((0.0, true));
                    ProfileCell {
                        setting: document_of(&cell.setting),
                        requests_per_s,
                        kept_up,
                        request_uj_mean: cell.request_uj_mean,
                        read_us_mean: cell.read_us_mean,
                        write_us_mean: cell.write_us_mean,
                        energy_ratio,
                        delay_ratio,
                        energy_ratio_high: cell.high.map(|high| high.energy),
                        delay_ratio_high: cell.high.map(|high| high.delay),
                    }
                })
                .collect(),
        }
    });
    let workloads = workloads.collect();
    ProfileReport {
        header,
        device_model: model.device,
        device_kind: model.kind,
        meter: in_words(&meter),
        own: document_of(&model.own),
        cell_s: options.cell.as_secs_f64(),
        rounds: options.rounds,
        taken_over_cells: taken_over as u64,
        workloads,
        judged,
        held_out: false,
        profile: None,
    }
}

/// The setting of least energy among those that are not too slow.
pub(crate) fn best<'a>(config: &Config, workload: &'a Workload, own: &'a Setting) -> &'a Setting {
    let allowed = |setting: &Setting| {
        let (energy, delay) = workload.ratios(setting, own)?;
        (setting == own || delay <= 1.0 + config.slower_share_max).then_some(energy)
    };
    let costs = workload.cells.iter().filter_map(|cell| Some((&cell.setting, allowed(&cell.setting)?)));
    costs.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(own, |(setting, _)| setting)
}

fn in_words(meter: &About) -> ProfileMeter {
    ProfileMeter {
        name: meter.kind.name().to_owned(),
        what: meter.what.clone(),
        uncertainty: meter.uncertainty.clone(),
    }
}
