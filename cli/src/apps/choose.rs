//! `brisk apps protect` and `end-first`: what is to be done with an app when memory is short. One command for owners,
//! who need not edit a file ([`brisk_daemon::config::choose`] does).

use std::path::PathBuf;
use std::process::ExitCode;

use brisk_api::{Client, ClientError, Status, dirs};
use brisk_command::json::{Document, Json};
use brisk_daemon::config::{Choice, Loaded, choose};
use serde_json::json;

use crate::status::Socket;

/// Arguments of both.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Id of the app, as `brisk apps` shows it: org.gnome.Evince, signal, or a pattern such as steam*
    id: String,
    /// Take that back
    #[arg(long)]
    undo: bool,
    /// The daemon's configuration, in whose folder brisk.d the lists are kept
    #[arg(long, value_name = "FILE", default_value_os_t = dirs::config())]
    config: PathBuf,
    #[command(flatten)]
    socket: Socket,
    #[command(flatten)]
    json: Json,
}

pub(super) fn run(args: &Args, choice: Choice) -> anyhow::Result<ExitCode> {
    args.json.check(std::slice::from_ref(&args.config))?;
    let of = |choice| {
        Loaded::read(&args.config, true).map(|loaded| {
            if choice == Choice::Protect { loaded.config.apps.protect } else { loaded.config.apps.end_first }
        })
    };
    let is_listed = of(choice)?.contains(&args.id);
    let differs = match args.undo {
        true => is_listed && choose(&args.config, true, &args.id, Choice::None)?,
        false => choose(&args.config, true, &args.id, choice)?,
    };
    let list = of(choice)?;
    let (is, not) = match choice {
        Choice::Protect => ("is protected", "is not protected any more"),
        _ => ("ends first", "does not end first any more"),
    };
    let id = &args.id;
    let (running, said) = if differs {
        let (running, holds) = match args.socket.connect() {
            Ok(mut client) => (reload(&mut client, args)?, "from now on"),
            Err(ClientError::NotRunning { .. }) => (Vec::new(), "from the next start of briskd on"),
            Err(error) => return Err(error.into()),
        };
        let said = match (args.undo, running.as_slice()) {
            (true, _) => format!("{id} {not}, {holds}\n"),
            (false, []) => format!("{id} {is} {holds}; no app of this id runs at present ('brisk apps')\n"),
            (false, some) => format!("{id} {is} {holds}; of it run: {}\n", some.join(", ")),
        };
        (running, said)
    } else {
        let said = if args.undo { format!("{id} is not on that list\n") } else { format!("{id} {is} already\n") };
        (Vec::new(), said)
    };
    let (kind, name) = match choice {
        Choice::Protect => ("apps_protect", "protect"),
        _ => ("apps_end_first", "end_first"),
    };
    let facts = json!({ "id": id, name: list, "running": running });
    args.json.show(&Document::new(kind, facts), || said)?;
    Ok(ExitCode::SUCCESS)
}

/// Has the daemon read it; the apps that run and are meant by this entry.
fn reload(client: &mut Client, args: &Args) -> anyhow::Result<Vec<String>> {
    client.answer("Reload", &[])?;
    let status: Status = client.call("GetStatus", &[], "status")?;
    let is_it = |app: &&brisk_core::app::App| {
        let by = |preference: &brisk_core::app::Preference| preference.by.ends_with(&format!(" {}", args.id));
        app.activity.protected.as_ref() == Some(&args.id) || app.activity.preference.as_ref().is_some_and(by)
    };
    let mut running: Vec<String> = status.apps.iter().filter(is_it).map(|app| app.id.clone()).collect();
    running.sort();
    running.dedup();
    Ok(running)
}
