//! The engine over time: made-up snapshots in, requests out.

use crate::kit::world::plain_app;
use brisk_core::app::{App, Tolerance};
use brisk_core::decision::{Objective, Observed, Request};
use brisk_core::device::Device;
use brisk_core::event::{Event, EventKind};
use brisk_core::snapshot::{DiskTotals, IoTotals, Snapshot};
use proptest::prelude::*;

use super::*;
use crate::smartstorage::model::tests::model;

const MS: u64 = 1_000_000;

/// A device at work, and the engine that samples it when it is due.
struct World {
    config: Config,
    state: State,
    look_ns: Option<u64>,
    device: Device,
    disk: DiskTotals,
    previous: Option<Snapshot>,
    now_ns: u64,
    launching: bool,
    notes: Vec<String>,
    /// When requests changed, and to what.
    changes: Vec<(u64, Vec<String>)>,
}

/// Work of a device: requests a second, and ms for each.
#[derive(Debug, Clone, Copy)]
struct Work {
    reads_per_s: f64,
    writes_per_s: f64,
    latency_ms: f64,
}

const READS: Work = Work { reads_per_s: 900.0, writes_per_s: 12.0, latency_ms: 0.2 };
const WRITES: Work = Work { reads_per_s: 8.0, writes_per_s: 1_100.0, latency_ms: 0.2 };
const NOTHING: Work = Work { reads_per_s: 0.0, writes_per_s: 0.0, latency_ms: 0.0 };
const STRANGE: Work = Work { reads_per_s: 30_000.0, writes_per_s: 30_000.0, latency_ms: 9.0 };

impl World {
    fn new(config: Config) -> Self {
        let device = Device {
            name: "mmcblk0".to_owned(),
            model: "TEST".to_owned(),
            kind: "emmc".to_owned(),
            schedulers: ["none", "mq-deadline", "bfq"].map(str::to_owned).to_vec(),
            originals: [("scheduler", "mq-deadline"), ("nr_requests", "256")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            ..Device::default()
        };
        Self {
            config,
            state: State::default(),
            look_ns: None,
            device,
            disk: DiskTotals { name: "mmcblk0".to_owned(), ..DiskTotals::default() },
            previous: None,
            now_ns: 1_000_000_000,
            launching: false,
            notes: Vec::new(),
            changes: vec![(0, Vec::new())],
        }
    }

    fn adaptive() -> Self {
        Self::new(Config { models: vec![model()], ..Config::default() })
    }

    /// Samples now, with the events since the last sample.
    fn sample(&mut self, events: &[EventKind]) -> Vec<Request> {
        let now = Snapshot { at_ns: self.now_ns, disks: vec![self.disk.clone()], ..Snapshot::default() };
        let events: Vec<Event> = events.iter().map(|kind| Event { at_ns: self.now_ns, kind: kind.clone() }).collect();
        let app = App { launching: true, ..plain_app("app-x.scope", "x", Tolerance::Interactive) };
        let apps = if self.launching { vec![app] } else { Vec::new() };
        let observed = Observed {
            previous: self.previous.as_ref(),
            now: &now,
            events: &events,
            devices: std::slice::from_ref(&self.device),
            apps: &apps,
        };
        let decide = || Smartstorage::decide(&self.config, self.state.clone(), &observed);
        let decision = decide();
        assert_eq!(decision, decide(), "same inputs, same decision");
        self.look_ns = decision.next_look_ns;
        let words: Vec<String> = decision.settings().map(|s| format!("{}={}", s.knob, s.value)).collect();
        self.state = decision.state;
        self.previous = Some(now);
        self.notes.extend(decision.notes.iter().map(ToString::to_string));
        if self.changes.last().is_none_or(|(_, last)| *last != words) {
            self.changes.push((self.now_ns, words));
        }
        decision.requests
    }

    /// Works for so long, with a sample whenever one is due. Gives what is requested at the end.
    fn work(&mut self, work: Work, ms: u64) -> Vec<String> {
        let until_ns = self.now_ns + ms * MS;
        while self.now_ns < until_ns {
            let at_ns = self.look_ns.unwrap_or(u64::MAX).clamp(self.now_ns + MS, until_ns);
            let seconds = (at_ns - self.now_ns) as f64 / 1e9;
            let add = |io: &mut IoTotals, per_s: f64| {
                let requests = (per_s * seconds).round() as u64;
                io.requests += requests;
                io.bytes += requests * 4096;
                io.time_ms += (requests as f64 * work.latency_ms) as u64;
            };
            add(&mut self.disk.read, work.reads_per_s);
            add(&mut self.disk.write, work.writes_per_s);
            let queue_ms = (work.reads_per_s + work.writes_per_s) * seconds * work.latency_ms;
            self.disk.queue_ms += queue_ms as u64;
            self.disk.busy_ms += queue_ms.min(seconds * 1e3) as u64;
            self.now_ns = at_ns;
            self.sample(&[]);
        }
        self.changes.last().map(|(_, words)| words.clone()).unwrap_or_default()
    }
}

const NONE: [&str; 1] = ["queue/mmcblk0/scheduler=none"];
const BFQ: [&str; 2] = ["queue/mmcblk0/scheduler=bfq", "queue/mmcblk0/nr_requests=4"];

#[test]
fn the_paper_s_minute_sets_the_nearest_benchmark_s_setting() {
    let mut world = World::new(Config { mode: Mode::Paper, ..Config::default() });
    world.sample(&[]);
    assert_eq!(world.work(READS, 59_000), Vec::<String>::new());
    // 900 to 12 is 75: AndroBench.
    assert_eq!(world.work(READS, 1_100), NONE);
    // Without I/O the setting stays.
    assert_eq!(world.work(NOTHING, 120_000), NONE);
    // 8 to 1100 is CF-Bench: CFQ/4.
    assert_eq!(world.work(WRITES, 120_000), BFQ);
    assert_eq!(world.changes.len(), 3);
}

#[test]
fn a_scheduler_that_is_not_there_is_noted() {
    let mut world = World::new(Config { mode: Mode::Paper, ..Config::default() });
    world.device.schedulers.retain(|name| name != "bfq");
    world.sample(&[]);
    assert_eq!(world.work(WRITES, 61_000), Vec::<String>::new());
    assert!(world.notes[0].starts_with("scheduler not offered"), "{:?}", world.notes);
}

#[test]
fn a_change_of_pattern_is_answered_within_two_seconds() {
    let mut world = World::adaptive();
    world.sample(&[]);
    // From rest, at any offset to the looks.
    for offset_ms in [0, 130, 400, 777, 999] {
        let mut world = World::adaptive();
        world.sample(&[]);
        world.work(NOTHING, 5_000 + offset_ms);
        let began_ns = world.now_ns;
        assert_eq!(world.work(READS, 3_000), NONE);
        assert!(world.changes[1].0 - began_ns < 2_000 * MS, "{offset_ms}: {:?}", world.changes);
    }
    // From another pattern.
    assert_eq!(world.work(READS, 20_130), NONE);
    let began_ns = world.now_ns;
    assert_eq!(world.work(WRITES, 3_000), BFQ);
    assert!(world.changes[2].0 - began_ns < 2_000 * MS, "{:?}", world.changes);
}

/// A model in which bfq, too, is dearer for one workload: then nothing is safe for all.
fn without_a_safe_setting() -> Model {
    let mut model = model();
    model.workloads[2].cells[2].request_uj_mean = 101.0;
    model
}

#[test]
fn an_unknown_pattern_gets_the_safe_setting() {
    let mut world = World::adaptive();
    world.sample(&[]);
    assert_eq!(world.work(STRANGE, 10_000), BFQ);
    let requests = world.sample(&[]);
    assert!(requests.iter().all(|request| request.reason.rule == "safe_for_all_known"), "{requests:?}");
}

#[test]
fn an_unknown_pattern_gets_no_request_where_no_setting_is_safe() {
    let mut world = World::new(Config { models: vec![without_a_safe_setting()], ..Config::default() });
    world.sample(&[]);
    assert_eq!(world.work(STRANGE, 10_000), Vec::<String>::new());
    assert!(world.notes[0].starts_with("unknown pattern"), "{:?}", world.notes);
    assert_eq!(world.work(READS, 10_000), NONE);
    assert_eq!(world.work(STRANGE, 10_000), Vec::<String>::new());
}

#[test]
fn rest_changes_nothing() {
    let mut world = World::adaptive();
    world.sample(&[]);
    assert_eq!(world.work(READS, 5_000), NONE);
    assert_eq!(world.work(NOTHING, 600_000), NONE);
}

#[test]
fn a_regressing_switch_is_rolled_back_and_remembered() {
    let mut world = World::adaptive();
    world.sample(&[]);
    world.work(READS, 2_000);
    assert_eq!(world.changes.last().map(|c| c.1.len()), Some(1), "{:?}", world.changes);
    // Under the new setting the same reads take twice as long.
    let slower = Work { latency_ms: 0.7, ..READS };
    assert_eq!(world.work(slower, 3_000), Vec::<String>::new());
    assert!(world.notes.iter().any(|note| note.starts_with("made things worse (device mmcblk0, setting none/128")));
    // For an hour it is not tried again; then it is.
    world.work(READS, 1_800_000);
    assert!(world.changes.iter().skip(3).all(|(_, words)| *words != NONE), "{:?}", world.changes);
    assert_eq!(world.work(READS, 1_900_000), NONE);
}

#[test]
fn a_pattern_that_changes_during_a_trial_is_no_verdict() {
    let mut world = World::adaptive();
    world.sample(&[]);
    world.work(READS, 2_000);
    world.work(Work { latency_ms: 5.0, ..WRITES }, 3_000);
    assert!(!world.notes.iter().any(|note| note.starts_with("made things worse")), "{:?}", world.notes);
}

#[test]
fn a_launch_asks_for_delay() {
    let mut world = World::adaptive();
    world.sample(&[]);
    world.work(READS, 10_000);
    world.launching = true;
    world.sample(&[EventKind::LaunchBegan { group: "app-x.scope".to_owned() }]);
    // Of the three settings bfq has the shortest reads.
    assert_eq!(world.work(READS, 5_000), BFQ);
    assert!(world.sample(&[]).iter().all(|request| request.objective == Objective::Delay));
    world.launching = false;
    world.work(READS, 60_000);
    assert!(world.sample(&[]).iter().all(|request| request.objective == Objective::Energy));
    assert_eq!(world.changes.last().map(|c| c.1.clone()).unwrap_or_default(), NONE);
}

#[test]
fn a_device_that_others_set_is_left_alone_until_the_configuration_is_read_again() {
    let mut world = World::adaptive();
    world.sample(&[]);
    world.work(READS, 5_000);
    let knob = "queue/mmcblk0/scheduler".parse().expect("a knob");
    world.sample(&[EventKind::ChangedExternally { knob, found: "kyber".to_owned() }]);
    assert_eq!(world.work(READS, 60_000), Vec::<String>::new());
    assert!(world.notes.iter().any(|note| note.starts_with("left to others")));
    world.sample(&[EventKind::Configured]);
    assert_eq!(world.work(READS, 5_000), NONE);
}

#[test]
fn a_refused_setting_is_not_requested_again() {
    let mut world = World::adaptive();
    world.sample(&[]);
    world.work(READS, 5_000);
    let knob = "queue/mmcblk0/scheduler".parse().expect("a knob");
    world.sample(&[EventKind::Refused { knob, why: "Device or resource busy".to_owned() }]);
    // The next best is bfq.
    assert_eq!(world.work(READS, 60_000), BFQ);
}

#[test]
fn without_a_profile_nothing_is_requested_and_one_note_says_so() {
    let mut world = World::new(Config::default());
    world.sample(&[]);
    assert_eq!(world.work(READS, 5_000), Vec::<String>::new());
    assert_eq!(world.notes, ["no profile (device mmcblk0)"]);
}

#[test]
fn a_suspend_voids_what_was_seen() {
    let mut world = World::new(Config { mode: Mode::Paper, ..Config::default() });
    world.sample(&[]);
    world.work(READS, 59_000);
    world.sample(&[EventKind::Resumed { gap_ms: 1_000_000 }]);
    assert_eq!(world.work(READS, 59_000), Vec::<String>::new());
    assert_eq!(world.work(READS, 2_000), NONE);
}

#[test]
fn state_survives_json() {
    let mut world = World::adaptive();
    world.sample(&[]);
    world.work(READS, 2_000);
    let value = serde_json::to_value(&world.state).expect("JSON");
    assert_eq!(serde_json::from_value::<State>(value).expect("the same"), world.state);
}

fn works() -> impl Strategy<Value = Vec<(Work, u64)>> {
    let work = prop_oneof![
        Just(READS),
        Just(WRITES),
        Just(NOTHING),
        Just(STRANGE),
        (0.0f64..3e3, 0.0f64..3e3, 0.01f64..20.0).prop_map(|(reads_per_s, writes_per_s, latency_ms)| Work {
            reads_per_s,
            writes_per_s,
            latency_ms
        }),
    ];
    prop::collection::vec((work, 100u64..20_000), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// With a dwell of 3 s that doubles, switches come at least 3, 6, 12, 24 s apart, and each may be rolled back once:
    /// no minute sees more than ten changes, whatever the storage does.
    #[test]
    fn it_never_flaps(works in works()) {
        let mut world = World::adaptive();
        world.sample(&[]);
        for (work, ms) in works {
            world.work(work, ms);
        }
        let times: Vec<u64> = world.changes.iter().skip(1).map(|(at, _)| *at).collect();
        for (index, at) in times.iter().enumerate() {
            let minute = times[index..].iter().filter(|other| **other - at < 60_000 * MS).count();
            prop_assert!(minute <= 10, "{} changes within a minute: {:?}", minute, times);
        }
        for pair in times.windows(2) {
            prop_assert!(pair[1] - pair[0] >= 1_500 * MS, "{:?}", times);
        }
    }

    #[test]
    fn only_what_the_device_offers_is_requested(works in works()) {
        let mut world = World::adaptive();
        world.device.schedulers.retain(|name| name != "none");
        world.sample(&[]);
        for (work, ms) in works {
            let requested = world.work(work, ms);
            prop_assert!(requested.iter().all(|request| !request.ends_with("scheduler=none")), "{:?}", requested);
        }
    }
}
