//! `brisk explain`: why settings have their values, now or in the past; what the engines make of an app now.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use brisk_api::{AppMemory, Apps, Client, ClientError, Launches, Pages, Resting, Status, Trials, dirs, resting};
use brisk_command::json::{Document, Json};
use brisk_core::decision::Note;
use brisk_core::group::is_meant;
use brisk_core::knob::{Knob, NotAKnob};
use brisk_core::state::SettingState;
use brisk_daemon::config::Config;
use brisk_daemon::explain::Explainer;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::Serialize;
use serde_json::json;

use crate::status::{Socket, moment, setting_lines};
use crate::{launches, pages};

const AFTER_HELP: &str = "\
Examples:
  brisk explain
  brisk explain queue/mmcblk0/scheduler
  brisk explain org.gnome.Evince
  brisk explain --at 14:05
  brisk explain --at '2026-11-22 02:30' --record day.brisk

Without --at it asks the daemon; with --at, or when no daemon runs, it reads the daemon's record. An app, which 'brisk \
apps' lists, is explained as it is now. Exit codes: 0 explained, 1 no engine requests that setting, 2 not possible.";

/// Arguments of `brisk explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    socket: Socket,
    /// The setting, such as queue/mmcblk0/scheduler, or the id or control group of an app [default: all settings]
    #[arg(value_name = "SETTING|APP")]
    what: Option<String>,
    /// The moment: a time of today, such as 14:05, or a day and time, such as '2026-11-22 02:30'
    #[arg(long, value_name = "MOMENT", value_parser = at)]
    at: Option<Timestamp>,
    /// The record to read [default: that of the configuration]
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.json.check(args.record.as_slice())?;
    let knob = match args.what.as_deref().map(str::parse::<Knob>) {
        None => None,
        Some(Ok(knob)) => Some(knob),
        Some(Err(no_knob)) => return explain_app(args, &no_knob),
    };
    let now_unix_ms = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0);
    if args.at.is_none() && args.record.is_none() {
        match args.socket.status() {
            Ok(status) => {
                let (settings, notes, resting) = (status.settings, status.notes, status.resting);
                let of_daemon = Explained { decided_unix_ms: None, settings, notes, resting };
                return show(args, of_daemon, knob.as_ref(), now_unix_ms);
            }
            Err(ClientError::NotRunning { .. }) => {
                brisk_program::notice!("brisk: briskd does not run; this is from its record")
            }
            Err(error) => return Err(error.into()),
        }
    }
    let path = args.record.clone().map_or_else(|| record_of_configuration(&args.socket.run_dir()), Ok)?;
    let at_unix_ms = args.at.map(|at| u64::try_from(at.as_millisecond()).unwrap_or(0));
    let mut explainer = Explainer::new(at_unix_ms);
    let lost = brisk_record::read_with_older_part(&path, |item| {
        explainer.take(item);
        Ok::<(), brisk_record::Error>(())
    })?;
    if lost.is_damage() {
        brisk_program::warn!("brisk: a part of {} is lost; this is from what is left", path.display());
    }
    let found = explainer.end();
    let Some(decided_unix_ms) = found.decided_unix_ms else {
        let nothing = "no daemon had decided anything: all settings were as before brisk\n".to_owned();
        args.json.show(&Document::new("explain", Explained::default()), || nothing)?;
        return Ok(ExitCode::from(1));
    };
    let of_record = Explained {
        decided_unix_ms: Some(decided_unix_ms),
        settings: found.settings,
        notes: found.notes,
        resting: Vec::new(),
    };
    show(args, of_record, knob.as_ref(), at_unix_ms.unwrap_or(now_unix_ms))
}

/// What the memory engine makes of an app now, and where its pages are; `no_knob` says why it is no setting.
fn explain_app(args: &Args, no_knob: &NotAKnob) -> anyhow::Result<ExitCode> {
    let name = &no_knob.0;
    if args.at.is_some() || args.record.is_some() {
        bail!("{no_knob}; an app is explained as it is now, without --at and --record");
    }
    let ask = |client: &mut Client| -> Result<(Apps, Pages, Launches, Trials, Vec<Resting>), ClientError> {
        let apps = client.call("GetApps", &[], "apps")?;
        let pages = client.call("GetPages", &[("app", name.as_str().into())], "pages")?;
        let launches = client.call("GetLaunches", &[], "launches")?;
        let trials = client.call("GetTrials", &[], "trials")?;
        let status: Status = client.call("GetStatus", &[], "status")?;
        // What is a matter of settings is explained with these.
        let is_of_apps = |resting: &Resting| !resting::is_of_settings(&resting.part);
        Ok((apps, pages, launches, trials, status.resting.into_iter().filter(is_of_apps).collect()))
    };
    let (apps, pages, mut of_launches, mut trials, resting) =
        match args.socket.connect().and_then(|mut client| ask(&mut client)) {
            Ok(all) => all,
            // What looks like a setting was meant as one.
            Err(ClientError::NotRunning { .. }) if name.contains('/') => bail!("{no_knob}"),
            Err(error) => return Err(error.into()),
        };
    let ids: Vec<&str> =
        apps.survey.apps.iter().filter(|row| is_meant(&row.group, name)).map(|row| row.id.as_str()).collect();
    of_launches.apps.retain(|app| app.id == *name || ids.contains(&app.id.as_str()));
    let Some(mut text) = crate::apps::explain(&apps, name).or_else(|| launches::explain_absent(&of_launches)) else {
        bail!("{no_knob}; and no app that runs has this id or control group: 'brisk apps --all' lists them");
    };
    text += &pages::explain(&pages, name);
    text += &launches::explain(&of_launches);
    let now_unix_ms = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0);
    for id in of_launches.apps.iter().map(|app| app.id.as_str()) {
        text += &crate::trial::of_app(&trials, id, now_unix_ms);
    }
    let is_of_app = |subject: &str| of_launches.apps.iter().any(|app| subject == format!("app {}", app.id));
    trials.engines.iter_mut().for_each(|of| of.subjects.retain(|subject| is_of_app(&subject.subject)));
    text.extend(resting.iter().map(|resting| format!("{resting}\n")));
    let is_it = |row: &&AppMemory| row.id == *name || is_meant(&row.group, name);
    let rows: Vec<&AppMemory> = apps.survey.apps.iter().filter(is_it).collect();
    let of_pages: Vec<_> = pages::of(&pages, name).collect();
    let document = json!({
        "active": apps.active, "apps": rows,
        "swap_active": pages.active, "at_ns": pages.survey.at_ns, "pages": of_pages,
        "prefetch_active": of_launches.active, "launches": of_launches.apps, "trials": trials.engines,
        "resting": resting,
    });
    args.json.show(&Document::new("explain", document), || text)?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Debug, Default, Serialize)]
struct Explained {
    /// When the record has it decided; `None` for the settings of this moment.
    decided_unix_ms: Option<u64>,
    settings: Vec<SettingState>,
    notes: Vec<Note>,
    /// Parts that the daemon does without at this moment.
    resting: Vec<Resting>,
}

fn show(args: &Args, mut explained: Explained, knob: Option<&Knob>, now_unix_ms: u64) -> anyhow::Result<ExitCode> {
    if let Some(knob) = knob {
        explained.settings.retain(|setting| setting.knob().is_meant(&knob.text()));
        explained.notes.clear();
        explained.resting.retain(|resting| resting.part == resting::of_knob(knob));
    }
    args.json.show(&Document::new("explain", &explained), || text(&explained, knob, now_unix_ms))?;
    Ok(if explained.settings.is_empty() && knob.is_some() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn text(explained: &Explained, knob: Option<&Knob>, now_unix_ms: u64) -> String {
    let mut text = explained.decided_unix_ms.map_or_else(String::new, |at| format!("as decided at {}\n", moment(at)));
    text.extend(explained.settings.iter().map(|setting| setting_lines(setting, now_unix_ms)));
    match knob {
        Some(knob) if explained.settings.is_empty() => {
            text += &format!("{knob} is as it was before brisk: no engine requests it\n");
        }
        None if explained.settings.is_empty() => text += "all settings are as before brisk: no engine requests any\n",
        _ => {}
    }
    text.extend(explained.notes.iter().map(|note| format!("{} notes: {}\n", note.engine, note.reason)));
    text.extend(explained.resting.iter().map(|resting| format!("{resting}\n")));
    text
}

/// The daemon's record, as its configuration says.
fn record_of_configuration(run_dir: &Path) -> anyhow::Result<PathBuf> {
    let (config, _) = Config::load(&dirs::config(), true).context("cannot tell where the record is")?;
    let record = config.daemon.record.of(run_dir, false);
    if record.max_bytes == 0 {
        bail!("the configuration says that nothing is recorded: name a record with --record");
    }
    Ok(record.path)
}

fn at(text: &str) -> anyhow::Result<Timestamp> {
    let text = text.trim();
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Ok(timestamp);
    }
    let here = TimeZone::system();
    let moment = text.parse::<jiff::civil::DateTime>().or_else(|_| {
        let time = text.parse::<jiff::civil::Time>()?;
        Ok::<_, jiff::Error>(Zoned::now().date().to_datetime(time))
    });
    let moment = moment.map_err(|_| {
        anyhow::anyhow!("'{text}' is not a time: write 14:05, '2026-11-22 02:30' or 2026-11-22T02:30:00Z")
    })?;
    Ok(moment.to_zoned(here).context("this time is not in the calendar here")?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let day = at("2026-11-22 02:30").expect("a time").to_zoned(TimeZone::system());
        assert_eq!(day.strftime("%F %T").to_string(), "2026-11-22 02:30:00");
        assert_eq!(at("2026-11-22T02:30:00Z").expect("a time").as_second(), 1_795_314_600);
        let today = at("14:05").expect("a time").to_zoned(TimeZone::system());
        assert_eq!(today.strftime("%T").to_string(), "14:05:00");
        for bad in ["", "yesterday", "25:00", "2026-13-01"] {
            assert!(at(bad).is_err(), "{bad}");
        }
    }
}
