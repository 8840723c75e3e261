//! A launch: when the app is on the screen, when the screen is final and the work done, and what the time went to.

mod reads;
mod stages;
mod verdict;

use brisk_results::{LaunchReport, LaunchSet};

use crate::format;
use crate::ratio;
use crate::section::{Chart, Figure, Panel, Section, range};
use crate::sets;
use crate::svg::dots::{DotChart, Row};
use crate::svg::frame::Axis;
use crate::svg::scale::Law;
use crate::svg::stacks::StackGroup;
use crate::svg::{Marker, Tone};
use crate::table::{Cell, Kind, Table};
use crate::{causes, facts};

/// The section of this document.
pub(crate) fn section(report: &LaunchReport) -> Section {
    let figures =
        [time(report), stages::figure(report), comparisons(report), reads::storage(report), reads::cold(report)];
    Section {
        title: format!("Launch of {}", facts::shorten(report.app.trim(), 40)),
        question: "How long until the app's screen is final, and what does the time go to?".to_owned(),
        verdict: verdict::verdict(report),
        figures: figures.into_iter().flatten().collect(),
    }
}

/// Sets that have anything to show.
fn reached(report: &LaunchReport) -> impl Iterator<Item = &LaunchSet> {
    report.sets.iter().filter(|set| sets::end(set).is_some())
}

/// What the time until settled went to, and of the first set up to each stage.
fn time(report: &LaunchReport) -> Option<Figure> {
    let rows: Vec<_> = reached(report)
        .filter_map(|set| {
            let (_, at) = sets::end(set)?;
            Some((set, causes::row(sets::name(set, &report.sets), set.split.as_ref(), at)))
        })
        .collect();
    let splits: Vec<_> = rows.iter().filter_map(|(set, _)| set.split.as_ref()).collect();
    if splits.is_empty() {
        return None;
    }
    let named: Vec<_> = rows.iter().filter_map(|(set, row)| Some((row.name.clone(), set.split.as_ref()?))).collect();
    let longest = rows.iter().map(|(_, row)| row.total).filter(|ms| ms.is_finite()).fold(0.0, f64::max);
    let mut stage_rows = Vec::new();
    let stage_panel = stages::splits(report).map(|(set, stages)| {
        stage_rows = stages.iter().map(|stage| (vec![Cell::Text(stage.name.to_owned())], stage.split)).collect();
        let name = sets::name(set, &report.sets);
        let rows = stages.into_iter().map(|stage| stage.row).collect();
        Panel {
            title: format!("Up to each stage, {name}"),
            chart: causes::chart(
                format!("What the time up to each stage went to, {name}"),
                "time",
                vec![StackGroup { name: String::new(), rows }],
            ),
        }
    });
    let caused =
        causes::present(splits.iter().copied().chain(stage_rows.iter().map(|(_, split)| *split)).collect::<Vec<_>>());
    let mut letters =
        Table::new("What the time went to", &[("", Kind::Words), ("", Kind::Bars), ("time", Kind::Numbers)]);
    for (set, row) in &rows {
        let (_, at) = sets::end(set)?;
        letters.rows.push(vec![
            row.name.clone().into(),
            causes::letters(set.split.as_ref(), longest),
            Cell::measure(at, format::ms),
        ]);
    }
    let mut tables = vec![
        letters.with_note(causes::letters_note(&caused)).terminal_only(),
        causes::table_by_cause("Time until settled by cause", &named),
    ];
    if !stage_rows.is_empty() {
        tables.push(causes::table("Up to each stage, a middle run", &["stage"], &stage_rows).page_only());
    }
    let groups = vec![StackGroup { name: String::new(), rows: rows.into_iter().map(|(_, row)| row).collect() }];
    let mut panels = vec![Panel {
        title: "Until settled".to_owned(),
        chart: causes::chart("What the time until settled went to".to_owned(), "time", groups),
    }];
    panels.extend(stage_panel);
    Some(Figure {
        title: "What the time went to".to_owned(),
        caption: "At each instant the first cause that holds for any thread of the app gets the time, so the parts add up to \
                  the whole. Each part is the median over the runs, scaled so that they add up to the median of the whole; \
                  whiskers are its interval. Dotted: what still feels immediate (0.1 s), keeps the flow of thought (1 s), \
                  holds attention (10 s)."
            .to_owned(),
        keys: causes::keys(&caused),
        panels,
        tables,
        tables_open: false,
    })
}

/// Set-ups against each other.
fn comparisons(report: &LaunchReport) -> Option<Figure> {
    let mut table = Table::new(
        "Set-ups against each other",
        &[
            ("what", Kind::Words),
            ("against", Kind::Words),
            ("ratio", Kind::Numbers),
            ("interval", Kind::Numbers),
            ("less CPU wait", Kind::Numbers),
            ("in words", Kind::Words),
        ],
    )
    .dispensable(&[5, 4]);
    let mut rows = Vec::new();
    for comparison in &report.comparisons {
        let (who, base) = sets::sides(comparison);
        let settled = &comparison.settled_ratio;
        let judgement = match ratio::judge(settled) {
            ratio::Judgement::Longer => "longer",
            ratio::Judgement::Shorter => "shorter",
            ratio::Judgement::NoDifference => "no difference can be seen",
            ratio::Judgement::OnePair => "one pair proves nothing",
            ratio::Judgement::Nothing => "cannot be compared",
        };
        table.rows.push(vec![
            who.clone().into(),
            base.clone().into(),
            Cell::measure(settled, format::times),
            format::interval(settled, format::number).into(),
            comparison.settled_less_cpu_wait_ratio.as_ref().map_or(Cell::Empty, |r| Cell::measure(r, format::times)),
            judgement.into(),
        ]);
        rows.push(Row {
            name: format!("{who} / {base}"),
            value: settled.median,
            range: range(settled),
            label: format!("{} {}", format::times(settled.median), format::spread(settled)),
            below: comparison
                .settled_less_cpu_wait_ratio
                .as_ref()
                .map_or_else(String::new, |r| format!("less CPU wait {}", format::times(r.median))),
            tone: Tone::Plain,
            marker: Marker::Circle,
            published: Vec::new(),
            strokes: Vec::new(),
            runs: Vec::new(),
        });
    }
    let note = format::interval_note(report.comparisons.iter().map(|c| &c.settled_ratio));
    (!table.rows.is_empty()).then(|| Figure {
        title: "Set-ups against each other".to_owned(),
        caption: "Time until settled over time until settled, pair by pair of interleaved runs. An interval that holds 1 shows \
                  no difference."
            .to_owned(),
        keys: Vec::new(),
        panels: vec![Panel {
            title: "Ratio of times".to_owned(),
            chart: Chart::Dots(DotChart {
                title: "Time of one set-up over that of another".to_owned(),
                description: rows.iter().map(|r| format!("{}: {}.", r.name, r.label)).collect::<Vec<_>>().join(" "),
                x: Axis::new("time over time", Law::Log10, format::tick),
                levels: vec![(1.0, "the same".to_owned())],
                holds: Vec::new(),
                rows,
            }),
        }],
        tables: vec![table.with_note(note)],
        tables_open: false,
    })
}
