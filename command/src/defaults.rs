//! Defaults of measurements: the section `[bench]` of brisk.toml.
//!
//! A command that measures reads /etc/brisk/brisk.toml, the files of /etc/brisk/brisk.d and then
//! $XDG_CONFIG_HOME/brisk/brisk.toml, of which each key goes before those of the earlier ones, or `--defaults FILE`
//! alone. A key becomes the default of an option before the command line is parsed, so arguments win over it, `--help`
//! shows it, and no command knows of this file. The daemon reads the same /etc/brisk/brisk.toml, and passes this
//! section over.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::bail;
use brisk_core::units::parse_bytes;
use clap::builder::ArgPredicate;
use clap::{Command, Parser};
use serde::{Deserialize, Deserializer, de};

use crate::duration;

/// The configuration of the machine, which the daemon reads too.
pub const SYSTEM: &str = "/etc/brisk/brisk.toml";

/// What `--defaults` names for none at all.
pub const NO_FILE: &str = "/dev/null";

/// Sections of brisk.toml: this one, and those of the daemon.
pub const SECTIONS: [&str; 13] = [
    "bench",
    "daemon",
    "engines",
    "fixed",
    "apps",
    "services",
    "hook",
    "prefetch",
    "smartio",
    "smartstorage",
    "mars",
    "iram",
    "fleet",
];

/// The option that names another file.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct DefaultsFile {
    /// Take defaults of options from the section [bench] of FILE [default: /etc/brisk/brisk.toml, then
    /// $XDG_CONFIG_HOME/brisk/brisk.toml]; /dev/null for none
    #[arg(long, value_name = "FILE")]
    pub defaults: Option<PathBuf>,
}

/// How thorough `bench` and studies are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Effort {
    Quick,
    Normal,
    Full,
}

/// The section. Values are checked, and kept as they stand.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Bench {
    #[serde(deserialize_with = "path")]
    path: Option<String>,
    effort: Option<Effort>,
    #[serde(deserialize_with = "time")]
    budget: Option<String>,
    #[serde(deserialize_with = "size")]
    size: Option<String>,
    #[serde(deserialize_with = "size")]
    max_written: Option<String>,
    #[serde(deserialize_with = "engine")]
    engine: Option<String>,
    #[serde(deserialize_with = "time")]
    timeout: Option<String>,
    #[serde(deserialize_with = "time")]
    unsettled: Option<String>,
}

fn text<'de, D: Deserializer<'de>>(
    deserializer: D,
    check: impl Fn(&str) -> Result<(), String>,
) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    check(&text).map_err(de::Error::custom)?;
    Ok(Some(text))
}

fn path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    text(deserializer, |text| match text.starts_with('/') {
        true => Ok(()),
        false => Err(format!("'{text}' is not an absolute path: begin it with /")),
    })
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    text(deserializer, |text| duration::parse(text).map(drop))
}

fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    text(deserializer, |text| parse_bytes(text).map(drop).map_err(|error| error.to_string()))
}

fn engine<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    text(deserializer, |text| match ["io_uring", "calls"].contains(&text) {
        true => Ok(()),
        false => Err(format!("there is no engine '{text}': there are io_uring and calls")),
    })
}

const STUDIES: [&[&str]; 5] = [
    &["study", "slowdown"],
    &["study", "concurrency"],
    &["study", "schedulers"],
    &["study", "footprint"],
    &["study", "frontier"],
];
const BENCH: [&[&str]; 1] = [&["bench"]];
const OF_APPS: [&[&str]; 2] = [&["launch"], &["latency"]];

/// Whether a command takes defaults from the file.
fn is_measurement(command: &[&str]) -> bool {
    BENCH.iter().chain(&STUDIES).chain(&OF_APPS).any(|known| *known == command)
}

impl Bench {
    /// The options of a command that have a default here: name of the argument and value.
    fn options(&self, command: &[&str]) -> Vec<(&'static str, &str)> {
        let is = |known: &[&[&str]]| known.contains(&command);
        let (bench, study, apps) = (is(&BENCH), is(&STUDIES), is(&OF_APPS));
        let keys = [
            ("path", &self.path, bench || study),
            ("budget", &self.budget, bench),
            ("size", &self.size, bench),
            ("max_written", &self.max_written, bench),
            ("engine", &self.engine, bench || study),
            ("timeout", &self.timeout, apps),
            ("unsettled", &self.unsettled, apps),
        ];
        keys.into_iter()
            .filter(|(.., has)| *has)
            .filter_map(|(name, value, _)| Some((name, value.as_deref()?)))
            .collect()
    }

    /// The flag of a command that this effort sets, and the one that excludes it.
    fn flag(&self, command: &[&str]) -> Option<(&'static str, &'static str)> {
        let (bench, study) = (BENCH.contains(&command), STUDIES.contains(&command));
        match self.effort? {
            Effort::Quick if bench => Some(("quick", "full")),
            Effort::Quick if study => Some(("quick", "paper")),
            // The paper's sizes take hours: no study has them by default.
            Effort::Full if bench => Some(("full", "quick")),
            _ => None,
        }
    }

    /// Each key of this, and those of `other` that this lacks.
    fn or(self, other: Self) -> Self {
        Self {
            path: self.path.or(other.path),
            effort: self.effort.or(other.effort),
            budget: self.budget.or(other.budget),
            size: self.size.or(other.size),
            max_written: self.max_written.or(other.max_written),
            engine: self.engine.or(other.engine),
            timeout: self.timeout.or(other.timeout),
            unsettled: self.unsettled.or(other.unsettled),
        }
    }

    /// The section of a file.
    ///
    /// # Errors
    /// When the text is no TOML, or a section, key or value is not known: where, and what was probably meant.
    fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct File {
            #[serde(default)]
            bench: Bench,
        }
        let complain = |error: toml::de::Error| {
            let (line, column) = place(text, error.span().map_or(0, |span| span.start));
            let what = error.message().trim().replace('\n', ", ");
            let mut quoted = what.split('`').skip(1).step_by(2);
            let meant = quoted.next().filter(|_| what.starts_with("unknown ")).and_then(|given| nearest(given, quoted));
            let meant = meant.map_or_else(String::new, |meant| format!("; did you mean '{meant}'?"));
            format!("{line}:{column}: {what}{meant}")
        };
        let sections: toml::Table = toml::from_str(text).map_err(complain)?;
        if let Some(unknown) = sections.keys().find(|name| !SECTIONS.contains(&name.as_str())) {
            let meant = nearest(unknown, SECTIONS.into_iter()).map_or_else(
                || format!(": there are {}", SECTIONS.join(", ")),
                |near| format!("; did you mean '{near}'?"),
            );
            return Err(format!(" unknown section '{unknown}'{meant}"));
        }
        toml::from_str(text).map(|file: File| file.bench).map_err(complain)
    }
}

/// Line and column of a byte, the first are 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or_default();
    (before.matches('\n').count() + 1, before.rsplit('\n').next().unwrap_or_default().chars().count() + 1)
}

/// The nearest of `known`, if it is so near that it was probably meant.
fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (near, far) = known.map(|name| (name, strsim::damerau_levenshtein(given, name))).min_by_key(|one| one.1)?;
    (far <= (near.len() / 3).max(2)).then_some(near)
}

/// Checks the section of a file with this text.
///
/// # Errors
/// As `line:column: what is wrong`.
pub fn check(text: &str) -> Result<(), String> {
    Bench::parse(text).map(drop)
}

/// The section of the file at `path`; `None` where there is no such file and none is required.
fn read(path: &Path, required: bool) -> anyhow::Result<Option<Bench>> {
    let text = match brisk_program::files::read_text(path, brisk_program::files::TEXT_BYTES_MAX) {
        Ok(text) => text,
        // What this user may not read is not meant for this user.
        Err(brisk_program::files::Error::Io { source, .. })
            if !required && matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    match Bench::parse(&text) {
        Ok(bench) => Ok(Some(bench)),
        Err(complaint) => bail!("{}:{complaint}", path.display()),
    }
}

fn of_user(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let dir = |name: &str| variable(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let base = dir("XDG_CONFIG_HOME").or_else(|| dir("HOME").map(|home| home.join(".config")))?;
    Some(base.join("brisk/brisk.toml"))
}

/// Reads the file that was named, or those that there are; with the files that were read.
fn load(named: Option<&Path>) -> anyhow::Result<(Bench, Vec<PathBuf>)> {
    // No file of its own form: without defaults.
    if named == Some(Path::new(NO_FILE)) {
        return Ok((Bench::default(), Vec::new()));
    }
    if let Some(named) = named {
        return Ok((read(named, true)?.unwrap_or_default(), vec![named.to_owned()]));
    }
    let mut all = Bench::default();
    let mut files = Vec::new();
    // A folder that this user may not read is not meant for this user.
    let of_system = brisk_program::files::drop_ins(SYSTEM.as_ref()).unwrap_or_default();
    let of_system = std::iter::once(SYSTEM.into()).chain(of_system);
    for path in of_system.chain(of_user(|name| std::env::var_os(name))) {
        if let Some(bench) = read(&path, false)? {
            all = bench.or(all);
            files.push(path);
        }
    }
    Ok((all, files))
}

/// What the command line names: the words of the subcommand, and the file of `--defaults`. Errors are left to the real
/// parse.
fn asked(command: &Command, arguments: &[OsString]) -> Option<(Vec<String>, Option<PathBuf>)> {
    let lenient = command.clone().ignore_errors(true).disable_help_flag(true).disable_version_flag(true);
    let mut matches = lenient.try_get_matches_from(arguments).ok()?;
    let mut words = Vec::new();
    while let Some((word, below)) = matches.remove_subcommand() {
        words.push(word);
        matches = below;
    }
    let file = matches.try_get_one::<PathBuf>("defaults").ok().flatten().cloned();
    Some((words, file))
}

/// `command` with other defaults for the subcommand of these words.
fn with(command: Command, words: &[&str], bench: &Bench) -> Command {
    let (options, flag) = (bench.options(words), bench.flag(words));
    below(command, words, &|mut leaf| {
        for (name, value) in &options {
            leaf = leaf.mut_arg(name, |argument| argument.default_value(kept(value)));
        }
        if let Some((name, against)) = flag {
            leaf = leaf.mut_arg(name, |argument| {
                argument.default_value("true").default_value_if(
                    against,
                    ArgPredicate::Equals("true".into()),
                    Some("false"),
                )
            });
        }
        leaf
    })
}

fn below(command: Command, words: &[&str], change: &dyn Fn(Command) -> Command) -> Command {
    match words {
        [] => change(command),
        [first, rest @ ..] => command.mut_subcommand(first, |one| below(one, rest, change)),
    }
}

/// Text for as long as the process lives, as clap keeps defaults: a few words, once.
fn kept(text: &str) -> &'static OsStr {
    OsStr::new(Box::leak(text.to_owned().into_boxed_str()))
}

/// Ends the process with what clap says of the arguments.
fn end(error: &clap::Error) -> ! {
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    let text = error.render().to_string();
    let code = brisk_program::log::told_by_parser(error.use_stderr(), &text, || error.print(), code);
    std::process::exit(code.into())
}

/// Parses the arguments of this process by `command`, that of `C`, with the defaults of its files where it measures;
/// returns the files as well.
///
/// # Errors
/// When a file cannot be used. Wrong arguments and `--help` end the process, as clap does.
pub fn parse<C: Parser>(mut command: Command) -> anyhow::Result<(C, BTreeSet<PathBuf>)> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let mut files = BTreeSet::new();
    if let Some((words, named)) = asked(&command, &arguments) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if is_measurement(&words) {
            let (bench, found) = load(named.as_deref())?;
            command = with(command, &words, &bench);
            files.extend(found);
        }
    }
    let parsed = command.try_get_matches_from(arguments).and_then(|matches| C::from_arg_matches(&matches));
    Ok((parsed.unwrap_or_else(|error| end(&error)), files))
}

#[cfg(test)]
mod tests;
