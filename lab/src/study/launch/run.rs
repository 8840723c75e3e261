//! `brisk launch`: how long an app takes until it is on the screen, settled and done, and what the time went to.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::launch::over::{IDLE_NS, Limits};
use crate::launch::{App, Launcher, Plan, Series, Settings, Setup, desktop, scope};
use crate::results::{Document, Ending, LaunchReport, SplitMethod, Temperature, Warning};
use crate::study::launch::arguments::{Args, MethodName, Watching};
use anyhow::{Context as _, bail};
use brisk_bench::environment::Run;
use brisk_bench::place::Place;
use brisk_command::json;
use brisk_command::output::{self, replace};
use brisk_command::session::Session;
use brisk_core::causes::in_one_line;

use crate::study::display::{self, Display};

/// The settings of a launcher.
pub(crate) fn settings(watching: &Watching, drop_caches: bool) -> Settings {
    let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    let default = Limits::default();
    let total_ns = ns(watching.timeout);
    Settings {
        method: match watching.method {
            MethodName::Bpf => SplitMethod::Bpf,
            MethodName::Cgroup => SplitMethod::Cgroup,
            MethodName::Paper => SplitMethod::Paper,
        },
        limits: Limits {
            window_ns: default.window_ns.min(total_ns),
            unsettled_ns: ns(watching.unsettled),
            total_ns,
            ..default
        },
        drop_caches,
        ..Settings::default()
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(file) = &args.save_reads {
        output::check("--save-reads", file)?;
    }
    let app = match &args.app {
        Some(name) if args.as_phone => crate::phone::on_this_machine(name)?,
        name => app(name.as_deref(), &args.command)?,
    };
    let place = place();
    args.outputs.check(&place)?;
    let plan = plan(args, app, other(args)?.map(App::from_command))?;
    let session = begin()?;
    let sense = session.sense();
    let head = Run::begin(&sense, &Place::find(&sense, &place, false)?, 0)?;
    let open = if args.as_phone { display::of_phone } else { display::open };
    let mut display = open(&args.watching.display)?;
    let plan = display.with_environment(plan);
    let Some(series) = measure(args, &plan, &mut display, &session)? else { return Ok(session.was_stopped()) };
    let (printed, saved) = (series.printed.clone(), save_reads(args, &series));
    let report = report(args, head, &plan, &display, series);
    let code = show(args, &session, report, &display, &printed)?;
    saved.map(|()| code)
}

/// Begins a session without leftovers of killed runs.
pub(crate) fn begin() -> anyhow::Result<Session> {
    let session = Session::begin()?;
    for name in scope::end_leftovers(&session.sense())? {
        brisk_program::notice!("repaired: ended {name}, a leftover of a killed run");
    }
    Ok(session)
}

/// Launches as planned; `None` when the person stopped it.
fn measure(args: &Args, plan: &Plan, display: &mut Display, session: &Session) -> anyhow::Result<Option<Series>> {
    let sense = session.sense();
    let mut settings = settings(&args.watching, args.drop_caches);
    settings.limits.idle_ns = idle_ns(args);
    settings.stay = args.stay.unwrap_or_default();
    let launcher = Launcher { sense: &sense, settings, stop: session.stop_flag() };
    let outcome =
        launcher.run(plan, display.screen(), &mut |done, all, doing| session.show(done as f64 / all as f64, doing));
    session.clear();
    let series = match outcome {
        Err(crate::launch::Error::Stopped) => return Ok(None),
        other => other?,
    };
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
    session.finish(Document::from(report), &args.outputs)?;
    if unsettled && !printed.trim().is_empty() {
        brisk_program::notice!("brisk: the app said last:\n{}", printed.trim_end());
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
        Err(crate::launch::Error::DesktopEntry { .. }) if name.contains('/') || in_path(name) => {
            Ok(App::from_command(vec![name.into()]))
        }
        Err(error @ crate::launch::Error::DesktopEntry { .. }) => {
            bail!("there is no program {name} in PATH, and {}", in_one_line(&error))
        }
        Err(error) => Err(error.into()),
    }
}

fn in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| rustix::fs::access(dir.join(program), rustix::fs::Access::EXEC_OK).is_ok())
}

/// Where the app's own data goes: the storage that the report is about.
pub(crate) fn place() -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_dir());
    home.unwrap_or_else(|| PathBuf::from("/"))
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
    Ok(Plan { setups, temperatures, rounds: usize::from(args.runs), as_it_is: args.as_it_is })
}

/// How long a program that keeps running has to be idle to count as done.
fn idle_ns(args: &Args) -> u64 {
    args.idle.map_or(IDLE_NS, |idle| u64::try_from(idle.as_nanos()).unwrap_or(u64::MAX))
}

fn report(args: &Args, mut head: Run, plan: &Plan, display: &Display, series: Series) -> LaunchReport {
    head.warn(series.warnings);
    if plan.rounds < 6 {
        head.warn([few_runs(plan.rounds)]);
    }
    let app = &plan.setups[0].app;
    LaunchReport {
        header: head.end(None, 0),
        app: app.id.clone(),
        command: app.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        screen: display.facts(),
        idle_limit_ms: display.is_none().then(|| idle_ns(args) as f64 / 1e6),
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

/// Writes the file of --save-reads. When that fails, the report is still shown: the measurement took minutes.
fn save_reads(args: &Args, series: &Series) -> anyhow::Result<()> {
    let Some(file) = &args.save_reads else { return Ok(()) };
    let document = json::Document::new("launch_reads", serde_json::json!({ "reads": series.reads }));
    let text = serde_json::to_string_pretty(&document).context("cannot write the reads as JSON")?;
    replace(file, (text + "\n").as_bytes()).context("--save-reads failed")
}
