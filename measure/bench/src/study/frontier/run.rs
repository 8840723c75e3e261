//! Search for the settings of a block queue with the lowest read latency under concurrent writes, and their cost for
//! the writes: the *frontier* of read latency against write throughput on this device.
//!
//! The search is successive halving. Every initial setting gets one short trial of each load; the better ones get more,
//! together with their neighbours in the space of settings; the finalists are repeated until their medians are precise.
//! The original settings (*baseline*) run in every round, and all figures are relative to them. The winner is the
//! setting with the fastest reads among those that keep a given share of the write throughput; within noise, the
//! simplest.
//!
//! The search keeps its time budget: the number of settings in each round follows from the remaining budget and the
//! measured length of a trial, and is recomputed before each round. When the time is over, the best result so far
//! counts. A limit of what is written is time too: at the rate of the trials so far.
//!
//! Settings are changed through `brisk_act` and restored at the end, on an error and on a stop; after a kill, by the
//! next command.

use std::time::{Duration, Instant};

use brisk_act::{Actuator, Paths};
use brisk_core::units::format_bytes;
use brisk_sense::Sense;

pub use super::given::{Comparison, Given, GivenError, Verdict};
use super::search::Search;
use super::space::{Candidate, Space};
use super::trial;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::place::Place;
use crate::results::FrontierReport;
use crate::study::schedulers::{act, chosen, with_unrestored};
use crate::study::{Common, Testbed};
use crate::work_file::Size;

pub const SIZE_BYTES: u64 = 256 << 20;

/// Share of the budget for filling the work file.
const PREPARING_SHARE: f64 = 0.2;

#[derive(Debug, Clone)]
pub struct Options {
    /// Place; its runs are the trials of each finalist.
    pub common: Common,
    /// Total time, preparation included; one trial may exceed it.
    pub budget: Duration,
    /// About the most that is written; nothing: no limit.
    pub written_bytes_max: Option<u64>,
    pub size_bytes: u64,
    /// Least write throughput of the winner, in percent of the baseline.
    pub write_min_percent: f64,
    /// Most time that priorities may defer a write.
    pub writes_wait_max_ms: u32,
    /// Schedulers to try; empty for all that the kernel offers.
    pub schedulers: Vec<String>,
}

/// Runs the search.
///
/// # Errors
/// When an option is invalid, the place cannot be measured or has no block device, a request fails, or the stop flag is
/// set. The settings are restored in every case.
pub fn run(sense: &Sense, paths: &Paths, options: &Options, control: &Control<'_>) -> Result<FrontierReport> {
    let space = |found: &str, schedulers: &[String]| Space::new(found, schedulers, options.writes_wait_max_ms);
    with_search(sense, paths, options, control, space, |search| search.run()).map(|(report, ())| report)
}

/// Compares settings that were found on other devices with those of this one, under the loads of the search. The report
/// has both as points; the given ones are chosen where the comparison agrees with them.
///
/// # Errors
/// As [`run`]; when this kernel offers no such scheduler, or refuses a setting.
pub fn confirm(
    sense: &Sense,
    paths: &Paths,
    options: &Options,
    given: &Given,
    control: &Control<'_>,
) -> Result<(FrontierReport, Comparison)> {
    let options = Options { schedulers: vec![given.scheduler().to_owned()], ..options.clone() };
    let of_given = |found: &str| Space::of_given(found, given, options.writes_wait_max_ms);
    let candidate: Candidate = of_given("").1;
    with_search(sense, paths, &options, control, |found, _| of_given(found).0, |search| search.compare(&candidate))
}

/// Prepares the device, lets `measure` work with a search, restores the settings, and reports.
fn with_search<T>(
    sense: &Sense,
    paths: &Paths,
    options: &Options,
    control: &Control<'_>,
    space: impl FnOnce(&str, &[String]) -> Space,
    measure: impl FnOnce(&mut Search<'_>) -> Result<T>,
) -> Result<(FrontierReport, T)> {
    let began = Instant::now();
    let common = &options.common;
    check(options)?;
    let place = Place::find(sense, &common.path, common.destroy_data)?;
    let disk = place.sole()?.disk.name.clone();
    let offered = sense.block_queue(&disk)?.schedulers;
    let schedulers = chosen(&options.schedulers, &offered.available, &disk)?;
    // A slow card gets a smaller file instead of a search of half a minute.
    let patience = Some(options.budget.mul_f64(PREPARING_SHARE));
    let size = Size { wanted_bytes: options.size_bytes, exact: false, patience };
    let of_budget = || began.elapsed().as_secs_f64() / options.budget.as_secs_f64();
    let preparing = |_: f64, doing: &str| control.report(of_budget(), doing);
    let bed = Testbed::prepare(sense, common, size, &Control { stop: control.stop, progress: &preparing })?;
    let found = offered.current.as_deref().unwrap_or("none");
    let space = space(found, &schedulers);
    let actuator = Actuator::new(paths, "study-frontier", false).map_err(|e| act("open the journal of changes", e))?;

    let mut search = Search::new((sense, &bed, &disk), options, space, actuator, control, began);
    let measured = measure(&mut search);
    let undone = search.actuator.restore();
    let measured = measured.map_err(|error| with_unrestored(error, &disk, &undone))?;
    let undone = undone.map_err(|e| act(&format!("restore the settings of {disk}"), e))?;
    let outcome = search.outcome()?;
    let report = FrontierReport {
        block_bytes: common.block_bytes,
        trial_s: outcome.trial.as_secs_f64(),
        write_min_percent: options.write_min_percent,
        loads: outcome.loads,
        points: outcome.points,
        found: outcome.found,
        chosen: outcome.chosen,
        refused: outcome.refused,
        restored: undone.left.is_empty(),
        header: bed.end("calls (readers and writers wait for each request)".to_owned()),
    };
    Ok((report, measured))
}

fn check(options: &Options) -> Result<()> {
    let wrong = |text: String| Err(Error::BadLoad(text));
    if !(1.0..=100.0).contains(&options.write_min_percent) {
        return wrong(format!("{} % of the writes is not possible: use 1 to 100", options.write_min_percent));
    }
    if options.size_bytes < trial::SIZE_MIN_BYTES {
        return wrong(format!("a work file of {} is too small: use 8M or more", format_bytes(options.size_bytes)));
    }
    if options.common.block_bytes > 1 << 20 {
        return wrong("requests of more than 1M do not fit the loads: use a smaller --block".to_owned());
    }
    if options.writes_wait_max_ms == 0 {
        return wrong("the longest wait of writes is zero: use 1 ms or more".to_owned());
    }
    Ok(())
}
