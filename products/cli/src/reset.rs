//! `brisk reset`: everything as it was before brisk.

use std::process::ExitCode;

use brisk_act::{Paths, damaged_journals, restore_leftovers};
use brisk_daemon::control::ClientError;

use crate::status::Socket;

const AFTER_HELP: &str = "\
A running daemon restores every setting and changes nothing until 'brisk config reload'. Without one, the settings that a killed \
daemon left are restored. A setting that was changed externally meanwhile stays. Exit codes: 0 everything is as before, 1 some \
settings are left and named, 2 not possible.";

/// Arguments of `brisk reset`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    socket: Socket,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (restored, left) = match args.socket.connect() {
        Ok(mut client) => {
            let answer = client.answer("Reset", &[])?;
            let texts = |name: &str| -> Vec<String> {
                answer.get(name).and_then(|value| serde_json::from_value(value.clone()).ok()).unwrap_or_default()
            };
            (texts("restored"), texts("left"))
        }
        Err(ClientError::NotRunning { .. }) => without_daemon(args)?,
        Err(error) => return Err(error.into()),
    };
    let mut text: String = restored.iter().map(|one| format!("{one} is as before\n")).collect();
    if restored.is_empty() && left.is_empty() {
        text += "nothing was changed: all settings are as before brisk\n";
    }
    crate::print(&text)?;
    left.iter().for_each(|one| eprintln!("brisk: left alone: {one}"));
    Ok(if left.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Puts back what dead processes have left.
fn without_daemon(args: &Args) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let paths = Paths::with_run_dir(args.socket.run_dir());
    let reports = restore_leftovers(&paths)?;
    let mut restored = Vec::new();
    let mut left: Vec<String> = damaged_journals(&paths).iter().map(ToString::to_string).collect();
    for (_, report) in reports {
        restored.extend(report.restored.into_iter().map(|(device, setting)| format!("{device}: {setting}")));
        left.extend(report.left.into_iter().map(|one| format!("{}: {}: {}", one.device, one.knob, one.reason)));
    }
    Ok((restored, left))
}
