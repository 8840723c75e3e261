//! Memory after the launch (figures 5.2 and 5.5).

use crate::results::{AppGrowth, GrowthSample, MemoryStudyReport};
use brisk_core::stats::Summary;

use super::columns::*;
use super::page::{MIB, mib};
use brisk_report::declare::*;
use brisk_report::format;

const TITLE: &str = "Heap after the launch";

/// The heap at a time, over the runs that lasted so long.
fn at(growth: &AppGrowth, at_ms: f64, of: fn(&GrowthSample) -> u64) -> Option<Summary> {
    let lasted = growth.runs.iter().filter(|run| run.samples.last().is_some_and(|last| last.at_ms >= at_ms));
    let values: Vec<f64> = lasted.filter_map(|run| run.at(at_ms)).map(|sample| of(sample) as f64).collect();
    Summary::of(&values)
}

fn in_the_end(growth: &AppGrowth, of: fn(&GrowthSample) -> u64) -> Option<Summary> {
    let last = growth.runs.iter().filter_map(|run| run.samples.last());
    Summary::of(&last.map(|sample| of(sample) as f64).collect::<Vec<_>>())
}

pub(super) fn verdict(report: &MemoryStudyReport) -> Option<String> {
    let most = |growth: &&AppGrowth| growth.heap_bytes_max.median;
    let largest = report.growth.iter().max_by(|a, b| most(a).total_cmp(&most(b)))?;
    let least = report.growth.iter().min_by(|a, b| most(a).total_cmp(&most(b)))?;
    let of = |growth: &AppGrowth| format!("{} {}", growth.app, format::bytes(growth.heap_bytes_max.median));
    let duration = match duration_s(report) {
        Some(60.0) => " in the first minute".to_owned(),
        Some(seconds) => format!(" in the first {seconds:.0} s"),
        None => String::new(),
    };
    Some(if report.growth.len() == 1 {
        format!("The heap of {} reaches {}{duration}.", largest.app, format::bytes(largest.heap_bytes_max.median))
    } else {
        format!("Most heap{duration}: {}; least: {}.", of(largest), of(least))
    })
}

fn duration_s(report: &MemoryStudyReport) -> Option<f64> {
    let last = |growth: &AppGrowth| {
        growth.runs.iter().filter_map(|run| Some(run.samples.last()?.at_ms / 1e3)).max_by(f64::total_cmp)
    };
    report.growth.iter().filter_map(last).max_by(f64::total_cmp).map(f64::round)
}

pub(super) fn figure(report: &MemoryStudyReport) -> Option<Figure> {
    let mut points = Vec::new();
    for growth in &report.growth {
        for (nth, run) in growth.runs.iter().enumerate() {
            for sample in &run.samples {
                let at_s = sample.at_ms / 1e3;
                let at = Place { text: format::seconds(at_s), number: Some(at_s) };
                let row = Row::at(TIME, at).by(APP, growth.app.clone()).by(RUN, format!("run {}", nth + 1));
                points.push(row.look(Look::nth(nth)).put(HEAP, mib(sample.heap_bytes() as f64)));
            }
        }
    }
    let rows: Vec<Row> = report
        .growth
        .iter()
        .map(|growth| {
            let heap = |ms| at(growth, ms, GrowthSample::heap_bytes);
            Row::at(APP, growth.app.clone())
                .put(AFTER_1_S, heap(1e3))
                .put(AFTER_5_S, heap(5e3))
                .put(AFTER_10_S, heap(1e4))
                .put(AFTER_30_S, heap(3e4))
                .put(MOST_HEAP, growth.heap_bytes_max)
                .put(FILES_IN_THE_END, in_the_end(growth, |sample| sample.file_bytes))
                .put(IN_SWAP_IN_THE_END, in_the_end(growth, |sample| sample.swapped_bytes))
                .put(RUNS, growth.runs.len() as u64)
                .put(CORRELATION, growth.correlation)
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let caption = "Anonymous pages of all processes of the app, in memory and in swap. A line is a run; correlation: \
                   of two runs over the first ten seconds. After figures 5.2 and 5.5 of the dissertation.";
    let columns = columns![APP, AFTER_1_S, AFTER_5_S, AFTER_10_S, AFTER_30_S, MOST_HEAP, RUNS, CORRELATION];
    let files = columns![APP, FILES_IN_THE_END, IN_SWAP_IN_THE_END];
    Some(
        Figure::new(TITLE, caption)
            .charts(&points, APP, |app, points| {
                let lines = Lines { x: TIME.into(), y: HEAP.into(), series: RUN.into(), ..Lines::default() };
                let axes =
                    [Axis::new("time, s", Law::Linear, unit::S.tick), Axis::new("heap, MiB", Law::Linear, MIB.tick)];
                lines.draw(format!("Heap of {app}"), axes, points)
            })
            .table(
                Table::of("Heap by time since the launch", &rows, columns)
                    .dispensable(columns![AFTER_30_S, AFTER_1_S, RUNS]),
            )
            .table(Table::of("Files mapped, and pages in swap", &rows, files)),
    )
}
