//! The profile of a device: what each setting costs for each workload, and how well settings are chosen by it.

use brisk_core::stats;
use brisk_results::{ProfileCell, ProfilePick, ProfileReport, ProfileSetting, ProfileWorkload};

use crate::format;
use crate::section::{Chart, Figure, Panel, Section};
use crate::svg::dots::{DotChart, Row};
use crate::svg::frame::Axis;
use crate::svg::scale::Law;
use crate::svg::{Marker, Tone};
use crate::table::{Cell, Kind, Table};

/// The ways of choosing, by the words of the document and of people.
const CHOOSERS: [(&str, &str); 4] = [
    ("adaptive", "by this profile"),
    ("paper", "by the published table"),
    ("one_for_all", "one setting for all"),
    ("own", "the device's own"),
];

/// The section of this document.
pub(crate) fn section(report: &ProfileReport) -> Section {
    let mut figures = Vec::new();
    if !report.workloads.is_empty() {
        figures.push(costs(report));
    }
    if !report.judged.is_empty() {
        figures.push(choices(report));
    }
    Section {
        title: if report.held_out { "Judgement of a profile" } else { "Profile" }.to_owned(),
        question: "Which scheduler and queue depth take least energy for each workload, without being slower?"
            .to_owned(),
        verdict: verdict(report),
        figures,
    }
}

fn setting(setting: &ProfileSetting) -> String {
    let read_ahead = setting.read_ahead_kb.map_or_else(String::new, |kb| format!(" ra{kb}"));
    let throttling = setting.wbt_lat_usec.map_or_else(String::new, |us| format!(" wbt{us}"));
    format!("{}/{}{read_ahead}{throttling}", setting.scheduler, setting.queue_depth_requests)
}

fn best_cell(workload: &ProfileWorkload) -> Option<&ProfileCell> {
    workload.cells.iter().find(|cell| cell.setting == workload.best)
}

fn verdict(report: &ProfileReport) -> Vec<String> {
    let saved: Vec<f64> = report
        .workloads
        .iter()
        .filter_map(best_cell)
        .map(|cell| (1.0 - cell.energy_ratio) * 100.0)
        .filter(|percent| percent.is_finite())
        .collect();
    let Some(saved) = stats::Summary::of(&saved) else {
        return vec!["Nothing was measured: the document has no workloads.".to_owned()];
    };
    let modelled = if report.meter.name == "modelled" { "modelled " } else { "" };
    let mut said = vec![format!(
        "The best setting of each workload takes {} less {modelled}energy than {} (median; {} to {}).",
        format::percent(saved.median),
        setting(&report.own),
        format::percent(saved.min),
        format::percent(saved.max)
    )];
    said.extend(shares(report));
    said.push(format!("Energy is {}; {}.", report.meter.what, report.meter.uncertainty));
    if report.taken_over_cells > 0 {
        said.push(format!(
            "{} of a run that was stopped before were taken over.",
            format::plural(report.taken_over_cells, "cell")
        ));
    }
    said
}

/// How often each way of choosing was right.
fn shares(report: &ProfileReport) -> Option<String> {
    let right = |chooser: &str| {
        let picks = || report.judged.iter().flat_map(|one| &one.picks).filter(|pick| pick.chooser == chooser);
        let count = |of: fn(&ProfilePick) -> bool| picks().filter(|pick| of(pick)).count();
        (count(|pick| pick.right), count(|pick| pick.right || pick.not_told_from_right), picks().count())
    };
    let told: Vec<String> = CHOOSERS
        .iter()
        .map(|(chooser, words)| (right(chooser), words))
        .filter(|((.., all), _)| *all > 0)
        .map(|((right, perhaps, all), words)| match perhaps - right {
            0 => format!("{words} {right} of {all}"),
            more => format!("{words} {right} of {all} (and {more} that noise hides)"),
        })
        .collect();
    let what = if report.held_out { "held out" } else { "left out of the profile in turn" };
    (!told.is_empty()).then(|| {
        format!(
            "Of workloads {what}, these come within 2 % of the least energy without being slower: {}.",
            format::list(&told)
        )
    })
}

fn costs(report: &ProfileReport) -> Figure {
    let rows = report
        .workloads
        .iter()
        .filter_map(|workload| {
            let cell = best_cell(workload)?;
            Some(Row {
                name: workload.name.clone(),
                value: cell.energy_ratio,
                range: None,
                label: format::times(cell.energy_ratio),
                below: setting(&cell.setting),
                tone: Tone::Plain,
                marker: Marker::Circle,
                published: Vec::new(),
                strokes: workload.cells.iter().map(|cell| cell.energy_ratio).collect(),
                runs: Vec::new(),
            })
        })
        .collect();
    let chart = DotChart {
        title: "Energy of a request over that under the device's own setting".to_owned(),
        description: verdict(report).join(" "),
        x: Axis::new("energy over that of the device's own setting", Law::Window, format::tick),
        levels: vec![(1.0, "own setting".to_owned())],
        holds: vec![1.0],
        rows,
    };
    Figure {
        title: "Energy of the best setting for each workload".to_owned(),
        caption: format!(
            "Dots are the setting of least energy among those that are no more than 1 % slower than the device's own; \
             strokes are all settings. {} of {} s for each workload and setting.",
            format::plural(report.rounds.into(), "round"),
            format::tick(report.cell_s)
        ),
        keys: Vec::new(),
        panels: vec![Panel { title: "Energy over the own setting".to_owned(), chart: Chart::Dots(chart) }],
        tables: vec![best_table(report), all_table(report)],
        tables_open: true,
    }
}

fn delay_us(cell: &ProfileCell) -> Option<f64> {
    cell.read_us_mean.or(cell.write_us_mean)
}

fn best_table(report: &ProfileReport) -> Table {
    let mut table = Table::new(
        "Best setting for each workload",
        &[
            ("workload", Kind::Words),
            ("requests/s", Kind::Numbers),
            ("best", Kind::Words),
            ("uJ/request", Kind::Numbers),
            ("of own", Kind::Numbers),
            ("", Kind::Bars),
            ("delay", Kind::Numbers),
            ("of own", Kind::Numbers),
        ],
    )
    .dispensable(&[1, 6]);
    for workload in &report.workloads {
        let Some(cell) = best_cell(workload) else { continue };
        table.rows.push(vec![
            workload.name.as_str().into(),
            format::tally(cell.requests_per_s).into(),
            setting(&cell.setting).into(),
            format::number(cell.request_uj_mean).into(),
            format::times(cell.energy_ratio).into(),
            Cell::Bar(cell.energy_ratio),
            delay_us(cell).map_or(Cell::Empty, |us| format::us(us).into()),
            format::times(cell.delay_ratio).into(),
        ]);
    }
    table
        .with_note(Some("Delay is that of reads, from when they were due; of writes where nothing is read.".to_owned()))
}

fn all_table(report: &ProfileReport) -> Table {
    let mut table = Table::new(
        "All settings",
        &[
            ("workload", Kind::Words),
            ("setting", Kind::Words),
            ("requests/s", Kind::Numbers),
            ("uJ/request", Kind::Numbers),
            ("energy of own", Kind::Numbers),
            ("read", Kind::Numbers),
            ("write", Kind::Numbers),
            ("delay of own", Kind::Numbers),
            ("remark", Kind::Words),
        ],
    )
    .page_only();
    for workload in &report.workloads {
        for cell in &workload.cells {
            let us = |value: Option<f64>| value.map_or(Cell::Empty, |us| format::us(us).into());
            table.rows.push(vec![
                workload.name.as_str().into(),
                setting(&cell.setting).into(),
                format::tally(cell.requests_per_s).into(),
                format::number(cell.request_uj_mean).into(),
                format::times(cell.energy_ratio).into(),
                us(cell.read_us_mean),
                us(cell.write_us_mean),
                format::times(cell.delay_ratio).into(),
                if cell.kept_up { Cell::Empty } else { "did not keep up".into() },
            ]);
        }
    }
    table
}

fn choices(report: &ProfileReport) -> Figure {
    let mut heads = vec![("workload", Kind::Words), ("best", Kind::Words)];
    heads.extend(CHOOSERS.iter().flat_map(|(_, words)| [(*words, Kind::Words), ("of best", Kind::Numbers)]));
    let mut table = Table::new("Settings that were chosen", &heads).dispensable(&[9, 8, 7, 6]);
    for one in &report.judged {
        let mut row: Vec<Cell> = vec![one.workload.as_str().into(), setting(&one.best).into()];
        for (chooser, _) in CHOOSERS {
            match one.picks.iter().find(|pick| pick.chooser == chooser) {
                Some(pick) => {
                    let mark = if pick.right { "" } else { " !" };
                    row.push(format!("{}{mark}", setting(&pick.setting)).into());
                    row.push(format::times(pick.over_best).into());
                }
                None => row.extend([Cell::Empty, Cell::Empty]),
            }
        }
        table.rows.push(row);
    }
    Figure {
        title: "How well settings are chosen for workloads that the profile does not hold".to_owned(),
        caption: shares(report).unwrap_or_default(),
        keys: Vec::new(),
        panels: Vec::new(),
        tables: vec![
            table.with_note(Some("! more than 2 % above the least energy, or slower by more than 2 %.".to_owned())),
        ],
        tables_open: true,
    }
}
