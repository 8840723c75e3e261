//! `brisk prove`: the same launches with brisk and without, on an emulated phone.
//!
//! Four conditions take turns launch by launch (A B C D D C B A): idle and concurrent with a writer, with the daemon at work and
//! without; after them readers concurrent with writers ([`storage`]). The daemon is the real one, started before a launch and ended after it, which restores all settings; therefore
//! what it learns from one launch to the next is not in the figures.

mod changes;
mod storage;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use brisk_command::lab::prove::Args;
use brisk_launch::Launcher;
use brisk_phone::suite::{self, OnPhone, Scope, Situation};
use brisk_phone::{Phone, WriterSpec};
use brisk_profile::store::PROFILES;
use brisk_results::prove::conditions::{IDLE, IDLE_BRISK, WRITERS, WRITERS_BRISK};
use brisk_results::{Condition, Document, ProveReport, Temperature, Warning};

use crate::lab::phone as lab_phone;
use crate::launch::settings;
use crate::suite::bed::{self, Bed, Made, condition, end, stopped, targets, warn};

/// The apps by default: done within ten minutes.
const FEW_APPS: [&str; 4] = ["xterm", "galculator", "mousepad", "evince"];

/// Share of the time that launches take; the rest is for readers and writers.
const LAUNCHES_SHARE: f64 = 0.75;

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let briskd = daemon(args.briskd.as_deref())?;
    let chosen = match &args.config {
        Some(path) => brisk_files::read_text(path, brisk_files::TEXT_BYTES_MAX)?,
        None => String::new(),
    };
    let profiles = std::path::absolute(&args.profiles)?;
    if args.profiles != Path::new(PROFILES) && !profiles.is_dir() {
        bail!("there is no directory {}: it is to hold what was measured on devices", profiles.display());
    }
    let Bed { session, phone, mut display, mut head, apps, runs } = match bed::make(&args.every, &FEW_APPS)? {
        Made::Bed(bed) => *bed,
        Made::Stopped(code) => return Ok(code),
    };
    let sense = session.sense();
    let facts = phone.facts()?;
    let record = phone.state_dir().join("daemon.brisk");
    let config = configure(&chosen, &phone, &record)?;
    let config_file = phone.state_dir().join("brisk.toml");
    std::fs::write(&config_file, &config).with_context(|| format!("cannot write {}", config_file.display()))?;
    let daemon_dir = phone.state_dir().join("daemon");
    let command = vec![
        briskd.into_os_string(),
        "--config".into(),
        config_file.into(),
        "--run-dir".into(),
        daemon_dir.into(),
        "--profiles-dir".into(),
        profiles.into(),
    ];
    let spec = bed::writer(&args.writing);
    let scope =
        Scope { conditions: conditions(&spec), temperatures: vec![Temperature::Cold], rounds: usize::from(runs) };
    let situations = scope.conditions.iter().map(|condition| Situation {
        writer: condition.writer.is_some().then_some(spec),
        companion: matches!(condition.name.as_str(), IDLE_BRISK | WRITERS_BRISK).then(|| command.clone()),
    });
    let mut around = OnPhone::new(&phone, lab_phone::program("write")?, situations.collect());
    let targets = targets(&phone, &apps, &display)?;
    let launcher =
        Launcher { sense: &sense, settings: settings(&args.every.watching, true), stop: session.stop_flag() };
    let share = if args.no_storage { 1.0 } else { LAUNCHES_SHARE };
    let mut progress = |done: f64, doing: &str| session.show(done * share, doing);
    let outcome = suite::run(&launcher, &targets, &scope, display.needed()?, &mut around, &mut progress);
    drop(around);
    if args.no_storage || outcome.is_err() {
        session.clear();
    }
    let outcome = match outcome {
        Err(brisk_launch::Error::Stopped) => return stopped(&session, phone),
        other => other?,
    };
    let mut failed = warn(&mut head, &phone, &outcome, runs)?;
    let storage = if args.no_storage {
        None
    } else {
        match storage::measure(&session, &phone, &command, runs, LAUNCHES_SHARE) {
            Ok(Some(measured)) => Some(measured),
            Ok(None) => return stopped(&session, phone),
            // The figures of the launches are still reported.
            Err(error) => {
                failed = true;
                let text = format!("Readers and writers could not be measured: {error:#}.");
                head.warn([Warning { code: "storage_failed".to_owned(), text }]);
                None
            }
        }
    };
    let changes = changes::read(&record);
    let mut header = end(head, &facts, storage.as_ref().map_or(0, |(_, of_storage)| of_storage.written_bytes));
    let storage = storage.map(|(storage, of_storage)| {
        header.io_engine = of_storage.io_engine;
        let known = |warning: &Warning| header.warnings.iter().any(|known| known.code == warning.code);
        let new: Vec<Warning> = of_storage.warnings.into_iter().filter(|warning| !known(warning)).collect();
        header.warnings.extend(new);
        storage
    });
    let report = ProveReport {
        header,
        phone: facts,
        conditions: outcome.conditions,
        gains: outcome.apps.iter().flat_map(suite::gains).collect(),
        apps: outcome.apps,
        storage,
        settings: changes.settings,
        set_ups: changes.set_ups,
        config,
    };
    phone.down(true)?.iter().for_each(|sentence| eprintln!("{sentence}"));
    session.finish(Document::Prove(Box::new(report)), &args.every.outputs)?;
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
    let in_own_dir = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join("briskd")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|dir| dir.join("briskd"));
    let mut places = in_own_dir.into_iter().chain(in_path);
    places.find(|place| place.is_file()).context(
        "briskd is neither in the directory of this program nor in PATH: prove measures it (build it: cargo build --release \
         --workspace; or name it with --briskd)",
    )
}

/// The person's configuration with this phone as the only device, and a record that can be read later.
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
    vec![
        condition(IDLE, "nothing else happens", None),
        condition(IDLE_BRISK, "nothing else happens, brisk is at work", None),
        condition(WRITERS, "apps are installed and accounts synced meanwhile", Some(spec)),
        condition(WRITERS_BRISK, "apps are installed and accounts synced meanwhile, brisk is at work", Some(spec)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_phone::Catalogue;

    #[test]
    fn the_few_apps_are_in_the_catalogue() {
        assert!(Catalogue::builtin().choose(&FEW_APPS.map(str::to_owned)).is_ok());
    }

    #[test]
    fn a_missing_daemon_is_reported() {
        assert!(daemon(Some(Path::new("/no/such/briskd"))).is_err());
    }

    #[test]
    fn each_load_is_measured_without_brisk_and_with_it_and_nothing_else_differs() {
        let (loaded, idle): (Vec<_>, Vec<_>) =
            conditions(&WriterSpec::default()).into_iter().partition(|condition| condition.writer.is_some());
        for pair in [idle, loaded] {
            let [without, with] = &pair[..] else { panic!("{pair:?}") };
            assert_eq!(without.writer, with.writer);
            assert_eq!(with.name, format!("{}_with_brisk", without.name));
            assert_eq!(with.text, format!("{}, brisk is at work", without.text));
        }
    }
}
