//! The frontier study: what each setting of a block queue makes of reads concurrent with writes, and of the writes.

mod columns;
mod given;
mod page;
mod plan;
mod ranking;
pub(crate) mod result;
mod run;
mod search;
mod space;
mod trial;

pub use run::*;

use brisk_core::units::format_bytes;

use self::columns::*;
use self::result::*;
use brisk_report::declare::*;
use brisk_report::format;

impl Kind for FrontierReport {
    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let points = self.points.iter().flat_map(|point| {
            self.loads.iter().zip(&point.loads).map(|(load, found)| {
                Row::at(LOAD, load.name.clone())
                    .by(SETTING, if point.label == self.found { "found" } else { &point.label })
                    .put(READ_LATENCY, found.read_us)
                    .put(P99_READ_LATENCY, found.read_us_p99)
                    .put(WRITE_THROUGHPUT, found.write_bytes_per_s)
                    .put(LONGEST_WRITE, found.write_us_max)
            })
        });
        points.collect()
    }

    fn mode(&self) -> Facts {
        vec![("Request size", format_bytes(self.block_bytes)), ("Length of a trial", format::seconds(self.trial_s))]
    }

    fn setting(&self) -> Facts {
        let found = self.point(&self.found).map_or(&self.found, |point| &point.scheduler);
        vec![("Scheduler found", found.clone())]
    }

    fn form() -> Option<Form<Self>> {
        let min = |report: &Self| report.write_min_percent.clamp(0.0, 100.0);
        let form = Form::new().warnings().figure("write_min_percent", WRITES_KEPT, min).list(
            "points",
            "Settings on the frontier, found, and chosen.",
            64,
            point(),
            Self::best,
        );
        Some(form)
    }
}

impl FrontierReport {
    /// The settings that count, and whether each is the one that the search chose.
    fn best(&self) -> Vec<(FrontierPoint, bool)> {
        let is_chosen = |point: &FrontierPoint| self.chosen.as_ref() == Some(&point.label);
        let counts = |point: &&FrontierPoint| point.on_frontier || is_chosen(point) || point.label == self.found;
        self.points.iter().filter(counts).map(|point| (point.clone(), is_chosen(point))).collect()
    }
}

/// What of a setting may leave the device.
fn point() -> Form<(FrontierPoint, bool)> {
    type Point = (FrontierPoint, bool);
    let settings = |(point, _): &Point| point.settings.clone().into_iter().collect();
    let trials = |(point, _): &Point| {
        point.loads.iter().map(|load| load.read_us.count as u64).min().unwrap_or(1).clamp(1, 100_000)
    };
    Form::new()
        .word("scheduler", "The I/O scheduler.", |(point, _): &Point| &point.scheduler)
        .words("settings", "Knobs of the queue; empty for the settings that were found.", 16, settings)
        .flag("priorities", "Readers had the I/O priority best effort 0.", |(point, _)| point.priorities)
        .figure("read_ratio", READS_TAKE, |(point, _)| point.read_ratio)
        .figure("write_percent", WRITES_REACH, |(point, _)| point.write_percent)
        .count("trials", "Fewest trials of a load.", 100_000, trials)
        .flag("chosen", "The setting that the search chose.", |(_, is_chosen)| *is_chosen)
}
