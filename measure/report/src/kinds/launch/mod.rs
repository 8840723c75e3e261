//! A launch: when the app is on the screen, when the screen is final and the work done, and what the time went to.

mod reads;
mod verdict;

use brisk_core::stats::Summary;
use brisk_results::{LaunchReport, LaunchRun, LaunchSet, Stage, StageSummary};

use crate::declare::*;
use crate::format::{self, shorten};
use crate::{causes, endings, facts, ratio, sets};

/// Runs that a terminal lists one by one.
const RUNS_IN_TERMINAL: usize = 40;

impl Kind for LaunchReport {
    fn section(&self) -> Section {
        let long = self.sets.iter().filter(|set| set.label.chars().count() > sets::LABEL);
        let labels: Vec<String> = long.map(|set| shorten(&set.label, 120)).collect();
        let mut facts: Facts =
            vec![("Command", shorten(&self.command.join(" "), 120)), ("Compared", labels.join("; "))];
        facts.extend(self.phone.as_ref().map(|of| ("Phone", facts::phone(of))));
        facts.push(("Screen", facts::screen(&self.screen)));
        facts.extend(end_of_work(self));
        facts.extend(facts::watching(self.sets.iter()));
        let title = format!("Launch of {}", shorten(self.app.trim(), 40));
        let question = "How long until the app's screen is final, and what does the time go to?";
        Section::new(title, question, verdict::verdict(self))
            .cautions(verdict::cautions(self))
            .facts(facts)
            .on(self.phone.as_ref().map(facts::phone_name))
            .figures([time(self), stages(self), comparisons(self), reads::storage(self), reads::cold(self)])
    }
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
        causes::put(Row::at("launch", name).put("time", MS, at), set.split.as_ref(), at.median, longest)
    };
    let rows: Vec<Row> = ends().map(row).collect();
    let by_stage = reached(report).find_map(|(set, name)| {
        let row = |reached: &StageSummary| {
            let splits: Vec<_> = set.runs.iter().filter_map(|run| run.split(reached.stage)).collect();
            let split = causes::median(&splits, reached.at_ms.median)?;
            let row = Row::at("stage", sets::stage_words(reached.stage)).put("time", MS, reached.at_ms);
            Some(causes::put(row, Some(&split), reached.at_ms.median, reached.at_ms.median))
        };
        let rows: Vec<Row> = set.stages.iter().filter_map(row).collect();
        (rows.len() > 1).then_some((name, rows))
    });
    let all: Vec<Row> = rows.iter().chain(by_stage.iter().flat_map(|(_, rows)| rows)).cloned().collect();
    let with_split: Vec<Row> = rows.iter().filter(|row| row.get("split").is_some()).cloned().collect();
    let columns = format!("launch | {} | whole", causes::columns(&with_split));
    let figure = figure
        .causes(&causes::present(&all))
        .chart("Until settled", stacks("What the time until settled went to", &rows, "", "launch", ["time", "split"]))
        .table(
            Table::of("What the time went to", &rows, "launch | split | time")
                .noted(causes::letters_note(&all))
                .terminal_only(),
        )
        .table(Table::of("Time until settled by cause", &with_split, &columns).turned());
    match by_stage {
        Some((name, rows)) => {
            let title = format!("What the time up to each stage went to, {name}");
            let columns = format!("stage | whole | {}", causes::columns(&rows));
            figure
                .chart(format!("Up to each stage, {name}"), stacks(title, &rows, "", "stage", ["time", "split"]))
                .table(Table::of(format!("Up to each stage, {name}"), &rows, &columns).page_only())
        }
        None => figure,
    }
}

/// When each stage was reached: medians with their intervals, and every run.
fn stages(report: &LaunchReport) -> Figure {
    let rows_of = |set: &LaunchSet, name: &str| -> Vec<Row> {
        let row = |stage: &'static str| Row::at("launch", name).by("stage", stage).look(Look::nth(0));
        let reached = set.stages.iter().map(|one| {
            row(sets::stage_words(one.stage))
                .put("time", MS, one.at_ms)
                .put("each run", MS, sets::runs_at(set, |run| run.at_ms(one.stage)))
                .figure("runs", sets::reached(set, one.stage))
        });
        let less = set.settled_less_cpu_wait_ms.as_ref().map(|less| {
            row("settled less CPU wait")
                .look(Look { tone: Tone::Plain, marker: Marker::Square, ..Look::PLAIN })
                .put("time", MS, less)
                .put("each run", MS, sets::runs_at(set, |run| run.settled_less_cpu_wait_ms))
                .figure("runs", format::tally(less.count as f64))
        });
        reached.chain(less).collect()
    };
    let named = || report.sets.iter().map(|set| (set, sets::name(set, &report.sets)));
    let stages: Vec<Row> = named().flat_map(|(set, name)| rows_of(set, &name)).collect();
    let runs = named().flat_map(|(set, name)| set.runs.iter().enumerate().map(move |(i, run)| run_row(&name, i, run)));
    let latest =
        stages.iter().flat_map(|row| row.numbers("each run")).chain(stages.iter().filter_map(|row| row.number("time")));
    let latest = latest.filter(|ms| ms.is_finite()).fold(0.0, f64::max);
    let mut figure = Figure::new(
        "Stages",
        "From the launch until each stage: the median of the runs with its interval, and below it each run. Settled \
         is the last change of the screen that does not repeat by itself; idle is when the app's work is done.",
    )
    .key(Tone::Nth(0), Glyph::Point(Marker::Circle), "median")
    .key(Tone::Nth(0), Glyph::Run, "one run")
    .table(
        Table::of("Stages", &stages, "launch | stage | time | interval of time | spread of time | runs | bar of time")
            .dispensable("runs | interval")
            .noted("Spread is the standard deviation over the mean."),
    )
    .table(
        Table::of(
            "Every run",
            &runs.collect::<Vec<_>>(),
            "launch | run | first window | settled | less CPU wait | idle | read | threads | monitoring | ending",
        )
        .dispensable("threads | monitoring | first window | idle | less CPU wait")
        .first_in_terminal(RUNS_IN_TERMINAL)
        .noted("Monitoring is brisk's own processor time in percent of one core."),
    );
    if report.sets.iter().flat_map(|s| &s.runs).any(|r| r.outlier) {
        figure = figure.key(Tone::Nth(0), Glyph::Outlier, "outlier, part of all figures");
    }
    reached(report).fold(figure, |figure, (set, name)| {
        let limits = causes::HCI_LIMITS_MS.into_iter().filter(|ms| *ms < latest && *ms > 0.08 * latest);
        let dots = Dots {
            name: "stage",
            value: "time",
            runs: "each run",
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
    Row::at("launch", name)
        .by("run", i as u32 + 1)
        .put("first window", MS, run.at_ms(Stage::FirstWindow))
        .put("settled", MS, run.at_ms(Stage::Settled))
        .put("less CPU wait", MS, run.settled_less_cpu_wait_ms)
        .put("idle", MS, run.at_ms(Stage::Idle))
        .put("read", BYTES, run.storage.as_ref().map(|s| s.read.bytes))
        .put("threads", TALLY, run.threads_max.map(u64::from))
        .put("monitoring", PERCENT, run.watch_cpu_percent)
        .say("ending", format!("{}{far}", endings::words(&run.ending)))
}

/// Conditions or temperatures against each other.
fn comparisons(report: &LaunchReport) -> Figure {
    let row = |comparison: &brisk_results::LaunchComparison| {
        let (one, base) = sets::sides(comparison);
        let judged = ratio::judge(&comparison.settled_ratio);
        Row::at("pair", format!("{one} / {base}"))
            .by("launch", one)
            .by("against", base)
            .put("ratio", TIMES, comparison.settled_ratio)
            .put("less CPU wait", TIMES, comparison.settled_less_cpu_wait_ratio)
            .look(judged.effect().look())
            .judge("effect", judged.effect(), judged.words())
    };
    let rows: Vec<Row> = report.comparisons.iter().map(row).collect();
    let dots =
        Dots { name: "pair", value: "ratio", below: "effect", levels: level(1.0, "the same"), ..Dots::default() };
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
        Table::of("Comparison", &rows, "launch | against | ratio | interval of ratio | less CPU wait | effect")
            .dispensable("effect | less CPU wait"),
    )
}
