//! When each stage was reached: medians with their intervals, and every run.

use brisk_results::{LaunchReport, LaunchRun, LaunchSet, Split, Stage};

use crate::section::{Chart, Figure, Glyph, Key, Panel, range};
use crate::svg::dots::{DotChart, Row};
use crate::svg::frame::Axis;
use crate::svg::scale::Law;
use crate::svg::stacks::StackRow;
use crate::svg::{Marker, Tone};
use crate::table::{Cell, Kind, Table};
use crate::{causes, endings, format, sets};

/// Runs that a terminal lists one by one.
const RUNS_IN_TERMINAL: usize = 40;

/// The figure of the stages.
pub(super) fn figure(report: &LaunchReport) -> Option<Figure> {
    let latest = super::reached(report)
        .flat_map(|set| {
            set.stages
                .iter()
                .map(|s| s.at_ms.high)
                .chain(set.runs.iter().flat_map(|r| r.stages.iter().map(|s| s.at_ms)))
        })
        .filter(|ms| ms.is_finite())
        .fold(0.0, f64::max);
    let panels: Vec<Panel> = super::reached(report)
        .map(|set| {
            let name = sets::name(set, &report.sets);
            Panel { title: format::sentence(&name), chart: chart(set, &name, latest) }
        })
        .collect();
    let tables: Vec<Table> =
        [stage_table(report), run_table(report)].into_iter().filter(|t| !t.rows.is_empty()).collect();
    (!tables.is_empty()).then(|| Figure {
        title: "Stages".to_owned(),
        caption: "From the launch until each stage: the median of the runs with its interval, and below it each run. Settled is \
                  the last change of the screen that does not repeat by itself; idle is when the app's work is done."
            .to_owned(),
        keys: [
            Some((Glyph::Point(Marker::Circle), "median")),
            Some((Glyph::Run, "one run")),
            report.sets.iter().flat_map(|s| &s.runs).any(|r| r.outlier).then_some((Glyph::Outlier, "far from the others, yet part of the figures")),
        ]
        .into_iter()
        .flatten()
        .map(|(glyph, words)| Key { tone: Tone::Nth(0), glyph, words: words.to_owned() })
        .collect(),
        panels,
        tables,
        tables_open: false,
    })
}

fn chart(set: &LaunchSet, name: &str, latest: f64) -> Chart {
    let row = |name: &str, at: &brisk_core::stats::Summary, runs| Row {
        name: name.to_owned(),
        value: at.median,
        range: range(at),
        label: format!("{} {}", format::ms(at.median), format::spread(at)),
        below: String::new(),
        tone: Tone::Nth(0),
        marker: Marker::Circle,
        published: Vec::new(),
        strokes: Vec::new(),
        runs,
    };
    let mut rows: Vec<Row> = set
        .stages
        .iter()
        .map(|stage| row(sets::stage_words(stage.stage), &stage.at_ms, sets::runs_at(set, stage.stage)))
        .collect();
    if let Some(less) = &set.settled_less_cpu_wait_ms {
        let runs = set
            .runs
            .iter()
            .filter_map(|r| r.settled_less_cpu_wait_ms.map(|value| crate::svg::dots::Run { value, outlier: r.outlier }))
            .collect();
        rows.push(Row { tone: Tone::Plain, marker: Marker::Square, ..row("… less CPU wait", less, runs) });
    }
    Chart::Dots(DotChart {
        title: format!("Stages of the launch, {name}"),
        description: rows.iter().map(|r| format!("{}: {}.", r.name, r.label)).collect::<Vec<_>>().join(" "),
        x: Axis::new("since the launch", Law::Linear, format::ms_tick),
        levels: causes::HCI_LIMITS_MS
            .into_iter()
            .filter(|ms| *ms < latest && *ms > 0.08 * latest)
            .map(|ms| (ms, format::ms_tick(ms)))
            .collect(),
        holds: vec![latest],
        rows,
    })
}

fn stage_table(report: &LaunchReport) -> Table {
    let mut table = Table::new(
        "Stages",
        &[
            ("launch", Kind::Words),
            ("stage", Kind::Words),
            ("time", Kind::Numbers),
            ("interval", Kind::Numbers),
            ("spread", Kind::Numbers),
            ("runs", Kind::Numbers),
            ("", Kind::Bars),
        ],
    )
    .dispensable(&[5, 3]);
    for set in &report.sets {
        let name = sets::name(set, &report.sets);
        let mut push = |stage: &str, at: &brisk_core::stats::Summary, runs: String| {
            table.rows.push(vec![
                name.clone().into(),
                stage.into(),
                Cell::measure(at, format::ms),
                format::interval(at, format::ms).into(),
                format::variation(at).into(),
                runs.into(),
                Cell::Bar(at.median),
            ]);
        };
        for stage in &set.stages {
            push(sets::stage_words(stage.stage), &stage.at_ms, sets::reached(set, stage.stage));
        }
        if let Some(less) = &set.settled_less_cpu_wait_ms {
            push("settled less CPU wait", less, format::tally(less.count as f64));
        }
    }
    let note = format::interval_note(report.sets.iter().flat_map(|s| &s.stages).map(|s| &s.at_ms))
        .map(|note| format!("{note} Spread is the standard deviation over the mean."));
    table.with_note(note)
}

/// Every run in the order in which they ran.
fn run_table(report: &LaunchReport) -> Table {
    let mut table = Table::new(
        "Every run",
        &[
            ("launch", Kind::Words),
            ("run", Kind::Numbers),
            ("first window", Kind::Numbers),
            ("settled", Kind::Numbers),
            ("less CPU wait", Kind::Numbers),
            ("idle", Kind::Numbers),
            ("read", Kind::Numbers),
            ("threads", Kind::Numbers),
            ("watching", Kind::Numbers),
            ("ending", Kind::Words),
        ],
    )
    .dispensable(&[7, 8, 2, 5, 4])
    .first_in_terminal(RUNS_IN_TERMINAL);
    let at = |run: &LaunchRun, stage| run.at_ms(stage).map_or(Cell::Empty, |ms| format::ms(ms).into());
    for set in &report.sets {
        for (i, run) in set.runs.iter().enumerate() {
            let far = if run.outlier { ", far from the others" } else { "" };
            table.rows.push(vec![
                sets::name(set, &report.sets).into(),
                (i + 1).to_string().into(),
                at(run, Stage::FirstWindow),
                at(run, Stage::Settled),
                run.settled_less_cpu_wait_ms.map_or(Cell::Empty, |ms| format::ms(ms).into()),
                at(run, Stage::Idle),
                run.storage.as_ref().map_or(Cell::Empty, |s| format::bytes(s.read.bytes as f64).into()),
                run.threads_max.map_or(Cell::Empty, |n| n.to_string().into()),
                format::percent(run.watch_cpu_percent).into(),
                format!("{}{far}", endings::words(&run.ending)).into(),
            ]);
        }
    }
    table.with_note(Some("Watching is brisk's own processor time in percent of one core.".to_owned()))
}

/// What the time of one launch up to a stage went to.
pub(super) struct StageSplit<'a> {
    /// The stage.
    pub(super) name: &'static str,
    /// Its bar.
    pub(super) row: StackRow,
    /// The split itself.
    pub(super) split: &'a Split,
}

/// The first set whose middle run has splits of more than one stage, and these.
pub(super) fn splits(report: &LaunchReport) -> Option<(&LaunchSet, Vec<StageSplit<'_>>)> {
    super::reached(report).find_map(|set| {
        let run = sets::middle_run(set)?;
        let splits: Vec<StageSplit<'_>> = run
            .stages
            .iter()
            .filter_map(|time| {
                let split = time.split.as_ref()?;
                let name = sets::stage_words(time.stage);
                let row = StackRow {
                    name: name.to_owned(),
                    parts: causes::parts(split),
                    total: time.at_ms,
                    range: None,
                    label: format::ms(time.at_ms),
                };
                Some(StageSplit { name, row, split })
            })
            .collect();
        (splits.len() > 1).then_some((set, splits))
    })
}
