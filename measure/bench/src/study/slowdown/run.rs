//! Slowdown of reads and writes by each other: dissertation 4.2.3 and 4.2.4, and 4.5.2 for 4 + 4 streams.
//!
//! A stream issues requests one at a time. *Alone* means one stream on the device; *concurrent*, the given number of
//! readers and as many writers. The slowdown of a read is its mean response time in the concurrent run over that alone,
//! paired within one repetition, so that drift of the machine cancels; every second repetition measures in reverse
//! order.

use brisk_core::random::mix;
use brisk_core::stats::paired_ratio;
use brisk_sense::Sense;

use crate::address::Region;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::results::{Direction, Pattern, SlowdownReport, SlowdownRow, SlowdownRun};
use crate::streams::{AfterQuota, Stream, mean_us};
use crate::study::{Common, Testbed, size_for, summary};

/// Bytes that the papers' streams move.
pub const PAPER_STREAM_BYTES: u64 = 128 << 20;
/// Most streams of a direction.
pub const STREAMS_MAX: u32 = 64;

#[derive(Debug, Clone)]
pub struct Options {
    /// Place and repetitions.
    pub common: Common,
    /// Bytes of each stream in a repetition.
    pub stream_bytes: u64,
    /// Numbers of readers, and of as many writers, one for each row.
    pub streams: Vec<u32>,
}

/// Mean response times of the repetitions, in microseconds.
#[derive(Default)]
struct Repeats {
    read_alone: Vec<f64>,
    write_alone: Vec<f64>,
    read_peers: Vec<f64>,
    write_peers: Vec<f64>,
    read_mixed: Vec<f64>,
    write_mixed: Vec<f64>,
}

/// Runs the study.
///
/// # Errors
/// When an option is invalid, the place cannot be measured, a request fails, or the stop flag is set.
pub fn run(sense: &Sense, options: &Options, control: &Control<'_>) -> Result<SlowdownReport> {
    let common = &options.common;
    let quota = common.requests("a stream", options.stream_bytes)?;
    let most = check_streams(&options.streams)?;
    let bed =
        Testbed::prepare(sense, common, size_for("a stream", options.stream_bytes, u64::from(most) * 2)?, control)?;

    let rows: Vec<(Pattern, u32)> = [Pattern::Sequential, Pattern::Random]
        .into_iter()
        .flat_map(|pattern| options.streams.iter().map(move |streams| (pattern, *streams)))
        .collect();
    let mut repeats: Vec<Repeats> = rows.iter().map(|_| Repeats::default()).collect();
    let steps = f64::from(common.runs) * rows.len() as f64;
    for run in 0..common.runs {
        for (index, ((pattern, streams), repeats)) in rows.iter().zip(&mut repeats).enumerate() {
            let step = f64::from(run) * rows.len() as f64 + index as f64;
            control.report(step / steps, &format!("{} {streams} + {streams}", pattern_name(*pattern)));
            let template = Stream {
                pattern: *pattern,
                direction: Direction::Read,
                region: Region::first(options.stream_bytes),
                block_bytes: common.block_bytes,
                quota,
                seed: mix(common.seed ^ (u64::from(run) << 16) ^ index as u64),
            };
            let row = Row { bed: &bed, control, template };
            row.measure(*streams, run % 2 == 1, repeats)?;
        }
    }
    let rows = rows.iter().zip(&repeats).map(|((p, s), repeats)| repeats.row(*p, *s)).collect::<Result<_>>()?;
    Ok(SlowdownReport {
        block_bytes: common.block_bytes,
        stream_bytes: options.stream_bytes,
        rows,
        header: bed.end("calls (streams wait for each request)".to_owned()),
    })
}

/// The largest of `streams`; an error for an invalid number.
pub(crate) fn check_streams(streams: &[u32]) -> Result<u32> {
    match (streams.iter().min(), streams.iter().max()) {
        (Some(1..), Some(most @ ..=STREAMS_MAX)) => Ok(*most),
        _ => Err(Error::BadLoad(format!("streams must be 1 to {STREAMS_MAX}, such as --streams 1,4"))),
    }
}

pub(crate) fn pattern_name(pattern: Pattern) -> &'static str {
    if pattern == Pattern::Sequential { "sequential" } else { "random" }
}

struct Row<'a> {
    bed: &'a Testbed,
    control: &'a Control<'a>,
    template: Stream,
}

impl Row<'_> {
    /// One repetition, from alone to concurrent or in reverse.
    fn measure(&self, streams: u32, reverse: bool, repeats: &mut Repeats) -> Result<()> {
        use Direction::{Read, Write};
        let mut parts: Vec<u8> = if streams > 1 { vec![0, 1, 2, 3, 4] } else { vec![0, 1, 4] };
        if reverse {
            parts.reverse();
        }
        for part in parts {
            match part {
                0 => repeats.read_alone.push(self.side(Read, 1)?),
                1 => repeats.write_alone.push(self.side(Write, 1)?),
                2 => repeats.read_peers.push(self.side(Read, streams)?),
                3 => repeats.write_peers.push(self.side(Write, streams)?),
                _ => {
                    let (read_us, write_us) = self.mixed(streams)?;
                    repeats.read_mixed.push(read_us);
                    repeats.write_mixed.push(write_us);
                }
            }
        }
        Ok(())
    }

    /// Mean response time of streams of one direction.
    fn side(&self, direction: Direction, streams: u32) -> Result<f64> {
        let streams: Vec<Stream> = (0..streams).map(|number| self.template.interleaved(direction, number)).collect();
        let times = self.bed.run_streams(&streams, AfterQuota::GoOn, self.control)?;
        Ok(mean_us(&times))
    }

    /// Mean response times of concurrent readers and writers.
    fn mixed(&self, streams: u32) -> Result<(f64, f64)> {
        let both: Vec<Stream> = [Direction::Read, Direction::Write]
            .into_iter()
            .flat_map(|direction| (0..streams).map(move |number| self.template.interleaved(direction, number)))
            .collect();
        let times = self.bed.run_streams(&both, AfterQuota::GoOn, self.control)?;
        let (reads, writes) = times.split_at(streams as usize);
        Ok((mean_us(reads), mean_us(writes)))
    }
}

impl Repeats {
    fn row(&self, pattern: Pattern, streams: u32) -> Result<SlowdownRow> {
        let slowdown = |mixed: &[f64], alone: &[f64]| {
            paired_ratio(mixed, alone).ok_or_else(|| Error::BadLoad("the requests took no time".to_owned()))
        };
        let run = |at: usize| {
            Some(SlowdownRun {
                read_alone_us: *self.read_alone.get(at)?,
                read_beside_us: *self.read_mixed.get(at)?,
                write_alone_us: *self.write_alone.get(at)?,
                write_beside_us: *self.write_mixed.get(at)?,
                read_peers_us: self.read_peers.get(at).copied(),
                write_peers_us: self.write_peers.get(at).copied(),
            })
        };
        Ok(SlowdownRow {
            pattern,
            streams,
            runs: (0..self.read_mixed.len()).map_while(run).collect(),
            read_alone_us: summary(&self.read_alone)?,
            read_beside_us: summary(&self.read_mixed)?,
            write_alone_us: summary(&self.write_alone)?,
            write_beside_us: summary(&self.write_mixed)?,
            read_slowdown: slowdown(&self.read_mixed, &self.read_alone)?,
            write_slowdown: slowdown(&self.write_mixed, &self.write_alone)?,
            read_peers_us: brisk_core::stats::Summary::of(&self.read_peers),
            write_peers_us: brisk_core::stats::Summary::of(&self.write_peers),
        })
    }
}
