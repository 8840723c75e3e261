//! `brisk suite`: real apps on an emulated phone.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use brisk_bench::environment::Run;
use brisk_bench::place::Place;
use brisk_launch::Launcher;
use brisk_phone::suite::{self, OnPhone, Outcome, Scope, Situation, Study, Target};
use brisk_phone::{Catalogue, Phone, SqliteSpec, Variant, WriterSpec};
use brisk_results::{Condition, Document, Header, PhoneFacts, SuiteReport, Temperature, WhatIfReport, WriterLoad};
use clap::{Subcommand, ValueEnum};

use crate::bench::output::Outputs;
use crate::bench::session::Session;
use crate::bench::size;
use crate::display::Display;
use crate::lab::phone as lab_phone;
use crate::launch::{Watching, few_runs};
use crate::on_phone::{self, Brought, Wanted};

const AFTER_HELP: &str = "\
Examples:
  brisk suite run                                        # a few apps, idle and beside a writer, in about five minutes
  brisk suite run --apps all --runs 6 --html suite.html
  brisk suite run --preset nexus4-emmc --conditions idle --apps evince,gimp
  brisk suite whatif --apps chromium,lowriter

The first time builds the phone (debootstrap and Debian's packages, some minutes); later it is up in seconds. It is taken down \
in the end, also after Ctrl-C. Apps: see brisk lab phone apps. Exit codes: 0 measured, 1 measured but some apps could not be, \
2 not possible, 130 stopped by Ctrl-C.";

/// Arguments of `brisk suite`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Launch apps cold and warm, idle and beside a background writer, in turns
    Run(RunArgs),
    /// Launch apps with storage taken out of the way: caches, databases or all in memory, no syncs, no journal
    #[command(name = "whatif")]
    WhatIf(WhatIfArgs),
}

/// What both take.
#[derive(Debug, clap::Args)]
struct Every {
    /// Flash to emulate: a name from `brisk lab presets`, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "galaxy-s5-emmc")]
    preset: String,
    /// Size of the flash; the data is kept in memory
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = size)]
    size: u64,
    /// I/O scheduler [default: mq-deadline where the kernel has it, as on phones]
    #[arg(long, value_name = "NAME")]
    scheduler: Option<String>,
    /// Apps by name, or all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    apps: Vec<String>,
    /// Launches of each kind: 6 or more give intervals of 95 %
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    runs: Option<u16>,
    /// Cold launches only
    #[arg(long, conflicts_with = "warm")]
    cold: bool,
    /// Warm launches only
    #[arg(long)]
    warm: bool,
    /// Leave the machine's other caches alone: folders and inodes of the phone then stay in memory for cold launches
    #[arg(long)]
    keep_caches: bool,
    /// Where images of phones are kept [default: $BRISK_CACHE_DIR, or /var/cache/brisk]
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    #[command(flatten)]
    watching: Watching,
    #[command(flatten)]
    outputs: Outputs,
}

#[derive(Debug, clap::Args)]
struct RunArgs {
    #[command(flatten)]
    every: Every,
    /// Conditions to compare, the base first
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',', default_value = "idle,writers")]
    conditions: Vec<ConditionName>,
    /// What the background writer writes a second, as app installs and sync of accounts do
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "6M")]
    writer_rate: u64,
}

#[derive(Debug, clap::Args)]
struct WhatIfArgs {
    #[command(flatten)]
    every: Every,
    /// Variants besides the baseline [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = variant)]
    variants: Vec<Variant>,
    /// Seconds for each kind of SQLite transaction
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    sqlite: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ConditionName {
    /// Nothing else happens
    Idle,
    /// Apps are installed and accounts synced meanwhile
    Writers,
}

/// What is done within five minutes when nobody says which apps.
const FEW_APPS: [&str; 4] = ["galculator", "mousepad", "evince", "gnumeric"];
/// Launches of each kind then.
const FEW_RUNS: u16 = 3;

fn variant(name: &str) -> Result<Variant, String> {
    let names = || Variant::ALL.map(Variant::name).join(", ");
    let wanted = name.replace('-', "_");
    let found = Variant::ALL.into_iter().find(|variant| variant.name() == wanted);
    found.ok_or_else(|| format!("there is no variant {name}: there are {}", names()))
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Run(args) => run_suite(args),
        Command::WhatIf(args) => run_what_if(args),
    }
}

/// The phone and the screen of a suite, and what the report begins with.
struct Bed {
    session: Session,
    phone: Phone,
    display: Display,
    head: Run,
    apps: Vec<&'static brisk_phone::App>,
    runs: u16,
}

/// What making a [`Bed`] came to.
enum Made {
    Bed(Box<Bed>),
    Stopped(ExitCode),
}

impl Every {
    fn apps(&self) -> anyhow::Result<Vec<&'static brisk_phone::App>> {
        let catalogue = Catalogue::builtin();
        match self.apps.as_slice() {
            [] => Ok(catalogue.choose(&FEW_APPS.map(str::to_owned))?),
            [all] if all == "all" => Ok(catalogue.apps.iter().collect()),
            names => Ok(catalogue.choose(names)?),
        }
    }

    fn temperatures(&self) -> Vec<Temperature> {
        match (self.cold, self.warm) {
            (true, _) => vec![Temperature::Cold],
            (_, true) => vec![Temperature::Warm],
            _ => vec![Temperature::Cold, Temperature::Warm],
        }
    }

    /// Brings up the phone and a screen.
    fn make(&self) -> anyhow::Result<Made> {
        let apps = self.apps()?;
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
        let runs = self.runs.unwrap_or(if self.apps.is_empty() { FEW_RUNS } else { 6 });
        Ok(Made::Bed(Box::new(Bed { session, phone, display, head, apps, runs })))
    }
}

fn run_suite(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let every = &args.every;
    every.outputs.check(&PathBuf::from("/"))?;
    if args.conditions.iter().enumerate().any(|(n, name)| args.conditions[..n].contains(name)) {
        bail!("--conditions names a condition twice");
    }
    let Bed { session, phone, mut display, mut head, apps, runs } = match every.make()? {
        Made::Bed(bed) => *bed,
        Made::Stopped(code) => return Ok(code),
    };
    let spec = WriterSpec { target_bytes_per_s: args.writer_rate as f64, ..WriterSpec::default() };
    let scope = Scope {
        conditions: args.conditions.iter().map(|name| condition(*name, &spec)).collect(),
        temperatures: every.temperatures(),
        rounds: usize::from(runs),
    };
    let sense = session.sense();
    let facts = phone.facts()?;
    let launcher =
        Launcher { sense: &sense, settings: every.watching.settings(!every.keep_caches), stop: session.stop_flag() };
    let mut targets = Vec::new();
    for app in &apps {
        let launch = phone.app(app, display.name())?;
        targets.push(Target { name: app.name.clone(), group: app.group.clone(), app: launch });
    }
    let situation = |name: &ConditionName| Situation {
        writer: (*name == ConditionName::Writers).then_some(spec),
        ..Situation::default()
    };
    let situations = args.conditions.iter().map(situation).collect();
    let mut conditions = OnPhone::new(&phone, lab_phone::program("write")?, situations);
    let mut progress = |done: f64, doing: &str| session.show(done, doing);
    let outcome = suite::run(&launcher, &targets, &scope, display.needed()?, &mut conditions, &mut progress);
    session.clear();
    let outcome = match outcome {
        Err(brisk_launch::Error::Stopped) => return stopped(&session, phone),
        other => other?,
    };
    let flash = phone.flash()?;
    head.warn(on_phone::late(&flash));
    let failed = warn(&mut head, &outcome, runs);
    let report =
        SuiteReport { header: end(head, &facts), phone: facts, conditions: outcome.conditions, apps: outcome.apps };
    phone.down(true)?.iter().for_each(|sentence| eprintln!("{sentence}"));
    session.finish(Document::Suite(Box::new(report)), &every.outputs)?;
    Ok(ExitCode::from(u8::from(failed)))
}

fn run_what_if(args: &WhatIfArgs) -> anyhow::Result<ExitCode> {
    let every = &args.every;
    every.outputs.check(&PathBuf::from("/"))?;
    let Bed { session, mut phone, mut display, mut head, apps, runs } = match every.make()? {
        Made::Bed(bed) => *bed,
        Made::Stopped(code) => return Ok(code),
    };
    let mut variants = vec![Variant::Baseline];
    let wanted = if args.variants.is_empty() { Variant::ALL.to_vec() } else { args.variants.clone() };
    variants.extend(wanted.into_iter().filter(|variant| *variant != Variant::Baseline));
    let name = display.name().to_owned();
    let study = Study {
        variants,
        temperatures: every.temperatures(),
        rounds: usize::from(runs),
        sqlite: SqliteSpec { span: Duration::from_secs(args.sqlite), ..SqliteSpec::default() },
        display: &name,
    };
    let sense = session.sense();
    let facts = phone.facts()?;
    let launcher =
        Launcher { sense: &sense, settings: every.watching.settings(!every.keep_caches), stop: session.stop_flag() };
    let mut progress = |done: f64, doing: &str| session.show(done, doing);
    let outcome = suite::what_if(&launcher, &mut phone, &apps, &study, display.needed()?, &mut progress);
    session.clear();
    let (outcome, sqlite) = match outcome {
        Err(brisk_phone::Error::Stopped) => return stopped(&session, phone),
        other => other?,
    };
    head.warn(on_phone::late(&phone.flash()?));
    let failed = warn(&mut head, &outcome, runs);
    let report = WhatIfReport {
        header: end(head, &facts),
        phone: facts,
        conditions: outcome.conditions,
        apps: outcome.apps,
        sqlite,
    };
    phone.down(true)?.iter().for_each(|sentence| eprintln!("{sentence}"));
    session.finish(Document::WhatIf(Box::new(report)), &every.outputs)?;
    Ok(ExitCode::from(u8::from(failed)))
}

fn condition(name: ConditionName, spec: &WriterSpec) -> Condition {
    match name {
        ConditionName::Idle => {
            Condition { name: "idle".to_owned(), text: "nothing else happens".to_owned(), writer: None }
        }
        ConditionName::Writers => Condition {
            name: "writers".to_owned(),
            text: "apps are installed and accounts synced meanwhile".to_owned(),
            writer: Some(WriterLoad {
                text: spec.text(),
                target_bytes_per_s: spec.target_bytes_per_s,
                reached_bytes_per_s: None,
                syncs_per_s: None,
            }),
        },
    }
}

/// Takes the phone down before the person is told that nothing is left.
fn stopped(session: &Session, phone: Phone) -> anyhow::Result<ExitCode> {
    phone.down(true).context("cannot take the phone down; try brisk lab phone down --all --force")?;
    Ok(session.was_stopped())
}

/// Adds what to know of the launches; gives whether some app has no figures.
fn warn(head: &mut Run, outcome: &Outcome, runs: u16) -> bool {
    head.warn(outcome.warnings.iter().cloned());
    if runs < 6 {
        head.warn([few_runs(usize::from(runs))]);
    }
    outcome.apps.iter().any(|app| app.failure.is_some())
}

/// Ends the head with what the phone's block device is: the lab cannot be asked once the phone is down.
fn end(head: Run, phone: &PhoneFacts) -> Header {
    let mut header = head.end(None, 0);
    if let Some(device) = &mut header.environment.device {
        device.lab_preset = Some(phone.preset.clone());
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_named_with_dashes_or_underscores() {
        assert_eq!(variant("sync-off"), Ok(Variant::SyncOff));
        assert_eq!(variant("all_in_ram"), Ok(Variant::AllInRam));
        assert!(variant("fast").expect_err("none").contains("no_journal"));
    }

    #[test]
    fn the_few_apps_are_in_the_catalogue() {
        assert!(Catalogue::builtin().choose(&FEW_APPS.map(str::to_owned)).is_ok());
    }
}
