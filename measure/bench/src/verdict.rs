//! Verdict of a benchmark: sentences on what the figures mean for the user, the most important first. Pure.
//!
//! The limits of perception are those of Miller (1968) and Card, Robertson and Mackinlay (1991): 0.1 s feels
//! immediate, after 1 s the train of thought breaks. A screen draws a frame every 16.7 ms.

use brisk_core::units::{format_bandwidth, format_bytes, format_duration_ns, grouped, three_digits};

use crate::results::{BenchReport, CacheVerdict, Direction, JobResult, Pattern};

/// Bytes that a medium-sized app reads from storage at a cold start (a text editor with its toolkit: 35 MB).
pub const LAUNCH_READ_BYTES: f64 = 35e6;
/// A delay up to this feels immediate.
pub const IMMEDIATE_S: f64 = 0.1;
/// A delay from this on breaks the train of thought.
pub const THOUGHT_S: f64 = 1.0;
/// One frame of a screen of 60 Hz.
pub const FRAME_US: f64 = 16_667.0;
/// The 99th percentile of reads is called long from this multiple of the median on.
pub const LONG_TAIL: f64 = 10.0;
/// The device works on several requests at once, if the deepest queue gains at least this factor.
pub const PARALLEL_GAIN: f64 = 2.0;
/// Share of one CPU for issuing small requests from which on the CPU may be the limit. The kernel's own threads, which
/// are not counted, take about as much.
pub const CPU_BOUND_PERCENT: f64 = 50.0;

/// The sentences for `report`; ignores its own `verdict`.
#[must_use]
pub fn verdict(report: &BenchReport) -> Vec<String> {
    let find = |pattern: Pattern, direction: Direction, deep: bool| {
        report.jobs.iter().find(|j| j.pattern == pattern && j.direction == direction && (j.depth_requests > 1) == deep)
    };
    let random_read = find(Pattern::Random, Direction::Read, false);
    let mut sentences = Vec::new();
    if report.cache.verdict != CacheVerdict::Direct {
        sentences.push(report.cache.text.clone());
    }
    sentences.extend(random_read.map(|random| launch(random, fastest_sequential_read(report))));
    sentences.extend(random_read.and_then(tail));
    sentences.extend(durable(report));
    sentences.extend(random_read.zip(find(Pattern::Random, Direction::Write, false)).and_then(asymmetry));
    sentences.extend(random_read.zip(find(Pattern::Random, Direction::Read, true)).map(parallel));
    sentences.extend(find(Pattern::Random, Direction::Read, true).and_then(cpu_bound));
    sentences
}

/// The best median bandwidth of a sequential read of any block size and depth.
fn fastest_sequential_read(report: &BenchReport) -> Option<f64> {
    [&report.jobs, &report.block_sweep, &report.depth_sweep]
        .into_iter()
        .flatten()
        .filter(|job| job.pattern == Pattern::Sequential && job.direction == Direction::Read)
        .map(|job| job.bandwidth_bytes_per_s.median)
        .max_by(f64::total_cmp)
}

fn launch(random: &JobResult, sequential_bytes_per_s: Option<f64>) -> String {
    let slow_s = LAUNCH_READ_BYTES / random.bandwidth_bytes_per_s.median;
    let fast_s = sequential_bytes_per_s.map_or(slow_s, |rate| (LAUNCH_READ_BYTES / rate).min(slow_s));
    let feeling = match (fast_s, slow_s) {
        (_, slow) if slow < IMMEDIATE_S => "which is not noticeable".to_owned(),
        (_, slow) if slow < THOUGHT_S => "which is noticeable but not disturbing".to_owned(),
        (fast, _) if fast < THOUGHT_S => {
            "which breaks the train of thought (1 s) unless the app reads ahead".to_owned()
        }
        _ => "which breaks the train of thought (1 s) however the app reads".to_owned(),
    };
    format!(
        "A random read of {} waits {} (median). A cold start that reads 35 MB spends {} (all in sequence) to {} (all \
         random) waiting for storage, {feeling}.",
        format_bytes(random.block_bytes),
        duration_us(random.latency.p50_us),
        duration_us(fast_s * 1e6),
        duration_us(slow_s * 1e6),
    )
}

fn tail(random: &JobResult) -> Option<String> {
    let ratio = random.latency.p99_us / random.latency.p50_us;
    (ratio >= LONG_TAIL).then(|| {
        format!(
            "One random read in a hundred takes {} or longer, {} times the median: pauses are noticeable even where \
             the mean is good.",
            duration_us(random.latency.p99_us),
            three_digits(ratio)
        )
    })
}

fn durable(report: &BenchReport) -> Option<String> {
    let sync = report.syncs.iter().find(|sync| sync.call == "fsync").or(report.syncs.first())?;
    let (p50, p95) = (sync.latency.p50_us, sync.latency.p95_us);
    let cost = match (p50, p95) {
        (p50, _) if p50 >= FRAME_US => {
            format!(
                "each drops {:.0} frames of a screen of 60 Hz if made by the drawing thread",
                (p50 / FRAME_US).ceil()
            )
        }
        (_, p95) if p95 >= FRAME_US => format!("one in twenty takes {} and drops frames", duration_us(p95)),
        _ => "that fits into one frame of a screen of 60 Hz".to_owned(),
    };
    Some(format!(
        "Making {} durable ({}) takes {}; {cost}.",
        format_bytes(sync.block_bytes),
        sync.call,
        duration_us(p50)
    ))
}

fn asymmetry((read, write): (&JobResult, &JobResult)) -> Option<String> {
    let ratio = write.latency.p50_us / read.latency.p50_us;
    (ratio >= 1.5).then(|| {
        format!(
            "A random write takes {} times as long as a random read (medians): reads that wait behind writes are the \
             ones that people feel (see brisk study slowdown).",
            three_digits(ratio)
        )
    })
}

fn parallel((shallow, deep): (&JobResult, &JobResult)) -> String {
    let gain = deep.requests_per_s.median / shallow.requests_per_s.median;
    let depth = deep.depth_requests;
    if gain >= PARALLEL_GAIN {
        format!(
            "With {depth} random reads in flight instead of one it does {} times as many ({} a second, {}).",
            three_digits(gain),
            grouped(deep.requests_per_s.median),
            format_bandwidth(deep.bandwidth_bytes_per_s.median)
        )
    } else {
        format!(
            "With {depth} random reads in flight it does {} times as many as with one: issuing more at once only makes \
             each wait longer.",
            three_digits(gain)
        )
    }
}

fn cpu_bound(deep: &JobResult) -> Option<String> {
    let percent = deep.cpu_us_per_request * deep.requests_per_s.median / 1e6 * 100.0;
    (percent >= CPU_BOUND_PERCENT).then(|| {
        format!(
            "Issuing random reads {} deep took {percent:.0} % of a CPU: the CPU, not the storage, may be the limit \
             there.",
            deep.depth_requests
        )
    })
}

fn duration_us(duration_us: f64) -> String {
    format_duration_ns((duration_us * 1e3).round().max(0.0) as u64)
}

#[cfg(test)]
#[path = "verdict/tests.rs"]
mod tests;
