//! Return to an app that runs in the background: it is brought to the front, and answers one input.
//!
//! The screen alone is wrong by seconds: the window manager raises the window and the server paints its background at
//! once, while the app waits for pages to come back from swap. The end is therefore the last of: change of the screen,
//! wait for storage or memory, work; confirmed by quiet ([`crate::launch::over`]). The split has swap-in and reclaim as
//! parts.
//!
//! An app in the background may be frozen; it is thawed when it comes to the front, within the measured time.
//!
//! Terms: what a return *touches* are the pages that were in swap, or of files and not mapped, before it and are in
//! memory after it ([`crate::launch::census`]).

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use crate::probes::Trace;
use crate::results::{AppState, Ending, RelaunchRun, SplitMethod, Warning};
use crate::screen::{Input, Screen, WindowInfo};

use crate::launch::app::App;
use crate::launch::census::Pages;
use crate::launch::clock::now_ns;
use crate::launch::error::{Error, Result};
use crate::launch::launcher::{Launcher, Running, TRACE, without_bpf};
use crate::launch::observation::{Observation, Traced};
use crate::launch::view::View;
use crate::launch::watch::Watch;

/// Time within which the control group has to freeze: a process in an uninterruptible wait delays it.
const FREEZE_WITHIN: Duration = Duration::from_secs(10);

/// An app that was launched and stays. Dropping it ends the app.
pub struct Resident {
    id: String,
    running: Running,
    window: u64,
    frozen: bool,
}

/// A return and what to know of it.
#[derive(Debug, Clone)]
pub struct Relaunched {
    pub run: RelaunchRun,
    pub warnings: Vec<Warning>,
}

impl Launcher<'_> {
    /// Launches `app`, waits until it is settled, and keeps it.
    ///
    /// # Errors
    /// When it cannot be started, ends, or shows no window.
    pub fn keep(&self, app: &App, screen: &mut dyn Screen) -> Result<Resident> {
        // The events of a launch that is not measured are not needed.
        let settings = crate::launch::Settings { method: SplitMethod::Cgroup, ..self.settings.clone() };
        let unwatched = Launcher { sense: self.sense, settings, stop: self.stop };
        let (resident, launched) = unwatched.relaunch_ended(app, screen)?;
        let failed = |reason: &str| Error::Program { program: app.id.clone(), reason: reason.to_owned() };
        resident.ok_or_else(|| match launched.run.ending {
            Ending::DisplayLost => Error::Screen(crate::screen::Error::Lost { display: screen.display().to_owned() }),
            Ending::Exited { signal: Some(signal), .. } => failed(&format!("signal {signal} ended it at once")),
            Ending::Exited { code, .. } => {
                failed(&format!("it ended at once, with status {}", code.unwrap_or_default()))
            }
            _ => failed("it shows no window"),
        })
    }

    /// The return to an app that had ended: launches it with the page cache as it is, and keeps it. No app stays when
    /// it ended or showed no window, which the run tells. A launch answers no input: its end is that of the last change
    /// and work.
    ///
    /// # Errors
    /// When it cannot be started, or the display is gone.
    pub fn relaunch_ended(&self, app: &App, screen: &mut dyn Screen) -> Result<(Option<Resident>, Relaunched)> {
        let mut view = View::open(screen)?;
        let mut running = self.start(app)?;
        let mut watch = Watch::begin(self.subject(&running), running.begin_ns, false)?;
        let ending = watch.until_over(Some(&mut view), Some(&mut running.child), running.trace.as_ref())?;
        let window = view.newest_window().map(|window| window.id);
        let tiles = view.tiles();
        let (traced, trace_cpu_ns) = self.traced(&mut running);
        let seen = watch.finish(ending, Some(running.started_ns), tiles, traced, trace_cpu_ns);
        let method = self.method(&running);
        let warnings = std::mem::take(&mut running.warnings);
        let stays = matches!(seen.ending, Ending::Settled | Ending::StillWorking | Ending::Animating);
        let (resident, after) = match window.filter(|_| stays) {
            Some(window) => {
                let resident = Resident { id: app.id.clone(), running, window, frozen: false };
                let after = self.pages(&resident)?;
                (Some(resident), Some(after))
            }
            None => {
                running.scope.close()?;
                let _ = running.child.wait();
                (None, None)
            }
        };
        let run = run_of(&seen, method, None, after.as_ref());
        Ok((resident, Relaunched { run, warnings }))
    }

    /// Brings the app to the front, sends it `input`, and watches until it has answered.
    ///
    /// # Errors
    /// When the window or the display is gone, or the kernel's files cannot be read.
    pub fn relaunch(&self, app: &mut Resident, screen: &mut dyn Screen, input: &Input) -> Result<Relaunched> {
        let mut warnings = Vec::new();
        let before = self.pages(app)?;
        let trace = match self.settings.method {
            SplitMethod::Bpf => match Trace::start(app.running.scope.dir(), &TRACE) {
                Ok(trace) => Some(trace),
                Err(error) => {
                    warnings.push(Warning { code: "no_bpf".to_owned(), text: without_bpf(&error) });
                    None
                }
            },
            SplitMethod::Cgroup | SplitMethod::Paper => None,
        };
        let method = if trace.is_none() && self.settings.method == SplitMethod::Bpf {
            SplitMethod::Cgroup
        } else {
            self.settings.method
        };
        let mut view = View::open(screen)?;
        let begin_ns = now_ns();
        let mut watch = Watch::begin(self.subject(&app.running), begin_ns, true)?;
        app.thaw()?;
        app.window = self.window_of(app, &mut view)?;
        view.activate(app.window)?;
        let asked_ns = view.send(input)?;
        watch.asked(asked_ns);
        let ending = watch.until_over(Some(&mut view), Some(&mut app.running.child), trace.as_ref())?;
        let tiles = view.tiles();
        let traced = trace.map(|trace| {
            let recording = trace.stop();
            Arc::new(Traced { events: recording.events, files: self.named(recording.files), lost: recording.lost })
        });
        let seen = watch.finish(ending, None, tiles, traced, 0);
        let after = self.pages(app)?;
        Ok(Relaunched { run: run_of(&seen, method, Some((asked_ns, &before)), Some(&after)), warnings })
    }

    /// The window of an app in the background: the one that was in front last, or, when the app has closed that one (a
    /// splash window, a dialog), its largest.
    fn window_of(&self, app: &Resident, view: &mut View<'_>) -> Result<u64> {
        let windows = view.all_windows()?;
        if windows.iter().any(|window| window.id == app.window) {
            return Ok(app.window);
        }
        let pids = self.sense.cgroup_processes(app.running.scope.dir())?.unwrap_or_default();
        Ok(largest_of(&windows, &pids).unwrap_or(app.window))
    }

    fn pages(&self, app: &Resident) -> Result<Pages> {
        let pids = self.sense.cgroup_processes(app.running.scope.dir())?.unwrap_or_default();
        Pages::read(self.sense, &pids)
    }
}

impl Resident {
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Directory of its control group.
    #[must_use]
    pub fn group(&self) -> &std::path::Path {
        self.running.scope.dir()
    }

    /// Whether any of its processes runs.
    ///
    /// # Errors
    /// When the kernel's file cannot be read.
    pub fn is_alive(&self) -> Result<bool> {
        self.running.scope.is_populated()
    }

    /// Stops all its processes until it comes to the front.
    ///
    /// # Errors
    /// When the kernel refuses, or a process does not stop in time.
    pub fn freeze(&mut self) -> Result<()> {
        self.set_frozen(true)?;
        let events = self.group().join("cgroup.events");
        let deadline = std::time::Instant::now() + FREEZE_WITHIN;
        let failed = |source| Error::Scope { action: "freeze", path: self.group().to_owned(), source };
        while !fs::read_to_string(&events).map_err(failed)?.lines().any(|line| line == "frozen 1") {
            if std::time::Instant::now() >= deadline {
                return Err(failed(std::io::Error::new(std::io::ErrorKind::TimedOut, "its processes do not stop")));
            }
            crate::launch::clock::wait(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Lets its processes run again.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn thaw(&mut self) -> Result<()> {
        if self.frozen { self.set_frozen(false) } else { Ok(()) }
    }

    fn set_frozen(&mut self, frozen: bool) -> Result<()> {
        let file = self.group().join("cgroup.freeze");
        let action = if frozen { "freeze" } else { "thaw" };
        fs::write(&file, if frozen { "1" } else { "0" }).map_err(|source| Error::Scope {
            action,
            path: self.group().to_owned(),
            source,
        })?;
        self.frozen = frozen;
        Ok(())
    }

    /// Ends the app.
    ///
    /// # Errors
    /// When a process does not end.
    pub fn close(mut self) -> Result<()> {
        self.thaw()?;
        self.running.scope.close()?;
        let _ = self.running.child.wait();
        Ok(())
    }
}

/// The result of an observation of a return; without `before` (time of the input, and the pages) it was a launch.
fn run_of(
    seen: &Observation,
    method: SplitMethod,
    before: Option<(u64, &Pages)>,
    after: Option<&Pages>,
) -> RelaunchRun {
    let (asked_ns, before) = before.unzip();
    let ms = |at_ns: u64| at_ns.saturating_sub(seen.begin_ns) as f64 / 1e6;
    // A window that was there counts as a change at the begin.
    let screen_ns = seen.settled_ns().filter(|&at_ns| at_ns > seen.begin_ns);
    let end_ns = match seen.ending {
        Ending::Settled | Ending::Exited { .. } => {
            screen_ns.into_iter().chain(seen.idle_ns().map(|(at_ns, _)| at_ns)).max().unwrap_or(seen.begin_ns)
        }
        _ => seen.end_ns,
    };
    let first = seen.repaints.iter().map(|repaint| repaint.at_ns).filter(|at_ns| *at_ns >= seen.begin_ns).min();
    RelaunchRun {
        state: before.map_or(AppState::Killed, |before| before.census().state()),
        ending: seen.ending.clone(),
        end_ms: ms(end_ns),
        screen_ms: screen_ns.map(ms),
        first_change_ms: first.map(ms),
        input_ms: asked_ns.map(ms),
        split: seen.split(end_ns, method),
        storage: seen.storage(end_ns),
        before: before.map(Pages::census),
        after: after.map(Pages::census),
        touched: before.zip(after).map(|(before, after)| after.touched_since(before)),
    }
}

/// The largest window of these processes.
fn largest_of(windows: &[WindowInfo], pids: &[u32]) -> Option<u64> {
    let own = windows.iter().filter(|window| window.pid.is_some_and(|pid| pids.contains(&pid)));
    let area = |window: &WindowInfo| window.rect.map_or(0, |rect| u64::from(rect.width) * u64::from(rect.height));
    own.max_by_key(|window| area(window)).map(|window| window.id)
}

#[cfg(test)]
mod tests {
    use crate::screen::Rect;

    use super::*;

    #[test]
    fn an_app_that_closed_its_window_comes_back_with_its_largest() {
        let window = |id, pid, width| WindowInfo {
            id,
            pid,
            rect: Some(Rect { x: 0, y: 0, width, height: 100 }),
            ..WindowInfo::default()
        };
        let windows = [window(1, Some(7), 50), window(2, Some(7), 400), window(3, Some(8), 900), window(4, None, 900)];
        assert_eq!(largest_of(&windows, &[6, 7]), Some(2));
        assert_eq!(largest_of(&windows, &[9]), None);
    }
}
