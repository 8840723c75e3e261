//! The memory study (dissertation 5.2, MARS figure 14): what apps take of a phone's memory, and with how little they
//! start.
//!
//! | part | asks | state before |
//! |---|---|---|
//! | [`free()`] | memory left while apps go to the background one after another (figure 5.1) | no app, no page cache |
//! | [`growth()`] | growth of the heap of each app after its launch (figures 5.2, 5.5) | the same before each launch |
//! | [`limits()`] | which limit lets which app start, try by try (table 5.1) | the same before each launch |
//! | [`sets()`] | resident pages, use of a second, pages back from swap at a return (MARS figure 14) | all apps stay |
//!
//! It needs no policies of swapping and no pressure from others, so it stands on the phone itself and not on
//! [`crate::memory::Ground`]. Apps are sampled from another thread (`sampling`), by counters that cost no walk of page
//! tables; repetitions are interleaved over apps, so that drift of the machine affects all alike. An app that cannot be
//! launched has a failure, and the others are measured.

mod free;
mod growth;
mod limits;
mod sampling;
mod sets;
mod traces;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::launch::{Launcher, Resident};
use crate::phone::{App, Home, MemoryGroup, Phone};
use crate::results::{Ending, MemoryFailure, MemoryPart, RelaunchRun};
use crate::screen::{Input, Screen};
use brisk_core::causes::in_one_line;
use brisk_sense::{ProcessMemory, Sense};

pub use free::{FreeOptions, free};
pub use growth::{GrowthOptions, growth};
pub use limits::{LimitOptions, limits};
pub use sets::{SetOptions, sets};
pub use traces::traces;

use crate::memory::answers::Answer;
use crate::memory::error::{Error, Result};

/// From one input to the next while an app is used.
const INPUT_EVERY: Duration = Duration::from_secs(1);
/// A wish to stop is noticed within this time.
const NOTICED: Duration = Duration::from_millis(100);

pub struct Bed<'a> {
    phone: &'a Phone,
    group: MemoryGroup,
    limit_bytes: u64,
    launcher: Launcher<'a>,
    screen: &'a mut dyn Screen,
    apps: Vec<&'static App>,
    /// The user's home before any app ran.
    home: Home,
    progress: &'a mut dyn FnMut(f64, &str),
    failures: Vec<MemoryFailure>,
}

impl<'a> Bed<'a> {
    /// The bed on a phone with a limit, for all parts: each begins with the home as it is now. `progress` gets the
    /// share that is done of a part, and what is being done.
    ///
    /// # Errors
    /// When the phone has no limit, its home cannot be read, or it lacks an app.
    pub fn new(
        phone: &'a Phone,
        launcher: Launcher<'a>,
        screen: &'a mut dyn Screen,
        apps: &[&'static App],
        progress: &'a mut dyn FnMut(f64, &str),
    ) -> Result<Self> {
        let (group, memory) = phone.memory_group().zip(phone.memory()).ok_or(Error::NoLimit(phone.id()))?;
        phone.end_apps()?;
        for app in apps {
            Answer::of(&app.name)?;
            phone.app(app, screen.display())?;
        }
        Ok(Self {
            home: phone.remember_home()?,
            phone,
            group,
            limit_bytes: memory.limit_bytes,
            launcher,
            screen,
            apps: apps.to_vec(),
            progress,
            failures: Vec::new(),
        })
    }

    /// Leaves the phone without apps, and the home as it was.
    ///
    /// # Errors
    /// When an app does not end, or the home cannot be written.
    pub fn leave(self) -> Result<()> {
        self.phone.end_apps()?;
        self.phone.restore_home(&self.home)?;
        Ok(())
    }

    /// Apps that had no figures so far.
    pub fn take_failures(&mut self) -> Vec<MemoryFailure> {
        std::mem::take(&mut self.failures)
    }

    fn sense(&self) -> &'a Sense {
        self.launcher.sense
    }

    /// Brings the phone to its first state: no app, the home as it was, nothing of its files in memory.
    fn clear(&self) -> Result<()> {
        self.check()?;
        self.phone.set_timed(false)?;
        self.phone.end_apps()?;
        self.phone.restore_home(&self.home)?;
        self.group.reclaim_all()?;
        self.phone.set_timed(true)?;
        Ok(())
    }

    /// Launches an app that stays.
    fn launch(&mut self, app: &App) -> Result<(Resident, RelaunchRun)> {
        let launch = self.phone.app(app, self.screen.display())?;
        let (resident, launched) = self.launcher.relaunch_ended(&launch, &mut *self.screen)?;
        let failed =
            |reason: &str| crate::launch::Error::Program { program: app.name.clone(), reason: reason.to_owned() };
        match resident {
            Some(resident) => Ok((resident, launched.run)),
            None => Err(Error::Launch(match launched.run.ending {
                Ending::DisplayLost => self.display_lost(),
                Ending::Exited { .. } => failed("it ended before it showed a window"),
                _ => failed("it shows no window"),
            })),
        }
    }

    fn display_lost(&self) -> crate::launch::Error {
        crate::launch::Error::Screen(crate::screen::Error::Lost { display: self.screen.display().to_owned() })
    }

    /// Uses the app in front until a moment: an input a second, as long as it lives. Gives how many it got.
    fn use_until(&mut self, resident: &Resident, answer: Answer, until: Instant) -> Result<u32> {
        let mut inputs = 0;
        while Instant::now() < until && resident.is_alive()? {
            let key = answer.key(u64::from(inputs));
            self.screen.send(&Input::Key(key.to_owned())).map_err(crate::launch::Error::from)?;
            if let Some(undo) = answer.undo {
                self.screen.send(&Input::Key(undo.to_owned())).map_err(crate::launch::Error::from)?;
            }
            inputs += 1;
            self.rest_until(until.min(Instant::now() + INPUT_EVERY))?;
        }
        self.rest_until(until)?;
        Ok(inputs)
    }

    /// Waits until a moment. What the display reports meanwhile is read, so that it does not pile up.
    fn rest_until(&mut self, until: Instant) -> Result<()> {
        loop {
            self.check()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.screen.changes(left.min(NOTICED)).map_err(crate::launch::Error::from)?;
        }
    }

    fn check(&self) -> Result<()> {
        if self.launcher.stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Notes why an app has no figures; what concerns all apps stays an error.
    fn note(&mut self, part: MemoryPart, app: &App, error: Error) -> Result<()> {
        let of_app = match &error {
            Error::Launch(crate::launch::Error::Screen(_)) => false,
            Error::Launch(_) | Error::NotRunning(_) => true,
            _ => false,
        };
        if !of_app {
            return Err(error);
        }
        self.failures.push(MemoryFailure { part, app: app.name.clone(), reason: in_one_line(&error) });
        Ok(())
    }

    /// The memory group of an app, in which all its processes are.
    fn group_of(&self, app: &App) -> Result<MemoryGroup> {
        Ok(self.group.child(&app.name)?)
    }

    /// Processes that the kernel has ended for lack of memory, in all apps.
    fn oom_kills(&self) -> Result<u64> {
        let apps = self.apps.iter().map(|app| Ok(self.group_of(app)?.oom_kills()?));
        let sum = apps.sum::<Result<u64>>()?;
        // Of version 2 the parent counts all of them, of version 1 its own, which has none.
        Ok(sum.max(self.group.oom_kills()?))
    }
}

/// Processes of an app, which are in the child of `group` with its name.
fn processes(group: &MemoryGroup, app: &str) -> Result<Vec<u32>> {
    Ok(group.processes_by_child()?.into_iter().filter(|(_, child)| child == app).map(|(pid, _)| pid).collect())
}

/// Memory of all processes of an app: their sum. A page that several of them map counts for each.
fn memory_of(sense: &Sense, group: &MemoryGroup, app: &str) -> Result<ProcessMemory> {
    let mut sum = ProcessMemory::default();
    for pid in processes(group, app)? {
        if let Some(memory) = sense.process_memory(pid)? {
            sum.anonymous_bytes = sum.anonymous_bytes.saturating_add(memory.anonymous_bytes);
            sum.file_bytes = sum.file_bytes.saturating_add(memory.file_bytes);
            sum.swapped_bytes = sum.swapped_bytes.saturating_add(memory.swapped_bytes);
        }
    }
    Ok(sum)
}
