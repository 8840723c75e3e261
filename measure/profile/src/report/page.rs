//! Its page.

use crate::results::{ProfileCell, ProfilePick, ProfileReport, ProfileSetting, ProfileWorkload};
use brisk_core::stats;

use super::columns::*;
use brisk_report::declare::*;
use brisk_report::format::{self, shorten};

/// The ways of choosing: their names in the document, in words, and of the column of what they cost.
const CHOOSERS: [(&str, Measure, Measure); 4] = [
    ("adaptive", BY_THIS_PROFILE, ITS_ENERGY_OVER_THE_BEST),
    ("paper", BY_THE_PUBLISHED_TABLE, ENERGY_OF_THE_TABLES),
    ("one_for_all", ONE_SETTING_FOR_ALL, ENERGY_OF_THE_ONE),
    ("own", THE_DEVICES_OWN, ENERGY_OF_THE_OWN),
];

pub(super) fn section(report: &ProfileReport) -> Section {
    let of = format!("{} ({})", shorten(&report.device_model, 60), report.device_kind);
    let mut facts: Facts = vec![("Profile of", of)];
    facts.extend(report.profile.as_ref().map(|file| ("Stored in", shorten(file, 120))));
    facts.push(("Meter", shorten(&report.meter.what, 200)));
    let question = "Which scheduler and queue depth take least energy for each workload, without being slower?";
    Section::new(if report.held_out { "Evaluation of a profile" } else { "Profile" }, question, verdict(report))
        .facts(facts)
        .figures([costs(report), choices(report)])
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
    let saved = report.workloads.iter().filter_map(best_cell).map(|cell| (1.0 - cell.energy_ratio) * 100.0);
    let saved: Vec<f64> = saved.filter(|percent| percent.is_finite()).collect();
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
        let cells = format::plural(report.taken_over_cells, "cell");
        said.push(format!("{cells} of an earlier run that was interrupted were reused."));
    }
    said
}

/// How often each way of choosing was right.
fn shares(report: &ProfileReport) -> Option<String> {
    let lines: Vec<String> = CHOOSERS
        .iter()
        .filter_map(|(chooser, words, _)| {
            let picks = || report.judged.iter().flat_map(|one| &one.picks).filter(|pick| pick.chooser == *chooser);
            let count = |of: fn(&ProfilePick) -> bool| picks().filter(|pick| of(pick)).count();
            let (right, perhaps) = (count(|pick| pick.right), count(|pick| pick.right || pick.not_told_from_right));
            match (perhaps - right, picks().count()) {
                (_, 0) => None,
                (0, all) => Some(format!("{} {right} of {all}", words.name)),
                (more, all) => Some(format!("{} {right} of {all} (and {more} within noise)", words.name)),
            }
        })
        .collect();
    let what = if report.held_out { "held out" } else { "left out of the profile in turn" };
    (!lines.is_empty()).then(|| {
        let lines = format::list(&lines);
        format!("Of workloads {what}, these come within 2 % of the least energy without being slower: {lines}.")
    })
}

fn row(workload: &ProfileWorkload, cell: &ProfileCell) -> Row {
    Row::at(WORKLOAD, workload.name.clone())
        .by(SETTING, setting(&cell.setting))
        .put_in(REQUESTS_PER_S, unit::TALLY, cell.requests_per_s)
        .put(UJ_PER_REQUEST, cell.request_uj_mean)
        .put(ENERGY_OVER_OWN, cell.energy_ratio)
        .put(READ, cell.read_us_mean)
        .put(WRITE, cell.write_us_mean)
        .put(DELAY, cell.read_us_mean.or(cell.write_us_mean))
        .put(DELAY_OVER_OWN, cell.delay_ratio)
        .put(ALL_SETTINGS, runs(workload.cells.iter().map(|cell| cell.energy_ratio)))
        .put(REMARK, if cell.kept_up { "" } else { "did not keep up" })
}

fn costs(report: &ProfileReport) -> Figure {
    let best: Vec<Row> = report.workloads.iter().filter_map(|w| Some(row(w, best_cell(w)?))).collect();
    let all: Vec<Row> = report.workloads.iter().flat_map(|w| w.cells.iter().map(|cell| row(w, cell))).collect();
    let dots = Dots {
        name: WORKLOAD.into(),
        value: ENERGY_OVER_OWN.into(),
        below: SETTING.into(),
        strokes: &[ALL_SETTINGS],
        levels: level(1.0, "own setting"),
        holds: vec![1.0],
        ..Dots::default()
    };
    let caption = format!(
        "Dots are the setting of least energy among those that are at most 1 % slower than the device's own; strokes \
         are all settings. {} of {} s for each workload and setting.",
        format::plural(report.rounds.into(), "round"),
        format::tick(report.cell_s)
    );
    let x = Axis::new("energy over that of the device's own setting", Law::Window, format::tick);
    let short = columns![
        WORKLOAD,
        REQUESTS_PER_S,
        SETTING,
        UJ_PER_REQUEST,
        ENERGY_OVER_OWN,
        ENERGY_OVER_OWN.bar(),
        DELAY,
        DELAY_OVER_OWN
    ];
    let long = columns![
        WORKLOAD,
        SETTING,
        REQUESTS_PER_S,
        UJ_PER_REQUEST,
        ENERGY_OVER_OWN,
        READ,
        WRITE,
        DELAY_OVER_OWN,
        REMARK
    ];
    Figure::new("Energy of the best setting for each workload", caption)
        .chart(
            "Energy over the own setting",
            dots.draw("Energy of a request over that with the device's own setting", x, &best),
        )
        .table(
            Table::of("Best setting for each workload", &best, short)
                .dispensable(columns![REQUESTS_PER_S, DELAY])
                .noted("Delay is that of reads, from when they were due; of writes where nothing is read."),
        )
        .table(Table::of("All settings", &all, long).page_only())
        .open()
}

fn choices(report: &ProfileReport) -> Figure {
    let row = |one: &crate::results::ProfileJudged| {
        let row = Row::at(WORKLOAD, one.workload.clone()).by(BEST, setting(&one.best));
        CHOOSERS.iter().fold(row, |row, (chooser, words, over)| {
            match one.picks.iter().find(|pick| pick.chooser == *chooser) {
                Some(pick) => {
                    let mark = if pick.right { "" } else { " !" };
                    row.put(*words, format!("{}{mark}", setting(&pick.setting))).put(*over, pick.over_best)
                }
                None => row,
            }
        })
    };
    let rows: Vec<Row> = report.judged.iter().map(row).collect();
    let chosen = CHOOSERS.iter().flat_map(|(_, words, over)| [Column::from(*words), Column::from(*over)]);
    let columns: Vec<Column> = [WORKLOAD.into(), BEST.into()].into_iter().chain(chosen).collect();
    let table = Table::of("Settings that were chosen", &rows, &columns);
    let last = columns![ENERGY_OF_THE_OWN, THE_DEVICES_OWN, ENERGY_OF_THE_ONE, ONE_SETTING_FOR_ALL];
    Figure::new("Choices for workloads that the profile does not hold", shares(report).unwrap_or_default())
        .table(table.dispensable(last).noted("! more than 2 % above the least energy, or slower by more than 2 %."))
        .open()
}
