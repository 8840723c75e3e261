//! Its page.

use crate::results::{Pattern, SchedulerPoint, SchedulersReport};
use brisk_core::stats::Summary;
use brisk_core::units::format_bytes;

use super::columns::*;
use brisk_report::declare::*;
use brisk_report::format;
use brisk_report::papers::{self, Published, Topic};

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

pub(super) fn section(report: &SchedulersReport) -> Section {
    let mut report = report.clone();
    // Documents from before `wanted_depth_requests`: when a scheduler has several depths, they were asked for.
    let differ = |a: &SchedulerPoint, b: &SchedulerPoint| {
        a.scheduler == b.scheduler && a.queue_depth_requests != b.queue_depth_requests
    };
    if report.points.iter().all(|x| x.wanted_depth_requests.is_none())
        && report.points.iter().any(|a| report.points.iter().any(|b| differ(a, b)))
    {
        report.points.iter_mut().for_each(|x| x.wanted_depth_requests = Some(x.queue_depth_requests));
    }
    let question = format!(
        "How long does a mix of {} in {} requests take under each I/O scheduler of this kernel?",
        format_bytes(report.mix_bytes),
        format_bytes(report.block_bytes)
    );
    let rows = mixes(&report);
    let known = published(&report.header).filter(|known| !known.mixes.is_empty());
    let not_restored = "The scheduler and depth of the device could NOT be restored: set them by hand.";
    Section::new("Schedulers", question, verdict(&report, &rows))
        .cautions((!report.restored).then(|| not_restored.to_owned()))
        .figures([times(&report, &rows), slowdowns(&report, &rows)])
        .figures(known.filter(|_| !rows.is_empty()).map(|known| paper(&report, known)))
}

fn names(report: &SchedulersReport) -> Vec<&str> {
    schedulers(report.points.iter().map(|x| x.scheduler.as_str()))
}

/// A row for each point, mix by mix.
fn mixes(report: &SchedulersReport) -> Vec<Row> {
    let names = names(report);
    let nth = |x: &SchedulerPoint| names.iter().position(|name| *name == x.scheduler).unwrap_or_default();
    let mut points: Vec<&SchedulerPoint> = report.points.iter().collect();
    points.sort_by_key(|x| (mix_of(x), nth(x)));
    let pair = |read: Option<String>, write: Option<String>| {
        let shown = |side: Option<String>| side.unwrap_or_else(|| "-".to_owned());
        (read.is_some() || write.is_some()).then(|| format!("{} / {}", shown(read), shown(write)))
    };
    points
        .into_iter()
        .map(|x| {
            let (order, depth) = (format::pattern(x.pattern), depth_title(report, depth_of(x)));
            let reads = Place { text: format!("{} %", x.read_percent), number: Some(f64::from(x.read_percent)) };
            let us = |of: &Option<Summary>| of.as_ref().map(|s| format::us(s.median));
            let group = format!("{order}, {depth}");
            // Without requested settings there is one setting of the queue, and the titles name what it came to.
            let short = format!("{order}, load depth {}", x.depth_requests);
            Row::at(SCHEDULER, x.scheduler.clone())
                .by(ORDER, order)
                .by(LINE, format!("{}, {order}", x.scheduler))
                .by(MIX, format!("{} {order} reads at {depth}", reads.text))
                .by(READS, reads)
                .by(WORST_OF, if x.wanted_depth_requests.is_some() { group.clone() } else { short })
                .by(GROUP, group)
                .by(DEPTH, depth)
                .look(Look::nth(nth(x)).dashed(x.pattern == Pattern::Random))
                .put(TIME_MEASURE, x.response_s)
                .put(SLOWDOWN_OF_READS, x.read_slowdown.filter(|s| s.is_finite() && *s > 0.0))
                .put(SLOWDOWN_OF_WRITES, x.write_slowdown.filter(|s| s.is_finite()))
                .put(SLOWDOWN, pair(x.read_slowdown.map(format::times), x.write_slowdown.map(format::times)))
                .put(MEAN, pair(us(&x.read_us), us(&x.write_us)))
        })
        .collect()
}

fn verdict(report: &SchedulersReport, rows: &[Row]) -> Vec<String> {
    let names = names(report);
    if names.is_empty() {
        return vec!["Nothing was measured: the document has no points.".to_owned()];
    }
    // Wins count only where the interval of the first leaves that of every other.
    let mut wins = vec![0usize; names.len()];
    let mut widest: Option<(bool, f64, String)> = None;
    let mut contested = 0;
    for mix in places(rows, MIX) {
        let of = only(rows, MIX, &mix);
        let mut points: Vec<(&Row, &Summary)> =
            of.iter().filter_map(|row| Some((row, row.summary(TIME_MEASURE)?))).collect();
        points.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
        let [(first, least), .., (last, most)] = points[..] else { continue };
        contested += 1;
        if points[1..].iter().all(|(_, time)| format::apart(least, time))
            && let Some(i) = names.iter().position(|name| *name == first.text(SCHEDULER))
        {
            wins[i] += 1;
        }
        // A sure difference goes before any of few runs.
        let (sure, factor) = (format::apart(least, most), most.median / least.median);
        if format::seem_apart(least, most) && widest.as_ref().is_none_or(|(known, w, _)| (sure, factor) > (*known, *w))
        {
            let with = |row: &Row| format!("{} with {}", row.text(TIME_MEASURE), row.text(SCHEDULER));
            let words = format!("with {mix}: {}, {} ({})", with(first), with(last), format::times(factor));
            widest = Some((sure, factor, words));
        }
    }
    let mut said = Vec::new();
    said.push(match wins.iter().enumerate().max_by_key(|(_, wins)| **wins) {
        Some((i, most)) if *most > 0 => {
            let others = names.iter().zip(&wins).enumerate().filter(|(j, (_, w))| *j != i && **w > 0);
            let others: Vec<String> = others.map(|(_, (name, w))| format!("{name} in {w}")).collect();
            let others = if others.is_empty() { "no other scheduler in any".to_owned() } else { format::list(&others) };
            format!("{} is fastest in {most} of {contested} mixes (intervals do not overlap), {others}.", names[i])
        }
        _ if contested == 0 => format!("Only {} was measured: there is nothing to compare it with.", names[0]),
        _ if report.points.iter().all(|x| x.response_s.count < 2) => {
            "One run of each mix cannot tell which scheduler is fastest.".to_owned()
        }
        _ if report.points.iter().any(|x| !format::sure(&x.response_s)) => {
            "The runs are too few to tell which scheduler is fastest in any mix.".to_owned()
        }
        _ => "No scheduler is fastest in any mix: their intervals overlap.".to_owned(),
    });
    said.extend(widest.map(|(sure, _, words)| {
        format!("{} matters most {words}.", if sure { "The choice" } else { "In these few runs the choice" })
    }));
    said
}

/// The depths, with what the kernel made of the one that was asked for.
fn depth_title(report: &SchedulersReport, depth: Depth) -> String {
    let of = |name: &str| report.points.iter().find(|x| x.scheduler == name && depth_of(x) == depth);
    let found: Vec<(&str, u32)> =
        names(report).into_iter().filter_map(|name| Some((name, of(name)?.queue_depth_requests))).collect();
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

/// A panel for each depth.
fn panels(
    figure: Figure,
    title: &str,
    rows: &[Row],
    measure: Measure,
    names: &str,
    levels: &[(f64, String)],
) -> Figure {
    figure.charts(rows, DEPTH, |depth, rows| {
        let law = law_for(rows.iter().filter_map(|row| row.number(measure)));
        // The shares of reads that were measured, and no others.
        let mut shares: Vec<f64> = rows.iter().filter_map(|row| row.number(READS)).collect();
        shares.sort_by(f64::total_cmp);
        shares.dedup();
        let mut x = Axis::new("share of reads, %", Law::Window, format::tick);
        x.fixed = shares.into_iter().map(|share| (share, format!("{share:.0}"))).collect();
        let lines = Lines {
            x: READS.into(),
            y: measure.into(),
            series: LINE.into(),
            named: SCHEDULER.into(),
            names_first: true,
            levels: levels.to_vec(),
            ..Lines::default()
        };
        lines.draw(format!("{title} at {depth}"), [x, Axis::new(names, law, format::tick)], rows)
    })
}

/// A table for each order of addresses and depth: a line for each share of reads, a column for each scheduler.
fn tables(figure: Figure, title: &str, rows: &[Row], measure: Measure, page_only: bool) -> Figure {
    places(rows, GROUP).into_iter().fold(figure, |figure, group| {
        let of = only(rows, GROUP, &group);
        let table = Table::across(format!("{title}, {group}"), &of, columns![READS], SCHEDULER, measure);
        figure.table(if page_only { table.page_only() } else { table })
    })
}

fn times(report: &SchedulersReport, rows: &[Row]) -> Figure {
    let figure = Figure::new(
        "Time to complete a mix, over its share of reads",
        "Less is better. Whiskers are the interval of the median. After figure 4.11 of the dissertation.",
    )
    .key(Tone::Plain, Glyph::Solid, "sequential")
    .key(Tone::Plain, Glyph::Dashed, "random")
    .named(names(report));
    let figure = panels(figure, "Time to complete a mix", rows, TIME_MEASURE, "time for the mix, s", &[]);
    tables(figure, "Time for the mix", rows, TIME_MEASURE, false)
}

/// Mean times and slowdowns of single requests, where the study has them.
fn slowdowns(report: &SchedulersReport, rows: &[Row]) -> Figure {
    let figure = Figure::new(
        "Slowdown of reads by the writes in the mix",
        "Mean time of a read in the mix over that in the mix without writes, same scheduler and depths. Solid \
         sequential, dashed random. The tables have the writes too.",
    );
    if rows.iter().all(|row| row.text(SLOWDOWN).is_empty() && row.text(MEAN).is_empty()) {
        return figure;
    }
    // The largest slowdowns over all mixes of a group: as many as fit a terminal.
    let worst = |of: &[Row], measure: Measure| {
        let largest = of.iter().filter_map(|row| row.number(measure)).max_by(f64::total_cmp);
        largest.map_or_else(|| "-".to_owned(), format::times)
    };
    let groups = places(rows, WORST_OF).into_iter();
    let pairs = groups.flat_map(|group| names(report).into_iter().map(move |name| (group.clone(), name)));
    let worst: Vec<Row> = pairs
        .map(|(group, name)| {
            let of = only(&only(rows, WORST_OF, &group), SCHEDULER, name);
            let words = format!("{} / {}", worst(&of, SLOWDOWN_OF_READS), worst(&of, SLOWDOWN_OF_WRITES));
            Row::at(LARGEST_OVER_THE_MIXES, group).by(SCHEDULER, name).put(SLOWDOWN, words)
        })
        .collect();
    let table =
        Table::across("Slowdown of reads / writes", &worst, columns![LARGEST_OVER_THE_MIXES], SCHEDULER, SLOWDOWN);
    let figure = figure.table(table);
    let level = level(1.0, "as without writes");
    let figure = panels(figure, "Slowdown of reads", rows, SLOWDOWN_OF_READS, "read slowdown", &level);
    let figure = tables(figure, "Slowdown of reads / writes", rows, SLOWDOWN, true);
    tables(figure, "Mean time of a read / a write", rows, MEAN, true)
}

/// The published points and ours, and their source.
fn paper(report: &SchedulersReport, known: &'static Published) -> Figure {
    let deepest = report.points.iter().map(depth_of).max_by_key(|(queue, load)| (*load, *queue));
    let share = report.mix_bytes as f64 / papers::MIX_BYTES as f64;
    let rows: Vec<Row> = known
        .mixes
        .iter()
        .map(|mix| {
            let ours = deepest.zip(mix.stands_in).and_then(|(depth, name)| {
                let same = |x: &&SchedulerPoint| mix_of(x) == (depth, mix.pattern, mix.read_percent);
                report.points.iter().filter(same).find(|x| x.scheduler == name)
            });
            Row::at(SCHEDULER, mix.scheduler)
                .by(STANDS_IN, mix.stands_in.unwrap_or(""))
                .by(READS, format!("{} %", mix.read_percent))
                .put(PAPER, format!("{} s", mix.response_s))
                .put(PAPER_FOR_THIS_SIZE_OF_MIX, mix.response_s * share)
                .put(HERE_DEEPEST_LOAD, ours.map(|x| &x.response_s))
        })
        .collect();
    let (mix, whole) = (format_bytes(report.mix_bytes), format_bytes(papers::MIX_BYTES));
    let title =
        format!("Published for the {}: {whole} mixes at load depth {}", known.device, papers::MIX_DEPTH_REQUESTS);
    let columns = columns![SCHEDULER, STANDS_IN, READS, PAPER, PAPER_FOR_THIS_SIZE_OF_MIX, HERE_DEEPEST_LOAD];
    Figure::new(
        "Compared with published figures",
        format!(
            "Points of figure 4.11 that the text of the paper gives, sequential. The column for this size of mix \
             scales them by {mix} over {whole}."
        ),
    )
    .table(Table::of(title, &rows, columns).dispensable(columns![PAPER]).noted(known.note(Some(Topic::Mixes))))
    .open()
}
