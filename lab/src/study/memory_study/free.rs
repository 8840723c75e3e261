//! Free memory over time (figure 5.1).

use crate::results::{FreeMemory, FreeSample, FreeStep, MemoryStudyReport};

use super::columns::*;
use super::page::{MIB, mib};
use brisk_report::declare::*;
use brisk_report::format;

const TITLE: &str = "Memory available while apps go to the background";

/// The last sample before each step, and the last of all.
fn around(free: &FreeMemory) -> Vec<&FreeSample> {
    let until = |at_s: f64| free.samples.iter().rev().find(|sample| sample.at_s <= at_s);
    let before = free.steps.iter().map(|step| until(step.at_s).or(free.samples.first()));
    before.chain([free.samples.last()]).flatten().collect()
}

pub(super) fn verdict(report: &MemoryStudyReport) -> Option<String> {
    let free = report.free.as_ref()?;
    let around = around(free);
    let launches = free.steps.iter().filter(|step| step.round == 1).count();
    let (before, last) = (around.first()?, around.get(launches)?);
    let share = |sample: &FreeSample| format::share(sample.available_bytes as f64, report.limit_bytes as f64);
    let killed = match free.oom_kills {
        0 => String::new(),
        kills => format!("; the kernel ended {}", format::plural(kills, "process")),
    };
    let of = |sample: &FreeSample| format::bytes(sample.available_bytes as f64);
    Some(format!(
        "With {} in the background {} of {} are available ({}), without them {} ({}){killed}.",
        format::plural(launches as u64, "app"),
        of(last),
        format::bytes(report.limit_bytes as f64),
        share(last),
        of(before),
        share(before),
    ))
}

pub(super) fn figure(report: &MemoryStudyReport) -> Option<Figure> {
    let free = report.free.as_ref()?;
    // The sample at which each app of the first round came: its number marks the line, as names would cover it.
    let launches: Vec<&FreeStep> = free.steps.iter().filter(|step| step.round == 1).collect();
    let mark = |index: usize| {
        let is_first_after = |at_s: f64| free.samples.iter().position(|sample| sample.at_s >= at_s) == Some(index);
        launches.iter().position(|step| is_first_after(step.at_s)).map(|nth| (nth + 1).to_string())
    };
    let mut rows = Vec::new();
    for (nth, side) in ["available", "free"].into_iter().enumerate() {
        for (index, sample) in free.samples.iter().enumerate() {
            let bytes = if side == "available" { sample.available_bytes } else { sample.free_bytes };
            let at = Place { text: format::seconds(sample.at_s), number: Some(sample.at_s) };
            let row = Row::at(TIME, at).by(SIDE, side).look(Look::nth(nth)).put(MEMORY, mib(bytes as f64));
            rows.push(row.put(APP_MEASURE, mark(index).filter(|_| side == "available")));
        }
    }
    let returns = free.steps.iter().find(|step| step.round > 1);
    let lines = Lines {
        x: TIME.into(),
        y: MEMORY.into(),
        series: SIDE.into(),
        named: SIDE.into(),
        mark: APP_MEASURE.into(),
        events: returns.map(|step| (step.at_s, "back to each".to_owned())).into_iter().collect(),
        ..Lines::default()
    };
    let axes = [Axis::new("time, s", Law::Linear, unit::S.tick), Axis::new("memory, MiB", Law::Linear, MIB.tick)];
    let caption = format!(
        "Each app is in front for {}, gets input and goes to the background: {}. Free: charged to nothing; available: \
         with the page cache of files, which can be freed. After figure 5.1 of the dissertation.",
        format::seconds(free.dwell_s),
        launches.iter().enumerate().map(|(n, step)| format!("{} {}", n + 1, step.app)).collect::<Vec<_>>().join(", ")
    );
    let around = around(free);
    let steps: Vec<Row> = free
        .steps
        .iter()
        .zip(around.windows(2))
        .map(|(step, pair)| {
            let [before, after] = [pair[0], pair[1]].map(|sample| sample.available_bytes as f64);
            Row::at(APP, step.app.clone())
                .by(ROUND, step.round)
                .put(HOW, if step.launched { "launched" } else { "brought to the front" })
                .put(AVAILABLE_BEFORE, before)
                .put(AVAILABLE_AFTER, after)
                .put(OF_ALL_MEMORY, after / report.limit_bytes as f64 * 100.0)
        })
        .collect();
    Some(Figure::new(TITLE, caption).chart("Over time", lines.draw(TITLE, axes, &rows)).table(Table::of(
        "Memory available by step",
        &steps,
        columns![APP, ROUND, HOW, AVAILABLE_BEFORE, AVAILABLE_AFTER, OF_ALL_MEMORY],
    )))
}
