//! The daemon, for tests of the laboratory that run it.

use std::process::ExitCode;

fn main() -> ExitCode {
    brisk_daemon::command::main()
}
