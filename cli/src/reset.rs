//! `brisk reset`: everything as it was before brisk.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use brisk_act::{Paths, Restored, RunningOwner, damaged_journals, restore_all};
use brisk_api::dirs::JOURNAL;
use brisk_api::{ClientError, SOCKET};
use brisk_command::json::{Document, Json};
use serde_json::json;

use crate::status::Socket;

const AFTER_HELP: &str = "\
A running daemon restores every setting and changes nothing until 'brisk config reload'. What a killed measurement \
left is restored too, and without a daemon what a killed one left, after a wait for its end where it is ending. A \
setting that was changed externally meanwhile stays. Exit codes: 0 everything is as before, 1 some settings are left \
and named, 2 not possible.";

/// How long a process that keeps settings may take to end. A killed one takes milliseconds, one with much memory
/// seconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// Arguments of `brisk reset`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    socket: Socket,
    #[command(flatten)]
    json: Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (restored, left) = match ask_the_daemon(args) {
        Ok((mut restored, mut left)) => {
            // What a killed measurement left is not the daemon's.
            let (of_ended, of_others) = of_ended(args, restore_all(&paths(args), Duration::ZERO, |_| {})?);
            restored.extend(of_ended);
            left.extend(of_others);
            (restored, left)
        }
        // It does not run, or was killed before it answered.
        Err(error @ (ClientError::NotRunning { .. } | ClientError::Broken { .. })) => without_daemon(args, error)?,
        Err(error) => return Err(error.into()),
    };
    let mut text: String = restored.iter().map(|one| format!("{one} is as before\n")).collect();
    if restored.is_empty() && left.is_empty() {
        text += "nothing was changed: all settings are as before brisk\n";
    }
    args.json.show(&Document::new("reset", json!({ "restored": restored, "left": left })), || text)?;
    left.iter().for_each(|one| brisk_program::warn!("brisk: left alone: {one}"));
    Ok(if left.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// What a running daemon restored, and what it left.
fn ask_the_daemon(args: &Args) -> Result<(Vec<String>, Vec<String>), ClientError> {
    let answer = args.socket.connect()?.answer("Reset", &[])?;
    let texts = |name: &str| -> Vec<String> {
        answer.get(name).and_then(|value| serde_json::from_value(value.clone()).ok()).unwrap_or_default()
    };
    Ok((texts("restored"), texts("left")))
}

/// Restores what ended processes have left; `unreachable` says why the daemon did not do so.
fn without_daemon(args: &Args, unreachable: ClientError) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let ended = restore_all(&paths(args), PATIENCE, |living| {
        living
            .iter()
            .for_each(|one| brisk_program::notice!("brisk: waiting for the end of {} (process {})", one.name, one.pid));
    })?;
    if let Some(RunningOwner { pid, settings, .. }) = ended.living.iter().find(|one| one.name == JOURNAL) {
        let socket = args.socket.run_dir().join(SOCKET);
        bail!(
            "briskd (process {pid}) runs and keeps {settings} settings, but cannot be asked at {}: 'kill {pid}' ends \
             it, which restores them",
            socket.display()
        );
    }
    if matches!(unreachable, ClientError::Broken { .. }) && ended.reports.is_empty() {
        return Err(unreachable.into());
    }
    Ok(of_ended(args, ended))
}

fn paths(args: &Args) -> Paths {
    Paths::with_run_dir(args.socket.run_dir())
}

/// What processes that ended had changed, in words: restored, and left.
fn of_ended(args: &Args, Restored { reports, living }: Restored) -> (Vec<String>, Vec<String>) {
    let mut restored = Vec::new();
    let mut left: Vec<String> = damaged_journals(&paths(args)).iter().map(ToString::to_string).collect();
    left.extend(living.iter().map(|RunningOwner { name, pid, settings, .. }| {
        format!("{settings} settings of {name} (process {pid}), which still runs and restores them when it ends")
    }));
    for (_, report) in reports {
        restored.extend(report.restored.into_iter().map(|(device, setting)| format!("{device}: {setting}")));
        left.extend(report.left.into_iter().map(|one| format!("{}: {}: {}", one.device, one.knob, one.reason)));
    }
    (restored, left)
}
