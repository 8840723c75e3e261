//! `brisk latency`: how long an app takes to answer what a person does.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use brisk_bench::environment::Run;
use brisk_bench::place::Place;
use brisk_launch::latency::Answers;
use brisk_launch::script::{self, Script};
use brisk_launch::{App, Launcher, monkey, scope};
use brisk_results::{Document, Ending, LatencyReport};

use crate::bench::output::Outputs;
use crate::bench::session::Session;
use crate::display::Display;
use crate::launch::{Watching, few_runs, place};

const AFTER_HELP: &str = "\
Examples:
  brisk latency --list                              # scripts that come with brisk
  brisk latency mousepad                            # one of them, on the display of this session
  brisk latency mine.toml --virtual --runs 10 --html mine.html
  brisk latency evince --virtual -- evince ~/paper.pdf
  brisk latency --monkey 500 --seed 10 -- gnome-mines   # run-time delay: pseudo-random events
  brisk latency --show mousepad >mine.toml          # a script to begin with

The input goes to whatever has the focus of the display: use --virtual, or leave the keyboard alone. Exit codes: 0 measured, 1 \
measured but some answers never settled, 2 not possible, 130 stopped by Ctrl-C.";

/// Arguments of `brisk latency`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, arg_required_else_help = true)]
pub(crate) struct Args {
    /// A script: a TOML file, or the name of one that comes with brisk
    #[arg(required_unless_present_any = ["monkey", "list", "show"], conflicts_with = "monkey")]
    script: Option<String>,
    /// Program and arguments, instead of the script's
    #[arg(last = true)]
    command: Vec<OsString>,
    /// Send so many pseudo-random events instead of a script, and measure how long they take (the paper: 500)
    #[arg(long, value_name = "EVENTS", value_parser = clap::value_parser!(u64).range(1..=1_000_000), requires = "command")]
    monkey: Option<u64>,
    /// Seed of the events: the same seed gives the same events
    #[arg(long, value_name = "N", default_value_t = monkey::PAPER_SEED)]
    seed: u64,
    /// Repetitions, each in a freshly launched app
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    runs: u16,
    #[command(flatten)]
    watching: Watching,
    /// List the scripts that come with brisk
    #[arg(long, exclusive = true)]
    list: bool,
    /// Print a script that comes with brisk
    #[arg(long, value_name = "NAME", exclusive = true)]
    show: Option<String>,
    #[command(flatten)]
    outputs: Outputs,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.list {
        for (name, text) in script::SHIPPED {
            println!("{name:<20} {}", text.lines().next().unwrap_or_default().trim_start_matches("# "));
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(name) = &args.show {
        let Some((_, text)) = script::SHIPPED.iter().find(|(shipped, _)| shipped == name) else {
            bail!("no script {name} comes with brisk; see brisk latency --list");
        };
        print!("{text}");
        return Ok(ExitCode::SUCCESS);
    }
    let script = args.script.as_deref().map(script::load).transpose()?;
    let app = app(args, script.as_ref())?;
    let place = place(&app);
    args.outputs.check(args.script.as_deref().map_or(place.as_path(), Path::new))?;
    measure(args, script.as_ref(), app, &place)
}

/// The app of the command line, else of the script.
fn app(args: &Args, script: Option<&Script>) -> anyhow::Result<App> {
    let command = match (args.command.is_empty(), script) {
        (false, _) => args.command.clone(),
        (true, Some(script)) => script.command.iter().map(OsString::from).collect(),
        (true, None) => Vec::new(),
    };
    if command.is_empty() {
        bail!("the script names no command: give it after --");
    }
    let app = App::from_command(command);
    Ok(App { id: script.map_or(app.id, |script| script.app.clone()), ..app })
}

fn measure(args: &Args, script: Option<&Script>, app: App, place: &Path) -> anyhow::Result<ExitCode> {
    let session = Session::begin()?;
    let sense = session.sense();
    for name in scope::end_leftovers(&sense)? {
        eprintln!("repaired: ended {name}, which a killed run had left");
    }
    let head = Run::begin(&sense, &Place::find(&sense, place, false)?, args.seed)?;
    let mut display = args.watching.display.open()?;
    let mut app = app;
    app.env.extend(display.environment());
    let launcher = Launcher { sense: &sense, settings: args.watching.settings(false), stop: session.stop_flag() };
    let runs = usize::from(args.runs);
    let mut progress = |done: usize, all: usize, doing: &str| session.show(done as f64 / all as f64, doing);
    let screen = display.needed()?;
    let outcome = match (script, args.monkey) {
        (Some(script), _) => launcher.follow(&app, script, runs, screen, &mut progress),
        (None, Some(events)) => launcher.monkey(&app, (args.seed, events), runs, screen, &mut progress),
        (None, None) => bail!("give a script or --monkey"),
    };
    session.clear();
    let answers = match outcome {
        Err(brisk_launch::Error::Stopped) => return Ok(session.was_stopped()),
        other => other.context("the measurement ended")?,
    };
    let unsettled = answers.steps.iter().flat_map(|step| &step.runs).any(|run| run.ending != Ending::Settled);
    let name = args.script.clone().unwrap_or_else(|| "monkey".to_owned());
    let report = report(head, &app, name, &display, answers, runs);
    session.finish(Document::Latency(Box::new(report)), &args.outputs)?;
    Ok(ExitCode::from(u8::from(unsettled)))
}

fn report(mut head: Run, app: &App, script: String, display: &Display, answers: Answers, runs: usize) -> LatencyReport {
    head.warn(answers.warnings);
    if runs < 6 {
        head.warn([few_runs(runs)]);
    }
    LatencyReport {
        header: head.end(None, 0),
        app: app.id.clone(),
        command: app.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        script,
        screen: display.facts(),
        steps: answers.steps,
        runtime_delay: answers.runtime_delay,
    }
}
