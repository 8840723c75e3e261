//! What the suite, what-if and the proof share: their arguments, the phone and the screen that they measure on, and what their
//! reports begin with.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use brisk_bench::environment::Run;
use brisk_bench::place::Place;
use brisk_phone::suite::{Outcome, Target};
use brisk_phone::{Catalogue, Phone, WriterSpec};
use brisk_results::{Condition, Header, PhoneFacts, WriterLoad};

use crate::bench::output::Outputs;
use crate::bench::session::Session;
use crate::bench::size;
use crate::display::Display;
use crate::launch::{Watching, few_runs};
use crate::on_phone::{self, Brought, Wanted};

/// Launches of each kind when nobody says with which apps: what is done within minutes.
const FEW_RUNS: u16 = 3;
/// Launches of each kind of apps that somebody chose.
const RUNS: u16 = 6;

/// What all of them take.
#[derive(Debug, clap::Args)]
pub(crate) struct Every {
    /// Flash to emulate: a name from `brisk lab presets`, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "galaxy-s5-emmc")]
    preset: String,
    /// Size of the flash; the data is kept in memory
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = size)]
    size: u64,
    /// I/O scheduler that the phone comes with [default: mq-deadline where the kernel has it, as on phones]
    #[arg(long, value_name = "NAME")]
    scheduler: Option<String>,
    /// Apps by name, or all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    apps: Vec<String>,
    /// Launches of each kind: 6 or more give intervals of 95 % [default: 3, or 6 of apps that were named]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    runs: Option<u16>,
    /// Where images of phones are kept [default: $BRISK_CACHE_DIR, or /var/cache/brisk]
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) watching: Watching,
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// What those take that have a writer in the background.
#[derive(Debug, clap::Args)]
pub(crate) struct Writing {
    /// What the background writer writes a second, as app installs and sync of accounts do
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "6M")]
    writer_rate: u64,
}

impl Writing {
    /// The writer.
    pub(crate) fn spec(&self) -> WriterSpec {
        WriterSpec { target_bytes_per_s: self.writer_rate as f64, ..WriterSpec::default() }
    }
}

/// The phone and the screen of a measurement, and what the report begins with.
pub(crate) struct Bed {
    pub(crate) session: Session,
    pub(crate) phone: Phone,
    pub(crate) display: Display,
    pub(crate) head: Run,
    pub(crate) apps: Vec<&'static brisk_phone::App>,
    pub(crate) runs: u16,
}

/// What making a [`Bed`] came to.
pub(crate) enum Made {
    Bed(Box<Bed>),
    Stopped(ExitCode),
}

impl Every {
    /// Brings up the phone and a screen; `few` are the apps when none was named. What is impossible is told before.
    pub(crate) fn make(&self, few: &[&str]) -> anyhow::Result<Made> {
        self.outputs.check(Path::new("/"))?;
        let apps = self.chosen(few)?;
        let display = self.watching.display.own()?;
        let session = Session::begin()?;
        let names: Vec<String> = apps.iter().map(|app| app.name.clone()).collect();
        let wanted = Wanted {
            preset: &self.preset,
            size_bytes: self.size,
            scheduler: self.scheduler.as_deref(),
            cache_dir: self.cache_dir.as_ref(),
        };
        let phone = match wanted.up(&session, &names)? {
            Brought::Up(phone) => *phone,
            Brought::Stopped => return Ok(Made::Stopped(session.was_stopped())),
        };
        let sense = session.sense();
        brisk_launch::scope::end_leftovers(&sense)?;
        let head = Run::begin(&sense, &Place::find(&sense, &phone.root(), false)?, 0)?;
        let runs = self.runs.unwrap_or(if self.apps.is_empty() { FEW_RUNS } else { RUNS });
        Ok(Made::Bed(Box::new(Bed { session, phone, display, head, apps, runs })))
    }

    fn chosen(&self, few: &[&str]) -> anyhow::Result<Vec<&'static brisk_phone::App>> {
        let catalogue = Catalogue::builtin();
        match self.apps.as_slice() {
            [] => Ok(catalogue.choose(&few.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())?),
            [all] if all == "all" => Ok(catalogue.apps.iter().collect()),
            names => Ok(catalogue.choose(names)?),
        }
    }
}

/// The apps as the suite launches them.
pub(crate) fn targets(
    phone: &Phone,
    apps: &[&'static brisk_phone::App],
    display: &Display,
) -> anyhow::Result<Vec<Target>> {
    let target = |app: &&brisk_phone::App| -> anyhow::Result<Target> {
        Ok(Target { name: app.name.clone(), group: app.group.clone(), app: phone.app(app, display.name())? })
    };
    apps.iter().map(target).collect()
}

/// A condition in words, with what is written meanwhile.
pub(crate) fn condition(name: &str, text: &str, writer: Option<&WriterSpec>) -> Condition {
    let load = |spec: &WriterSpec| WriterLoad {
        text: spec.text(),
        target_bytes_per_s: spec.target_bytes_per_s,
        reached_bytes_per_s: None,
        syncs_per_s: None,
    };
    Condition { name: name.to_owned(), text: text.to_owned(), writer: writer.map(load) }
}

/// Takes the phone down before the person is told that nothing is left.
pub(crate) fn stopped(session: &Session, phone: Phone) -> anyhow::Result<ExitCode> {
    phone.down(true).context("cannot take the phone down; try brisk lab phone down --all --force")?;
    Ok(session.was_stopped())
}

/// Adds what to know of the launches and of the flash; gives whether some app has no figures.
pub(crate) fn warn(head: &mut Run, phone: &Phone, outcome: &Outcome, runs: u16) -> anyhow::Result<bool> {
    head.warn(on_phone::late(&phone.flash()?));
    head.warn(outcome.warnings.iter().cloned());
    if runs < RUNS {
        head.warn([few_runs(usize::from(runs))]);
    }
    Ok(outcome.apps.iter().any(|app| app.failure.is_some()))
}

/// Ends the head with what the phone's block device is: the lab cannot be asked once the phone is down.
pub(crate) fn end(head: Run, phone: &PhoneFacts, written_bytes: u64) -> Header {
    let mut header = head.end(None, written_bytes);
    if let Some(device) = &mut header.environment.device {
        device.lab_preset = Some(phone.preset.clone());
    }
    header
}
