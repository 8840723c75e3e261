//! The footprint study (Revisiting storage, figure 15): random-write throughput over the range that the writes fall into.

use brisk_core::units::format_bytes;
use brisk_results::{FootprintPoint, FootprintReport};

use crate::format;
use crate::section::{Chart, Figure, Panel, Section, point, published};
use crate::svg::frame::Axis;
use crate::svg::lines::{Event, LineChart, Names, Series};
use crate::svg::scale::{Law, law_for};
use crate::svg::{Marker, Tone};
use crate::table::{Cell, Kind, Table};

/// The section of this document.
pub(crate) fn section(report: &FootprintReport) -> Section {
    Section {
        title: "Footprint".to_owned(),
        question: format!(
            "Does the throughput of random {} writes depend on how large a range they fall into?",
            format_bytes(report.block_bytes)
        ),
        verdict: verdict(report),
        figures: if report.points.is_empty() { Vec::new() } else { vec![figure(report)] },
    }
}

fn by_range(report: &FootprintReport) -> Vec<&FootprintPoint> {
    let mut points: Vec<&FootprintPoint> = report.points.iter().collect();
    points.sort_by_key(|p| p.range_bytes);
    points
}

fn verdict(report: &FootprintReport) -> Vec<String> {
    let points = by_range(report);
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return vec!["Nothing was measured: the document has no points.".to_owned()];
    };
    let mut said = Vec::new();
    if report.drops.is_empty() {
        said.push(format!(
            "No fall: random writes run at {} over {} and at {} over {}.",
            format::bandwidth(first.bandwidth_bytes_per_s.median),
            format_bytes(first.range_bytes),
            format::bandwidth(last.bandwidth_bytes_per_s.median),
            format_bytes(last.range_bytes)
        ));
    } else {
        let falls: Vec<String> = report
            .drops
            .iter()
            .map(|d| {
                format!("by a factor of {} beyond {}", format::number(d.factor), format_bytes(d.after_range_bytes))
            })
            .collect();
        said.push(format!(
            "Random writes run at {} while they stay within {}, then fall {}.",
            format::bandwidth(first.bandwidth_bytes_per_s.median),
            format_bytes(report.drops[0].after_range_bytes),
            format::list(&falls)
        ));
        said.push("What an app writes at random should stay within the range before the first fall.".to_owned());
    }
    if let Some(published) = published(&report.header)
        && let Some(shape) = published.footprint
    {
        said.push(format!("Published for the {}: throughput {shape}.", published.device));
    }
    said
}

fn figure(report: &FootprintReport) -> Figure {
    let points = by_range(report);
    let series = Series {
        name: String::new(),
        tone: Tone::Write,
        marker: Marker::Square,
        dashed: false,
        published: false,
        points: points
            .iter()
            .map(|p| {
                let words =
                    format!("{}: {}", format_bytes(p.range_bytes), format::bandwidth(p.bandwidth_bytes_per_s.median));
                point(p.range_bytes as f64, &p.bandwidth_bytes_per_s, words)
            })
            .collect(),
    };
    let events: Vec<Event> = report
        .drops
        .iter()
        .map(|d| Event {
            x: d.after_range_bytes as f64,
            words: format!("÷{} after {}", format::number(d.factor), format_bytes(d.after_range_bytes)),
        })
        .collect();
    let chart = LineChart {
        title: "Random-write throughput over address range".to_owned(),
        description: verdict(report).join(" "),
        x: Axis::new("address range of the writes", Law::Log2, |v| format_bytes(v as u64)),
        y: Axis::new("MB/s", law_for(points.iter().map(|p| p.bandwidth_bytes_per_s.median)), |v| format::tick(v / 1e6)),
        series: vec![series],
        levels: Vec::new(),
        events,
        names: Names::Last,
    };
    Figure {
        title: "Random-write throughput over address range".to_owned(),
        caption: format!(
            "{} requests of {} a point, after {} written in sequence. Whiskers are the interval of the median; upright \
             dashes mark falls. After figure 15 of Revisiting Storage for Smartphones.",
            format::count(report.requests as f64),
            format_bytes(report.block_bytes),
            format_bytes(report.precondition_bytes)
        ),
        keys: Vec::new(),
        panels: vec![Panel { title: "Throughput".to_owned(), chart: Chart::Lines(chart) }],
        tables: vec![table(report, &points)],
        tables_open: false,
    }
}

fn table(report: &FootprintReport, points: &[&FootprintPoint]) -> Table {
    let mut table = Table::new(
        "Random-write throughput by address range",
        &[
            ("range", Kind::Numbers),
            ("MB/s", Kind::Numbers),
            ("interval", Kind::Numbers),
            ("", Kind::Bars),
            ("remark", Kind::Words),
        ],
    )
    .dispensable(&[2]);
    for p in points {
        let drop = report.drops.iter().find(|d| d.after_range_bytes == p.range_bytes);
        table.rows.push(vec![
            format_bytes(p.range_bytes).into(),
            Cell::measure(&p.bandwidth_bytes_per_s, format::mb_per_s),
            format::interval(&p.bandwidth_bytes_per_s, format::mb_per_s).into(),
            Cell::Bar(p.bandwidth_bytes_per_s.median),
            drop.map_or(Cell::Empty, |d| format!("then ÷{}", format::number(d.factor)).into()),
        ]);
    }
    table.with_note(format::interval_note(points.iter().map(|p| &p.bandwidth_bytes_per_s)))
}
