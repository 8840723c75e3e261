//! `brisk apps protect` and `end-first`: what is to be done with an app when memory is short. One command for owners,
//! who need not edit a file ([`brisk_daemon::config::choose`] does).

use std::path::{Path, PathBuf};
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
    /// The configuration in whose folder brisk.d the lists are kept [default: that of the daemon that runs, else
    /// $BRISK_CONFIG, or /etc/brisk/brisk.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    socket: Socket,
    #[command(flatten)]
    json: Json,
}

pub(super) fn run(args: &Args, choice: Choice) -> anyhow::Result<ExitCode> {
    args.json.check(&args.config.iter().cloned().collect::<Vec<_>>())?;
    let mut daemon = match args.socket.connect() {
        Ok(client) => Some(client),
        Err(ClientError::NotRunning { .. }) => None,
        // Its answer comes before anything is written.
        Err(error) => return Err(error.into()),
    };
    let read = daemon.as_mut().map(|client| client.call::<Status>("GetStatus", &[], "status")).transpose()?;
    let read = read.map(|status| PathBuf::from(status.config_path));
    let config = args.config.clone().or_else(|| read.clone()).unwrap_or_else(dirs::config);
    let of = |choice| {
        Loaded::read(&config, true).map(|loaded| {
            if choice == Choice::Protect { loaded.config.apps.protect } else { loaded.config.apps.end_first }
        })
    };
    let is_listed = of(choice)?.contains(&args.id);
    let differs = match args.undo {
        true => is_listed && choose(&config, true, &args.id, Choice::None)?,
        false => choose(&config, true, &args.id, choice)?,
    };
    let list = of(choice)?;
    let (is, not) = match choice {
        Choice::Protect => ("is protected", "is not protected any more"),
        _ => ("ends first", "does not end first any more"),
    };
    let id = &args.id;
    let (running, said) = if differs {
        let (running, holds) = match (&mut daemon, &read) {
            (Some(client), Some(read)) if is_same(read, &config) => (reload(client, args)?, "from now on".to_owned()),
            (Some(_), Some(read)) => {
                let holds = format!("for a briskd that reads {}; the one that runs reads", config.display());
                (Vec::new(), format!("{holds} {}", read.display()))
            }
            _ => (Vec::new(), "from the next start of briskd on".to_owned()),
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

/// Whether both are one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(one) == real(other)
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

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn the_file_is_that_of_the_daemon_that_is_asked() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("brisk.toml");
        std::fs::write(&file, "").expect("written");
        let listener = std::os::unix::net::UnixListener::bind(dir.path().join(brisk_api::SOCKET)).expect("bound");
        let status = Status { config_path: file.display().to_string(), ..Status::default() };
        let answer = json!({ "parameters": { "status": status } }).to_string() + "\0";
        let daemon = std::thread::spawn(move || {
            let stream = listener.accept().expect("a client").0;
            let mut methods = Vec::new();
            for call in BufReader::new(&stream).split(0).map_while(Result::ok) {
                let call: serde_json::Value = serde_json::from_slice(&call).expect("a call");
                methods.push(call["method"].as_str().unwrap_or_default().rsplit('.').next().map(str::to_owned));
                (&stream).write_all(answer.as_bytes()).expect("answered");
            }
            methods.into_iter().flatten().collect::<Vec<_>>()
        });
        let words = ["protect", "signal", "--run-dir", dir.path().to_str().expect("a text")];
        let args = <Line as clap::Parser>::parse_from(words).args;
        run(&args, Choice::Protect).expect("written");
        let written = std::fs::read_to_string(dir.path().join("brisk.d/80-apps.toml")).expect("in that folder");
        assert!(written.contains("signal"), "{written}");
        assert_eq!(daemon.join().expect("it ends"), ["GetStatus", "Reload", "GetStatus"]);
    }
}
