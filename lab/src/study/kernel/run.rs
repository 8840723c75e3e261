//! `brisk kernel`: I/O schedulers on an emulated flash device in a virtual machine, with figures that repeat anywhere.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::study::kernel::arguments::{Args, BenchArgs, Common, SEARCH_SCALE, What};
use crate::vm::bench::Bench;
use crate::vm::compare::Options;
use crate::vm::scenario::Scenario;
use crate::vm::schedulers::settings;
use crate::vm::sources::Source;
use anyhow::Context as _;
use brisk_command::json::{Document, Json};
use serde_json::json;

use super::measure::{self, Keep, Part};
use super::{hunt, test};

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let here = std::env::current_dir().context("cannot tell where this is")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let source = Source::find(args.source.as_deref().unwrap_or(&here), target)?;
    match &args.what {
        What::List(json) => list(&source, json),
        What::Run(args) => {
            let options = Options { schedulers: vec![args.scheduler.clone()], ..options(&args.common, &args.set)? };
            let parts = scenarios(&source, &args.scenarios)?.into_iter();
            let parts = parts.map(|scenario| Part { scenario, options: options.clone(), keep: None, aims: Vec::new() });
            measure::measure(&source, parts.collect(), &args.common, None)
        }
        What::Compare(args) => {
            let options = Options {
                schedulers: args.schedulers.clone(),
                tuned: args.tuned,
                search_scale: args.search_scale,
                search_budget: usize::from(args.search_budget),
                write_min_percent: args.min_writes,
                repeat_percent_max: None,
                ..options(&args.common, &[])?
            };
            let keep = Keep { save: args.save, anew: args.search };
            let parts = scenarios(&source, &args.scenarios)?.into_iter();
            let parts =
                parts.map(|scenario| Part { scenario, options: options.clone(), keep: Some(keep), aims: Vec::new() });
            measure::measure(&source, parts.collect(), &args.common, None)
        }
        What::Bench(args) => bench(&source, args),
        What::Hunt(args) => hunt::run(&source, args),
        What::Test(args) => test::run(&source, args),
    }
}

/// Virtual machines at the same time: as asked for, or one for each processor.
pub(crate) fn machines(jobs: Option<u16>) -> usize {
    jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

fn options(common: &Common, set: &[String]) -> anyhow::Result<Options> {
    Ok(Options {
        schedulers: Vec::new(),
        settings: settings(set)?,
        tuned: false,
        seeds: (0..common.seeds).map(|n| u64::from(common.seed) + u64::from(n)).collect(),
        scale: common.scale,
        search_scale: 1.0,
        search_budget: 1,
        also: Vec::new(),
        write_min_percent: None,
        repeat_percent_max: None,
    })
}

fn scenarios(source: &Source, names: &[String]) -> anyhow::Result<Vec<Scenario>> {
    Ok(match names {
        [all] if all == "all" => Scenario::all(&source.scenarios())?,
        names => names.iter().map(|name| Scenario::find(&source.scenarios(), name)).collect::<Result<_, _>>()?,
    })
}

/// Everything in `kernel/bench.toml`, or some parts of it.
fn bench(source: &Source, args: &BenchArgs) -> anyhow::Result<ExitCode> {
    let bench = Bench::read(&source.path("kernel/bench.toml"))?;
    let mut parts = Vec::new();
    for (part, scenario) in bench.parts(&args.parts, args.all, &source.scenarios())? {
        let common = options(&args.common, &[])?;
        let options = Options {
            schedulers: part.schedulers.clone(),
            also: part.also(),
            tuned: part.search_budget.is_some() && !args.untuned,
            search_budget: part.search_budget.unwrap_or(1),
            search_scale: SEARCH_SCALE,
            scale: common.scale * part.scale,
            ..common
        };
        let keep = Some(Keep { save: true, anew: args.search });
        parts.push(Part { scenario, options, keep, aims: part.aims.clone() });
    }
    measure::measure(source, parts, &args.common, Some(&bench.judged))
}

fn list(source: &Source, json: &Json) -> anyhow::Result<ExitCode> {
    let scenarios = Scenario::all(&source.scenarios())?;
    let of_programs: Vec<_> = scenarios
        .iter()
        .map(|scenario| {
            json!({
                "name": scenario.name,
                "preset": scenario.device().preset,
                "loads": scenario.loads.len(),
                "question": scenario.question,
            })
        })
        .collect();
    let document = Document::new("kernel_list", json!({ "scenarios": of_programs }));
    json.show(&document, || format!("{}\n", table(&scenarios)))?;
    Ok(ExitCode::SUCCESS)
}

fn table(scenarios: &[Scenario]) -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_header(["scenario", "device", "loads", "what it asks"]);
    for scenario in scenarios {
        table.add_row([
            scenario.name.clone(),
            scenario.device().preset.clone(),
            scenario.loads.len().to_string(),
            scenario.question.clone(),
        ]);
    }
    table
}
