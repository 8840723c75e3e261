//! The slowdown study (dissertation 4.2.3 and 4.2.4, figure 4.3): response times in mixed load over those alone.

use brisk_core::stats::Summary;
use brisk_core::units::format_bytes;
use brisk_results::{Direction, SlowdownReport, SlowdownRow};

use crate::declare::*;
use crate::format;
use crate::papers::{Published, Topic};

impl Kind for SlowdownReport {
    fn section(&self) -> Section {
        let known = published(&self.header);
        let rows: Vec<Row> = self.rows.iter().flat_map(sides).map(|side| side.row(known, self.block_bytes)).collect();
        let question = format!(
            "How much longer does a {} request take while requests of the other kind are in flight?",
            format_bytes(self.block_bytes)
        );
        Section::new("Slowdown", question, verdict(self)).figures([times(&rows), ratios(&rows, known)])
    }
}

/// One side of a row: the kind of request that is slowed, and by how much.
struct Side<'a> {
    row: &'a SlowdownRow,
    direction: Direction,
    alone: &'a Summary,
    /// All streams of its own kind, none of the other; with one stream that is the same as alone.
    peers: Option<&'a Summary>,
    mixed: &'a Summary,
    slowdown: &'a Summary,
}

fn sides(row: &SlowdownRow) -> [Side<'_>; 2] {
    [
        Side {
            row,
            direction: Direction::Read,
            alone: &row.read_alone_us,
            peers: row.read_peers_us.as_ref(),
            mixed: &row.read_beside_us,
            slowdown: &row.read_slowdown,
        },
        Side {
            row,
            direction: Direction::Write,
            alone: &row.write_alone_us,
            peers: row.write_peers_us.as_ref(),
            mixed: &row.write_beside_us,
            slowdown: &row.write_slowdown,
        },
    ]
}

impl Side<'_> {
    fn load(&self) -> String {
        format::load(self.row.pattern, self.direction)
    }

    fn others(&self) -> String {
        let other = if self.direction == Direction::Read { "writer" } else { "reader" };
        format::plural(self.row.streams.into(), other)
    }

    fn row(&self, known: Option<&'static Published>, block_bytes: u64) -> Row {
        let streams = self.row.streams;
        let panel =
            format!("{}, {}", format::plural(streams.into(), "reader"), format::plural(streams.into(), "writer"));
        let paper = known.and_then(|k| k.slowdown(self.row.pattern, self.direction, streams, block_bytes));
        Row::at("load", self.load())
            .by("streams", format!("{streams} + {streams}"))
            .by("panel", panel)
            .by("order", format::pattern(self.row.pattern))
            .by("side", format::direction(self.direction))
            .look(Look::side(self.direction))
            .put("alone", US, self.alone)
            .put("among peers", US, self.peers)
            .put("mixed", US, self.mixed)
            .put("slowdown", TIMES, self.slowdown)
            .put("paper", PRINTED, paper.map(|p| p.stock))
            .put("here / paper", NUMBER, paper.map(|p| self.slowdown.median / p.stock))
            .put("paper's SmartIO", PRINTED, paper.and_then(|p| p.smartio))
    }
}

fn verdict(report: &SlowdownReport) -> Vec<String> {
    if report.rows.is_empty() {
        return vec!["Nothing was measured: the document has no rows.".to_owned()];
    }
    let mut said = Vec::new();
    // A ratio whose interval includes 1 is no slowdown, however large.
    let slowed = |side: &Side<'_>| side.slowdown.median > 1.0 && (side.slowdown.count < 2 || side.slowdown.low > 1.0);
    let by_median = |a: &Side<'_>, b: &Side<'_>| a.slowdown.median.total_cmp(&b.slowdown.median);
    let all = || report.rows.iter().flat_map(sides);
    if let Some(worst) = all().filter(slowed).max_by(by_median).or_else(|| all().max_by(by_median)) {
        let (load, others, ratio) = (worst.load(), worst.others(), format::measured_times(worst.slowdown));
        said.push(if slowed(&worst) {
            let (mixed, alone) = (format::us(worst.mixed.median), format::us(worst.alone.median));
            format!("A {load} concurrent with {others} takes {ratio} as long as alone: {mixed} instead of {alone}.")
        } else {
            format!(
                "Neither kind measurably slows the other: a {load} concurrent with {others} takes {ratio} \
                 as long as alone."
            )
        });
    }
    for row in &report.rows {
        let [read, write] = sides(row);
        let (r, w) = (read.slowdown.median, write.slowdown.median);
        let (kind, ratio) = if r > w { ("reads", r / w) } else { ("writes", w / r) };
        let more = format!("{kind} are slowed {} times more", format::number(ratio));
        said.push(format!(
            "{} {} + {}: reads {}, writes {}; {}.",
            format::sentence(format::pattern(row.pattern)),
            row.streams,
            row.streams,
            format::times(r),
            format::times(w),
            match (format::seem_apart(read.slowdown, write.slowdown), format::apart(read.slowdown, write.slowdown)) {
                (_, true) => more,
                (true, false) => format!("{more}, but the runs are few"),
                (false, _) => "the intervals overlap".to_owned(),
            }
        ));
    }
    said
}

/// Figure 4.3 (a): alone and in mixed load, one panel for each number of streams.
fn times(rows: &[Row]) -> Figure {
    let figure = Figure::new(
        "Response times, alone and in mixed load",
        "Mean time of a request: median over the runs, whiskers are the interval of the median. After figure 4.3 of the \
         dissertation.",
    )
    .key(Tone::Plain, Glyph::Bar(Fill::Hollow), "one stream alone")
    .key(Tone::Plain, Glyph::Bar(Fill::Half), "all streams of its kind, none of the other")
    .key(Tone::Plain, Glyph::Bar(Fill::Full), "with as many streams of the other kind")
    .table(
        Table::of(
            "Mean response time of a request",
            rows,
            "load | streams | alone | among peers | mixed | slowdown | interval of slowdown | bar of slowdown",
        )
        .dispensable("interval | among peers"),
    );
    panels(rows).into_iter().fold(figure, |figure, (panel, rows)| {
        let largest = rows.iter().filter_map(|row| row.number("mixed")).fold(0.0, f64::max);
        let (unit, us_per_unit) = if largest >= 1_000.0 { ("ms", 1e3) } else { ("us", 1.0) };
        let tick = if unit == "ms" { |us| format::tick(us / 1e3) } else { format::count };
        let y = Axis::new(format!("mean response time, {unit}"), Law::Linear, tick);
        let label = |_: &Row, us: f64| format::number(us / us_per_unit);
        let measures = [("alone", Fill::Hollow), ("among peers", Fill::Half), ("mixed", Fill::Full)];
        let chart = bars(format!("Response times with {panel}"), y, &rows, ["order", "side"], &measures, label);
        figure.chart(panel, chart)
    })
}

fn panels(rows: &[Row]) -> Vec<(String, Vec<Row>)> {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| row.text("streams").split(' ').next().and_then(|n| n.parse::<u32>().ok()));
    places(&rows, "panel").into_iter().map(|panel| (panel.clone(), only(&rows, "panel", &panel))).collect()
}

/// Figure 4.3 (b): the ratios, with the paper's.
fn ratios(rows: &[Row], known: Option<&'static Published>) -> Figure {
    let known = known.filter(|_| rows.iter().any(|row| row.number("paper").is_some()));
    let figure = Figure::new(
        "Slowdown",
        "Time in mixed load over time alone, pair by pair over interleaved runs; 1 is not slowed at all. Whiskers are the \
         interval of the median.",
    )
    .published(known.map(|p| format!("published for the {} with its stock scheduler", p.device)));
    let figure = panels(rows).into_iter().fold(figure, |figure, (panel, rows)| {
        let dots = Dots {
            name: "load",
            value: "slowdown",
            below: "paper",
            published: "paper",
            levels: level(1.0, "as alone"),
            ..Dots::default()
        };
        let x = Axis::new("time in mixed load over time alone", Law::Log10, format::tick);
        figure.chart(panel.clone(), dots.draw(format!("Slowdown with {panel}"), x, &rows))
    });
    match known {
        Some(known) => figure.table(
            Table::of(
                format!("Compared with published figures: {}", known.device),
                rows,
                "load | streams | slowdown | paper | here / paper | paper's SmartIO",
            )
            .dispensable("paper's SmartIO")
            .noted(known.note(Some(Topic::Slowdown))),
        ),
        None => figure,
    }
}
