//! Which settings of a block queue serve reads soonest beside writes, and what that costs the writes: the *frontier* of read
//! delay against write throughput, found by search for this device.
//!
//! The race goes by successive halving: every setting of the beginning gets one short trial of each load; the better
//! ones get more, together with their neighbours in the space of settings; the last few are repeated until their medians
//! are known. The settings found on the device run in every round, and everything is relative to them. Chosen is the setting
//! with the fastest reads among those that leave a stated share of the write throughput; within noise the simplest.
//!
//! It ends in time: how many settings each round has follows from what is left of the budget and from how long a trial takes
//! here, which is looked at again before each round. When the time is over, what was found by then is the result.
//!
//! Everything is set through `brisk_act`, and is put back at the end, on an error and on a stop, and after a kill by the
//! next command.

mod contest;
mod plan;
mod race;
mod search;
mod space;

use std::time::{Duration, Instant};

use brisk_act::{Actuator, Paths};
use brisk_sense::Sense;

use self::search::Search;
use self::space::Space;
use super::schedulers::{act, chosen, with_what_is_left};
use super::{Bed, Common};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::place::Place;
use crate::work_file::Size;
use brisk_results::FrontierReport;

/// Size of the work file.
pub const SIZE_BYTES: u64 = 256 << 20;

/// Share of the budget after which the work file is not filled any further.
const PREPARING_SHARE: f64 = 0.2;

/// What to measure.
#[derive(Debug, Clone)]
pub struct Options {
    /// Place; its runs are the trials of each finalist.
    pub common: Common,
    /// How long it may take, preparation included; one trial may go beyond it.
    pub budget: Duration,
    /// Size of the work file.
    pub size_bytes: u64,
    /// Write throughput that the chosen setting has to leave, in percent of that with the settings found.
    pub write_min_percent: f64,
    /// How long priorities may hold a write back.
    pub writes_wait_max_ms: u32,
    /// Schedulers to try; empty for all that this kernel offers.
    pub schedulers: Vec<String>,
}

/// Measures.
///
/// # Errors
/// When an option cannot be, the place cannot be measured or has no block device, a request fails, or the stop flag is
/// raised. The settings are put back in every case.
pub fn run(sense: &Sense, paths: &Paths, options: &Options, control: &Control<'_>) -> Result<FrontierReport> {
    let began = Instant::now();
    let common = &options.common;
    check(options)?;
    let place = Place::find(sense, &common.path, common.destroy_data)?;
    let located = place.device.as_ref().ok_or_else(|| Error::NoDevice(place.path.clone()))?;
    let disk = located.disk.name.clone();
    let offered = sense.block_queue(&disk)?.schedulers;
    let schedulers = chosen(&options.schedulers, &offered.available, &disk)?;
    // A slow card gets a smaller file, and not a search of half a minute.
    let patience = Some(options.budget.mul_f64(PREPARING_SHARE));
    let size = Size { wanted_bytes: options.size_bytes, exact: false, patience };
    let of_budget = || began.elapsed().as_secs_f64() / options.budget.as_secs_f64();
    let preparing = |_: f64, doing: &str| control.report(of_budget(), doing);
    let bed = Bed::prepare(sense, common, size, &Control { stop: control.stop, progress: &preparing })?;
    let found = offered.current.as_deref().unwrap_or("none");
    let space = Space::new(found, &schedulers, options.writes_wait_max_ms);
    let actuator = Actuator::new(paths, "study-frontier", false).map_err(|e| act("open the journal of changes", e))?;

    let mut search = Search::new((sense, &bed, &disk), options, space, actuator, control, began);
    let searched = search.run();
    let undone = search.actuator.restore();
    searched.map_err(|error| with_what_is_left(error, &disk, &undone))?;
    let undone = undone.map_err(|e| act(&format!("put back the settings of {disk}"), e))?;
    let outcome = search.outcome()?;
    Ok(FrontierReport {
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
    })
}

fn check(options: &Options) -> Result<()> {
    let wrong = |text: String| Err(Error::BadLoad(text));
    if !(1.0..=100.0).contains(&options.write_min_percent) {
        return wrong(format!("{} % of the writes cannot be asked for: use 1 to 100", options.write_min_percent));
    }
    if options.size_bytes < contest::SIZE_MIN_BYTES {
        return wrong(format!("a work file of {} bytes is too small: use 8M or more", options.size_bytes));
    }
    if options.common.block_bytes > 1 << 20 {
        return wrong("requests of more than 1M do not fit the loads: use a smaller --block".to_owned());
    }
    if options.writes_wait_max_ms == 0 {
        return wrong("writes have to wait for some time: use 1 ms or more".to_owned());
    }
    Ok(())
}
