//! `brisk launch`: how long an app takes until it is on the screen, settled and done, and what the time went to.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use brisk_bench::environment::Run;
use brisk_bench::place::Place;
use brisk_launch::over::Limits;
use brisk_launch::{App, Launcher, Plan, Series, Settings, Setup, desktop, scope};
use brisk_results::{Document, Ending, LaunchReport, SplitMethod, Temperature, Warning};
use clap::ValueEnum;

use crate::bench::output::Outputs;
use crate::bench::session::Session;
use crate::display::{self, Display};
use crate::on_phone::{self, Between, Brought};

const AFTER_HELP: &str = "\
Examples:
  brisk launch mousepad                          # cold and warm, on the display of this session
  brisk launch --virtual -- xterm -e top         # on a screen of its own
  brisk launch org.gnome.Evince --cold --runs 10 --html evince.html
  brisk launch --warm --vs 'mousepad --disable-server' -- mousepad
  brisk launch --cold --save-reads reads.json -- gnumeric
  brisk launch --preset galaxy-s5-emmc -- evince # on an emulated phone, with the document that is there

The app is ended after each launch: save what is open in it before. Root gets the whole picture: the split by cause, what was \
read, and cold launches that are cold. Exit codes: 0 measured, 1 measured but some launches did not settle, 2 not possible, \
130 stopped by Ctrl-C.";

/// Arguments of `brisk launch`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, arg_required_else_help = true)]
pub(crate) struct Args {
    /// A desktop id such as org.gnome.Evince, or a program; with arguments give it after --
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    app: Option<String>,
    /// Program and arguments
    #[arg(last = true)]
    command: Vec<OsString>,
    /// Launch with nothing of the app in memory, verified [default: cold and warm in turns]
    #[arg(long)]
    cold: bool,
    /// Launch with the app in memory
    #[arg(long)]
    warm: bool,
    /// Launches of each kind, interleaved: 6 or more give intervals of 95 %
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    runs: u16,
    /// Compare with this command line, in turns (A B B A)
    #[arg(long, value_name = "COMMAND")]
    vs: Option<String>,
    /// Drop all caches of the machine before cold launches as well: folders and inodes go too, and everything else is cold
    #[arg(long)]
    drop_caches: bool,
    #[command(flatten)]
    watching: Watching,
    #[command(flatten)]
    phone: on_phone::Choice,
    /// Write what the first cold launch read, in order, into FILE (JSON)
    #[arg(long, value_name = "FILE")]
    save_reads: Option<PathBuf>,
    #[command(flatten)]
    outputs: Outputs,
}

/// How an app is watched, for `launch` and `latency`.
#[derive(Debug, clap::Args)]
pub(crate) struct Watching {
    /// How the time is split
    #[arg(long, value_enum, value_name = "METHOD", default_value = "bpf")]
    method: MethodName,
    #[command(flatten)]
    pub(crate) display: display::Options,
    /// Give up on a launch or an answer after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Give up on a screen that never stands still after so many seconds without waits for storage
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    unsettled: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MethodName {
    /// By the kernel's events (eBPF): exclusive, to the microsecond
    Bpf,
    /// By counters of the app's control group
    Cgroup,
    /// By formulas 4.1 and 4.2 of the dissertation
    Paper,
}

impl Watching {
    /// The settings of a launcher.
    pub(crate) fn settings(&self, drop_caches: bool) -> Settings {
        let seconds = |seconds: u64| seconds * 1_000_000_000;
        let default = Limits::default();
        let total_ns = seconds(self.timeout);
        Settings {
            method: match self.method {
                MethodName::Bpf => SplitMethod::Bpf,
                MethodName::Cgroup => SplitMethod::Cgroup,
                MethodName::Paper => SplitMethod::Paper,
            },
            limits: Limits {
                window_ns: default.window_ns.min(total_ns),
                unsettled_ns: seconds(self.unsettled),
                total_ns,
            },
            drop_caches,
        }
    }
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.phone.wanted() {
        return on_a_phone(args);
    }
    let app = app(args.app.as_deref(), &args.command)?;
    let place = place(&app);
    args.outputs.check(&place)?;
    let plan = plan(args, app, other(args)?.map(App::from_command))?;
    let session = begin()?;
    let sense = session.sense();
    let head = Run::begin(&sense, &Place::find(&sense, &place, false)?, 0)?;
    let mut display = args.watching.display.open()?;
    let plan = display.with_environment(plan);
    let mut alone = Between { phone: None, home: None, session: &session };
    let Some(series) = measure(args, &plan, &mut display, &mut alone)? else { return Ok(session.was_stopped()) };
    let printed = series.printed.clone();
    let report = report(head, &plan, &display, series);
    show(args, &session, report, &display, &printed)
}

/// Leftovers ended, signals taken over.
pub(crate) fn begin() -> anyhow::Result<Session> {
    let session = Session::begin()?;
    for name in scope::end_leftovers(&session.sense())? {
        eprintln!("repaired: ended {name}, which a killed run had left");
    }
    Ok(session)
}

/// Brings up a phone, or takes one that is up, and launches there.
fn on_a_phone(args: &Args) -> anyhow::Result<ExitCode> {
    let command = args.app.as_ref().map_or_else(|| args.command.clone(), |name| vec![name.into()]);
    let known = on_phone::known(&command)?;
    let other = other(args)?;
    let known_other = other.as_ref().map(|command| on_phone::known(command)).transpose()?;
    args.outputs.check(Path::new("/"))?;
    let session = begin()?;
    let mut display = args.watching.display.own()?;
    let apps: Vec<_> = std::iter::once(known).chain(known_other).collect();
    let Brought::Up(phone) = args.phone.bring(&session, &apps)? else { return Ok(session.was_stopped()) };
    let sense = session.sense();
    let head = Run::begin(&sense, &Place::find(&sense, &phone.root(), false)?, 0)?;
    let facts = phone.facts()?;
    let app = on_phone::app(&phone, known, &command, display.name())?;
    let other = known_other.zip(other).map(|(known, command)| on_phone::app(&phone, known, &command, display.name()));
    let plan = plan(args, app, other.transpose()?)?;
    let mut between = Between { phone: Some(&phone), home: None, session: &session };
    let Some(series) = measure(args, &plan, &mut display, &mut between)? else {
        args.phone.leave(*phone)?;
        return Ok(session.was_stopped());
    };
    let printed = series.printed.clone();
    let mut report = report(head, &plan, &display, series);
    args.phone.tell(&mut report.header, &phone)?;
    report.phone = Some(facts);
    args.phone.leave(*phone)?;
    show(args, &session, report, &display, &printed)
}

/// Launches as planned; `None` when the person stopped it.
fn measure(
    args: &Args,
    plan: &Plan,
    display: &mut Display,
    between: &mut Between<'_>,
) -> anyhow::Result<Option<Series>> {
    let session = between.session;
    let sense = session.sense();
    let settings = args.watching.settings(args.drop_caches);
    let launcher = Launcher { sense: &sense, settings, stop: session.stop_flag() };
    let outcome = launcher.run(plan, display.screen(), between);
    session.clear();
    let series = match outcome {
        Err(brisk_launch::Error::Stopped) => return Ok(None),
        other => other?,
    };
    if let Some(file) = &args.save_reads {
        save_reads(file, &series)?;
    }
    Ok(Some(series))
}

/// Writes the report; the exit code says whether every launch came to its end.
fn show(
    args: &Args,
    session: &Session,
    report: LaunchReport,
    display: &Display,
    printed: &str,
) -> anyhow::Result<ExitCode> {
    let unsettled = report.sets.iter().flat_map(|set| &set.runs).any(|run| !came_to_its_end(&run.ending, display));
    session.finish(Document::Launch(Box::new(report)), &args.outputs)?;
    if unsettled && !printed.trim().is_empty() {
        eprintln!("brisk: the app said last:\n{}", printed.trim_end());
    }
    Ok(ExitCode::from(u8::from(unsettled)))
}

/// Whether a launch went as one should: settled on a screen; without one, done or ended well.
fn came_to_its_end(ending: &Ending, display: &Display) -> bool {
    match ending {
        Ending::Settled | Ending::Headless => true,
        Ending::Exited { code: Some(0), .. } => display.is_none(),
        _ => false,
    }
}

/// The app that was named: a command as it stands, a desktop id, or else a program.
pub(crate) fn app(name: Option<&str>, command: &[OsString]) -> anyhow::Result<App> {
    let Some(name) = name else { return Ok(App::from_command(command.to_vec())) };
    let variable = |name| std::env::var_os(name);
    let dirs = desktop::data_dirs(variable("HOME"), variable("XDG_DATA_HOME"), variable("XDG_DATA_DIRS"));
    match desktop::find(name, &dirs) {
        Ok(app) => Ok(app),
        // What has a dot but no slash looks like an id; everything may be a program.
        Err(brisk_launch::Error::DesktopEntry { .. }) if name.contains('/') || in_path(name) => {
            Ok(App::from_command(vec![name.into()]))
        }
        Err(error @ brisk_launch::Error::DesktopEntry { .. }) => {
            Err(anyhow::Error::from(error).context(format!("there is no program {name} in PATH either")))
        }
        Err(error) => Err(error.into()),
    }
}

fn in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| rustix::fs::access(dir.join(program), rustix::fs::Access::EXEC_OK).is_ok())
}

/// Where the app's own data goes: the storage that the report is about.
pub(crate) fn place(app: &App) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_dir());
    app.root.clone().or(home).unwrap_or_else(|| PathBuf::from("/"))
}

/// The command line of --vs.
fn other(args: &Args) -> anyhow::Result<Option<Vec<OsString>>> {
    let Some(other) = &args.vs else { return Ok(None) };
    let words = shlex::split(other).context("the quotes in --vs do not close")?;
    if words.is_empty() {
        bail!("--vs is empty: give a command line");
    }
    Ok(Some(words.into_iter().map(OsString::from).collect()))
}

fn plan(args: &Args, app: App, other: Option<App>) -> anyhow::Result<Plan> {
    let label = |app: &App| {
        let words: Vec<_> = app.command.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    };
    let mut setups = vec![Setup { label: app.id.clone(), app }];
    if let Some(app) = other {
        setups.push(Setup { label: label(&app), app });
        setups[0].label = label(&setups[0].app);
        if setups[0].label == setups[1].label {
            bail!("--vs is the same command: there is nothing to compare");
        }
    }
    let temperatures = match (args.cold, args.warm) {
        (true, false) => vec![Temperature::Cold],
        (false, true) => vec![Temperature::Warm],
        _ => vec![Temperature::Cold, Temperature::Warm],
    };
    Ok(Plan { setups, temperatures, rounds: usize::from(args.runs) })
}

fn report(mut head: Run, plan: &Plan, display: &Display, series: Series) -> LaunchReport {
    head.warn(series.warnings);
    if plan.rounds < 6 {
        head.warn([few_runs(plan.rounds)]);
    }
    let app = &plan.setups[0].app;
    LaunchReport {
        header: head.end(None, 0),
        app: app.id.clone(),
        command: app.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        phone: None,
        screen: display.facts(),
        sets: series.sets,
        comparisons: series.comparisons,
    }
}

/// The warning for fewer runs than intervals of 95 % need.
pub(crate) fn few_runs(runs: usize) -> Warning {
    Warning {
        code: "few_repeats".to_owned(),
        text: format!(
            "With {runs} runs the intervals are the whole range, and promise less than 95 %; use --runs 6 or more."
        ),
    }
}

fn save_reads(file: &Path, series: &Series) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(&series.reads).context("cannot write the reads as JSON")?;
    std::fs::write(file, text + "\n").with_context(|| format!("cannot write --save-reads {}", file.display()))
}
