//! Its page.

use crate::results::{FrontierPoint, FrontierReport};
use brisk_core::units::format_bytes;

use super::columns::*;
use brisk_report::declare::*;
use brisk_report::format;

/// Rows in a terminal of the table of all settings.
const TERMINAL_ROWS: usize = 12;
const TITLE: &str = "Read delay against write throughput";
/// Percent that may be few.
pub(super) const FEW: Unit = unit::of("percent", percent, format::tick);

pub(super) fn section(report: &FrontierReport) -> Section {
    let question = format!(
        "Which settings serve {} reads soonest in mixed load, and what does that cost the writes?",
        format_bytes(report.block_bytes)
    );
    let not_restored = "The settings of the device could NOT all be restored: check them and set them by hand.";
    Section::new("Frontier", question, verdict(report))
        .cautions((!report.restored).then(|| not_restored.to_owned()))
        .figures((!report.points.is_empty()).then(|| figure(report)))
}

fn verdict(report: &FrontierReport) -> Vec<String> {
    let mut said = Vec::new();
    let Some(found) = report.point(&report.found) else {
        said.push("Nothing was measured: the document has no point of the settings that were found.".to_owned());
        return said;
    };
    let least = format!("{:.0} %", report.write_min_percent.clamp(0.0, 1e4));
    if let Some(best) = report.chosen.as_ref().and_then(|label| report.point(label)) {
        said.push(format!(
            "With at least {least} of the writes reads are fastest with {}: they take {} of the time, and writes reach \
             {}.",
            best.label,
            percent(best.read_ratio * 100.0),
            percent(best.write_percent)
        ));
        for ((load, best), found) in report.loads.iter().zip(&best.loads).zip(&found.loads) {
            said.push(format!(
                "{}: a read takes {} instead of {} (alone {}), writes reach {} instead of {}.",
                format::sentence(&load.name),
                format::us(best.read_us.median),
                format::us(found.read_us.median),
                format::us(load.read_alone_us),
                format::bandwidth(best.write_bytes_per_s.median),
                format::bandwidth(found.write_bytes_per_s.median),
            ));
        }
    } else {
        said.push(format!(
            "No setting serves reads sooner than those found and leaves {least} of the writes: keep {}.",
            found.scheduler
        ));
    }
    let faster = report.points.iter().filter(|x| x.read_ratio.is_finite() && x.on_frontier);
    if let Some(fastest) = faster.min_by(|a, b| a.read_ratio.total_cmp(&b.read_ratio))
        && report.chosen.as_ref() != Some(&fastest.label)
        && fastest.label != report.found
    {
        said.push(format!(
            "The fastest reads of all, at {} of the writes: {} ({} of the time).",
            percent(fastest.write_percent),
            fastest.label,
            percent(fastest.read_ratio * 100.0)
        ));
    }
    if let Some((label, why)) = report.refused.first() {
        let settings = format::sentence(&format::plural(report.refused.len() as u64, "setting"));
        said.push(format!("{settings} could not be set, the first of them: {label}: {}.", why.trim_end_matches('.')));
    }
    said
}

fn percent(value: f64) -> String {
    if value < 9.95 { format!("{} %", format::number(value)) } else { format::share(value, 100.0) }
}

fn figure(report: &FrontierReport) -> Figure {
    let names = schedulers(report.points.iter().map(|x| x.scheduler.as_str()));
    let word = |x: &FrontierPoint| match (report.chosen.as_ref() == Some(&x.label), x.label == report.found) {
        (true, _) => "chosen",
        (_, true) => "found",
        _ => "",
    };
    let row = |x: &FrontierPoint| {
        let nth = names.iter().position(|name| *name == x.scheduler).unwrap_or(0);
        Row::at(SETTING, x.label.clone())
            .look(Look::nth(nth))
            .put(TRIALS, x.loads.iter().map(|load| load.read_us.count).min().unwrap_or(0) as f64)
            .put(READS_TAKE, x.read_ratio * 100.0)
            .put(WRITES_REACH, x.write_percent)
            .put(MARK, word(x))
            .put(FRONTIER, if word(x).is_empty() && x.on_frontier { "on it" } else { word(x) })
    };
    let mut points: Vec<&FrontierPoint> = report.points.iter().collect();
    points.sort_by(|a, b| (!a.on_frontier).cmp(&!b.on_frontier).then(a.read_ratio.total_cmp(&b.read_ratio)));
    let all: Vec<Row> = points.iter().map(|x| row(x)).collect();
    // The line of the frontier comes first, so that points lie above it; each point is a series, so nothing else is
    // joined.
    let on = points.iter().filter(|x| x.on_frontier);
    let frontier = Row::at(SETTING, "frontier");
    let line = on.map(|x| frontier.clone().put(READS_TAKE, x.read_ratio * 100.0).put(WRITES_REACH, x.write_percent));
    let drawn: Vec<Row> = line.chain(report.points.iter().map(row)).collect();
    let mut loads = Vec::new();
    for (i, load) in report.loads.iter().enumerate() {
        for (name, label) in [("found", Some(&report.found)), ("chosen", report.chosen.as_ref())] {
            let measure = label.and_then(|label| report.point(label)).and_then(|x| x.loads.get(i));
            loads.extend(measure.map(|measure| {
                Row::at(LOAD, load.name.clone())
                    .by(SETTING, name)
                    .put(READ, measure.read_us)
                    .put(READ_P99, measure.read_us_p99)
                    .put(WRITTEN, measure.write_bytes_per_s)
                    .put(LONGEST_SMALL_WRITE, measure.write_us_max)
            }));
        }
    }
    let words = report.loads.iter().map(|load| {
        let (interval, alone) = (format::us(load.read_interval_us), format::us(load.read_alone_us));
        format!(
            "{}: each reader asks every {interval}, a read alone takes {alone}; written are {}.",
            load.name, load.writers
        )
    });
    let note = format!(
        "Relative to the settings found, geometric mean over the loads. {}",
        words.collect::<Vec<_>>().join(" ")
    );
    let axes = [
        Axis::new("write throughput, % of that with the settings found", Law::Window, format::tick),
        Axis::new(
            "mean read time, % of that with the settings found",
            law_for(report.points.iter().map(|x| x.read_ratio * 100.0)),
            format::tick,
        ),
    ];
    let lines = Lines {
        x: WRITES_REACH.into(),
        y: READS_TAKE.into(),
        series: SETTING.into(),
        mark: MARK.into(),
        ..Lines::default()
    };
    let caption = format!(
        "Each point is a setting: lower and further to the right is better. The line joins the settings that no other \
         beats in both. 100 % are the settings found. Trials of {}; settings that fared badly had one, the finalists \
         most.",
        format::seconds(report.trial_s)
    );
    Figure::new(TITLE, caption)
        .named(names.iter().copied())
        .key(Tone::Plain, Glyph::Solid, "frontier")
        .chart("All loads together", lines.draw(TITLE, axes, &drawn))
        .table(
            Table::of(
                "Found and chosen",
                &loads,
                columns![LOAD, SETTING, READ, READ_P99, WRITTEN, LONGEST_SMALL_WRITE],
            )
            .dispensable(columns![READ_P99, LONGEST_SMALL_WRITE]),
        )
        .table(
            Table::of("All settings", &all, columns![SETTING, TRIALS, READS_TAKE, WRITES_REACH, FRONTIER])
                .dispensable(columns![TRIALS, FRONTIER])
                .first_in_terminal(TERMINAL_ROWS)
                .noted(note),
        )
        .open()
}
