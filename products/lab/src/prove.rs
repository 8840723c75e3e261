//! `brisk prove`: the same launches with brisk and without, on an emulated phone.
//!
//! Four conditions take turns launch by launch (A B C D D C B A): idle and concurrent with a writer, with the daemon at work and
//! without; after them readers concurrent with writers ([`storage`]). The daemon is the real one, started before a launch and ended after it, which restores all settings; therefore
//! what it learns from one launch to the next is not in the figures.

mod changes;
mod input;
mod storage;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use brisk_command::lab::prove::Args;
use brisk_launch::Launcher;
use brisk_phone::WriterSpec;
use brisk_phone::suite::{self, OnPhone, Scope, Situation};
use brisk_results::prove::conditions::{IDLE, IDLE_BRISK, WRITERS, WRITERS_BRISK};
use brisk_results::{Condition, Document, ProveReport, Temperature, Warning};
use brisk_sense::Sense;

use crate::lab::phone as lab_phone;
use crate::launch::settings;
use crate::other_daemons;
use crate::suite::bed::{self, Bed, Made, condition, end, stopped, targets, warn};

/// The apps by default: done within ten minutes.
const FEW_APPS: [&str; 4] = ["xterm", "galculator", "mousepad", "evince"];

/// Share of the time that launches take; the rest is for readers and writers.
const LAUNCHES_SHARE: f64 = 0.75;

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let input = input::check(args, &Sense::default())?;
    let spec = bed::writer(&args.writing)?;
    let Bed { session, phone, mut display, mut head, apps, runs } = match bed::make(&args.every, &FEW_APPS)? {
        Made::Bed(bed) => *bed,
        Made::Stopped(code) => return Ok(code),
    };
    let sense = session.sense();
    let facts = phone.facts()?;
    let disk = phone.device()?.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(other) = other_daemons::of_phone(&sense, &phone)?.into_iter().next() {
        phone.down(true)?;
        bail!(other);
    }
    let record = phone.state_dir().join("daemon.brisk");
    let config = configure(&input.config, &disk, &record)?;
    let config_file = phone.state_dir().join("brisk.toml");
    std::fs::write(&config_file, &config).with_context(|| format!("cannot write {}", config_file.display()))?;
    let command = vec![
        input.briskd.into_os_string(),
        "--config".into(),
        config_file.into(),
        "--run-dir".into(),
        phone.daemon_dir().into(),
        "--profiles-dir".into(),
        input.profiles.into(),
    ];
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
    let mut disturbed = other_daemons::warnings(&sense, &phone)?;
    disturbed.extend(changed_externally(&changes));
    failed |= !disturbed.is_empty();
    head.warn(disturbed);
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

/// The warning of settings that another program changed during the proof.
fn changed_externally(changes: &changes::Changes) -> Option<Warning> {
    let knobs = changes.changed_externally.join(", ");
    let text = format!(
        "Another program changed {knobs} during the proof. brisk left these settings alone, so launches with brisk were in part \
         measured without them."
    );
    (!knobs.is_empty()).then(|| Warning { code: "changed_externally".to_owned(), text })
}

/// The person's configuration with the phone's disk as the only device, and a record that can be read later.
fn configure(chosen: &str, disk: &str, record: &Path) -> anyhow::Result<String> {
    let mut table: toml::Table = chosen.parse().context("the configuration is not TOML")?;
    let section = table.entry("daemon").or_insert_with(|| toml::Value::Table(toml::Table::new()));
    let section = section.as_table_mut().context("[daemon] of the configuration is not a table")?;
    section.insert("devices".to_owned(), toml::Value::Array(vec![toml::Value::String(disk.to_owned())]));
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
    fn settings_that_were_changed_externally_are_a_warning() {
        let mut changes = changes::Changes::default();
        assert_eq!(changed_externally(&changes), None);
        changes.changed_externally.push("queue/loop1/scheduler".to_owned());
        let warning = changed_externally(&changes).expect("a warning");
        assert!(warning.code == "changed_externally" && warning.text.contains("queue/loop1/scheduler"), "{warning:?}");
    }

    #[test]
    fn the_phone_is_the_only_device_whatever_the_configuration_lists() {
        let text = configure("[daemon]\ndevices = [\"sda\"]\n[engines]\norder = []\n", "loop7", Path::new("/record"));
        let config = brisk_daemon::config::Config::parse(&text.expect("TOML")).expect("valid");
        assert_eq!(config.daemon.devices, brisk_daemon::config::Devices::These(vec!["loop7".to_owned()]));
        assert_eq!((config.daemon.record.path.to_str(), config.engines.order.len()), (Some("/record"), 0));
    }

    #[test]
    fn the_few_apps_are_in_the_catalogue() {
        assert!(Catalogue::builtin().choose(&FEW_APPS.map(str::to_owned)).is_ok());
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
