//! The scheduler study (dissertation 4.5.3, figure 4.11): how long a mix of reads and writes takes under each scheduler.

use brisk_core::units::format_bytes;
use brisk_results::{Pattern, SchedulerPoint, SchedulersReport};

use crate::format;
use crate::papers::{self, Published, Topic};
use crate::section::{Chart, Figure, Glyph, Key, Panel, Section, point, published};
use crate::svg::frame::Axis;
use crate::svg::lines::{LineChart, Names, Point, Series};
use crate::svg::scale::{Law, law_for};
use crate::svg::{Marker, Tone};
use crate::table::{Cell, Kind, Table};

/// Depth of the queue that was asked for, `None` for what each scheduler brings, and depth of the load. What the kernel
/// shows does not serve: by default it is another for `none` than for the rest, and nothing would be compared with it.
type Depth = (Option<u32>, u32);

/// What is compared: same depths, same order of addresses, same share of reads.
type Mix = (Depth, Pattern, u32);

fn depth_of(x: &SchedulerPoint) -> Depth {
    (x.wanted_depth_requests, x.depth_requests)
}

fn mix_of(x: &SchedulerPoint) -> Mix {
    (depth_of(x), x.pattern, x.read_percent)
}

/// Documents of before `wanted_depth_requests`: when a scheduler has several depths, they were asked for.
fn with_wanted_depths(report: &SchedulersReport) -> SchedulersReport {
    let mut report = report.clone();
    let several = report.points.iter().any(|a| {
        report.points.iter().any(|b| a.scheduler == b.scheduler && a.queue_depth_requests != b.queue_depth_requests)
    });
    if several && report.points.iter().all(|x| x.wanted_depth_requests.is_none()) {
        for point in &mut report.points {
            point.wanted_depth_requests = Some(point.queue_depth_requests);
        }
    }
    report
}

/// The section of this document.
pub(crate) fn section(report: &SchedulersReport) -> Section {
    let report = &with_wanted_depths(report);
    let mut figures = Vec::new();
    if !report.points.is_empty() {
        figures.push(times(report));
        figures.extend(slowdowns(report));
        figures.extend(published(&report.header).filter(|p| !p.mixes.is_empty()).map(|p| paper(report, p)));
    }
    Section {
        title: "Schedulers".to_owned(),
        question: format!(
            "How long does a mix of {} in {} requests take under each I/O scheduler of this kernel?",
            format_bytes(report.mix_bytes),
            format_bytes(report.block_bytes)
        ),
        verdict: verdict(report),
        figures,
    }
}

/// The schedulers in the order of the kernel's own list, others behind by name.
fn schedulers(report: &SchedulersReport) -> Vec<&str> {
    let rank = |name: &str| ["none", "mq-deadline", "kyber", "bfq"].iter().position(|n| *n == name).unwrap_or(4);
    let mut names: Vec<&str> = report.points.iter().map(|x| x.scheduler.as_str()).collect();
    names.sort_by_key(|name| (rank(name), *name));
    names.dedup();
    names
}

fn depths(report: &SchedulersReport) -> Vec<Depth> {
    let mut depths: Vec<Depth> = report.points.iter().map(depth_of).collect();
    depths.sort_unstable();
    depths.dedup();
    depths
}

fn mixes(report: &SchedulersReport) -> Vec<Mix> {
    let mut mixes: Vec<Mix> = report.points.iter().map(mix_of).collect();
    mixes.sort_unstable();
    mixes.dedup();
    mixes
}

fn at<'a>(report: &'a SchedulersReport, scheduler: &str, mix: Mix) -> Option<&'a SchedulerPoint> {
    report.points.iter().find(|x| x.scheduler == scheduler && mix_of(x) == mix)
}

fn verdict(report: &SchedulersReport) -> Vec<String> {
    let names = schedulers(report);
    if names.is_empty() {
        return vec!["Nothing was measured: the document has no points.".to_owned()];
    }
    let mut said = Vec::new();
    let mixes = mixes(report);
    // Wins count only where the interval of the first leaves that of every other.
    let mut wins = vec![0usize; names.len()];
    let mut widest: Option<(bool, f64, &SchedulerPoint, &SchedulerPoint)> = None;
    let mut contested = 0;
    for mix in &mixes {
        let mut points: Vec<&SchedulerPoint> = names.iter().filter_map(|n| at(report, n, *mix)).collect();
        points.sort_by(|a, b| a.response_s.median.total_cmp(&b.response_s.median));
        let [first, .., last] = points[..] else { continue };
        contested += 1;
        if points[1..].iter().all(|x| format::apart(&first.response_s, &x.response_s))
            && let Some(i) = names.iter().position(|n| *n == first.scheduler)
        {
            wins[i] += 1;
        }
        let factor = last.response_s.median / first.response_s.median;
        // A sure difference before any that only seems to be one.
        let surely = format::apart(&first.response_s, &last.response_s);
        if format::seem_apart(&first.response_s, &last.response_s)
            && widest.is_none_or(|(sure, w, ..)| (surely, factor) > (sure, w))
        {
            widest = Some((surely, factor, first, last));
        }
    }
    match wins.iter().enumerate().max_by_key(|(_, wins)| **wins) {
        Some((i, most)) if *most > 0 => said.push(format!(
            "{} is first beyond doubt in {most} of {contested} mixes{}.",
            names[i],
            if wins.iter().sum::<usize>() == *most {
                ", and no other scheduler in any".to_owned()
            } else {
                let others: Vec<String> = names
                    .iter()
                    .zip(&wins)
                    .enumerate()
                    .filter(|(j, (_, w))| *j != i && **w > 0)
                    .map(|(_, (name, w))| format!("{name} in {w}"))
                    .collect();
                format!(", {}", format::list(&others))
            }
        )),
        _ if contested > 0 => {
            said.push(if report.points.iter().all(|x| x.response_s.count < 2) {
                "One run of each mix cannot say which scheduler is first.".to_owned()
            } else if report.points.iter().any(|x| !format::sure(&x.response_s)) {
                "The runs are too few to say beyond doubt which scheduler is first in any mix.".to_owned()
            } else {
                "No scheduler is first beyond doubt in any mix: their intervals overlap.".to_owned()
            });
        }
        _ => said.push(format!("Only {} was measured: there is nothing to compare it with.", names[0])),
    }
    if let Some((surely, factor, first, last)) = widest {
        said.push(format!(
            "{} with {} % {} reads at {}: {} with {}, {} with {} ({}).",
            if surely { "The choice matters most" } else { "In these few runs the choice seems to matter most" },
            first.read_percent,
            format::pattern(first.pattern),
            depth_title(report, depth_of(first)),
            format::seconds(first.response_s.median),
            first.scheduler,
            format::seconds(last.response_s.median),
            last.scheduler,
            format::times(factor),
        ));
    }
    if !report.restored {
        said.insert(0, "The scheduler and depth of the device could NOT be restored: set them by hand.".to_owned());
    }
    said
}

/// The depths, with what the kernel made of the one that was asked for.
fn depth_title(report: &SchedulersReport, depth: Depth) -> String {
    let mut found: Vec<(&str, u32)> = Vec::new();
    for name in schedulers(report) {
        let of = |x: &&SchedulerPoint| x.scheduler == name && depth_of(x) == depth;
        found.extend(report.points.iter().find(of).map(|x| (name, x.queue_depth_requests)));
    }
    let each: Vec<String> = found.iter().map(|(name, n)| format!("{name} {n}")).collect();
    let same = |n: u32| found.iter().all(|(_, found)| *found == n);
    let queue = match (depth.0, found.first()) {
        (Some(n), _) if same(n) => n.to_string(),
        (Some(n), _) => format!("{n} (found: {})", each.join(", ")),
        (None, Some((_, n))) if same(*n) => n.to_string(),
        (None, _) => format!("of each scheduler ({})", each.join(", ")),
    };
    format!("queue depth {queue}, load depth {}", depth.1)
}

fn times(report: &SchedulersReport) -> Figure {
    let panels = depths(report)
        .into_iter()
        .map(|depth| Panel {
            title: format::sentence(&depth_title(report, depth)),
            chart: Chart::Lines(times_chart(report, depth)),
        })
        .collect();
    let mut keys = Vec::new();
    for (glyph, p) in [(Glyph::Solid, Pattern::Sequential), (Glyph::Dashed, Pattern::Random)] {
        if report.points.iter().any(|x| x.pattern == p) {
            keys.push(Key { tone: Tone::Plain, glyph, words: format::pattern(p).to_owned() });
        }
    }
    for (i, name) in schedulers(report).into_iter().enumerate() {
        keys.push(Key { tone: Tone::Nth(i), glyph: Glyph::Point(Marker::nth(i)), words: name.to_owned() });
    }
    Figure {
        title: "Time to complete a mix, over its share of reads".to_owned(),
        caption: "Less is better. Whiskers are the interval of the median. After figure 4.11 of the dissertation."
            .to_owned(),
        keys,
        panels,
        tables: groups(report).into_iter().map(|group| times_table(report, group)).collect(),
        tables_open: false,
    }
}

/// A line for each scheduler and order of addresses at `depth`: over the share of reads, what `value` makes of a point.
fn lines(report: &SchedulersReport, depth: Depth, value: impl Fn(&SchedulerPoint) -> Option<Point>) -> Vec<Series> {
    let mut series = Vec::new();
    for (i, name) in schedulers(report).into_iter().enumerate() {
        for p in [Pattern::Sequential, Pattern::Random] {
            let of = |x: &&SchedulerPoint| depth_of(x) == depth && x.scheduler == name && x.pattern == p;
            let mut points: Vec<Point> = report.points.iter().filter(of).filter_map(&value).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            if !points.is_empty() {
                series.push(Series {
                    name: name.to_owned(),
                    tone: Tone::Nth(i),
                    marker: Marker::nth(i),
                    dashed: p == Pattern::Random,
                    published: false,
                    points,
                });
            }
        }
    }
    series
}

/// What stands beside a point.
fn point_words(x: &SchedulerPoint, value: &str) -> String {
    format!("{}, {} % {} reads: {value}", x.scheduler, x.read_percent, format::pattern(x.pattern))
}

fn times_chart(report: &SchedulersReport, depth: Depth) -> LineChart {
    let series = lines(report, depth, |x| {
        let words = point_words(x, &format::seconds(x.response_s.median));
        Some(point(f64::from(x.read_percent), &x.response_s, words))
    });
    let words = series.iter().filter_map(|line| {
        let (first, last) = (line.points.first()?, line.points.last()?);
        let order = format::pattern(if line.dashed { Pattern::Random } else { Pattern::Sequential });
        Some(format!(
            "{}, {order}: {} at {} % reads, {} at {} %.",
            line.name,
            format::seconds(first.y),
            first.x,
            format::seconds(last.y),
            last.x
        ))
    });
    let law = law_for(report.points.iter().filter(|x| depth_of(x) == depth).map(|x| x.response_s.median));
    LineChart {
        title: format!("Time to complete a mix at {}", depth_title(report, depth)),
        description: words.collect::<Vec<_>>().join(" "),
        x: share_axis(report),
        y: Axis::new("time for the mix, s", law, format::tick),
        series,
        levels: Vec::new(),
        events: Vec::new(),
        names: Names::First,
    }
}

/// The shares of reads that were measured, and no others.
fn share_axis(report: &SchedulersReport) -> Axis {
    let mut shares: Vec<u32> = report.points.iter().map(|x| x.read_percent).collect();
    shares.sort_unstable();
    shares.dedup();
    let mut axis = Axis::new("share of reads, %", Law::Window, format::tick);
    axis.fixed = shares.into_iter().map(|share| (f64::from(share), share.to_string())).collect();
    axis
}

fn groups(report: &SchedulersReport) -> Vec<(Depth, Pattern)> {
    let mut groups: Vec<_> = mixes(report).into_iter().map(|(d, p, _)| (d, p)).collect();
    groups.dedup();
    groups
}

/// One row for each share of reads, one column for each scheduler.
fn matrix(
    report: &SchedulersReport,
    group: (Depth, Pattern),
    title: String,
    cell: fn(&SchedulerPoint) -> Cell,
) -> Table {
    let names = schedulers(report);
    let mut columns = vec![("reads", Kind::Numbers)];
    columns.extend(names.iter().map(|name| (*name, Kind::Numbers)));
    let mut table = Table::new(title, &columns);
    for mix in mixes(report).into_iter().filter(|(d, p, _)| (*d, *p) == group) {
        let mut row = vec![Cell::Text(format!("{} %", mix.2))];
        row.extend(names.iter().map(|name| at(report, name, mix).map_or(Cell::Empty, cell)));
        table.rows.push(row);
    }
    table
}

fn group_title(report: &SchedulersReport, (depth, p): (Depth, Pattern)) -> String {
    format!("{}, {}", format::pattern(p), depth_title(report, depth))
}

fn times_table(report: &SchedulersReport, group: (Depth, Pattern)) -> Table {
    let table = matrix(report, group, format!("Time for the mix, {}", group_title(report, group)), |x| {
        Cell::measure(&x.response_s, format::seconds)
    });
    let last = groups(report).last() == Some(&group);
    table.with_note(if last { format::interval_note(report.points.iter().map(|x| &x.response_s)) } else { None })
}

/// `read / write`, with a dash for what is absent.
fn pair(read: Option<String>, write: Option<String>) -> Cell {
    match (read, write) {
        (None, None) => Cell::Empty,
        (r, w) => {
            let [r, w] = [r, w].map(|x| x.unwrap_or_else(|| "-".to_owned()));
            Cell::Text(format!("{r} / {w}"))
        }
    }
}

/// What single requests see: mean times and slowdowns, where the study has them.
fn slowdowns(report: &SchedulersReport) -> Option<Figure> {
    if report.points.iter().all(|x| x.read_slowdown.is_none() && x.write_slowdown.is_none() && x.read_us.is_none()) {
        return None;
    }
    let mut tables = Vec::new();
    for group in groups(report) {
        let slow = matrix(report, group, format!("Slowdown of reads / writes, {}", group_title(report, group)), |x| {
            pair(x.read_slowdown.map(format::times), x.write_slowdown.map(format::times))
        });
        let mean =
            matrix(report, group, format!("Mean time of a read / a write, {}", group_title(report, group)), |x| {
                pair(
                    x.read_us.as_ref().map(|s| format::us(s.median)),
                    x.write_us.as_ref().map(|s| format::us(s.median)),
                )
            });
        tables.push(slow.page_only());
        tables.push(mean.page_only());
    }
    tables.insert(0, worst_table(report));
    let panels = depths(report)
        .into_iter()
        .filter_map(|depth| {
            let chart = slowdown_chart(report, depth)?;
            Some(Panel { title: format::sentence(&depth_title(report, depth)), chart: Chart::Lines(chart) })
        })
        .collect();
    Some(Figure {
        title: "What a read waits for the writes in the mix".to_owned(),
        caption:
            "Mean time of a read in the mix over that in the mix without writes, same scheduler and depths. Solid \
                  sequential, dashed random. The tables have the writes too."
                .to_owned(),
        keys: Vec::new(),
        panels,
        tables,
        tables_open: false,
    })
}

/// The largest slowdowns over all mixes of a group: what a terminal has room for.
fn worst_table(report: &SchedulersReport) -> Table {
    let names = schedulers(report);
    let mut columns = vec![("largest over the mixes, reads / writes", Kind::Words)];
    columns.extend(names.iter().map(|name| (*name, Kind::Numbers)));
    let mut table = Table::new("Slowdown of reads / writes", &columns);
    for group in groups(report) {
        let ((wanted, load), p) = group;
        // Without a wish there is one setting of the queue, and the titles above name what it came to.
        let title =
            wanted.map_or_else(|| format!("{}, load depth {load}", format::pattern(p)), |_| group_title(report, group));
        let mut row = vec![Cell::Text(title)];
        row.extend(names.iter().map(|name| {
            let of = || report.points.iter().filter(|x| x.scheduler == *name && (depth_of(x), x.pattern) == group);
            let worst = |of: fn(&SchedulerPoint) -> Option<f64>, points: &mut dyn Iterator<Item = &SchedulerPoint>| {
                points.filter_map(of).filter(|v| v.is_finite()).max_by(f64::total_cmp).map(format::times)
            };
            pair(worst(|x| x.read_slowdown, &mut of()), worst(|x| x.write_slowdown, &mut of()))
        }));
        table.rows.push(row);
    }
    table
}

fn slowdown_chart(report: &SchedulersReport, depth: Depth) -> Option<LineChart> {
    let series = lines(report, depth, |x| {
        let slowdown = x.read_slowdown.filter(|s| s.is_finite() && *s > 0.0)?;
        let words = point_words(x, &format::times(slowdown));
        Some(Point { x: f64::from(x.read_percent), y: slowdown, range: None, words, mark: None })
    });
    let law = law_for(series.iter().flat_map(|s| &s.points).map(|p| p.y));
    (!series.is_empty()).then(|| LineChart {
        title: format!("Slowdown of reads at {}", depth_title(report, depth)),
        description: "Slowdown of reads over the share of reads for each scheduler; the table has every value."
            .to_owned(),
        x: share_axis(report),
        y: Axis::new("read slowdown", law, format::tick),
        series,
        levels: vec![(1.0, "as without writes".to_owned())],
        events: Vec::new(),
        names: Names::First,
    })
}

/// The published points beside ours, and where they come from.
fn paper(report: &SchedulersReport, known: &'static Published) -> Figure {
    let mut table = Table::new(
        format!(
            "Published for the {}: {} mixes at load depth {}",
            known.device,
            format_bytes(papers::MIX_BYTES),
            papers::MIX_DEPTH_REQUESTS
        ),
        &[
            ("scheduler", Kind::Words),
            ("stands in", Kind::Words),
            ("reads", Kind::Numbers),
            ("paper", Kind::Numbers),
            ("paper, for this size of mix", Kind::Numbers),
            ("here, deepest load", Kind::Numbers),
        ],
    )
    .dispensable(&[3]);
    let deepest = depths(report).into_iter().max_by_key(|(queue, load)| (*load, *queue));
    let share = report.mix_bytes as f64 / papers::MIX_BYTES as f64;
    for mix in known.mixes {
        let ours = deepest
            .zip(mix.stands_in)
            .and_then(|(depth, name)| at(report, name, (depth, mix.pattern, mix.read_percent)));
        table.rows.push(vec![
            mix.scheduler.into(),
            mix.stands_in.unwrap_or("").into(),
            format!("{} %", mix.read_percent).into(),
            format!("{} s", mix.response_s).into(),
            format::seconds(mix.response_s * share).into(),
            ours.map_or(Cell::Empty, |x| Cell::measure(&x.response_s, format::seconds)),
        ]);
    }
    Figure {
        title: "Beside what was published".to_owned(),
        caption: format!(
            "Points of figure 4.11 that the text of the paper gives, sequential. The column for this size of mix scales \
             them by {} over {}.",
            format_bytes(report.mix_bytes),
            format_bytes(papers::MIX_BYTES)
        ),
        keys: Vec::new(),
        panels: Vec::new(),
        tables: vec![table.with_note(Some(known.note(Some(Topic::Mixes))))],
        tables_open: true,
    }
}
