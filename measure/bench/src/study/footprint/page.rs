//! Its page.

use crate::results::{FootprintPoint, FootprintReport};
use brisk_core::units::format_bytes;

use brisk_report::declare::*;
use brisk_report::format;

const TITLE: &str = "Random-write throughput over address range";

pub(super) fn section(report: &FootprintReport) -> Section {
    let bytes = format_bytes(report.block_bytes);
    let question = format!("Does the throughput of random {bytes} writes depend on how large a range they fall into?");
    let rows: Vec<Row> = by_range(report)
        .into_iter()
        .map(|p| {
            let drop = report.drops.iter().find(|d| d.after_range_bytes == p.range_bytes);
            Row::at(RANGE, size(p.range_bytes))
                .look(Look::side(crate::results::Direction::Write))
                .put(MB_PER_S_COLUMN, p.bandwidth_bytes_per_s)
                .put(REMARK, drop.map(|d| format!("then ÷{}", format::number(d.factor))))
        })
        .collect();
    let lines = Lines {
        x: RANGE.into(),
        y: MB_PER_S_COLUMN.into(),
        events: report
            .drops
            .iter()
            .map(|d| {
                (
                    d.after_range_bytes as f64,
                    format!("÷{} after {}", format::number(d.factor), format_bytes(d.after_range_bytes)),
                )
            })
            .collect(),
        ..Lines::default()
    };
    let axes = [
        Axis::new("address range of the writes", Law::Log2, |v| format_bytes(v as u64)),
        Axis::new("MB/s", law_for(rows.iter().filter_map(|row| row.number(MB_PER_S_COLUMN))), unit::MB_PER_S.tick),
    ];
    let caption = format!(
        "{} requests of {bytes} a point, after {} written in sequence. Whiskers are the interval of the median; \
         vertical dashes mark drops. After figure 15 of Revisiting Storage for Smartphones.",
        format::count(report.requests as f64),
        format_bytes(report.precondition_bytes)
    );
    let columns = columns![RANGE, MB_PER_S_COLUMN, MB_PER_S_COLUMN.interval(), MB_PER_S_COLUMN.bar(), REMARK];
    let shape = published(&report.header).and_then(|known| Some((known.device, known.footprint?)));
    let shape = shape.map(|(device, shape)| format!("Published for the {device}: throughput {shape}."));
    let figure = Figure::new(TITLE, caption).chart("Throughput", lines.draw(TITLE, axes, &rows)).table(
        Table::of("Random-write throughput by address range", &rows, columns)
            .dispensable(columns![MB_PER_S_COLUMN.interval()])
            .noted(shape.unwrap_or_default()),
    );
    Section::new("Footprint", question, verdict(report)).figures([figure])
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
    let rate = |point: &FootprintPoint| format::bandwidth(point.bandwidth_bytes_per_s.median);
    let mut said = Vec::new();
    if let Some(drop) = report.drops.first() {
        let drops: Vec<String> = report
            .drops
            .iter()
            .map(|d| {
                format!("by a factor of {} beyond {}", format::number(d.factor), format_bytes(d.after_range_bytes))
            })
            .collect();
        said.push(format!(
            "Random writes run at {} while they stay within {}, then drop {}.",
            rate(first),
            format_bytes(drop.after_range_bytes),
            format::list(&drops)
        ));
        said.push("Random writes of an app should stay within the range before the first drop.".to_owned());
    } else {
        said.push(format!(
            "No drop: random writes run at {} over {} and at {} over {}.",
            rate(first),
            format_bytes(first.range_bytes),
            rate(last),
            format_bytes(last.range_bytes)
        ));
    }
    said
}
