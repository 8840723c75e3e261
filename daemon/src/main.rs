//! `briskd`: wiring of the daemon.

use std::process::ExitCode;

fn main() -> ExitCode {
    brisk_daemon::command::main()
}
