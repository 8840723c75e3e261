//! Completions: the shell asks brisk itself, so they know the apps, presets and devices of this machine.
//!
//! What is installed for a shell are a few lines that call brisk with [`VARIABLE`] set (clap_complete). The candidates of an option
//! follow from its name ([`source`]); values that are no files offer none. Hidden commands and options are never offered: the
//! tree that is completed is built without them. Names that the laboratory knows come from `brisk-lab`, where it is installed.

use std::ffi::OsStr;
use std::process::{Command as Process, Stdio};

use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _};
use clap_complete::env::{Bash, CompleteEnv, Elvish, EnvCompleter, Fish, Powershell, Zsh};

/// Set by the shell when it asks for completions.
const VARIABLE: &str = "BRISK_COMPLETE";

/// Answers the shell and ends the process, where this is what brisk was started for.
pub(crate) fn answer(command: fn() -> Command) {
    if std::env::var_os(VARIABLE).is_some() {
        CompleteEnv::with_factory(move || visible(&command(), "")).var(VARIABLE).bin("brisk").complete();
    }
}

/// The lines that a shell reads at its start.
pub(crate) fn registration(shell: clap_complete::Shell) -> std::io::Result<Vec<u8>> {
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

/// A command with its visible options and subcommands, and the candidates of their values. `path` are the words before it.
fn visible(command: &Command, path: &str) -> Command {
    let path = format!("{path} {}", command.get_name()).trim_start().to_owned();
    // Names live as long as the process, which ends when it has answered.
    let kept = |name: &str| -> &'static str { name.to_owned().leak() };
    let mut shown = Command::new(kept(command.get_name()))
        .visible_aliases(command.get_visible_aliases().map(kept).collect::<Vec<_>>())
        .version(brisk_command::VERSION)
        .propagate_version(true)
        .disable_help_subcommand(true);
    if let Some(about) = command.get_about() {
        shown = shown.about(about.clone());
    }
    for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
        shown = shown.arg(with_candidates(argument.clone(), &path));
    }
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        shown = shown.subcommand(visible(subcommand, &path));
    }
    shown
}

fn with_candidates(argument: Arg, path: &str) -> Arg {
    let takes_value = argument.get_action().takes_values();
    if !takes_value || !argument.get_possible_values().is_empty() {
        return argument;
    }
    let name = argument.get_long().unwrap_or_else(|| argument.get_id().as_str()).to_owned();
    let values: Vec<String> =
        argument.get_value_names().unwrap_or_default().iter().map(|name| name.to_string()).collect();
    if let Some(source) = source(path, &name) {
        let or_files = values.iter().any(|value| value.contains("FILE"));
        return argument.add(ArgValueCompleter::new(move |typed: &OsStr| offered(source, typed, or_files)));
    }
    let is_path = |value: &String| ["FILE", "DIR", "PATH", "DEVICE", "COMMAND"].iter().any(|word| value.contains(word));
    match argument.get_value_hint() {
        ValueHint::Unknown if !values.iter().any(is_path) => argument.value_hint(ValueHint::Other),
        _ => argument,
    }
}

/// Gives the names that a value may have.
type Source = fn() -> Vec<String>;

/// Where the values of an option come from, by its name.
fn source(path: &str, option: &str) -> Option<Source> {
    Some(match (path, option) {
        ("brisk suite cures", "apps") => || names(&["facebook", "webbench"]),
        (_, "preset" | "presets" | "cut-preset") => presets,
        (_, "apps") | ("brisk launch" | "brisk latency", "app") => apps,
        (_, "engines") => || names(brisk_daemon::engines::NAMES),
        (_, "scheduler" | "schedulers") => schedulers,
        ("brisk suite relaunch" | "brisk suite day", "policies") => policies,
        (_, "device") => devices,
        _ => return None,
    })
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

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn policies() -> Vec<String> {
    brisk_command::lab::suite::POLICIES.iter().copied().chain(["all"]).map(str::to_owned).collect()
}

fn presets() -> Vec<String> {
    of_lab(&["lab", "presets"], "presets", "name")
}

fn apps() -> Vec<String> {
    let mut apps = of_lab(&["lab", "phone", "apps"], "apps", "name");
    apps.extend((!apps.is_empty()).then(|| "all".to_owned()));
    apps
}

/// A field of each entry of a list that the laboratory prints; nothing where it is not installed.
fn of_lab(command: &[&str], list: &str, field: &str) -> Vec<String> {
    let Some(program) = crate::lab::program() else { return Vec::new() };
    let run = Process::new(program).args(command).arg("--json").stdin(Stdio::null()).stderr(Stdio::null()).output();
    let Some(output) = run.ok().filter(|output| output.status.success()) else { return Vec::new() };
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let entries = document[list].as_array().map(Vec::as_slice).unwrap_or_default();
    entries.iter().filter_map(|entry| entry[field].as_str()).map(str::to_owned).collect()
}

/// Names of block devices.
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
