//! The studies, on any directory or block device: four of the papers', the search for the settings that serve reads soonest
//! beside writes, and what something at work beside changes for readers and writers.

pub mod concurrency;
pub mod footprint;
pub mod frontier;
pub mod jobs;
pub mod schedulers;
pub mod slowdown;

use std::cell::Cell;
use std::path::PathBuf;

use brisk_core::stats::Summary;
use brisk_sense::Sense;

use crate::cache;
use crate::control::Control;
use crate::engine::{Engine, EngineKind};
use crate::environment::Run;
use crate::error::{Error, Result};
use crate::load::check_block;
use crate::place::Place;
use crate::streams::{AfterQuota, Stream, StreamTime, run as run_streams, run_in_turn};
use crate::work_file::{Size, WorkFile, check_size};
use brisk_results::{Direction, Header, Pattern};

/// What all studies are told.
#[derive(Debug, Clone)]
pub struct Common {
    /// Directory, or block device with `destroy_data`.
    pub path: PathBuf,
    /// The content of the block device may go.
    pub destroy_data: bool,
    /// Size of a request.
    pub block_bytes: u64,
    /// Repetitions, interleaved.
    pub runs: u32,
    /// Which engine, where a study keeps more than one request in flight.
    pub engine: Option<EngineKind>,
    /// Of all random choices.
    pub seed: u64,
}

/// Repetitions beyond any use.
const RUNS_MAX: u32 = 1_000;

/// A prepared place.
pub(crate) struct Bed {
    pub(crate) place: Place,
    pub(crate) engine: Engine,
    pub(crate) work: WorkFile,
    pub(crate) run: Run,
    /// What the measurements wrote, preparation apart.
    measured_bytes: Cell<u64>,
}

impl Bed {
    /// Finds the place, fills a work file of `size` and checks whose bytes are read.
    pub(crate) fn prepare(sense: &Sense, common: &Common, size: Size, control: &Control<'_>) -> Result<Self> {
        common.check()?;
        check_size(size.wanted_bytes)?;
        let engine = Engine::choose(common.engine)?;
        let place = Place::find(sense, &common.path, common.destroy_data)?;
        place.check_sectors(sense, common.block_bytes)?;
        let mut run = Run::begin(sense, &place, common.seed)?;
        let work = WorkFile::prepare(&place, size, &engine, common.seed, control)?;
        run.warn(cache::warning(&cache::check(sense, &place, &work, &engine, control)?));
        Ok(Self { place, engine, work, run, measured_bytes: Cell::new(0) })
    }

    /// Counts `bytes` that a measurement wrote.
    pub(crate) fn wrote(&self, bytes: u64) {
        self.measured_bytes.set(self.measured_bytes.get() + bytes);
    }

    /// Runs `streams` at the same time, and settles.
    pub(crate) fn run_streams(
        &self,
        streams: &[Stream],
        after: AfterQuota,
        control: &Control<'_>,
    ) -> Result<Vec<StreamTime>> {
        let times = run_streams(self.work.fd(), streams, after, control.stop)?;
        let writers = streams.iter().zip(&times).filter(|(stream, _)| stream.direction == Direction::Write);
        self.wrote(writers.map(|(stream, time)| time.issued * stream.block_bytes).sum());
        self.settle()?;
        Ok(times)
    }

    /// Runs `streams` one after the other, settles, and gives the time of all together in nanoseconds.
    pub(crate) fn run_in_turn(&self, streams: &[Stream], control: &Control<'_>) -> Result<u64> {
        let wall_ns = run_in_turn(self.work.fd(), streams, control.stop)?;
        let writers = streams.iter().filter(|stream| stream.direction == Direction::Write);
        self.wrote(writers.map(|stream| stream.quota * stream.block_bytes).sum());
        self.settle()?;
        Ok(wall_ns)
    }

    /// Ends the run.
    pub(crate) fn end(self, io_engine: String) -> Header {
        self.run.end(Some(io_engine), self.work.written_bytes + self.measured_bytes.get())
    }

    /// What the next measurement must not inherit: unwritten buffers, and pages in memory.
    pub(crate) fn settle(&self) -> Result<()> {
        self.work.sync(&self.place)?;
        self.work.evict(&self.place).map(|_| ())
    }
}

impl Common {
    fn check(&self) -> Result<()> {
        check_block(self.block_bytes)?;
        if !(1..=RUNS_MAX).contains(&self.runs) {
            return Err(Error::BadLoad(format!("{} runs are not possible: use 1 to {RUNS_MAX}", self.runs)));
        }
        Ok(())
    }

    /// Requests of `bytes`.
    fn requests(&self, what: &str, bytes: u64) -> Result<u64> {
        self.check()?;
        if bytes < self.block_bytes || !bytes.is_multiple_of(self.block_bytes) {
            return Err(Error::BadLoad(format!(
                "{what} of {bytes} bytes is not possible: use a multiple of the {} bytes of a request",
                self.block_bytes
            )));
        }
        Ok(bytes / self.block_bytes)
    }
}

/// The size of a work file with room for `count` times `bytes`.
fn room(what: &str, bytes: u64, count: u64) -> Result<Size> {
    let wanted = bytes.checked_mul(count).filter(|wanted| i64::try_from(*wanted).is_ok());
    let too_large = || Error::BadLoad(format!("{count} times {what} of {bytes} bytes are larger than any device"));
    Ok(exactly(wanted.ok_or_else(too_large)?))
}

/// The four kinds of load, in the order of the papers' figures.
pub(crate) const KINDS: [(Pattern, Direction); 4] = [
    (Pattern::Sequential, Direction::Read),
    (Pattern::Sequential, Direction::Write),
    (Pattern::Random, Direction::Read),
    (Pattern::Random, Direction::Write),
];

/// A size as exact as was asked for.
pub(crate) fn exactly(wanted_bytes: u64) -> Size {
    Size { wanted_bytes, exact: true, patience: None }
}

/// Summary of values that were measured: there is at least one, and all are finite.
pub(crate) fn summary(values: &[f64]) -> Result<Summary> {
    Summary::of(values).ok_or_else(|| Error::BadLoad("nothing was measured: the clock stood still".to_owned()))
}

#[cfg(test)]
mod tests;
