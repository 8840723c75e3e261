//! `brisk suite day`: a day of use from a trace, on a phone with little memory, under policies of swapping.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::launch::Launcher;
use crate::memory::day::{Choice, OnGround, Plan, ReplayError, Synthetic, plan, replay};
use crate::memory::{Ground, Policy, Programs};
use crate::phone::{App, Catalogue, MemorySpec, Phone, SwapKind};
use crate::results::{DayCosts, DayPolicy, DayReport, DayRun, DayState, Document, PhoneMemory, Warning};
use crate::study::suite::day::arguments::{DayArgs, Replayed};
use anyhow::{Context as _, bail};
use brisk_bench::environment::Run;
use brisk_command::session::{Session, lab_late};
use brisk_core::units::format_bytes;
use brisk_profile::lab_client::Client;
use brisk_profile::meter::{self, Meter, Work};

use super::shown::{Progress, days};
use crate::command::device::phone as lab_phone;
use crate::study::launch::settings;
use crate::study::other_daemons;
use crate::study::suite::bed::{self, Bed, Made, end, stopped};
use crate::study::suite::engine;
use crate::study::suite::relaunch::policies;
use crate::study::usage_trace;

/// The apps by default: small ones of each kind, the one that is for the most used app first.
const APPS: [&str; 6] = ["dino", "evince", "mpv", "gnumeric", "xterm", "gimp"];
/// Sessions of a synthetic trace: more than any number of switches needs.
const SYNTHETIC_SESSIONS: usize = 20_000;

pub(crate) fn run(args: &DayArgs) -> anyhow::Result<ExitCode> {
    let every = &args.every;
    let policies = policies(&args.policies)?;
    if let Some(trace) = &args.replayed.trace {
        every.outputs.check(trace)?;
    }
    let wanted = wanted_apps(&every.apps)?;
    let (plan, from) = planned(&args.replayed, &wanted)?;
    let swap = policies.iter().map(|policy| policy.swap).find(|swap| *swap != SwapKind::None).unwrap_or(SwapKind::None);
    let limit_bytes = args.memory.memory;
    let swap_bytes = args.memory.swap_size.unwrap_or(limit_bytes.saturating_mul(2));
    let spec = MemorySpec { limit_bytes, swap, swap_bytes };
    spec.check()?;
    let names: Vec<&str> = wanted.iter().map(|app| app.name.as_str()).collect();
    let Bed { session, mut phone, mut display, mut head, .. } = match bed::make_with(every, &names, Some(spec))? {
        Made::Bed(bed) => *bed,
        Made::Stopped(code) => return Ok(code),
    };
    let sense = session.sense();
    let facts = phone.facts()?;
    let meter = energy_meter(&session, &phone)?;
    let about = days::meter(&meter.about());
    let launcher = Launcher { sense: &sense, settings: settings(&every.watching, false), stop: session.stop_flag() };
    let past = engine::Past { history: &plan.history, speed: args.replayed.speed, goes_on: false };
    let engine = engine::of(&policies, &phone, past)?;
    let programs = Programs { balloon: lab_phone::program("fill")?, paths: session.paths(), engine };
    let rounds = u32::from(every.runs.unwrap_or(1));
    let measured = Ground::new(&mut phone, launcher, display.needed()?, programs)
        .map_err(anyhow::Error::from)
        .and_then(|mut ground| {
            Days { session: &session, plan: &plan, apps: &wanted, meter, limit_bytes }.all(
                &mut ground,
                &policies,
                rounds,
            )
        });
    session.clear();
    let (days, warnings) = match measured {
        Err(error) if is_stop(&error) => return stopped(&session, phone),
        other => other?,
    };
    warn(&mut head, warnings, rounds);
    head.warn(other_daemons::warnings(&sense, &phone)?);
    let failed = days.iter().flat_map(|day| &day.runs).any(|run| run.count(DayState::Failed) > 0);
    let report = DayReport {
        header: end(head, &facts, 0),
        phone: facts,
        memory: PhoneMemory { limit_bytes, swap_bytes },
        trace: days::trace(&args.replayed, &plan, &from),
        meter: Some(about),
        policies: days,
    };
    phone.down(true)?.iter().for_each(|sentence| brisk_program::info!("{sentence}"));
    session.finish(Document::from(report), &every.outputs)?;
    Ok(ExitCode::from(u8::from(failed)))
}

fn is_stop(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(crate::memory::Error::Stopped))
}

/// The apps of the phone in the order of the command line, which is that of their ranks.
fn wanted_apps(names: &[String]) -> anyhow::Result<Vec<&'static App>> {
    let catalogue = Catalogue::builtin();
    if let [all] = names
        && all == "all"
    {
        return Ok(catalogue.apps.iter().collect());
    }
    if let Some((n, twice)) = names.iter().enumerate().find(|(n, name)| names[..*n].contains(name)) {
        bail!("--apps names {twice} twice, as app {} again", n + 1);
    }
    let default = APPS.map(str::to_owned);
    let names = if names.is_empty() { &default[..] } else { names };
    if names.len() < 2 {
        bail!("a day needs two apps at least, to switch between: name more with --apps");
    }
    names.iter().map(|name| Ok(catalogue.app(name)?)).collect()
}

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

/// The model of energy of the phone's flash and processors.
fn energy_meter(session: &Session, phone: &Phone) -> anyhow::Result<Box<dyn Meter>> {
    let disk = phone.device()?.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let emulated = Client::new(session.run_dir()).find(&disk);
    let emulated = emulated.with_context(|| format!("the lab does not know the phone's device {disk}"))?;
    Ok(meter::choose(&session.sense(), Some(emulated), &disk, None)?)
}

fn warn(head: &mut Run, warnings: Vec<Warning>, rounds: u32) {
    head.warn(warnings);
    if rounds < 3 {
        head.warn([Warning {
            code: "few_repeats".to_owned(),
            text: format!(
                "The day ran {} under each policy, so nothing tells differences between policies from chance: use \
                 --rounds 3 or more.",
                if rounds == 1 { "once" } else { "twice" }
            ),
        }]);
    }
}

struct Days<'a> {
    session: &'a Session,
    plan: &'a Plan,
    apps: &'a [&'static App],
    meter: Box<dyn Meter>,
    limit_bytes: u64,
}

impl Days<'_> {
    /// Runs the day under each policy, in rounds; every second round is in the opposite order, so that drift of the
    /// machine affects all alike.
    fn all(
        mut self,
        ground: &mut Ground<'_>,
        policies: &[&'static Policy],
        rounds: u32,
    ) -> anyhow::Result<(Vec<DayPolicy>, Vec<Warning>)> {
        let day = |policy: &&Policy| DayPolicy {
            name: policy.name.to_owned(),
            text: policy.text.to_owned(),
            runs: Vec::new(),
        };
        let mut days: Vec<DayPolicy> = policies.iter().map(day).collect();
        let mut progress = Progress::new(self.session, rounds as usize * policies.len(), self.plan);
        let mut warnings: Vec<Warning> = Vec::new();
        let mut position = 0;
        for round in 1..=rounds {
            let mut order: Vec<usize> = (0..policies.len()).collect();
            if round.is_multiple_of(2) {
                order.reverse();
            }
            for n in order {
                position += 1;
                let (run, late) = self.one(ground, policies[n], [round, position], &mut progress)?;
                days[n].runs.push(run);
                let new = ground.take_warnings().into_iter().chain(late);
                for warning in new {
                    if warnings.iter().all(|known| known.code != warning.code) {
                        warnings.push(warning);
                    }
                }
            }
        }
        Ok((days, warnings))
    }

    /// One run of the day, and a warning where the flash was late.
    fn one(
        &mut self,
        ground: &mut Ground<'_>,
        policy: &'static Policy,
        [round, position]: [u32; 2],
        progress: &mut Progress<'_>,
    ) -> anyhow::Result<(DayRun, Option<Warning>)> {
        progress.begin(policy.name, position);
        let mut visitor = OnGround::begin(ground, policy, self.apps)?;
        let before = visitor.ground().phone().flash()?;
        self.meter.begin()?;
        let begin = Instant::now();
        let outcome = replay(self.plan, &mut visitor, self.session.stop_flag(), &mut |n, visit| progress.at(n, visit));
        let duration_s = begin.elapsed().as_secs_f64();
        let switches = match outcome {
            Err(ReplayError::Stopped) => return Err(crate::memory::Error::Stopped.into()),
            Err(ReplayError::Visitor(error)) => return Err(error.into()),
            Ok(switches) => switches,
        };
        let cpu = visitor.cpu();
        let cpu_ns = u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX);
        let energy_uj = self.meter.end(&Work { cpu_ns, requests: 0 })?;
        let after = visitor.ground().phone().flash()?;
        if switches.iter().all(|switch| switch.state == DayState::Failed) {
            let why = switches.first().and_then(|switch| Some((&switch.app, switch.failure.as_ref()?)));
            let why = why.map_or_else(String::new, |(app, why)| format!(" ({app}: {why})"));
            bail!(
                "no app could be launched under the policy {} with {} of memory{why}: give more with --memory",
                policy.name,
                format_bytes(self.limit_bytes)
            );
        }
        let [was, is] = [&before.model, &after.model];
        let count = |name: &str| {
            let of =
                |model: &serde_json::Value| model.get(name).and_then(serde_json::Value::as_u64).unwrap_or_default();
            of(is).saturating_sub(of(was))
        };
        let costs = DayCosts {
            programmed_bytes: (count("pages_programmed") + count("pages_moved")) * crate::flash::PAGE_BYTES,
            erases: count("erases"),
            energy_uj: Some(energy_uj),
            cpu_ms: Some(cpu.as_secs_f64() * 1e3),
        };
        Ok((DayRun { round, position, switches, duration_s, costs }, lab_late(&after)))
    }
}

#[cfg(test)]
mod tests;
