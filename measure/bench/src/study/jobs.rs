//! Effect of a running daemon on readers and writers: dissertation 4.5.2, with and without the daemon in turns.
//!
//! Readers and writers are *finite jobs*, as in fio: they start together, each moves the same bytes one request at a
//! time, and ends. The side that is served first ends first, and the other then has the device alone; but both turns do
//! the same work, so their energies can be compared. Each side is a [`StreamProcess`], because the daemon distinguishes
//! processes and their groups. The *alone* times, to which slowdowns refer, are of one job of each kind without the
//! daemon, so the slowdowns with and without it have the same reference.
//!
//! The number of bytes follows from the write throughput of the device: jobs take about [`Options::length`].

pub(crate) mod result;

use std::ffi::OsString;
use std::time::Duration;

use brisk_core::random::mix;
use brisk_core::stats::paired_ratio;
use brisk_sense::Sense;

use super::slowdown::{STREAMS_MAX, check_streams, pattern_name};
use super::{Common, Testbed, exactly, own, phase, summary};
use crate::address::Region;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::results::{BothWays, Direction, Header, Pattern, ProveJobs};
use crate::stream_process::{Done, StreamProcess};
use crate::streams::{AfterQuota, Stream, StreamTime, mean_us};

/// Part of the work file of each job; a longer job wraps around.
const REGION_BYTES: u64 = 8 << 20;
/// Requests of each writer in the trial that measures the write throughput.
const TRIAL_REQUESTS: u64 = 128;
/// Fewest and most requests of a job.
const REQUESTS: (u64, u64) = (64, 1 << 16);

#[derive(Debug, Clone)]
pub struct Options {
    /// Place and repetitions; each repetition has a turn with and one without.
    pub common: Common,
    /// Readers, and as many writers.
    pub streams: u32,
    /// Approximate length of the writers' jobs without readers.
    pub length: Duration,
    /// The command that runs [`crate::stream_process::serve`].
    pub program: Vec<OsString>,
}

/// The compared conditions.
pub trait Turns {
    /// Begins a turn, with the compared system running or without.
    ///
    /// # Errors
    /// When the condition cannot be set up.
    fn enter(&mut self, with: bool) -> Result<()>;

    /// Moves the process of the readers or of the writers to its control group. It has issued no request yet.
    ///
    /// # Errors
    /// When it cannot be moved.
    fn place(&mut self, direction: Direction, pid: u32) -> Result<()>;

    /// Starts the energy meter.
    ///
    /// # Errors
    /// When the meter cannot be read.
    fn begin(&mut self) -> Result<()>;

    /// Ends the turn. Returns the energy in uJ since [`Turns::begin`]; the jobs used `cpu_ns` for `requests` requests.
    ///
    /// # Errors
    /// When the meter cannot be read, or the compared system failed.
    fn leave(&mut self, cpu_ns: u64, requests: u64) -> Result<f64>;
}

/// Result of the study.
#[derive(Debug)]
pub struct Outcome {
    pub jobs: Vec<ProveJobs>,
    /// Bytes written, and warnings.
    pub header: Header,
}

/// Runs the study.
///
/// # Errors
/// When an option is invalid, the place cannot be measured, a turn cannot be set up, a request fails, or the stop flag
/// is set.
pub fn run(sense: &Sense, options: &Options, turns: &mut dyn Turns, control: &Control<'_>) -> Result<Outcome> {
    let common = &options.common;
    check_streams(&[options.streams])?;
    if common.block_bytes > REGION_BYTES {
        return Err(Error::BadLoad(format!("requests of {} bytes are larger than a job's part", common.block_bytes)));
    }
    let bed = Testbed::prepare(sense, common, exactly(u64::from(options.streams) * 2 * REGION_BYTES), control)?;
    let mut plans = Vec::new();
    for pattern in [Pattern::Sequential, Pattern::Random] {
        control.report(0.0, &format!("{} writes, to measure their throughput", pattern_name(pattern)));
        plans.push((Plan::of(&bed, options, pattern, control)?, Samples::default()));
    }
    let steps = f64::from(common.runs) * plans.len() as f64;
    for run in 0..common.runs {
        for (index, (plan, samples)) in plans.iter_mut().enumerate() {
            let step = f64::from(run) * 2.0 + index as f64;
            control.report(step / steps, &format!("{} {1} + {1}", pattern_name(plan.pattern), plan.streams));
            plan.seed = mix(common.seed ^ (u64::from(run) << 16) ^ index as u64);
            samples.read_alone_us.push(plan.alone(&bed, Direction::Read, control)?);
            samples.write_alone_us.push(plan.alone(&bed, Direction::Write, control)?);
            for with in if run % 2 == 0 { [false, true] } else { [true, false] } {
                let turn = plan.turn(&bed, options, turns, with, control)?;
                if with { samples.with.push(turn) } else { samples.without.push(turn) }
            }
        }
    }
    let jobs = plans.iter().map(|(plan, samples)| samples.jobs(plan)).collect::<Result<_>>()?;
    Ok(Outcome { jobs, header: bed.end("calls (jobs wait for each request)".to_owned()) })
}

/// The jobs of one pattern.
struct Plan {
    pattern: Pattern,
    streams: u32,
    block_bytes: u64,
    /// Requests of each job.
    quota: u64,
    seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Turn {
    read_us: f64,
    write_us: f64,
    read_bytes_per_s: f64,
    write_bytes_per_s: f64,
    bytes_per_s: f64,
    energy_uj: f64,
}

impl Plan {
    /// Jobs that take the requested time on this device.
    fn of(bed: &Testbed, options: &Options, pattern: Pattern, control: &Control<'_>) -> Result<Self> {
        let Common { block_bytes, seed, .. } = options.common;
        let trial = Self { pattern, streams: options.streams, block_bytes, quota: TRIAL_REQUESTS, seed: mix(seed) };
        let times = bed.run_streams(&trial.side(Direction::Write), AfterQuota::End, control)?;
        Ok(Self { quota: quota(options.length, wall_s(&times)), ..trial })
    }

    fn side(&self, direction: Direction) -> Vec<Stream> {
        (0..self.streams).map(|number| self.stream(direction, number)).collect()
    }

    fn stream(&self, direction: Direction, number: u32) -> Stream {
        let Self { pattern, block_bytes, quota, seed, .. } = *self;
        let region = Region::first(REGION_BYTES);
        Stream { pattern, direction, region, block_bytes, quota, seed }.interleaved(direction, number)
    }

    /// Mean response time of one job alone, with a share of the requests.
    fn alone(&self, bed: &Testbed, direction: Direction, control: &Control<'_>) -> Result<f64> {
        let quota = (self.quota / u64::from(self.streams)).max(REQUESTS.0);
        let one = Stream { quota, ..self.stream(direction, 0) };
        Ok(mean_us(&bed.run_streams(&[one], AfterQuota::End, control)?))
    }

    fn turn(
        &self,
        bed: &Testbed,
        options: &Options,
        turns: &mut dyn Turns,
        with: bool,
        control: &Control<'_>,
    ) -> Result<Turn> {
        turns.enter(with)?;
        let start = |direction, turns: &mut dyn Turns| -> Result<StreamProcess> {
            let mut process = StreamProcess::start(&options.program)?;
            turns.place(direction, process.pid())?;
            process.prepare(&bed.work, &self.side(direction), control.stop)?;
            Ok(process)
        };
        let mut writers = start(Direction::Write, turns)?;
        let mut readers = start(Direction::Read, turns)?;
        turns.begin()?;
        let begun = bed.foreign.begin();
        writers.begin();
        readers.begin();
        let (reads, writes) = (readers.wait(control.stop)?, writers.wait(control.stop)?);
        let streams = [self.side(Direction::Read), self.side(Direction::Write)].concat();
        let issued = reads.times.iter().chain(&writes.times).map(|time| time.issued);
        bed.foreign.end(begun, &phase(&streams), own(streams.iter().zip(issued)));
        bed.wrote(bytes(self, &writes.times));
        // Writes in the device's buffer belong to this turn.
        bed.settle()?;
        let requests = reads.times.iter().chain(&writes.times).map(|time| time.requests).sum();
        let energy_uj = turns.leave(reads.cpu_ns + writes.cpu_ns, requests)?;
        drop((readers, writers));
        Ok(Turn::of(self, &reads, &writes, energy_uj))
    }
}

/// Requests of a job for about `length`, when [`TRIAL_REQUESTS`] took `trial_s`.
fn quota(length: Duration, trial_s: f64) -> u64 {
    let wanted = TRIAL_REQUESTS as f64 * length.as_secs_f64() / trial_s;
    if wanted.is_finite() { (wanted as u64).clamp(REQUESTS.0, REQUESTS.1) } else { REQUESTS.1 }
}

/// Time until the last stream ended.
fn wall_s(times: &[StreamTime]) -> f64 {
    times.iter().map(|time| time.wall_ns).max().unwrap_or(0) as f64 / 1e9
}

fn bytes(plan: &Plan, times: &[StreamTime]) -> u64 {
    times.iter().map(|time| time.requests * plan.block_bytes).sum()
}

impl Turn {
    fn of(plan: &Plan, reads: &Done, writes: &Done, energy_uj: f64) -> Self {
        let rate = |times: &[&[StreamTime]]| {
            let moved: u64 = times.iter().map(|times| bytes(plan, times)).sum();
            moved as f64 / times.iter().map(|times| wall_s(times)).fold(0.0, f64::max)
        };
        Self {
            read_us: mean_us(&reads.times),
            write_us: mean_us(&writes.times),
            read_bytes_per_s: rate(&[&reads.times]),
            write_bytes_per_s: rate(&[&writes.times]),
            bytes_per_s: rate(&[&reads.times, &writes.times]),
            energy_uj,
        }
    }
}

/// Measurements of all repetitions of one pattern.
#[derive(Debug, Default)]
struct Samples {
    read_alone_us: Vec<f64>,
    write_alone_us: Vec<f64>,
    without: Vec<Turn>,
    with: Vec<Turn>,
}

impl Samples {
    fn jobs(&self, plan: &Plan) -> Result<ProveJobs> {
        let of = |of: fn(&Turn) -> f64| -> [Vec<f64>; 2] {
            [&self.without, &self.with].map(|turns| turns.iter().map(of).collect())
        };
        let both = |values: [Vec<f64>; 2]| -> Result<BothWays> {
            let [without, with] = &values;
            let ratio = paired_ratio(with, without)
                .ok_or_else(|| Error::BadLoad("zero cannot be compared: use more requests".to_owned()))?;
            Ok(BothWays { without: summary(without)?, with: summary(with)?, ratio })
        };
        let over = |values: [Vec<f64>; 2], alone: &[f64]| {
            values.map(|values| values.iter().zip(alone).map(|(mixed, alone)| mixed / alone).collect())
        };
        Ok(ProveJobs {
            pattern: plan.pattern,
            streams: plan.streams,
            stream_bytes: plan.quota * plan.block_bytes,
            read_alone_us: summary(&self.read_alone_us)?,
            write_alone_us: summary(&self.write_alone_us)?,
            read_us: both(of(|turn| turn.read_us))?,
            write_us: both(of(|turn| turn.write_us))?,
            read_slowdown: both(over(of(|turn| turn.read_us), &self.read_alone_us))?,
            write_slowdown: both(over(of(|turn| turn.write_us), &self.write_alone_us))?,
            read_bytes_per_s: both(of(|turn| turn.read_bytes_per_s))?,
            write_bytes_per_s: both(of(|turn| turn.write_bytes_per_s))?,
            bytes_per_s: both(of(|turn| turn.bytes_per_s))?,
            energy_uj: both(of(|turn| turn.energy_uj))?,
        })
    }
}

// All jobs together fit into a file on the smallest phone.
const _: () = assert!(STREAMS_MAX as u64 * 2 * REGION_BYTES <= 1 << 30);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plan() -> Plan {
        Plan { pattern: Pattern::Random, streams: 2, block_bytes: 4096, quota: 100, seed: 1 }
    }

    fn done(walls_s: [f64; 2], mean_us: f64) -> Done {
        let time = |wall_s: f64| StreamTime {
            requests: 100,
            total_ns: (mean_us * 1e5) as u64,
            wall_ns: (wall_s * 1e9) as u64,
            issued: 100,
        };
        Done { times: walls_s.map(time).into(), cpu_ns: 0 }
    }

    #[test]
    fn a_rate_counts_the_bytes_until_the_last_job_of_its_kind_ended() {
        let turn = Turn::of(&plan(), &done([0.5, 1.0], 50.0), &done([4.0, 2.0], 400.0), 7.0);
        assert_eq!((turn.read_us, turn.write_us, turn.energy_uj), (50.0, 400.0, 7.0));
        let bytes = 200.0 * 4096.0;
        assert_eq!((turn.read_bytes_per_s, turn.write_bytes_per_s), (bytes, bytes / 4.0));
        assert_eq!(turn.bytes_per_s, 2.0 * bytes / 4.0);
    }

    #[test]
    fn slowdowns_with_and_without_refer_to_the_same_time_alone() {
        let turn =
            |read_us| Turn { read_us, ..Turn::of(&plan(), &done([1.0, 1.0], 50.0), &done([1.0, 1.0], 400.0), 1.0) };
        let samples = Samples {
            read_alone_us: vec![100.0, 200.0, 100.0],
            write_alone_us: vec![400.0; 3],
            without: vec![turn(1_000.0), turn(2_000.0), turn(1_000.0)],
            with: vec![turn(300.0), turn(600.0), turn(300.0)],
        };
        let jobs = samples.jobs(&plan()).expect("all is there");
        let BothWays { without, with, ratio } = jobs.read_slowdown;
        assert_eq!((without.median, with.median, ratio.median), (10.0, 3.0, 0.3));
        assert_eq!((jobs.write_slowdown.ratio.median, jobs.stream_bytes), (1.0, 100 * 4096));
        assert!(Samples::default().jobs(&plan()).is_err());
    }

    #[test]
    fn readers_and_writers_share_no_part_of_the_file() {
        let plan = plan();
        let mut all: Vec<u64> = [Direction::Read, Direction::Write]
            .into_iter()
            .flat_map(|direction| plan.side(direction))
            .map(|stream| stream.region.start_bytes)
            .collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3].map(|place| place * REGION_BYTES));
    }

    proptest! {
        #[test]
        fn a_faster_device_gets_longer_jobs_within_bounds(slow in 1e-6f64..1e3, factor in 1.0f64..1e3) {
            let of = |trial_s| quota(Duration::from_secs(3), trial_s);
            prop_assert!(of(slow) <= of(slow / factor));
            prop_assert!((REQUESTS.0..=REQUESTS.1).contains(&of(slow)));
        }
    }
}
