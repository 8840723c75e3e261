//! What runs inside of a phone for `brisk phone returns` and `brisk phone day`: apps that stay open, and visits to
//! them.

use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use brisk_command::session::Session;
use brisk_core::random::Random;
use serde::{Deserialize, Serialize};

use super::arguments::InsideArgs;
use super::visits::Visits;
use crate::launch::{App, Launcher, clock};
use crate::memory::day::{Plan, PlannedVisit, ReplayError, replay};
use crate::phone::measure::Brisk;
use crate::phone::plan::Task;
use crate::results::{AppVisit, DaySwitch, EndedBy};
use crate::study::display;
use crate::study::launch::settings;

/// How long an app is used, and up to so much longer.
const USED: Duration = Duration::from_secs(4);
const LONGER_MS: u64 = 4_000;

/// What a start did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Done {
    /// Whether brisk-session ran until the end.
    pub(super) teller: bool,
    pub(super) duration_s: f64,
    /// Returns in their order.
    #[serde(default)]
    pub(super) visits: Vec<AppVisit>,
    /// Of a day.
    #[serde(default)]
    pub(super) switches: Vec<DaySwitch>,
}

/// The task of a phone that runs this.
pub(super) fn task(name: &str, brisk: &Brisk, limit_s: u32, options: &[String], apps: &[String]) -> Task {
    // The observer of events has a buffer that a phone with little memory does not have.
    let fixed = ["brisk-lab", "phone", "inside", "--method", "cgroup", "--timeout"];
    let mut command = fixed.map(str::to_owned).to_vec();
    command.push(format!("{limit_s}s"));
    command.extend_from_slice(options);
    if *brisk != Brisk::Off {
        command.push("--teller".to_owned());
    }
    if brisk.ends_apps() {
        command.push("--ends".to_owned());
    }
    command.extend_from_slice(apps);
    Task { name: name.to_owned(), command }
}

pub(super) fn run(args: &InsideArgs) -> anyhow::Result<ExitCode> {
    let session = Session::begin()?;
    let sense = session.sense();
    let mut display = display::of_phone(&args.watching.display)?;
    let mut teller = args.teller.then(|| teller(display.name())).transpose()?;
    let mut apps: Vec<App> = Vec::new();
    for name in &args.apps {
        let mut app = crate::phone::on_this_machine(name)?;
        app.env.extend(display.environment());
        apps.push(app);
    }
    let launcher = Launcher { sense: &sense, settings: settings(&args.watching, false), stop: session.stop_flag() };
    let count = apps.len();
    let killer = if args.ends { EndedBy::Brisk } else { EndedBy::Itself };
    let mut all = Visits::begin(launcher, display.needed()?, apps, killer)?;
    let began = Instant::now();
    let (mut visits, mut switches) = (Vec::new(), Vec::new());
    match &args.day {
        Some(day) => switches = a_day(day, &mut all, &session)?,
        None => {
            let mut random = Random::stream(args.seed, 2);
            for at in 0..count {
                all.open(at)?;
                use_it(&mut random);
            }
            for (n, at) in order(count, usize::from(args.rounds), &mut random).into_iter().enumerate() {
                visits.push(all.bring_back(at, (n / count) as u64)?);
                use_it(&mut random);
            }
        }
    }
    let duration_s = began.elapsed().as_secs_f64();
    let teller_ran = match &mut teller {
        Some(teller) => teller.try_wait().context("cannot ask for brisk-session")?.is_none(),
        None => false,
    };
    all.close()?;
    if let Some(mut teller) = teller {
        // It may have ended by itself.
        let _ = teller.kill();
        let _ = teller.wait();
    }
    let done = Done { teller: teller_ran, duration_s, visits, switches };
    let text = serde_json::to_string(&done).context("cannot write JSON")?;
    brisk_command::print_exactly(&(text + "\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Replays visits, given as JSON.
fn a_day(visits: &str, all: &mut Visits<'_>, session: &Session) -> anyhow::Result<Vec<DaySwitch>> {
    let visits: Vec<PlannedVisit> = serde_json::from_str(visits).context("--day is no list of visits")?;
    match replay(&Plan::of(visits), all, session.stop_flag(), &mut |_, _| ()) {
        Ok(switches) => Ok(switches),
        Err(ReplayError::Stopped) => anyhow::bail!("stopped"),
        Err(ReplayError::Visitor(error)) => Err(error),
    }
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
