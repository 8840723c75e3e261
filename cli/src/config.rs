//! `brisk config`: check the daemon's configuration, show it, reload it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use brisk_api::dirs;
use brisk_command::defaults;
use brisk_command::json::{Document, Json};
use brisk_core::causes::in_one_line;
use brisk_daemon::config::{Config, DEFAULT_TEXT, Loaded};
use clap::Subcommand;
use serde_json::json;

use crate::status::Socket;

const AFTER_HELP: &str = "\
Examples:
  brisk config check
  brisk config check new.toml
  brisk config show                                  # everything, and which file a value is from
  brisk config default >/etc/brisk/brisk.toml        # the defaults, with comments
  brisk config reload                                # as root
  brisk config reload --retry                        # and try again what 'brisk status' lists as resting

A device that is not there is a warning, since a card may be inserted later. Exit codes: 0 done, 1 the checked \
configuration cannot be used, 2 not possible, or refused by the daemon.";

/// Arguments of `brisk config`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check whether a configuration can be used, and show its errors
    Check {
        /// The file [default: /etc/brisk/brisk.toml; where there is none, the defaults]
        file: Option<PathBuf>,
        #[command(flatten)]
        json: Json,
    },
    /// Print a whole configuration, with the defaults for what its files leave out, and which file a value is from
    Show {
        /// The file [default: /etc/brisk/brisk.toml; where there is none, the defaults]
        file: Option<PathBuf>,
        #[command(flatten)]
        json: Json,
    },
    /// Print the defaults, with comments
    Default(Json),
    /// Have the daemon read its configuration again, take settings up again after a reset, and forgive who took some
    /// over
    Reload {
        /// Also try again the parts that rest because the daemon has died in them twice; sources of events at its next
        /// start
        #[arg(long)]
        retry: bool,
        #[command(flatten)]
        socket: Socket,
        #[command(flatten)]
        json: Json,
    },
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Check { file, json } => return check(file.as_deref(), json),
        Command::Show { file, json } => {
            json.check(file.as_slice())?;
            let loaded = match file {
                Some(file) => Loaded::read(file, false)?,
                None => Loaded::read(&dirs::config(), true)?,
            };
            let facts = json!({ "config": loaded.config, "origins": loaded.origins() });
            json.show_exactly(&Document::new("config", facts), &loaded.to_text())?;
        }
        Command::Default(json) => {
            let facts = json!({ "config": Config::default() });
            json.show_exactly(&Document::new("config", facts), DEFAULT_TEXT)?;
        }
        Command::Reload { retry, socket, json } => {
            // Only where it is asked for, so that a daemon of another version understands the rest.
            let parameters = if *retry { vec![("retry", true.into())] } else { Vec::new() };
            socket.connect()?.answer("Reload", &parameters)?;
            json.show(&Document::new("config_reload", json!({ "reloaded": true, "retried": retry })), || {
                "the configuration is read\n".to_owned()
            })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn check(named: Option<&Path>, json: &Json) -> anyhow::Result<ExitCode> {
    let default = dirs::config();
    let file = named.unwrap_or(&default);
    json.check(&[file.to_owned()])?;
    let is_missing = named.is_none() && !file.exists() && !file.is_symlink();
    let mut warnings = Vec::new();
    let mut drop_ins = Vec::new();
    let complaint = match Loaded::read(file, named.is_none()) {
        Ok(loaded) => {
            warnings = brisk_daemon::devices::absent(&brisk_sense::Sense::default(), &loaded.config);
            drop_ins = loaded.files.iter().map(|(path, _)| path.clone()).filter(|path| path != file).collect();
            // The section [bench] is not the daemon's.
            let of_bench = |(path, text): &(PathBuf, String)| {
                defaults::check(text).err().map(|complaint| format!("{}:{complaint}", path.display()))
            };
            loaded.files.iter().find_map(of_bench)
        }
        Err(error) if error.is_of_content() => Some(in_one_line(&error)),
        Err(error) => return Err(error.into()),
    };
    let checked = json!({ "path": file, "is_there": !is_missing, "usable": complaint.is_none(), "complaint": complaint,
        "drop_ins": drop_ins, "warnings": warnings });
    let text = || match complaint {
        None => {
            let main = match is_missing {
                true => format!("there is no {}: the defaults are used\n", file.display()),
                false => format!("{} can be used\n", file.display()),
            };
            let more = drop_ins.iter().map(|path| format!("{} can be used\n", path.display()));
            std::iter::once(main).chain(more).collect()
        }
        Some(_) => String::new(),
    };
    json.show(&Document::new("config_check", checked), text)?;
    warnings.iter().for_each(|warning| brisk_program::warn!("brisk: warning: {warning}"));
    match complaint {
        None => Ok(ExitCode::SUCCESS),
        Some(complaint) => {
            brisk_program::error!("brisk: {complaint}");
            Ok(ExitCode::from(1))
        }
    }
}
