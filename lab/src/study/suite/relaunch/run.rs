//! `brisk suite relaunch`: back to apps that run, with little memory, under policies of swapping.

use std::process::ExitCode;

use crate::launch::Launcher;
use crate::memory::suite::{self, Plan};
use crate::memory::{Ground, Killer, Moment, Policy, Programs};
use crate::phone::{MemorySpec, SwapKind};
use crate::results::{Document, PhoneMemory, Regime, RelaunchReport, Warning};
use crate::study::suite::arguments::{POLICIES, RegimeName, RelaunchArgs};
use crate::swap::Action;
use anyhow::bail;
use brisk_command::output;
use brisk_core::causes::in_one_line;

use crate::command::device::phone as lab_phone;
use crate::study::briskd;
use crate::study::launch::settings;
use crate::study::other_daemons;
use crate::study::suite::bed::{self, Bed, Made, end, stopped};
use crate::study::suite::engine;
use crate::study::swap::record;

/// The apps by default: small ones of each kind.
const APPS: [&str; 6] = ["evince", "gnumeric", "mpv", "dino", "gimp", "xterm"];
/// Returns to each by default.
const RUNS: u16 = 3;

/// The policies that were asked for.
pub(crate) fn policies(names: &[String]) -> anyhow::Result<Vec<&'static Policy>> {
    let wanted: Vec<&str> = match names {
        [all] if all == "all" => POLICIES.to_vec(),
        names => names.iter().map(String::as_str).collect(),
    };
    let mut policies = Vec::new();
    for name in wanted {
        let policy = Policy::named(name)?;
        if policies.contains(&policy) {
            bail!("--policies names {name} twice");
        }
        if policy.killer == Killer::Earlyoom {
            crate::memory::check_earlyoom()?;
        }
        if matches!(policy.killer, Killer::Brisk(_)) {
            briskd::find(None)?;
        }
        policies.push(policy);
    }
    Ok(policies)
}

fn regimes(names: &[RegimeName]) -> anyhow::Result<Vec<Regime>> {
    let regime = |name: &RegimeName| match name {
        RegimeName::Tight => Regime::Tight,
        RegimeName::Full => Regime::Full,
    };
    if names.iter().enumerate().any(|(n, name)| names[..n].contains(name)) {
        bail!("--regimes names a regime twice");
    }
    Ok(names.iter().map(regime).collect())
}

/// The warning of a suite that an error ended after it had measured `returns` of them, which are not lost for it.
///
/// # Errors
/// The error where nothing was measured, and when the user stopped it.
fn early_end(ended: Result<(), crate::memory::Error>, returns: usize) -> Result<Option<Warning>, crate::memory::Error> {
    match ended {
        Ok(()) => Ok(None),
        Err(error) if returns == 0 || matches!(error, crate::memory::Error::Stopped) => Err(error),
        Err(error) => {
            let text = format!("the suite ended early, after {returns} returns: {}", in_one_line(&error));
            Ok(Some(Warning { code: "ended_early".to_owned(), text }))
        }
    }
}

fn action(moment: Moment) -> Action {
    match moment {
        Moment::Front => Action::Front,
        Moment::Ready => Action::Ready,
    }
}

pub(crate) fn run(args: &RelaunchArgs) -> anyhow::Result<ExitCode> {
    let every = &args.every;
    let policies = policies(&args.policies)?;
    let regimes = regimes(&args.regimes)?;
    if let Some(file) = &args.swap_trace {
        output::check("--swap-trace", file)?;
        let mut kinds = policies.iter().map(|policy| policy.swap);
        let first = kinds.next().filter(|kind| matches!(kind, SwapKind::Flash | SwapKind::Zram));
        if first.is_none() || !kinds.all(|kind| Some(kind) == first) {
            bail!("--swap-trace is of one swap area: name --policies that all swap to the flash, or all to zram");
        }
    }
    // Areas are changed by policy; the first is there from the start, so that a phone that cannot have it is refused at
    // once.
    let swap = policies.iter().map(|policy| policy.swap).find(|swap| *swap != SwapKind::None).unwrap_or(SwapKind::None);
    let limit_bytes = args.memory.memory;
    let spec =
        MemorySpec { limit_bytes, swap, swap_bytes: args.memory.swap_size.unwrap_or(limit_bytes.saturating_mul(2)) };
    let apps = bed::chosen(every, &APPS)?;
    if let Some(unknown) = args.apart.iter().find(|name| !apps.iter().any(|app| app.name == **name)) {
        bail!("--apart names {unknown}, which is none of the measured apps");
    }
    if let Some(tight_bytes) = args.tight_memory {
        if tight_bytes > limit_bytes {
            bail!("--tight-memory is above --memory");
        }
        MemorySpec { limit_bytes: tight_bytes, ..spec }.check()?;
    }
    spec.check()?;
    let Bed { session, mut phone, mut display, mut head, apps, .. } = match bed::make_with(every, &APPS, Some(spec))? {
        Made::Bed(bed) => *bed,
        Made::Stopped(code) => return Ok(code),
    };
    let sense = session.sense();
    let facts = phone.facts()?;
    let settings = settings(&every.watching, false);
    let launcher = Launcher { sense: &sense, settings, stop: session.stop_flag() };
    let limit_ms = every.watching.timeout.as_secs_f64() * 1e3;
    let rounds = u64::from(every.runs.unwrap_or(RUNS));
    let mut plan = Plan {
        policies,
        regimes,
        apps,
        rounds,
        apart: args.apart.clone(),
        limit_ms,
        memory_bytes: limit_bytes,
        tight_bytes: args.tight_memory,
    };
    let engine = engine::of(&plan.policies, &phone, engine::Past { history: &[], speed: 1.0, goes_on: true })?;
    let programs = Programs { balloon: lab_phone::program("fill")?, paths: session.paths(), engine };
    let recording = args.swap_trace.as_ref().map(|_| record::begin(&phone)).transpose()?;
    let mut measured = Vec::new();
    let ended = {
        let mut progress = |done: f64, doing: &str| session.show(done, doing);
        let screen = display.needed()?;
        Ground::new(&mut phone, launcher, screen, programs).map(|mut ground| {
            if let Some((recorder, _)) = &recording {
                ground.listen(|moment, app| recorder.mark(action(moment), app));
            }
            let ended = suite::run(&mut ground, &mut plan, &mut measured, &mut progress);
            (ended, ground.take_warnings())
        })
    };
    session.clear();
    let mut unwritten = false;
    // Before the area goes with the phone, which reads all that is in it; of a suite that was stopped, too.
    if let (Some(recording), Some(file)) = (recording, &args.swap_trace) {
        // The results of the suite are not lost for it.
        if let Err(error) = record::end(recording, file) {
            brisk_program::error!("brisk: {error:#}");
            unwritten = true;
        }
    }
    let (ended, warnings) = ended?;
    let early = match early_end(ended, measured.len()) {
        Err(crate::memory::Error::Stopped) => return stopped(&session, phone),
        other => other?,
    };
    let regimes = suite::by_regime(&plan, &measured);
    let failed = measured.iter().any(|one| one.visit.is_err());
    head.warn(brisk_command::session::lab_late(&phone.flash()?));
    let ended_early = early.is_some();
    head.warn(warnings.into_iter().chain(early));
    head.warn(other_daemons::warnings(&sense, &phone)?);
    let report = RelaunchReport {
        header: end(head, &facts, 0),
        phone: facts,
        memory: PhoneMemory { limit_bytes: spec.limit_bytes, swap_bytes: spec.swap_bytes },
        limit_ms,
        tight_bytes: plan.tight_bytes,
        apart: args.apart.clone(),
        regimes,
    };
    phone.down(true)?.iter().for_each(|sentence| brisk_program::info!("{sentence}"));
    session.finish(Document::from(report), &every.outputs)?;
    Ok(ExitCode::from(u8::from(failed || ended_early || unwritten)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phone::Catalogue;

    #[test]
    fn the_command_line_knows_every_policy_and_no_other() {
        assert_eq!(POLICIES.to_vec(), Policy::ALL.map(|policy| policy.name).to_vec());
        assert!(Catalogue::builtin().choose(&APPS.map(str::to_owned)).is_ok());
    }

    #[test]
    fn what_was_measured_before_an_error_is_kept() {
        let error =
            || crate::memory::Error::Setting { setting: "vm/page-cluster".to_owned(), reason: "refused".to_owned() };
        assert_eq!(early_end(Ok(()), 0).expect("all of it"), None);
        assert!(early_end(Err(error()), 0).is_err());
        assert!(matches!(early_end(Err(crate::memory::Error::Stopped), 3), Err(crate::memory::Error::Stopped)));
        let warning = early_end(Err(error()), 3).expect("kept").expect("a warning");
        assert!(warning.text.contains("after 3 returns") && warning.text.contains("page-cluster"), "{}", warning.text);
    }

    #[test]
    fn names_that_stand_twice_are_refused() {
        let said = policies(&["zram".into(), "zram".into()]).expect_err("twice").to_string();
        assert!(said.contains("zram twice"), "{said}");
        assert!(regimes(&[RegimeName::Full, RegimeName::Full]).is_err());
    }
}
