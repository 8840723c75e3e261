//! `brisk config`: check the daemon's configuration, show it, reload it.

use std::path::PathBuf;
use std::process::ExitCode;

use brisk_daemon::config::{Config, DEFAULT_TEXT, PATH};
use clap::Subcommand;

use crate::status::Socket;

const AFTER_HELP: &str = "\
Examples:
  brisk config check
  brisk config check new.toml
  brisk config show                                  # everything, with the defaults for what the file leaves out
  brisk config default >/etc/brisk/brisk.toml        # the defaults, with comments
  brisk config reload                                # as root

Exit codes: 0 done, 1 the checked configuration cannot be used, 2 not possible, or refused by the daemon.";

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
        /// The file
        #[arg(default_value = PATH)]
        file: PathBuf,
    },
    /// Print a whole configuration, with the defaults for what its file leaves out
    Show {
        /// The file [default: /etc/brisk/brisk.toml; where there is none, the defaults]
        file: Option<PathBuf>,
    },
    /// Print the defaults, with comments
    Default,
    /// Have the daemon read its configuration again, take settings up again after a reset, and forgive who took some over
    Reload(Socket),
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Check { file } => match Config::load(file, false) {
            Ok(_) => crate::print(&format!("{} can be used\n", file.display()))?,
            Err(error @ brisk_daemon::config::Error::Bad { .. }) => {
                eprintln!("brisk: {error}");
                return Ok(ExitCode::from(1));
            }
            Err(error) => return Err(error.into()),
        },
        Command::Show { file } => {
            let (config, _) = match file {
                Some(file) => Config::load(file, false)?,
                None => Config::load(PATH.as_ref(), true)?,
            };
            crate::print(&config.to_text())?;
        }
        Command::Default => crate::print(DEFAULT_TEXT)?,
        Command::Reload(socket) => {
            socket.connect()?.answer("Reload", &[])?;
            crate::print("the configuration is read\n")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
