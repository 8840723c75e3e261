//! `briskd`: wiring of the daemon.

use std::process::ExitCode;

use brisk_daemon::command::Arguments;
use brisk_daemon::daemon::Daemon;
use clap::Parser as _;

fn main() -> ExitCode {
    let daemon = match Daemon::start(Arguments::parse().into()) {
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
