//! `brisk suite`: real apps on an emulated phone.

pub(crate) mod bed;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use brisk_launch::Launcher;
use brisk_phone::suite::{self, OnPhone, Scope, Situation, Study};
use brisk_phone::{SqliteSpec, Variant};
use brisk_results::{Document, SuiteReport, Temperature, WhatIfReport};
use clap::{Subcommand, ValueEnum};

use self::bed::{Bed, Every, Made, Writing, condition, end, stopped, targets, warn};
use crate::lab::phone as lab_phone;

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

/// How the apps are launched.
#[derive(Debug, clap::Args)]
struct Launches {
    #[command(flatten)]
    every: Every,
    /// Cold launches only
    #[arg(long, conflicts_with = "warm")]
    cold: bool,
    /// Warm launches only
    #[arg(long)]
    warm: bool,
    /// Leave the machine's other caches alone: folders and inodes of the phone then stay in memory for cold launches
    #[arg(long)]
    keep_caches: bool,
}

#[derive(Debug, clap::Args)]
struct RunArgs {
    #[command(flatten)]
    launches: Launches,
    /// Conditions to compare, the base first
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',', default_value = "idle,writers")]
    conditions: Vec<ConditionName>,
    #[command(flatten)]
    writing: Writing,
}

#[derive(Debug, clap::Args)]
struct WhatIfArgs {
    #[command(flatten)]
    launches: Launches,
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

impl Launches {
    fn temperatures(&self) -> Vec<Temperature> {
        match (self.cold, self.warm) {
            (true, _) => vec![Temperature::Cold],
            (_, true) => vec![Temperature::Warm],
            _ => vec![Temperature::Cold, Temperature::Warm],
        }
    }
}

fn run_suite(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let (launches, every) = (&args.launches, &args.launches.every);
    if args.conditions.iter().enumerate().any(|(n, name)| args.conditions[..n].contains(name)) {
        bail!("--conditions names a condition twice");
    }
    let Bed { session, phone, mut display, mut head, apps, runs } = match every.make(&FEW_APPS)? {
        Made::Bed(bed) => *bed,
        Made::Stopped(code) => return Ok(code),
    };
    let spec = args.writing.spec();
    let scope = Scope {
        conditions: args
            .conditions
            .iter()
            .map(|name| match name {
                ConditionName::Idle => condition("idle", "nothing else happens", None),
                ConditionName::Writers => {
                    condition("writers", "apps are installed and accounts synced meanwhile", Some(&spec))
                }
            })
            .collect(),
        temperatures: launches.temperatures(),
        rounds: usize::from(runs),
    };
    let sense = session.sense();
    let facts = phone.facts()?;
    let settings = every.watching.settings(!launches.keep_caches);
    let launcher = Launcher { sense: &sense, settings, stop: session.stop_flag() };
    let targets = targets(&phone, &apps, &display)?;
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
    let failed = warn(&mut head, &phone, &outcome, runs)?;
    let report =
        SuiteReport { header: end(head, &facts, 0), phone: facts, conditions: outcome.conditions, apps: outcome.apps };
    phone.down(true)?.iter().for_each(|sentence| eprintln!("{sentence}"));
    session.finish(Document::Suite(Box::new(report)), &every.outputs)?;
    Ok(ExitCode::from(u8::from(failed)))
}

fn run_what_if(args: &WhatIfArgs) -> anyhow::Result<ExitCode> {
    let (launches, every) = (&args.launches, &args.launches.every);
    let Bed { session, mut phone, mut display, mut head, apps, runs } = match every.make(&FEW_APPS)? {
        Made::Bed(bed) => *bed,
        Made::Stopped(code) => return Ok(code),
    };
    let mut variants = vec![Variant::Baseline];
    let wanted = if args.variants.is_empty() { Variant::ALL.to_vec() } else { args.variants.clone() };
    variants.extend(wanted.into_iter().filter(|variant| *variant != Variant::Baseline));
    let name = display.name().to_owned();
    let study = Study {
        variants,
        temperatures: launches.temperatures(),
        rounds: usize::from(runs),
        sqlite: SqliteSpec { span: Duration::from_secs(args.sqlite), ..SqliteSpec::default() },
        display: &name,
    };
    let sense = session.sense();
    let facts = phone.facts()?;
    let settings = every.watching.settings(!launches.keep_caches);
    let launcher = Launcher { sense: &sense, settings, stop: session.stop_flag() };
    let mut progress = |done: f64, doing: &str| session.show(done, doing);
    let outcome = suite::what_if(&launcher, &mut phone, &apps, &study, display.needed()?, &mut progress);
    session.clear();
    let (outcome, sqlite) = match outcome {
        Err(brisk_phone::Error::Stopped) => return stopped(&session, phone),
        other => other?,
    };
    let failed = warn(&mut head, &phone, &outcome, runs)?;
    let report = WhatIfReport {
        header: end(head, &facts, 0),
        phone: facts,
        conditions: outcome.conditions,
        apps: outcome.apps,
        sqlite,
    };
    phone.down(true)?.iter().for_each(|sentence| eprintln!("{sentence}"));
    session.finish(Document::WhatIf(Box::new(report)), &every.outputs)?;
    Ok(ExitCode::from(u8::from(failed)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_phone::Catalogue;

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
