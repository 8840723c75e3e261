//! Its page.

use crate::results::{Direction, SwapLayout, SwapMap, SwapReplay, SwapReport, SwapTrace};
use brisk_core::units::format_bytes;

use super::columns::*;
use brisk_report::declare::Chart;
use brisk_report::declare::*;
use brisk_report::declare::{Layer, MapChart};
use brisk_report::format;

const OVER_TIME: &str = "Swapping over time";
const PLACES: &str = "Where pages lay in the swap area";
const MIB: f64 = (1 << 20) as f64;
/// Apps with a colour of their own in the map; all others share one.
const COLOURS: usize = 5;
const REPLAYS: &str = "Bandwidth of swap-in by policy";
/// Published for a Nexus 4 (MARS 4.2, figures 9 and 10): policy, MB/s, mean and longest read in ms.
const PUBLISHED: [(&str, f64, f64, f64); 3] =
    [("linux", 6.94, 3.1, 131.0), ("extents", 18.76, 2.9, 125.0), ("mars", 26.48, 1.9, 10.6)];

pub(super) fn section(report: &SwapReport) -> Section {
    let traces = match &report.traces[..] {
        [one] => one.name.clone(),
        many => format::plural(many.len() as u64, "trace"),
    };
    let (title, question) = match &report.preset {
        Some(preset) => {
            ("Swap replay", format!("How fast would the swapping of {traces} be on {preset}, under each policy?"))
        }
        None => ("Swap trace", format!("How sequential is the swapping of {traces}?")),
    };
    let sum = |of: fn(&SwapTrace) -> u64| report.traces.iter().map(|trace| of(trace) as f64).sum::<f64>();
    let facts = vec![
        ("Swap area", report.traces.first().map_or_else(String::new, |trace| format_bytes(trace.area_bytes))),
        ("Read in", format::bytes(sum(|trace| trace.in_bytes))),
        ("Written out", format::bytes(sum(|trace| trace.out_bytes))),
        ("Launches", format::tally(sum(|trace| trace.launches))),
    ];
    let figures = report.map.as_ref().map(places_in_area).into_iter();
    let figures = figures.chain(report.layout.as_ref().map(over_time));
    let figures = figures.chain((!report.replays.is_empty()).then(|| replays(report)));
    // Times are the recorded system's or the model's: this machine has no part in them.
    let times = if report.preset.is_some() { "flash model, in its own time" } else { "the recorded system" };
    let about = report.preset.clone().unwrap_or_else(|| traces.clone());
    let mut section = Section::new(title, question, verdict(report)).facts(facts).on(Some(about)).figures(figures);
    section.machine = Some(vec![("Times", times.to_owned())]);
    section
}

fn way(replay: &SwapReplay) -> String {
    let reads = match replay.swap_in.as_str() {
        "app" => "whole app",
        "extent" => "whole extent",
        _ => "window",
    };
    format!("{} ({reads})", replay.policy)
}

fn verdict(report: &SwapReport) -> Vec<String> {
    let mut said = Vec::new();
    let rate = |one: &SwapReplay| one.in_bytes_per_s.median;
    if let Some(first) = report.replays.first() {
        let best = report.replays.iter().max_by(|a, b| rate(a).total_cmp(&rate(b))).unwrap_or(first);
        said.push(format!(
            "Swap-in runs at {} with {}, and at {} with {} ({}).",
            format::bandwidth(rate(first)),
            way(first),
            format::bandwidth(rate(best)),
            way(best),
            format::times(rate(best) / rate(first))
        ));
        let wait = |one: &SwapReplay| one.launch_wait_ms_mean.median;
        let least = report.replays.iter().min_by(|a, b| wait(a).total_cmp(&wait(b))).unwrap_or(first);
        said.push(format!(
            "A launch waits {} for swap-in with {}, and {} with {}.",
            format::ms(wait(first)),
            way(first),
            format::ms(wait(least)),
            way(least)
        ));
        let unknown: f64 = report.replays.iter().map(|one| one.unknown_pages.median).fold(0.0, f64::max);
        if unknown > 0.0 {
            said.push(format!(
                "Up to {} pages were left out: the trace does not say when they were written.",
                format::count(unknown)
            ));
        }
    }
    if let Some(layout) = &report.layout {
        said.push(match layout.in_run_bytes {
            Some(bytes) => format!("What was read in lay in pieces of {} on average.", format::bytes(bytes)),
            None => "Nothing was read in with a known slot.".to_owned(),
        });
        if let Some(percent) = layout.used_percent.filter(|&percent| percent < 99.5) {
            said.push(format!(
                "Apps used {} of it; the rest was read ahead for nothing.",
                format::share(percent, 100.0)
            ));
        }
        if let Some(percent) = layout.in_with_writes_percent {
            said.push(format!("{} of it was read within 100 ms of a write.", format::share(percent, 100.0)));
        }
        if let Some(apps) = layout.apps_in_cluster {
            said.push(format!("At the end a cluster of 1 MiB had pages of {} apps on average.", format::number(apps)));
        }
    }
    if said.is_empty() {
        said.push("Nothing was swapped: the document has no events.".to_owned());
    }
    said
}

/// The map, coloured by app: those that swapped the most have colours of their own.
fn places_in_area(map: &SwapMap) -> Figure {
    let moved = |app: usize| map.apps.get(app).map_or(0, |app| app.in_bytes + app.out_bytes);
    let mut order: Vec<usize> = (0..map.apps.len()).filter(|&app| moved(app) > 0).collect();
    order.sort_by_key(|&app| std::cmp::Reverse(moved(app)));
    let rank = |app: u32| order.iter().position(|&known| known as u64 == u64::from(app)).unwrap_or(0).min(COLOURS);
    let name = |rank: usize| {
        if rank < COLOURS {
            order.get(rank).and_then(|&app| map.apps.get(app)).map_or_else(String::new, |app| app.name.clone())
        } else {
            "others".to_owned()
        }
    };
    let ranks = order.len().min(COLOURS + 1);
    let mut layers = Vec::new();
    // Reads lie above writes: there are fewer, and an app waits for them.
    for (direction, fill) in [(Direction::Write, "half"), (Direction::Read, "full")] {
        for at in 0..ranks {
            let is_it = |cell: &&crate::results::SwapCell| cell.direction == direction && rank(cell.app) == at;
            let cells: Vec<(u32, u32)> = map.cells.iter().filter(is_it).map(|cell| (cell.column, cell.row)).collect();
            if !cells.is_empty() {
                let side = if direction == Direction::Write { "written" } else { "read" };
                layers.push(Layer { tone: Tone::Nth(at), fill, words: format!("{}: {side}", name(at)), cells });
            }
        }
    }
    let rows: Vec<Row> = order
        .iter()
        .map(|&app| {
            let app = &map.apps[app];
            let bytes = |bytes: u64| bytes as f64;
            Row::at(APP, app.name.clone())
                .put(READ, bytes(app.in_bytes))
                .put(USED, bytes(app.used_bytes))
                .put(WRITTEN, bytes(app.out_bytes))
        })
        .collect();
    let words: Vec<String> = order
        .iter()
        .map(|&app| &map.apps[app])
        .map(|app| {
            let (read, written) = (format::bytes(app.in_bytes as f64), format::bytes(app.out_bytes as f64));
            format!("{}: {read} read, {written} written.", format::sentence(&app.name))
        })
        .collect();
    let mut legend: Vec<_> = (0..ranks).map(|at| (Tone::Nth(at), "full", name(at))).collect();
    legend.push((Tone::Plain, "half", "pale: written, full: read".to_owned()));
    let chart = MapChart {
        title: PLACES.to_owned(),
        description: words.join(" "),
        x: Axis::new("time, s", Law::Linear, unit::S.tick),
        y: Axis::new("place in the swap area, MiB", Law::Linear, format::tick),
        cell: (map.column_s, map.row_bytes as f64 / MIB),
        layers,
        legend,
    };
    let caption = format!(
        "Each cell is {} by {} of the area, in the colour of the app with the most pages in it.",
        format::seconds(map.column_s),
        format::bytes(map.row_bytes as f64)
    );
    Figure::new(PLACES, caption).chart("Swap map", Chart::Map(chart)).table(Table::of(
        "Swapped by app",
        &rows,
        columns![APP, WRITTEN, READ, USED],
    ))
}

fn over_time(layout: &SwapLayout) -> Figure {
    let mut rows = Vec::new();
    for (side, look) in [("in", crate::results::Direction::Read), ("out", crate::results::Direction::Write)] {
        for bin in &layout.bins {
            let rate = if side == "in" { bin.in_bytes_per_s } else { bin.out_bytes_per_s };
            let at = Place { text: format::seconds(bin.from_s), number: Some(bin.from_s) };
            let row = Row::at(TIME, at).by(SIDE, side).look(Look::side(look)).put(MB_PER_S_COLUMN, rate);
            rows.push(row.put(PIECE, bin.in_run_bytes.filter(|_| side == "in")));
        }
    }
    let axes = [Axis::new("time", Law::Linear, unit::S.tick), Axis::new("MB/s", Law::Linear, unit::MB_PER_S.tick)];
    let lines = Lines {
        x: TIME.into(),
        y: MB_PER_S_COLUMN.into(),
        series: SIDE.into(),
        named: SIDE.into(),
        ..Lines::default()
    };
    let caption = format!(
        "Pages read in and written out, in intervals of {}. A piece is what was read in sequence.",
        format::seconds(layout.interval_s)
    );
    Figure::new(OVER_TIME, caption).chart("Bandwidth", lines.draw(OVER_TIME, axes, &rows)).table(Table::of(
        "Swapping over time",
        &rows,
        columns![TIME, SIDE, MB_PER_S_COLUMN, PIECE],
    ))
}

fn replays(report: &SwapReport) -> Figure {
    let is_published = report.preset.as_deref() == Some("nexus4-emmc");
    let rows: Vec<Row> = report
        .replays
        .iter()
        .map(|one| {
            let published = PUBLISHED.iter().find(|(policy, ..)| is_published && *policy == one.policy);
            Row::at(POLICY, way(one))
                .put(SWAP_IN_MEASURE, one.in_bytes_per_s)
                .put(LAUNCH_WAITS, one.launch_wait_ms_mean)
                .put(MEAN_READ, one.read_ms_mean)
                .put(LONGEST_READ, one.read_ms_max)
                .put(MEAN_IN_DEVICE, one.device_ms_mean)
                .put(LONGEST_IN_DEVICE, one.device_ms_max)
                .put(REQUEST, one.request_bytes_mean)
                .put(READ, one.in_bytes)
                .put_in(USED, unit::SHARE, one.used_percent)
                .put(WRITTEN, one.out_bytes)
                .put(WITH_WRITES, one.with_writes_percent)
                .put(RESERVE, one.reserve_bytes_max)
                .put(PUBLISHED_SWAP_IN, published.map(|one| one.1 * 1e6))
                .put(PUBLISHED_MEAN, published.map(|one| one.2))
                .put(PUBLISHED_LONGEST, published.map(|one| one.3))
        })
        .collect();
    let rows = against_first(rows, SWAP_IN_MEASURE, true);
    let dots = Dots {
        name: POLICY.into(),
        value: SWAP_IN_MEASURE.into(),
        below: EFFECT.into(),
        published: PUBLISHED_SWAP_IN.into(),
        ..Dots::default()
    };
    let axis = Axis::new("bandwidth of swap-in, MB/s", Law::Linear, unit::BANDWIDTH.tick);
    let caption = "Bandwidth while a read is pending, in model time. Window: a fault reads up to eight neighbours. \
                   Whole app: all of its pages are read when it comes to the front.";
    let of = |title, columns: &[Column]| Table::of(title, &rows, columns);
    Figure::new(REPLAYS, caption)
        .published(is_published.then(|| "MARS figures 9 and 10".to_owned()))
        .chart("Bandwidth", dots.draw(REPLAYS, axis, &rows))
        .table(
            of("Swap-in by policy", columns![POLICY, SWAP_IN_MEASURE, EFFECT, LAUNCH_WAITS, PUBLISHED_SWAP_IN])
                .dispensable(columns![PUBLISHED_SWAP_IN]),
        )
        .table(of(
            "Read requests by policy",
            columns![
                POLICY,
                MEAN_READ,
                LONGEST_READ,
                MEAN_IN_DEVICE,
                LONGEST_IN_DEVICE,
                REQUEST,
                PUBLISHED_MEAN,
                PUBLISHED_LONGEST
            ],
        ))
        .table(of("Amounts by policy", columns![POLICY, READ, USED, WRITTEN, WITH_WRITES, RESERVE]))
        .open()
}
