//! Best number of concurrent streams: dissertation 4.2.5.
//!
//! The same streams run one after the other and concurrently. The speed-up is the serial time over the time of the
//! slowest concurrent stream, paired within one repetition. The parameter for SmartIO is, for each of the four kinds,
//! the fewest streams whose speed-up is within noise of the best.

use brisk_core::random::mix;
use brisk_core::stats::paired_ratio;
use brisk_sense::Sense;

use crate::address::Region;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::results::{ConcurrencyParameter, ConcurrencyPoint, ConcurrencyReport, Direction, Pattern};
use crate::streams::{AfterQuota, Stream};
use crate::study::slowdown::{check_streams, pattern_name};
use crate::study::{Common, KINDS, Testbed, size_for, summary};

/// Bytes that the paper's streams move.
pub const PAPER_STREAM_BYTES: u64 = 32 << 20;
/// Speed-ups closer than this are equal, however narrow their intervals.
pub const TIE_SHARE: f64 = 0.02;

#[derive(Debug, Clone)]
pub struct Options {
    /// Place and repetitions.
    pub common: Common,
    pub stream_bytes: u64,
    pub streams: Vec<u32>,
}

/// Runs the study.
///
/// # Errors
/// When an option is invalid, the place cannot be measured, a request fails, or the stop flag is set.
pub fn run(sense: &Sense, options: &Options, control: &Control<'_>) -> Result<ConcurrencyReport> {
    let common = &options.common;
    let quota = common.requests("a stream", options.stream_bytes)?;
    let most = check_streams(&options.streams)?;
    let bed = Testbed::prepare(sense, common, size_for("a stream", options.stream_bytes, most.into())?, control)?;

    let points: Vec<(Pattern, Direction, u32)> = KINDS
        .into_iter()
        .flat_map(|(pattern, direction)| options.streams.iter().map(move |n| (pattern, direction, *n)))
        .collect();
    let mut times = vec![(Vec::new(), Vec::new()); points.len()];
    // Serial and concurrent: twice the streams.
    let all: f64 = points.iter().map(|(.., n)| f64::from(*n)).sum::<f64>() * f64::from(common.runs);
    let mut done = 0.0;
    for run in 0..common.runs {
        for ((pattern, direction, n), (serial_s, concurrent_s)) in points.iter().zip(&mut times) {
            let kind = if *direction == Direction::Read { "reads" } else { "writes" };
            control.report(done / all, &format!("{n} {} {kind}", pattern_name(*pattern)));
            done += f64::from(*n);
            let streams: Vec<Stream> = (0..u64::from(*n))
                .map(|number| Stream {
                    pattern: *pattern,
                    direction: *direction,
                    region: Region::nth(number, options.stream_bytes),
                    block_bytes: common.block_bytes,
                    quota,
                    seed: mix(common.seed ^ (u64::from(run) << 32) ^ number),
                })
                .collect();
            for concurrent in [run % 2 == 1, run % 2 == 0] {
                let wall_ns = if concurrent {
                    let times = bed.run_streams(&streams, AfterQuota::End, control)?;
                    times.iter().map(|t| t.wall_ns).max().unwrap_or(0)
                } else {
                    bed.run_in_turn(&streams, control)?
                };
                let time_s = wall_ns as f64 / 1e9;
                if concurrent { concurrent_s.push(time_s) } else { serial_s.push(time_s) }
            }
        }
    }
    let points = points
        .into_iter()
        .zip(&times)
        .map(|((pattern, direction, streams), (serial_s, concurrent_s))| {
            Ok(ConcurrencyPoint {
                pattern,
                direction,
                streams,
                serial_s: summary(serial_s)?,
                concurrent_s: summary(concurrent_s)?,
                speedup: paired_ratio(serial_s, concurrent_s)
                    .ok_or_else(|| Error::BadLoad("the streams took no time".to_owned()))?,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let parameters = KINDS.into_iter().map(|(pattern, direction)| parameter(&points, pattern, direction)).collect();
    Ok(ConcurrencyReport {
        block_bytes: common.block_bytes,
        stream_bytes: options.stream_bytes,
        points,
        parameters,
        header: bed.end("calls (streams wait for each request)".to_owned()),
    })
}

/// The fewest streams whose speed-up is within noise of the best: its median reaches the lower end of the best one's
/// interval, or is within [`TIE_SHARE`] of its median. One stream, with a speed-up of 1, is always a candidate.
#[must_use]
pub fn parameter(points: &[ConcurrencyPoint], pattern: Pattern, direction: Direction) -> ConcurrencyParameter {
    let mut race: Vec<(u32, f64, f64)> = points
        .iter()
        .filter(|point| point.pattern == pattern && point.direction == direction)
        .map(|point| (point.streams, point.speedup.median, point.speedup.low))
        .collect();
    race.push((1, 1.0, 1.0));
    race.sort_by_key(|(streams, ..)| *streams);
    let best = race.iter().copied().fold((1, 1.0, 1.0), |best, next| if next.1 > best.1 { next } else { best });
    let enough = best.2.min(best.1 * (1.0 - TIE_SHARE));
    let (streams, speedup, _) = race.into_iter().find(|(_, median, _)| *median >= enough).unwrap_or(best);
    ConcurrencyParameter { pattern, direction, streams, speedup }
}
