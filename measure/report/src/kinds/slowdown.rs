//! The slowdown study (dissertation 4.2.3, 4.2.4; figures 4.3 and 4.10): what a read pays for a write beside it.

use brisk_core::stats::Summary;
use brisk_core::units::format_bytes;
use brisk_results::{Direction, SlowdownReport, SlowdownRow};

use crate::format;
use crate::papers::{Published, SlowdownRatio, Topic};
use crate::section::{Chart, Figure, Glyph, Key, Panel, Section, published, range};
use crate::svg::bars::{Bar, BarChart, Fill, Group};
use crate::svg::dots::{DotChart, Row};
use crate::svg::frame::Axis;
use crate::svg::scale::Law;
use crate::svg::{Marker, Tone};
use crate::table::{Cell, Kind, Table};

/// The section of this document.
pub(crate) fn section(report: &SlowdownReport) -> Section {
    let mut figures = vec![times(report), ratios(report)];
    figures.retain(|f| !f.tables.is_empty());
    Section {
        title: "Slowdown".to_owned(),
        question: format!(
            "How much longer does a {} request take when the other kind runs beside it?",
            format_bytes(report.block_bytes)
        ),
        verdict: verdict(report),
        figures,
    }
}

/// One side of a row: who is slowed, and by how much.
struct Side<'a> {
    row: &'a SlowdownRow,
    direction: Direction,
    alone: &'a Summary,
    /// All streams of its own kind, none of the other; with one stream that is the same as alone.
    peers: Option<&'a Summary>,
    beside: &'a Summary,
    slowdown: &'a Summary,
}

impl Side<'_> {
    fn load(&self) -> String {
        format::load(self.row.pattern, self.direction)
    }

    fn others(&self) -> String {
        let other = if self.direction == Direction::Read { "writer" } else { "reader" };
        format::plural(self.row.streams.into(), other)
    }

    fn paper(&self, published: Option<&'static Published>, block_bytes: u64) -> Option<&'static SlowdownRatio> {
        published?.slowdown(self.row.pattern, self.direction, self.row.streams, block_bytes)
    }

    fn tone(&self) -> Tone {
        if self.direction == Direction::Read { Tone::Read } else { Tone::Write }
    }
}

fn sides(row: &SlowdownRow) -> [Side<'_>; 2] {
    [
        Side {
            row,
            direction: Direction::Read,
            alone: &row.read_alone_us,
            peers: row.read_peers_us.as_ref(),
            beside: &row.read_beside_us,
            slowdown: &row.read_slowdown,
        },
        Side {
            row,
            direction: Direction::Write,
            alone: &row.write_alone_us,
            peers: row.write_peers_us.as_ref(),
            beside: &row.write_beside_us,
            slowdown: &row.write_slowdown,
        },
    ]
}

fn verdict(report: &SlowdownReport) -> Vec<String> {
    if report.rows.is_empty() {
        return vec!["Nothing was measured: the document has no rows.".to_owned()];
    }
    let mut said = Vec::new();
    // A ratio whose interval holds 1 is no slowdown that one could swear to, however large.
    let slowed = |side: &Side<'_>| side.slowdown.median > 1.0 && (side.slowdown.count < 2 || side.slowdown.low > 1.0);
    let by_median = |a: &Side<'_>, b: &Side<'_>| a.slowdown.median.total_cmp(&b.slowdown.median);
    let all = || report.rows.iter().flat_map(sides);
    let worst = all().filter(slowed).max_by(by_median).or_else(|| all().max_by(by_median));
    if let Some(worst) = worst {
        said.push(if !slowed(&worst) {
            format!(
                "Neither kind measurably slows the other: a {} beside {} takes {} as long as alone.",
                worst.load(),
                worst.others(),
                times_words(worst.slowdown)
            )
        } else {
            format!(
                "A {} takes {} as long beside {} as alone: {} instead of {}.",
                worst.load(),
                times_words(worst.slowdown),
                worst.others(),
                format::us(worst.beside.median),
                format::us(worst.alone.median),
            )
        });
    }
    for row in &report.rows {
        let [read, write] = sides(row);
        let who = format!("{} {} + {}", format::pattern(row.pattern), row.streams, row.streams);
        let (r, w) = (read.slowdown.median, write.slowdown.median);
        said.push(if format::seem_apart(read.slowdown, write.slowdown) {
            let (loser, ratio) = if r > w { ("reads", r / w) } else { ("writes", w / r) };
            let sure = format::apart(read.slowdown, write.slowdown);
            format!(
                "{}: reads {}, writes {}; {loser} {} {} times more{}.",
                format::sentence(&who),
                format::times(r),
                format::times(w),
                if sure { "lose" } else { "seem to lose" },
                format::number(ratio),
                if sure { "" } else { ", but the runs are few" }
            )
        } else {
            format!(
                "{}: reads {}, writes {}; the intervals do not tell who loses more.",
                format::sentence(&who),
                format::times(r),
                format::times(w)
            )
        });
    }
    said
}

fn times_words(summary: &Summary) -> String {
    if summary.count > 1 {
        let few = if format::sure(summary) { String::new() } else { format!(" in only {} runs", summary.count) };
        format!("{} times ({}{few})", format::number(summary.median), format::interval(summary, format::number))
    } else {
        format!("{} times (one run)", format::number(summary.median))
    }
}

/// Figure 4.3 (a): alone and beside, one panel for each number of streams.
fn times(report: &SlowdownReport) -> Figure {
    let peers = report.rows.iter().flat_map(sides).any(|side| side.peers.is_some());
    let panels = streams(report)
        .iter()
        .map(|streams| {
            let rows: Vec<&SlowdownRow> = report.rows.iter().filter(|r| r.streams == *streams).collect();
            Panel { title: streams_title(*streams), chart: Chart::Bars(times_chart(&rows)) }
        })
        .collect();
    Figure {
        title: "Response times, alone and beside the other".to_owned(),
        caption:
            "Mean time of a request: median over the runs, whiskers are the interval of the median. After figure 4.3 \
                  of the dissertation."
                .to_owned(),
        keys: [
            Some((Fill::Hollow, "one stream alone")),
            peers.then_some((Fill::Half, "all streams of its kind, none of the other")),
            Some((Fill::Full, "beside as many of the other kind")),
        ]
        .into_iter()
        .flatten()
        .map(|(fill, words)| Key { tone: Tone::Plain, glyph: Glyph::Bar(fill), words: words.to_owned() })
        .collect(),
        panels,
        tables: if report.rows.is_empty() { Vec::new() } else { vec![main_table(report)] },
        tables_open: false,
    }
}

fn streams(report: &SlowdownReport) -> Vec<u32> {
    let mut streams: Vec<u32> = report.rows.iter().map(|r| r.streams).collect();
    streams.sort_unstable();
    streams.dedup();
    streams
}

fn streams_title(streams: u32) -> String {
    format!("{}, {}", format::plural(streams.into(), "reader"), format::plural(streams.into(), "writer"))
}

fn times_chart(rows: &[&SlowdownRow]) -> BarChart {
    let largest = rows.iter().flat_map(|r| [r.read_beside_us.high, r.write_beside_us.high]).fold(0.0, f64::max);
    let in_ms = largest >= 1_000.0;
    let groups = rows
        .iter()
        .flat_map(|row| sides(row))
        .map(|side| Group {
            name: [format::pattern(side.row.pattern).to_owned(), format::direction(side.direction).to_owned()],
            bars: [
                (Some(side.alone), Fill::Hollow, "alone"),
                (side.peers, Fill::Half, "among its own kind"),
                (Some(side.beside), Fill::Full, "beside the other kind"),
            ]
            .into_iter()
            .filter_map(|(summary, fill, word)| summary.map(|s| (s, fill, word)))
            .map(|(summary, fill, word)| Bar {
                value: summary.median,
                range: range(summary),
                // Between its neighbours a number has no room; the table and the pointer have it.
                label: match fill {
                    Fill::Half => String::new(),
                    _ if in_ms => format::number(summary.median / 1e3),
                    _ => format::number(summary.median),
                },
                words: format!("{} {word}: {}", side.load(), format::us(summary.median)),
                tone: side.tone(),
                fill,
            })
            .collect(),
        })
        .collect();
    let description = rows
        .iter()
        .flat_map(|row| sides(row))
        .map(|s| {
            format!(
                "{}: {} alone, {} beside.",
                format::sentence(&s.load()),
                format::us(s.alone.median),
                format::us(s.beside.median)
            )
        })
        .collect::<Vec<_>>()
        .join(" ");
    BarChart {
        title: format!("Response times with {}", rows.first().map_or_else(String::new, |r| streams_title(r.streams))),
        description,
        y: if in_ms {
            Axis::new("mean response time, ms", Law::Linear, |us| format::tick(us / 1e3))
        } else {
            Axis::new("mean response time, us", Law::Linear, format::count)
        },
        groups,
    }
}

/// Figure 4.3 (b): the ratios, with the paper's beside.
fn ratios(report: &SlowdownReport) -> Figure {
    let known = published(&report.header);
    let mut tables = Vec::new();
    let mut with_paper = false;
    let mut panels: Vec<Panel> = Vec::new();
    for count in streams(report) {
        let rows: Vec<Row> = report
            .rows
            .iter()
            .filter(|r| r.streams == count)
            .flat_map(sides)
            .map(|side| {
                let paper = side.paper(known, report.block_bytes);
                with_paper |= paper.is_some();
                Row {
                    name: side.load(),
                    value: side.slowdown.median,
                    range: range(side.slowdown),
                    label: format!("{} {}", format::times(side.slowdown.median), format::spread(side.slowdown)),
                    below: paper.map_or_else(String::new, |p| format!("paper {}", format::printed(p.stock))),
                    tone: side.tone(),
                    marker: if side.direction == Direction::Read { Marker::Circle } else { Marker::Square },
                    published: paper.map(|p| p.stock).into_iter().collect(),
                    strokes: Vec::new(),
                    runs: Vec::new(),
                }
            })
            .collect();
        panels.push(Panel {
            title: streams_title(count),
            chart: Chart::Dots(DotChart {
                title: format!("Slowdown with {}", streams_title(count)),
                description: rows
                    .iter()
                    .map(|r| format!("{}: {}. {}", format::sentence(&r.name), r.label, r.below))
                    .collect::<Vec<_>>()
                    .join(" "),
                x: Axis::new("time beside over time alone", Law::Log10, format::tick),
                levels: vec![(1.0, "as alone".to_owned())],
                holds: Vec::new(),
                rows,
            }),
        });
    }
    if let Some(published) = known.filter(|_| with_paper) {
        tables.push(paper_table(report, published));
    } else if !report.rows.is_empty() {
        tables.push(ratio_table(report));
    }
    Figure {
        title: "Slowdown".to_owned(),
        caption:
            "Time beside the other over time alone, taken pair by pair over interleaved runs; 1 is not slowed at all. \
                  Whiskers are the interval of the median."
                .to_owned(),
        keys: known
            .filter(|_| with_paper)
            .map(|p| Key::published(format!("published for the {} with its stock scheduler", p.device)))
            .into_iter()
            .collect(),
        panels,
        tables,
        tables_open: false,
    }
}

/// All that was measured.
fn main_table(report: &SlowdownReport) -> Table {
    let mut table = Table::new(
        "Mean response time of a request",
        &[
            ("load", Kind::Words),
            ("streams", Kind::Words),
            ("alone", Kind::Numbers),
            ("among peers", Kind::Numbers),
            ("beside", Kind::Numbers),
            ("slowdown", Kind::Numbers),
            ("", Kind::Bars),
        ],
    )
    .dispensable(&[3]);
    for side in report.rows.iter().flat_map(sides) {
        table.rows.push(vec![
            side.load().into(),
            format!("{0} + {0}", side.row.streams).into(),
            Cell::measure(side.alone, format::us),
            side.peers.map_or(Cell::Empty, |s| Cell::measure(s, format::us)),
            Cell::measure(side.beside, format::us),
            Cell::measure(side.slowdown, format::times),
            Cell::Bar(side.slowdown.median),
        ]);
    }
    let summaries = report.rows.iter().flat_map(|r| [&r.read_slowdown, &r.write_slowdown, &r.read_alone_us]);
    table.with_note(format::interval_note(summaries))
}

fn ratio_table(report: &SlowdownReport) -> Table {
    let mut table = Table::new(
        "Slowdown with its interval",
        &[("load", Kind::Words), ("streams", Kind::Words), ("slowdown", Kind::Numbers), ("interval", Kind::Numbers)],
    );
    for side in report.rows.iter().flat_map(sides) {
        table.rows.push(vec![
            side.load().into(),
            format!("{0} + {0}", side.row.streams).into(),
            format::times(side.slowdown.median).into(),
            format::interval(side.slowdown, format::number).into(),
        ]);
    }
    table.page_only()
}

/// Ours beside the paper's.
fn paper_table(report: &SlowdownReport, published: &'static Published) -> Table {
    let mut table = Table::new(
        format!("Beside what was published: {}", published.device),
        &[
            ("load", Kind::Words),
            ("streams", Kind::Words),
            ("here", Kind::Numbers),
            ("interval", Kind::Numbers),
            ("paper", Kind::Numbers),
            ("here / paper", Kind::Numbers),
            ("paper's SmartIO", Kind::Numbers),
        ],
    )
    .dispensable(&[3, 6]);
    for side in report.rows.iter().flat_map(sides) {
        let paper = side.paper(Some(published), report.block_bytes);
        table.rows.push(vec![
            side.load().into(),
            format!("{0} + {0}", side.row.streams).into(),
            Cell::measure(side.slowdown, format::times),
            format::interval(side.slowdown, format::number).into(),
            paper.map_or(Cell::Empty, |p| format::printed(p.stock).into()),
            paper.map_or(Cell::Empty, |p| format::number(side.slowdown.median / p.stock).into()),
            paper.and_then(|p| p.smartio).map_or(Cell::Empty, |v| format::printed(v).into()),
        ]);
    }
    table.with_note(Some(published.note(Some(Topic::Slowdown))))
}
