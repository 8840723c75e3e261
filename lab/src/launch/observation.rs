//! Observations of one launch or one answer, and their evaluation.
//!
//! While an app is watched, the only decision is whether it is over; an [`Observation`] holds the raw lists, and the
//! functions here compute the public results afterwards, so that the evaluation does not disturb the app.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::probes::{Event, Inode, Kind};
use crate::results::{
    Cause, ColdCheck, Ending, LatencyRun, LaunchRun, Split, SplitMethod, Stage, StageTime, StorageUse,
};

use crate::launch::samples::{self, Sample, growth};
use crate::launch::settle::{Repaint, judge};
use crate::launch::{split, storage_use, work};

/// Trace of eBPF.
#[derive(Debug, Clone, Default)]
pub struct Traced {
    pub events: Vec<Event>,
    /// Names of the files that were read or written.
    pub files: HashMap<Inode, PathBuf>,
    /// Number of events lost because the kernel's buffer was full.
    pub lost: u64,
}

/// The end of an app, as it was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    pub at_ns: u64,
    /// It may have been up to so much earlier.
    pub resolution_ns: u64,
}

/// The end of a group is noticed within this time of its last thread's end, also on a busy machine.
const DEATH_NOTICED_NS: u64 = 100_000_000;

/// Resolution of the kernel's events: their timestamps are exact, and shown in us.
const EVENT_RESOLUTION_NS: u64 = 1_000;

/// One observed launch or answer.
#[derive(Debug, Clone)]
pub struct Observation {
    /// Begin of the launch or the input, CLOCK_MONOTONIC.
    pub begin_ns: u64,
    pub end_ns: u64,
    pub ending: Ending,
    /// Start of the app's program; `None` for an app that ran before.
    pub started_ns: Option<u64>,
    /// First window of the app.
    pub window_ns: Option<u64>,
    /// First drawing into that window.
    pub frame_ns: Option<u64>,
    /// End of the app's last process; `None` for an app that keeps running.
    pub ended: Option<Ended>,
    /// All visible changes; empty without a screen.
    pub repaints: Vec<Repaint>,
    /// Tiles of the screen; 0 without one.
    pub tiles: u32,
    /// Samples of the app's control group.
    pub samples: Vec<Sample>,
    /// Trace; `None` without eBPF.
    pub traced: Option<Arc<Traced>>,
    /// CPU time of the observation itself.
    pub watch_cpu_ns: u64,
}

impl Observation {
    /// The last non-periodic change of the screen, not before the first window.
    #[must_use]
    pub fn settled_ns(&self) -> Option<u64> {
        if !matches!(self.ending, Ending::Settled | Ending::StillWorking) {
            return None;
        }
        let last = judge(&self.repaints, self.begin_ns, self.end_ns, self.tiles).last_change_ns;
        last.into_iter().chain(self.window_ns).max()
    }

    /// End of the app's work within the observation, and its resolution, both in ns. It is never before the start of
    /// the app's program; an app that ended by itself has done its work then.
    #[must_use]
    pub fn idle_ns(&self) -> Option<(u64, u64)> {
        if matches!(self.ending, Ending::StillWorking | Ending::NoWindow | Ending::DisplayLost) {
            return None;
        }
        let window = self.begin_ns..self.end_ns;
        let (last_ns, resolution_ns) = match (&self.traced, self.ended) {
            (Some(traced), Some(ended)) => match last_death_ns(traced, ended) {
                Some(at_ns) => (Some(at_ns), EVENT_RESOLUTION_NS),
                None => (Some(ended.at_ns), ended.resolution_ns),
            },
            (None, Some(ended)) => (Some(ended.at_ns), ended.resolution_ns),
            (Some(traced), None) => (work::last_work_ns(&traced.events, window), EVENT_RESOLUTION_NS),
            (None, None) => {
                let last_ns = samples::last_work_ns(&self.samples, window);
                (last_ns, samples::resolution_ns(&self.samples, last_ns.unwrap_or(self.begin_ns)))
            }
        };
        let earliest_ns = self.program_ns().unwrap_or(self.begin_ns);
        Some((last_ns.unwrap_or(self.begin_ns).max(earliest_ns), resolution_ns))
    }

    /// Split of the time from the begin until `until_ns`.
    #[must_use]
    pub fn split(&self, until_ns: u64, method: SplitMethod) -> Option<Split> {
        let growth = growth(&self.samples, self.begin_ns, until_ns);
        match (method, &self.traced) {
            (SplitMethod::Bpf, Some(traced)) => {
                let exclusive = split::split(&traced.events, self.begin_ns..until_ns);
                Some(exclusive.to_split(growth.user_share(), traced.lost))
            }
            (SplitMethod::Bpf, None) => None,
            (SplitMethod::Cgroup, _) => Some(growth.cgroup_split()),
            (SplitMethod::Paper, _) => Some(growth.paper_split()),
        }
    }

    /// Reads and writes until `until_ns`.
    #[must_use]
    pub fn storage(&self, until_ns: u64) -> Option<StorageUse> {
        let traced = self.traced.as_ref()?;
        Some(storage_use::storage_use(&traced.events, &traced.files, &(self.begin_ns..until_ns)))
    }

    fn ms(&self, at_ns: u64) -> f64 {
        at_ns.saturating_sub(self.begin_ns) as f64 / 1e6
    }

    /// CPU cost of the observation, in percent of one core.
    #[must_use]
    pub fn watch_cpu_percent(&self) -> f64 {
        100.0 * self.watch_cpu_ns as f64 / (self.end_ns.saturating_sub(self.begin_ns)).max(1) as f64
    }

    #[must_use]
    pub fn launch_run(&self, method: SplitMethod, cold: Option<ColdCheck>) -> LaunchRun {
        let (settled, idle) = (self.settled_ns(), self.idle_ns());
        let mut times = vec![
            (Stage::FirstProcess, self.program_ns()),
            (Stage::FirstWindow, self.window_ns),
            (Stage::FirstFrame, self.frame_ns),
            (Stage::Settled, settled),
            (Stage::Idle, idle.map(|(at_ns, _)| at_ns)),
        ];
        times.sort_by_key(|(stage, at_ns)| (*at_ns, *stage));
        let stages = times
            .into_iter()
            .filter_map(|(stage, at_ns)| {
                let at_ns = at_ns?;
                let resolution_ns = idle.filter(|_| stage == Stage::Idle).map(|(_, resolution_ns)| resolution_ns);
                Some(StageTime {
                    stage,
                    at_ms: self.ms(at_ns),
                    resolution_ms: resolution_ns.map(|ns| ns as f64 / 1e6),
                    split: self.split(at_ns, method),
                })
            })
            .collect();
        let end = settled.or(idle.map(|(at_ns, _)| at_ns)).unwrap_or(self.end_ns);
        let mut run = LaunchRun {
            ending: self.ending.clone(),
            stages,
            settled_less_cpu_wait_ms: None,
            storage: self.storage(end),
            cold,
            threads_max: self.traced.as_ref().map(|traced| threads_max(&traced.events)),
            watch_cpu_percent: self.watch_cpu_percent(),
            outlier: false,
        };
        let last = if settled.is_some() { Stage::Settled } else { Stage::Idle };
        run.settled_less_cpu_wait_ms = run
            .split(last)
            .and_then(|split| split.time_ms(Cause::CpuWait))
            .and_then(|wait_ms| Some(run.at_ms(last)? - wait_ms));
        run
    }

    /// Result of an answer.
    #[must_use]
    pub fn latency_run(&self, method: SplitMethod) -> LatencyRun {
        let settled = self.settled_ns().unwrap_or(match self.ending {
            // The input caused no lasting change.
            Ending::Settled => self.begin_ns,
            _ => self.end_ns,
        });
        let first = self.repaints.iter().map(|repaint| repaint.at_ns).filter(|at_ns| *at_ns >= self.begin_ns).min();
        LatencyRun {
            ending: self.ending.clone(),
            first_change_ms: first.map(|at_ns| self.ms(at_ns)),
            latency_ms: self.ms(settled),
            split: self.split(settled, method),
            storage: self.storage(settled),
        }
    }

    /// Start of the tree's first program: from the kernel's events, otherwise as reported here.
    fn program_ns(&self) -> Option<u64> {
        let started = self.started_ns?;
        let exec = self.traced.as_ref().and_then(|traced| {
            traced.events.iter().find(|event| matches!(event.kind, Kind::Exec { .. })).map(|event| event.at_ns)
        });
        Some(exec.unwrap_or(started))
    }
}

/// The end of the app's last thread in the kernel's events; `None` when events are lost or the end is not among them.
fn last_death_ns(traced: &Traced, ended: Ended) -> Option<u64> {
    let deaths = traced.events.iter().filter(|event| matches!(event.kind, Kind::Died)).map(|event| event.at_ns);
    let last_ns = deaths.filter(|at_ns| *at_ns <= ended.at_ns).max()?;
    let is_the_end = traced.lost == 0 && ended.at_ns - last_ns <= ended.resolution_ns.max(DEATH_NOTICED_NS);
    is_the_end.then_some(last_ns)
}

/// Most threads alive at once, as far as visible in the events.
fn threads_max(events: &[Event]) -> u32 {
    let mut alive = std::collections::HashSet::new();
    let mut most = 0;
    for event in events {
        match event.kind {
            Kind::Died => {
                alive.remove(&event.tid);
            }
            // A request may complete after its thread ended.
            Kind::Completed { .. } => {}
            _ => {
                alive.insert(event.tid);
            }
        }
        most = most.max(alive.len());
    }
    u32::try_from(most).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::recorded::{FAULT, MS, SLEEP, at};

    /// Runs until 300 ms, reads until 500, waits for a processor until 550, runs until 800; its window appears at 400,
    /// it draws at 420 and 700.
    fn observation() -> Observation {
        let events = vec![
            at(2, Kind::Exec { name: b"app".to_vec() }),
            at(300, FAULT),
            at(500, Kind::Runnable),
            at(550, Kind::Running),
            at(800, SLEEP),
        ];
        let sample = |ms: u64, user_us| Sample { at_ns: ms * MS, user_us, ..Sample::default() };
        let paint = |ms: u64, hash| (0..200).map(move |tile| Repaint { at_ns: ms * MS, tile, hash });
        Observation {
            begin_ns: 0,
            end_ns: 1_400 * MS,
            ending: Ending::Settled,
            started_ns: Some(3 * MS),
            window_ns: Some(400 * MS),
            frame_ns: Some(420 * MS),
            ended: None,
            repaints: paint(420, 1).chain(paint(700, 2)).collect(),
            tiles: 1_000,
            samples: vec![sample(0, 0), sample(1_400, 500_000)],
            traced: Some(Arc::new(Traced { events, ..Traced::default() })),
            watch_cpu_ns: 7 * MS,
        }
    }

    #[test]
    fn a_launch_has_its_stages_in_order_of_time() {
        let run = observation().launch_run(SplitMethod::Bpf, None);
        let stages: Vec<_> = run.stages.iter().map(|time| (time.stage, time.at_ms)).collect();
        assert_eq!(
            stages,
            [
                (Stage::FirstProcess, 2.0),
                (Stage::FirstWindow, 400.0),
                (Stage::FirstFrame, 420.0),
                (Stage::Settled, 700.0),
                (Stage::Idle, 800.0)
            ]
        );
        let split = run.split(Stage::Settled).expect("a split");
        assert_eq!((split.time_ms(Cause::StorageRead), split.time_ms(Cause::CpuWait)), (Some(200.0), Some(50.0)));
        assert_eq!(run.settled_less_cpu_wait_ms, Some(650.0));
        assert_eq!((run.threads_max, run.watch_cpu_percent), (Some(1), 0.5));
    }

    #[test]
    fn the_parts_of_every_stage_add_up_to_its_time() {
        for method in [SplitMethod::Bpf, SplitMethod::Cgroup, SplitMethod::Paper] {
            for time in &observation().launch_run(method, None).stages {
                let split = time.split.as_ref().expect("a split");
                let sum: f64 = split.parts.iter().map(|part| part.time_ms).sum();
                assert!((sum - time.at_ms).abs() < 1e-6, "{method:?} {:?}: {sum} of {}", time.stage, time.at_ms);
            }
        }
    }

    #[test]
    fn a_launch_that_never_settled_has_no_settled_time() {
        for ending in [Ending::Animating, Ending::NoWindow, Ending::DisplayLost] {
            let run = Observation { ending, ..observation() }.launch_run(SplitMethod::Bpf, None);
            assert_eq!(run.at_ms(Stage::Settled), None);
        }
    }

    #[test]
    fn without_ebpf_the_split_is_coarse_and_the_stages_are_the_same() {
        let run = Observation { traced: None, ..observation() }.launch_run(SplitMethod::Cgroup, None);
        assert_eq!(run.at_ms(Stage::Settled), Some(700.0));
        assert_eq!(run.at_ms(Stage::FirstProcess), Some(3.0));
        assert_eq!((run.storage, run.threads_max, run.settled_less_cpu_wait_ms), (None, None, None));
    }

    /// The same without a screen and window, which the app has not.
    fn headless(events: Vec<Event>) -> Observation {
        let (ending, traced) = (Ending::Headless, Some(Arc::new(Traced { events, ..Traced::default() })));
        Observation { ending, window_ns: None, frame_ns: None, repaints: Vec::new(), tiles: 0, traced, ..observation() }
    }

    #[test]
    fn no_app_has_done_its_work_before_its_own_first_process() {
        let run = headless(vec![at(2, Kind::Exec { name: b"sh".to_vec() }), at(3, SLEEP)]);
        assert_eq!(run.launch_run(SplitMethod::Bpf, None).at_ms(Stage::Idle), Some(2.0));
        let coarse = Observation { traced: None, samples: Vec::new(), ..run };
        assert_eq!(coarse.launch_run(SplitMethod::Cgroup, None).at_ms(Stage::Idle), Some(3.0));
    }

    #[test]
    fn an_app_that_ended_has_done_its_work_then() {
        let ended = Some(Ended { at_ns: 1_302 * MS, resolution_ns: MS });
        let events = vec![at(2, Kind::Exec { name: b"sh".to_vec() }), at(300, SLEEP), at(1_301, Kind::Died)];
        let idle = |run: &Observation, method| {
            let run = run.launch_run(method, None);
            let time = run.stages.iter().find(|time| time.stage == Stage::Idle).expect("reached");
            (time.at_ms, time.resolution_ms)
        };
        let ending = Ending::Exited { code: Some(0), signal: None };
        let run = Observation { ending, ended, ..headless(events) };
        assert_eq!(idle(&run, SplitMethod::Bpf), (1_301.0, Some(0.001)));
        // Events are lost, or there are none: as it was noticed.
        let traced = run.traced.as_deref().map(|traced| Arc::new(Traced { lost: 1, ..traced.clone() }));
        assert_eq!(idle(&Observation { traced, ..run.clone() }, SplitMethod::Bpf), (1_302.0, Some(1.0)));
        assert_eq!(idle(&Observation { traced: None, ..run }, SplitMethod::Cgroup), (1_302.0, Some(1.0)));
        // It keeps running, and samples are all there is.
        let sample = |ms: u64, user_us| Sample { at_ns: ms * MS, user_us, ..Sample::default() };
        let samples = vec![sample(0, 0), sample(100, 90_000), sample(210, 180_000), sample(310, 180_100)];
        let run = Observation { traced: None, samples, ..headless(Vec::new()) };
        assert_eq!(idle(&run, SplitMethod::Cgroup), (210.0, Some(110.0)));
    }

    #[test]
    fn an_input_without_effect_takes_no_time() {
        let nothing = Observation { repaints: Vec::new(), window_ns: None, ..observation() };
        let run = nothing.latency_run(SplitMethod::Bpf);
        assert_eq!((run.first_change_ms, run.latency_ms), (None, 0.0));
        let answer = Observation { window_ns: None, ..observation() }.latency_run(SplitMethod::Bpf);
        assert_eq!((answer.first_change_ms, answer.latency_ms), (Some(420.0), 700.0));
    }
}
