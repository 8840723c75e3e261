//! The profile of a device: what each setting costs for each workload, and how well settings are chosen by it.

use brisk_core::stats;
use brisk_results::{ProfileCell, ProfilePick, ProfileReport, ProfileSetting, ProfileWorkload};

use crate::declare::*;
use crate::format::{self, shorten};

/// The ways of choosing: their names in the document, in words, and of the column of what they cost.
const CHOOSERS: [(&str, &str, &str); 4] = [
    ("adaptive", "by this profile", "its energy over the best"),
    ("paper", "by the published table", "energy of the table's"),
    ("one_for_all", "one setting for all", "energy of the one"),
    ("own", "the device's own", "energy of the own"),
];

impl Kind for ProfileReport {
    fn section(&self) -> Section {
        let of = format!("{} ({})", shorten(&self.device_model, 60), self.device_kind);
        let mut facts: Facts = vec![("Profile of", of)];
        facts.extend(self.profile.as_ref().map(|file| ("Stored in", shorten(file, 120))));
        facts.push(("Meter", shorten(&self.meter.what, 200)));
        let question = "Which scheduler and queue depth take least energy for each workload, without being slower?";
        Section::new(if self.held_out { "Evaluation of a profile" } else { "Profile" }, question, verdict(self))
            .facts(facts)
            .figures([costs(self), choices(self)])
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
                (0, all) => Some(format!("{words} {right} of {all}")),
                (more, all) => Some(format!("{words} {right} of {all} (and {more} within noise)")),
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
    Row::at("workload", workload.name.clone())
        .by("setting", setting(&cell.setting))
        .put("requests/s", TALLY, cell.requests_per_s)
        .put("uJ/request", NUMBER, cell.request_uj_mean)
        .put("energy over own", TIMES, cell.energy_ratio)
        .put("read", US, cell.read_us_mean)
        .put("write", US, cell.write_us_mean)
        .put("delay", US, cell.read_us_mean.or(cell.write_us_mean))
        .put("delay over own", TIMES, cell.delay_ratio)
        .put("all settings", TIMES, runs(workload.cells.iter().map(|cell| cell.energy_ratio)))
        .say("remark", if cell.kept_up { "" } else { "did not keep up" })
}

fn costs(report: &ProfileReport) -> Figure {
    let best: Vec<Row> = report.workloads.iter().filter_map(|w| Some(row(w, best_cell(w)?))).collect();
    let all: Vec<Row> = report.workloads.iter().flat_map(|w| w.cells.iter().map(|cell| row(w, cell))).collect();
    let dots = Dots {
        name: "workload",
        value: "energy over own",
        below: "setting",
        strokes: &["all settings"],
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
    let short = "workload | requests/s | setting | uJ/request | energy over own | bar of energy over own | delay | \
                 delay over own";
    let long =
        "workload | setting | requests/s | uJ/request | energy over own | read | write | delay over own | remark";
    Figure::new("Energy of the best setting for each workload", caption)
        .chart(
            "Energy over the own setting",
            dots.draw("Energy of a request over that with the device's own setting", x, &best),
        )
        .table(
            Table::of("Best setting for each workload", &best, short)
                .dispensable("requests/s | delay")
                .noted("Delay is that of reads, from when they were due; of writes where nothing is read."),
        )
        .table(Table::of("All settings", &all, long).page_only())
        .open()
}

fn choices(report: &ProfileReport) -> Figure {
    let row = |one: &brisk_results::ProfileJudged| {
        let row = Row::at("workload", one.workload.clone()).by("best", setting(&one.best));
        CHOOSERS.iter().fold(row, |row, (chooser, words, over)| {
            match one.picks.iter().find(|pick| pick.chooser == *chooser) {
                Some(pick) => {
                    let mark = if pick.right { "" } else { " !" };
                    row.say(words, format!("{}{mark}", setting(&pick.setting))).put(over, TIMES, pick.over_best)
                }
                None => row,
            }
        })
    };
    let rows: Vec<Row> = report.judged.iter().map(row).collect();
    let columns: String = CHOOSERS.iter().map(|(_, words, over)| format!(" | {words} | {over}")).collect();
    let table = Table::of("Settings that were chosen", &rows, &format!("workload | best{columns}"));
    let last = "energy of the own | the device's own | energy of the one | one setting for all";
    Figure::new("Choices for workloads that the profile does not hold", shares(report).unwrap_or_default())
        .table(table.dispensable(last).noted("! more than 2 % above the least energy, or slower by more than 2 %."))
        .open()
}
