//! The frontier study: what each setting of a block queue makes of reads beside writes, and of the writes.

use brisk_core::units::format_bytes;
use brisk_results::{FrontierMeasure, FrontierPoint, FrontierReport};

use crate::format;
use crate::section::{Chart, Figure, Glyph, Key, Panel, Section};
use crate::svg::frame::Axis;
use crate::svg::lines::{LineChart, Names, Point, Series};
use crate::svg::scale::{Law, law_for};
use crate::svg::{Marker, Tone};
use crate::table::{Cell, Kind, Table};

/// Rows in a terminal of the table of all settings.
const TERMINAL_ROWS: usize = 12;

/// The section of this document.
pub(crate) fn section(report: &FrontierReport) -> Section {
    Section {
        title: "Frontier".to_owned(),
        question: format!(
            "Which settings serve {} reads soonest beside writes, and what does that cost the writes?",
            format_bytes(report.block_bytes)
        ),
        verdict: verdict(report),
        figures: if report.points.is_empty() { Vec::new() } else { vec![figure(report)] },
    }
}

fn verdict(report: &FrontierReport) -> Vec<String> {
    let mut said = Vec::new();
    if !report.restored {
        said.push(
            "The settings of the device could NOT all be restored: look at them and set them by hand.".to_owned(),
        );
    }
    let Some(found) = report.point(&report.found) else {
        said.push("Nothing was measured: the document has no point of the settings that were found.".to_owned());
        return said;
    };
    let least = format!("{:.0} %", report.write_min_percent.clamp(0.0, 1e4));
    match report.chosen.as_ref().and_then(|label| report.point(label)) {
        None => said.push(format!(
            "No setting serves reads sooner than those found and leaves {least} of the writes: stay with {}.",
            found.scheduler
        )),
        Some(best) => {
            said.push(format!(
                "Best for reads with at least {least} of the writes: {}. Reads take {} of the time, and writes reach {}.",
                best.label,
                percent(best.read_ratio * 100.0),
                percent(best.write_percent)
            ));
            for ((load, best), found) in report.loads.iter().zip(&best.loads).zip(&found.loads) {
                said.push(format!(
                    "{}: a read takes {} instead of {} (alone {}), writes go at {} instead of {}.",
                    format::sentence(&load.name),
                    format::us(best.read_us.median),
                    format::us(found.read_us.median),
                    format::us(load.read_alone_us),
                    format::bandwidth(best.write_bytes_per_s.median),
                    format::bandwidth(found.write_bytes_per_s.median),
                ));
            }
        }
    }
    let faster = report.points.iter().filter(|x| x.read_ratio.is_finite() && x.on_frontier);
    if let Some(fastest) = faster.min_by(|a, b| a.read_ratio.total_cmp(&b.read_ratio))
        && report.chosen.as_ref() != Some(&fastest.label)
        && fastest.label != report.found
    {
        said.push(format!(
            "The fastest reads of all, at {} of the writes: {} ({} of the time).",
            percent(fastest.write_percent),
            fastest.label,
            percent(fastest.read_ratio * 100.0)
        ));
    }
    if !report.refused.is_empty() {
        said.push(format!(
            "{} could not be set, the first of them: {}: {}.",
            format::sentence(&format::plural(report.refused.len() as u64, "setting")),
            report.refused[0].0,
            report.refused[0].1.trim_end_matches('.')
        ));
    }
    said
}

/// A percentage that may be small.
fn percent(value: f64) -> String {
    if value < 9.95 { format!("{} %", format::number(value)) } else { format::share(value, 100.0) }
}

/// The schedulers in the order of the kernel's own list, others behind by name.
fn schedulers(report: &FrontierReport) -> Vec<&str> {
    let rank = |name: &str| ["none", "mq-deadline", "kyber", "bfq"].iter().position(|n| *n == name).unwrap_or(4);
    let mut names: Vec<&str> = report.points.iter().map(|x| x.scheduler.as_str()).collect();
    names.sort_by_key(|name| (rank(name), *name));
    names.dedup();
    names
}

fn figure(report: &FrontierReport) -> Figure {
    let names = schedulers(report);
    let mut keys: Vec<Key> = names
        .iter()
        .enumerate()
        .map(|(i, name)| Key { tone: Tone::Nth(i), glyph: Glyph::Point(Marker::nth(i)), words: (*name).to_owned() })
        .collect();
    keys.push(Key { tone: Tone::Plain, glyph: Glyph::Solid, words: "frontier".to_owned() });
    Figure {
        title: "Read delay against write throughput".to_owned(),
        caption: format!(
            "Each point is a setting: lower and further to the right is better. The line joins settings that no other beats in \
             both. 100 % are the settings found. Trials of {}; settings that fared badly had one, the finalists most.",
            format::seconds(report.trial_s)
        ),
        keys,
        panels: vec![Panel { title: "All loads together".to_owned(), chart: Chart::Lines(chart(report, &names)) }],
        tables: vec![choice_table(report), all_table(report)],
        tables_open: true,
    }
}

fn chart(report: &FrontierReport, names: &[&str]) -> LineChart {
    let at = |x: &FrontierPoint, mark: Option<String>| Point {
        x: x.write_percent,
        y: x.read_ratio * 100.0,
        range: None,
        words: format!(
            "{}: reads take {} of the time, writes reach {}",
            x.label,
            percent(x.read_ratio * 100.0),
            percent(x.write_percent)
        ),
        mark,
    };
    let mut on: Vec<&FrontierPoint> = report.points.iter().filter(|x| x.on_frontier).collect();
    on.sort_by(|a, b| a.write_percent.total_cmp(&b.write_percent));
    let line = |name: &str, tone, marker, points| Series {
        name: name.to_owned(),
        tone,
        marker,
        dashed: false,
        published: false,
        points,
    };
    let mut series = vec![line("", Tone::Plain, Marker::Circle, on.iter().map(|x| at(x, None)).collect())];
    // A series for each point: nothing is to be joined.
    for x in &report.points {
        let nth = names.iter().position(|name| *name == x.scheduler).unwrap_or(0);
        let mark = if x.label == report.found {
            Some("found".to_owned())
        } else if report.chosen.as_ref() == Some(&x.label) {
            Some("chosen".to_owned())
        } else {
            None
        };
        series.push(line("", Tone::Nth(nth), Marker::nth(nth), vec![at(x, mark)]));
    }
    let law = law_for(report.points.iter().map(|x| x.read_ratio * 100.0));
    LineChart {
        title: "Read delay against write throughput".to_owned(),
        description: verdict(report).join(" "),
        x: Axis::new("write throughput, % of that with the settings found", Law::Window, format::tick),
        y: Axis::new("mean read time, % of that with the settings found", law, format::tick),
        series,
        levels: Vec::new(),
        events: Vec::new(),
        names: Names::Last,
    }
}

/// The setting that won beside those found, load by load.
fn choice_table(report: &FrontierReport) -> Table {
    let mut table = Table::new(
        "Found and chosen",
        &[
            ("load", Kind::Words),
            ("setting", Kind::Words),
            ("read", Kind::Numbers),
            ("read p99", Kind::Numbers),
            ("written", Kind::Numbers),
            ("longest small write", Kind::Numbers),
        ],
    )
    .dispensable(&[3, 5]);
    let shown = [Some(&report.found), report.chosen.as_ref()];
    let mut all = Vec::new();
    for (i, load) in report.loads.iter().enumerate() {
        for (name, label) in ["found", "chosen"].iter().zip(shown) {
            let Some(measure) = label.and_then(|label| report.point(label)).and_then(|x| x.loads.get(i)) else {
                continue;
            };
            let FrontierMeasure { read_us, read_us_p99, write_bytes_per_s, write_us_max } = measure;
            all.extend([read_us, write_bytes_per_s]);
            table.rows.push(vec![
                load.name.as_str().into(),
                (*name).into(),
                Cell::measure(read_us, format::us),
                Cell::measure(read_us_p99, format::us),
                Cell::measure(write_bytes_per_s, format::bandwidth),
                Cell::measure(write_us_max, format::us),
            ]);
        }
    }
    table.with_note(format::interval_note(all))
}

/// Every setting, fastest reads first.
fn all_table(report: &FrontierReport) -> Table {
    let mut table = Table::new(
        "All settings",
        &[
            ("setting", Kind::Words),
            ("trials", Kind::Numbers),
            ("reads take", Kind::Numbers),
            ("writes reach", Kind::Numbers),
            ("frontier", Kind::Words),
        ],
    )
    .dispensable(&[1, 4])
    .first_in_terminal(TERMINAL_ROWS);
    let mut points: Vec<&FrontierPoint> = report.points.iter().collect();
    points.sort_by(|a, b| (!a.on_frontier).cmp(&!b.on_frontier).then(a.read_ratio.total_cmp(&b.read_ratio)));
    for x in points {
        let word = match (report.chosen.as_ref() == Some(&x.label), x.label == report.found, x.on_frontier) {
            (true, ..) => "chosen",
            (_, true, _) => "found",
            (.., true) => "on it",
            _ => "",
        };
        let trials = x.loads.iter().map(|load| load.read_us.count).min().unwrap_or(0);
        table.rows.push(vec![
            x.label.as_str().into(),
            trials.to_string().into(),
            percent(x.read_ratio * 100.0).into(),
            percent(x.write_percent).into(),
            word.into(),
        ]);
    }
    let words: Vec<String> = report
        .loads
        .iter()
        .map(|load| {
            format!(
                "{}: each reader asks every {}, a read alone takes {}; written are {}",
                load.name,
                format::us(load.read_interval_us),
                format::us(load.read_alone_us),
                load.writers
            )
        })
        .collect();
    table.with_note(Some(format!(
        "Relative to the settings found, geometric mean over the loads. {}.",
        words.join(". ")
    )))
}
