//! The laboratory's program, `brisk-lab`, as `brisk` knows it: the words of its commands, and where it is installed.
//!
//! `brisk` finds it as git finds its commands. What each command takes is known to `brisk-lab` alone; `brisk` lists the
//! commands, and becomes that program (exec), so that terminal, signals and exit code are its own.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail};

/// The program and its package.
pub const PROGRAM: &str = "brisk-lab";

/// Words of the commands that it runs, and what they do.
pub const COMMANDS: &[(&[&str], &str)] = &[
    (&["launch"], "Launch an app and measure it from outside: window, settled screen, time by cause"),
    (&["latency"], "Measure how long an app takes to respond to keys, clicks and scrolling"),
    (&["predict"], "Score predictors of the next app on a usage trace of your own"),
    (
        &["phone"],
        "Measure a whole emulated phone in virtual time: real apps, with brisk and without; figures repeat anywhere",
    ),
    (&["kernel"], "Compare I/O schedulers on emulated flash in virtual time: figures repeat anywhere"),
    (&["papers"], "Compare what comes out here with the papers that brisk implements, figure by figure"),
    (&["swap", "record"], "Record what this machine swaps: which page went to which slot, and when"),
    (&["swap", "generate"], "Write a synthetic trace: a person who changes between apps that do not fit into memory"),
    (&["swap", "show"], "Show how sequential the swapping of a trace was: bandwidth, pieces and mixture over time"),
    (&["swap", "replay"], "Replay traces with another allocation of swap slots, in model time"),
    (&["study", "heap"], "How well the memory needs of apps are predicted, and what thresholds cover"),
    (
        &["study", "cures"],
        "Measure app workloads under solutions for slow storage in the kernel lab: SQLite's settings, selective sync, \
         file systems, RAID-0, PCM",
    ),
];

/// The words of its command that these arguments of `brisk` call; `None` when they call none.
#[must_use]
pub fn called<S: AsRef<OsStr>>(arguments: &[S]) -> Option<&'static [&'static str]> {
    let mut words = Vec::new();
    let mut arguments = arguments.iter().map(AsRef::as_ref);
    while let Some(word) = arguments.next() {
        match word.to_str() {
            Some("--color") => drop(arguments.next()),
            Some("help") if words.is_empty() => {}
            Some(word) if word.starts_with('-') => {}
            _ => words.push(word),
        }
    }
    let is_called = |command: &&'static [&'static str]| {
        words.len() >= command.len() && words.iter().zip(*command).all(|(word, own)| *word == OsStr::new(own))
    };
    COMMANDS.iter().map(|(words, _)| *words).find(is_called)
}

/// `command` with its commands in the lists of help and completions.
#[must_use]
pub fn listed(command: clap::Command) -> clap::Command {
    COMMANDS.iter().fold(command, |command, (words, about)| {
        let one = |name: &'static str| clap::Command::new(name).about(*about);
        match *words {
            [name] => command.subcommand(one(name)),
            [group, name] => command.mut_subcommand(group, |group| group.subcommand(one(name))),
            _ => command,
        }
    })
}

/// Becomes the program with the arguments of this process, which call `command`.
///
/// # Errors
/// When it is not installed or cannot be run.
pub fn hand_over(command: &str) -> anyhow::Result<ExitCode> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let Some(program) = program() else {
        bail!(
            "'brisk {command}' needs the program {PROGRAM}, which is neither in the directory of this program nor in \
             PATH: install the package {PROGRAM}, or in a source tree run: make build"
        );
    };
    let failed = Command::new(&program).arg(format!("--called-by={}", crate::VERSION)).args(arguments).exec();
    Err(failed).with_context(|| format!("cannot run {}: install the package {PROGRAM} anew", program.display()))
}

/// Becomes the program where a shell asks for completions of one of its commands; where it is not installed, nothing is
/// offered. Returns where something else is asked.
pub fn complete() {
    let words: Vec<OsString> = std::env::args_os().skip_while(|word| word != "--").skip(2).collect();
    // The last word is the one that is completed.
    let before = words.split_last().map_or(&words[..], |(_, before)| before);
    if std::env::var_os(crate::completion::VARIABLE).is_none() || called(before).is_none() {
        return;
    }
    if let Some(program) = program() {
        let _ = Command::new(program).args(std::env::args_os().skip(1)).exec();
    }
    std::process::exit(0);
}

/// Where it is installed; `None` when it is not.
#[must_use]
pub fn program() -> Option<PathBuf> {
    find(PROGRAM)
}

/// Where a program of another package is installed.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let path = std::env::var_os("PATH").unwrap_or_default();
    places(program, own.as_deref(), &path).find(|place| place.is_file())
}

/// Where the program may be, the first place first: the directory of this program, then in the directories of PATH.
fn places(program: &str, own: Option<&Path>, path: &OsStr) -> impl Iterator<Item = PathBuf> {
    let in_own_dir = own.and_then(|own| Some(own.parent()?.join(program)));
    let in_path: Vec<PathBuf> = std::env::split_paths(path).map(|dir| dir.join(program)).collect();
    in_own_dir.into_iter().chain(in_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_the_same_directory_comes_before_those_in_path() {
        let found: Vec<PathBuf> = places(PROGRAM, Some(Path::new("/opt/brisk")), "/usr/bin:/bin".as_ref()).collect();
        let expected = ["/opt/brisk-lab", "/usr/bin/brisk-lab", "/bin/brisk-lab"].map(PathBuf::from);
        assert_eq!(found, expected);
    }

    #[test]
    fn the_words_before_the_first_argument_tell_whose_command_it_is() {
        let called = |text: &str| called(&text.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(called("launch --cold xterm"), Some(&["launch"][..]));
        assert_eq!(called("--color never -q phone apps"), Some(&["phone"][..]));
        assert_eq!(called("help phone"), Some(&["phone"][..]));
        assert_eq!(called("swap record"), Some(&["swap", "record"][..]));
        for own in ["swap setup", "swap", "study", "study slowdown", "status", "bench lab", "--color=never status"] {
            assert_eq!(called(own), None, "{own}");
        }
    }
}
