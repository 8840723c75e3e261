//! `brisk man` and `brisk completions`: what packages ship is generated from the command line itself and from the list
//! of configuration keys, so it is never older than the binary.

mod config_page;

use std::process::ExitCode;

use anyhow::Context as _;
use brisk_command::completion;
use brisk_command::man::{Args as ManArgs, Edition, of_command, write_all};
use brisk_command::print_exactly;

/// Arguments of `brisk completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to complete in
    shell: clap_complete::Shell,
}

/// Writes the man pages of `command`, of the daemon (briskd.8) and of its configuration (brisk.toml.5).
pub(crate) fn man(args: &ManArgs, command: clap::Command) -> anyhow::Result<ExitCode> {
    write_all(&args.dir, command, false)?;
    let edition = Edition::now();
    of_command(brisk_daemon::command::describe(), "8", &edition)?.write(&args.dir)?;
    config_page::page(&edition).write(&args.dir)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints what a shell has to read, so that it asks brisk for completions.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let script = completion::registration(args.shell).context("cannot write the completions")?;
    print_exactly(&String::from_utf8(script).context("the completions are not UTF-8")?)?;
    Ok(ExitCode::SUCCESS)
}
