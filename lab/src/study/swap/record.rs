//! `brisk swap record`: swapping of this machine, as a trace.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::flash::PAGE_BYTES;
use crate::study::swap::arguments::Record;
use crate::swap::{Action, Event, Trace};
use crate::swap_io::{Options, Recorded, Recorder};
use anyhow::bail;
use brisk_command::duration;
use brisk_command::json::Document;
use brisk_command::output;
use brisk_command::session::Session;
use brisk_command::terminal::remark;
use brisk_core::units::format_bytes;
use serde_json::json;

/// How often the state of the recording is looked at.
const POLL: Duration = Duration::from_millis(100);

pub(super) fn run(args: &Record) -> anyhow::Result<ExitCode> {
    let is_standard = args.output.as_os_str() == "-";
    if !is_standard {
        output::check("--output", &args.output)?;
    } else if args.json.is_printed() {
        bail!("--output - and --json both write to standard output: give one of them a file");
    }
    args.json.check(&[])?;
    let session = Session::begin()?;
    let area = area(args, &session)?;
    let options = Options { scan_interval: args.scan, ..Options::default() };
    let recorder = Recorder::start(&area, &options)?;
    let until =
        args.duration.map_or_else(|| "until Ctrl-C".to_owned(), |time| format!("for {}", duration::written(time)));
    remark(&format!("recording what is swapped to and from {} {until}", area.display()));
    let begun = Instant::now();
    let is_stopped = || session.stop_flag().load(Ordering::Relaxed);
    let is_over = || args.duration.is_some_and(|time| begun.elapsed() >= time);
    let path = std::fs::canonicalize(&area).unwrap_or_else(|_| area.clone());
    let is_there = || session.sense().swaps().is_ok_and(|areas| areas.iter().any(|area| area.path == path));
    let mut is_gone = false;
    while !is_stopped() && !is_over() && recorder.is_running() && !recorder.is_full() && !is_gone {
        if let Some(time) = args.duration {
            session.show(begun.elapsed().as_secs_f64() / time.as_secs_f64(), "recording");
        }
        std::thread::park_timeout(POLL);
        is_gone = !is_there();
    }
    session.clear();
    if is_gone {
        brisk_program::warn!(
            "brisk: warning: the swap area was switched off, which reads what is in it; the recording ends there"
        );
    }
    let recorded = recorder.finish()?;
    keep(args, &area, recorded)
}

/// The area that was named, or the one that is in use.
fn area(args: &Record, session: &Session) -> anyhow::Result<PathBuf> {
    if let Some(area) = &args.area {
        return Ok(area.clone());
    }
    let areas: Vec<PathBuf> = session.sense().swaps()?.into_iter().map(|area| area.path).collect();
    match &areas[..] {
        [area] => Ok(area.clone()),
        [] => bail!("this machine does not swap, so there is nothing to record: switch a swap area on with swapon"),
        _ => {
            let names: Vec<String> = areas.iter().map(|area| area.display().to_string()).collect();
            bail!("several swap areas are in use: name one with --area: {}", names.join(", "))
        }
    }
}

/// Writes the trace, and says what it has and lacks.
fn keep(args: &Record, area: &Path, recorded: Recorded) -> anyhow::Result<ExitCode> {
    let marked = Marked::of(recorded, area)?;
    let text = marked.trace.to_text();
    let is_standard = args.output.as_os_str() == "-";
    if is_standard {
        brisk_command::print_exactly(&text)?;
    } else {
        output::replace(&args.output, text.as_bytes())?;
    }
    let shown = || if is_standard { String::new() } else { marked.said(&args.output) };
    let file = (!is_standard).then_some(args.output.as_path());
    args.json.show(&Document::new("swap_recording", marked.facts(area, file)), shown)?;
    marked.warn();
    Ok(ExitCode::SUCCESS)
}

/// A recording with launches.
struct Marked {
    recorded: Recorded,
    trace: Trace,
    launches: usize,
}

impl Marked {
    /// Infers launches. A recording of no app is refused.
    fn of(recorded: Recorded, area: &Path) -> anyhow::Result<Self> {
        let is_of_app = |event: &Event| event.action.is_of_page() && event.action != Action::Held;
        if !recorded.trace.events.iter().any(is_of_app) {
            bail!(
                "nothing of an app was swapped to or from {} in {:.1} s, so there is no trace: use apps meanwhile, or \
                 give them less memory",
                area.display(),
                recorded.wall_ns as f64 / 1e9
            );
        }
        let trace = recorded.trace.clone().with_launches();
        let launches = trace.events.iter().filter(|event| event.action == Action::Front).count();
        Ok(Self { recorded, trace, launches })
    }

    fn facts(&self, area: &Path, file: Option<&Path>) -> serde_json::Value {
        let (recorded, counts) = (&self.recorded, &self.recorded.counts);
        json!({
            "output": file,
            "area": area,
            "events": self.trace.events.len(),
            "apps": self.trace.apps,
            "launches": self.launches,
            "duration_s": recorded.wall_ns as f64 / 1e9,
            "out_pages": counts.out_pages,
            "read_pages": counts.read_pages,
            "used_pages": counts.used_pages,
            "held_pages": counts.held_pages,
            "freed_pages": counts.freed_pages,
            "in_memory_faults": counts.in_memory_faults,
            "pages_without_address": counts.numbered_pages,
            "pages_without_app": counts.ownerless_pages,
            "slots_outside": counts.beyond,
            "lost_events": recorded.lost,
            "is_full": recorded.is_full,
            "not_seen": recorded.missing,
            "unread_processes": recorded.unread_processes,
            "scans": recorded.scans,
            "scan_cpu_ms": recorded.scan_cpu_ns as f64 / 1e6,
            "events_cpu_ms": recorded.events_cpu_ns as f64 / 1e6,
        })
    }

    fn said(&self, file: &Path) -> String {
        let (recorded, counts) = (&self.recorded, &self.recorded.counts);
        let size = |pages: u64| format_bytes(pages * PAGE_BYTES);
        let percent = |ns: u64| 100.0 * ns as f64 / recorded.wall_ns.max(1) as f64;
        format!(
            "{}: {} events of {} apps in {:.1} s, {} launches (inferred from the pages used)\n\
             written {}, read {}; apps used {} of it; {} lay in the area before\n\
             cost: {} readings of page tables took {:.2} % of one CPU, events {:.2} %\n",
            file.display(),
            self.trace.events.len(),
            self.trace.apps.len(),
            recorded.wall_ns as f64 / 1e9,
            self.launches,
            size(counts.out_pages),
            size(counts.read_pages),
            size(counts.used_pages),
            size(counts.held_pages),
            recorded.scans,
            percent(recorded.scan_cpu_ns),
            percent(recorded.events_cpu_ns),
        )
    }

    fn warn(&self) {
        for lack in lacks(&self.recorded) {
            brisk_program::warn!("brisk: warning: {lack}");
        }
    }
}

/// What the trace lacks, a sentence each.
fn lacks(recorded: &Recorded) -> Vec<String> {
    let counts = &recorded.counts;
    let mut said: Vec<String> = recorded
        .missing
        .iter()
        .map(|what| format!("this kernel does not show {what}; each page read counts as used"))
        .collect();
    let mut tell = |count: u64, text: &str| {
        if count > 0 {
            said.push(format!("{count} {text}"));
        }
    };
    tell(recorded.lost, "events were lost, since the buffer was full: the trace has gaps");
    tell(
        recorded.unread_processes as u64,
        "processes have page tables that may not be read: what they free is not known",
    );
    tell(counts.beyond, "pages lay outside of the area, and are left out");
    tell(counts.ownerless_pages, "pages belong to no app that is known: they are those of the app 'unknown'");
    tell(counts.numbered_pages, "pages were in no page table that was read: each has a number of its own");
    if recorded.is_full {
        said.push("the trace has as many events as it may have, and ends there".to_owned());
    }
    said
}
