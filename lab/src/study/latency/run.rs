//! `brisk latency`: how long an app takes to answer what a person does.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::launch::latency::Answers;
use crate::launch::script::{self, Script};
use crate::launch::{App, Launcher};
use crate::phone;
use crate::results::{Ending, LatencyReport};
use crate::study::latency::arguments::Args;
use anyhow::{Context as _, bail};
use brisk_bench::environment::Run;
use brisk_bench::place::Place;
use brisk_command::json::Document;
use brisk_command::session::Session;
use serde_json::json;

use crate::study::display::{self, Display};
use crate::study::launch::{begin, few_runs, place, settings};

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.list {
        return list(args);
    }
    if let Some(name) = &args.show {
        let Some((_, text)) = script::SHIPPED.iter().find(|(shipped, _)| shipped == name) else {
            bail!("no script {name} comes with brisk; see brisk latency --list");
        };
        let document = Document::new("latency_script", json!({ "name": name, "toml": text }));
        args.outputs.facts().show_exactly(&document, text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let script = args.script.as_deref().map(script::load).transpose()?;
    let app = app(args, script.as_ref())?;
    let place = place();
    args.outputs.check(args.script.as_deref().map_or(place.as_path(), Path::new))?;
    let session = begin()?;
    let sense = session.sense();
    let head = Run::begin(&sense, &Place::find(&sense, &place, false)?, args.seed)?;
    let open = if args.as_phone { display::of_phone } else { display::open };
    let mut display = open(&args.watching.display)?;
    let mut app = app;
    app.env.extend(display.environment());
    app.env.push(still());
    let Some(answers) = measure(args, script.as_ref(), &app, &mut display, &session)? else {
        return Ok(session.was_stopped());
    };
    show(args, &session, report(args, head, &app, &display, answers))
}

/// Lists the scripts that come with brisk.
fn list(args: &Args) -> anyhow::Result<ExitCode> {
    let about = |text: &str| text.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned();
    let scripts: Vec<_> =
        script::SHIPPED.iter().map(|(name, text)| json!({ "name": name, "about": about(text) })).collect();
    let lines = || script::SHIPPED.iter().map(|(name, text)| format!("{name:<20} {}\n", about(text))).collect();
    args.outputs.facts().show(&Document::new("latency_scripts", json!({ "scripts": scripts })), lines)?;
    Ok(ExitCode::SUCCESS)
}

/// Lets scroll bars of GTK stay: that one fades away three seconds after the last scroll is no part of the answer.
fn still() -> (OsString, OsString) {
    ("GTK_OVERLAY_SCROLLING".into(), "0".into())
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
    let app = match args.as_phone {
        true => phone::on_this_machine(&phone::of_command(&command)?.name)?,
        false => App::from_command(command),
    };
    Ok(App { id: script.map_or(app.id, |script| script.app.clone()), ..app })
}

/// Follows the script or sends the events; `None` when the person stopped it.
fn measure(
    args: &Args,
    script: Option<&Script>,
    app: &App,
    display: &mut Display,
    session: &Session,
) -> anyhow::Result<Option<Answers>> {
    let sense = session.sense();
    let launcher = Launcher { sense: &sense, settings: settings(&args.watching, args.cold), stop: session.stop_flag() };
    let (rounds, screen) = (usize::from(args.runs), display.needed()?);
    let mut progress = |done: usize, all: usize, doing: &str| session.show(done as f64 / all as f64, doing);
    let outcome = match (script, args.monkey) {
        (Some(script), _) => launcher.follow(app, script, rounds, screen, &mut progress),
        (None, Some(events)) => launcher.monkey(app, (args.seed, events), rounds, screen, &mut progress),
        (None, None) => bail!("give a script or --monkey"),
    };
    session.clear();
    match outcome {
        Err(crate::launch::Error::Stopped) => Ok(None),
        other => Ok(Some(other.context("the measurement ended")?)),
    }
}

/// Writes the report; the exit code says whether every answer settled.
fn show(args: &Args, session: &Session, report: LatencyReport) -> anyhow::Result<ExitCode> {
    let unsettled = report.steps.iter().flat_map(|step| &step.runs).any(|run| run.ending != Ending::Settled);
    session.finish(crate::results::Document::from(report), &args.outputs)?;
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

#[cfg(test)]
mod tests {
    #[test]
    fn the_seed_of_the_command_line_is_the_papers() {
        assert_eq!(crate::study::latency::arguments::MONKEY_SEED, crate::launch::monkey::PAPER_SEED);
    }
}
