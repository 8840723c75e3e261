//! One session: sample, show, record, until time is up or a signal comes.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail};
use brisk_command::json::Json;
use brisk_command::terminal::{is_quiet, shown};
use brisk_core::text::harmless;
use brisk_core::units::format_bytes;
use brisk_formats::device_name;
use brisk_record::{End, Session, Writer};
use brisk_sense::{DeviceNumber, Located, SampleChoice, Sampler, Sense};
use rustix::time::{ClockId, clock_gettime};

use super::pace::{Pace, Wake};
use super::summary::{Collector, OwnCost};
use super::{Watch, view};

pub(super) fn run(watch: &Watch) -> anyhow::Result<ExitCode> {
    let samples_max = watch.duration.map(|duration| intervals(duration, watch.interval)).transpose()?;
    let sense = Sense::default();
    let choice = SampleChoice { devices: devices(&sense, watch)?, groups: groups(&sense, watch)? };
    let mut sampler = Sampler::new(sense.clone(), choice)?;
    let mut screen = Screen::of(watch)?;
    let record = watch.output.as_deref().map(|path| {
        let writer = Writer::begin(path, about(&sense, watch), watch.max_size).map_err(anyhow::Error::from);
        writer.context("cannot record")
    });
    let mut record = record.transpose()?;
    if let Some(dropped_bytes) = record.as_ref().map(|record| record.written().dropped_bytes).filter(|bytes| *bytes > 0)
    {
        brisk_program::warn!(
            "brisk: the session before was cut off; its last {dropped_bytes} bytes, no whole sample, are dropped"
        );
    }
    let mut pace = Pace::begin(watch.interval)?;
    let mut collector = Collector::default();
    let mut missed_samples = 0;
    let mut told = BTreeSet::new();
    let cpu_us_before = own_cpu_us();

    let outcome = loop {
        let snapshot = sampler.snapshot()?;
        for why in sampler.failing() {
            if told.insert(why.to_owned()) {
                brisk_program::warn!("brisk: {why}; it is left out");
            }
        }
        if let Some(Err(error)) = record.as_mut().map(|record| record.snapshot(&snapshot)) {
            break Err(anyhow::Error::from(error));
        }
        if let Some(interval) = collector.add(snapshot)
            && let Some(now) = collector.last()
        {
            let own = own_cost(None, cpu_us_before, collector.elapsed_ns());
            if !screen.sample(now, &interval, &own)? {
                break Ok(None);
            }
        }
        // The first sample begins the first interval.
        if samples_max.is_some_and(|max| collector.samples() + missed_samples > max) {
            break Ok(None);
        }
        match pace.wait()? {
            Wake::Sample { missed } => missed_samples += missed,
            Wake::Signal(number) => break Ok(Some(number)),
        }
    };

    let own = own_cost(Some(&sense), cpu_us_before, collector.elapsed_ns());
    let mut written = record.as_ref().map(Writer::written);
    let mut ended = Ok(());
    if let (Ok(_), Some(record)) = (&outcome, record) {
        let end = End {
            ended_unix_ms: unix_ms(),
            samples: collector.samples(),
            missed_samples,
            own_cpu_us: own.cpu_us,
            own_rss_bytes: own.rss_bytes,
        };
        match record.end(&end) {
            Ok(all) => written = Some(all),
            Err(error) => ended = Err(error),
        }
    }
    let ending = view::Ending { missed_samples, own, record: watch.output.as_deref().zip(written) };
    screen.end(&collector, &ending)?;
    ended?;
    Ok(match outcome? {
        None => ExitCode::SUCCESS,
        Some(signal) => ExitCode::from(128 + signal),
    })
}

/// How many intervals a session has.
fn intervals(duration: Duration, interval: Duration) -> anyhow::Result<u64> {
    if duration < interval {
        bail!(
            "a duration of {duration:?} ends before the first interval of {interval:?}: make one longer or the other \
             shorter"
        );
    }
    Ok(u64::try_from(duration.as_nanos() / interval.as_nanos()).unwrap_or(u64::MAX))
}

/// Where samples go.
struct Screen {
    lines_json: LinesJson,
    quiet: bool,
    /// A terminal, on which a block is refreshed: its lines so far.
    block_lines: Option<usize>,
    lines: u64,
}

impl Screen {
    fn of(watch: &Watch) -> anyhow::Result<Self> {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let (lines_json, quiet) = (LinesJson::open(watch.json.as_deref(), watch.output.as_deref())?, is_quiet());
        let terminal = io::stdout().is_terminal() && !dumb && !lines_json.is_printed() && !quiet;
        Ok(Self { lines_json, quiet, block_lines: terminal.then_some(0), lines: 0 })
    }

    /// Shows a sample; false when standard output is closed.
    fn sample(
        &mut self,
        now: &brisk_core::snapshot::Snapshot,
        interval: &brisk_core::snapshot::Interval,
        own: &OwnCost,
    ) -> anyhow::Result<bool> {
        if self.quiet {
            return Ok(true);
        }
        if self.lines_json.is_wanted() && !self.lines_json.line(&view::sample_json(now, interval)?)? {
            return Ok(false);
        }
        let text = if self.lines_json.is_printed() {
            return Ok(true);
        } else if let Some(lines_before) = &mut self.block_lines {
            let width = brisk_command::terminal_width().map_or(80, usize::from);
            let block = view::block(now, interval, own, width);
            // Up to where the last block began, and clear from there on.
            let up = if *lines_before > 0 { format!("\x1b[{lines_before}F\x1b[J") } else { String::new() };
            *lines_before = block.lines().count();
            up + &shown(&block)
        } else {
            let heading = if self.lines == 0 { view::LINE_HEADING } else { "" };
            shown(&(heading.to_owned() + &view::line(now, interval)))
        };
        self.lines += 1;
        put(&text)
    }

    fn end(mut self, collector: &Collector, ending: &view::Ending<'_>) -> anyhow::Result<()> {
        let summary = collector.summary();
        if self.lines_json.is_wanted() {
            self.lines_json.line(&view::summary_json(&summary, ending)?)?;
        }
        if self.lines_json.is_printed() {
            return Ok(());
        }
        print(&view::summary(&summary, Some(ending))).map(drop)
    }
}

/// Documents, one a line: on standard output in place of text, or in a file.
pub(super) struct LinesJson {
    file: Option<(PathBuf, File)>,
    printed: bool,
}

impl LinesJson {
    /// Opens FILE of `--json[=FILE]`; `-` is standard output. `record` is what the command reads or continues.
    pub(super) fn open(asked: Option<&Path>, record: Option<&Path>) -> anyhow::Result<Self> {
        Json::from(asked.map(Path::to_owned)).check(record.map(Path::to_owned).as_slice())?;
        let file = asked.filter(|path| path.as_os_str() != "-").map(|path| {
            let file = File::create(path).with_context(|| format!("cannot write --json={}", path.display()))?;
            Ok::<_, anyhow::Error>((path.to_owned(), file))
        });
        let file = file.transpose()?;
        Ok(Self { printed: asked.is_some() && file.is_none(), file })
    }

    /// Whether documents are written at all.
    pub(super) fn is_wanted(&self) -> bool {
        self.printed || self.file.is_some()
    }

    /// Whether they take the place of text.
    pub(super) fn is_printed(&self) -> bool {
        self.printed
    }

    /// Writes one; false when standard output is closed, which is no error.
    pub(super) fn line(&mut self, text: &str) -> anyhow::Result<bool> {
        match &mut self.file {
            Some((path, file)) => {
                file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
                Ok(true)
            }
            None => put(&harmless(text)),
        }
    }
}

/// Prints a text for people at once; false when standard output is closed, which is no error.
pub(super) fn print(text: &str) -> anyhow::Result<bool> {
    put(&shown(text))
}

fn put(text: &str) -> anyhow::Result<bool> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error).context("cannot write to standard output"),
    }
}

/// The kernel names of the devices that were asked for: by name, or by a path to the device or a link to it.
fn devices(sense: &Sense, watch: &Watch) -> anyhow::Result<Vec<String>> {
    if watch.devices.is_empty() {
        return Ok(Vec::new());
    }
    let known = sense.disk_stats()?;
    let mut names = Vec::new();
    for asked in &watch.devices {
        let number = std::fs::metadata(asked).ok().filter(|metadata| metadata.file_type().is_block_device());
        let number = number.map(|metadata| DeviceNumber::from_dev(std::os::unix::fs::MetadataExt::rdev(&metadata)));
        let located = number.map(|number| sense.block_device_of(number)).transpose()?.flatten();
        let name = located.map(|Located { disk, partition }| partition.map_or(disk.name, |partition| partition.name));
        let name = name.map_or_else(|| asked.clone(), |name| device_name(&name).into());
        let found = known.iter().find(|disk| Path::new(&disk.name) == name);
        let Some(found) = found else {
            let all: Vec<&str> = known.iter().map(|disk| disk.name.as_str()).collect();
            bail!("'{}' is not a block device of this machine: there are {}", asked.display(), list(&all));
        };
        if !names.contains(&found.name) {
            names.push(found.name.clone());
        }
    }
    Ok(names)
}

/// Names in one line, not more than can be read.
fn list(names: &[&str]) -> String {
    const SHOWN: usize = 20;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 if names.is_empty() => "none".to_owned(),
        0 => shown,
        more => format!("{shown} and {more} more, see /proc/diskstats"),
    }
}

/// The control groups that were asked for, each of which must be one.
fn groups(sense: &Sense, watch: &Watch) -> anyhow::Result<Vec<std::path::PathBuf>> {
    let mut dirs = Vec::new();
    for asked in &watch.cgroups {
        let dir =
            std::fs::canonicalize(asked).with_context(|| format!("there is no control group {}", asked.display()))?;
        if sense.cgroup_cpu(&dir)?.is_none() {
            let mounted = sense.cgroups()?.v2.map(|v2| v2.mount_point.display().to_string());
            let place = mounted.unwrap_or_else(|| "none is mounted".to_owned());
            bail!("{} is not a control group of the second version (those are below: {place})", asked.display());
        }
        if !dirs.contains(&dir) {
            dirs.push(dir);
        }
    }
    Ok(dirs)
}

/// What the record says of the session.
fn about(sense: &Sense, watch: &Watch) -> Session {
    let processors = sense.cpus_online().map_or_else(|_| "?".to_owned(), |count| count.to_string());
    let memory = sense.mem_info().map_or_else(|_| "?".to_owned(), |memory| format_bytes(memory.total_bytes));
    Session {
        brisk_version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel_release: sense.kernel_release().unwrap_or_default(),
        machine: format!("{}, {processors} processors, {memory} of memory", std::env::consts::ARCH),
        interval_ms: u64::try_from(watch.interval.as_millis()).unwrap_or(u64::MAX),
        started_unix_ms: unix_ms(),
        part: 0,
    }
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Processor time of this process, user and system.
fn own_cpu_us() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000)
}

/// What this session took so far; its memory when `sense` may be asked.
fn own_cost(sense: Option<&Sense>, cpu_us_before: u64, elapsed_ns: u64) -> OwnCost {
    let cpu_us = own_cpu_us().saturating_sub(cpu_us_before);
    let cpu_percent = if elapsed_ns > 0 { cpu_us as f64 * 1e5 / elapsed_ns as f64 } else { 0.0 };
    let pages = sense.and_then(|sense| sense.process_stat(std::process::id()).ok().flatten());
    let rss_bytes = pages.map_or(0, |process| process.resident_pages * rustix::param::page_size() as u64);
    OwnCost { cpu_us, cpu_percent, rss_bytes }
}
