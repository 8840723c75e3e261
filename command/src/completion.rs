//! Completions: the shell asks the program itself, so they know the apps, presets and devices of this machine.
//!
//! What is installed for a shell are a few lines that call brisk with [`VARIABLE`] set (clap_complete); where the words
//! are those of another program (see [`crate::lab`]), brisk becomes it. The candidates of an option follow from its
//! name ([`Sources`]); values that are no files offer none. Hidden commands and options are never offered: the tree
//! that is completed is built without them.

use std::ffi::OsStr;

use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _};
use clap_complete::env::{Bash, CompleteEnv, Elvish, EnvCompleter, Fish, Powershell, Zsh};

/// Set by the shell when it asks for completions.
pub const VARIABLE: &str = "BRISK_COMPLETE";

/// Answers the shell and ends the process, where this is what it was started for.
pub fn answer(command: fn() -> Command, sources: Sources) {
    if std::env::var_os(VARIABLE).is_some() {
        CompleteEnv::with_factory(move || visible(&command(), "", sources)).var(VARIABLE).bin("brisk").complete();
    }
}

/// The lines that a shell reads at its start.
///
/// # Errors
/// When they cannot be written.
pub fn registration(shell: clap_complete::Shell) -> std::io::Result<Vec<u8>> {
    let completer: &dyn EnvCompleter = match shell {
        clap_complete::Shell::Bash => &Bash,
        clap_complete::Shell::Elvish => &Elvish,
        clap_complete::Shell::Fish => &Fish,
        clap_complete::Shell::PowerShell => &Powershell,
        _ => &Zsh,
    };
    let mut script = Vec::new();
    completer.write_registration(VARIABLE, "brisk", "brisk", "brisk", &mut script)?;
    Ok(script)
}

/// A command with its visible options and subcommands, and the candidates of their values. `path` are the words before
/// it.
fn visible(command: &Command, path: &str, sources: Sources) -> Command {
    let name = command.get_bin_name().filter(|_| path.is_empty()).unwrap_or_else(|| command.get_name());
    let path = format!("{path} {name}").trim_start().to_owned();
    // Names live as long as the process, which ends when it has answered.
    let kept = |name: &str| -> &'static str { name.to_owned().leak() };
    let mut shown = Command::new(kept(name))
        .visible_aliases(command.get_visible_aliases().map(kept).collect::<Vec<_>>())
        .version(crate::VERSION)
        .propagate_version(true)
        .disable_help_subcommand(true);
    if let Some(about) = command.get_about() {
        shown = shown.about(about.clone());
    }
    for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
        shown = shown.arg(with_candidates(argument.clone(), &path, sources));
    }
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        shown = shown.subcommand(visible(subcommand, &path, sources));
    }
    shown
}

fn with_candidates(argument: Arg, path: &str, sources: Sources) -> Arg {
    let takes_value = argument.get_action().takes_values();
    if !takes_value || !argument.get_possible_values().is_empty() {
        return argument;
    }
    let name = argument.get_long().unwrap_or_else(|| argument.get_id().as_str()).to_owned();
    let values: Vec<String> =
        argument.get_value_names().unwrap_or_default().iter().map(|name| name.to_string()).collect();
    if let Some(source) = sources(path, &name) {
        let or_files = values.iter().any(|value| value.contains("FILE"));
        return argument.add(ArgValueCompleter::new(move |typed: &OsStr| offered(source, typed, or_files)));
    }
    let is_path = |value: &String| ["FILE", "DIR", "PATH", "DEVICE", "COMMAND"].iter().any(|word| value.contains(word));
    match argument.get_value_hint() {
        ValueHint::Unknown if !values.iter().any(is_path) => argument.value_hint(ValueHint::Other),
        _ => argument,
    }
}

/// Returns the names that a value may have.
pub type Source = fn() -> Vec<String>;

/// Where the values of an option come from, by the words of its command and its name.
pub type Sources = fn(path: &str, option: &str) -> Option<Source>;

/// What every program knows.
#[must_use]
pub fn of_machine(_: &str, option: &str) -> Option<Source> {
    match option {
        "scheduler" | "schedulers" => Some(schedulers),
        "device" => Some(devices),
        _ => None,
    }
}

/// Those names that begin as typed; files where a path is typed and the option takes one.
fn offered(source: Source, typed: &OsStr, or_files: bool) -> Vec<CompletionCandidate> {
    let Some(text) = typed.to_str() else { return Vec::new() };
    if or_files && text.starts_with(['/', '.', '~']) {
        return PathCompleter::file().complete(typed);
    }
    let mut found: Vec<String> = source().into_iter().filter(|name| name.starts_with(text)).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(CompletionCandidate::new).collect()
}

fn devices() -> Vec<String> {
    let entries = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Schedulers that this kernel offers for any device, and those of every kernel.
fn schedulers() -> Vec<String> {
    let offered = |device: String| std::fs::read_to_string(format!("/sys/block/{device}/queue/scheduler")).ok();
    let offered: Vec<String> = devices().into_iter().filter_map(offered).collect();
    let words = offered.iter().flat_map(|text| text.split_whitespace()).map(|word| word.trim_matches(['[', ']']));
    words.chain(["none", "mq-deadline", "kyber", "bfq"]).map(str::to_owned).collect()
}
