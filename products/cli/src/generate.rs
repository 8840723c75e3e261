//! `brisk man` and `brisk completions`: what packages ship is generated from the command line itself, so it is never
//! older than the binary.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use brisk_command::output::replace;
use brisk_command::print_exactly;

use crate::completion;

/// Arguments of `brisk man`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Directory for the pages, one for each subcommand and one for the daemon (briskd.8); it is made when it is not there
    dir: PathBuf,
}

/// Arguments of `brisk completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to complete in
    shell: clap_complete::Shell,
}

/// Section of the daemon's page: commands of administrators.
const DAEMON_SECTION: &str = "8";

/// Writes the man pages of `command`, and of the daemon.
pub(crate) fn man(args: &ManArgs, mut command: clap::Command) -> anyhow::Result<ExitCode> {
    let dir = &args.dir;
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make the directory {}", dir.display()))?;
    command = command.disable_help_subcommand(true);
    command.build();
    pages(command, dir)?;
    page(&clap_mangen::Man::new(brisk_daemon::command::describe()).section(DAEMON_SECTION), dir)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the pages of `command` and of its subcommands.
fn pages(command: clap::Command, dir: &Path) -> anyhow::Result<()> {
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        pages(subcommand.clone(), dir)?;
    }
    page(&clap_mangen::Man::new(command), dir)
}

fn page(page: &clap_mangen::Man, dir: &Path) -> anyhow::Result<()> {
    let mut text = Vec::new();
    page.render(&mut text).context("cannot write a man page")?;
    replace(&dir.join(page.get_filename()), &text)
}

/// Prints what a shell has to read, so that it asks brisk for completions.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let script = completion::registration(args.shell).context("cannot write the completions")?;
    print_exactly(&String::from_utf8(script).context("the completions are not UTF-8")?)?;
    Ok(ExitCode::SUCCESS)
}
