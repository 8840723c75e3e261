//! The concurrency study (dissertation 4.2.5, figure 4.6): how many streams at once gain most over one after the other.

use brisk_core::units::format_bytes;
use brisk_results::{ConcurrencyPoint, ConcurrencyReport, Direction, Pattern};

use crate::format;
use crate::papers::Published;
use crate::section::{Chart, Figure, Key, Panel, Section, point, published};
use crate::svg::frame::Axis;
use crate::svg::lines::{LineChart, Names, Point, Series};
use crate::svg::scale::Law;
use crate::svg::{Marker, Tone};
use crate::table::{Cell, Kind, Table};

const KINDS: [(Pattern, Direction); 4] = [
    (Pattern::Sequential, Direction::Read),
    (Pattern::Sequential, Direction::Write),
    (Pattern::Random, Direction::Read),
    (Pattern::Random, Direction::Write),
];

/// The section of this document.
pub(crate) fn section(report: &ConcurrencyReport) -> Section {
    let known = published(&report.header);
    Section {
        title: "Concurrency".to_owned(),
        question: format!(
            "How many streams of {} in {} requests finish soonest when they run at once?",
            format_bytes(report.stream_bytes),
            format_bytes(report.block_bytes)
        ),
        verdict: verdict(report),
        figures: if report.points.is_empty() && report.parameters.is_empty() {
            Vec::new()
        } else {
            vec![figure(report, known)]
        },
    }
}

fn verdict(report: &ConcurrencyReport) -> Vec<String> {
    if report.parameters.is_empty() {
        return vec![if report.points.is_empty() {
            "Nothing was measured: the document has no points.".to_owned()
        } else {
            "The four concurrency parameters could not be derived from these points.".to_owned()
        }];
    }
    let parts: Vec<String> = KINDS
        .into_iter()
        .filter_map(|(p, d)| {
            let best = report.parameters.iter().find(|x| x.pattern == p && x.direction == d)?;
            Some(format!("{} for {}s", best.streams, format::load(p, d)))
        })
        .collect();
    let mut said = vec![format!("Best numbers of streams at once: {}.", format::list(&parts))];
    let gain = report.parameters.iter().max_by(|a, b| a.speedup.total_cmp(&b.speedup));
    if let Some(gain) = gain.filter(|g| g.speedup > 1.0) {
        said.push(format!(
            "{} gain most: {} at once need {:.0} % of the time that they need one after the other.",
            format::sentence(&format!("{}s", format::load(gain.pattern, gain.direction))),
            format::plural(gain.streams.into(), "stream"),
            (100.0 / gain.speedup).clamp(0.0, 100.0),
        ));
    } else {
        said.push("No kind of load gains from running at once on this device.".to_owned());
    }
    for (p, d) in KINDS {
        let of: Vec<&ConcurrencyPoint> = of_kind(report, p, d);
        if let Some(bad) = of.iter().filter(|x| x.speedup.count > 1 && x.speedup.high < 1.0).max_by_key(|x| x.streams) {
            said.push(format!(
                "{} {}s at once are slower than one after the other ({}).",
                bad.streams,
                format::load(p, d),
                format::times(bad.speedup.median)
            ));
        }
    }
    said
}

fn of_kind(report: &ConcurrencyReport, p: Pattern, d: Direction) -> Vec<&ConcurrencyPoint> {
    let mut points: Vec<_> = report.points.iter().filter(|x| x.pattern == p && x.direction == d).collect();
    points.sort_by_key(|x| x.streams);
    points
}

fn figure(report: &ConcurrencyReport, known: Option<&'static Published>) -> Figure {
    let known = known.filter(|k| !k.concurrency.is_empty());
    let panels = [Pattern::Sequential, Pattern::Random]
        .into_iter()
        .filter(|p| report.points.iter().any(|x| x.pattern == *p))
        .map(|p| Panel { title: format::sentence(format::pattern(p)), chart: Chart::Lines(chart(report, p, known)) })
        .collect();
    let mut tables = vec![parameter_table(report, known), point_table(report)];
    tables.retain(|t| !t.rows.is_empty());
    Figure {
        title: "Speed-up of streams at once over the same streams one after the other".to_owned(),
        caption: "Above 1 concurrency pays, below it costs. The ring is the concurrency parameter: the fewest streams whose \
                  speed-up is within noise of the best. Whiskers are the interval of the median. After figure 4.6 of the \
                  dissertation."
            .to_owned(),
        keys: known.map(|p| Key::published(format!("best point published for the {}", p.device))).into_iter().collect(),
        panels,
        tables,
        tables_open: false,
    }
}

fn chart(report: &ConcurrencyReport, p: Pattern, known: Option<&'static Published>) -> LineChart {
    let mut series = Vec::new();
    let mut words = Vec::new();
    for (d, tone, marker) in
        [(Direction::Read, Tone::Read, Marker::Circle), (Direction::Write, Tone::Write, Marker::Square)]
    {
        let best = report.parameters.iter().find(|x| x.pattern == p && x.direction == d);
        let points: Vec<Point> = of_kind(report, p, d)
            .into_iter()
            .map(|x| {
                let text = format!("{} {}s: {}", x.streams, format::load(p, d), format::times(x.speedup.median));
                let mut shown = point(f64::from(x.streams), &x.speedup, text);
                if best.is_some_and(|b| b.streams == x.streams) {
                    shown.mark = Some(format!("{}: {}", x.streams, format::times(x.speedup.median)));
                }
                shown
            })
            .collect();
        if let Some(best) = best {
            words.push(format!(
                "{}s are best at {} with a speed-up of {}.",
                format::sentence(&format::load(p, d)),
                format::plural(best.streams.into(), "stream"),
                format::number(best.speedup)
            ));
        }
        series.push(Series {
            name: format!("{}s", format::direction(d)),
            tone,
            marker,
            dashed: p == Pattern::Random,
            published: false,
            points,
        });
        if let Some(paper) = known.and_then(|k| k.best_concurrency(p, d)) {
            let text =
                format!("published: {} {}s, {}", paper.streams, format::load(p, d), format::times(paper.speedup));
            series.push(Series {
                name: String::new(),
                tone,
                marker: Marker::Diamond,
                dashed: false,
                published: true,
                points: vec![Point {
                    x: f64::from(paper.streams),
                    y: paper.speedup,
                    range: None,
                    words: text,
                    mark: None,
                }],
            });
        }
    }
    LineChart {
        title: format!("Speed-up of concurrent {} streams", format::pattern(p)),
        description: words.join(" "),
        x: Axis::new("streams at once", Law::Log2, format::tick),
        y: Axis::new("serial time over concurrent time", Law::Window, format::tick),
        series,
        levels: vec![(1.0, "no gain".to_owned())],
        events: Vec::new(),
        names: Names::Last,
    }
}

fn parameter_table(report: &ConcurrencyReport, known: Option<&'static Published>) -> Table {
    let mut table = Table::new(
        "Concurrency parameters",
        &[
            ("load", Kind::Words),
            ("streams", Kind::Numbers),
            ("speed-up", Kind::Numbers),
            ("paper's streams", Kind::Numbers),
            ("paper's speed-up", Kind::Numbers),
        ],
    );
    for parameter in &report.parameters {
        let paper = known.and_then(|k| k.best_concurrency(parameter.pattern, parameter.direction));
        let measured = report.points.iter().find(|x| {
            (x.pattern, x.direction, x.streams) == (parameter.pattern, parameter.direction, parameter.streams)
        });
        table.rows.push(vec![
            format::load(parameter.pattern, parameter.direction).into(),
            parameter.streams.to_string().into(),
            measured.map_or_else(
                || Cell::Text(format::times(parameter.speedup)),
                |m| Cell::measure(&m.speedup, format::times),
            ),
            paper.map_or(Cell::Empty, |p| p.streams.to_string().into()),
            paper.map_or(Cell::Empty, |p| format::printed(p.speedup).into()),
        ]);
    }
    table.with_note(known.map(|k| k.note(None)))
}

fn point_table(report: &ConcurrencyReport) -> Table {
    let mut table = Table::new(
        "All points",
        &[
            ("load", Kind::Words),
            ("streams", Kind::Numbers),
            ("one after the other", Kind::Numbers),
            ("at once", Kind::Numbers),
            ("speed-up", Kind::Numbers),
            ("", Kind::Bars),
        ],
    );
    for (p, d) in KINDS {
        for x in of_kind(report, p, d) {
            table.rows.push(vec![
                format::load(p, d).into(),
                x.streams.to_string().into(),
                Cell::measure(&x.serial_s, format::seconds),
                Cell::measure(&x.concurrent_s, format::seconds),
                Cell::measure(&x.speedup, format::times),
                Cell::Bar(x.speedup.median),
            ]);
        }
    }
    table.with_note(format::interval_note(report.points.iter().map(|x| &x.speedup)))
}
