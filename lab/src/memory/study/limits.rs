//! Limits under which apps start (dissertation 5.2.3, table 5.1).
//!
//! The limit is that of the app's memory group: its heap, and the page cache of the files that it reads; no other app
//! runs, and nothing of its files is in memory before. The dissertation limits the heap alone, which Linux cannot.

use std::time::Duration;

use crate::launch::over::Limits as TimeLimits;
use crate::launch::{Launcher, Settings, Start};
use crate::phone::App;
use crate::results::{Ending, LimitCell, MemoryPart, Stage, StartLimits};
use brisk_core::stats::Summary;

use super::Bed;
use crate::memory::error::{Error, Result};

#[derive(Debug, Clone)]
pub struct LimitOptions {
    pub limits_bytes: Vec<u64>,
    /// Tries of each app under each limit, interleaved. All are done, whatever the first ones come to.
    pub tries: u32,
    /// After this time a launch is slow.
    pub timeout: Duration,
}

/// What a try came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Started,
    Killed,
    Slow,
    Ended,
}

/// A try that lost a process to the kernel did not start, even when its window is there.
fn outcome(ending: &Ending, oom_kills: u64) -> Outcome {
    match ending {
        _ if oom_kills > 0 => Outcome::Killed,
        Ending::Settled => Outcome::Started,
        Ending::Exited { .. } => Outcome::Ended,
        _ => Outcome::Slow,
    }
}

/// The tries of an app under a limit so far.
#[derive(Debug, Clone, Default)]
struct Tries {
    outcomes: Vec<Outcome>,
    settled_ms: Vec<f64>,
}

impl Tries {
    fn cell(&self, app: &str, limit_bytes: u64) -> LimitCell {
        let count = |wanted| self.outcomes.iter().filter(|outcome| **outcome == wanted).count() as u32;
        LimitCell {
            app: app.to_owned(),
            limit_bytes,
            started: count(Outcome::Started),
            killed: count(Outcome::Killed),
            slow: count(Outcome::Slow),
            ended: count(Outcome::Ended),
            settled_ms: Summary::of(&self.settled_ms),
        }
    }
}

/// Does it.
///
/// # Errors
/// When the phone or the display fails, or the user stops it.
pub fn limits(bed: &mut Bed<'_>, options: &LimitOptions) -> Result<StartLimits> {
    let mut limits_bytes = options.limits_bytes.clone();
    limits_bytes.sort_unstable();
    limits_bytes.dedup();
    let apps = bed.apps.clone();
    let mut tries = vec![vec![Tries::default(); limits_bytes.len()]; apps.len()];
    let mut failed = vec![false; apps.len()];
    let all = options.tries as usize * apps.len() * limits_bytes.len();
    let mut done = 0;
    for nth in 0..options.tries {
        for (place, app) in apps.iter().enumerate() {
            for (column, &limit_bytes) in limits_bytes.iter().enumerate() {
                if !failed[place] {
                    let under = brisk_core::units::format_bytes(limit_bytes);
                    let doing = format!("limits: {} with {under} ({}/{})", app.name, nth + 1, options.tries);
                    (bed.progress)(done as f64 / all as f64, &doing);
                    match attempt(bed, app, limit_bytes, options.timeout, &mut tries[place][column]) {
                        Ok(()) => {}
                        Err(error) => {
                            failed[place] = true;
                            bed.note(MemoryPart::Limits, app, error)?;
                        }
                    }
                }
                done += 1;
            }
        }
    }
    let cells = apps.iter().zip(&tries).flat_map(|(app, of_app)| {
        limits_bytes.iter().zip(of_app).map(|(&limit_bytes, tries)| tries.cell(&app.name, limit_bytes))
    });
    Ok(StartLimits {
        timeout_s: options.timeout.as_secs_f64(),
        tries: options.tries,
        cells: cells.filter(|cell| cell.tries() > 0).collect(),
    })
}

/// One launch under the limit.
fn attempt(bed: &mut Bed<'_>, app: &App, limit_bytes: u64, timeout: Duration, tries: &mut Tries) -> Result<()> {
    bed.clear()?;
    let group = bed.group_of(app)?;
    let sense = bed.sense();
    let launch = bed.phone.app(app, bed.screen.display())?;
    let time_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    let limits =
        TimeLimits { window_ns: time_ns, unsettled_ns: time_ns, total_ns: time_ns, ..bed.launcher.settings.limits };
    let settings = Settings { limits, ..bed.launcher.settings.clone() };
    let launcher = Launcher { sense, settings, stop: bed.launcher.stop };
    let before = group.oom_kills()?;
    group.set_limit(Some(limit_bytes))?;
    let launched = launcher.launch(&launch, Some(&mut *bed.screen), Start::AsItIs);
    group.set_limit(None)?;
    let kills = group.oom_kills()?.saturating_sub(before);
    let run = launched?.run;
    if run.ending == Ending::DisplayLost {
        return Err(Error::Launch(bed.display_lost()));
    }
    let outcome = outcome(&run.ending, kills);
    tries.outcomes.push(outcome);
    if outcome == Outcome::Started {
        tries.settled_ms.extend(run.at_ms(Stage::Settled));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_needs_a_settled_screen_and_all_processes() {
        let exited = Ending::Exited { code: None, signal: Some(9) };
        for (ending, kills, expected) in [
            (Ending::Settled, 0, Outcome::Started),
            (Ending::Settled, 1, Outcome::Killed),
            (exited.clone(), 1, Outcome::Killed),
            (exited, 0, Outcome::Ended),
            (Ending::NoWindow, 0, Outcome::Slow),
            (Ending::Animating, 0, Outcome::Slow),
            (Ending::StillWorking, 0, Outcome::Slow),
            (Ending::NoWindow, 2, Outcome::Killed),
        ] {
            assert_eq!(outcome(&ending, kills), expected, "{ending:?} {kills}");
        }
    }

    #[test]
    fn a_cell_counts_each_try_once_and_times_those_that_started() {
        let tries = Tries {
            outcomes: [Outcome::Started, Outcome::Slow, Outcome::Started, Outcome::Killed].into(),
            settled_ms: vec![100.0, 300.0],
        };
        let cell = tries.cell("evince", 32);
        assert_eq!((cell.started, cell.killed, cell.slow, cell.ended, cell.tries()), (2, 1, 1, 0, 4));
        assert_eq!(cell.settled_ms.map(|settled| (settled.count, settled.median)), Some((2, 200.0)));
        assert_eq!(Tries::default().cell("evince", 32).settled_ms, None);
    }
}
