//! StoreBench: the storage benchmark, job by job.
//!
//! A job is one kind of load alone on the device. Every round runs all jobs once, in random order, in short slices, so
//! that drift of the machine affects all alike. Rounds repeat until the interval of each job's median is narrow enough
//! ([`Rule`]) or the time is up; jobs with wide intervals are named in a warning.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brisk_core::random::{Random, mix};
use brisk_core::stats::Summary;
use brisk_core::units::format_bytes;
use brisk_sense::Sense;

use crate::cache;
use crate::control::Control;
use crate::cpu::CpuShares;
use crate::engine::{Caller, Engine, EngineKind};
use crate::environment::{Run, few_repeats, write_limit};
use crate::error::{Error, Result};
use crate::foreign::{Flow, ForeignMeter, Own};
use crate::latency::{Clock, Times};
use crate::load::{End, Load, check_block, check_depth};
use crate::place::Place;
use crate::repeats::Rule;
use crate::results::{BenchReport, Direction, JobResult, JobRun, Pattern, SyncResult};
use crate::verdict::verdict;
use crate::work_file::{Access, Size, WorkFile, check_size};

/// Time and precision of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// Within a minute, intervals within 10 %.
    Quick,
    /// About three minutes, intervals within 5 %.
    Normal,
    /// Up to ten minutes, intervals within 5 %, every block size.
    Full,
}

struct Allowance {
    name: &'static str,
    time: Duration,
    file_bytes: u64,
    /// Most bytes written in all, to limit flash wear.
    written_bytes_max: u64,
    rule: Rule,
    /// Rounds that should fit into the time; sets the length of a slice.
    rounds: u32,
    /// The block size doubles this many times from one step of the sweep to the next.
    sweep_shift: u32,
}

impl Budget {
    fn allowance(self) -> Allowance {
        let (name, seconds, file_mib, written_gib, width, least, rounds, sweep_shift) = match self {
            Self::Quick => ("quick", 50, 128, 4, 0.10, 5, 5, 2),
            Self::Normal => ("normal", 180, 512, 12, 0.05, 6, 9, 2),
            Self::Full => ("full", 600, 1024, 32, 0.05, 6, 14, 1),
        };
        Allowance {
            name,
            time: Duration::from_secs(seconds),
            file_bytes: file_mib << 20,
            written_bytes_max: written_gib << 30,
            rule: Rule { width, rounds: least },
            rounds,
            sweep_shift,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Options {
    /// Directory, or block device with `destroy_data`.
    pub path: PathBuf,
    /// Permission to destroy the content of the block device.
    pub destroy_data: bool,
    pub budget: Budget,
    /// Total time, instead of the budget's.
    pub time: Option<Duration>,
    /// Size of the work file, instead of the budget's.
    pub size_bytes: Option<u64>,
    /// Most bytes to write in all, instead of the budget's. The file and the first round are always written.
    pub written_bytes_max: Option<u64>,
    /// Base block size.
    pub block_bytes: u64,
    /// The deepest queue.
    pub depth_requests: u32,
    /// Requested engine; by default the one that works.
    pub engine: Option<EngineKind>,
    /// Seed of all random choices.
    pub seed: u64,
}

/// Largest block of the sweep.
const SWEEP_END_BYTES: u64 = 1 << 20;
/// The shortest slice; below it, start and end dominate.
const SLICE_MIN: Duration = Duration::from_millis(50);
/// The longest slice; more rounds are better than longer slices.
const SLICE_MAX: Duration = Duration::from_secs(1);
/// Fewest requests of a slice for each one in flight, whatever the write limit.
const SLICE_REQUESTS_MIN: u64 = 4;
/// Share of the time for preparation; after it the file is cut short.
const PREPARE_SHARE: f64 = 0.3;

/// One kind of load, and its measurements.
struct Job {
    pattern: Pattern,
    direction: Direction,
    block_bytes: u64,
    depth_requests: u32,
    rates: Vec<f64>,
    times: Times,
    cpu_ns: u64,
    shares: CpuShares,
}

/// One system call that makes writes durable, and its measurements.
struct SyncJob {
    call: &'static str,
    times: Times,
}

/// Runs the benchmark.
///
/// # Errors
/// When an option is invalid, the place cannot be measured, a request fails, or the stop flag is set.
pub fn run(sense: &Sense, options: &Options, control: &Control<'_>) -> Result<BenchReport> {
    let allowance = options.budget.allowance();
    let time = options.time.unwrap_or(allowance.time);
    check_block(options.block_bytes)?;
    check_depth(options.depth_requests, options.block_bytes)?;
    if let Some(size_bytes) = options.size_bytes {
        check_size(size_bytes)?;
    }
    let engine = Engine::choose(options.engine)?;
    let place = Place::find(sense, &options.path, options.destroy_data)?;
    place.check_sectors(sense, options.block_bytes)?;

    let mut run = Run::begin(sense, &place, options.seed)?;
    let size = Size {
        wanted_bytes: options.size_bytes.unwrap_or(allowance.file_bytes),
        exact: options.size_bytes.is_some(),
        patience: Some(time.mul_f64(PREPARE_SHARE)),
    };
    let mut work = WorkFile::prepare(&place, size, &engine, options.seed, control)?;
    let mut jobs = jobs(options, allowance.sweep_shift, work.size_bytes);
    let cache = cache::check(sense, &place, &work, &engine, control)?;
    run.warn(cache::warning(&cache).into_iter().chain(engine.warning()));

    let mut syncs = ["fsync", "fdatasync"].map(|call| SyncJob { call, times: Times::default() });
    let left = time.saturating_sub(run.elapsed());
    let slices = (jobs.len() + syncs.len()) as u32 * allowance.rounds;
    let slice = (left / slices).clamp(SLICE_MIN, SLICE_MAX);
    let deadline = Instant::now() + left;
    let written_bytes_max = options.written_bytes_max.unwrap_or(allowance.written_bytes_max);
    // On fast storage, the write limit is shared among the planned slices.
    let writing = (jobs.len() / 2) as u64 * u64::from(allowance.rounds);
    let slice_bytes_max = written_bytes_max.saturating_sub(work.written_bytes) / writing.max(1);
    let limits = Limits { slice, slice_bytes_max, written_bytes_max, deadline };
    let foreign = ForeignMeter::new(sense, &place, work.access);
    let mut bench =
        Bench { sense, place: &place, engine: &engine, work: &mut work, options, control, limits, foreign: &foreign };
    let imprecise = bench.rounds(&mut jobs, &mut syncs, allowance.rule)?;
    let spared = bench.is_spent();
    run.warn(foreign.warning());
    if !imprecise.is_empty() {
        run.warn([few_repeats(&imprecise, jobs.len(), allowance.rule.width * 100.0)]);
    }
    if spared {
        run.warn([write_limit(work.written_bytes, written_bytes_max)]);
    }

    let of = |wanted: &dyn Fn(&Job) -> bool| jobs.iter().filter(|j| wanted(j)).filter_map(Job::result).collect();
    let deepest = options.depth_requests;
    let base = options.block_bytes;
    let mut report = BenchReport {
        budget: allowance.name.to_owned(),
        work_bytes: work.size_bytes,
        cache,
        jobs: of(&|job| job.block_bytes == base && [1, deepest].contains(&job.depth_requests)),
        block_sweep: of(&|job| job.depth_requests == 1),
        depth_sweep: of(&|job| job.block_bytes == base),
        syncs: syncs.iter().filter_map(|job| job.result(base)).collect(),
        verdict: Vec::new(),
        header: run.end(Some(engine.description()), work.written_bytes),
    };
    report.verdict = verdict(&report);
    Ok(report)
}

/// All jobs in order of importance: base block size at depth 1 and the deepest, block sizes at depth 1, depths at the
/// base block size.
fn jobs(options: &Options, sweep_shift: u32, size_bytes: u64) -> Vec<Job> {
    let (base, deepest) = (options.block_bytes, options.depth_requests);
    let mut loads = vec![(base, 1), (base, deepest)];
    loads.extend((1..).map(|i| base << (i * sweep_shift)).take_while(|b| *b <= SWEEP_END_BYTES).map(|b| (b, 1)));
    loads.extend((1..).map(|i| 1u32 << i).take_while(|d| *d < deepest).map(|d| (base, d)));
    if deepest == 1 {
        loads.remove(1);
    }
    let mut jobs = Vec::new();
    for (block_bytes, depth_requests) in loads {
        // A file of only a few blocks would be read again and again.
        if size_bytes / block_bytes < u64::from(depth_requests) {
            continue;
        }
        for pattern in [Pattern::Sequential, Pattern::Random] {
            for direction in [Direction::Read, Direction::Write] {
                jobs.push(Job {
                    pattern,
                    direction,
                    block_bytes,
                    depth_requests,
                    rates: Vec::new(),
                    times: Times::default(),
                    cpu_ns: 0,
                    shares: CpuShares::default(),
                });
            }
        }
    }
    jobs
}

struct Bench<'a> {
    sense: &'a Sense,
    place: &'a Place,
    engine: &'a Engine,
    work: &'a mut WorkFile,
    options: &'a Options,
    control: &'a Control<'a>,
    limits: Limits,
    foreign: &'a ForeignMeter,
}

/// Limits of a slice and of the run.
#[derive(Debug, Clone, Copy)]
struct Limits {
    slice: Duration,
    slice_bytes_max: u64,
    written_bytes_max: u64,
    deadline: Instant,
}

impl Bench<'_> {
    /// Repeats rounds until all jobs are precise or time is up; returns the names of the imprecise ones.
    fn rounds(&mut self, jobs: &mut [Job], syncs: &mut [SyncJob], rule: Rule) -> Result<Vec<String>> {
        let Limits { slice, deadline, .. } = self.limits;
        let begun = Instant::now();
        let whole = deadline.saturating_duration_since(begun).as_secs_f64().max(1e-3);
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        let mut random = Random(self.options.seed);
        for round in 0u64.. {
            // The first round runs completely, the most important jobs first.
            if round > 0 {
                let spent = self.is_spent();
                order.retain(|&index| {
                    !(rule.is_met(&jobs[index].rates) || spent && jobs[index].direction == Direction::Write)
                });
                random.shuffle(&mut order);
            }
            if order.is_empty() {
                break;
            }
            for &index in &order {
                if round > 0 && Instant::now() + slice > deadline {
                    return Ok(self.imprecise(jobs, rule));
                }
                if round > 0 && self.is_spent() && jobs[index].direction == Direction::Write {
                    continue;
                }
                let known = jobs.iter().filter(|job| rule.is_met(&job.rates)).count() as f64 / jobs.len() as f64;
                let done = (begun.elapsed().as_secs_f64() / whole).max(known);
                self.control.report(done, &jobs[index].name());
                self.slice(&mut jobs[index], mix(self.options.seed ^ (round << 32) ^ index as u64))?;
            }
            for sync in syncs.iter_mut() {
                if round > 0 && self.is_spent() {
                    break;
                }
                self.control.report((begun.elapsed().as_secs_f64() / whole).min(1.0), sync.call);
                self.sync_slice(sync, mix(self.options.seed ^ !round), round > 0)?;
            }
        }
        Ok(self.imprecise(jobs, rule))
    }

    /// Whether the write limit is reached.
    fn is_spent(&self) -> bool {
        self.work.written_bytes >= self.limits.written_bytes_max
    }

    /// Names of the imprecise jobs, without those that the write limit ended.
    fn imprecise(&self, jobs: &[Job], rule: Rule) -> Vec<String> {
        let spent = self.is_spent();
        let ended = |job: &Job| spent && job.direction == Direction::Write;
        jobs.iter().filter(|job| !rule.is_met(&job.rates) && !ended(job)).map(Job::name).collect()
    }

    fn slice(&mut self, job: &mut Job, seed: u64) -> Result<()> {
        let region = self.work.region();
        let mut end = End::after_time(self.limits.slice);
        if job.direction == Direction::Write {
            let fewest = u64::from(job.depth_requests) * SLICE_REQUESTS_MIN;
            end.requests = Some((self.limits.slice_bytes_max / job.block_bytes).max(fewest));
        }
        if self.work.access == Access::Evicted {
            // A second pass would hit the page cache.
            self.work.evict(self.place)?;
            let pass = region.len_bytes / job.block_bytes;
            end.requests = Some(end.requests.unwrap_or(pass).min(pass));
        }
        let load = Load {
            depth_requests: job.depth_requests,
            seed,
            end,
            ..Load::plain(job.pattern, job.direction, job.block_bytes, region)
        };
        let (work, engine, stop) = (&*self.work, self.engine, self.control.stop);
        let begun = self.foreign.begin();
        let outcome = job.shares.during(self.sense, || engine.run(work.fd(), &load, stop))?;
        let own = Own::only(job.direction, outcome.requests(), job.block_bytes);
        self.foreign.end(begun, &job.name(), own);
        self.control.check()?;
        if job.direction == Direction::Write {
            self.work.written_bytes += outcome.requests() * job.block_bytes;
            // Writes in the device's buffer must not slow down the next job.
            self.work.sync(self.place)?;
        }
        if outcome.requests() > 0 {
            job.rates.push(outcome.requests_per_s());
            job.times.merge(if job.direction == Direction::Read { &outcome.reads } else { &outcome.writes });
            job.cpu_ns += outcome.cpu_ns;
        }
        Ok(())
    }

    /// Writes single blocks and makes each durable; respects the write limit if `limited`.
    fn sync_slice(&mut self, job: &mut SyncJob, seed: u64, limited: bool) -> Result<()> {
        let load = Load {
            seed,
            ..Load::plain(Pattern::Random, Direction::Write, self.options.block_bytes, self.work.region())
        };
        let mut caller = Caller::new(self.work.fd(), &load)?;
        let begun = self.foreign.begin();
        let clock = Clock::start();
        let left_bytes = self.limits.written_bytes_max.saturating_sub(self.work.written_bytes);
        let mut written_bytes = 0;
        for number in 0.. {
            let begun_ns = clock.ns();
            caller.issue(number, &clock)?;
            let synced = match job.call {
                "fsync" => rustix::fs::fsync(self.work.fd()),
                _ => rustix::fs::fdatasync(self.work.fd()),
            };
            synced.map_err(|errno| Error::system("sync to", &self.place.path, errno))?;
            job.times.add_ns(clock.ns() - begun_ns);
            written_bytes += load.block_bytes;
            let enough_bytes = self.limits.slice_bytes_max.max(SLICE_REQUESTS_MIN * load.block_bytes);
            let spent = written_bytes >= enough_bytes || limited && written_bytes >= left_bytes;
            if spent || clock.ns() >= self.limits.slice.as_nanos() as u64 || raised(self.control.stop) {
                break;
            }
        }
        // Each call may make the file system write more than the data.
        let own = Own { reads: Flow::default(), writes: None, block_bytes: load.block_bytes };
        self.foreign.end(begun, job.call, own);
        self.work.written_bytes += written_bytes;
        self.control.check()
    }
}

fn raised(stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed)
}

impl Job {
    /// `random read 4 KiB depth 32`.
    fn name(&self) -> String {
        let pattern = if self.pattern == Pattern::Sequential { "sequential" } else { "random" };
        let direction = if self.direction == Direction::Read { "read" } else { "write" };
        format!("{pattern} {direction} {} depth {}", format_bytes(self.block_bytes), self.depth_requests)
    }

    /// Its result; `None` when it never ran.
    fn result(&self) -> Option<JobResult> {
        let bandwidth: Vec<f64> = self.rates.iter().map(|rate| rate * self.block_bytes as f64).collect();
        Some(JobResult {
            pattern: self.pattern,
            direction: self.direction,
            block_bytes: self.block_bytes,
            depth_requests: self.depth_requests,
            bandwidth_bytes_per_s: Summary::of(&bandwidth)?,
            requests_per_s: Summary::of(&self.rates)?,
            latency: self.times.report()?,
            cpu_us_per_request: self.cpu_ns as f64 / self.times.count() as f64 / 1e3,
            iowait_percent: self.shares.iowait_percent(),
            cpu_busy_percent: self.shares.busy_percent(),
            runs: self
                .rates
                .iter()
                .zip(bandwidth)
                .map(|(rate, bandwidth_bytes_per_s)| JobRun { bandwidth_bytes_per_s, requests_per_s: *rate })
                .collect(),
        })
    }
}

impl SyncJob {
    fn result(&self, block_bytes: u64) -> Option<SyncResult> {
        Some(SyncResult { call: self.call.to_owned(), block_bytes, latency: self.times.report()? })
    }
}

#[cfg(test)]
mod tests;
