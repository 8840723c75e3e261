//! `brisk apps protect`: nothing is taken from an app any more. One command for owners, who need not edit a file.
//!
//! It writes a drop-in file of its own (`brisk.d/80-protect.toml`) with the whole list, as of a list the last file
//! wins, and has the daemon read it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use brisk_api::{Client, ClientError, Status, dirs};
use brisk_command::json::{Document, Json};
use brisk_command::output::replace;
use brisk_daemon::config::Loaded;
use serde_json::json;

use crate::status::Socket;

/// Name of its file: after those of a maker.
const FILE: &str = "80-protect.toml";

/// Arguments of `brisk apps protect`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Id of the app, as `brisk apps` shows it: org.gnome.Evince, signal, or a pattern such as steam*
    id: String,
    /// Protect it no longer
    #[arg(long)]
    undo: bool,
    /// The daemon's configuration, in whose folder brisk.d the list is kept
    #[arg(long, value_name = "FILE", default_value_os_t = dirs::config())]
    config: PathBuf,
    #[command(flatten)]
    socket: Socket,
    #[command(flatten)]
    json: Json,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.json.check(std::slice::from_ref(&args.config))?;
    let file = args.config.with_extension("d").join(FILE);
    let before = Loaded::read(&args.config, true)?;
    let list = listed(before.config.apps.protect.clone(), &args.id, args.undo)?;
    if list == before.config.apps.protect {
        let already = if args.undo { "is on no list of protected apps" } else { "is protected already" };
        return shown(args, &list, &[], &format!("{} {already}\n", args.id));
    }
    let kept = std::fs::read(&file).ok();
    write(&file, &list)?;
    // Another file may come later, or the whole may not be usable.
    let outcome = Loaded::read(&args.config, true).map_err(anyhow::Error::from).and_then(|after| {
        let wins = after.config.apps.protect == list;
        if !wins {
            let origins = after.origins();
            let other = origins.get("apps.protect").map_or_else(String::new, |path| path.display().to_string());
            bail!("{other} comes later and has its own list 'protect': add {:?} there", args.id);
        }
        Ok(())
    });
    if let Err(error) = outcome {
        match kept {
            Some(text) => replace(&file, &text)?,
            None => std::fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?,
        }
        return Err(error);
    }
    clear(&file, &args.config)?;
    let (running, holds) = match args.socket.connect() {
        Ok(mut client) => (reload(&mut client, args)?, "from now on"),
        Err(ClientError::NotRunning { .. }) => (Vec::new(), "from the next start of briskd on"),
        Err(error) => return Err(error.into()),
    };
    let said = match (args.undo, running.as_slice()) {
        (true, _) => format!("{} is not protected any more, {holds}\n", args.id),
        (false, []) => format!("{} is protected {holds}; no app of this id runs at present ('brisk apps')\n", args.id),
        (false, some) => format!("{} is protected {holds}; of it run: {}\n", args.id, some.join(", ")),
    };
    shown(args, &list, &running, &said)
}

fn shown(args: &Args, list: &[String], running: &[String], said: &str) -> anyhow::Result<ExitCode> {
    let facts = json!({ "id": args.id, "protect": list, "running": running });
    args.json.show(&Document::new("apps_protect", facts), || said.to_owned())?;
    Ok(ExitCode::SUCCESS)
}

/// The list with the id, or without.
fn listed(mut list: Vec<String>, id: &str, undo: bool) -> anyhow::Result<Vec<String>> {
    if id.contains(char::is_control) || id.trim_matches('*').is_empty() {
        bail!("{id:?} names no app: give an id such as org.gnome.Evince ('brisk apps' shows those that run)");
    }
    match list.iter().position(|one| one == id) {
        Some(at) if undo => drop(list.remove(at)),
        None if !undo => list.push(id.to_owned()),
        _ => {}
    }
    Ok(list)
}

fn write(file: &Path, list: &[String]) -> anyhow::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let list: Vec<toml::Value> = list.iter().map(|id| id.as_str().into()).collect();
    let text = format!(
        "# Written by 'brisk apps protect ID', and by --undo of it. This list replaces those of earlier files.\n\
         [apps]\nprotect = {}\n",
        toml::Value::Array(list)
    );
    replace(file, text.as_bytes())
}

/// Removes the file where it says no more than those before it.
fn clear(file: &Path, config: &Path) -> anyhow::Result<()> {
    let loaded = Loaded::read(config, true)?;
    let files = loaded.files.iter().filter(|(path, _)| path != file).cloned().collect();
    let without = Loaded::of(files)?;
    if without.config.apps.protect == loaded.config.apps.protect && file.exists() {
        std::fs::remove_file(file).with_context(|| format!("cannot remove {}", file.display()))?;
    }
    Ok(())
}

/// Has the daemon read it; the apps that run and are protected by this entry.
fn reload(client: &mut Client, args: &Args) -> anyhow::Result<Vec<String>> {
    client.answer("Reload", &[])?;
    let status: Status = client.call("GetStatus", &[], "status")?;
    let is_it = |app: &&brisk_core::app::App| app.activity.protected.as_ref() == Some(&args.id);
    let mut running: Vec<String> = status.apps.iter().filter(is_it).map(|app| app.id.clone()).collect();
    running.sort();
    running.dedup();
    Ok(running)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|&id| id.to_owned()).collect()
    }

    #[test]
    fn an_id_is_on_the_list_once_and_can_be_taken_off() {
        assert_eq!(listed(list(&["a"]), "b", false).expect("an id"), list(&["a", "b"]));
        assert_eq!(listed(list(&["a"]), "a", false).expect("an id"), list(&["a"]));
        assert_eq!(listed(list(&["a", "b"]), "a", true).expect("an id"), list(&["b"]));
        assert_eq!(listed(list(&["a"]), "c", true).expect("an id"), list(&["a"]));
        for id in ["", "*", "a\nb"] {
            assert!(listed(Vec::new(), id, false).is_err(), "{id:?}");
        }
    }

    #[test]
    fn the_list_of_other_files_stays_and_what_says_nothing_more_is_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        let config = dir.path().join("brisk.toml");
        std::fs::write(&config, "[apps]\nprotect = [\"a\"]\n").expect("written");
        let file = dir.path().join("brisk.d").join(FILE);
        let protect = || Loaded::read(&config, true).expect("usable").config.apps.protect;
        write(&file, &list(&["a", "quo\"te"])).expect("written");
        clear(&file, &config).expect("kept");
        assert_eq!(protect(), list(&["a", "quo\"te"]));
        write(&file, &list(&["a"])).expect("written");
        clear(&file, &config).expect("removed");
        assert!(!file.exists() && protect() == list(&["a"]));
    }
}
