//! Apps of the phone that this runs in: each is opened at its first visit, stays open, and is brought back by a key to
//! answer.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use brisk_core::causes::in_one_line;
use brisk_sense::Sense;

use crate::launch::{App, Launcher, Resident, clock};
use crate::memory::Answer;
use crate::memory::day::{Arrival, Came, Dwelt, Paging, Visitor};
use crate::results::{AppVisit, DayFlash, DayMemory, EndedApp, EndedBy, Ending};
use crate::screen::{Input, Screen};

/// The flash of a phone.
const FLASH: &str = "flash0";
/// Bytes of a page of memory.
const PAGE_BYTES: u64 = 4_096;

/// An app, and its processes unless it was ended.
struct Open {
    app: App,
    answer: Answer,
    turns: u64,
    resident: Option<Resident>,
}

/// The apps, and the screen that they share.
pub(super) struct Visits<'a> {
    launcher: Launcher<'a>,
    screen: &'a mut dyn Screen,
    apps: Vec<Open>,
    /// The app in front.
    front: Option<usize>,
    /// Who ends apps where the kernel did not.
    killer: EndedBy,
    oom_kills: u64,
    flash: DayFlash,
    began: Instant,
}

impl<'a> Visits<'a> {
    /// Of these apps, none of which is open yet.
    pub(super) fn begin(
        launcher: Launcher<'a>,
        screen: &'a mut dyn Screen,
        apps: Vec<App>,
        killer: EndedBy,
    ) -> anyhow::Result<Self> {
        let open = |app: App| Ok(Open { answer: Answer::of(&app.id)?, app, turns: 0, resident: None });
        let apps = apps.into_iter().map(open).collect::<anyhow::Result<_>>()?;
        let flash = flash(launcher.sense)?;
        Ok(Self { launcher, screen, apps, front: None, killer, oom_kills: oom_kills()?, flash, began: Instant::now() })
    }

    /// Opens an app without measuring it.
    pub(super) fn open(&mut self, at: usize) -> anyhow::Result<()> {
        self.apps[at].resident = Some(self.launcher.keep(&self.apps[at].app, self.screen)?);
        Ok(())
    }

    /// Brings an app to the front.
    pub(super) fn bring_back(&mut self, at: usize, round: u64) -> anyhow::Result<AppVisit> {
        let mut ended = self.ended()?;
        self.take_back()?;
        self.front = Some(at);
        self.flash_since()?;
        let open = &mut self.apps[at];
        let run = match open.resident.take() {
            Some(mut resident) => {
                let key = Input::Key(open.answer.key(open.turns).to_owned());
                open.turns += 1;
                let run = self.launcher.relaunch(&mut resident, self.screen, &key)?.run;
                open.resident = Some(resident);
                run
            }
            None => {
                open.turns = 0;
                let (resident, launched) = self.launcher.relaunch_ended(&open.app, self.screen)?;
                open.resident = resident;
                launched.run
            }
        };
        let app = open.app.id.clone();
        let flash = self.flash_since()?;
        ended.extend(self.ended()?);
        Ok(AppVisit {
            app,
            round,
            run,
            flash_read_bytes: flash.read_bytes,
            flash_written_bytes: flash.written_bytes,
            flash_busy_ms: flash.busy_ms,
            ended,
        })
    }

    /// Takes back what the app in front was asked, where the next app would not get its keys otherwise.
    fn take_back(&mut self) -> anyhow::Result<()> {
        let Some(open) = self.front.take().map(|at| &mut self.apps[at]) else { return Ok(()) };
        if let (Some(undo), Some(resident)) = (open.answer.undo, &mut open.resident)
            && open.turns > 0
        {
            self.launcher.relaunch(resident, self.screen, &Input::Key(undo.to_owned()))?;
        }
        Ok(())
    }

    /// Closes all.
    pub(super) fn close(self) -> anyhow::Result<()> {
        for resident in self.apps.into_iter().filter_map(|open| open.resident) {
            resident.close()?;
        }
        Ok(())
    }

    /// Apps that were ended since the last call.
    fn ended(&mut self) -> anyhow::Result<Vec<EndedApp>> {
        let oom_kills = oom_kills()?;
        let by = if oom_kills > self.oom_kills { EndedBy::Kernel } else { self.killer };
        self.oom_kills = oom_kills;
        let mut ended = Vec::new();
        for open in &mut self.apps {
            if let Some(resident) = &open.resident
                && !resident.is_alive()?
            {
                open.resident = None;
                ended.push(EndedApp { app: open.app.id.clone(), by });
            }
        }
        Ok(ended)
    }

    /// The flash since the last call.
    fn flash_since(&mut self) -> anyhow::Result<DayFlash> {
        let now = flash(self.launcher.sense)?;
        let before = std::mem::replace(&mut self.flash, now);
        Ok(DayFlash {
            read_bytes: now.read_bytes.saturating_sub(before.read_bytes),
            written_bytes: now.written_bytes.saturating_sub(before.written_bytes),
            busy_ms: (now.busy_ms - before.busy_ms).max(0.0),
        })
    }

    /// Memory of the apps that are open.
    fn memory(&self) -> anyhow::Result<Vec<DayMemory>> {
        let mut memory = Vec::new();
        for open in &self.apps {
            let Some(resident) = &open.resident else { continue };
            let pids = self.launcher.sense.cgroup_processes(resident.group())?.unwrap_or_default();
            let census = crate::launch::census::Pages::read(self.launcher.sense, &pids)?.census();
            memory.push(DayMemory { app: open.app.id.clone(), census });
        }
        Ok(memory)
    }
}

/// A person in front of this phone.
impl Visitor for Visits<'_> {
    type Error = anyhow::Error;

    fn clock(&self) -> Duration {
        self.began.elapsed()
    }

    fn paging(&mut self) -> anyhow::Result<Paging> {
        let paging = self.launcher.sense.paging()?;
        let refaults = paging.refault_anon_pages.zip(paging.refault_file_pages);
        Ok(Paging {
            swap_in_bytes: paging.swap_in_pages * PAGE_BYTES,
            swap_out_bytes: paging.swap_out_pages * PAGE_BYTES,
            refault_pages: refaults.map(|(anonymous, file)| anonymous + file),
            available_bytes: self.launcher.sense.mem_info()?.available_bytes,
        })
    }

    fn go_to(&mut self, app: &str) -> anyhow::Result<Arrival> {
        let at = self.apps.iter().position(|open| open.app.id == app);
        let at = at.with_context(|| format!("the phone has no {app}"))?;
        let visit = match self.bring_back(at, 0) {
            Ok(visit) => visit,
            Err(error) => {
                self.apps[at].resident = None;
                let outcome = Err(in_one_line(AsRef::<dyn std::error::Error>::as_ref(&error)));
                return Ok(Arrival { outcome, flash: self.flash_since()?, ended: self.ended()? });
            }
        };
        let run = &visit.run;
        let outcome = match &run.ending {
            Ending::Settled | Ending::StillWorking | Ending::Animating => {
                Ok(Came { state: run.state, ending: run.ending.clone(), wait_ms: run.end_ms, split: run.split.clone() })
            }
            Ending::DisplayLost => anyhow::bail!("the display is gone"),
            Ending::NoWindow | Ending::Headless => Err("it showed no window in time".to_owned()),
            Ending::Exited { .. } => Err("it ended while it came to the front".to_owned()),
        };
        let flash = DayFlash {
            read_bytes: visit.flash_read_bytes,
            written_bytes: visit.flash_written_bytes,
            busy_ms: visit.flash_busy_ms,
        };
        Ok(Arrival { outcome, flash, ended: visit.ended })
    }

    fn dwell(&mut self, time: Duration) -> anyhow::Result<Dwelt> {
        clock::wait(time);
        let ended = self.ended()?;
        Ok(Dwelt { flash: self.flash_since()?, ended, memory: self.memory()? })
    }

    /// The next app covers it, as on a device.
    fn leave(&mut self, _app: &str) -> anyhow::Result<()> {
        Ok(())
    }
}

/// What the flash has done since the phone began.
fn flash(sense: &Sense) -> anyhow::Result<DayFlash> {
    let disks = sense.disk_stats()?;
    let flash = disks.iter().find(|disk| disk.name == FLASH).context("this is no phone: it has no flash0")?;
    Ok(DayFlash { read_bytes: flash.read.bytes, written_bytes: flash.write.bytes, busy_ms: flash.busy_ms as f64 })
}

/// How many processes the kernel has ended since memory had run out.
fn oom_kills() -> anyhow::Result<u64> {
    let path = Path::new("/proc/vmstat");
    let text = std::fs::read_to_string(path).context("cannot read /proc/vmstat")?;
    Ok(text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok()).unwrap_or(0))
}
