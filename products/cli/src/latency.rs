//! `brisk latency`: how long an app takes to answer what a person does.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use brisk_bench::environment::Run;
use brisk_bench::place::Place;
use brisk_launch::latency::Answers;
use brisk_launch::script::{self, Script};
use brisk_launch::{App, Launcher, monkey};
use brisk_results::{Document, Ending, LatencyReport};

use crate::bench::output::Outputs;
use crate::bench::session::Session;
use crate::display::Display;
use crate::launch::{Watching, begin, few_runs, place};
use crate::on_phone::{self, Between, Brought};

const AFTER_HELP: &str = "\
Examples:
  brisk latency --list                              # scripts that come with brisk
  brisk latency mousepad                            # one of them, on the display of this session
  brisk latency mine.toml --virtual --runs 10 --html mine.html
  brisk latency evince --virtual -- evince ~/paper.pdf
  brisk latency --monkey 500 --seed 10 -- gnome-mines   # run-time delay: pseudo-random events
  brisk latency --show mousepad >mine.toml          # a script to begin with
  brisk latency evince --preset galaxy-s5-emmc --cold   # on an emulated phone

On a phone a script's app is launched as the phone's catalogue has it, with a document (see brisk lab phone apps), unless a \
command is given. The input goes to whatever has the focus of the display: use --virtual, or leave the keyboard alone. Exit codes: 0 measured, 1 \
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
    /// Drop all caches of the machine before each repetition, so that what the app needs is read again
    #[arg(long)]
    cold: bool,
    #[command(flatten)]
    watching: Watching,
    #[command(flatten)]
    phone: on_phone::Choice,
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
    if args.phone.wanted() {
        return on_a_phone(args, script.as_ref(), &app);
    }
    let session = begin()?;
    let sense = session.sense();
    let head = Run::begin(&sense, &Place::find(&sense, &place, false)?, args.seed)?;
    let mut display = args.watching.display.open()?;
    let mut app = app;
    app.env.extend(display.environment());
    app.env.push(still());
    let mut alone = Between { phone: None, home: None, session: &session };
    let Some(answers) = measure(args, script.as_ref(), &app, &mut display, &mut alone)? else {
        return Ok(session.was_stopped());
    };
    show(args, &session, report(args, head, &app, &display, answers))
}

/// Lets scroll bars of GTK stay: that one fades away three seconds after the last scroll is no part of the answer.
fn still() -> (OsString, OsString) {
    ("GTK_OVERLAY_SCROLLING".into(), "0".into())
}

/// Brings up a phone, or takes one that is up, and measures there.
fn on_a_phone(args: &Args, script: Option<&Script>, app: &App) -> anyhow::Result<ExitCode> {
    let known = on_phone::known(&app.command)?;
    let session = begin()?;
    let mut display = args.watching.display.own()?;
    // What has no screen is told now and not after the phone was built.
    display.needed()?;
    let Brought::Up(phone) = args.phone.bring(&session, &[known])? else { return Ok(session.was_stopped()) };
    let sense = session.sense();
    let head = Run::begin(&sense, &Place::find(&sense, &phone.root(), false)?, args.seed)?;
    let facts = phone.facts()?;
    let mut app = on_phone::app(&phone, known, &args.command, display.name())?;
    app.env.push(still());
    // An app that is ended in the midst of a script asks about that the next time.
    let home = Some(phone.remember_home()?);
    let mut between = Between { phone: Some(&phone), home, session: &session };
    let Some(answers) = measure(args, script, &app, &mut display, &mut between)? else {
        args.phone.leave(*phone)?;
        return Ok(session.was_stopped());
    };
    let mut report = report(args, head, &app, &display, answers);
    args.phone.tell(&mut report.header, &phone)?;
    report.phone = Some(facts);
    args.phone.leave(*phone)?;
    show(args, &session, report)
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

/// Follows the script or sends the events; `None` when the person stopped it.
fn measure(
    args: &Args,
    script: Option<&Script>,
    app: &App,
    display: &mut Display,
    between: &mut Between<'_>,
) -> anyhow::Result<Option<Answers>> {
    let session = between.session;
    let sense = session.sense();
    let launcher = Launcher { sense: &sense, settings: args.watching.settings(args.cold), stop: session.stop_flag() };
    let (rounds, screen) = (usize::from(args.runs), display.needed()?);
    let outcome = match (script, args.monkey) {
        (Some(script), _) => launcher.follow(app, script, rounds, screen, between),
        (None, Some(events)) => launcher.monkey(app, (args.seed, events), rounds, screen, between),
        (None, None) => bail!("give a script or --monkey"),
    };
    session.clear();
    match outcome {
        Err(brisk_launch::Error::Stopped) => Ok(None),
        other => Ok(Some(other.context("the measurement ended")?)),
    }
}

/// Writes the report; the exit code says whether every answer settled.
fn show(args: &Args, session: &Session, report: LatencyReport) -> anyhow::Result<ExitCode> {
    let unsettled = report.steps.iter().flat_map(|step| &step.runs).any(|run| run.ending != Ending::Settled);
    session.finish(Document::Latency(Box::new(report)), &args.outputs)?;
    Ok(ExitCode::from(u8::from(unsettled)))
}

fn report(args: &Args, mut head: Run, app: &App, display: &Display, answers: Answers) -> LatencyReport {
    head.warn(answers.warnings);
    if args.runs < 6 {
        head.warn([few_runs(usize::from(args.runs))]);
    }
    LatencyReport {
        header: head.end(None, 0),
        app: app.id.clone(),
        command: app.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        script: args.script.clone().unwrap_or_else(|| "monkey".to_owned()),
        phone: None,
        screen: display.facts(),
        steps: answers.steps,
        runtime_delay: answers.runtime_delay,
    }
}
