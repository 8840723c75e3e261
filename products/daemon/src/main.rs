//! `briskd`: wiring of the daemon.

use std::path::PathBuf;
use std::process::ExitCode;

use brisk_daemon::daemon::{Daemon, Options};
use brisk_daemon::{config, profiles, run_dir};
use clap::Parser;

const AFTER_HELP: &str = "\
Examples:
  briskd                                    # as a service does; stays in the foreground
  briskd --dry-run --foreground             # what it would do
  briskd --dry-run --once --foreground

SIGHUP reads the configuration again, SIGTERM puts everything back and ends. 'brisk status' asks it. Exit codes: 0 ended and \
everything is as before, 1 not everything could be put back, 2 not possible.";

/// Keeps the app in front fast on flash storage while the device runs.
#[derive(Debug, Parser)]
#[command(name = "briskd", version, after_help = AFTER_HELP)]
struct Cli {
    /// The configuration [default: /etc/brisk/brisk.toml, where no file is as good as an empty one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where lock, socket and journals are [default: $BRISK_RUN_DIR, or /run/brisk]
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
    /// Where what was measured on devices is
    #[arg(long, value_name = "DIR", default_value = profiles::DIR)]
    profiles_dir: PathBuf,
    /// Decide, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Decide twice, a second apart, put everything back and end
    #[arg(long)]
    once: bool,
    /// Log each decision and event, not the exceptions only
    #[arg(long)]
    foreground: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let options = Options {
        or_default: cli.config.is_none(),
        config_path: cli.config.unwrap_or_else(|| config::PATH.into()),
        run_dir: run_dir(cli.run_dir),
        profiles_dir: cli.profiles_dir,
        dry_run: cli.dry_run,
        once: cli.once,
        foreground: cli.foreground,
    };
    let daemon = match Daemon::start(options) {
        Ok(daemon) => daemon,
        Err(error) => {
            eprintln!("briskd: {error:#}");
            return ExitCode::from(2);
        }
    };
    match daemon.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("briskd: {error:#}");
            ExitCode::FAILURE
        }
    }
}
