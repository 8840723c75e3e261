//! `brisk swap`: recorded and synthetic traces of swapping, their layout, and their replay under other policies.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use super::record;
use crate::flash::PAGE_BYTES;
use crate::results::{
    Direction, Document, Header, SwapApp, SwapBin, SwapCell, SwapLayout, SwapMap, SwapReplay, SwapReport, SwapTrace,
};
use crate::study::swap::arguments::{Args, Command, Generate, PolicyName, Replay, Show, SwapInName};
use anyhow::{Context as _, bail};
use brisk_bench::Sense;
use brisk_bench::environment::Run;
use brisk_bench::place::Place;
use brisk_command::output::replace;
use brisk_command::session::Session;
use brisk_command::tables;
use brisk_core::stats::Summary;

use crate::swap::{Action, Outcome, Policy, Settings, SwapIn, Trace, Workload, layout::layout, map::map};

/// Largest trace that is read: ten million events.
const TRACE_BYTES_MAX: u64 = 512 << 20;

/// Columns and rows of the map of a trace.
const MAP_COLUMNS: u32 = 96;
const MAP_ROWS: u32 = 48;

/// What is read and written within this time counts as concurrent.
const CONCURRENT_US: u64 = 100_000;

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Record(args) => record::run(args),
        Command::Generate(args) => generate(args),
        Command::Show(args) => show(args),
        Command::Replay(args) => replay(args),
    }
}

fn generate(args: &Generate) -> anyhow::Result<ExitCode> {
    let launch_share = f64::from(args.used) / 100.0;
    let mut trace = Workload { switches: args.switches, launch_share, ..Workload::mars(args.seed) }.trace()?;
    if args.slots {
        trace = crate::swap::with_slots(&trace, Policy::Linux);
    }
    let text = trace.to_text();
    if args.output.as_os_str() == "-" {
        brisk_command::print(&text)?;
    } else {
        replace(&args.output, text.as_bytes())?;
        brisk_program::info!("{} events of {} apps in {}", trace.events.len(), trace.apps.len(), args.output.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn show(args: &Show) -> anyhow::Result<ExitCode> {
    args.outputs.check(&args.trace)?;
    let session = Session::begin()?;
    let run = begin(&session.sense())?;
    let trace = read(&args.trace)?;
    let last_us = trace.events.last().map_or(0, |event| event.at_us);
    let found = layout(&trace, (last_us / u64::from(args.intervals)).max(1));
    if found.bins.is_empty() && found.without_slot > 0 {
        bail!(
            "{} has no slots, so nothing is known of its layout: replay it, or make one with brisk swap generate \
             --slots",
            args.trace.display()
        );
    }
    let bytes = |pages: u64| (pages * PAGE_BYTES) as f64;
    let interval_s = found.bin_us as f64 / 1e6;
    let bin = |bin: &crate::swap::layout::Bin| SwapBin {
        from_s: bin.from_us as f64 / 1e6,
        in_bytes_per_s: bytes(bin.in_pages) / interval_s,
        out_bytes_per_s: bytes(bin.out_pages) / interval_s,
        in_run_bytes: (bin.in_runs > 0).then(|| bytes(bin.in_pages) / bin.in_runs as f64),
    };
    let layout = SwapLayout {
        interval_s,
        bins: found.bins.iter().map(bin).collect(),
        in_run_bytes: found.in_run_pages_mean().map(|pages| pages * PAGE_BYTES as f64),
        used_percent: found.used_percent(),
        in_with_writes_percent: layout(&trace, CONCURRENT_US).in_with_writes_percent(),
        apps_in_cluster: found.apps_in_cluster_mean(),
        without_slot: found.without_slot,
    };
    let report = SwapReport {
        header: end(run),
        traces: vec![facts(&args.trace, &trace)],
        layout: Some(layout),
        map: Some(map_of(&trace)),
        preset: None,
        replays: Vec::new(),
    };
    session.finish(Document::from(report), &args.outputs)?;
    Ok(ExitCode::SUCCESS)
}

fn replay(args: &Replay) -> anyhow::Result<ExitCode> {
    let preset = crate::preset::load(&args.preset)?;
    args.traces.iter().try_for_each(|trace| args.outputs.check(trace))?;
    let session = Session::begin()?;
    let run = begin(&session.sense())?;
    let traces = args.traces.iter().map(|file| read(file)).collect::<anyhow::Result<Vec<_>>>()?;
    let ways: Vec<Settings> = args
        .policy
        .iter()
        .flat_map(|policy| args.swap_in.iter().map(move |swap_in| (policy, swap_in)))
        .map(|(&policy, &swap_in)| settings(policy, swap_in, args.page_cluster))
        .collect();
    let mut replays = Vec::new();
    for (n, way) in ways.iter().enumerate() {
        let mut outcomes = Vec::new();
        for (k, trace) in traces.iter().enumerate() {
            let done = (n * traces.len() + k) as f64 / (ways.len() * traces.len()) as f64;
            session.show(done, &format!("{} {}", way.policy.name(), way.swap_in.name()));
            outcomes.push(crate::swap::replay(trace, &preset, way)?);
            if session.stop_flag().load(Ordering::Relaxed) {
                session.clear();
                return Ok(session.was_stopped());
            }
        }
        replays.push(summed_up(way, &outcomes)?);
    }
    session.clear();
    let report = SwapReport {
        header: end(run),
        traces: args.traces.iter().zip(&traces).map(|(file, trace)| facts(file, trace)).collect(),
        layout: None,
        map: None,
        preset: Some(preset.name.clone()),
        replays,
    };
    session.finish(Document::from(report), &args.outputs)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn begin(sense: &Sense) -> anyhow::Result<Run> {
    Ok(Run::begin(sense, &Place::find(sense, Path::new("."), false)?, 0)?)
}

/// The head: the disk that the trace lies on has no part in it.
pub(crate) fn end(run: Run) -> Header {
    let mut header = run.end(None, 0);
    // Times are the model's: a busy processor does not change them.
    header.warnings.retain(|warning| warning.code != "cpu_pressure");
    let environment = &mut header.environment;
    (environment.device, environment.file_system, environment.mount_options) = (None, None, None);
    environment.disks.clear();
    header
}

fn settings(policy: PolicyName, swap_in: SwapInName, page_cluster: u32) -> Settings {
    let policy = match policy {
        PolicyName::Linux => Policy::Linux,
        PolicyName::Extents => Policy::Extents,
        PolicyName::Mars => Policy::Mars,
    };
    let swap_in = match swap_in {
        SwapInName::Window => SwapIn::Window { page_cluster },
        SwapInName::Extent => SwapIn::Extent,
        SwapInName::App => SwapIn::App,
    };
    Settings::of(policy).reading(swap_in)
}

fn read(file: &Path) -> anyhow::Result<Trace> {
    tables::read(file, "a trace of swapping", TRACE_BYTES_MAX, &[Trace::LAYOUT], Trace::parse)
}

/// The map of a trace, which is as large for an hour as for a minute.
fn map_of(trace: &Trace) -> SwapMap {
    let found = map(trace, MAP_COLUMNS, MAP_ROWS);
    let cell = |cell: &crate::swap::map::Cell| SwapCell {
        column: cell.column,
        row: cell.row,
        direction: if cell.is_out { Direction::Write } else { Direction::Read },
        app: cell.app.into(),
        pages: cell.pages,
    };
    let app = |(name, pages): (&String, &crate::swap::map::AppPages)| SwapApp {
        name: name.clone(),
        in_bytes: pages.in_pages * PAGE_BYTES,
        used_bytes: pages.used_pages * PAGE_BYTES,
        out_bytes: pages.out_pages * PAGE_BYTES,
    };
    SwapMap {
        column_s: found.column_us as f64 / 1e6,
        row_bytes: found.row_slots * PAGE_BYTES,
        apps: trace.apps.iter().zip(&found.apps).map(app).collect(),
        cells: found.cells.iter().map(cell).collect(),
    }
}

fn facts(file: &Path, trace: &Trace) -> SwapTrace {
    let count = |action: Action| trace.events.iter().filter(|event| event.action == action).count() as u64;
    let at_s = |event: Option<&crate::swap::Event>| event.map_or(0.0, |event| event.at_us as f64 / 1e6);
    SwapTrace {
        name: tables::name(file),
        area_bytes: u64::from(trace.area_slots) * PAGE_BYTES,
        apps: trace.apps.len() as u64,
        launches: count(Action::Front),
        in_bytes: count(Action::In) * PAGE_BYTES,
        out_bytes: count(Action::Out) * PAGE_BYTES,
        duration_s: at_s(trace.events.last()) - at_s(trace.events.first()),
    }
}

fn summed_up(way: &Settings, outcomes: &[Outcome]) -> anyhow::Result<SwapReplay> {
    let over = |of: &dyn Fn(&Outcome) -> f64| {
        let values: Vec<f64> = outcomes.iter().map(of).collect();
        Summary::of(&values).context("there is no trace")
    };
    let bytes = |pages: u64| (pages * PAGE_BYTES) as f64;
    let ms = |ns: Option<f64>| ns.unwrap_or(0.0) / 1e6;
    let longest = |all: &[u64]| all.last().map(|&ns| ns as f64);
    let percent = |part: u64, whole: u64| if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
    Ok(SwapReplay {
        policy: way.policy.name().to_owned(),
        swap_in: way.swap_in.name().to_owned(),
        in_bytes_per_s: over(&Outcome::read_bytes_per_s)?,
        read_ms_mean: over(&|one| ms(one.read_latency_ns_mean()))?,
        read_ms_max: over(&|one| ms(longest(&one.read_latencies_ns)))?,
        device_ms_mean: over(&|one| ms(one.read_device_ns_mean()))?,
        device_ms_max: over(&|one| ms(longest(&one.read_device_ns)))?,
        launch_wait_ms_mean: over(&|one| one.waited_ns() as f64 / 1e6 / one.launches.len().max(1) as f64)?,
        request_bytes_mean: over(&|one| bytes(one.read_pages) / one.read_latencies_ns.len().max(1) as f64)?,
        in_bytes: over(&|one| bytes(one.read_pages))?,
        used_percent: over(&|one| percent(one.used_pages, one.read_pages))?,
        out_bytes: over(&|one| bytes(one.written_pages))?,
        with_writes_percent: over(&|one| percent(one.reading_with_writes_ns, one.reading_ns))?,
        reserve_bytes_max: over(&|one| bytes(one.reserve_pages_max))?,
        stray_pages: over(&|one| one.strays as f64)?,
        unknown_pages: over(&|one| one.unknown_pages as f64)?,
    })
}
