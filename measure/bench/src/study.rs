//! Studies on any directory or block device: four of the papers', the search for the settings with the lowest read
//! latency under concurrent writes.

pub mod concurrency;
pub mod footprint;
pub mod frontier;
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
use crate::foreign::{Flow, ForeignMeter, Own};
use crate::load::check_block;
use crate::place::Place;
use crate::results::{Direction, Header, Pattern};
use crate::streams::{AfterQuota, Stream, StreamTime, run as run_streams, run_in_turn};
use crate::work_file::{Size, WorkFile, check_size};

/// Parameters of all studies.
#[derive(Debug, Clone)]
pub struct Common {
    /// Directory, or block device with `destroy_data`.
    pub path: PathBuf,
    /// Permission to destroy the content of the block device.
    pub destroy_data: bool,
    pub block_bytes: u64,
    /// Repetitions, interleaved.
    pub runs: u32,
    /// Requested engine, for studies that keep more than one request in flight.
    pub engine: Option<EngineKind>,
    /// Seed of all random choices.
    pub seed: u64,
}

/// Upper bound of repetitions.
const RUNS_MAX: u32 = 1_000;

/// A prepared place with its work file.
pub(crate) struct Testbed {
    pub(crate) place: Place,
    pub(crate) engine: Engine,
    pub(crate) work: WorkFile,
    pub(crate) run: Run,
    /// I/O of others during measurements.
    pub(crate) foreign: ForeignMeter,
    /// Bytes written by measurements, without preparation.
    measured_bytes: Cell<u64>,
}

impl Testbed {
    /// Finds the place, fills a work file of `size` and checks whether reads reach the device.
    pub(crate) fn prepare(sense: &Sense, common: &Common, size: Size, control: &Control<'_>) -> Result<Self> {
        common.check()?;
        check_size(size.wanted_bytes)?;
        let engine = Engine::choose(common.engine)?;
        let place = Place::find(sense, &common.path, common.destroy_data)?;
        place.check_sectors(sense, common.block_bytes)?;
        let mut run = Run::begin(sense, &place, common.seed)?;
        let work = WorkFile::prepare(&place, size, &engine, common.seed, control)?;
        run.warn(cache::warning(&cache::check(sense, &place, &work, &engine, control)?));
        let foreign = ForeignMeter::new(sense, &place, work.access);
        Ok(Self { place, engine, work, run, foreign, measured_bytes: Cell::new(0) })
    }

    /// Counts `bytes` that a measurement wrote.
    pub(crate) fn wrote(&self, bytes: u64) {
        self.measured_bytes.set(self.measured_bytes.get() + bytes);
    }

    /// Bytes written so far, by preparation and measurements.
    pub(crate) fn written_bytes(&self) -> u64 {
        self.work.written_bytes + self.measured_bytes.get()
    }

    /// Runs `streams` concurrently, then settles.
    pub(crate) fn run_streams(
        &self,
        streams: &[Stream],
        after: AfterQuota,
        control: &Control<'_>,
    ) -> Result<Vec<StreamTime>> {
        let begun = self.foreign.begin();
        let times = run_streams(self.work.fd(), streams, after, control.stop)?;
        self.foreign.end(begun, &phase(streams), own(streams.iter().zip(times.iter().map(|time| time.issued))));
        let writers = streams.iter().zip(&times).filter(|(stream, _)| stream.direction == Direction::Write);
        self.wrote(writers.map(|(stream, time)| time.issued * stream.block_bytes).sum());
        self.settle()?;
        Ok(times)
    }

    /// Runs `streams` one after the other, settles, and returns their total time in nanoseconds.
    pub(crate) fn run_in_turn(&self, streams: &[Stream], control: &Control<'_>) -> Result<u64> {
        let begun = self.foreign.begin();
        let wall_ns = run_in_turn(self.work.fd(), streams, control.stop)?;
        let quotas = streams.iter().map(|stream| stream.quota);
        self.foreign.end(begun, &format!("{}, in turn", phase(streams)), own(streams.iter().zip(quotas)));
        let writers = streams.iter().filter(|stream| stream.direction == Direction::Write);
        self.wrote(writers.map(|stream| stream.quota * stream.block_bytes).sum());
        self.settle()?;
        Ok(wall_ns)
    }

    pub(crate) fn end(mut self, io_engine: String) -> Header {
        self.run.warn(self.foreign.warning());
        let written_bytes = self.written_bytes();
        self.run.end(Some(io_engine), written_bytes)
    }

    /// Writes back buffers and empties the page cache, so that the next measurement does not inherit them.
    pub(crate) fn settle(&self) -> Result<()> {
        self.work.sync(&self.place)?;
        self.work.evict(&self.place).map(|_| ())
    }
}

/// Streams as a phase: `random, 4 readers and 4 writers`.
pub(crate) fn phase(streams: &[Stream]) -> String {
    let count = |direction| streams.iter().filter(|stream| stream.direction == direction).count();
    let pattern = streams.first().map_or("no", |stream| slowdown::pattern_name(stream.pattern));
    let of =
        |count: usize, one: &str| (count > 0).then(|| format!("{count} {one}{}", if count == 1 { "" } else { "s" }));
    let kinds = [of(count(Direction::Read), "reader"), of(count(Direction::Write), "writer")];
    format!("{pattern}, {}", kinds.into_iter().flatten().collect::<Vec<_>>().join(" and "))
}

/// Requests of streams, each with the number that it issued.
pub(crate) fn own<'a>(issued: impl Iterator<Item = (&'a Stream, u64)>) -> Own {
    let mut own = Own { writes: Some(Flow::default()), ..Own::default() };
    for (stream, requests) in issued {
        own.add(stream.direction, Flow::of(requests, stream.block_bytes), stream.block_bytes);
    }
    own
}

impl Common {
    fn check(&self) -> Result<()> {
        check_block(self.block_bytes)?;
        if !(1..=RUNS_MAX).contains(&self.runs) {
            return Err(Error::BadLoad(format!("{} runs are not possible: use 1 to {RUNS_MAX}", self.runs)));
        }
        Ok(())
    }

    /// Number of requests in `bytes`.
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

/// Size of a work file of `count` times `bytes`.
fn size_for(what: &str, bytes: u64, count: u64) -> Result<Size> {
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

pub(crate) fn exactly(wanted_bytes: u64) -> Size {
    Size { wanted_bytes, exact: true, patience: None }
}

/// Summary of measured values; an error when there are none.
pub(crate) fn summary(values: &[f64]) -> Result<Summary> {
    Summary::of(values).ok_or_else(|| Error::BadLoad("nothing was measured: the clock did not advance".to_owned()))
}

#[cfg(test)]
mod tests;
