//! What runs inside of a phone for `brisk phone returns`: apps that stay open, of which each is brought back in turn.

use std::process::{Child, Command, ExitCode};
use std::time::Duration;

use anyhow::Context as _;
use brisk_command::session::Session;
use brisk_core::random::Random;
use serde::{Deserialize, Serialize};

use super::arguments::InsideArgs;
use crate::launch::{App, Launcher, Resident, clock};
use crate::memory::Answer;
use crate::results::{Ending, RelaunchRun};
use crate::screen::{Input, Screen};
use crate::study::display;
use crate::study::launch::settings;

/// How long an app is used, and up to so much longer.
const USED: Duration = Duration::from_secs(4);
const LONGER_MS: u64 = 4_000;

/// A return to an app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Return {
    pub(super) app: String,
    /// Whether it had been ended, so that it was launched anew.
    pub(super) ended: bool,
    /// From the request to the last drawing and work of its answer.
    pub(super) end_ms: f64,
    /// From the request to the first drawing.
    pub(super) first_change_ms: Option<f64>,
    /// Whether it came to its end.
    pub(super) settled: bool,
    /// What of it was swapped out before.
    pub(super) swapped_mib: Option<f64>,
}

/// All returns of a start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Returns {
    /// Whether brisk-session ran until the end.
    pub(super) teller: bool,
    pub(super) returns: Vec<Return>,
}

/// An app that is open, unless it was ended.
struct Open {
    app: App,
    answer: Answer,
    turns: u64,
    resident: Option<Resident>,
}

pub(super) fn run(args: &InsideArgs) -> anyhow::Result<ExitCode> {
    let session = Session::begin()?;
    let sense = session.sense();
    let mut display = display::of_phone(&args.watching.display)?;
    let mut teller = args.teller.then(|| teller(display.name())).transpose()?;
    let mut apps = Vec::new();
    for name in &args.apps {
        let mut app = crate::phone::on_this_machine(name)?;
        app.env.extend(display.environment());
        apps.push(Open { app, answer: Answer::of(name)?, turns: 0, resident: None });
    }
    let launcher = Launcher { sense: &sense, settings: settings(&args.watching, false), stop: session.stop_flag() };
    let mut random = Random::stream(args.seed, 2);
    let screen = display.needed()?;
    for open in &mut apps {
        open.resident = Some(launcher.keep(&open.app, screen)?);
        use_it(&mut random);
    }
    let mut returns = Vec::new();
    for at in order(apps.len(), usize::from(args.rounds), &mut random) {
        returns.push(apps[at].bring_back(&launcher, screen)?);
        use_it(&mut random);
    }
    let teller_ran = match &mut teller {
        Some(teller) => teller.try_wait().context("cannot ask for brisk-session")?.is_none(),
        None => false,
    };
    for resident in apps.into_iter().filter_map(|open| open.resident) {
        resident.close()?;
    }
    if let Some(mut teller) = teller {
        // It may have ended by itself.
        let _ = teller.kill();
        let _ = teller.wait();
    }
    let text = serde_json::to_string(&Returns { teller: teller_ran, returns }).context("cannot write JSON")?;
    brisk_command::print_exactly(&(text + "\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The session program, as the user of the phone has it for the display.
fn teller(display: &str) -> anyhow::Result<Child> {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=10000", "--regid=10000", "--init-groups", "brisk-session", "--display", display]);
    command.stdout(std::process::Stdio::null());
    command.spawn().context("cannot start brisk-session")
}

fn use_it(random: &mut Random) {
    clock::wait(USED + Duration::from_millis(random.below(LONGER_MS)));
}

/// Places of apps in the order of their returns: each once a round, none twice in a row.
fn order(apps: usize, rounds: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    for _ in 0..rounds {
        let mut round: Vec<usize> = (0..apps).collect();
        for last in (1..apps).rev() {
            round.swap(last, random.place(last + 1));
        }
        // The app that is in front, which is the last one of all at first.
        if apps > 1 && round[0] == order.last().copied().unwrap_or(apps - 1) {
            round.swap(0, 1);
        }
        order.extend(round);
    }
    order
}

impl Open {
    fn bring_back(&mut self, launcher: &Launcher<'_>, screen: &mut dyn Screen) -> anyhow::Result<Return> {
        if let Some(mut resident) = self.resident.take()
            && resident.is_alive()?
        {
            let key = Input::Key(self.answer.key(self.turns).to_owned());
            self.turns += 1;
            let run = launcher.relaunch(&mut resident, screen, &key)?.run;
            // Its end may have come meanwhile.
            self.resident = resident.is_alive()?.then_some(resident);
            return Ok(self.result(&run, false));
        }
        self.turns = 0;
        let (resident, launched) = launcher.relaunch_ended(&self.app, screen)?;
        self.resident = resident;
        Ok(self.result(&launched.run, true))
    }

    fn result(&self, run: &RelaunchRun, ended: bool) -> Return {
        Return {
            app: self.app.id.clone(),
            ended,
            end_ms: run.end_ms,
            first_change_ms: run.first_change_ms,
            settled: run.ending == Ending::Settled,
            swapped_mib: run.before.map(|before| before.swapped_bytes as f64 / (1 << 20) as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_app_comes_back_once_a_round_and_none_twice_in_a_row() {
        for seed in 0..50 {
            let order = order(4, 10, &mut Random::stream(seed, 2));
            assert_eq!(order.len(), 40);
            assert!(order.windows(2).all(|two| two[0] != two[1]) && order[0] != 3, "{order:?}");
            for round in order.chunks(4) {
                let mut sorted = round.to_vec();
                sorted.sort_unstable();
                assert_eq!(sorted, [0, 1, 2, 3]);
            }
        }
        assert_eq!(order(1, 3, &mut Random::stream(1, 2)), [0, 0, 0]);
    }
}
