//! `brisk phone returns`: switching between open apps with little memory, without brisk and with it.

use std::process::ExitCode;

use brisk_command::session::Session;

use super::arguments::ReturnsArgs;
use super::inside::{self, Done};
use super::starts::{Measured, Start, Study, read};
use crate::memory::{against_first, policy_returns};
use crate::phone::Catalogue;
use crate::phone::measure::Brisk;
use crate::phone::plan::{Surroundings, Task};
use crate::results::{AppVisit, Document, PhoneMemory, PolicyReturns, RelaunchReport, Warning};
use crate::vm::sources::Source;

/// Time limit of one return.
const LIMIT_S: u32 = 60;

pub(super) fn run(source: &Source, session: &Session, args: &ReturnsArgs) -> anyhow::Result<ExitCode> {
    let (phone, compared) = (&args.phone, &args.compared);
    compared.outputs.check(&source.phones())?;
    let apps = &phone.image.apps;
    phone.check_room(&Catalogue::builtin().choose(apps)?)?;
    let around = Surroundings { mglru: args.around.mglru, ..phone.surroundings(args.around.writers) };
    let memory = PhoneMemory { limit_bytes: phone.memory, swap_bytes: phone.swap_bytes() };
    let study = Study::<Done> {
        command: "returns",
        phone,
        compared,
        arounds: vec![around],
        name: &|brisk, _| brisk.policy(),
        warm_up: 0,
        after_start: None,
        tasks: &|brisk, seed| vec![task(apps, args.rounds, brisk, seed)],
        read: &|output| read(output).map(Some),
    };
    let Measured { starts, mut header, phone } = study.measure(source, session)?;
    let limit_ms = f64::from(LIMIT_S) * 1e3;
    let mut policies: Vec<PolicyReturns> =
        compared.brisk.iter().map(|brisk| of_policy(apps, brisk, &starts, limit_ms)).collect();
    against_first(&mut policies, limit_ms);
    header.warnings.extend(untold(&starts));
    let report = RelaunchReport { header, phone, memory, limit_ms, policies };
    session.finish(Document::from(report), &compared.outputs)?;
    Ok(ExitCode::SUCCESS)
}

fn task(apps: &[String], rounds: u16, brisk: &Brisk, seed: u64) -> Task {
    let options = ["--rounds".to_owned(), rounds.to_string(), "--seed".to_owned(), seed.to_string()];
    inside::task("returns", brisk, LIMIT_S, &options, apps)
}

fn of_policy(apps: &[String], brisk: &Brisk, starts: &[Start<Done>], limit_ms: f64) -> PolicyReturns {
    let policy = brisk.policy();
    let all = || {
        let mine = starts.iter().filter(|start| start.about.name == policy).flat_map(|start| &start.results);
        mine.flat_map(|returns| &returns.visits)
    };
    let visits = |app: &String| -> (String, Vec<AppVisit>) {
        (app.clone(), all().filter(|visit| visit.app == *app).cloned().collect())
    };
    policy_returns(&policy, &brisk.words(), apps.iter().map(visits).collect(), limit_ms)
}

/// The warning of starts in which brisk did not hear which app is in front.
pub(super) fn untold(starts: &[Start<Done>]) -> Option<Warning> {
    let none = Brisk::Off.policy();
    let told = |start: &Start<Done>| start.about.name == none || start.results.iter().all(|returns| returns.teller);
    let count = starts.iter().filter(|start| !told(start)).count();
    let text = format!("brisk-session ended early in {count} of {} starts.", starts.len());
    (count > 0).then(|| Warning { code: "session_ended".to_owned(), text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::VirtualStart;

    #[test]
    fn who_is_in_front_is_told_where_brisk_runs() {
        let words = |brisk| task(&["evince".to_owned()], 3, &brisk, 7).command.join(" ");
        assert!(words(Brisk::Off).ends_with("--rounds 3 --seed 7 evince"));
        assert!(words(Brisk::Default).ends_with("--rounds 3 --seed 7 --teller evince"));
    }

    #[test]
    fn a_session_program_that_ended_is_a_warning_where_brisk_runs() {
        let start = |brisk: &Brisk, teller| Start {
            about: VirtualStart { name: brisk.policy(), seed: 1, counters: Default::default(), trials: Vec::new() },
            results: vec![Done { teller, duration_s: 1.0, visits: Vec::new(), switches: Vec::new() }],
        };
        assert_eq!(untold(&[start(&Brisk::Off, false), start(&Brisk::Default, true)]), None);
        assert!(untold(&[start(&Brisk::Default, false)]).expect("a warning").text.contains("1 of 1"));
    }
}
