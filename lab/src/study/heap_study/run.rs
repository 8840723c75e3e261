//! `brisk study heap`: how well memory needs are predicted, and what thresholds cover, from a table of recorded runs.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use crate::memory::heap::{self, Table};
use crate::results::{Document, HeapStudyReport, HeapTable, Warning};
use crate::study::heap_study::arguments::Args;
use anyhow::bail;
use brisk_bench::environment::Run;
use brisk_bench::place::Place;
use brisk_command::session::Session;
use brisk_command::tables;

/// Largest text that is read: some million samples.
const TEXT_BYTES_MAX: u64 = 256 << 20;
/// Runs of an app in the dissertation.
const RUNS: u64 = 11;

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.outputs.check(&args.traces)?;
    let table = read(&args.traces)?;
    let session = Session::begin()?;
    let sense = session.sense();
    // The machine has no part in what was recorded, and a pipe lies nowhere.
    let mut head = Run::begin(&sense, &Place::find(&sense, Path::new("."), false)?, 0)?;
    let interval_s = args.interval.map(|interval| interval.as_secs_f64());
    let found = heap::evaluate(&table, interval_s, &mut |done, app| {
        session.show(done, app);
        !session.stop_flag().load(Ordering::Relaxed)
    });
    session.clear();
    let Some(found) = found else { return Ok(session.was_stopped()) };
    if found.apps.is_empty() {
        bail!(
            "no run in {} has as many as five values, {} s apart: it has {} of {}; give a shorter --interval, or \
             record longer runs",
            args.traces.display(),
            found.interval_s,
            counted(table.traces.iter().map(|trace| trace.samples.len()).sum::<usize>(), "sample"),
            named(&table.traces.iter().map(|trace| trace.app.as_str()).collect::<Vec<_>>()),
        );
    }
    let few: Vec<&str> = found.apps.iter().filter(|app| app.runs < RUNS).map(|app| app.app.as_str()).collect();
    if !few.is_empty() {
        head.warn([Warning {
            code: "few_runs".to_owned(),
            text: format!(
                "Fewer than {RUNS} runs, as in the dissertation, of {}: their thresholds learned from less, and \
                 without two runs an app has none.",
                named(&few)
            ),
        }]);
    }
    let mut header = head.end(None, 0);
    // The machine has no part in what was recorded.
    header.warnings.retain(|warning| warning.code != "cpu_pressure");
    let environment = &mut header.environment;
    (environment.device, environment.file_system, environment.mount_options) = (None, None, None);
    environment.disks.clear();
    let report = HeapStudyReport {
        header,
        table: HeapTable {
            name: tables::name(&args.traces),
            columns: table.form.name().to_owned(),
            sampled_s: table.sampled_s().unwrap_or(0.0),
            interval_s: found.interval_s,
            short_runs: found.short_runs,
        },
        apps: found.apps,
        alphas: found.alphas,
        thresholds: found.thresholds,
        aims: found.aims,
    };
    session.finish(Document::from(report), &args.outputs)?;
    Ok(ExitCode::SUCCESS)
}

fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The first names, and how many there are more.
fn named(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

fn read(file: &Path) -> anyhow::Result<Table> {
    tables::read(file, "a table of memory over time", TEXT_BYTES_MAX, &Table::LAYOUTS, Table::parse)
}
