//! `brisk phone day`: a day of use from a trace, without brisk and with it.

use std::process::ExitCode;

use anyhow::Context as _;
use brisk_command::session::Session;

use super::arguments::DayArgs;
use super::inside::{self, Done};
use super::starts::{Measured, Start, Study, read};
use crate::flash::PAGE_BYTES;
use crate::phone::Catalogue;
use crate::phone::measure::Brisk;
use crate::phone::plan::{Surroundings, Task};
use crate::results::{DayCosts, DayPolicy, DayReport, DayRun, DayState, Document, PhoneMemory};
use crate::study::day::{planned, trace};
use crate::vm::sources::Source;

/// Time limit of one visit.
const LIMIT_S: u32 = 60;

pub(super) fn run(source: &Source, session: &Session, args: &DayArgs) -> anyhow::Result<ExitCode> {
    let (phone, compared) = (&args.phone, &args.compared);
    compared.outputs.check(args.replayed.trace.as_deref().unwrap_or(&source.phones()))?;
    let apps = Catalogue::builtin().choose(&phone.image.apps)?;
    let (plan, from) = planned(&args.replayed, &apps)?;
    let visits = serde_json::to_string(&plan.visits).context("cannot write the visits as JSON")?;
    let memory = PhoneMemory { limit_bytes: phone.memory, swap_bytes: phone.swap_bytes() };
    let study = Study::<Done> {
        command: "day",
        phone,
        compared,
        arounds: vec![Surroundings { mglru: args.around.mglru, ..phone.surroundings(args.around.writers) }],
        name: &|brisk, _| brisk.policy(),
        warm_up: 0,
        after_start: None,
        tasks: &|brisk, _| vec![task(&phone.image.apps, &visits, brisk)],
        read: &|output| read(output).map(Some),
    };
    let Measured { starts, mut header, phone } = study.measure(source, session)?;
    header.warnings.extend(super::returns::untold(&starts));
    let policies: Vec<DayPolicy> = compared.brisk.iter().map(|brisk| of_policy(brisk, &starts)).collect();
    let failed = policies.iter().flat_map(|day| &day.runs).any(|run| run.count(DayState::Failed) > 0);
    let trace = trace(&args.replayed, &plan, &from);
    let report = DayReport { header, phone, memory, trace, policies };
    session.finish(Document::from(report), &compared.outputs)?;
    Ok(ExitCode::from(u8::from(failed)))
}

fn task(apps: &[String], visits: &str, brisk: &Brisk) -> Task {
    inside::task("day", brisk, LIMIT_S, &["--day".to_owned(), visits.to_owned()], apps)
}

/// The days of a policy, one of each seed.
fn of_policy(brisk: &Brisk, starts: &[Start<Done>]) -> DayPolicy {
    let name = brisk.policy();
    let mine = starts.iter().enumerate().filter(|(_, start)| start.about.name == name);
    let runs = mine.enumerate().flat_map(|(round, (position, start))| {
        let run = move |done: &Done| DayRun {
            round: number(round),
            position: number(position),
            switches: done.switches.clone(),
            duration_s: done.duration_s,
            costs: costs(start),
        };
        start.results.iter().map(run)
    });
    DayPolicy { text: brisk.words(), runs: runs.collect(), name }
}

fn number(place: usize) -> u32 {
    u32::try_from(place + 1).unwrap_or(u32::MAX)
}

/// Wear of a start, from boot to end.
fn costs(start: &Start<Done>) -> DayCosts {
    let counted = |name: &str| start.about.counters.get(name).map_or(0, |count| *count as u64);
    DayCosts {
        programmed_bytes: (counted("flash_pages_programmed") + counted("flash_pages_moved")) * PAGE_BYTES,
        erases: counted("flash_erases"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::day::{Plan, PlannedVisit};
    use crate::results::VirtualStart;

    #[test]
    fn visits_reach_the_phone_as_they_were_planned() {
        let visit = PlannedVisit { trace_ms: 7, app: "evince".to_owned(), trace_dwell_ms: 90_000, dwell_ms: 4_500 };
        let plan = Plan::of(vec![visit]);
        let visits = serde_json::to_string(&plan.visits).expect("JSON");
        let task = task(&["evince".to_owned()], &visits, &Brisk::Default);
        let at = task.command.iter().position(|word| word == "--day").expect("a day");
        let read: Vec<PlannedVisit> = serde_json::from_str(&task.command[at + 1]).expect("JSON");
        assert_eq!(read, plan.visits);
        assert_eq!(task.command[at + 2..], ["--teller", "evince"]);
    }

    #[test]
    fn each_seed_is_a_round_and_wear_is_that_of_the_whole_start() {
        let start = |brisk: &Brisk, seed| Start {
            about: VirtualStart {
                name: brisk.policy(),
                seed,
                counters: [("flash_pages_programmed".to_owned(), 3.0)].into(),
                trials: Vec::new(),
            },
            results: vec![Done { teller: true, duration_s: 9.0, visits: Vec::new(), switches: Vec::new() }],
        };
        let starts = [1, 2].map(|seed| [start(&Brisk::Off, seed), start(&Brisk::Default, seed)]).concat();
        let day = of_policy(&Brisk::Default, &starts);
        let places: Vec<(u32, u32)> = day.runs.iter().map(|run| (run.round, run.position)).collect();
        assert_eq!((day.name.as_str(), places), ("brisk", vec![(1, 2), (2, 4)]));
        assert_eq!(day.runs[0].costs.programmed_bytes, 3 * PAGE_BYTES);
    }
}
