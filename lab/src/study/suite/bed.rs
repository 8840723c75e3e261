//! What the suite, what-if and the proof share: their arguments, the phone and the screen that they measure on, and
//! what their reports begin with.

use std::path::Path;
use std::process::ExitCode;

use crate::phone::suite::{Outcome, Target};
use crate::phone::{Catalogue, MemorySpec, Phone, WriterSpec};
use crate::results::{Condition, Header, PhoneFacts, WriterLoad};
use crate::study::suite::arguments::{Every, Writing};
use anyhow::{Context as _, bail};
use brisk_bench::environment::Run;
use brisk_bench::place::Place;
use brisk_command::session::{Session, lab_late};

use crate::study::display::{self, Display};
use crate::study::launch::few_runs;
use crate::study::on_phone::{Brought, Wanted};

/// Launches of each kind with the default apps: done within minutes.
const FEW_RUNS: u16 = 3;
/// Launches of each kind with apps that were named.
const RUNS: u16 = 6;

/// The background writer that was asked for.
///
/// # Errors
/// When there can be no such writer.
pub(crate) fn writer(writing: &Writing) -> anyhow::Result<WriterSpec> {
    let spec = WriterSpec { target_bytes_per_s: writing.writer_rate as f64, ..WriterSpec::default() };
    match spec.trouble() {
        Some(trouble) => bail!("--writer-rate {}: {trouble}", writing.writer_rate),
        None => Ok(spec),
    }
}

/// The phone and the screen of a measurement, and what the report begins with.
pub(crate) struct Bed {
    pub(crate) session: Session,
    pub(crate) phone: Phone,
    pub(crate) display: Display,
    pub(crate) head: Run,
    pub(crate) apps: Vec<&'static crate::phone::App>,
    pub(crate) runs: u16,
}

/// What making a [`Bed`] came to.
pub(crate) enum Made {
    Bed(Box<Bed>),
    Stopped(ExitCode),
}

/// Brings up the phone and a screen; `few` are the apps when none was named. Impossible options are refused first.
pub(crate) fn make(every: &Every, few: &[&str]) -> anyhow::Result<Made> {
    make_with(every, few, None)
}

/// The same with limited memory.
pub(crate) fn make_with(every: &Every, few: &[&str], memory: Option<MemorySpec>) -> anyhow::Result<Made> {
    every.outputs.check(Path::new("/"))?;
    let apps = chosen(every, few)?;
    let display = display::of_phone(&every.watching.display)?;
    let session = Session::begin()?;
    let names: Vec<String> = apps.iter().map(|app| app.name.clone()).collect();
    let wanted = Wanted {
        preset: &every.preset,
        size_bytes: every.size,
        scheduler: every.scheduler.as_deref(),
        cache_dir: every.cache_dir.as_ref(),
        memory,
    };
    let phone = match wanted.up(&session, &names)? {
        Brought::Up(phone) => *phone,
        Brought::Stopped => return Ok(Made::Stopped(session.was_stopped())),
    };
    let sense = session.sense();
    crate::launch::scope::end_leftovers(&sense)?;
    let head = Run::begin(&sense, &Place::find(&sense, &phone.root(), false)?, 0)?;
    let runs = every.runs.unwrap_or(if every.apps.is_empty() { FEW_RUNS } else { RUNS });
    Ok(Made::Bed(Box::new(Bed { session, phone, display, head, apps, runs })))
}

/// The apps that were named, or `few`.
pub(crate) fn chosen(every: &Every, few: &[&str]) -> anyhow::Result<Vec<&'static crate::phone::App>> {
    let catalogue = Catalogue::builtin();
    match every.apps.as_slice() {
        [] => Ok(catalogue.choose(&few.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())?),
        [all] if all == "all" => Ok(catalogue.apps.iter().collect()),
        names => Ok(catalogue.choose(names)?),
    }
}

/// The apps as the suite launches them.
pub(crate) fn targets(
    phone: &Phone,
    apps: &[&'static crate::phone::App],
    display: &Display,
) -> anyhow::Result<Vec<Target>> {
    let target = |app: &&crate::phone::App| -> anyhow::Result<Target> {
        Ok(Target { name: app.name.clone(), group: app.group.clone(), app: phone.app(app, display.name())? })
    };
    apps.iter().map(target).collect()
}

/// A condition in words, with its background writer.
pub(crate) fn condition(name: &str, text: &str, writer: Option<&WriterSpec>) -> Condition {
    let load = |spec: &WriterSpec| WriterLoad {
        text: spec.text(),
        target_bytes_per_s: spec.target_bytes_per_s,
        reached_bytes_per_s: None,
        syncs_per_s: None,
    };
    Condition { name: name.to_owned(), text: text.to_owned(), writer: writer.map(load) }
}

/// Takes the phone down, then prints that the run was stopped.
pub(crate) fn stopped(session: &Session, phone: Phone) -> anyhow::Result<ExitCode> {
    phone.down(true).context("cannot take the phone down; try brisk lab phone down --all --force")?;
    Ok(session.was_stopped())
}

/// Adds what to know of the launches and of the flash; gives whether some app has no figures.
pub(crate) fn warn(head: &mut Run, phone: &Phone, outcome: &Outcome, runs: u16) -> anyhow::Result<bool> {
    head.warn(lab_late(&phone.flash()?));
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args as _, FromArgMatches as _};

    #[test]
    fn the_default_rate_is_that_of_the_writer() {
        let matches = Writing::augment_args(clap::Command::new("suite")).get_matches_from(["suite"]);
        let writing = Writing::from_arg_matches(&matches).expect("defaults");
        assert_eq!(writer(&writing).expect("a rate").target_bytes_per_s, WriterSpec::default().target_bytes_per_s);
    }
}
