//! Its page.

use crate::results::{Direction, SlowdownReport, SlowdownRow};
use brisk_core::stats::Summary;
use brisk_core::units::format_bytes;

use super::columns::*;
use brisk_report::declare::*;
use brisk_report::papers::{Published, Topic};
use brisk_report::{format, ratio};

pub(super) fn section(report: &SlowdownReport) -> Section {
    let known = published(&report.header);
    let rows: Vec<Row> = report.rows.iter().flat_map(|row| sides(row, known, report.block_bytes)).collect();
    let question = format!(
        "How much longer does a {} request take while requests of the other kind are in flight?",
        format_bytes(report.block_bytes)
    );
    Section::new("Slowdown", question, verdict(&rows))
        .cautions(refused(&rows))
        .figures([times(&rows), ratios(&rows, known)])
}

/// Reads and writes of a row.
fn sides(row: &SlowdownRow, known: Option<&'static Published>, block_bytes: u64) -> [Row; 2] {
    let streams = row.streams;
    let [readers, writers] = ["reader", "writer"].map(|one| format::plural(streams.into(), one));
    let panel = format!("{readers}, {writers}");
    let side = |direction, others: &str, [alone, mixed, slowdown]: [&Summary; 3], peers: Option<Summary>| {
        let paper = known.and_then(|k| k.slowdown(row.pattern, direction, streams, block_bytes));
        let usable = (!is_refused(slowdown)).then_some(slowdown);
        Row::at(LOAD, format::load(row.pattern, direction))
            .by(STREAMS, format!("{streams} + {streams}"))
            .by(PANEL, panel.clone())
            .by(ORDER, format::pattern(row.pattern))
            .by(SIDE, format::direction(direction))
            .by(OTHERS, others)
            .look(Look::side(direction))
            .put(ALONE, alone)
            // All streams of its own kind, none of the other; with one stream that is the same as alone.
            .put(AMONG_PEERS, peers)
            .put(MIXED, mixed)
            .put(
                SLOWDOWN,
                usable.map_or_else(|| Value::Shown(REFUSED.to_owned(), String::new()), |s| Value::Summary(*s)),
            )
            .put(PAPER, paper.map(|p| p.stock))
            .put(HERE_OVER_PAPER, paper.and_then(|p| Some(usable?.median / p.stock)))
            .put(PAPERS_SMARTIO, paper.and_then(|p| p.smartio))
    };
    let (read, write) = (Direction::Read, Direction::Write);
    [
        side(read, &writers, [&row.read_alone_us, &row.read_beside_us, &row.read_slowdown], row.read_peers_us),
        side(write, &readers, [&row.write_alone_us, &row.write_beside_us, &row.write_slowdown], row.write_peers_us),
    ]
}

/// A request that waits for others cannot be served sooner than one that waits for none. A ratio below this is refused;
/// one between it and 1 may be chance.
const FASTER_THAN_ALONE: f64 = 0.95;

/// What stands in a table instead of a refused slowdown.
const REFUSED: &str = "refused";

/// Whether a slowdown is refused: the request was faster in mixed load than alone, beyond chance.
fn is_refused(slowdown: &Summary) -> bool {
    slowdown.high < FASTER_THAN_ALONE
}

fn verdict(rows: &[Row]) -> Vec<String> {
    let median = |row: &&Row| row.number(SLOWDOWN).unwrap_or_default();
    // A ratio whose interval includes 1 is no slowdown, however large.
    let slowed = |row: &&Row| median(row) > 1.0 && row.range(SLOWDOWN).is_none_or(|(low, _)| low > 1.0);
    let by_median = |a: &&Row, b: &&Row| median(a).total_cmp(&median(b));
    let usable = || rows.iter().filter(|row| row.summary(SLOWDOWN).is_some());
    let worst = usable().filter(slowed).max_by(by_median).or_else(|| usable().max_by(by_median));
    let Some((worst, slowdown)) = worst.and_then(|worst| Some((worst, worst.summary(SLOWDOWN)?))) else {
        return vec![if rows.is_empty() {
            "Nothing was measured: the document has no rows.".to_owned()
        } else {
            "No slowdown is given: every request was faster in mixed load than alone.".to_owned()
        }];
    };
    let times = ratio::words(slowdown);
    let takes = format!("a {} concurrent with {} takes {times} as long as alone", worst.text(LOAD), worst.text(OTHERS));
    let mut said = vec![if slowed(&worst) {
        format!("{}: {} instead of {}.", format::sentence(&takes), worst.text(MIXED), worst.text(ALONE))
    } else {
        format!("Neither kind measurably slows the other: {takes}.")
    }];
    said.extend(places(rows, PANEL).iter().map(|panel| {
        let of = only(rows, PANEL, panel);
        let side = |side: &str| {
            let of = only(&of, SIDE, side);
            if of.iter().all(|row| in_words(row) == NOT_SLOWED) {
                return format!("{side}s {NOT_SLOWED}");
            }
            let found: Vec<String> = of.iter().map(|row| format!("{} ({})", in_words(row), row.text(ORDER))).collect();
            format!("{side}s {}", format::list(&found))
        };
        format!("{panel}: {}; {}.", side("read"), side("write"))
    }));
    said
}

/// What an interval that includes 1 shows.
const NOT_SLOWED: &str = "no significant slowdown";

/// A slowdown, unless its interval includes 1.
fn in_words(row: &Row) -> String {
    match row.range(SLOWDOWN) {
        Some((low, high)) if low <= 1.0 && high >= 1.0 => NOT_SLOWED.to_owned(),
        _ => row.text(SLOWDOWN),
    }
}

/// The refused slowdowns, with what explains them.
fn refused(rows: &[Row]) -> Option<String> {
    let refused: Vec<String> = rows
        .iter()
        .filter(|row| row.text(SLOWDOWN) == REFUSED)
        .map(|row| {
            let (alone, mixed) = (row.text(ALONE), row.text(MIXED));
            format!("{} with {} ({mixed}, alone {alone})", row.text(LOAD), row.text(OTHERS))
        })
        .collect();
    (!refused.is_empty()).then(|| {
        format!(
            "No slowdown is given where a request was faster in mixed load than alone: {}. Other requests cannot speed \
             it up; alone, the processor sleeps after each request, and its waking up is part of the response time.",
            format::list(&refused)
        )
    })
}

/// Figure 4.3 (a): alone and in mixed load, one panel for each number of streams.
fn times(rows: &[Row]) -> Figure {
    Figure::new(
        "Response times, alone and in mixed load",
        "Mean time of a request: median over the runs, whiskers are the interval of the median. After figure 4.3 of \
         the dissertation.",
    )
    .key(Tone::Plain, Glyph::Bar(Fill::Hollow), "one stream alone")
    .key(Tone::Plain, Glyph::Bar(Fill::Half), "all streams of its kind, none of the other")
    .key(Tone::Plain, Glyph::Bar(Fill::Full), "with as many streams of the other kind")
    .table(
        Table::of(
            "Mean response time of a request",
            rows,
            columns![LOAD, STREAMS, ALONE, AMONG_PEERS, MIXED, SLOWDOWN, SLOWDOWN.interval(), SLOWDOWN.bar()],
        )
        .dispensable(columns![SLOWDOWN.interval(), AMONG_PEERS]),
    )
    .charts(rows, PANEL, |panel, rows| {
        let largest = rows.iter().filter_map(|row| row.number(MIXED)).fold(0.0, f64::max);
        let (unit, us_per_unit) = if largest >= 1_000.0 { ("ms", 1e3) } else { ("us", 1.0) };
        let tick = if unit == "ms" { |us| format::tick(us / 1e3) } else { format::count };
        let y = Axis::new(format!("mean response time, {unit}"), Law::Linear, tick);
        let label = |_: &Row, us: f64| format::number(us / us_per_unit);
        let measures = [(ALONE, Fill::Hollow), (AMONG_PEERS, Fill::Half), (MIXED, Fill::Full)];
        bars(format!("Response times with {panel}"), y, rows, [ORDER.into(), SIDE.into()], &measures, label)
    })
}

/// Figure 4.3 (b): the ratios, with the paper's.
fn ratios(rows: &[Row], known: Option<&'static Published>) -> Figure {
    let known = known.filter(|_| rows.iter().any(|row| row.number(PAPER).is_some()));
    let figure = Figure::new(
        "Slowdown",
        "Time in mixed load over time alone, pair by pair over interleaved runs; 1 is not slowed at all. Whiskers are \
         the interval of the median.",
    )
    .published(known.map(|p| format!("published for the {} with its stock scheduler", p.device)))
    .charts(rows, PANEL, |panel, rows| {
        let dots = Dots {
            name: LOAD.into(),
            value: SLOWDOWN.into(),
            below: PAPER.into(),
            published: PAPER.into(),
            levels: level(1.0, "as alone"),
            ..Dots::default()
        };
        let x = Axis::new("time in mixed load over time alone", Law::Log10, format::tick);
        dots.draw(format!("Slowdown with {panel}"), x, rows)
    });
    match known {
        Some(known) => figure.table(
            Table::of(
                format!("Compared with published figures: {}", known.device),
                rows,
                columns![LOAD, STREAMS, SLOWDOWN, PAPER, HERE_OVER_PAPER, PAPERS_SMARTIO],
            )
            .dispensable(columns![PAPERS_SMARTIO])
            .noted(known.note(Some(Topic::Slowdown))),
        ),
        None => figure,
    }
}
