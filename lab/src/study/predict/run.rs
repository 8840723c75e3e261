//! `brisk predict eval`: scores predictors of the next app on a usage trace.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use crate::memory::day::UsageTrace;
use crate::memory::prediction::{Choice, ContextTrace, PREDICTED_APPS, Replayed, Scored, score};
use crate::results::{Document, PredictionReport, PredictionTrace, PredictionWay};
use crate::study::predict::arguments::{Args, Command, Eval, PredictorName};
use anyhow::bail;
use brisk_command::session::Session;
use brisk_command::tables;

use crate::study::swap;
use crate::study::usage_trace;

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Eval(args) => eval(args),
    }
}

fn eval(args: &Eval) -> anyhow::Result<ExitCode> {
    for file in [Some(&args.trace), args.context.as_ref()].into_iter().flatten() {
        args.outputs.check(file)?;
    }
    let scored: Vec<Scored> = args.mode.iter().map(|name| predictor(*name)).collect();
    if let Some((_, twice)) = scored.iter().enumerate().find(|(nth, one)| scored[..*nth].contains(one)) {
        bail!("--mode names {} twice: name each predictor once", twice.name());
    }
    let session = Session::begin()?;
    let head = swap::begin(&session.sense())?;
    let trace = usage_trace::read(&args.trace)?;
    let context = args.context.as_deref().map(context).transpose()?;
    let choice = chosen(args, &trace)?;
    let taken = |user: &str| args.user.is_empty() || args.user.iter().any(|wanted| wanted == user);
    let users = trace.users.iter().filter(|user| taken(&user.user));
    let users: Vec<Replayed<'_>> = users.map(|user| Replayed::new(user, context.as_ref(), &choice)).collect();

    let mut results = Vec::new();
    let ways = PredictionWay::ALL.iter().flat_map(|way| scored.iter().map(move |one| (*one, *way)));
    for (nth, (one, way)) in ways.enumerate() {
        let done = nth as f64 / (scored.len() * PredictionWay::ALL.len()) as f64;
        session.show(done, &format!("{}, {}", one.name(), way.name()));
        let Some(result) = score(one, way, &users, session.stop_flag()) else {
            session.clear();
            return Ok(session.was_stopped());
        };
        results.push(result);
    }
    session.clear();
    let report = PredictionReport {
        header: swap::end(head),
        trace: PredictionTrace {
            name: tables::name(&args.trace),
            context: args.context.as_deref().map(tables::name),
            context_events: users.iter().map(Replayed::context_events).sum(),
            joined_rows: users.iter().map(|user| user.joined_rows).sum(),
            users_with_offset: users.iter().filter(|user| user.has_offset()).count() as u64,
        },
        predicted_apps: PREDICTED_APPS.to_vec(),
        results,
    };
    session.finish(Document::from(report), &args.outputs)?;
    Ok(ExitCode::SUCCESS)
}

fn predictor(name: PredictorName) -> Scored {
    match name {
        PredictorName::Adaptive => Scored::Adaptive,
        PredictorName::Paper => Scored::Paper,
        PredictorName::Lru => Scored::Lru,
        PredictorName::Frequency => Scored::Frequency,
    }
}

fn context(file: &Path) -> anyhow::Result<ContextTrace> {
    let what = "a table of context events";
    tables::read(file, what, usage_trace::TEXT_BYTES_MAX, &[ContextTrace::LAYOUT], ContextTrace::parse)
}

/// How users are read; each that is named has to be in the trace.
fn chosen(args: &Eval, trace: &UsageTrace) -> anyhow::Result<Choice> {
    let known: Vec<&str> = trace.users.iter().map(|user| user.user.as_str()).collect();
    let of_offsets = args.utc_offset.iter().filter_map(|(user, _)| user.as_ref()).map(|user| ("--utc-offset", user));
    let named = args.user.iter().map(|user| ("--user", user)).chain(args.join.iter().map(|user| ("--join", user)));
    for (option, user) in named.chain(of_offsets) {
        if !known.contains(&user.as_str()) {
            let known = if known.len() > 20 { format!("{} users", known.len()) } else { known.join(", ") };
            bail!("{option} names {user}, and {} has {known}", args.trace.display());
        }
    }
    let mut offsets_minutes = BTreeMap::new();
    for (user, offset) in &args.utc_offset {
        match user {
            Some(user) => {
                offsets_minutes.insert(user.clone(), *offset);
            }
            None => {
                for user in &known {
                    offsets_minutes.entry((*user).to_owned()).or_insert(*offset);
                }
            }
        }
    }
    Ok(Choice { joined: args.join.iter().cloned().collect(), offsets_minutes })
}
