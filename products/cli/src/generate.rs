//! `brisk man` and `brisk completions`: what packages ship is generated from the command line itself and from the list of configuration
//! keys, so it is never older than the binary.

mod config_page;
mod page;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use brisk_command::lab::Command as LabCommand;
use brisk_command::output::replace;
use brisk_command::print_exactly;
use clap::Subcommand as _;

use page::Edition;

use crate::completion;

/// Arguments of `brisk man`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Directory for the pages, one for each subcommand, one for the daemon (briskd.8), one for its configuration (brisk.toml.5); it is
    /// made when it is not there
    dir: PathBuf,
    /// Write the pages of what this program does alone [default: both]
    #[arg(long, value_name = "PROGRAM")]
    of: Option<Program>,
}

/// The programs that a page may be about, each in a package of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Program {
    /// The command and the daemon
    Brisk,
    /// The laboratory
    BriskLab,
}

/// Arguments of `brisk completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to complete in
    shell: clap_complete::Shell,
}

/// Writes the man pages of `command`, of the daemon and of its configuration.
pub(crate) fn man(args: &ManArgs, mut command: clap::Command) -> anyhow::Result<ExitCode> {
    let dir = &args.dir;
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make the directory {}", dir.display()))?;
    command = command.disable_help_subcommand(true);
    command.build();
    let edition = Edition::now();
    let is_wanted = |program: Program| args.of.is_none_or(|wanted| wanted == program);
    pages(command, &mut Vec::new(), &mut |words, command| {
        let program = of(words);
        if is_wanted(program) { write(dir, &page::of_command(command, "1", &edition)?) } else { Ok(()) }
    })?;
    if is_wanted(Program::Brisk) {
        write(dir, &page::of_command(brisk_daemon::command::describe(), "8", &edition)?)?;
        write(dir, &config_page::page(&edition))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Calls `visit` with each command that people call, and its words without the first.
fn pages(
    command: clap::Command,
    words: &mut Vec<String>,
    visit: &mut dyn FnMut(&[String], clap::Command) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        words.push(subcommand.get_name().to_owned());
        pages(subcommand.clone(), words, visit)?;
        words.pop();
    }
    visit(words, command)
}

/// The program that does what these words call (`main.rs`).
fn of(words: &[String]) -> Program {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["swap"] | ["swap", "setup" | "start" | "undo"] => Program::Brisk,
        ["study", "memory" | "heap"] => Program::BriskLab,
        [first, ..] if LabCommand::has_subcommand(first) => Program::BriskLab,
        _ => Program::Brisk,
    }
}

fn write(dir: &Path, page: &page::Page) -> anyhow::Result<()> {
    replace(&dir.join(&page.name), page.text.as_bytes())
}

/// Prints what a shell has to read, so that it asks brisk for completions.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let script = completion::registration(args.shell).context("cannot write the completions")?;
    print_exactly(&String::from_utf8(script).context("the completions are not UTF-8")?)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_of_the_program_that_does_what_it_says() {
        let of = |text: &str| of(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for own in ["swap", "swap setup", "swap undo", "swap start", "study", "study slowdown", "status", "config show"]
        {
            assert_eq!(of(own), Program::Brisk, "{own}");
        }
        for other in
            ["swap record", "swap replay", "study memory", "study heap", "front-watch", "lab phone up", "launch"]
        {
            assert_eq!(of(other), Program::BriskLab, "{other}");
        }
    }
}
