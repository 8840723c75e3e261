//! The loop on a phone that is a model: it holds as many apps as it has room for, and ends the least recently used.

use std::collections::VecDeque;

use crate::results::EndedBy;

use super::*;
use crate::memory::day::{Choice, Synthetic, plan};

#[derive(Default)]
struct Model {
    /// Apps that run, the most recently used first.
    running: VecDeque<String>,
    room: usize,
    now: Duration,
    steps: Vec<String>,
    /// An app that cannot be launched.
    broken: Option<&'static str>,
    /// After so many steps the phone is gone.
    steps_max: Option<usize>,
    swapped_bytes: u64,
}

impl Model {
    fn step(&mut self, words: String) -> Result<(), &'static str> {
        self.steps.push(words);
        if self.steps_max.is_some_and(|most| self.steps.len() > most) { Err("the phone is gone") } else { Ok(()) }
    }
}

impl Visitor for Model {
    type Error = &'static str;

    fn clock(&self) -> Duration {
        self.now
    }

    fn paging(&mut self) -> Result<Paging, Self::Error> {
        Ok(Paging {
            swap_in_bytes: self.swapped_bytes,
            swap_out_bytes: 2 * self.swapped_bytes,
            refault_pages: Some(self.swapped_bytes / 1024),
            available_bytes: Some(self.room.saturating_sub(self.running.len()) as u64),
        })
    }

    fn go_to(&mut self, app: &str) -> Result<Arrival, Self::Error> {
        self.step(format!("go to {app}"))?;
        self.swapped_bytes += 4096;
        let flash = DayFlash { read_bytes: 100, written_bytes: 0, busy_ms: 1.0 };
        if self.broken == Some(app) {
            self.now += Duration::from_secs(2);
            return Ok(Arrival { outcome: Err("it shows no window".to_owned()), flash, ended: Vec::new() });
        }
        let state = match self.running.iter().position(|known| known == app) {
            Some(n) => {
                self.running.remove(n);
                if n > 1 { AppState::Swapped } else { AppState::Hot }
            }
            None => AppState::Killed,
        };
        self.running.push_front(app.to_owned());
        let ended = self.running.split_off(self.room.min(self.running.len()));
        let ended = ended.into_iter().map(|app| EndedApp { app, by: EndedBy::Kernel }).collect();
        let wait_ms = if state == AppState::Hot { 100.0 } else { 1_000.0 };
        self.now += Duration::from_secs_f64(wait_ms / 1e3);
        Ok(Arrival { outcome: Ok(Came { state, ending: Ending::Settled, wait_ms, split: None }), flash, ended })
    }

    fn dwell(&mut self, time: Duration) -> Result<Dwelt, Self::Error> {
        self.step(format!("dwell {} ms", time.as_millis()))?;
        self.now += time;
        let memory = |app: &String| DayMemory { app: app.clone(), census: crate::results::MemoryCensus::default() };
        Ok(Dwelt { memory: self.running.iter().map(memory).collect(), ..Dwelt::default() })
    }

    fn leave(&mut self, app: &str) -> Result<(), Self::Error> {
        self.step(format!("leave {app}"))
    }
}

/// A plan of these apps, a second each.
fn a_plan(apps: &[&str]) -> Plan {
    let visit = |(n, app): (usize, &&str)| PlannedVisit {
        trace_ms: 10_000 * n as u64,
        app: (*app).to_owned(),
        trace_dwell_ms: 10_000,
        dwell_ms: 1_000,
    };
    Plan {
        user: "u".to_owned(),
        apps: Vec::new(),
        visits: apps.iter().enumerate().map(visit).collect(),
        span_ms: 0,
        dropped_sessions: 0,
        dropped_apps: 0,
        lengthened: 0,
        shortened: 0,
        history: Vec::new(),
    }
}

fn replayed(apps: &[&str], model: &mut Model) -> Result<Vec<DaySwitch>, ReplayError<&'static str>> {
    replay(&a_plan(apps), model, &AtomicBool::new(false), &mut |_, _| ())
}

#[test]
fn each_visit_is_a_switch_a_dwell_and_a_leave_in_order() {
    let mut model = Model { room: 9, ..Model::default() };
    let switches = replayed(&["a", "b", "a"], &mut model).expect("replayed");
    let steps = ["go to a", "dwell 1000 ms", "leave a", "go to b", "dwell 1000 ms", "leave b", "go to a"];
    assert_eq!(model.steps[..7], steps);
    assert_eq!(switches.iter().map(|one| one.at_s).collect::<Vec<_>>(), [0.0, 2.0, 4.0]);
    assert!(switches.iter().all(|one| one.dwell_ms == 1_000.0 && one.waiting.read_bytes == 100));
    assert_eq!(switches.iter().map(|one| one.available_bytes).collect::<Vec<_>>(), [Some(9), Some(8), Some(7)]);
    assert!(switches.iter().all(|one| one.refault_pages == Some(4)));
    assert!(switches.iter().all(|one| (one.swap_in_bytes, one.swap_out_bytes) == (4096, 8192)));
    assert_eq!(switches[2].memory.iter().map(|one| one.app.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_first_launch_is_no_kill_and_a_launch_after_an_end_is() {
    let mut model = Model { room: 2, ..Model::default() };
    let switches = replayed(&["a", "b", "a", "c", "b", "b2", "b"], &mut model).expect("replayed");
    let states: Vec<DayState> = switches.iter().map(|one| one.state).collect();
    use DayState::{First, Hot, Killed};
    assert_eq!(states, [First, First, Hot, First, Killed, First, Hot]);
    assert_eq!(switches[3].ended, [EndedApp { app: "b".to_owned(), by: EndedBy::Kernel }]);
}

#[test]
fn an_app_that_cannot_be_launched_is_a_result_and_the_day_goes_on() {
    let mut model = Model { room: 9, broken: Some("b"), ..Model::default() };
    let switches = replayed(&["a", "b", "a", "b"], &mut model).expect("replayed");
    let failed: Vec<_> = switches.iter().filter(|one| one.state == DayState::Failed).collect();
    assert_eq!(failed.len(), 2);
    assert!(failed.iter().all(|one| one.wait_ms == 2_000.0 && one.failure.as_deref() == Some("it shows no window")));
    // What never ran is not killed once it can be launched.
    model.broken = None;
    assert_eq!(replayed(&["b"], &mut model).expect("replayed")[0].state, DayState::First);
}

#[test]
fn a_phone_that_is_gone_ends_the_replay_with_its_error() {
    let mut model = Model { room: 9, steps_max: Some(4), ..Model::default() };
    assert_eq!(replayed(&["a", "b", "a"], &mut model), Err(ReplayError::Visitor("the phone is gone")));
    assert_eq!(model.steps.len(), 5);
}

#[test]
fn a_stop_ends_the_replay_before_the_next_step() {
    let stop = AtomicBool::new(false);
    let mut model = Model { room: 9, ..Model::default() };
    let mut seen = Vec::new();
    let mut progress = |n: usize, visit: &PlannedVisit| {
        seen.push((n, visit.app.clone()));
        stop.store(n == 1, Ordering::Relaxed);
    };
    let outcome = replay(&a_plan(&["a", "b", "a"]), &mut model, &stop, &mut progress);
    assert_eq!(outcome, Err(ReplayError::Stopped));
    assert_eq!(model.steps.last().map(String::as_str), Some("go to b"));
    assert_eq!(seen, [(0, "a".to_owned()), (1, "b".to_owned())]);
}

#[test]
fn a_synthetic_day_keeps_more_apps_alive_with_more_room() {
    let trace = Synthetic { seed: 1, sessions: 400 }.trace();
    let choice = Choice {
        user: None,
        from_ms: 0,
        time_ms: None,
        visits_max: 200,
        phone_apps: ["a", "b", "c", "d", "e", "f"].map(str::to_owned).into(),
        fixed: Vec::new(),
        speed: 20.0,
        dwell_min_ms: 1_000,
        dwell_max_ms: 5_000,
    };
    let plan = plan(&trace, &choice).expect("a plan");
    let mut killed = [2, 4, 6].map(|room| {
        let mut model = Model { room, ..Model::default() };
        let switches = replay(&plan, &mut model, &AtomicBool::new(false), &mut |_, _| ()).expect("replayed");
        let kills: usize = switches.iter().map(|one| one.ended.len()).sum();
        let launches = switches.iter().filter(|one| one.state == DayState::Killed).count();
        // Each launch after an end has an end before it.
        assert!(launches <= kills, "{launches} {kills}");
        launches
    });
    killed.reverse();
    assert!(killed.is_sorted() && killed[0] == 0 && killed[2] > 50, "{killed:?}");
}
