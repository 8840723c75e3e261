//! `brisk phone launch`: cold launches without brisk and with it, in starts with different seeds, side by side.

use std::process::ExitCode;

use brisk_command::json::Document;
use brisk_command::session::Session;
use brisk_core::stats::median;
use brisk_report::results::Cause;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::arguments::LaunchArgs;
use super::ready;
use crate::phone::Catalogue;
use crate::results::{LaunchReport, LaunchRun, Stage};
use crate::virtual_phone::image::Images;
use crate::virtual_phone::measure::{self, Brisk, Conditions};
use crate::virtual_phone::plan::{self, Task};
use crate::virtual_phone::port::Port;
use crate::vm::sources::Source;
use crate::vm::{Error, Watch, worker_pool};

/// A start of a phone, and what it measured.
#[derive(Debug, Serialize)]
struct Start {
    brisk: String,
    seed: u64,
    /// What the phone told about itself at its end.
    facts: Map<String, Value>,
    launches: Vec<LaunchReport>,
}

/// Launches of an app under one condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    app: String,
    brisk: String,
    launches: usize,
    settled_ms: f64,
    storage_read_ms: f64,
    cpu_ms: f64,
    /// Against the first condition.
    ratio: Option<f64>,
}

pub(super) fn run(source: &Source, session: &Session, args: &LaunchArgs) -> anyhow::Result<ExitCode> {
    args.json.check(&[])?;
    let phone = &args.phone;
    let flash = phone.flash(&source.path("kernel/scenarios/devices"))?;
    let names = if args.launched.is_empty() { &phone.image.apps } else { &args.launched };
    for app in Catalogue::builtin().choose(names)? {
        anyhow::ensure!(phone.image.apps.contains(&app.name), "the phone has no {0}: add it with --apps {0}", app.name);
    }
    let ready = ready(source, session, &phone.image)?;
    let images = Images { source, architecture: phone.image.arch, kernel: &ready.kernel };
    let seeds = (0..u64::from(args.seeds)).map(|n| args.seed + n);
    let starts: Vec<(u64, &Brisk)> = seeds.flat_map(|seed| args.brisk.iter().map(move |brisk| (seed, brisk))).collect();
    let total = starts.len() * names.len();
    let ended = std::sync::atomic::AtomicUsize::new(0);
    let stop = session.stop_flag();
    let measured = worker_pool::each(
        &starts,
        crate::study::kernel::machines(args.jobs),
        |_, &(seed, brisk), tell: &dyn Fn(String)| {
            let conditions = Conditions {
                flash: flash.clone(),
                memory_mib: phone.memory_mib(),
                swap: phone.swap,
                swap_mib: phone.swap_mib(),
                brisk: brisk.clone(),
                seed,
                shift: phone.shift,
            };
            let log = source.phones().join(format!("launch-{}-{}-{seed}.log", phone.image.arch.name(), brisk.name()));
            let tasks = plan::in_order(&tasks(names, args.runs), seed);
            let progress = |_: f64, doing: &str| tell(format!("{}, seed {seed}: {doing}", brisk.name()));
            let watch = Watch { stop, progress: &progress };
            let port = measure::run(&images, &ready.made, &conditions, &tasks, &log, phone.time_limit, watch)?;
            ended.fetch_add(names.len(), std::sync::atomic::Ordering::Relaxed);
            start(brisk, seed, port).map_err(|why| Error::Refused { why, log })
        },
        |_, doing| session.show(ended.load(std::sync::atomic::Ordering::Relaxed) as f64 / total as f64, &doing),
    )?;
    session.clear();
    let rows = rows(names, &args.brisk, &measured);
    let about = &ready.made.about;
    let facts = json!({
        "architecture": phone.image.arch,
        "kernel": about.kernel,
        "image": about.content,
        "preset": flash.preset,
        "changed": flash.changed,
        "memory_mib": phone.memory_mib(),
        "swap": phone.swap,
        "swap_mib": phone.swap_mib(),
        "ns_per_instruction": 1_u32 << phone.shift,
        "rows": rows,
        "starts": measured,
    });
    args.json.show(&Document::new("virtual_phone_launches", facts), || table(&rows))?;
    Ok(ExitCode::SUCCESS)
}

fn tasks(apps: &[String], runs: u16) -> Vec<Task> {
    let words = |app: &str| {
        let fixed = ["brisk-lab", "launch", "--as-phone", "--virtual", "--cold", "--drop-caches", "--json=-", "--runs"];
        let words = fixed.into_iter().map(str::to_owned);
        words.chain([runs.to_string(), app.to_owned()]).collect()
    };
    apps.iter().map(|app| Task { name: app.clone(), command: words(app) }).collect()
}

/// The launches of a start; or why there are none.
fn start(brisk: &Brisk, seed: u64, port: Port) -> Result<Start, String> {
    let mut launches = Vec::new();
    for output in port.outputs {
        match serde_json::from_str::<LaunchReport>(&output.text) {
            Ok(report) => launches.push(report),
            _ => return Err(format!("no launches of {} ({:?}): {}", output.name, output.code, output.errors.trim())),
        }
    }
    Ok(Start { brisk: brisk.name(), seed, facts: port.facts, launches })
}

/// Medians over all launches of an app with one condition.
fn rows(apps: &[String], brisk: &[Brisk], starts: &[Start]) -> Vec<Row> {
    let mut rows = Vec::new();
    for app in apps {
        let mut first: Option<f64> = None;
        for brisk in brisk.iter().map(Brisk::name) {
            let of_app = starts.iter().filter(|start| start.brisk == brisk).flat_map(|start| &start.launches);
            let sets = of_app.filter(|report| report.app == *app).flat_map(|report| &report.sets);
            let runs: Vec<_> =
                sets.flat_map(|set| &set.runs).filter(|run| run.at_ms(Stage::Settled).is_some()).collect();
            let of = |value: &dyn Fn(&LaunchRun) -> f64| median(&runs.iter().map(|run| value(run)).collect::<Vec<_>>());
            let part = |causes: &'static [Cause]| {
                move |run: &LaunchRun| {
                    let split = run.split(Stage::Settled);
                    causes.iter().filter_map(|cause| split?.time_ms(*cause)).sum::<f64>()
                }
            };
            let Some(settled_ms) = of(&|run| run.at_ms(Stage::Settled).unwrap_or_default()) else { continue };
            rows.push(Row {
                app: app.clone(),
                brisk,
                launches: runs.len(),
                settled_ms,
                storage_read_ms: of(&part(&[Cause::StorageRead, Cause::SwapIn])).unwrap_or_default(),
                cpu_ms: of(&part(&[Cause::UserCpu, Cause::SystemCpu])).unwrap_or_default(),
                ratio: first.map(|first| settled_ms / first),
            });
            first = first.or(Some(settled_ms));
        }
    }
    rows
}

fn table(rows: &[Row]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["app", "brisk", "launches", "settled", "waits for reads", "computes", "ratio"]);
    for row in rows {
        let [settled, reads, cpu] = [row.settled_ms, row.storage_read_ms, row.cpu_ms].map(|ms| format!("{ms:.0} ms"));
        let ratio = row.ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}"));
        table.add_row([row.app.clone(), row.brisk.clone(), row.launches.to_string(), settled, reads, cpu, ratio]);
    }
    format!("{table}\n\nMedians of cold launches in virtual time, on one processor.\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_app_is_launched_as_the_phones_user() {
        let tasks = tasks(&["evince".to_owned()], 3);
        assert_eq!(tasks[0].name, "evince");
        assert!(
            tasks[0].command.join(" ").ends_with("--as-phone --virtual --cold --drop-caches --json=- --runs 3 evince")
        );
    }

    #[test]
    fn a_command_without_a_report_is_a_trouble_that_cites_it() {
        let output = crate::virtual_phone::port::Output {
            name: "evince".to_owned(),
            code: Some(2),
            text: String::new(),
            errors: "no display\n".to_owned(),
        };
        let port = Port { outputs: vec![output], ..Port::default() };
        let why = start(&Brisk::Off, 1, port).expect_err("no report");
        assert!(why.contains("evince") && why.contains("no display"), "{why}");
    }
}
