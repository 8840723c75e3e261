//! Random-write throughput against the range of addresses: Revisiting storage, figure 15.
//!
//! Devices with log-block mapping keep random writes fast only while the addresses fall into as many blocks as they
//! have log blocks. Before each point a region is written sequentially, so that no point inherits the previous one's
//! mapping.

use std::time::Duration;

use brisk_core::random::{Random, mix};
use brisk_core::units::format_bytes;
use brisk_sense::Sense;

use crate::address::Region;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::foreign::Own;
use crate::load::{End, Load};
use crate::results::{Direction, FootprintDrop, FootprintPoint, FootprintReport, Pattern, Warning};
use crate::study::{Common, Testbed, summary};
use crate::work_file::Size;

pub const FIRST_RANGE_BYTES: u64 = 8 << 20;
/// Requests of a point in the paper.
pub const PAPER_REQUESTS: u64 = 2_048;
/// Bytes written sequentially before each point in the paper.
pub const PAPER_PRECONDITION_BYTES: u64 = 1 << 30;
pub const DROP_FACTOR: f64 = 1.5;
/// Least loss of throughput from one range to the next within a drop; less is noise.
pub const STEP_SHARE: f64 = 0.1;
/// After a drop, no larger range comes closer than this factor to the rate at its start.
pub const RECOVERY_FACTOR: f64 = 1.25;
/// Request size of the preconditioning.
const PRECONDITION_BLOCK_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone)]
pub struct Options {
    /// Place and repetitions.
    pub common: Common,
    pub largest: Size,
    pub requests: u64,
    /// Most time of a point, which then has fewer requests: the slowest cards do three a second.
    pub patience: Option<Duration>,
    /// Bytes written sequentially before each point; at most the largest range.
    pub precondition_bytes: u64,
}

/// Runs the study.
///
/// # Errors
/// When an option is invalid, the place cannot be measured, a request fails, or the stop flag is set.
pub fn run(sense: &Sense, options: &Options, control: &Control<'_>) -> Result<FootprintReport> {
    let common = &options.common;
    if options.requests == 0 {
        return Err(Error::BadLoad("a point of 0 requests is not possible: use --requests 2048".to_owned()));
    }
    // Checked before the first write, and again when the size shrank to the free space.
    ranges(options.largest.wanted_bytes)?;
    let mut bed = Testbed::prepare(sense, common, options.largest, control)?;
    let ranges = ranges(bed.work.size_bytes)?;
    let precondition_bytes =
        options.precondition_bytes.min(bed.work.size_bytes) / PRECONDITION_BLOCK_BYTES * PRECONDITION_BLOCK_BYTES;

    let mut rates = vec![Vec::new(); ranges.len()];
    let mut fewest = options.requests;
    let mut order: Vec<usize> = (0..ranges.len()).collect();
    let mut random = Random(common.seed);
    let steps = f64::from(common.runs) * ranges.len() as f64;
    for run in 0..common.runs {
        random.shuffle(&mut order);
        for (step, &index) in order.iter().enumerate() {
            let range_bytes = ranges[index];
            let name = format!("random writes within {}", format_bytes(range_bytes));
            control.report((f64::from(run) * ranges.len() as f64 + step as f64) / steps, &name);
            let seed = mix(common.seed ^ (u64::from(run) << 32) ^ index as u64);
            if precondition_bytes > 0 {
                let region = Region::first(precondition_bytes);
                bed.work.write_sequence(&bed.engine, region, PRECONDITION_BLOCK_BYTES, seed, control)?;
            }
            bed.settle()?;
            let load = Load {
                seed,
                end: End { requests: Some(options.requests), time: options.patience },
                ..Load::plain(Pattern::Random, Direction::Write, common.block_bytes, Region::first(range_bytes))
            };
            let begun = bed.foreign.begin();
            let outcome = bed.engine.run(bed.work.fd(), &load, control.stop)?;
            bed.foreign.end(begun, &name, Own::only(Direction::Write, outcome.requests(), common.block_bytes));
            control.check()?;
            bed.wrote(outcome.requests() * common.block_bytes);
            bed.settle()?;
            rates[index].push(outcome.bytes_per_s());
            fewest = fewest.min(outcome.requests());
        }
    }
    bed.run.warn(cut_short(fewest, options));
    let points = ranges
        .into_iter()
        .zip(&rates)
        .map(|(range_bytes, rates)| Ok(FootprintPoint { range_bytes, bandwidth_bytes_per_s: summary(rates)? }))
        .collect::<Result<Vec<_>>>()?;
    let engine = bed.engine.description();
    Ok(FootprintReport {
        block_bytes: common.block_bytes,
        requests: options.requests,
        precondition_bytes,
        drops: drops(&points),
        points,
        header: bed.end(engine),
    })
}

fn cut_short(fewest: u64, options: &Options) -> Option<Warning> {
    let patience = options.patience.filter(|_| fewest < options.requests)?;
    Some(Warning {
        code: "cut_short".to_owned(),
        text: format!(
            "Some points ended after {} s with as few as {fewest} of {} requests: a device that is fast at first and \
             slow later appears too fast there. Use --patience for more.",
            patience.as_secs(),
            options.requests
        ),
    })
}

/// Ranges that double from the first one, and the whole size: two at least.
fn ranges(size_bytes: u64) -> Result<Vec<u64>> {
    let mut ranges: Vec<u64> = std::iter::successors(Some(FIRST_RANGE_BYTES), |range| range.checked_mul(2))
        .take_while(|r| *r <= size_bytes)
        .collect();
    // A last point just above a power of two would add no information.
    if ranges.last().is_some_and(|last| size_bytes >= last + last / 2) {
        ranges.push(size_bytes);
    }
    if ranges.len() < 2 {
        return Err(Error::BadLoad(format!(
            "{} hold fewer than two ranges: this study needs at least {} (--size 16M)",
            format_bytes(size_bytes),
            format_bytes(FIRST_RANGE_BYTES * 2)
        )));
    }
    Ok(ranges)
}

/// Where throughput drops permanently: sequences of ranges in which every step loses at least [`STEP_SHARE`], together
/// at least [`DROP_FACTOR`], and after which it never recovers to within [`RECOVERY_FACTOR`] of its start.
#[must_use]
pub fn drops(points: &[FootprintPoint]) -> Vec<FootprintDrop> {
    let rate = |index: usize| points[index].bandwidth_bytes_per_s.median;
    let falls = |index: usize| rate(index + 1) <= rate(index) * (1.0 - STEP_SHARE);
    let mut drops = Vec::new();
    let mut top = 0;
    while top + 1 < points.len() {
        let bottom = (top..points.len() - 1).find(|index| !falls(*index)).unwrap_or(points.len() - 1);
        let for_good = (bottom..points.len()).all(|later| rate(later) * RECOVERY_FACTOR <= rate(top));
        if bottom > top && rate(top) >= rate(bottom) * DROP_FACTOR && for_good {
            drops.push(FootprintDrop { after_range_bytes: points[top].range_bytes, factor: rate(top) / rate(bottom) });
        }
        top = bottom.max(top + 1);
    }
    drops
}
