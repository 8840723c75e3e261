//! The command line of `briskd`: here, so that the command of the same version can print its man page.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use brisk_api::dirs;
use clap::{CommandFactory as _, Parser};

use crate::daemon::{Daemon, Options};

const AFTER_HELP: &str = "\
Examples:
  briskd                                    # as a service does; stays in the foreground
  briskd --dry-run --foreground             # what it would do
  briskd --dry-run --once --foreground

SIGHUP reads the configuration again, SIGTERM restores all settings and ends. 'brisk status' asks it. Exit codes: 0 \
ended, and all settings are as before brisk; 1 ended, and some are not, or not known to be: one could not be restored, \
or the journal of a killed daemon is damaged (each is named); 2 not possible. A dry run restores nothing, and its code \
says nothing of that.";

/// Keeps the app in front fast on flash storage while the device runs.
#[derive(Debug, Parser)]
#[command(name = "briskd", version, after_help = AFTER_HELP)]
pub struct Arguments {
    /// The configuration [default: /etc/brisk/brisk.toml; a missing file means defaults]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where lock, socket and journals are [default: $BRISK_RUN_DIR, or /run/brisk]. Another directory than /run/brisk
    /// also gets the record and what is learned
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
    /// Directory of the profiles of devices
    #[arg(long, value_name = "DIR", default_value_os_t = dirs::profiles())]
    profiles: PathBuf,
    /// Directory of what engines have learned [default: /var/lib/brisk/learned, or learned in another run directory]
    #[arg(long, value_name = "DIR")]
    learned: Option<PathBuf>,
    /// Decide, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Decide twice, a second apart, restore all settings and end
    #[arg(long)]
    once: bool,
    /// Log each decision and event, not the exceptions only
    #[arg(long)]
    foreground: bool,
}

/// Whether this process was started under this name.
#[must_use]
pub fn is_called(name: &str) -> bool {
    let called = std::env::args_os().next();
    called.is_some_and(|called| Path::new(&called).file_name() == Some(name.as_ref()))
}

/// The program `briskd`: starts and runs the daemon with the arguments of this process, or is the daemon's keeper.
#[must_use]
pub fn main() -> ExitCode {
    if is_called(brisk_act::KEEPER_NAME) {
        return brisk_act::keep();
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            let text = error.render().to_string();
            return brisk_program::log::told_by_parser(error.use_stderr(), &text, || error.print(), code).into();
        }
    };
    // Whichever program starts the daemon: what it keeps tells of apps and times, and is root's alone.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    brisk_program::log::serve();
    brisk_program::memory::keep_little();
    let daemon = match Daemon::start(arguments.into()) {
        Ok(daemon) => daemon,
        Err(error) => {
            brisk_program::error!("briskd: {error:#}");
            return ExitCode::from(2);
        }
    };
    match daemon.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            brisk_program::error!("briskd: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The command line as a description, for man pages.
#[must_use]
pub fn describe() -> clap::Command {
    Arguments::command()
}

impl From<Arguments> for Options {
    fn from(arguments: Arguments) -> Self {
        let run_dir = dirs::run_dir(arguments.run_dir);
        Self {
            or_default: arguments.config.is_none(),
            config_path: arguments.config.unwrap_or_else(dirs::config),
            profiles_dir: arguments.profiles,
            learned_dir: arguments.learned.unwrap_or_else(|| dirs::learned(&run_dir)),
            run_dir,
            dry_run: arguments.dry_run,
            once: arguments.once,
            foreground: arguments.foreground,
        }
    }
}
