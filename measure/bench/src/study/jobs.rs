//! What something at work beside (brisk's daemon) changes for readers and writers: dissertation 4.5.2, with it and without it
//! in turns.
//!
//! Readers and writers are *finite jobs*, as fio runs them: they begin together, each moves the same bytes one request at a
//! time, and ends. So who is served first ends first, and what is left has the device to itself; but both turns do the very
//! same work, and their energies can be compared. Each side is a [`Crew`], because what is at work beside sees processes and
//! their groups. Alone, for the slowdowns, is one job of each kind, without anything beside in either case: nobody's slowdown
//! looks small because it was slow alone.
//!
//! How many bytes that are follows from how fast the device writes: jobs take about [`Options::length`].

use std::ffi::OsString;
use std::time::Duration;

use brisk_core::stats::paired_ratio;
use brisk_sense::Sense;

use super::slowdown::{STREAMS_MAX, check_streams, pattern_name};
use super::{Bed, Common, exactly, summary};
use crate::address::{Region, mix};
use crate::control::Control;
use crate::crew::{Crew, Done};
use crate::error::{Error, Result};
use crate::streams::{AfterQuota, Stream, StreamTime, mean_us};
use brisk_results::{BothWays, Direction, Header, Pattern, ProveJobs};

/// The part of the work file that each job has to itself; a longer job starts over at its end.
const REGION_BYTES: u64 = 8 << 20;
/// Requests of each writer by which it is found how fast the device writes.
const TRIAL_REQUESTS: u64 = 128;
/// Fewest and most requests of a job.
const REQUESTS: (u64, u64) = (64, 1 << 16);

/// What to measure.
#[derive(Debug, Clone)]
pub struct Options {
    /// Place and repetitions; each repetition has a turn with and one without.
    pub common: Common,
    /// Readers, and as many writers.
    pub streams: u32,
    /// About how long the writers' jobs take when nobody reads.
    pub length: Duration,
    /// The command that runs [`crate::crew::serve`].
    pub program: Vec<OsString>,
}

/// What is compared, and what it takes.
pub trait Turns {
    /// Begins a turn: with what is compared at work, or without.
    ///
    /// # Errors
    /// When that cannot be brought about.
    fn enter(&mut self, with: bool) -> Result<()>;

    /// Puts the process of the readers or of the writers where it belongs. Nothing was issued yet.
    ///
    /// # Errors
    /// When it cannot be put there.
    fn place(&mut self, direction: Direction, pid: u32) -> Result<()>;

    /// All is ready: energy counts from here.
    ///
    /// # Errors
    /// When the meter cannot be read.
    fn begin(&mut self) -> Result<()>;

    /// Ends the turn. Gives the energy in uJ since [`Turns::begin`]; the jobs themselves took `cpu_ns` for so many requests.
    ///
    /// # Errors
    /// When the meter cannot be read, or what was at work did not end well.
    fn leave(&mut self, cpu_ns: u64, requests: u64) -> Result<f64>;
}

/// What came out.
#[derive(Debug)]
pub struct Outcome {
    /// One for each pattern.
    pub jobs: Vec<ProveJobs>,
    /// What was written, and what is to be known of the place.
    pub header: Header,
}

/// Measures.
///
/// # Errors
/// When an option cannot be, the place cannot be measured, a turn cannot be brought about, a request fails, or the stop flag is
/// raised.
pub fn run(sense: &Sense, options: &Options, turns: &mut dyn Turns, control: &Control<'_>) -> Result<Outcome> {
    let common = &options.common;
    check_streams(&[options.streams])?;
    if common.block_bytes > REGION_BYTES {
        return Err(Error::BadLoad(format!("requests of {} bytes are larger than a job's part", common.block_bytes)));
    }
    let bed = Bed::prepare(sense, common, exactly(u64::from(options.streams) * 2 * REGION_BYTES), control)?;
    let mut plans = Vec::new();
    for pattern in [Pattern::Sequential, Pattern::Random] {
        control.report(0.0, &format!("{} writes, to see how fast they are", pattern_name(pattern)));
        plans.push((Plan::of(&bed, options, pattern, control)?, Seen::default()));
    }
    let steps = f64::from(common.runs) * plans.len() as f64;
    for run in 0..common.runs {
        for (index, (plan, seen)) in plans.iter_mut().enumerate() {
            let step = f64::from(run) * 2.0 + index as f64;
            control.report(step / steps, &format!("{} {1} + {1}", pattern_name(plan.pattern), plan.streams));
            plan.seed = mix(common.seed ^ (u64::from(run) << 16) ^ index as u64);
            seen.read_alone_us.push(plan.alone(&bed, Direction::Read, control)?);
            seen.write_alone_us.push(plan.alone(&bed, Direction::Write, control)?);
            for with in if run % 2 == 0 { [false, true] } else { [true, false] } {
                let turn = plan.turn(&bed, options, turns, with, control)?;
                if with { seen.with.push(turn) } else { seen.without.push(turn) }
            }
        }
    }
    let jobs = plans.iter().map(|(plan, seen)| seen.jobs(plan)).collect::<Result<_>>()?;
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

/// One turn.
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
    /// Jobs that take as long as asked for on this device.
    fn of(bed: &Bed, options: &Options, pattern: Pattern, control: &Control<'_>) -> Result<Self> {
        let Common { block_bytes, seed, .. } = options.common;
        let trial = Self { pattern, streams: options.streams, block_bytes, quota: TRIAL_REQUESTS, seed: mix(seed) };
        let times = bed.run_streams(&trial.side(Direction::Write), AfterQuota::End, control)?;
        Ok(Self { quota: quota(options.length, wall_s(&times)), ..trial })
    }

    fn side(&self, direction: Direction) -> Vec<Stream> {
        (0..self.streams).map(|number| self.stream(direction, number)).collect()
    }

    /// Readers use the even stretches of the file, writers the odd ones.
    fn stream(&self, direction: Direction, number: u32) -> Stream {
        let place = u64::from(number) * 2 + u64::from(direction == Direction::Write);
        Stream {
            pattern: self.pattern,
            direction,
            region: Region::nth(place, REGION_BYTES),
            block_bytes: self.block_bytes,
            quota: self.quota,
            seed: mix(self.seed ^ (place << 48)),
        }
    }

    /// Mean response time of one job alone: of as many requests as all jobs of its kind would have each.
    fn alone(&self, bed: &Bed, direction: Direction, control: &Control<'_>) -> Result<f64> {
        let quota = (self.quota / u64::from(self.streams)).max(REQUESTS.0);
        let one = Stream { quota, ..self.stream(direction, 0) };
        Ok(mean_us(&bed.run_streams(&[one], AfterQuota::End, control)?))
    }

    fn turn(
        &self,
        bed: &Bed,
        options: &Options,
        turns: &mut dyn Turns,
        with: bool,
        control: &Control<'_>,
    ) -> Result<Turn> {
        turns.enter(with)?;
        let crew = |direction, turns: &mut dyn Turns| -> Result<Crew> {
            let mut crew = Crew::start(&options.program)?;
            turns.place(direction, crew.pid())?;
            crew.prepare(&bed.work, &self.side(direction), control.stop)?;
            Ok(crew)
        };
        let mut writers = crew(Direction::Write, turns)?;
        let mut readers = crew(Direction::Read, turns)?;
        turns.begin()?;
        writers.begin();
        readers.begin();
        let (reads, writes) = (readers.wait(control.stop)?, writers.wait(control.stop)?);
        bed.wrote(bytes(self, &writes.times));
        // What is in the device's buffer belongs to this turn.
        bed.settle()?;
        let requests = reads.times.iter().chain(&writes.times).map(|time| time.requests).sum();
        let energy_uj = turns.leave(reads.cpu_ns + writes.cpu_ns, requests)?;
        drop((readers, writers));
        Ok(Turn::of(self, &reads, &writes, energy_uj))
    }
}

/// Requests of a job by which a side of them takes about `length`, when [`TRIAL_REQUESTS`] took `trial_s`.
fn quota(length: Duration, trial_s: f64) -> u64 {
    let wanted = TRIAL_REQUESTS as f64 * length.as_secs_f64() / trial_s;
    if wanted.is_finite() { (wanted as u64).clamp(REQUESTS.0, REQUESTS.1) } else { REQUESTS.1 }
}

/// Until the last stream ended.
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

/// All repetitions of one pattern.
#[derive(Debug, Default)]
struct Seen {
    read_alone_us: Vec<f64>,
    write_alone_us: Vec<f64>,
    without: Vec<Turn>,
    with: Vec<Turn>,
}

impl Seen {
    fn jobs(&self, plan: &Plan) -> Result<ProveJobs> {
        let of = |of: fn(&Turn) -> f64| -> [Vec<f64>; 2] {
            [&self.without, &self.with].map(|turns| turns.iter().map(of).collect())
        };
        let both = |values: [Vec<f64>; 2]| -> Result<BothWays> {
            let [without, with] = &values;
            let ratio = paired_ratio(with, without)
                .ok_or_else(|| Error::BadLoad("what has no size cannot be compared: use more requests".to_owned()))?;
            Ok(BothWays { without: summary(without)?, with: summary(with)?, ratio })
        };
        let over = |values: [Vec<f64>; 2], alone: &[f64]| {
            values.map(|values| values.iter().zip(alone).map(|(beside, alone)| beside / alone).collect())
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

// All jobs together fit into a file that the smallest phone has room for.
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
    fn a_rate_is_of_the_bytes_until_the_last_job_of_its_kind_ended() {
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
        let seen = Seen {
            read_alone_us: vec![100.0, 200.0, 100.0],
            write_alone_us: vec![400.0; 3],
            without: vec![turn(1_000.0), turn(2_000.0), turn(1_000.0)],
            with: vec![turn(300.0), turn(600.0), turn(300.0)],
        };
        let jobs = seen.jobs(&plan()).expect("all is there");
        let BothWays { without, with, ratio } = jobs.read_slowdown;
        assert_eq!((without.median, with.median, ratio.median), (10.0, 3.0, 0.3));
        assert_eq!((jobs.write_slowdown.ratio.median, jobs.stream_bytes), (1.0, 100 * 4096));
        assert!(Seen::default().jobs(&plan()).is_err());
    }

    #[test]
    fn readers_and_writers_share_no_stretch_of_the_file() {
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
