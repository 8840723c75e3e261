//! The visits of a day, from a trace.

use std::time::Duration;

use anyhow::{Context as _, bail};

use super::arguments::Replayed;
use crate::memory::day::{Choice, Plan, RankedApp, Synthetic, plan};
use crate::phone::{App, Catalogue};
use crate::results::{DayApp, DayTrace};
use crate::study::usage_trace;

/// Sessions of a synthetic trace: more than any number of switches needs.
const SYNTHETIC_SESSIONS: usize = 20_000;

/// The plan, and the name of its trace.
pub(crate) fn planned(args: &Replayed, apps: &[&App]) -> anyhow::Result<(Plan, String)> {
    if args.dwell_max < args.dwell_min {
        bail!("--dwell-max is less than --dwell-min: give at least that");
    }
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let (trace, name) = match &args.trace {
        Some(file) => (usage_trace::read(file)?, brisk_command::tables::name(file)),
        None => {
            let seed = args.synthetic.unwrap_or(1);
            (Synthetic { seed, sessions: SYNTHETIC_SESSIONS }.trace(), "synthetic".to_owned())
        }
    };
    for (_, phone_app) in &args.map {
        Catalogue::builtin().app(phone_app)?;
    }
    let choice = Choice {
        user: args.user.clone(),
        from_ms: ms(args.from),
        time_ms: args.span.map(ms),
        visits_max: args.switches as usize,
        phone_apps: apps.iter().map(|app| app.name.clone()).collect(),
        fixed: args.map.clone(),
        speed: args.speed,
        dwell_min_ms: ms(args.dwell_min),
        dwell_max_ms: ms(args.dwell_max),
    };
    let of = args.trace.as_ref().map_or_else(|| "the synthetic trace".to_owned(), |file| file.display().to_string());
    let plan = plan(&trace, &choice).with_context(|| format!("cannot replay {of}"))?;
    Ok((plan, name))
}

/// What was replayed, and how.
pub(crate) fn trace(args: &Replayed, plan: &Plan, name: &str) -> DayTrace {
    let app = |one: &RankedApp| DayApp {
        trace_app: one.app.clone(),
        app: one.phone_app.clone(),
        switches: plan.visits.iter().filter(|visit| visit.app == one.phone_app).count() as u64,
    };
    DayTrace {
        name: name.to_owned(),
        user: plan.user.clone(),
        from_s: args.from.as_secs_f64(),
        span_s: plan.span_ms as f64 / 1e3,
        switches: plan.visits.len() as u64,
        dropped_sessions: plan.dropped_sessions,
        dropped_apps: plan.dropped_apps,
        speed: args.speed,
        dwell_ms_min: args.dwell_min.as_secs_f64() * 1e3,
        dwell_ms_max: args.dwell_max.as_secs_f64() * 1e3,
        lengthened: plan.lengthened,
        shortened: plan.shortened,
        apps: plan.apps.iter().map(app).collect(),
    }
}
