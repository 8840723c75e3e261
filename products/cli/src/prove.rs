//! `brisk prove`: the same launches with brisk and without, on an emulated phone.
//!
//! Four conditions take turns launch by launch (A B C D D C B A): idle and beside a writer, with the daemon at work and
//! without. The daemon is the real one, started before a launch and ended after it, which gives all settings back; that is
//! also why what it learns from one launch to the next is no part of the figures.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use brisk_bench::environment::Run;
use brisk_bench::place::Place;
use brisk_launch::Launcher;
use brisk_phone::suite::{self, OnPhone, Scope, Situation, Target};
use brisk_phone::{Catalogue, Phone, WriterSpec};
use brisk_record::{Item, Reader};
use brisk_results::prove::conditions::{IDLE, IDLE_BRISK, WRITERS, WRITERS_BRISK};
use brisk_results::{ChangedSetting, Condition, Document, ProveReport, Temperature, WriterLoad};

use crate::bench::output::Outputs;
use crate::bench::session::Session;
use crate::bench::size;
use crate::lab::phone as lab_phone;
use crate::launch::{Watching, few_runs};
use crate::on_phone::{self, Brought, Wanted};

const AFTER_HELP: &str = "\
Examples:
  brisk prove                                       # a few apps on the flash of a Galaxy S5, about ten minutes
  brisk prove --preset nexus4-emmc --apps xterm,evince --runs 6 --html proof.html
  brisk prove --config my.toml --json proof.json    # with a configuration of your own

Launches alternate between the kernel's settings and brisk's, idle and beside a background writer. Nothing of this machine \
but the emulated phone is managed by the daemon that is measured. Exit codes: 0 measured, 1 measured but some apps could \
not be, 2 not possible, 130 stopped by Ctrl-C.";

/// Arguments of `brisk prove`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
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
    /// Launches of each kind: 6 or more give intervals of 95 %
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    runs: u16,
    /// What the background writer writes a second, as app installs and sync of accounts do
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "6M")]
    writer_rate: u64,
    /// Configuration of the daemon [default: its defaults]; which devices it manages and where it records is set here
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The daemon [default: briskd beside this program, or in PATH]
    #[arg(long, value_name = "FILE")]
    briskd: Option<PathBuf>,
    /// Where images of phones are kept [default: $BRISK_CACHE_DIR, or /var/cache/brisk]
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    #[command(flatten)]
    watching: Watching,
    #[command(flatten)]
    outputs: Outputs,
}

/// What is proved within ten minutes when nobody says with which apps.
const FEW_APPS: [&str; 4] = ["xterm", "galculator", "mousepad", "evince"];

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.outputs.check(Path::new("/"))?;
    let catalogue = Catalogue::builtin();
    let apps: Vec<&brisk_phone::App> = match args.apps.as_slice() {
        [] => catalogue.choose(&FEW_APPS.map(str::to_owned))?,
        [all] if all == "all" => catalogue.apps.iter().collect(),
        names => catalogue.choose(names)?,
    };
    let briskd = daemon(args.briskd.as_deref())?;
    let chosen = match &args.config {
        Some(path) => std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?,
        None => String::new(),
    };
    let mut display = args.watching.display.own()?;
    let session = Session::begin()?;
    let names: Vec<String> = apps.iter().map(|app| app.name.clone()).collect();
    let wanted = Wanted {
        preset: &args.preset,
        size_bytes: args.size,
        scheduler: args.scheduler.as_deref(),
        cache_dir: args.cache_dir.as_ref(),
    };
    let phone = match wanted.up(&session, &names)? {
        Brought::Up(phone) => *phone,
        Brought::Stopped => return Ok(session.was_stopped()),
    };
    let sense = session.sense();
    brisk_launch::scope::end_leftovers(&sense)?;
    let mut head = Run::begin(&sense, &Place::find(&sense, &phone.root(), false)?, 0)?;
    let facts = phone.facts()?;
    let record = phone.state_dir().join("daemon.brisk");
    let config = configure(&chosen, &phone, &record)?;
    let config_file = phone.state_dir().join("brisk.toml");
    std::fs::write(&config_file, &config).with_context(|| format!("cannot write {}", config_file.display()))?;
    let daemon_dir = phone.state_dir().join("daemon");
    let command: Vec<OsString> =
        vec![briskd.into(), "--config".into(), config_file.into(), "--run-dir".into(), daemon_dir.into()];
    let spec = WriterSpec { target_bytes_per_s: args.writer_rate as f64, ..WriterSpec::default() };
    let scope =
        Scope { conditions: conditions(&spec), temperatures: vec![Temperature::Cold], rounds: usize::from(args.runs) };
    let situations = scope.conditions.iter().map(|condition| Situation {
        writer: condition.writer.is_some().then_some(spec),
        beside: matches!(condition.name.as_str(), IDLE_BRISK | WRITERS_BRISK).then(|| command.clone()),
    });
    let mut around = OnPhone::new(&phone, lab_phone::program("write")?, situations.collect());
    let mut targets = Vec::new();
    for app in &apps {
        let app_ = phone.app(app, display.name())?;
        targets.push(Target { name: app.name.clone(), group: app.group.clone(), app: app_ });
    }
    let launcher = Launcher { sense: &sense, settings: args.watching.settings(true), stop: session.stop_flag() };
    let mut progress = |done: f64, doing: &str| session.show(done, doing);
    let outcome = suite::run(&launcher, &targets, &scope, display.needed()?, &mut around, &mut progress);
    drop(around);
    session.clear();
    let outcome = match outcome {
        Err(brisk_launch::Error::Stopped) => {
            phone.down(true).context("cannot take the phone down; try brisk lab phone down --all --force")?;
            return Ok(session.was_stopped());
        }
        other => other?,
    };
    head.warn(outcome.warnings.iter().cloned());
    head.warn(on_phone::late(&phone.flash()?));
    if args.runs < 6 {
        head.warn([few_runs(usize::from(args.runs))]);
    }
    let settings = changed(&record);
    let mut header = head.end(None, 0);
    if let Some(device) = &mut header.environment.device {
        device.lab_preset = Some(facts.preset.clone());
    }
    let failed = outcome.apps.iter().any(|app| app.failure.is_some());
    let report = ProveReport {
        header,
        phone: facts,
        conditions: outcome.conditions,
        gains: outcome.apps.iter().flat_map(suite::gains).collect(),
        apps: outcome.apps,
        settings,
        config,
    };
    phone.down(true)?.iter().for_each(|sentence| eprintln!("{sentence}"));
    session.finish(Document::Prove(Box::new(report)), &args.outputs)?;
    Ok(ExitCode::from(u8::from(failed)))
}

/// The daemon's program.
fn daemon(chosen: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(path) = chosen {
        if !path.is_file() {
            bail!("{} is no program", path.display());
        }
        return Ok(path.to_owned());
    }
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join("briskd")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|dir| dir.join("briskd"));
    let mut places = beside.into_iter().chain(in_path);
    places.find(|place| place.is_file()).context(
        "briskd is neither beside this program nor in PATH: it is what is to be proved (build it: cargo build --release \
         --workspace; or name it with --briskd)",
    )
}

/// The person's configuration with this phone as the only device, and its record where it can be looked at.
fn configure(chosen: &str, phone: &Phone, record: &Path) -> anyhow::Result<String> {
    let mut table: toml::Table = chosen.parse().context("the configuration is not TOML")?;
    let device = phone.device()?.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let section = table.entry("daemon").or_insert_with(|| toml::Value::Table(toml::Table::new()));
    let section = section.as_table_mut().context("[daemon] of the configuration is not a table")?;
    section.insert("devices".to_owned(), toml::Value::Array(vec![toml::Value::String(device)]));
    let mut kept = toml::Table::new();
    kept.insert("path".to_owned(), toml::Value::String(record.to_string_lossy().into_owned()));
    kept.insert("max_bytes".to_owned(), toml::Value::Integer(64 << 20));
    section.insert("record".to_owned(), toml::Value::Table(kept));
    Ok(table.to_string())
}

fn conditions(spec: &WriterSpec) -> Vec<Condition> {
    let load = || WriterLoad {
        text: spec.text(),
        target_bytes_per_s: spec.target_bytes_per_s,
        reached_bytes_per_s: None,
        syncs_per_s: None,
    };
    [
        (IDLE, "nothing else happens", None),
        (IDLE_BRISK, "nothing else happens, brisk is at work", None),
        (WRITERS, "apps are installed and accounts synced meanwhile", Some(load())),
        (WRITERS_BRISK, "apps are installed and accounts synced meanwhile, brisk is at work", Some(load())),
    ]
    .map(|(name, text, writer)| Condition { name: name.to_owned(), text: text.to_owned(), writer })
    .into()
}

/// What the daemon wrote, by its own record; without one there is nothing to tell.
fn changed(record: &Path) -> Vec<ChangedSetting> {
    let mut found: BTreeMap<String, ChangedSetting> = BTreeMap::new();
    let Ok(reader) = Reader::open(record) else { return Vec::new() };
    for item in reader {
        let Ok(Item::Decided(decided)) = item else { continue };
        for effect in decided.effects.into_iter().filter(|effect| effect.outcome == "written") {
            let (Some(from), Some(to)) = (effect.from, effect.to) else { continue };
            // Each launch has a group of its own; what all of them got is told once.
            let knob = match effect.knob {
                brisk_core::knob::Knob::IoPriority { group } if group.starts_with("app-") => {
                    "io_priority of the app".to_owned()
                }
                knob => knob.to_string(),
            };
            let entry = found.entry(knob.clone()).or_insert(ChangedSetting { knob, before: from, values: Vec::new() });
            if !entry.values.contains(&to) {
                entry.values.push(to);
            }
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_few_apps_are_in_the_catalogue() {
        assert!(Catalogue::builtin().choose(&FEW_APPS.map(str::to_owned)).is_ok());
    }

    #[test]
    fn a_daemon_that_is_not_there_is_told() {
        assert!(daemon(Some(Path::new("/no/such/briskd"))).is_err());
    }

    #[test]
    fn every_condition_with_brisk_has_its_twin_without() {
        let names: Vec<String> = conditions(&WriterSpec::default()).into_iter().map(|c| c.name).collect();
        assert_eq!(names, [IDLE, IDLE_BRISK, WRITERS, WRITERS_BRISK]);
    }
}
