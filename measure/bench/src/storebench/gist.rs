//! The verdict over a run: what the disk of this machine is good for.

use brisk_report::format::{self, list, shorten};

use crate::results::{BenchReport, CacheVerdict, Direction, JobResult, Pattern};

/// Bytes that a text editor with its toolkit reads at a cold start.
const LAUNCH_READ_BYTES: f64 = 35e6;
/// A wait from this on breaks the train of thought (user-perceived latency paper, section 2).
const THOUGHT_S: f64 = 1.0;
/// One frame of a screen of 60 Hz.
const FRAME_US: f64 = 16_667.0;
/// A copy of large files at this rate is no cause for waiting.
const LARGE_FILES_BYTES_PER_S: f64 = 50e6;

/// The sentence of the first benchmark of a run.
pub(super) fn sentence(benchmarks: &[&BenchReport]) -> String {
    benchmarks.first().map_or_else(|| "The disk of this machine was not measured.".to_owned(), |bench| disk(bench))
}

/// What the disk is good for, and what not, each with its figure.
fn disk(bench: &BenchReport) -> String {
    let name = bench.header.environment.device.as_ref().map_or_else(
        || shorten(&bench.header.environment.path, 60),
        |device| shorten(device.model.as_deref().unwrap_or(&device.name).trim(), 60),
    );
    if matches!(bench.cache.verdict, CacheVerdict::Memory | CacheVerdict::Lying) {
        return format!("What the disk of this machine ({name}) is good for is unknown: {}", bench.cache.text);
    }
    let mut uses: Vec<(bool, String)> = Vec::new();
    let reads = |pattern| {
        let all = bench.jobs.iter().chain(&bench.block_sweep).chain(&bench.depth_sweep);
        all.filter(move |job| job.pattern == pattern && job.direction == Direction::Read)
    };
    let rate = |job: &JobResult| job.bandwidth_bytes_per_s.median;
    let fastest = reads(Pattern::Sequential).map(rate).filter(|rate| *rate > 0.0).max_by(f64::total_cmp);
    if let Some(random) =
        reads(Pattern::Random).find(|job| job.depth_requests == 1).map(rate).filter(|rate| *rate > 0.0)
    {
        let slow_s = LAUNCH_READ_BYTES / random;
        let fast_s = fastest.map_or(slow_s, |rate| (LAUNCH_READ_BYTES / rate).min(slow_s));
        let waits = format!(
            "opening apps (a cold start of 35 MB waits {} to {})",
            format::seconds(fast_s),
            format::seconds(slow_s)
        );
        uses.push((slow_s < THOUGHT_S, waits));
    }
    if let Some(sync) = bench.syncs.iter().find(|sync| sync.call == "fsync").or(bench.syncs.first()) {
        let us = sync.latency.p50_us;
        uses.push((us < FRAME_US, format!("databases (a durable write takes {})", format::us(us))));
    }
    if let Some(rate) = fastest {
        uses.push((rate >= LARGE_FILES_BYTES_PER_S, format!("large files ({})", format::bandwidth(rate))));
    }
    let of =
        |good: bool| list(&uses.iter().filter(|(is, _)| *is == good).map(|(_, text)| text.clone()).collect::<Vec<_>>());
    match (of(true), of(false)) {
        (good, bad) if good.is_empty() && bad.is_empty() => {
            format!("The benchmark of this machine's disk ({name}) has no figures.")
        }
        (good, bad) if bad.is_empty() => format!("The disk of this machine ({name}) is good for {good}."),
        (good, bad) if good.is_empty() => format!("The disk of this machine ({name}) is too slow for {bad}."),
        (good, bad) => format!("The disk of this machine ({name}) is good for {good}, and slow for {bad}."),
    }
}
