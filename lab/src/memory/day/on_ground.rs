//! The visitor of a real phone.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::phone::App;
use crate::results::{AppVisit, DayFlash, DayMemory, EndedApp, Ending};
use brisk_core::causes::in_one_line;

use super::replay::{Arrival, Came, Dwelt, Paging, Visitor};
use crate::memory::error::{Error, Result};
use crate::memory::ground::Ground;
use crate::memory::policy::Policy;

/// Size of a page of swap.
const PAGE_BYTES: u64 = 4_096;

/// A person on the [`Ground`].
pub struct OnGround<'ground, 'phone> {
    ground: &'ground mut Ground<'phone>,
    apps: BTreeMap<&'static str, &'static App>,
    began: Instant,
    cpu: CpuUse,
    /// The flash since the phone's counters were reset, at the end of the last step.
    flash: DayFlash,
}

/// Processor time of apps that come and go.
#[derive(Debug, Default, PartialEq, Eq)]
struct CpuUse {
    /// Of apps that have ended, as last seen.
    ended_us: u64,
    running_us: BTreeMap<String, u64>,
}

impl CpuUse {
    fn see(&mut self, now_us: BTreeMap<String, u64>) {
        for (app, was_us) in std::mem::take(&mut self.running_us) {
            // One that uses less than before is another process tree of the name.
            if now_us.get(&app).is_none_or(|us| *us < was_us) {
                self.ended_us += was_us;
            }
        }
        self.running_us = now_us;
    }

    fn sum_us(&self) -> u64 {
        self.ended_us + self.running_us.values().sum::<u64>()
    }
}

impl<'ground, 'phone> OnGround<'ground, 'phone> {
    /// Begins a run under `policy`, on a phone without running apps.
    ///
    /// # Errors
    /// As [`Ground::begin_anew`].
    pub fn begin(ground: &'ground mut Ground<'phone>, policy: &'static Policy, apps: &[&'static App]) -> Result<Self> {
        ground.begin_anew(policy)?;
        let apps = apps.iter().map(|&app| (app.name.as_str(), app)).collect();
        let mut visitor =
            Self { ground, apps, began: Instant::now(), cpu: CpuUse::default(), flash: DayFlash::default() };
        visitor.flash = visitor.flash_now()?;
        Ok(visitor)
    }

    /// Processor time of the apps since the begin; what an app used after the last switch before it was ended is not in
    /// it.
    #[must_use]
    pub fn cpu(&self) -> Duration {
        Duration::from_micros(self.cpu.sum_us())
    }

    #[must_use]
    pub fn ground(&mut self) -> &mut Ground<'phone> {
        self.ground
    }

    fn flash_now(&self) -> Result<DayFlash> {
        let requests = self.ground.phone().flash()?.requests;
        Ok(DayFlash {
            read_bytes: requests.read.bytes,
            written_bytes: requests.write.bytes,
            busy_ms: requests.busy_ns as f64 / 1e6,
        })
    }

    /// The flash since the last call.
    fn flash_since(&mut self) -> Result<DayFlash> {
        let now = self.flash_now()?;
        let before = std::mem::replace(&mut self.flash, now);
        Ok(DayFlash {
            read_bytes: now.read_bytes.saturating_sub(before.read_bytes),
            written_bytes: now.written_bytes.saturating_sub(before.written_bytes),
            busy_ms: (now.busy_ms - before.busy_ms).max(0.0),
        })
    }

    fn see_cpu(&mut self) -> Result<()> {
        let mut now_us = BTreeMap::new();
        for app in self.ground.running() {
            if let Some(us) = self.ground.cpu_us(&app)? {
                now_us.insert(app, us);
            }
        }
        self.cpu.see(now_us);
        Ok(())
    }
}

/// What a visit says of the app: that it came, or why not.
fn outcome(visit: &AppVisit) -> std::result::Result<Came, String> {
    let run = &visit.run;
    match &run.ending {
        Ending::Settled | Ending::StillWorking | Ending::Animating => {
            Ok(Came { state: run.state, ending: run.ending.clone(), wait_ms: run.end_ms, split: run.split.clone() })
        }
        Ending::NoWindow | Ending::Headless => Err("it showed no window in time".to_owned()),
        Ending::DisplayLost => Err("the display is gone".to_owned()),
        Ending::Exited { code, signal } => Err(match (code, signal) {
            (_, Some(signal)) => format!("it was ended by signal {signal}"),
            (Some(code), None) => format!("it ended with exit code {code}"),
            (None, None) => "it ended".to_owned(),
        }),
    }
}

impl Visitor for OnGround<'_, '_> {
    type Error = Error;

    fn clock(&self) -> Duration {
        self.began.elapsed()
    }

    fn paging(&mut self) -> Result<Paging> {
        let (read, written) = self.ground.swap_pages()?;
        let group = self.ground.phone().memory_group();
        Ok(Paging {
            swap_in_bytes: read * PAGE_BYTES,
            swap_out_bytes: written * PAGE_BYTES,
            refault_pages: group.as_ref().and_then(|group| group.refault_pages().ok()),
            available_bytes: group.as_ref().and_then(|group| group.available_bytes().ok()),
        })
    }

    fn go_to(&mut self, app: &str) -> Result<Arrival> {
        let known = *self.apps.get(app).ok_or_else(|| Error::NotRunning(app.to_owned()))?;
        let oom_kills = self.ground.oom_kills(app)?;
        let visit = self.ground.switch_to(known);
        let (mut outcome, mut ended): (_, Vec<EndedApp>) = match visit {
            Ok(visit) if visit.run.ending == Ending::DisplayLost => {
                let display = self.ground.display().to_owned();
                return Err(crate::launch::Error::Screen(crate::screen::Error::Lost { display }).into());
            }
            Ok(visit) => (outcome(&visit), visit.ended),
            Err(error) if error.ends_all() => return Err(error),
            Err(error) => {
                self.ground.close(app)?;
                (Err(in_one_line(&error)), self.ground.stay(Duration::ZERO)?)
            }
        };
        if outcome.is_err() {
            // One that ended before it ran is in no list of running apps, and so in none of ended ones.
            if !ended.iter().any(|end| end.app == app)
                && let Some(by) = self.ground.launch_ended_by(app, oom_kills)?
            {
                ended.push(EndedApp { app: app.to_owned(), by });
            }
            if ended.iter().any(|end| end.app == app) {
                outcome = Err("it was ended while it came to the front, since memory had run out".to_owned());
            }
        }
        let flash = self.flash_since()?;
        self.see_cpu()?;
        Ok(Arrival { outcome, flash, ended })
    }

    fn dwell(&mut self, time: Duration) -> Result<Dwelt> {
        let ended = self.ground.stay(time)?;
        self.see_cpu()?;
        let mut memory = Vec::new();
        for app in self.ground.running() {
            memory.extend(self.ground.census(&app)?.map(|census| DayMemory { app, census }));
        }
        Ok(Dwelt { flash: self.flash_since()?, ended, memory })
    }

    fn leave(&mut self, app: &str) -> Result<()> {
        self.ground.leave(app)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_of_ended_apps_stays_in_the_sum() {
        let now = |apps: &[(&str, u64)]| apps.iter().map(|(app, us)| ((*app).to_owned(), *us)).collect();
        let mut cpu = CpuUse::default();
        cpu.see(now(&[("a", 10), ("b", 5)]));
        cpu.see(now(&[("a", 30)]));
        assert_eq!(cpu.sum_us(), 35);
        // Launched again, it begins from nothing.
        cpu.see(now(&[("a", 4), ("b", 7)]));
        assert_eq!(cpu.sum_us(), 5 + 30 + 4 + 7);
    }
}
