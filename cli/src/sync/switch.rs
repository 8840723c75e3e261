//! `brisk sync on`, `off` and `status`: a desktop entry of the user that starts an app under its policy.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use brisk_command::json::{Document, Json};
use brisk_sync::desktop::{is_ours, wrapped};
use brisk_sync::policy::Homes;
use serde_json::json;

use super::policies::{check_id, homes, policy_of};
use super::{rules_json, rules_text};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
It writes a desktop entry into the user's own directory, which starts the app with 'brisk sync run'; 'off' removes it. \
What runs already is not changed. Exit codes: 0 on, 2 not possible.")]
pub(super) struct On {
    /// Id of the app: its desktop entry without .desktop
    app: String,
    #[command(flatten)]
    json: Json,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 off, 1 it was not on, 2 not possible.")]
pub(super) struct Off {
    /// Id of the app
    app: String,
    #[command(flatten)]
    json: Json,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 on, 1 off, 2 not possible.")]
pub(super) struct Status {
    /// Id of the app
    app: String,
    #[command(flatten)]
    json: Json,
}

/// The entry of this user for an app.
fn own_entry(homes: &Homes, app: &str) -> PathBuf {
    homes.data.join("applications").join(format!("{app}.desktop"))
}

fn is_on(entry: &Path) -> anyhow::Result<bool> {
    if !entry.try_exists().with_context(|| format!("cannot look for {}", entry.display()))? {
        return Ok(false);
    }
    Ok(is_ours(&brisk_program::files::read(entry, brisk_program::files::TEXT_BYTES_MAX)?))
}

/// The entry that the system has for an app.
fn system_entry(app: &str) -> anyhow::Result<PathBuf> {
    let dirs = std::env::var("XDG_DATA_DIRS").ok().filter(|dirs| !dirs.is_empty());
    let dirs = dirs.unwrap_or_else(|| "/usr/local/share:/usr/share".to_owned());
    let entries = dirs.split(':').map(|dir| Path::new(dir).join("applications").join(format!("{app}.desktop")));
    let found = entries.into_iter().find(|entry| entry.is_file());
    found.with_context(|| {
        format!("no {app}.desktop in applications of {dirs}: start it with 'brisk sync run {app} -- COMMAND'")
    })
}

/// The program for the command of a desktop entry.
fn starter(program: &Path, app: &str) -> anyhow::Result<String> {
    let program = program.to_str().context("the path of brisk is no UTF-8: install it elsewhere")?;
    if program.chars().any(|c| !c.is_ascii_alphanumeric() && !"/._-+".contains(c)) {
        bail!("the path of brisk, {program}, has signs that desktop entries do not take: install it elsewhere");
    }
    Ok(format!("{program} sync run {app} --"))
}

pub(super) fn on(args: &On) -> anyhow::Result<ExitCode> {
    let homes = homes()?;
    let found = policy_of(&args.app)?;
    let rules = rules_text(&found, &homes)?;
    let entry = own_entry(&homes, &args.app);
    // A link counts, also one that leads nowhere now: what keeps entries as links writes them again.
    if entry.symlink_metadata().is_ok() && !is_on(&entry)? {
        bail!("{} is an entry of yours: change its Exec to 'brisk sync run {} -- ...'", entry.display(), args.app);
    }
    let system = system_entry(&args.app)?;
    let text = brisk_program::files::read(&system, brisk_program::files::TEXT_BYTES_MAX)?;
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let ours = wrapped(&text, &starter(&program, &args.app)?)
        .with_context(|| format!("{} starts no command", system.display()))?;
    let dir = homes.data.join("applications");
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    brisk_program::files::replace(&entry, &ours).with_context(|| format!("cannot write {}", entry.display()))?;
    let document = json!({
        "app": args.app, "on": true, "entry": entry, "policy": found.file, "rules": rules_json(&found, &homes)?,
    });
    let text = format!("{}: on from its next launch\n{rules}", args.app);
    args.json.show(&Document::new("sync_on", document), || text)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn off(args: &Off) -> anyhow::Result<ExitCode> {
    check_id(&args.app)?;
    let entry = own_entry(&homes()?, &args.app);
    let was_on = is_on(&entry)?;
    if was_on {
        std::fs::remove_file(&entry).with_context(|| format!("cannot remove {}", entry.display()))?;
    }
    let document = json!({ "app": args.app, "was_on": was_on });
    let text = if was_on { "off from its next launch" } else { "was not on" };
    args.json.show(&Document::new("sync_off", document), || format!("{}: {text}\n", args.app))?;
    Ok(if was_on { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

pub(super) fn status(args: &Status) -> anyhow::Result<ExitCode> {
    let homes = homes()?;
    let found = policy_of(&args.app)?;
    let is_on = is_on(&own_entry(&homes, &args.app))?;
    let rules = rules_text(&found, &homes)?;
    let document = json!({ "app": args.app, "on": is_on, "policy": found.file, "rules": rules_json(&found, &homes)? });
    let text = || {
        let policy = found.file.as_ref().map_or_else(|| "none".to_owned(), |file| file.display().to_string());
        format!("{}: {}\npolicy: {policy}\n{rules}", args.app, if is_on { "on" } else { "off" })
    };
    args.json.show(&Document::new("sync_status", document), text)?;
    Ok(if is_on { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_desktop_entries_do_not_take_is_refused() {
        assert_eq!(starter(Path::new("/usr/bin/brisk"), "a.b").expect("a command"), "/usr/bin/brisk sync run a.b --");
        for bad in ["/opt/my programs/brisk", "/opt/%f/brisk", "/opt/\"x\"/brisk"] {
            assert!(starter(Path::new(bad), "a").is_err(), "{bad}");
        }
    }
}
