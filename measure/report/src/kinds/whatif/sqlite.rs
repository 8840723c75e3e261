//! What SQLite gains from each change (user-perceived latency paper, figure 2): the contrast to what people gain.

use brisk_core::stats::Summary;
use brisk_results::{SqliteResult, WhatIfReport};

use crate::papers::apps as published;
use crate::section::{Chart, Figure, Key, Panel, range};
use crate::svg::dots::{DotChart, Row};
use crate::svg::frame::Axis;
use crate::svg::scale::Law;
use crate::svg::{Marker, Tone};
use crate::table::{Cell, Kind, Table};
use crate::{format, sets};

/// A sentence for each condition but the first.
pub(super) fn sentences(report: &WhatIfReport) -> Vec<String> {
    speedups(report).iter().filter_map(sentence).collect()
}

/// SQLite under one condition over SQLite under the first, for insert, update and delete.
struct Speedup<'a> {
    condition: &'a str,
    factors: [Summary; 3],
}

const OPERATIONS: [&str; 3] = ["insert", "update", "delete"];

fn operations(result: &SqliteResult) -> [&Summary; 3] {
    [&result.insert_per_s, &result.update_per_s, &result.delete_per_s]
}

/// The ratio of two medians with the widest interval that theirs allow: these runs are not paired.
fn over(a: &Summary, b: &Summary) -> Summary {
    Summary {
        count: a.count.min(b.count),
        median: a.median / b.median,
        low: a.low / b.high,
        high: a.high / b.low,
        confidence: a.confidence.min(b.confidence),
        min: a.min / b.max,
        max: a.max / b.min,
        variation: a.variation.max(b.variation),
    }
}

fn speedups(report: &WhatIfReport) -> Vec<Speedup<'_>> {
    let Some(first) =
        report.sqlite.iter().find(|s| s.condition == super::base(report)).or_else(|| report.sqlite.first())
    else {
        return Vec::new();
    };
    report
        .sqlite
        .iter()
        .filter(|s| s.condition != first.condition)
        .map(|result| {
            let [i, u, d] = operations(result);
            let [i0, u0, d0] = operations(first);
            Speedup { condition: &result.condition, factors: [over(i, i0), over(u, u0), over(d, d0)] }
        })
        .collect()
}

fn sentence(speedup: &Speedup<'_>) -> Option<String> {
    let [insert, update, delete] = speedup.factors.map(|f| f.median);
    if ![insert, update, delete].into_iter().all(f64::is_finite) {
        return None;
    }
    let printed: Vec<String> = published::sqlite_under(speedup.condition)
        .map(|p| format!("{}, {} and {} on the {}", p.insert, p.update, p.delete, p.device))
        .collect();
    let printed = if printed.is_empty() { String::new() } else { format!(" (published: {})", printed.join("; ")) };
    Some(format!(
        "SQLite with {}: {} times as many inserts, {} updates, {} deletes{printed}.",
        sets::label_words(speedup.condition),
        format::number(insert),
        format::number(update),
        format::number(delete)
    ))
}

/// Throughput of SQLite, and its ratios beside those of the paper.
pub(super) fn figure(report: &WhatIfReport) -> Option<Figure> {
    if report.sqlite.is_empty() {
        return None;
    }
    let speedups = speedups(report);
    let mut table = Table::new(
        "SQLite transactions per second",
        &[
            ("condition", Kind::Words),
            ("inserts/s", Kind::Numbers),
            ("times", Kind::Numbers),
            ("updates/s", Kind::Numbers),
            ("times", Kind::Numbers),
            ("deletes/s", Kind::Numbers),
            ("times", Kind::Numbers),
        ],
    );
    for result in &report.sqlite {
        let speedup = speedups.iter().find(|s| s.condition == result.condition);
        let mut row = vec![Cell::Text(sets::label_words(&result.condition))];
        for (i, rate) in operations(result).into_iter().enumerate() {
            row.push(Cell::measure(rate, format::count));
            row.push(speedup.map_or(Cell::Empty, |s| format::times(s.factors[i].median).into()));
        }
        table.rows.push(row);
        for paper in published::sqlite_under(&result.condition) {
            table.rows.push(vec![
                format!("· published, {}", paper.device).into(),
                Cell::Empty,
                format::printed(paper.insert).into(),
                Cell::Empty,
                format::printed(paper.update).into(),
                Cell::Empty,
                format::printed(paper.delete).into(),
            ]);
        }
    }
    let mut sources: Vec<&str> =
        report.sqlite.iter().flat_map(|r| published::sqlite_under(&r.condition)).map(|p| p.source).collect();
    sources.dedup();
    let note = format::interval_note(report.sqlite.iter().flat_map(operations))
        .map(|note| sources.iter().fold(note, |note, source| format!("{note} Published in {source}.")));
    let holds: Vec<f64> = speedups.iter().flat_map(|s| s.factors.iter().map(|f| f.median)).collect();
    let panels = OPERATIONS
        .into_iter()
        .enumerate()
        .map(|(i, operation)| Panel {
            title: format!("{}s", format::sentence(operation)),
            chart: Chart::Dots(DotChart {
                title: format!("SQLite {operation}s over those of the unchanged phone"),
                description: speedups
                    .iter()
                    .map(|s| {
                        format!(
                            "{}: {}.",
                            format::sentence(&sets::label_words(s.condition)),
                            format::times(s.factors[i].median)
                        )
                    })
                    .collect::<Vec<_>>()
                    .join(" "),
                x: Axis::new("transactions over unchanged", Law::Log10, format::tick),
                levels: vec![(1.0, "unchanged".to_owned())],
                holds: holds.clone(),
                rows: speedups.iter().map(|s| row(s, i)).collect(),
            }),
        })
        .collect();
    Some(Figure {
        title: "SQLite".to_owned(),
        caption:
            "Transactions of one insert, update or delete. Ratios are of medians, with the widest interval that both \
                  intervals allow."
                .to_owned(),
        keys: if sources.is_empty() {
            Vec::new()
        } else {
            vec![Key::published("published for the Galaxy S4 and the Nexus 5X")]
        },
        panels,
        tables: vec![table.with_note(note)],
        tables_open: true,
    })
}

fn row(speedup: &Speedup<'_>, operation: usize) -> Row {
    let factor = &speedup.factors[operation];
    let papers: Vec<f64> =
        published::sqlite_under(speedup.condition).map(|p| [p.insert, p.update, p.delete][operation]).collect();
    Row {
        name: sets::label_words(speedup.condition),
        value: factor.median,
        range: range(factor),
        label: format::times(factor.median),
        below: match papers.as_slice() {
            [] => String::new(),
            some => format!("paper {}", some.iter().map(|f| format::printed(*f)).collect::<Vec<_>>().join(", ")),
        },
        tone: Tone::Nth(0),
        marker: Marker::Circle,
        published: papers,
        strokes: Vec::new(),
        runs: Vec::new(),
    }
}
