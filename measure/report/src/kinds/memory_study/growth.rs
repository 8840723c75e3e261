//! Memory after the launch (figures 5.2 and 5.5).

use brisk_core::stats::Summary;
use brisk_results::{AppGrowth, GrowthSample, MemoryStudyReport};

use super::{MIB, mib};
use crate::declare::*;
use crate::format;

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
                let row = Row::at("time", at).by("app", growth.app.clone()).by("run", format!("run {}", nth + 1));
                points.push(row.look(Look::nth(nth)).put("heap", MIB, mib(sample.heap_bytes() as f64)));
            }
        }
    }
    let rows: Vec<Row> = report
        .growth
        .iter()
        .map(|growth| {
            let heap = |ms| at(growth, ms, GrowthSample::heap_bytes);
            Row::at("app", growth.app.clone())
                .put("after 1 s", BYTES, heap(1e3))
                .put("after 5 s", BYTES, heap(5e3))
                .put("after 10 s", BYTES, heap(1e4))
                .put("after 30 s", BYTES, heap(3e4))
                .put("most heap", BYTES, growth.heap_bytes_max)
                .put("files in the end", BYTES, in_the_end(growth, |sample| sample.file_bytes))
                .put("in swap in the end", BYTES, in_the_end(growth, |sample| sample.swapped_bytes))
                .put("runs", TALLY, growth.runs.len() as u64)
                .put("correlation", NUMBER, growth.correlation)
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let caption = "Anonymous pages of all processes of the app, in memory and in swap. A line is a run; correlation: of two \
                   runs over the first ten seconds. After figures 5.2 and 5.5 of the dissertation.";
    let columns = "app | after 1 s | after 5 s | after 10 s | after 30 s | most heap | runs | correlation";
    let files = "app | files in the end | in swap in the end";
    Some(
        Figure::new(TITLE, caption)
            .charts(&points, "app", |app, points| {
                let lines = Lines { x: "time", y: "heap", series: "run", ..Lines::default() };
                let axes = [Axis::new("time, s", Law::Linear, S.tick), Axis::new("heap, MiB", Law::Linear, MIB.tick)];
                lines.draw(format!("Heap of {app}"), axes, points)
            })
            .table(
                Table::of("Heap by time since the launch", &rows, columns).dispensable("after 30 s | after 1 s | runs"),
            )
            .table(Table::of("Files mapped, and pages in swap", &rows, files)),
    )
}
