//! `brisk study frontier`: the search for the settings with the lowest read latency under mixed load.

use std::process::ExitCode;
use std::time::Duration;

use brisk_bench::results::{Document, FrontierPoint, FrontierReport};
use brisk_bench::study::frontier;
use brisk_command::session::Session;
use brisk_command::{duration, size};
use brisk_core::knob::{Knob, QueueSetting};
use brisk_engine::smartio::{Evidence, Profile, QueueSettings};

use super::kept::Keep;
use super::{DAY, Degrees, Every, SECOND};

/// [`frontier::SIZE_BYTES`], as a person writes it.
const SIZE: &str = "256MiB";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    every: Every,
    /// Time that it takes; with less time fewer settings are tried [default: 3m, 1m quick, 10m paper]
    #[arg(long, value_name = "TIME", value_parser = duration::between(10 * SECOND, DAY))]
    budget: Option<Duration>,
    /// Size of the work file
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = SIZE)]
    size: u64,
    /// Limit of what is written, about, since flash wears: with less fewer settings are tried [default: none]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_written: Option<u64>,
    /// Write throughput that the chosen setting has to leave, in percent of that with the settings found
    #[arg(long, value_name = "PERCENT",
        default_value_t = brisk_engine::smartio::Config::default().write_throughput_min_percent)]
    min_writes: f64,
    /// How long reads of higher priority may defer a write
    #[arg(long, value_name = "TIME",
        value_parser = duration::between_with_unit(Duration::from_millis(1), 3_600 * SECOND))]
    #[arg(default_value = "100ms")]
    writes_wait: Duration,
    /// Schedulers to try [default: all of this kernel]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    schedulers: Vec<String>,
    #[command(flatten)]
    keep: Keep,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let every = &args.every;
    let options = frontier::Options {
        common: every.common(Degrees { quick: 4, normal: 6, paper: 10 }),
        budget: args
            .budget
            .unwrap_or_else(|| every.degree(Degrees { quick: 60 * SECOND, normal: 180 * SECOND, paper: 600 * SECOND })),
        written_bytes_max: args.max_written,
        size_bytes: args.size,
        write_min_percent: args.min_writes,
        writes_wait_max_ms: u32::try_from(args.writes_wait.as_millis()).unwrap_or(u32::MAX),
        schedulers: args.schedulers.clone(),
    };
    args.keep.check(brisk_engine::smartio::NAME)?;
    every.shared.outputs.check(&options.common.path)?;
    let session = Session::begin()?;
    let paths = session.paths();
    let outcome = session.measure(|sense, control| frontier::run(sense, &paths, &options, control));
    let report = outcome.as_ref().ok().cloned();
    let code = session.end(outcome.map(Document::from), &every.shared.outputs)?;
    if let Some(report) = report {
        args.keep.keep(&report.header, &session, |profile| choose(&report, profile))?;
    }
    Ok(code)
}

/// Puts the chosen setting into a profile.
pub(super) fn choose(report: &FrontierReport, profile: &mut Profile) -> Result<(), &'static str> {
    let (point, evidence) = found(report).ok_or("no setting is better than those found")?;
    let (waiting, max_sectors_kb) = setup(point);
    let (calm, evidence) = (QueueSettings::default(), Some(evidence));
    *profile = Profile { is_default: false, max_sectors_kb, waiting, calm, evidence, ..profile.clone() };
    Ok(())
}

/// The chosen setting, and what speaks for it.
fn found(report: &FrontierReport) -> Option<(&FrontierPoint, Evidence)> {
    let chosen = report.point(report.chosen.as_ref()?)?;
    let found = report.point(&report.found)?;
    // Of one load, as a mean over loads is no latency that occurred: the first, which is an app concurrent with an
    // install.
    let read_us = |point: &FrontierPoint| point.loads.first().map(|load| load.read_us.median);
    let evidence = Evidence {
        measured_at: report.header.started.clone(),
        kernel: report.header.environment.kernel.clone(),
        default_read_us: read_us(found)?,
        read_us: read_us(chosen)?,
        write_percent: chosen.write_percent,
    };
    Some((chosen, evidence))
}

/// Settings in the engine's form: those while the foreground waits, and the largest request in KiB.
fn setup(point: &FrontierPoint) -> (QueueSettings, Option<u32>) {
    let mut max_sectors_kb = None;
    let mut setup = QueueSettings { priorities: point.priorities, ..QueueSettings::default() };
    for (name, value) in &point.settings {
        let Ok(Knob::Queue { setting, .. }) = format!("queue/any/{name}").parse() else { continue };
        match setting {
            QueueSetting::Scheduler => setup.scheduler = Some(value.clone()),
            QueueSetting::NrRequests => setup.nr_requests = value.parse().ok(),
            QueueSetting::MaxSectorsKb => max_sectors_kb = value.parse().ok(),
            QueueSetting::WbtLatUsec => setup.wbt_lat_usec = value.parse().ok(),
            QueueSetting::Tunable { name, .. } => drop(setup.tunables.insert(name, value.clone())),
            QueueSetting::DriverTags | QueueSetting::ReadAheadKb | QueueSetting::WriteCache => {}
        }
    }
    (setup, max_sectors_kb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_size_is_that_of_the_search() {
        assert_eq!(size(SIZE), Ok(frontier::SIZE_BYTES));
    }

    #[test]
    fn every_setting_that_can_be_chosen_is_kept() {
        let settings = [
            ("scheduler", "mq-deadline"),
            ("nr_requests", "4"),
            ("max_sectors_kb", "128"),
            ("wbt_lat_usec", "0"),
            ("mq-deadline/fifo_batch", "1"),
        ];
        let point = FrontierPoint {
            label: "it".to_owned(),
            scheduler: "mq-deadline".to_owned(),
            settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            priorities: true,
            loads: Vec::new(),
            read_ratio: 0.1,
            write_percent: 99.0,
            on_frontier: true,
        };
        let expected = QueueSettings {
            scheduler: Some("mq-deadline".to_owned()),
            nr_requests: Some(4),
            wbt_lat_usec: Some(0),
            priorities: true,
            tunables: [("fifo_batch".to_owned(), "1".to_owned())].into(),
        };
        assert_eq!(setup(&point), (expected, Some(128)));
    }

    #[test]
    fn the_default_deferral_of_writes_is_the_engines() {
        let command = <Args as clap::Args>::augment_args(clap::Command::new("frontier"));
        let writes_wait = command.get_arguments().find(|one| one.get_id() == "writes_wait").expect("an argument");
        let engine = Duration::from_millis(brisk_engine::smartio::Config::default().writes_wait_max_ms.into());
        assert_eq!(writes_wait.get_default_values(), [duration::written(engine).as_str()]);
    }
}
