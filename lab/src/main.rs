//! The program `brisk-lab`.

use std::process::ExitCode;

fn main() -> ExitCode {
    brisk_lab::command::main()
}
