//! How long an app takes to answer an input, step by step, against the limits of patience.

use brisk_core::stats::Summary;
use brisk_results::{Ending, HciLimit, LatencyReport, LatencyRun, LatencyStep};

use crate::section::{Chart, Figure, Glyph, Key, Panel, Section, range};
use crate::svg::dots::{DotChart, Row, Run};
use crate::svg::frame::Axis;
use crate::svg::scale::Law;
use crate::svg::stacks::StackGroup;
use crate::svg::{Marker, Tone};
use crate::table::{Cell, Kind, Table};
use crate::{causes, endings, facts, format};

/// The section of this document.
pub(crate) fn section(report: &LatencyReport) -> Section {
    Section {
        title: format!("Latency of {}", facts::shorten(report.app.trim(), 40)),
        question: format!(
            "How long until the screen is stable again after each input of {}?",
            facts::shorten(report.script.trim(), 60)
        ),
        verdict: verdict(report),
        figures: [steps(report), splits(report), runtime_delay(report)].into_iter().flatten().collect(),
    }
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
    facts::shorten(step.name.trim(), 40)
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
            format::measured(slowest.latency_ms, format::ms)
        ));
        said.push(classes(&answered));
    }
    if let Some(delay) = &report.runtime_delay {
        let parts = delay.split.as_ref().and_then(causes::sentence).map_or_else(String::new, |p| format!(": {p}"));
        said.push(format!(
            "{} with seed {} take {}{}{parts}.",
            format::sentence(&format::plural(delay.events, "pseudo-random event")),
            delay.seed,
            format::measured(&delay.total_ms, format::ms),
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
    let mut methods: Vec<String> = report
        .steps
        .iter()
        .filter_map(|s| s.split.as_ref())
        .chain(report.runtime_delay.iter().filter_map(|d| d.split.as_ref()))
        .filter_map(causes::lost)
        .collect();
    methods.sort_unstable();
    methods.dedup();
    said.extend(methods);
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
fn steps(report: &LatencyReport) -> Option<Figure> {
    if report.steps.is_empty() {
        return None;
    }
    let rows: Vec<Row> = timed(report)
        .into_iter()
        .filter(|t| !changed_nothing(t.step))
        .map(|t| Row {
            name: name(t.step),
            value: t.latency_ms.median,
            range: range(t.latency_ms),
            label: format!("{} {}", latency_words(t.step, t.latency_ms), format::spread(t.latency_ms)),
            below: String::new(),
            tone: Tone::Nth(0),
            marker: Marker::Circle,
            published: Vec::new(),
            strokes: Vec::new(),
            runs: t.step.runs.iter().map(|run| Run { value: run.latency_ms, outlier: false }).collect(),
        })
        .collect();
    let chart = DotChart {
        title: "Time from each input to the next stable screen".to_owned(),
        description: rows.iter().map(|r| format!("{}: {}.", r.name, r.label)).collect::<Vec<_>>().join(" "),
        x: Axis::new("from the input to a stable screen", Law::Log10, format::ms_tick),
        levels: causes::HCI_LIMITS_MS.map(|ms| (ms, format::ms_tick(ms))).into(),
        holds: Vec::new(),
        rows,
    };
    Some(Figure {
        title: "Answers".to_owned(),
        caption: "From each input to the next stable screen. Dotted: what feels immediate (0.1 s), keeps the flow of thought \
                  (1 s), holds attention (10 s)."
            .to_owned(),
        keys: [(Glyph::Point(Marker::Circle), "median with its interval"), (Glyph::Run, "one repetition")]
            .map(|(glyph, words)| Key { tone: Tone::Nth(0), glyph, words: words.to_owned() })
            .into(),
        panels: vec![Panel { title: "Latency by step".to_owned(), chart: Chart::Dots(chart) }],
        tables: vec![step_table(report)],
        tables_open: true,
    })
}

fn step_table(report: &LatencyReport) -> Table {
    let mut table = Table::new(
        "Steps",
        &[
            ("step", Kind::Words),
            ("input", Kind::Words),
            ("latency", Kind::Numbers),
            ("interval", Kind::Numbers),
            ("limit", Kind::Words),
            ("first seen", Kind::Numbers),
            ("storage", Kind::Numbers),
            ("read", Kind::Numbers),
            ("written", Kind::Numbers),
            ("ending", Kind::Words),
        ],
    )
    .dispensable(&[3, 8, 7, 1, 5]);
    let over = |step: &LatencyStep, of: fn(&LatencyRun) -> Option<f64>| {
        let values: Vec<f64> = step.runs.iter().filter_map(of).collect();
        Summary::of(&values)
    };
    for step in &report.steps {
        let limit = step.limit.or_else(|| step.latency_ms.as_ref().map(|s| HciLimit::of_ms(s.median)));
        let bytes = |summary: Option<Summary>| summary.map_or(Cell::Empty, |s| format::bytes(s.median).into());
        table.rows.push(vec![
            name(step).into(),
            facts::shorten(step.input.trim(), 40).into(),
            match &step.latency_ms {
                Some(_) if changed_nothing(step) => "no change".into(),
                Some(latency) => Cell::Measure(latency_words(step, latency), format::spread(latency)),
                None => "never stable".into(),
            },
            step.latency_ms
                .as_ref()
                .filter(|_| !changed_nothing(step))
                .map_or(Cell::Empty, |s| format::interval(s, format::ms).into()),
            limit.filter(|_| !changed_nothing(step)).map_or(Cell::Empty, |l| limit_words(l).into()),
            over(step, |run| run.first_change_ms).map_or(Cell::Empty, |s| format::ms(s.median).into()),
            causes::storage_cell(step.split.as_ref()),
            bytes(over(step, |run| run.storage.as_ref().map(|s| s.read.bytes as f64))),
            bytes(over(step, |run| run.storage.as_ref().map(|s| s.write.bytes as f64))),
            step.runs
                .iter()
                .map(|run| &run.ending)
                .find(|ending| **ending != Ending::Settled)
                .map_or(Cell::Empty, |ending| endings::words(ending).into()),
        ]);
    }
    let note = format::interval_note(report.steps.iter().filter_map(|s| s.latency_ms.as_ref()));
    table.with_note(note.map(|note| format!("{note} First seen is the first change of the screen, storage its share of the time; read and written are medians.")))
}

/// What the time of each step went to.
fn splits(report: &LatencyReport) -> Option<Figure> {
    let split: Vec<_> =
        timed(report).into_iter().filter_map(|t| Some((name(t.step), t.step.split.as_ref()?, t.latency_ms))).collect();
    figure_of_splits("What the answers waited for", &split)
}

fn figure_of_splits(title: &str, named: &[(String, &brisk_results::Split, &Summary)]) -> Option<Figure> {
    if named.is_empty() {
        return None;
    }
    let caused = causes::present(named.iter().map(|(_, split, _)| *split));
    let mut letters = Table::new(title, &[("", Kind::Words), ("", Kind::Bars), ("time", Kind::Numbers)]);
    for (name, split, latency) in named {
        letters.rows.push(vec![
            name.clone().into(),
            causes::letters(Some(split), split.wall_ms),
            Cell::measure(latency, format::ms),
        ]);
    }
    let rows = named.iter().map(|(name, split, latency)| causes::row(name.clone(), Some(split), latency)).collect();
    let table_rows: Vec<_> = named.iter().map(|(name, split, _)| (vec![Cell::Text(name.clone())], *split)).collect();
    Some(Figure {
        title: title.to_owned(),
        caption: "At each instant the first cause that holds for any thread of the app gets the time, so the parts add up to \
                  the whole; each is the median over the repetitions."
            .to_owned(),
        keys: causes::keys(&caused),
        panels: vec![Panel {
            title: "Time by cause".to_owned(),
            chart: causes::chart(title.to_owned(), "time", vec![StackGroup { name: String::new(), rows }]),
        }],
        tables: vec![
            letters
                .with_note(causes::letters_note(&caused).map(|note| format!("{note} Every bar is the whole of its time.")))
                .terminal_only(),
            causes::table("Time by cause", &[""], &table_rows).page_only(),
        ],
        tables_open: false,
    })
}

/// The stream of pseudo-random events (dissertation 4.5.4).
fn runtime_delay(report: &LatencyReport) -> Option<Figure> {
    let delay = report.runtime_delay.as_ref()?;
    let mut table = Table::new(
        "Run-time delay",
        &[
            ("events", Kind::Numbers),
            ("seed", Kind::Numbers),
            ("whole", Kind::Numbers),
            ("interval", Kind::Numbers),
            ("an event", Kind::Numbers),
            ("storage", Kind::Numbers),
        ],
    );
    table.rows.push(vec![
        format::tally(delay.events as f64).into(),
        delay.seed.to_string().into(),
        Cell::measure(&delay.total_ms, format::ms),
        format::interval(&delay.total_ms, format::ms).into(),
        format::ms(delay.total_ms.median / delay.events as f64).into(),
        causes::storage_cell(delay.split.as_ref()),
    ]);
    let table = table.with_note(format::interval_note([&delay.total_ms]));
    let caption =
        "From the first of the pseudo-random events until the app settled after the last; the same seed gives the \
                   same events. After section 4.5.4 of the dissertation."
            .to_owned();
    let split = delay.split.as_ref().map(|split| ("events".to_owned(), split, &delay.total_ms));
    let figure = split.and_then(|split| figure_of_splits("Run-time delay", &[split]));
    Some(match figure {
        Some(mut figure) => {
            figure.caption = format!("{caption} {}", figure.caption);
            figure.tables.insert(0, table);
            figure.tables_open = true;
            figure
        }
        None => Figure {
            title: "Run-time delay".to_owned(),
            caption,
            keys: Vec::new(),
            panels: Vec::new(),
            tables: vec![table],
            tables_open: true,
        },
    })
}
