//! Its page.

use crate::results::{LaunchReport, LaunchRun, LaunchSet, Stage, StageSummary};
use brisk_core::stats::Summary;

use super::columns::*;
use super::reads;
use super::verdict;
use crate::study::shown::{endings, facts, sets};
use brisk_report::declare::*;
use brisk_report::format::{self, shorten};
use brisk_report::{causes, ratio};

/// Runs that a terminal lists one by one.
const RUNS_IN_TERMINAL: usize = 40;

pub(super) fn section(report: &LaunchReport) -> Section {
    let long = report.sets.iter().filter(|set| set.label.chars().count() > sets::LABEL);
    let labels: Vec<String> = long.map(|set| shorten(&set.label, 120)).collect();
    let mut facts: Facts = vec![("Command", shorten(&report.command.join(" "), 120)), ("Compared", labels.join("; "))];
    facts.push(("Screen", facts::screen(&report.screen)));
    facts.extend(end_of_work(report));
    facts.extend(facts::watching(report.sets.iter()));
    let title = format!("Launch of {}", shorten(report.app.trim(), 40));
    let question = "How long until the app's screen is final, and what does the time go to?";
    Section::new(title, question, verdict::verdict(report)).cautions(verdict::cautions(report)).facts(facts).figures([
        time(report),
        stages(report),
        comparisons(report),
        reads::storage(report),
        reads::cold(report),
    ])
}

/// What counts as the end of work without a screen, and how exactly it is known.
fn end_of_work(report: &LaunchReport) -> Option<(&'static str, String)> {
    let limit_ms = report.idle_limit_ms?;
    let limit = format::ms(limit_ms);
    let resolution =
        verdict::resolution_ms(report).map_or_else(String::new, |ms| format!("; resolution {}", format::ms(ms)));
    Some(("End of work", format!("the program's end, or its last work before {limit} without any{resolution}")))
}

/// Sets with any time, and their names.
fn reached(report: &LaunchReport) -> impl Iterator<Item = (&LaunchSet, String)> {
    report.sets.iter().filter(|set| sets::end(set).is_some()).map(|set| (set, sets::name(set, &report.sets)))
}

/// What the time until settled went to, and of the first set with splits by stage up to each stage.
fn time(report: &LaunchReport) -> Figure {
    let figure = Figure::new(
        "What the time went to",
        "At each instant the first cause that holds for any thread of the app gets the time, so the parts add up to \
         the whole. Each part is the median over the runs, scaled so that they add up to the median of the whole; \
         whiskers are its interval. Dotted: the limits of an immediate answer (0.1 s), of the flow of thought (1 s) \
         and of attention (10 s).",
    );
    if reached(report).all(|(set, _)| set.split.is_none()) {
        return figure;
    }
    let ends = || reached(report).filter_map(|(set, name)| Some((set, name, sets::end(set)?.1)));
    let longest = ends().map(|(.., at)| at.median).filter(|ms| ms.is_finite()).fold(0.0, f64::max);
    let row = |(set, name, at): (&LaunchSet, String, &Summary)| {
        causes::put(Row::at(LAUNCH, name).put(TIME_MEASURE, at), set.split.as_ref(), at.median, longest)
    };
    let rows: Vec<Row> = ends().map(row).collect();
    let by_stage = reached(report).find_map(|(set, name)| {
        let row = |reached: &StageSummary| {
            let splits: Vec<_> = set.runs.iter().filter_map(|run| run.split(reached.stage)).collect();
            let split = causes::median(&splits, reached.at_ms.median)?;
            let row = Row::at(STAGE, sets::stage(reached.stage).name).put(TIME_MEASURE, reached.at_ms);
            Some(causes::put(row, Some(&split), reached.at_ms.median, reached.at_ms.median))
        };
        let rows: Vec<Row> = set.stages.iter().filter_map(row).collect();
        (rows.len() > 1).then_some((name, rows))
    });
    let all: Vec<Row> = rows.iter().chain(by_stage.iter().flat_map(|(_, rows)| rows)).cloned().collect();
    let with_split: Vec<Row> = rows.iter().filter(|row| row.get(SPLIT).is_some()).cloned().collect();
    let columns = [columns![LAUNCH], causes::columns(&with_split).as_slice(), columns![WHOLE]].concat();
    let figure = figure
        .causes(&causes::present(&all))
        .chart(
            "Until settled",
            stacks("What the time until settled went to", &rows, Column::Absent, LAUNCH, [TIME_MEASURE, SPLIT]),
        )
        .table(
            Table::of("What the time went to", &rows, columns![LAUNCH, SPLIT, TIME_MEASURE])
                .noted(causes::letters_note(&all))
                .terminal_only(),
        )
        .table(Table::of("Time until settled by cause", &with_split, &columns).turned());
    match by_stage {
        Some((name, rows)) => {
            let title = format!("What the time up to each stage went to, {name}");
            let columns = [columns![STAGE, WHOLE], causes::columns(&rows).as_slice()].concat();
            figure
                .chart(
                    format!("Up to each stage, {name}"),
                    stacks(title, &rows, Column::Absent, STAGE, [TIME_MEASURE, SPLIT]),
                )
                .table(Table::of(format!("Up to each stage, {name}"), &rows, &columns).page_only())
        }
        None => figure,
    }
}

/// When each stage was reached: medians with their intervals, and every run.
fn stages(report: &LaunchReport) -> Figure {
    let rows_of = |set: &LaunchSet, name: &str| -> Vec<Row> {
        let row = |stage: &'static str| Row::at(LAUNCH, name).by(STAGE, stage).look(Look::nth(0));
        let reached = set.stages.iter().map(|one| {
            row(sets::stage(one.stage).name)
                .put(TIME_MEASURE, one.at_ms)
                .put(EACH_RUN, sets::runs_at(set, |run| run.at_ms(one.stage)))
                .figure(RUNS, sets::reached(set, one.stage))
        });
        let less = set.settled_less_cpu_wait_ms.as_ref().map(|less| {
            row("settled less CPU wait")
                .look(Look { tone: Tone::Plain, marker: Marker::Square, ..Look::PLAIN })
                .put(TIME_MEASURE, less)
                .put(EACH_RUN, sets::runs_at(set, |run| run.settled_less_cpu_wait_ms))
                .figure(RUNS, format::tally(less.count as f64))
        });
        reached.chain(less).collect()
    };
    let named = || report.sets.iter().map(|set| (set, sets::name(set, &report.sets)));
    let stages: Vec<Row> = named().flat_map(|(set, name)| rows_of(set, &name)).collect();
    let runs = named().flat_map(|(set, name)| set.runs.iter().enumerate().map(move |(i, run)| run_row(&name, i, run)));
    let latest = stages
        .iter()
        .flat_map(|row| row.numbers(EACH_RUN))
        .chain(stages.iter().filter_map(|row| row.number(TIME_MEASURE)));
    let latest = latest.filter(|ms| ms.is_finite()).fold(0.0, f64::max);
    let mut figure = Figure::new(
        "Stages",
        "From the launch until each stage: the median of the runs with its interval, and below it each run. Settled \
         is the last change of the screen that does not repeat by itself; idle is when the app's work is done.",
    )
    .key(Tone::Nth(0), Glyph::Point(Marker::Circle), "median")
    .key(Tone::Nth(0), Glyph::Run, "one run")
    .table(
        Table::of(
            "Stages",
            &stages,
            columns![
                LAUNCH,
                STAGE,
                TIME_MEASURE,
                TIME_MEASURE.interval(),
                TIME_MEASURE.spread(),
                RUNS,
                TIME_MEASURE.bar()
            ],
        )
        .dispensable(columns![RUNS, TIME_MEASURE.interval()])
        .noted("Spread is the standard deviation over the mean."),
    )
    .table(
        Table::of(
            "Every run",
            &runs.collect::<Vec<_>>(),
            columns![LAUNCH, RUN, FIRST_WINDOW, SETTLED, LESS_CPU_WAIT, IDLE, READ, THREADS, MONITORING, ENDING],
        )
        .dispensable(columns![THREADS, MONITORING, FIRST_WINDOW, IDLE, LESS_CPU_WAIT])
        .first_in_terminal(RUNS_IN_TERMINAL)
        .noted("Monitoring is brisk's own processor time in percent of one core."),
    );
    if report.sets.iter().flat_map(|s| &s.runs).any(|r| r.outlier) {
        figure = figure.key(Tone::Nth(0), Glyph::Outlier, "outlier, part of all figures");
    }
    reached(report).fold(figure, |figure, (set, name)| {
        let limits = causes::HCI_LIMITS_MS.into_iter().filter(|ms| *ms < latest && *ms > 0.08 * latest);
        let dots = Dots {
            name: STAGE.into(),
            value: TIME_MEASURE.into(),
            runs: EACH_RUN.into(),
            levels: limits.map(|ms| (ms, format::ms_tick(ms))).collect(),
            holds: vec![latest],
            ..Dots::default()
        };
        let x = Axis::new("since the launch", Law::Linear, format::ms_tick);
        figure
            .chart(format::sentence(&name), dots.draw(format!("Stages of the launch, {name}"), x, &rows_of(set, &name)))
    })
}

fn run_row(name: &str, i: usize, run: &LaunchRun) -> Row {
    let far = if run.outlier { ", outlier" } else { "" };
    Row::at(LAUNCH, name)
        .by(RUN, i as u32 + 1)
        .put(FIRST_WINDOW, run.at_ms(Stage::FirstWindow))
        .put(SETTLED, run.at_ms(Stage::Settled))
        .put(LESS_CPU_WAIT, run.settled_less_cpu_wait_ms)
        .put(IDLE, run.at_ms(Stage::Idle))
        .put(READ, run.storage.as_ref().map(|s| s.read.bytes))
        .put(THREADS, run.threads_max.map(u64::from))
        .put(MONITORING, run.watch_cpu_percent)
        .put(ENDING, format!("{}{far}", endings::words(&run.ending)))
}

/// Conditions or temperatures against each other.
fn comparisons(report: &LaunchReport) -> Figure {
    let row = |comparison: &crate::results::LaunchComparison| {
        let (one, base) = sets::sides(comparison);
        let judged = ratio::judge(&comparison.settled_ratio);
        Row::at(PAIR, format!("{one} / {base}"))
            .by(LAUNCH, one)
            .by(AGAINST_PLACE, base)
            .put(RATIO, comparison.settled_ratio)
            .put_in(LESS_CPU_WAIT, unit::TIMES, comparison.settled_less_cpu_wait_ratio)
            .look(judged.effect().look())
            .judge(EFFECT, judged.effect(), judged.words())
    };
    let rows: Vec<Row> = report.comparisons.iter().map(row).collect();
    let dots = Dots {
        name: PAIR.into(),
        value: RATIO.into(),
        below: EFFECT.into(),
        levels: level(1.0, "the same"),
        ..Dots::default()
    };
    Figure::new(
        "Comparison",
        "Time until settled over time until settled, pair by pair of interleaved runs. An interval that includes 1 \
         shows no significant difference.",
    )
    .chart(
        "Ratio of times",
        dots.draw("Time of one over that of the other", Axis::new("time over time", Law::Log10, format::tick), &rows),
    )
    .table(
        Table::of("Comparison", &rows, columns![LAUNCH, AGAINST_PLACE, RATIO, RATIO.interval(), LESS_CPU_WAIT, EFFECT])
            .dispensable(columns![EFFECT, LESS_CPU_WAIT]),
    )
}
