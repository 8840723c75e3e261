//! Gain of SQLite from each change (user-perceived latency paper, figure 2), in contrast to that of launches.

use crate::results::{SqliteResult, WhatIfReport};
use brisk_core::stats::Summary;

use super::columns::*;
use crate::study::shown::apps;
use crate::study::shown::sets;
use brisk_report::declare::*;
use brisk_report::format;
use brisk_report::papers::apps as published;

/// A sentence for each condition but the first.
pub(super) fn sentences(report: &WhatIfReport) -> Vec<String> {
    speedups(report).iter().filter_map(sentence).collect()
}

/// SQLite under one condition over SQLite under the first, for insert, update and delete.
struct Speedup<'a> {
    condition: &'a str,
    factors: [Summary; 3],
}

const OPERATIONS: [&str; 3] = ["inserts", "updates", "deletes"];

fn operations(result: &SqliteResult) -> [&Summary; 3] {
    [&result.insert_per_s, &result.update_per_s, &result.delete_per_s]
}

/// The ratio of two medians with the widest interval that their intervals allow: these runs are not paired.
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
        report.sqlite.iter().find(|s| s.condition == apps::base(&report.conditions)).or_else(|| report.sqlite.first())
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

/// Throughput of SQLite, and its ratios with those of the paper.
pub(super) fn figure(report: &WhatIfReport) -> Figure {
    let speedups = speedups(report);
    let mut rows = Vec::new();
    for result in &report.sqlite {
        let speedup = speedups.iter().find(|s| s.condition == result.condition);
        for (i, (operation, rate)) in OPERATIONS.into_iter().zip(operations(result)).enumerate() {
            let papers = published::sqlite_under(&result.condition).filter(|_| speedup.is_some());
            rows.push(
                Row::at(CONDITION, sets::label_words(&result.condition))
                    .by(OPERATION, operation)
                    .look(Look::nth(0))
                    .put(TRANSACTIONS_PER_S, rate)
                    .put(OVER_UNCHANGED, speedup.map(|s| s.factors[i]))
                    .put(PAPER, runs(papers.map(|p| [p.insert, p.update, p.delete][i]))),
            );
        }
    }
    let mut sources: Vec<&str> =
        report.sqlite.iter().flat_map(|r| published::sqlite_under(&r.condition)).map(|p| p.source).collect();
    sources.dedup();
    let source = sources.first().map(|source| format!("Published in {source}, for the Galaxy S4 and the Nexus 5X."));
    let columns = columns![CONDITION, OPERATION, TRANSACTIONS_PER_S, OVER_UNCHANGED, OVER_UNCHANGED.interval(), PAPER];
    let holds: Vec<f64> = rows.iter().filter_map(|row| row.number(OVER_UNCHANGED)).collect();
    Figure::new(
        "SQLite",
        "Transactions of one insert, update or delete. Ratios are of medians, with the widest interval that both \
         intervals allow.",
    )
    .published(source.is_some().then(|| "published for the Galaxy S4 and the Nexus 5X".to_owned()))
    .table(
        Table::of("SQLite transactions per second", &rows, columns)
            .dispensable(columns![OVER_UNCHANGED.interval()])
            .noted(source.unwrap_or_default()),
    )
    .open()
    .charts(&rows, OPERATION, |operation, rows| {
        let dots = Dots {
            name: CONDITION.into(),
            value: OVER_UNCHANGED.into(),
            below: PAPER.into(),
            published: PAPER.into(),
            levels: level(1.0, "unchanged"),
            holds: holds.clone(),
            ..Dots::default()
        };
        let x = Axis::new("transactions over unchanged", Law::Log10, format::tick);
        dots.draw(format!("SQLite {operation} over those of the unchanged phone"), x, rows)
    })
}
