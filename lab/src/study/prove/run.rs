//! `brisk prove`: the same launches with brisk and without, on an emulated phone.
//!
//! Four conditions take turns launch by launch (A B C D D C B A): idle and concurrent with a writer, with the daemon at
//! work and without; where several engines were named, each of them alone as well ([`super::variants`]); after them
//! readers concurrent with writers ([`super::storage`]). The daemon is the real one, started before a launch and ended
//! after it, which restores all settings; therefore what it learns from one launch to the next is not in the figures.
//! Launch prefetch learns two cold launches of each app before.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::launch::Launcher;
use crate::phone::Phone;
use crate::phone::suite::{self, OnPhone, Scope, Situation, Target};
use crate::results::{Document, ProveReport, Temperature, Warning};
use crate::study::prove::arguments::Args;
use anyhow::{Context as _, bail};
use brisk_command::session::Session;
use brisk_sense::Sense;

use super::input::{self, Input};
use super::variants::{self, Place, Variant};
use super::{changes, storage};
use crate::command::device::phone as lab_phone;
use crate::study::display::Display;
use crate::study::launch::settings;
use crate::study::other_daemons;
use crate::study::prefetch::{self, Prefetching};
use crate::study::suite::bed::{self, Bed, Made, end, stopped, targets, warn};

/// The apps by default: done within ten minutes.
const FEW_APPS: [&str; 4] = ["xterm", "galculator", "mousepad", "evince"];

/// Share of the time that launches take; the rest is for readers and writers.
const LAUNCHES_SHARE: f64 = 0.75;

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
    let targets = targets(&phone, &apps, &display)?;
    let launcher =
        Launcher { sense: &sense, settings: settings(&args.every.watching, true), stop: session.stop_flag() };
    let prefetching = match learn(&input, &launcher, &targets, &phone, &mut display, &session) {
        Err(error) if matches!(error.downcast_ref(), Some(crate::launch::Error::Stopped)) => {
            return stopped(&session, phone);
        }
        learned => learned?,
    };
    let set_ups = set_ups(&input, &phone, &disk, &record, prefetching.as_ref())?;
    let (conditions, places): (Vec<_>, Vec<_>) = variants::conditions(&input.variants, &spec).into_iter().unzip();
    let scope = Scope { conditions, temperatures: vec![Temperature::Cold], rounds: usize::from(runs) };
    let situations = scope.conditions.iter().zip(places).map(|(condition, place)| Situation {
        writer: condition.writer.is_some().then_some(spec),
        companion: place.map(|place| set_ups[place].command.clone()),
    });
    let mut around = OnPhone::new(&phone, lab_phone::program("write")?, situations.collect());
    let share = if args.no_storage { 1.0 } else { LAUNCHES_SHARE };
    let mut progress = |done: f64, doing: &str| session.show(done * share, doing);
    let outcome = suite::run(&launcher, &targets, &scope, display.needed()?, &mut around, &mut progress);
    drop(around);
    if args.no_storage || outcome.is_err() {
        session.clear();
    }
    let outcome = match outcome {
        Err(crate::launch::Error::Stopped) => return stopped(&session, phone),
        other => other?,
    };
    let mut failed = warn(&mut head, &phone, &outcome, runs)?;
    let storage = if args.no_storage {
        None
    } else {
        match storage::measure(&session, &phone, &set_ups[0].command, runs, LAUNCHES_SHARE) {
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
        config: set_ups[0].config.clone(),
    };
    phone.down(true)?.iter().for_each(|sentence| brisk_program::info!("{sentence}"));
    session.finish(Document::from(report), &args.every.outputs)?;
    Ok(ExitCode::from(u8::from(failed)))
}

/// The warning of settings that another program changed during the proof.
fn changed_externally(changes: &changes::Changes) -> Option<Warning> {
    let knobs = changes.changed_externally.join(", ");
    let text = format!(
        "Another program changed {knobs} during the proof. brisk left these settings alone, so launches with brisk \
         were in part measured without them."
    );
    (!knobs.is_empty()).then(|| Warning { code: "changed_externally".to_owned(), text })
}

/// The daemon of one variant.
#[derive(Debug)]
struct SetUp {
    /// Text of its configuration.
    config: String,
    command: Vec<OsString>,
}

/// The daemons of all variants, the one with all engines first; their configurations are in the phone's directory.
fn set_ups(
    input: &Input,
    phone: &Phone,
    disk: &str,
    record: &Path,
    prefetching: Option<&Prefetching>,
) -> anyhow::Result<Vec<SetUp>> {
    let place = Place { disk, record, prefetch: prefetching.map(Prefetching::section) };
    // Nothing of what this machine's own daemon has learned.
    let learned = prefetching.map_or_else(|| phone.state_dir().join("learned"), |of| of.learned_dir().to_owned());
    let run_dir = phone.daemon_dir();
    let set_up = |variant: &Variant| {
        let config = variants::configure(&input.config, &place, variant)?;
        let file = phone.state_dir().join(format!("{}.toml", variant.name));
        std::fs::write(&file, &config).with_context(|| format!("cannot write {}", file.display()))?;
        let directories: [(&str, &Path); 4] =
            [("--config", &file), ("--run-dir", &run_dir), ("--profiles", &input.profiles), ("--learned", &learned)];
        let arguments = directories.into_iter().flat_map(|(name, path)| [name.into(), path.as_os_str().to_owned()]);
        Ok(SetUp { config, command: std::iter::once(input.briskd.clone().into_os_string()).chain(arguments).collect() })
    };
    input.variants.iter().map(set_up).collect()
}

/// Has launch prefetch learn a cold launch of each app, where it is at work in a condition. An app that cannot be
/// learned is launched without it: the report then has its launches as they are.
fn learn(
    input: &Input,
    launcher: &Launcher<'_>,
    targets: &[Target],
    phone: &Phone,
    display: &mut Display,
    session: &Session,
) -> anyhow::Result<Option<Prefetching>> {
    if !input.prefetches {
        return Ok(None);
    }
    let mut prefetching = Prefetching::new(phone, prefetch::Chosen::of(input.briskd.clone(), &input.config)?)?;
    for target in targets {
        session.show(0.0, &format!("{}: its launch is learned", target.name));
        let learned = prefetching.learn(launcher, &target.app, display.needed()?, phone);
        session.clear();
        match learned {
            Ok(sentence) => brisk_program::info!("{sentence}"),
            Err(error) if matches!(error.downcast_ref(), Some(crate::launch::Error::Stopped)) => return Err(error),
            Err(error) => {
                prefetching.end()?;
                phone.end_apps()?;
                brisk_program::warn!("brisk: warning: {}: its launch cannot be learned: {error:#}", target.name);
            }
        }
    }
    Ok(Some(prefetching))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phone::Catalogue;

    #[test]
    fn settings_that_were_changed_externally_are_a_warning() {
        let mut changes = changes::Changes::default();
        assert_eq!(changed_externally(&changes), None);
        changes.changed_externally.push("queue/loop1/scheduler".to_owned());
        let warning = changed_externally(&changes).expect("a warning");
        assert!(warning.code == "changed_externally" && warning.text.contains("queue/loop1/scheduler"), "{warning:?}");
    }

    #[test]
    fn the_few_apps_are_in_the_catalogue() {
        assert!(Catalogue::builtin().choose(&FEW_APPS.map(str::to_owned)).is_ok());
    }
}
