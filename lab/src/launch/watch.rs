//! Watches an app's control group and screen until a launch or an answer is over.

use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::probes::{Event, Kind, Trace};
use crate::results::Ending;
use crate::screen::{Rect, WindowInfo};
use brisk_sense::{CgroupMeter, Sense};

use crate::launch::clock::now_ns;
use crate::launch::error::{Error, Result};
use crate::launch::observation::{Ended, Observation, Traced};
use crate::launch::over::{Known, Limits, Verdict, verdict};
use crate::launch::samples::{self, Sample};
use crate::launch::scope::Emptied;
use crate::launch::settle::{Judgement, Repaint, judge};
use crate::launch::split::network;
use crate::launch::view::View;

/// How often the group's counters are read.
const SAMPLE_NS: u64 = 100_000_000;

/// The end of a group is noticed within this time, unless the machine is busy.
const NOTICED_NS: u64 = 1_000_000;

/// Interval of checks for an answer over the network, when all else is over.
const ANSWER_NS: u64 = 250_000_000;

/// What is watched, and the time limits.
pub(crate) struct Subject<'a> {
    pub(crate) sense: &'a Sense,
    /// The app's control group.
    pub(crate) group: PathBuf,
    /// The disk of its files, if it is a single one and its counters are needed.
    pub(crate) disk: Option<String>,
    pub(crate) limits: Limits,
    /// Set to cancel.
    pub(crate) stop: &'a AtomicBool,
}

/// Data collected during the observation.
pub(crate) struct Watch<'a> {
    subject: Subject<'a>,
    meter: CgroupMeter,
    begin_ns: u64,
    asked_ns: u64,
    begin_cpu_ns: u64,
    /// CPU time of this thread until the end.
    cpu_ns: u64,
    window: Option<(u64, Option<Rect>)>,
    frame_ns: Option<u64>,
    repaints: Vec<Repaint>,
    samples: Vec<Sample>,
    exited: Option<(Option<i32>, Option<i32>)>,
    ended: Option<Ended>,
    /// Reports the end of the group's last process.
    emptied: Emptied,
    handed_over: bool,
    /// Network events among the kernel's events, and the number of events already searched for them.
    network: (Vec<Event>, usize),
}

impl<'a> Watch<'a> {
    /// Begins at `begin_ns`; an app that already has a window is watched from there on.
    pub(crate) fn begin(subject: Subject<'a>, begin_ns: u64, has_window: bool) -> Result<Self> {
        let begin_cpu_ns = own_cpu_ns();
        let mut meter = CgroupMeter::open(subject.sense, &subject.group)?;
        let first = Sample::take(subject.sense, &mut meter, subject.disk.as_deref())?;
        let emptied = Emptied::watch(&subject.group)?;
        Ok(Self {
            subject,
            meter,
            begin_ns,
            asked_ns: begin_ns,
            begin_cpu_ns,
            cpu_ns: 0,
            window: has_window.then_some((begin_ns, None)),
            frame_ns: None,
            repaints: Vec::new(),
            samples: vec![first],
            exited: None,
            ended: None,
            emptied,
            handed_over: false,
            network: (Vec::new(), 0),
        })
    }

    /// Notes when the input was sent that the app has to answer.
    pub(crate) fn asked(&mut self, at_ns: u64) {
        self.asked_ns = at_ns;
    }

    /// Watches until it is over. `child` is the first process of a launch.
    pub(crate) fn until_over(
        &mut self,
        view: Option<&mut View<'_>>,
        child: Option<&mut Child>,
        trace: Option<&Trace>,
    ) -> Result<Ending> {
        let ending = self.watch(view, child, trace)?;
        // Setup and evaluation are not part of the cost of watching.
        self.cpu_ns = own_cpu_ns().saturating_sub(self.begin_cpu_ns);
        Ok(ending)
    }

    fn watch(
        &mut self,
        mut view: Option<&mut View<'_>>,
        mut child: Option<&mut Child>,
        trace: Option<&Trace>,
    ) -> Result<Ending> {
        let (mut ask_ns, mut asked) = (0, (false, false));
        loop {
            if self.subject.stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            let next_sample = self.samples.last().map_or(0, |sample| sample.at_ns) + SAMPLE_NS;
            let wait = Duration::from_nanos(next_sample.min(ask_ns).saturating_sub(now_ns()));
            let mut is_empty = false;
            match &mut view {
                Some(view) => match self.poll_screen(view, wait) {
                    Ok(()) => {}
                    Err(Error::Screen(crate::screen::Error::Lost { .. })) => return Ok(Ending::DisplayLost),
                    Err(error) => return Err(error),
                },
                None => is_empty = self.emptied.within(wait)? && self.exited.is_none(),
            }
            let now = now_ns();
            if now >= next_sample || is_empty {
                let Subject { sense, disk, .. } = &self.subject;
                self.samples.push(Sample::take(sense, &mut self.meter, disk.as_deref())?);
                let resolution_ns = if is_empty { NOTICED_NS } else { SAMPLE_NS };
                self.check_processes(child.as_deref_mut(), Ended { at_ns: now, resolution_ns })?;
            }
            // Changes and work can only delay the end, so they are evaluated when the end would have come. Events that
            // can bring it forward are the window, which changes the limits, and the end of the app.
            let state = (self.window.is_some(), self.exited.is_some());
            if now < ask_ns && state == asked {
                continue;
            }
            asked = state;
            let known = self.known(now, view.as_deref());
            match verdict(&known, &self.subject.limits) {
                Verdict::Over(Ending::Settled) if self.awaits_an_answer(trace, now) => ask_ns = now + ANSWER_NS,
                Verdict::Over(ending) => return Ok(ending),
                Verdict::AskAgain(at_ns) => ask_ns = at_ns.max(now + 1_000_000),
            }
        }
    }

    fn poll_screen(&mut self, view: &mut View<'_>, wait: Duration) -> Result<()> {
        let seen = view.poll(wait)?;
        for (at_ns, window) in seen.shown {
            if self.window.is_none() && self.is_ours(&window)? {
                self.window = Some((at_ns, window.rect));
            }
        }
        if let (Some((window_ns, rect)), None) = (self.window, self.frame_ns) {
            let inside = |drawn: &Rect| rect.is_none_or(|rect| overlap(&rect, drawn));
            self.frame_ns =
                seen.drawn.iter().find(|(at_ns, drawn)| *at_ns >= window_ns && inside(drawn)).map(|(at_ns, _)| *at_ns);
        }
        self.repaints.extend(seen.repaints);
        Ok(())
    }

    /// Whether a window belongs to the app: its process is in the group. Where the display does not know the process,
    /// or the app passed its work to an earlier instance, any new window does.
    fn is_ours(&self, window: &WindowInfo) -> Result<bool> {
        let Some(pid) = window.pid.filter(|_| !self.handed_over) else { return Ok(true) };
        let group = self.subject.sense.cgroup_processes(&self.subject.group)?.unwrap_or_default();
        Ok(group.contains(&pid))
    }

    /// Checks whether the first process and all others have ended; `ended` is when that would be noticed.
    fn check_processes(&mut self, child: Option<&mut Child>, ended: Ended) -> Result<()> {
        use std::os::unix::process::ExitStatusExt;
        let Some(child) = child else { return Ok(()) };
        let status = child.try_wait().map_err(|source| Error::system("waiting for the app", source))?;
        let Some(status) = status else { return Ok(()) };
        let left = self.subject.sense.cgroup_processes(&self.subject.group)?.unwrap_or_default();
        if left.is_empty() {
            self.exited = Some((status.code(), status.signal()));
            self.ended.get_or_insert(ended);
        }
        self.handed_over = status.success();
        Ok(())
    }

    fn known(&self, now_ns: u64, view: Option<&View<'_>>) -> Known {
        let window = self.begin_ns..now_ns;
        let nothing = Judgement { last_change_ns: None, settled: true, ask_again_ns: now_ns, periodic: false };
        Known {
            now_ns,
            begin_ns: self.begin_ns,
            asked_ns: self.asked_ns,
            has_screen: view.is_some(),
            window_ns: self.window.map(|(at_ns, _)| at_ns),
            // Damage that was not yet polled may be a change.
            screen: view.map_or(nothing, |view| {
                judge(&self.repaints, self.begin_ns, now_ns.min(view.sure_until_ns()), view.tiles())
            }),
            last_work_ns: samples::last_work_ns(&self.samples, window.clone()),
            last_storage_ns: samples::last_storage_ns(&self.samples, window),
            exited: self.exited,
        }
    }

    /// Whether an answer over the network is awaited. Called only when all else is over; searches each event once.
    fn awaits_an_answer(&mut self, trace: Option<&Trace>, now: u64) -> bool {
        let Some(trace) = trace else { return false };
        if now >= self.begin_ns + self.subject.limits.total_ns {
            return false;
        }
        let (network, searched) = &mut self.network;
        trace.with_events(|events| {
            let new = events.get(*searched..).unwrap_or_default();
            network.extend(new.iter().filter(|event| matches!(event.kind, Kind::Network(_))).cloned());
            *searched = events.len();
        });
        // Processors deliver their events in turns.
        network.sort_by_key(|event| event.at_ns);
        network::awaited(network).iter().any(|span| span.contains(&now))
    }

    pub(crate) fn finish(
        self,
        ending: Ending,
        started_ns: Option<u64>,
        tiles: u32,
        traced: Option<Arc<Traced>>,
        trace_cpu_ns: u64,
    ) -> Observation {
        Observation {
            begin_ns: self.begin_ns,
            end_ns: now_ns(),
            ending,
            started_ns,
            window_ns: started_ns.and(self.window).map(|(at_ns, _)| at_ns),
            frame_ns: started_ns.and(self.frame_ns),
            ended: self.ended,
            repaints: self.repaints,
            tiles,
            samples: self.samples,
            traced,
            watch_cpu_ns: self.cpu_ns + trace_cpu_ns,
        }
    }
}

fn overlap(a: &Rect, b: &Rect) -> bool {
    let spans = |a: i32, a_size: u32, b: i32, b_size: u32| {
        i64::from(a) < i64::from(b) + i64::from(b_size) && i64::from(b) < i64::from(a) + i64::from(a_size)
    };
    spans(a.x, a.width, b.x, b.width) && spans(a.y, a.height, b.y, b.height)
}

fn own_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_overlap_when_they_share_a_pixel() {
        let rect = |x, y, width, height| Rect { x, y, width, height };
        assert!(overlap(&rect(0, 0, 10, 10), &rect(9, 9, 5, 5)));
        assert!(!overlap(&rect(0, 0, 10, 10), &rect(10, 0, 5, 5)));
        assert!(!overlap(&rect(0, 0, 0, 10), &rect(0, 0, 5, 5)));
        assert!(overlap(&rect(-5, -5, 10, 10), &rect(0, 0, u32::MAX, 1)));
    }
}
