//! `brisk study heap`: how well memory needs are predicted, and what thresholds cover, from a table of recorded runs.

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::{Context as _, bail};
use brisk_bench::environment::Run;
use brisk_bench::place::Place;
use brisk_command::lab::heap_study::Args;
use brisk_command::session::Session;
use brisk_core::units::format_bytes;
use brisk_memory::heap::{self, Table};
use brisk_results::{Document, HeapStudyReport, HeapTable, Warning};

/// Largest file that is read, and what it may unpack to: some million samples.
const FILE_BYTES_MAX: u64 = 64 << 20;
const TEXT_BYTES_MAX: u64 = 256 << 20;
/// Runs of an app in the dissertation.
const RUNS: u64 = 11;

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.outputs.check(&args.traces)?;
    let table = read(&args.traces)?;
    let session = Session::begin()?;
    let dir = args.traces.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let sense = session.sense();
    let mut head = Run::begin(&sense, &Place::find(&sense, dir, false)?, 0)?;
    let interval_s = args.interval.map(|interval| interval.as_secs_f64());
    let found = heap::evaluate(&table, interval_s, &mut |done, app| {
        session.show(done, app);
        !session.stop_flag().load(Ordering::Relaxed)
    });
    session.clear();
    let Some(found) = found else { return Ok(session.was_stopped()) };
    if found.apps.is_empty() {
        bail!(
            "no run in {} has as many as five values, {} s apart: give a shorter --interval, or record longer runs",
            args.traces.display(),
            found.interval_s
        );
    }
    let few: Vec<&str> = found.apps.iter().filter(|app| app.runs < RUNS).map(|app| app.app.as_str()).collect();
    if !few.is_empty() {
        head.warn([Warning {
            code: "few_runs".to_owned(),
            text: format!(
                "Fewer than {RUNS} runs, as in the dissertation, of {}: their thresholds learned from less, and without two runs an \
                 app has none.",
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
            name: args.traces.file_name().unwrap_or_default().to_string_lossy().into_owned(),
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
    session.finish(Document::HeapStudy(Box::new(report)), &args.outputs)?;
    Ok(ExitCode::SUCCESS)
}

/// The first names, and how many there are more.
fn named(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// Reads a table, packed by gzip or not.
fn read(file: &Path) -> anyhow::Result<Table> {
    let bytes = brisk_files::read(file, FILE_BYTES_MAX)?;
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        let failed = || format!("cannot unpack {}", file.display());
        let mut text = Vec::new();
        let unpacked = flate2::read::MultiGzDecoder::new(&bytes[..]);
        unpacked.take(TEXT_BYTES_MAX + 1).read_to_end(&mut text).with_context(failed)?;
        if text.len() as u64 > TEXT_BYTES_MAX {
            bail!("{} unpacks to more than {}: cut it", file.display(), format_bytes(TEXT_BYTES_MAX));
        }
        text
    } else {
        bytes
    };
    let text = String::from_utf8(bytes).with_context(|| format!("{} is no text", file.display()))?;
    Table::parse(&text).with_context(|| format!("{} is no table of memory over time", file.display()))
}
