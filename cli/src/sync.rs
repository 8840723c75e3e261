//! `brisk sync`: selective sync of apps (Revisiting storage for smartphones, sect. 5.5).

mod advise;
mod policies;
mod switch;

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command as Program, ExitCode};

use anyhow::{Context as _, bail};
use brisk_command::json::{Document, Json};
use brisk_command::terminal::step;
use brisk_sync::library::{RULES_VARIABLE, install, loadable};
use brisk_sync::policy::{Class, Homes};
use brisk_sync::program::ignores_preloading;
use serde_json::json;

use policies::{PolicyFile, homes, policy_of};

const AFTER_HELP: &str = "\
Classes of files: 'durable' (a sync writes, as ever; all files that no policy names), 'ordered' (after a power cut the \
file is as it was at one moment of the last seconds) and 'cache' (after a power cut the file may have any content; \
only the user's cache directory without a policy). 'ordered' holds where order is kept without syncs: SQLite databases \
in WAL mode, and files whose data ext4 journals (mounted data=journal, or with nodelalloc and the attribute j of \
'chattr +j'). Everywhere else such files stay durable. Files on network file systems stay durable. Programs that are \
linked statically or use SQLite of their own are not reached, or by their files alone.

Policies: /etc/brisk/sync/APP.toml, else /usr/share/brisk/sync/APP.toml, else the cache directory alone.";

/// Arguments of `brisk sync`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Run a command, and show which files it waited for in syncs, what class they may have, and what a power cut could
    /// lose then
    Advise(advise::Args),
    /// Check a policy, and show its rules for this user
    Check(Check),
    /// Run an app under its policy
    Run(Run),
    /// Start an app under its policy whenever it is launched from a menu of this user
    On(switch::On),
    /// Start an app as before
    Off(switch::Off),
    /// Show whether an app is started under its policy, and the rules
    Status(switch::Status),
    /// Write the two libraries into a directory: for packagers, and for apps that load the SQLite extension
    Libraries(Libraries),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 correct, 2 not: nothing is loosened by it.")]
struct Check {
    /// The policy
    #[arg(value_name = "FILE")]
    policy: PathBuf,
    #[command(flatten)]
    json: Json,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
When the policy is not correct, or the program takes no library (linked statically, with the rights of another user, \
with another C library), the app is started without it, and that is printed: all its files are durable.

Example: brisk sync run org.example.Reader -- reader paper.pdf")]
struct Run {
    /// Id of the app, as its desktop entry has it
    app: String,
    /// A policy, instead of the one of the system
    #[arg(long, value_name = "FILE")]
    policy_file: Option<PathBuf>,
    /// The command with its arguments
    #[arg(last = true, required = true, num_args = 1.., value_name = "COMMAND")]
    words: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: brisk sync libraries /usr/lib/brisk
SQLite: '.load /usr/lib/brisk/brisk_sync_sqlite', then 'file:a.db?brisk_sync=ordered&brisk_seconds=5' names the class \
of a database.")]
struct Libraries {
    /// The directory; it is made where it is missing
    dir: PathBuf,
    #[command(flatten)]
    json: Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Advise(args) => advise::run(args),
        Command::Check(args) => check(args),
        Command::Run(args) => run_app(args),
        Command::On(args) => switch::on(args),
        Command::Off(args) => switch::off(args),
        Command::Status(args) => switch::status(args),
        Command::Libraries(args) => libraries(args),
    }
}

fn check(args: &Check) -> anyhow::Result<ExitCode> {
    let found = policies::read(&args.policy)?;
    let homes = homes()?;
    let document = json!({ "policy": args.policy, "rules": rules_json(&found, &homes)? });
    let text = rules_text(&found, &homes)?;
    args.json.show(&Document::new("sync_check", document), || text)?;
    Ok(ExitCode::SUCCESS)
}

fn libraries(args: &Libraries) -> anyhow::Result<ExitCode> {
    install(&args.dir).with_context(|| format!("cannot write the libraries into {}", args.dir.display()))?;
    let text = || format!("{}: brisk_sync.so and brisk_sync_sqlite.so are there\n", args.dir.display());
    args.json.show(&Document::new("sync_libraries", json!({ "dir": args.dir })), text)?;
    Ok(ExitCode::SUCCESS)
}

fn rules_text(found: &PolicyFile, homes: &Homes) -> anyhow::Result<String> {
    let rules = found.policy.rules(homes)?;
    let line = |rule: &brisk_sync::policy::Rule| {
        let bound = if rule.class == Class::Ordered { format!(" {} s", rule.seconds) } else { String::new() };
        format!("{:<12}{}\n", format!("{}{bound}", rule.class.name()), rule.pattern)
    };
    let lines: String = rules.all().iter().map(line).collect();
    Ok(format!("{lines}{:<12}all other files\n", Class::Durable.name()))
}

fn rules_json(found: &PolicyFile, homes: &Homes) -> anyhow::Result<serde_json::Value> {
    let rules = found.policy.rules(homes)?;
    let one = |rule: &brisk_sync::policy::Rule| {
        let bound = (rule.class == Class::Ordered).then_some(rule.seconds);
        json!({ "class": rule.class, "bound_s": bound, "pattern": rule.pattern })
    };
    Ok(rules.all().iter().map(one).collect())
}

/// Where the libraries of this user are.
fn library_dir(homes: &Homes) -> PathBuf {
    homes.data.join("brisk/sync")
}

/// The preloaded libraries of a process, with ours before those that it has.
fn preload(library: &Path) -> OsString {
    let mut all = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    all
}

/// The library, in this directory or in another one from which it is loaded.
fn library(dir: &Path) -> anyhow::Result<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let library = loadable(dir, runtime.as_deref())?;
    if !library.starts_with(dir) {
        step(&format!("the library is loaded from {}", library.display()));
    }
    Ok(library)
}

/// The environment of an app under its policy.
fn loosened(args: &Run) -> anyhow::Result<[(&'static str, OsString); 2]> {
    let homes = homes()?;
    let found = match &args.policy_file {
        Some(file) => policies::read(file)?,
        None => policy_of(&args.app)?,
    };
    let rules = found.policy.rules(&homes)?.encode();
    let library = library(&library_dir(&homes))?;
    if let Some(program) = args.words.first() {
        let path = std::env::var_os("PATH");
        if let Some(why) = ignores_preloading(Path::new(program), path.as_deref()) {
            bail!("{why}");
        }
    }
    Ok([("LD_PRELOAD", preload(&library)), (RULES_VARIABLE, rules.into())])
}

fn run_app(args: &Run) -> anyhow::Result<ExitCode> {
    let (program, arguments) = args.words.split_first().context("no command")?;
    let mut command = Program::new(program);
    command.args(arguments);
    match loosened(args) {
        Ok(environment) => {
            command.envs(environment);
        }
        Err(error) => brisk_program::warn!("brisk: {}: all files stay durable: {error:#}", args.app),
    }
    Err(command.exec()).with_context(|| format!("cannot start {}", program.display()))
}
