//! `brisk phone returns`: switching between open apps with little memory, without brisk and with it.

use std::process::ExitCode;

use brisk_command::json::Document;
use brisk_command::session::Session;
use brisk_core::stats::median;
use serde::Serialize;
use serde_json::json;

use super::arguments::ReturnsArgs;
use super::inside::{Return, Returns};
use super::starts::{Start, Study, read};
use crate::virtual_phone::measure::Brisk;
use crate::virtual_phone::plan::{Surroundings, Task};
use crate::vm::sources::Source;

/// Returns to an app under one condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    app: String,
    brisk: String,
    returns: usize,
    /// Returns to an app that had been ended.
    ended: usize,
    end_ms: f64,
    end_ms_p90: f64,
    first_change_ms: Option<f64>,
    swapped_mib: Option<f64>,
    /// Against the first condition.
    ratio: Option<f64>,
}

pub(super) fn run(source: &Source, session: &Session, args: &ReturnsArgs) -> anyhow::Result<ExitCode> {
    let (phone, compared) = (&args.phone, &args.compared);
    compared.json.check(&[])?;
    let apps = &phone.image.apps;
    let study = Study::<Returns> {
        name: "returns",
        phone,
        compared,
        around: Surroundings { mglru: args.mglru, ..phone.surroundings(compared.writers) },
        tasks: &|brisk, seed| vec![task(apps, args.rounds, brisk, seed)],
        read: &|output| read(output).map(Some),
    };
    let (measured, mut facts) = study.measure(source, session)?;
    let rows = rows(apps, &compared.brisk, &measured);
    facts.extend([("rows".to_owned(), json!(rows)), ("starts".to_owned(), json!(measured))]);
    compared.json.show(&Document::new("virtual_phone_returns", facts), || table(&rows))?;
    Ok(ExitCode::SUCCESS)
}

fn task(apps: &[String], rounds: u16, brisk: &Brisk, seed: u64) -> Task {
    // The observer of events has a buffer that a phone with little memory does not have.
    let fixed = ["brisk-lab", "phone", "inside", "--method", "cgroup", "--timeout", "60s", "--rounds"];
    let mut command = fixed.map(str::to_owned).to_vec();
    command.extend([rounds.to_string(), "--seed".to_owned(), seed.to_string()]);
    if *brisk != Brisk::Off {
        command.push("--teller".to_owned());
    }
    command.extend_from_slice(apps);
    Task { name: "returns".to_owned(), command }
}

/// Over all returns to an app with one condition; then over those to all.
fn rows(apps: &[String], brisk: &[Brisk], starts: &[Start<Returns>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for app in apps.iter().map(Some).chain([None]) {
        let mut first: Option<f64> = None;
        for brisk in brisk.iter().map(Brisk::name) {
            let of_brisk = starts.iter().filter(|start| start.brisk == brisk).flat_map(|start| &start.results);
            let returns: Vec<&Return> = of_brisk
                .flat_map(|returns| &returns.returns)
                .filter(|one| app.is_none_or(|app| one.app == *app))
                .collect();
            let ends: Vec<f64> = returns.iter().map(|one| one.end_ms).collect();
            let (Some(end_ms), Some(end_ms_p90)) = (median(&ends), nine_of_ten(&ends)) else { continue };
            let of = |value: fn(&Return) -> Option<f64>| {
                median(&returns.iter().filter_map(|one| value(one)).collect::<Vec<_>>())
            };
            rows.push(Row {
                app: app.map_or("all", String::as_str).to_owned(),
                brisk,
                returns: returns.len(),
                ended: returns.iter().filter(|one| one.ended).count(),
                end_ms,
                end_ms_p90,
                first_change_ms: of(|one| one.first_change_ms),
                swapped_mib: of(|one| one.swapped_mib),
                ratio: first.map(|first| end_ms / first),
            });
            first = first.or(Some(end_ms));
        }
    }
    rows
}

/// The least value that nine of ten do not exceed.
fn nine_of_ten(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len() * 9).div_ceil(10).saturating_sub(1)).copied()
}

fn table(rows: &[Row]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header([
        "app",
        "brisk",
        "returns",
        "ended",
        "answered",
        "nine of ten by",
        "drawn",
        "swapped out",
        "ratio",
    ]);
    for row in rows {
        let some =
            |value: Option<f64>, unit: &str| value.map_or_else(String::new, |value| format!("{value:.0} {unit}"));
        table.add_row([
            row.app.clone(),
            row.brisk.clone(),
            row.returns.to_string(),
            row.ended.to_string(),
            some(Some(row.end_ms), "ms"),
            some(Some(row.end_ms_p90), "ms"),
            some(row.first_change_ms, "ms"),
            some(row.swapped_mib, "MiB"),
            row.ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}")),
        ]);
    }
    format!("{table}\n\nMedians of returns in virtual time, on one processor.\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_of_ten_values_are_not_above_it() {
        let values: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        assert_eq!(nine_of_ten(&values), Some(18.0));
        assert_eq!((nine_of_ten(&[7.0]), nine_of_ten(&[])), (Some(7.0), None));
    }

    #[test]
    fn who_is_in_front_is_told_where_brisk_runs() {
        let words = |brisk| task(&["evince".to_owned()], 3, &brisk, 7).command.join(" ");
        assert!(words(Brisk::Off).ends_with("--rounds 3 --seed 7 evince"));
        assert!(words(Brisk::Default).ends_with("--rounds 3 --seed 7 --teller evince"));
    }
}
