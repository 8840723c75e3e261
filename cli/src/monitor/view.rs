//! How samples and summaries look. Values in, text out.

use std::fmt::Write as _;
use std::path::Path;

use brisk_core::snapshot::{AppRates, DiskRates, Interval, NetRates, Snapshot, StallShares};
use brisk_core::units::{format_bytes, three_digits};
use brisk_record::Written;
use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;

use super::summary::{DiskSums, OwnCost, Summary};

/// Version of the JSON objects.
pub(super) const SCHEMA_VERSION: u32 = 1;

const MB: f64 = 1e6;

/// Above [`line()`].
pub(super) const LINE_HEADING: &str = "\
\x20             processors    memory       swap  stalls (some)  busiest disk                          network
time        busy% wait%  available  in out/s  cpu%  io% mem%  name       read  write MB/s  busy%   in   out MB/s
";

/// How a session ended.
#[derive(Debug)]
pub(super) struct Ending<'a> {
    pub(super) missed_samples: u64,
    pub(super) own: OwnCost,
    pub(super) record: Option<(&'a Path, Written)>,
}

/// One sample as one JSON object in one line.
pub(super) fn sample_json(now: &Snapshot, interval: &Interval) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Sample<'a> {
        kind: &'static str,
        schema_version: u32,
        at_ns: u64,
        wall_unix_ms: u64,
        memory: &'a brisk_core::snapshot::MemoryLevels,
        #[serde(flatten)]
        interval: &'a Interval,
    }
    let (at_ns, wall_unix_ms, memory) = (now.at_ns, now.wall_unix_ms, &now.memory);
    let kind = "monitor_sample";
    let sample = Sample { kind, schema_version: SCHEMA_VERSION, at_ns, wall_unix_ms, memory, interval };
    Ok(serde_json::to_string(&sample)? + "\n")
}

/// The summary as one JSON object in one line.
pub(super) fn summary_json(summary: &Summary, ending: &Ending<'_>) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Document<'a> {
        kind: &'static str,
        schema_version: u32,
        #[serde(flatten)]
        summary: &'a Summary,
        missed_samples: u64,
        own: OwnCost,
        record_bytes: Option<u64>,
    }
    let document = Document {
        kind: "monitor_summary",
        schema_version: SCHEMA_VERSION,
        summary,
        missed_samples: ending.missed_samples,
        own: ending.own,
        record_bytes: ending.record.map(|(_, written)| written.bytes),
    };
    Ok(serde_json::to_string(&document)? + "\n")
}

pub(super) fn line(now: &Snapshot, interval: &Interval) -> String {
    let some = |stall: Option<StallShares>| stall.map_or_else(|| "-".to_owned(), |stall| percent(stall.some_percent));
    let (pressure, paging) = (&interval.pressure, &interval.paging);
    let busiest = interval.disks.iter().max_by(|a, b| a.busy_percent.total_cmp(&b.busy_percent));
    let (name, read, write, busy) = busiest.map_or_else(
        || ("-".to_owned(), "-".to_owned(), "-".to_owned(), "-".to_owned()),
        |disk| (disk.name.clone(), mb(disk.read.bytes_per_s), mb(disk.write.bytes_per_s), percent(disk.busy_percent)),
    );
    let sum = |of: fn(&NetRates) -> f64| mb(interval.nets.iter().map(of).sum());
    format!(
        "{:11} {:>5} {:>5} {:>10} {:>4} {:>4} {:>5} {:>4} {:>4}  {name:9} {read:>5} {write:>6} {busy:>10} {:>6} \
         {:>5}\n",
        clock(now.wall_unix_ms),
        percent(interval.cpu.busy_percent),
        percent(interval.cpu.iowait_percent),
        now.memory.available_bytes.map_or_else(|| "-".to_owned(), format_bytes),
        three_digits(paging.swap_in_pages_per_s.round()),
        three_digits(paging.swap_out_pages_per_s.round()),
        some(pressure.cpu),
        some(pressure.io),
        some(pressure.memory),
        sum(|net| net.receive_bytes_per_s),
        sum(|net| net.transmit_bytes_per_s),
    )
}

/// One sample as a block that the next one replaces, with the field's short words; no line is wider than `width`.
pub(super) fn block(now: &Snapshot, interval: &Interval, own: &OwnCost, width: usize) -> String {
    let mut text = String::new();
    let (cpu, memory, paging, pressure) = (&interval.cpu, &now.memory, &interval.paging, &interval.pressure);
    let bytes = format_bytes;
    let _ = writeln!(text, "{}   brisk itself {} % of one core", clock(now.wall_unix_ms), percent2(own.cpu_percent));
    let _ = writeln!(
        text,
        "processors busy {} % (user {}, system {}, taken by host {}), iowait {} %",
        percent(cpu.busy_percent),
        percent(cpu.user_percent),
        percent(cpu.system_percent),
        percent(cpu.steal_percent),
        percent(cpu.iowait_percent),
    );
    let _ = writeln!(
        text,
        "memory     {} of {} available, dirty {}, writeback {}",
        memory.available_bytes.map_or_else(|| "?".to_owned(), bytes),
        bytes(memory.total_bytes),
        bytes(memory.dirty_bytes),
        bytes(memory.writeback_bytes),
    );
    let _ = writeln!(
        text,
        "swap       {} of {} used, in {}, out {} pages/s, major faults {}/s",
        bytes(memory.swap_used_bytes()),
        bytes(memory.swap_total_bytes),
        three_digits(paging.swap_in_pages_per_s),
        three_digits(paging.swap_out_pages_per_s),
        three_digits(paging.major_faults_per_s),
    );
    let _ = writeln!(
        text,
        "stalls     cpu {}   io {}   memory {}",
        stall(pressure.cpu),
        stall(pressure.io),
        stall(pressure.memory)
    );
    if !interval.disks.is_empty() {
        text += "disk      rd MB/s  req/s     ms   KiB   wr MB/s  req/s     ms   KiB  busy%  depth\n";
    }
    // An idle loop device does not deserve a line as long as another is not idle.
    let busy = |disk: &&DiskRates| disk.busy_percent > 0.0 || disk.write.requests_per_s > 0.0;
    let some_busy = interval.disks.iter().any(|disk| busy(&disk));
    for disk in interval.disks.iter().filter(|disk| !some_busy || busy(disk)) {
        disk_row(&mut text, disk);
    }
    for net in &interval.nets {
        let (receive, transmit) = (mb(net.receive_bytes_per_s), mb(net.transmit_bytes_per_s));
        let _ = writeln!(text, "{:10} received {receive} MB/s, sent {transmit} MB/s", cut(&net.name, 10));
    }
    let mut apps: Vec<&AppRates> = interval.apps.iter().collect();
    apps.sort_by(|a, b| b.cpu_percent.unwrap_or(0.0).total_cmp(&a.cpu_percent.unwrap_or(0.0)));
    for app in apps.iter().take(8) {
        let memory = app.memory_bytes.or(app.rss_bytes).map_or_else(|| "?".to_owned(), bytes);
        let cpu = app.cpu_percent.map_or_else(|| "?".to_owned(), percent);
        let name = cut(&app.name, 36);
        let _ = writeln!(text, "{name:36} cpu {cpu:>5} %  {memory:>10}  io {}", stall(app.io_pressure));
    }
    text.lines().fold(String::new(), |text, line| text + &cut(line, width) + "\n")
}

fn disk_row(text: &mut String, disk: &DiskRates) {
    let mean = |value: Option<f64>, over: f64| value.map_or_else(|| "-".to_owned(), |value| three_digits(value / over));
    let _ = writeln!(
        text,
        "{:9} {:>7} {:>6} {:>6} {:>5} {:>9} {:>6} {:>6} {:>5} {:>6} {:>6}",
        cut(&disk.name, 9),
        mb(disk.read.bytes_per_s),
        three_digits(disk.read.requests_per_s.round()),
        mean(disk.read.latency_ms_mean, 1.0),
        mean(disk.read.size_bytes_mean.map(f64::round), 1024.0),
        mb(disk.write.bytes_per_s),
        three_digits(disk.write.requests_per_s.round()),
        mean(disk.write.latency_ms_mean, 1.0),
        mean(disk.write.size_bytes_mean.map(f64::round), 1024.0),
        percent(disk.busy_percent),
        mean(disk.depth_requests_mean, 1.0),
    );
}

/// The end of a session, or a session of a record.
pub(super) fn summary(summary: &Summary, ending: Option<&Ending<'_>>) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{} s in {} samples", three_digits(summary.elapsed_s), summary.samples);
    if summary.elapsed_s > 0.0 {
        let _ = writeln!(text, "{:38} {:>10} {:>10} {:>10}", "", "least", "median", "most");
    }
    let mut row = |kind: &str, part: &str, name: &str, label: &str, form: fn(f64) -> String| {
        let Some(spread) = summary.spread(kind, part, name) else { return };
        let label = if part.is_empty() { label.to_owned() } else { format!("{} {label}", cut(part, 20)) };
        let [min, median, max] = [spread.min, spread.median, spread.max].map(form);
        let _ = writeln!(text, "{label:38} {min:>10} {median:>10} {max:>10}");
    };
    let bytes: fn(f64) -> String = |value| format_bytes(value as u64);
    row("cpu", "", "busy_percent", "processors busy, %", percent);
    row("cpu", "", "iowait_percent", "processors waiting for storage, %", percent);
    row("memory", "", "available_bytes", "memory available", bytes);
    row("memory", "", "dirty_bytes", "memory to be written", bytes);
    row("memory", "", "swap_used_bytes", "swap used", bytes);
    row("paging", "", "swap_in_pages_per_s", "pages brought back from swap, /s", three_digits);
    row("paging", "", "major_faults_per_s", "faults on storage, /s", three_digits);
    row("pressure", "", "cpu_some_percent", "some task waited for a processor, %", percent);
    row("pressure", "", "io_some_percent", "some task waited for storage, %", percent);
    row("pressure", "", "memory_some_percent", "some task waited for memory, %", percent);
    for (name, sums) in &summary.disks {
        if sums.read_requests + sums.write_requests > 0.0 {
            row("disk", name, "read_bytes_per_s", "read, MB/s", mb);
            row("disk", name, "read_latency_ms_mean", "mean read, ms", three_digits);
            row("disk", name, "write_bytes_per_s", "written, MB/s", mb);
            row("disk", name, "write_latency_ms_mean", "mean write, ms", three_digits);
            row("disk", name, "busy_percent", "busy, %", percent);
        }
    }
    sums(&mut text, summary);
    if let Some(ending) = ending {
        end(&mut text, ending);
    }
    text
}

fn sums(text: &mut String, summary: &Summary) {
    let bytes = |value: f64| format_bytes(value.round() as u64);
    let mean =
        |bytes_sum: f64, requests: f64| if requests >= 0.5 { bytes(bytes_sum / requests) } else { "-".to_owned() };
    // Idle loop devices and the like are many, and have no counts.
    let active = |sums: &DiskSums| sums.read_requests + sums.write_requests + sums.discard_bytes > 0.0;
    if !summary.disks.values().any(active) {
        let _ = writeln!(text, "no disk activity");
    }
    for (name, sums) in summary.disks.iter().filter(|(_, sums)| active(sums)) {
        let _ = write!(
            text,
            "{name}: read {} in {:.0} requests (mean {}), written {} in {:.0} (mean {}), {:.0} flushes",
            bytes(sums.read_bytes),
            sums.read_requests,
            mean(sums.read_bytes, sums.read_requests),
            bytes(sums.write_bytes),
            sums.write_requests,
            mean(sums.write_bytes, sums.write_requests),
            sums.flush_requests,
        );
        if sums.discard_bytes > 0.0 {
            let _ = write!(text, ", discarded {}", bytes(sums.discard_bytes));
        }
        let _ = writeln!(text, ", busy for {} s", three_digits(sums.busy_s));
    }
    for (name, sums) in &summary.nets {
        let _ = writeln!(text, "{name}: received {}, sent {}", bytes(sums.receive_bytes), bytes(sums.transmit_bytes));
    }
    for (name, sums) in &summary.apps {
        let _ = writeln!(
            text,
            "{name}: {} s on processors, {} s of waiting for storage, {} of memory at most",
            three_digits(sums.cpu_s),
            three_digits(sums.io_stall_s),
            format_bytes(sums.memory_bytes_max),
        );
    }
}

fn end(text: &mut String, ending: &Ending<'_>) {
    if ending.missed_samples > 0 {
        let _ = writeln!(
            text,
            "!! {} samples were dropped because they were late: the machine was busy or suspended",
            ending.missed_samples
        );
    }
    if let Some((path, written)) = ending.record {
        let mean = written.bytes as f64 / written.samples.max(1) as f64;
        let size = format_bytes(written.bytes);
        let _ = writeln!(text, "record: {} in {}, {} bytes a sample", size, path.display(), three_digits(mean));
    }
    let _ = writeln!(
        text,
        "brisk itself: {} % of one core, {} of memory",
        percent2(ending.own.cpu_percent),
        format_bytes(ending.own.rss_bytes)
    );
}

/// The time of day here, to the second.
fn clock(wall_unix_ms: u64) -> String {
    let time = i64::try_from(wall_unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map_or_else(|| "-".to_owned(), |time| time.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string())
}

/// A day and time here.
pub(super) fn moment(wall_unix_ms: u64) -> String {
    let time = i64::try_from(wall_unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map_or_else(|| "-".to_owned(), |time| time.to_zoned(TimeZone::system()).strftime("%F %T %Z").to_string())
}

fn percent(value: f64) -> String {
    format!("{value:.1}")
}

fn percent2(value: f64) -> String {
    format!("{value:.2}")
}

fn mb(bytes_per_s: f64) -> String {
    if bytes_per_s == 0.0 { "0".to_owned() } else { format!("{:.1}", bytes_per_s / MB) }
}

fn stall(shares: Option<StallShares>) -> String {
    match shares {
        None => "not counted".to_owned(),
        Some(StallShares { some_percent, full_percent: None }) => format!("{} %", percent(some_percent)),
        Some(StallShares { some_percent, full_percent: Some(full) }) => {
            format!("{} % (all {})", percent(some_percent), percent(full))
        }
    }
}

/// The first `width` characters.
fn cut(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}
