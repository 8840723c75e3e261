//! The kernel's I/O schedulers under mixed loads: dissertation 4.5.3.
//!
//! A mix is a fixed number of requests, a share of them reads, with `depth` in flight; its response time is the time
//! until all are done. All mixes run under every scheduler of this kernel, at the scheduler's default queue depth
//! (`nr_requests`) or at each requested depth. Slowdowns refer to the response times of the mixes of only reads and
//! only writes.
//!
//! Settings are changed through `brisk_act`, which journals the previous values. They are restored at the end, on an
//! error and on a stop; after a kill, by the next command.

use std::sync::atomic::Ordering;

use brisk_act::{BlockQueue, Journal, Paths, Report};
use brisk_core::random::{Random, mix};
use brisk_sense::Sense;

use crate::address::Region;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::foreign::{Flow, Own};
use crate::latency::Times;
use crate::load::{End, Load, check_depth};
use crate::place::Place;
use crate::results::{Direction, Pattern, SchedulerPoint, SchedulersReport};
use crate::study::slowdown::pattern_name;
use crate::study::{Common, Testbed, size_for, summary};

/// Requests that the paper keeps in flight.
pub const PAPER_DEPTH_REQUESTS: u32 = 128;
/// Bytes of the paper's mixes.
pub const PAPER_MIX_BYTES: u64 = 128 << 20;
/// Shares of reads: the paper's, and 0, the reference of write slowdowns.
pub const READ_PERCENTS: [u32; 11] = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

#[derive(Debug, Clone)]
pub struct Options {
    /// Place and repetitions.
    pub common: Common,
    pub mix_bytes: u64,
    /// Requests that the load keeps in flight.
    pub depth_requests: u32,
    /// Values of `nr_requests` to try; empty for each scheduler's default.
    pub queue_depths_requests: Vec<u32>,
    /// Schedulers to try; empty for all that the kernel offers.
    pub schedulers: Vec<String>,
    /// Shares of reads to try.
    pub read_percents: Vec<u32>,
}

/// One setting of the queue, and its measurements.
struct Setting {
    scheduler: String,
    wanted_depth: Option<u32>,
    found_depth: u32,
    /// By pattern and share of reads.
    mixes: Vec<Mix>,
}

struct Mix {
    pattern: Pattern,
    read_percent: u32,
    response_s: Vec<f64>,
    read_us: Vec<f64>,
    write_us: Vec<f64>,
}

/// Runs the study.
///
/// # Errors
/// When an option is invalid, the place cannot be measured or has no block device, a setting is refused, a request
/// fails, or the stop flag is set. The settings are restored in every case.
pub fn run(sense: &Sense, paths: &Paths, options: &Options, control: &Control<'_>) -> Result<SchedulersReport> {
    let common = &options.common;
    let requests = common.requests("a mix", options.mix_bytes)?;
    check_depth(options.depth_requests, common.block_bytes)?;
    check_choices(options)?;
    // Checked before the first write: is there a queue, and is every scheduler known?
    let place = Place::find(sense, &common.path, common.destroy_data)?;
    let disk = place.sole()?.disk.name.clone();
    let offered = sense.block_queue(&disk)?.schedulers.available;
    let schedulers = chosen(&options.schedulers, &offered, &disk)?;
    let bed = Testbed::prepare(sense, common, size_for("a mix", options.mix_bytes, 2)?, control)?;

    let mut settings = settings(&schedulers, options);
    let mut queue = BlockQueue::new(&paths.sysfs, &disk);
    let mut journal = Journal::open("study-schedulers", paths).map_err(|e| act("open the journal of changes", e))?;
    let mut order: Vec<usize> = (0..settings.len()).collect();
    let mut random = Random(common.seed);
    let steps = f64::from(common.runs) * settings.len() as f64;
    let mut restored = true;
    for run in 0..common.runs {
        random.shuffle(&mut order);
        for (step, &index) in order.iter().enumerate() {
            let done = (f64::from(run) * settings.len() as f64 + step as f64) / steps;
            let setting = &mut settings[index];
            let measured = setting
                .apply(&mut queue, &mut journal, sense, &disk)
                .and_then(|()| setting.measure(&bed, options, requests, run, control, (done, 1.0 / steps)));
            // Restored between settings: a depth set under `none` resizes the driver's tags for all later settings.
            let undone = journal.restore();
            measured.map_err(|error| with_unrestored(error, &disk, &undone))?;
            let report = undone.map_err(|e| act(&format!("restore the settings of {disk}"), e))?;
            restored &= report.left.is_empty();
        }
    }
    let engine = bed.engine.description();
    let points = settings.iter().map(|setting| setting.points(options.depth_requests)).collect::<Result<Vec<_>>>()?;
    Ok(SchedulersReport {
        block_bytes: common.block_bytes,
        mix_bytes: options.mix_bytes,
        points: points.into_iter().flatten().collect(),
        restored,
        header: bed.end(engine),
    })
}

fn check_choices(options: &Options) -> Result<()> {
    if options.read_percents.is_empty() || options.read_percents.iter().any(|percent| *percent > 100) {
        return Err(Error::BadLoad("shares of reads must be 0 to 100 percent, such as --reads 10,50,100".to_owned()));
    }
    if options.queue_depths_requests.iter().any(|depth| !(4..=100_000).contains(depth)) {
        return Err(Error::BadLoad(
            "queue depths must be 4 or more, the kernel's minimum: --depths 4,32,128".to_owned(),
        ));
    }
    Ok(())
}

/// The requested schedulers, or all.
pub(crate) fn chosen(wanted: &[String], offered: &[String], disk: &str) -> Result<Vec<String>> {
    if let Some(unknown) = wanted.iter().find(|name| !offered.contains(name)) {
        return Err(Error::BadLoad(format!(
            "this kernel has no scheduler '{unknown}' for {disk}: it offers {}",
            offered.join(", ")
        )));
    }
    match (wanted, offered) {
        ([], []) => Err(Error::BadLoad(format!("{disk} has no I/O scheduler to choose"))),
        ([], all) => Ok(all.to_vec()),
        (wanted, _) => Ok(wanted.to_vec()),
    }
}

fn settings(schedulers: &[String], options: &Options) -> Vec<Setting> {
    let depths: Vec<Option<u32>> = match options.queue_depths_requests.as_slice() {
        [] => vec![None],
        depths => depths.iter().copied().map(Some).collect(),
    };
    let mix = |pattern, read_percent| Mix {
        pattern,
        read_percent,
        response_s: Vec::new(),
        read_us: Vec::new(),
        write_us: Vec::new(),
    };
    let mixes = || {
        let of = |pattern| options.read_percents.iter().map(move |percent| mix(pattern, *percent));
        of(Pattern::Sequential).chain(of(Pattern::Random)).collect()
    };
    schedulers
        .iter()
        .flat_map(|scheduler| depths.iter().map(move |depth| (scheduler, *depth)))
        .map(|(scheduler, wanted_depth)| Setting {
            scheduler: scheduler.clone(),
            wanted_depth,
            found_depth: 0,
            mixes: mixes(),
        })
        .collect()
}

pub(crate) fn act(doing: &str, error: brisk_act::Error) -> Error {
    Error::Act { doing: doing.to_owned(), source: Box::new(error) }
}

/// `error`, or with it the settings that could not be restored.
pub(crate) fn with_unrestored(
    error: Error,
    disk: &str,
    undone: &std::result::Result<Report, brisk_act::Error>,
) -> Error {
    let left = match undone {
        Ok(report) if report.left.is_empty() => return error,
        Ok(report) => report.left.iter().map(|l| format!("{}: {}", l.knob, l.reason)).collect::<Vec<_>>().join("; "),
        Err(failed) => failed.to_string(),
    };
    Error::LeftBehind { disk: disk.to_owned(), left, ended_by: Box::new(error) }
}

impl Setting {
    fn apply(&mut self, queue: &mut BlockQueue, journal: &mut Journal, sense: &Sense, disk: &str) -> Result<()> {
        queue
            .set_scheduler(journal, &self.scheduler)
            .map_err(|e| act(&format!("switch {disk} to {} (only root can)", self.scheduler), e))?;
        self.found_depth = match self.wanted_depth {
            Some(depth) => queue
                .set_nr_requests(journal, depth)
                .map_err(|e| act(&format!("set {depth} requests under {} on {disk}", self.scheduler), e))?,
            None => sense.block_queue(disk)?.depth_requests.unwrap_or(0),
        };
        Ok(())
    }

    fn measure(
        &mut self,
        bed: &Testbed,
        options: &Options,
        requests: u64,
        run: u32,
        control: &Control<'_>,
        (done, step): (f64, f64),
    ) -> Result<()> {
        let count = self.mixes.len() as f64;
        for (index, mixed) in self.mixes.iter_mut().enumerate() {
            let name = format!("{}: {} {} % reads", self.scheduler, pattern_name(mixed.pattern), mixed.read_percent);
            control.report(done + step * index as f64 / count, &name);
            let load = Load {
                pattern: mixed.pattern,
                read_percent: mixed.read_percent,
                block_bytes: options.common.block_bytes,
                depth_requests: options.depth_requests,
                streams: 1,
                durable_every_writes: 0,
                reads: Region::first(options.mix_bytes),
                writes: Region::nth(1, options.mix_bytes),
                // The same for every scheduler: each gets the same requests.
                seed: mix(options.common.seed ^ (u64::from(run) << 32) ^ index as u64),
                end: End::after_requests(requests),
            };
            let begun = bed.foreign.begin();
            let outcome = bed.engine.run(bed.work.fd(), &load, control.stop)?;
            let flow = |times: &Times| Flow::of(times.count(), load.block_bytes);
            let (reads, writes) = (flow(&outcome.reads), Some(flow(&outcome.writes)));
            bed.foreign.end(begun, &name, Own { reads, writes, block_bytes: load.block_bytes });
            if control.stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            bed.wrote(outcome.writes.count() * options.common.block_bytes);
            bed.settle()?;
            mixed.response_s.push(outcome.wall_ns as f64 / 1e9);
            mixed.read_us.extend(outcome.reads.mean_us());
            mixed.write_us.extend(outcome.writes.mean_us());
        }
        Ok(())
    }

    fn points(&self, depth_requests: u32) -> Result<Vec<SchedulerPoint>> {
        let pure = |pattern: Pattern, direction: Direction| {
            let percent = if direction == Direction::Read { 100 } else { 0 };
            let mix = self.mixes.iter().find(|mix| mix.pattern == pattern && mix.read_percent == percent)?;
            mix.of(direction).map(|summary| summary.median)
        };
        self.mixes
            .iter()
            .map(|mix| {
                let slowdown = |direction| Some(mix.of(direction)?.median / pure(mix.pattern, direction)?);
                Ok(SchedulerPoint {
                    scheduler: self.scheduler.clone(),
                    wanted_depth_requests: self.wanted_depth,
                    queue_depth_requests: self.found_depth,
                    depth_requests,
                    pattern: mix.pattern,
                    read_percent: mix.read_percent,
                    response_s: summary(&mix.response_s)?,
                    read_us: mix.of(Direction::Read),
                    write_us: mix.of(Direction::Write),
                    read_slowdown: slowdown(Direction::Read),
                    write_slowdown: slowdown(Direction::Write),
                })
            })
            .collect()
    }
}

impl Mix {
    fn of(&self, direction: Direction) -> Option<brisk_core::stats::Summary> {
        brisk_core::stats::Summary::of(if direction == Direction::Read { &self.read_us } else { &self.write_us })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedulers_that_the_kernel_lacks_are_named_with_what_it_has() {
        let offered = ["none".to_owned(), "mq-deadline".to_owned()];
        assert_eq!(chosen(&[], &offered, "sda").expect("all"), offered);
        assert_eq!(chosen(&offered[1..], &offered, "sda").expect("one"), offered[1..]);
        let error = chosen(&["cfq".to_owned()], &offered, "sda").expect_err("unknown").to_string();
        assert!(error.contains("'cfq'") && error.contains("none, mq-deadline"), "{error}");
        assert!(chosen(&[], &[], "sda").is_err());
    }

    #[test]
    fn settings_that_could_not_be_restored_are_reported_with_the_error() {
        let whole = with_unrestored(Error::Stopped, "sda", &Ok(Report::default()));
        assert!(matches!(whole, Error::Stopped));
        let failed = Err(brisk_act::Error::Restore(vec!["scheduler of sda: gone".to_owned()]));
        let left = with_unrestored(Error::Stopped, "sda", &failed);
        assert!(left.to_string().contains("scheduler of sda: gone"), "{left}");
        assert!(matches!(left, Error::LeftBehind { ended_by, .. } if matches!(*ended_by, Error::Stopped)));
    }

    #[test]
    fn slowdowns_refer_to_the_pure_mixes_of_the_same_setting() {
        let mix = |read_percent, read_us: f64, write_us: f64| Mix {
            pattern: Pattern::Random,
            read_percent,
            response_s: vec![1.0],
            read_us: if read_percent > 0 { vec![read_us] } else { vec![] },
            write_us: if read_percent < 100 { vec![write_us] } else { vec![] },
        };
        let setting = Setting {
            scheduler: "kyber".to_owned(),
            wanted_depth: None,
            found_depth: 256,
            mixes: vec![mix(0, 0.0, 400.0), mix(50, 600.0, 600.0), mix(100, 200.0, 0.0)],
        };
        let points = setting.points(128).expect("points");
        let slowdowns: Vec<_> = points.iter().map(|p| (p.read_slowdown, p.write_slowdown)).collect();
        assert_eq!(slowdowns, [(None, Some(1.0)), (Some(3.0), Some(1.5)), (Some(1.0), None)]);
        let partial = Setting { mixes: vec![mix(50, 600.0, 600.0)], ..setting };
        assert_eq!(partial.points(128).expect("point")[0].read_slowdown, None);
    }
}
