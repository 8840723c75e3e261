//! Its page.

use crate::results::{Ending, HciLimit, LatencyReport, LatencyRun, LatencyStep};
use brisk_core::stats::Summary;

use super::columns::*;
use crate::study::shown::{endings, facts};
use brisk_report::causes;
use brisk_report::declare::*;
use brisk_report::format::{self, shorten};

pub(super) fn section(report: &LatencyReport) -> Section {
    let command = match report.command.as_slice() {
        [] => "none: the app was running already".to_owned(),
        command => shorten(&command.join(" "), 120),
    };
    let mut facts: Facts = vec![("Command", command), ("Script", shorten(&report.script, 80))];
    facts.extend(report.phone.as_ref().map(|of| ("Phone", facts::phone(of))));
    facts.push(("Screen", facts::screen(&report.screen)));
    let question =
        format!("How long until the screen is stable again after each input of {}?", shorten(report.script.trim(), 60));
    Section::new(format!("Latency of {}", shorten(report.app.trim(), 40)), question, verdict(report))
        .facts(facts)
        .cautions(doubts(report))
        .on(report.phone.as_ref().map(facts::phone_name))
        .figures([steps(report), splits(report), runtime_delay(report)])
}

/// A step whose latency is known.
struct Timed<'a> {
    step: &'a LatencyStep,
    latency_ms: &'a Summary,
    limit: HciLimit,
}

fn timed(report: &LatencyReport) -> Vec<Timed<'_>> {
    report
        .steps
        .iter()
        .filter_map(|step| {
            let latency_ms = step.latency_ms.as_ref().filter(|s| s.median.is_finite())?;
            Some(Timed { step, latency_ms, limit: step.limit.unwrap_or_else(|| HciLimit::of_ms(latency_ms.median)) })
        })
        .collect()
}

fn name(step: &LatencyStep) -> String {
    shorten(step.name.trim(), 40)
}

/// Whether no repetition of a step changed the screen.
fn changed_nothing(step: &LatencyStep) -> bool {
    !step.runs.is_empty() && step.runs.iter().all(|run| run.first_change_ms.is_none() && run.latency_ms == 0.0)
}

/// Whether most repetitions came to an end before the cap.
fn is_stable(step: &LatencyStep) -> bool {
    let moving = step.runs.iter().filter(|run| run.ending == Ending::Animating).count();
    moving * 2 <= step.runs.len()
}

/// A latency; that of a cap is a lower bound.
fn latency_words(step: &LatencyStep, latency_ms: &Summary) -> String {
    format!("{}{}", if is_stable(step) { "" } else { "> " }, format::ms(latency_ms.median))
}

/// A class in a table.
fn limit_words(limit: HciLimit) -> &'static str {
    match limit {
        HciLimit::Instant => "≤ 0.1 s, immediate",
        HciLimit::Flow => "≤ 1 s, flow",
        HciLimit::Attention => "≤ 10 s, attention",
        HciLimit::Lost => "> 10 s, lost",
    }
}

fn verdict(report: &LatencyReport) -> Vec<String> {
    let mut said = Vec::new();
    let timed = timed(report);
    let answered: Vec<&Timed<'_>> = timed.iter().filter(|t| !changed_nothing(t.step)).collect();
    if let Some(slowest) = answered.iter().max_by(|a, b| a.latency_ms.median.total_cmp(&b.latency_ms.median)) {
        let parts =
            slowest.step.split.as_ref().and_then(causes::sentence).map_or_else(String::new, |p| format!(": {p}"));
        let of = if answered.len() > 1 { format!("The slowest of {} steps, ", answered.len()) } else { String::new() };
        let (comma, verb) = match (of.is_empty(), is_stable(slowest.step)) {
            (true, true) => ("", "takes"),
            (false, true) => (",", "takes"),
            (true, false) => ("", "is not stable within"),
            (false, false) => (",", "is not stable within"),
        };
        said.push(format!(
            "{}{comma} {verb} {}{parts}.",
            format::sentence(&format!("{of}{}", name(slowest.step))),
            format::ms(slowest.latency_ms.median)
        ));
        said.push(classes(&answered));
    }
    if let Some(delay) = &report.runtime_delay {
        let parts = delay.split.as_ref().and_then(causes::sentence).map_or_else(String::new, |p| format!(": {p}"));
        said.push(format!(
            "{} with seed {} take {}{}{parts}.",
            format::sentence(&format::plural(delay.events, "pseudo-random event")),
            delay.seed,
            format::ms(delay.total_ms.median),
            if delay.events > 0 {
                format!(", {} each", format::ms(delay.total_ms.median / delay.events as f64))
            } else {
                String::new()
            }
        ));
    }
    if said.is_empty() {
        said.push("Nothing was measured: no step of the document has a time.".to_owned());
    }
    let nothing: Vec<String> = report.steps.iter().filter(|s| changed_nothing(s)).map(name).collect();
    if !nothing.is_empty() {
        let steps = format::plural(nothing.len() as u64, "step");
        said.push(format!("{steps} changed nothing on the screen: {}.", format::list(&nothing)));
    }
    said
}

/// Steps that were not stable or not reached, and what the split could not see.
fn doubts(report: &LatencyReport) -> Vec<String> {
    let mut said = Vec::new();
    for step in &report.steps {
        said.extend(endings::sentences(
            "repetition",
            &format!("of {}", name(step)),
            step.runs.iter().map(|r| &r.ending),
        ));
        if step.runs.is_empty() {
            said.push(format!("{} was never reached.", format::sentence(&name(step))));
        }
    }
    let splits = report.steps.iter().filter_map(|s| s.split.as_ref());
    let splits = splits.chain(report.runtime_delay.iter().filter_map(|d| d.split.as_ref()));
    said.extend(causes::all_lost(splits, ""));
    said
}

/// How many steps keep which limit.
fn classes(answered: &[&Timed<'_>]) -> String {
    let words = [
        (HciLimit::Instant, "immediate (within 0.1 s)"),
        (HciLimit::Flow, "within the flow of thought (1 s)"),
        (HciLimit::Attention, "slow, but hold attention (10 s)"),
        (HciLimit::Lost, "beyond what attention lasts (10 s)"),
    ];
    let parts: Vec<String> = words
        .into_iter()
        .map(|(limit, words)| (answered.iter().filter(|t| t.limit == limit).count(), words))
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    format!("Of {}: {}.", format::plural(answered.len() as u64, "step"), format::list(&parts))
}

/// Each step against the limits.
fn steps(report: &LatencyReport) -> Figure {
    let timed: Vec<Row> = timed(report)
        .into_iter()
        .filter(|t| !changed_nothing(t.step))
        .map(|t| {
            Row::at(STEP, name(t.step))
                .look(Look::nth(0))
                .put(LATENCY, t.latency_ms)
                .put(BOUND_MEASURE, Value::Shown(latency_words(t.step, t.latency_ms), format::spread(t.latency_ms)))
                .put(REPETITIONS, runs(t.step.runs.iter().map(|run| run.latency_ms)))
        })
        .collect();
    let dots = Dots {
        name: STEP.into(),
        value: LATENCY.into(),
        label: BOUND_MEASURE.into(),
        runs: REPETITIONS.into(),
        levels: causes::HCI_LIMITS_MS.map(|ms| (ms, format::ms_tick(ms))).into(),
        ..Dots::default()
    };
    let x = Axis::new("from the input to a stable screen", Law::Log10, format::ms_tick);
    let rows: Vec<Row> = report.steps.iter().map(step_row).collect();
    let columns = columns![STEP, INPUT, LATENCY, INTERVAL, LIMIT_MEASURE, FIRST_CHANGE, STORAGE, READ, WRITTEN, ENDING];
    let note = format::interval_note(report.steps.iter().filter_map(|s| s.latency_ms.as_ref())).unwrap_or_default();
    Figure::new(
        "Response times",
        "From each input to the next stable screen. Dotted: the limits of an immediate answer (0.1 s), of the flow of \
         thought (1 s) and of attention (10 s).",
    )
    .key(Tone::Nth(0), Glyph::Point(Marker::Circle), "median with its interval")
    .key(Tone::Nth(0), Glyph::Run, "one repetition")
    .chart("Latency by step", dots.draw("Time from each input to the next stable screen", x, &timed))
    .table(Table::of("Steps", &rows, columns).dispensable(columns![INTERVAL, WRITTEN, READ, INPUT, FIRST_CHANGE]).noted(
        format!(
            "{note} First change is that of the screen, storage its share of the time; read and written are medians."
        ),
    ))
    .open()
}

fn step_row(step: &LatencyStep) -> Row {
    let over = |of: fn(&LatencyRun) -> Option<f64>| {
        Summary::of(&step.runs.iter().filter_map(of).collect::<Vec<_>>()).map(|summary| summary.median)
    };
    let changed = step.latency_ms.as_ref().filter(|_| !changed_nothing(step));
    let limit = step.limit.or_else(|| step.latency_ms.as_ref().map(|s| HciLimit::of_ms(s.median)));
    let latency = match &step.latency_ms {
        Some(latency) if changed.is_some() => Value::Shown(latency_words(step, latency), format::spread(latency)),
        Some(_) => Value::Shown("nothing changed".to_owned(), String::new()),
        None => Value::Shown("never stable".to_owned(), String::new()),
    };
    let ending = step.runs.iter().map(|run| &run.ending).find(|ending| **ending != Ending::Settled);
    Row::at(STEP, name(step))
        .by(INPUT, shorten(step.input.trim(), 40))
        .put(LATENCY, latency)
        .figure(INTERVAL, changed.map(|s| format::interval(s, format::ms)))
        .put(LIMIT_MEASURE, changed.and(limit).map(limit_words))
        .put(FIRST_CHANGE, over(|run| run.first_change_ms))
        .figure(STORAGE, causes::storage_share(step.split.as_ref()))
        .put(READ, over(|run| run.storage.as_ref().map(|s| s.read.bytes as f64)))
        .put(WRITTEN, over(|run| run.storage.as_ref().map(|s| s.write.bytes as f64)))
        .put(ENDING, ending.map(endings::words))
}

/// Each step's time by cause.
fn splits(report: &LatencyReport) -> Figure {
    let timed = timed(report).into_iter();
    let split: Vec<_> = timed.filter_map(|t| Some((name(t.step), t.step.split.as_ref()?, t.latency_ms))).collect();
    by_cause(Figure::new("Response times by cause", CAUSES), "Response times by cause", &split)
}

const CAUSES: &str = "At each instant the first cause that holds for any thread of the app gets the time, so the \
                      parts add up to the whole; each is the median over the repetitions.";

fn by_cause(figure: Figure, title: &str, named: &[(String, &crate::results::Split, &Summary)]) -> Figure {
    let row = |(name, split, time): &(String, &crate::results::Split, &Summary)| {
        causes::put(Row::at(STEP, name.clone()).put(TIME_MEASURE, *time), Some(split), time.median, time.median)
    };
    let rows: Vec<Row> = named.iter().map(row).collect();
    if rows.is_empty() {
        return figure;
    }
    let note = format!("{} Every bar is the whole of its time.", causes::letters_note(&rows));
    figure
        .causes(&causes::present(&rows))
        .chart("", stacks(title, &rows, Column::Absent, STEP, [TIME_MEASURE, SPLIT]))
        .table(Table::of(title, &rows, columns![STEP, SPLIT, TIME_MEASURE]).noted(note).terminal_only())
        .table(
            Table::of(title, &rows, &[columns![STEP, WHOLE], causes::columns(&rows).as_slice()].concat()).page_only(),
        )
}

/// The stream of pseudo-random events (dissertation 4.5.4).
fn runtime_delay(report: &LatencyReport) -> Figure {
    let Some(delay) = &report.runtime_delay else { return Figure::default() };
    let row = Row::at(SEED, delay.seed.to_string())
        .put(EVENTS, delay.events)
        .put(WHOLE, delay.total_ms)
        .put(AN_EVENT, delay.total_ms.median / delay.events as f64)
        .figure(STORAGE, causes::storage_share(delay.split.as_ref()));
    let caption = format!(
        "From the first of the pseudo-random events until the app settled after the last; the same seed gives the \
         same events. After section 4.5.4 of the dissertation. {CAUSES}"
    );
    let figure = Figure::new("Run-time delay", caption)
        .table(Table::of("Run-time delay", &[row], columns![EVENTS, SEED, WHOLE, WHOLE.interval(), AN_EVENT, STORAGE]))
        .open();
    let split: Vec<_> = delay.split.iter().map(|split| ("events".to_owned(), split, &delay.total_ms)).collect();
    by_cause(figure, "Run-time delay by cause", &split)
}
