//! Its page.

use crate::results::{ConcurrencyParameter, ConcurrencyPoint, ConcurrencyReport, Direction, Pattern};
use brisk_core::units::format_bytes;

use super::columns::*;
use brisk_report::declare::*;
use brisk_report::format;

const KINDS: [(Pattern, Direction); 4] = [
    (Pattern::Sequential, Direction::Read),
    (Pattern::Sequential, Direction::Write),
    (Pattern::Random, Direction::Read),
    (Pattern::Random, Direction::Write),
];

pub(super) fn section(report: &ConcurrencyReport) -> Section {
    let question = format!(
        "How many streams of {} in {} requests finish soonest when they run concurrently?",
        format_bytes(report.stream_bytes),
        format_bytes(report.block_bytes)
    );
    Section::new("Concurrency", question, verdict(report)).figures([figure(report)])
}

fn best(report: &ConcurrencyReport, p: Pattern, d: Direction) -> Option<&ConcurrencyParameter> {
    report.parameters.iter().find(|x| x.pattern == p && x.direction == d)
}

/// The speed-up of the best number of streams: that of its point, which tables and charts have too.
fn speedup(report: &ConcurrencyReport, best: &ConcurrencyParameter) -> f64 {
    let at = |x: &&ConcurrencyPoint| {
        (x.pattern, x.direction, x.streams) == (best.pattern, best.direction, best.streams) && x.speedup.count > 0
    };
    report.points.iter().find(at).map_or(best.speedup, |x| x.speedup.median)
}

fn of_kind(report: &ConcurrencyReport, p: Pattern, d: Direction) -> Vec<&ConcurrencyPoint> {
    let mut points: Vec<_> = report.points.iter().filter(|x| x.pattern == p && x.direction == d).collect();
    points.sort_by_key(|x| x.streams);
    points
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
            let best = best(report, p, d)?;
            Some(format!("{} for {}s ({})", best.streams, format::load(p, d), format::times(speedup(report, best))))
        })
        .collect();
    let mut said = vec![format!("Best numbers of concurrent streams: {}.", format::list(&parts))];
    let gain = report.parameters.iter().map(|one| (one, speedup(report, one))).max_by(|a, b| a.1.total_cmp(&b.1));
    said.push(match gain.filter(|(_, speedup)| *speedup > 1.0) {
        Some((gain, speedup)) => format!(
            "{}s gain most: {} at once need {:.0} % of the serial time.",
            format::sentence(&format::load(gain.pattern, gain.direction)),
            format::plural(gain.streams.into(), "stream"),
            (100.0 / speedup).clamp(0.0, 100.0),
        ),
        None => "No kind of load gains from concurrency on this device.".to_owned(),
    });
    said.extend(KINDS.into_iter().filter_map(|(p, d)| {
        let slower = |x: &&&ConcurrencyPoint| x.speedup.count > 1 && x.speedup.high < 1.0;
        let of = of_kind(report, p, d);
        let bad = of.iter().filter(slower).max_by_key(|x| x.streams)?;
        let (load, ratio) = (format::load(p, d), format::times(bad.speedup.median));
        Some(format!("{} concurrent {load}s are slower than serial ones ({ratio}).", bad.streams))
    }));
    said
}

fn figure(report: &ConcurrencyReport) -> Figure {
    let known = published(&report.header).filter(|k| !k.concurrency.is_empty());
    let row = |p, d, streams: u32| {
        Row::at(LOAD, format::load(p, d))
            .by(ORDER, format::pattern(p))
            .by(SIDE, format!("{}s", format::direction(d)))
            .by(STREAMS, streams)
            .look(Look::load(p, d))
    };
    let (mut points, mut published, mut chosen) = (Vec::new(), Vec::new(), Vec::new());
    for (p, d) in KINDS {
        let best = best(report, p, d);
        let paper = known.and_then(|k| k.best_concurrency(p, d));
        for x in of_kind(report, p, d) {
            let is_best = best.is_some_and(|b| b.streams == x.streams);
            let mark = is_best.then(|| format!("{}: {}", x.streams, format::times(x.speedup.median)));
            points.push(
                row(p, d, x.streams)
                    .put(SERIAL, x.serial_s)
                    .put(CONCURRENT, x.concurrent_s)
                    .put(SPEED_UP, x.speedup)
                    .put(MARK, mark),
            );
        }
        if let Some(best) = best {
            let measured = report.points.iter().find(|x| (x.pattern, x.direction, x.streams) == (p, d, best.streams));
            let row = match measured {
                Some(x) => row(p, d, best.streams).put(SPEED_UP, x.speedup),
                None => row(p, d, best.streams).put(SPEED_UP, best.speedup),
            };
            let streams = paper.map(|paper| f64::from(paper.streams));
            chosen.push(row.put(PAPERS_STREAMS, streams).put(PAPERS_SPEED_UP, paper.map(|paper| paper.speedup)));
        }
        if let Some(paper) = paper {
            let look = Look::load(p, d).published();
            published.push(row(p, d, paper.streams).put_in(SPEED_UP, unit::PRINTED, paper.speedup).look(look));
        }
    }
    let columns = columns![LOAD, STREAMS, SPEED_UP, PAPERS_STREAMS, PAPERS_SPEED_UP];
    let all: Vec<Row> = points.iter().chain(&published).cloned().collect();
    Figure::new(
        "Speed-up of concurrent streams over serial ones",
        "Above 1 concurrency pays, below it costs. The ring is the concurrency parameter: the fewest streams whose \
         speed-up is within noise of the best. Whiskers are the interval of the median. After figure 4.6 of the \
         dissertation.",
    )
    .published(known.map(|k| format!("best point published for the {}", k.device)))
    .table(Table::of("Concurrency parameters", &chosen, columns).noted(known.map(|k| k.note(None)).unwrap_or_default()))
    .table(Table::of("All points", &points, columns![LOAD, STREAMS, SERIAL, CONCURRENT, SPEED_UP, SPEED_UP.bar()]))
    .charts(&all, ORDER, |order, rows| {
        let lines = Lines {
            x: STREAMS.into(),
            y: SPEED_UP.into(),
            series: LOAD.into(),
            named: SIDE.into(),
            mark: MARK.into(),
            levels: level(1.0, "no gain"),
            ..Lines::default()
        };
        let axes = [
            Axis::new("concurrent streams", Law::Log2, format::tick),
            Axis::new("serial time over concurrent time", Law::Window, format::tick),
        ];
        lines.draw(format!("Speed-up of concurrent {order} streams"), axes, rows)
    })
}
