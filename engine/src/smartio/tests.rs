use crate::kit::world::plain_app;
use brisk_core::app::{App, Tolerance};
use brisk_core::decision::{Decision, Objective, Observed};
use brisk_core::device::Device;
use brisk_core::event::{Event, EventKind};
use brisk_core::knob::{GroupSetting, Knob, QueueSetting};
use brisk_core::snapshot::{AppTotals, DiskTotals, Snapshot, StallTotals};
use proptest::prelude::*;

use super::*;

mod evidence;

const MS: u64 = 1_000_000;

/// A machine with one device and some apps, whose totals grow as each test says.
#[derive(Clone)]
struct Machine {
    now: Snapshot,
    device: Device,
    apps: Vec<App>,
}

/// What happens in one interval.
#[derive(Debug, Clone, Copy)]
struct Step {
    elapsed_ms: u64,
    reads: u64,
    read_ms: u64,
    writes: u64,
    stall_percent: u64,
    launching: bool,
    /// What the app reads and writes, where that is counted.
    moved_kib: Option<(u64, u64)>,
    /// Levels at the end of the interval.
    in_flight_writes: u64,
    dirty_mib: u64,
}

const QUIET: Step = Step {
    elapsed_ms: 500,
    reads: 0,
    read_ms: 0,
    writes: 0,
    stall_percent: 0,
    launching: false,
    moved_kib: None,
    in_flight_writes: 0,
    dirty_mib: 0,
};
const READS: Step = Step { reads: 100, read_ms: 10, stall_percent: 60, ..QUIET };
const WRITES: Step = Step { writes: 100, ..QUIET };
const BOTH: Step = Step { writes: 100, ..READS };
const LAUNCH: Step = Step { launching: true, ..BOTH };

fn app(group: &str, tolerance: Tolerance) -> App {
    plain_app(group, group, tolerance)
}

fn machine(schedulers: &[&str]) -> Machine {
    let device = Device {
        name: "mmcblk0".to_owned(),
        model: "SEM16G".to_owned(),
        kind: "emmc".to_owned(),
        schedulers: schedulers.iter().map(|&name| name.to_owned()).collect(),
        originals: vec![("scheduler".to_owned(), "mq-deadline".to_owned())],
        ..Device::default()
    };
    let front = "app-front.scope";
    let now = Snapshot {
        at_ns: 1_000 * MS,
        disks: vec![DiskTotals { name: device.name.clone(), ..DiskTotals::default() }],
        apps: vec![AppTotals {
            name: front.to_owned(),
            io_pressure: Some(StallTotals::default()),
            ..AppTotals::default()
        }],
        ..Snapshot::default()
    };
    let apps = vec![
        app(front, Tolerance::Interactive),
        app("backup.service", Tolerance::Background),
        app("index.service", Tolerance::Batch),
        app("dbus.service", Tolerance::System),
    ];
    Machine { now, device, apps }
}

impl Machine {
    fn step(&mut self, config: &Config, state: &State, step: Step, events: &[Event]) -> Decision<State> {
        let previous = self.now.clone();
        self.now.at_ns += step.elapsed_ms * MS;
        let disk = &mut self.now.disks[0];
        disk.read.requests += step.reads;
        disk.read.bytes += step.reads * 16_384;
        disk.read.time_ms += step.reads * step.read_ms;
        disk.write.requests += step.writes;
        disk.write.bytes += step.writes * 65_536;
        disk.in_flight_write_requests = Some(step.in_flight_writes);
        self.now.memory.dirty_bytes = step.dirty_mib << 20;
        let front = &mut self.now.apps[0];
        if let Some(stall) = &mut front.io_pressure {
            stall.some_us += step.elapsed_ms * 10 * step.stall_percent;
        }
        let sum = |before: Option<u64>, of: fn((u64, u64)) -> u64| {
            step.moved_kib.map(|moved| before.unwrap_or(0) + (of(moved) << 10))
        };
        front.read_bytes = sum(front.read_bytes, |(read, _)| read);
        front.write_bytes = sum(front.write_bytes, |(_, written)| written);
        self.apps[0].launching = step.launching;
        let (devices, apps) = (std::slice::from_ref(&self.device), self.apps.as_slice());
        Smartio::decide(
            config,
            state.clone(),
            &Observed { previous: Some(&previous), now: &self.now, events, devices, apps },
        )
    }

    /// Runs all steps; the decision after the last.
    fn run(&mut self, config: &Config, steps: &[Step]) -> Decision<State> {
        let (first, rest) = steps.split_first().expect("a step");
        let first = self.step(config, &State::default(), *first, &[]);
        rest.iter().fold(first, |last, step| self.step(config, &last.state, *step, &[]))
    }
}

const ALL: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

fn texts(decision: &Decision<State>) -> Vec<(String, String)> {
    decision.settings().map(|setting| (setting.knob.to_string(), setting.value.clone())).collect()
}

fn rules(decision: &Decision<State>) -> Vec<&str> {
    let mut rules: Vec<&str> = decision.requests.iter().map(|request| request.reason.rule.as_ref()).collect();
    rules.dedup();
    rules
}

#[test]
fn a_launch_with_writes_gets_all_settings_and_priorities() {
    let decision = machine(&ALL).run(&Config::default(), &[WRITES, LAUNCH]);
    let expected = [
        ("queue/mmcblk0/scheduler", "mq-deadline"),
        ("queue/mmcblk0/mq-deadline/async_depth", "1"),
        ("queue/mmcblk0/mq-deadline/fifo_batch", "1"),
        ("queue/mmcblk0/mq-deadline/prio_aging_expire", "100"),
        ("queue/mmcblk0/mq-deadline/writes_starved", "16"),
        ("io_priority/app-front.scope", "best-effort 0"),
        ("io_priority/backup.service", "best-effort 7"),
        ("io_priority/index.service", "idle"),
    ];
    let expected: Vec<_> = expected.map(|(knob, value)| (knob.to_owned(), value.to_owned())).into();
    assert_eq!(texts(&decision), expected);
    assert!(decision.requests.iter().all(|request| request.objective == Objective::Delay));
    let reason = decision.requests[0].reason.to_string();
    assert_eq!(reason, "launch with writes (writes_per_s 200, app app-front.scope, profile default for emmc)");
}

#[test]
fn groups_with_the_io_controller_get_class_and_weight_of_their_own() {
    let mut machine = machine(&ALL);
    machine.apps.iter_mut().for_each(|app| app.offers = GroupSetting::ALL.into());
    let config = Config { background_priority: "best-effort 7".to_owned(), ..Config::default() };
    let mut decision = machine.run(&config, &[WRITES, LAUNCH]);
    let of_groups = |decision: &Decision<State>| -> Vec<_> {
        texts(decision).into_iter().filter(|(knob, _)| !knob.starts_with("queue/")).collect()
    };
    let weights = |group: &str, weight: &str, of_bfq: &str| {
        [(format!("io.weight/{group}"), weight.to_owned()), (format!("io.bfq.weight/{group}"), of_bfq.to_owned())]
    };
    let of = |knob: &str, value: &str| vec![(knob.to_owned(), value.to_owned())];
    let lowered = [
        of("io_priority/backup.service", "best-effort 7"),
        weights("backup.service", "10", "10").into(),
        of("io.prio.class/index.service", "idle"),
        weights("index.service", "10", "10").into(),
    ];
    // The file knows no level of best effort.
    let raised =
        [of("io_priority/app-front.scope", "best-effort 0"), weights("app-front.scope", "1000", "1000").into()];
    assert_eq!(of_groups(&decision), [raised.concat(), lowered.concat()].concat());
    // Where the kernel refuses it, and for levels that it does not know, threads get the priority.
    let refused =
        EventKind::Refused { knob: "io.prio.class/index.service".parse().expect("a knob"), why: String::new() };
    let at_ns = machine.now.at_ns;
    decision = machine.step(&config, &decision.state, LAUNCH, &[Event { at_ns, kind: refused }]);
    assert!(of_groups(&decision).contains(&("io_priority/index.service".to_owned(), "idle".to_owned())));
    let config = Config { launching_priority: "realtime 0".to_owned(), launching_weight: 0, ..Config::default() };
    decision = machine.step(&config, &State::default(), LAUNCH, &[]);
    assert_eq!(of_groups(&decision)[..1], [("io_priority/app-front.scope".to_owned(), "realtime 0".to_owned())]);
    assert!(!of_groups(&decision).iter().any(|(knob, _)| knob == "io.weight/app-front.scope"));
}

#[test]
fn each_rule_holds_where_it_should_and_nowhere_else() {
    let config = Config::default();
    let slow_enough = Step { read_ms: 1, ..BOTH };
    for (what, steps, expected) in [
        ("nothing", vec![QUIET], vec![]),
        ("reads alone", vec![READS], vec![]),
        ("writes alone", vec![WRITES], vec![]),
        ("reads with writes", vec![BOTH], vec!["reads_with_writes", "foreground_waits", "foreground_waits_elsewhere"]),
        ("reads that are fast enough", vec![slow_enough], vec![]),
        ("no app stalls", vec![Step { stall_percent: 5, ..BOTH }], vec![]),
        ("a launch alone", vec![Step { launching: true, ..READS }], vec![]),
        (
            "it works, and reads are fast for that",
            vec![BOTH, Step { stall_percent: 2, ..slow_enough }],
            vec!["reads_with_writes", "foreground_waits", "foreground_waits_elsewhere"],
        ),
        ("half a second later", vec![BOTH, WRITES], vec!["hold_off", "foreground_waits", "foreground_waits_elsewhere"]),
        (
            "long after",
            vec![BOTH, WRITES, WRITES, WRITES, WRITES, WRITES, WRITES, WRITES],
            vec![
                // The priority of others outlives the last of those who waited by the same time.
                "foreground_waits_elsewhere",
            ],
        ),
    ] {
        assert_eq!(rules(&machine(&ALL).run(&config, &steps)), expected, "{what}");
    }
    let unboosted = Config { boost_launches: false, ..config.clone() };
    assert_eq!(rules(&machine(&ALL).run(&unboosted, &[Step { stall_percent: 0, ..LAUNCH }])), ["launch_with_writes"]);
    let tolerant = Config { read_delay_aim_ms: 20.0, ..config };
    assert_eq!(rules(&machine(&ALL).run(&tolerant, &[BOTH])), [""; 0]);
}

#[test]
fn nothing_is_requested_without_a_foreground_request() {
    let mut machine = machine(&ALL);
    machine.apps[0].tolerance = Tolerance::Streaming;
    assert_eq!(texts(&machine.run(&Config::default(), &[BOTH, WRITES, READS, BOTH])), []);
}

#[test]
fn a_measured_profile_goes_before_the_default() {
    let waiting = QueueSettings {
        scheduler: Some("kyber".to_owned()),
        nr_requests: Some(4),
        wbt_lat_usec: Some(0),
        ..QueueSettings::default()
    };
    let max_sectors_kb = Some(128);
    let profile = Profile { model: "SEM16G".to_owned(), max_sectors_kb, waiting, ..Profile::default() };
    let mut config = Config::default();
    config.profiles.insert("SEM16G".to_owned(), profile);
    let decision = machine(&ALL).run(&config, &[LAUNCH]);
    let queue: Vec<_> = texts(&decision).into_iter().filter(|(knob, _)| knob.starts_with("queue")).collect();
    let expected = [("max_sectors_kb", "128"), ("scheduler", "kyber"), ("nr_requests", "4"), ("wbt_lat_usec", "0")];
    assert_eq!(queue, expected.map(|(name, value)| (format!("queue/mmcblk0/{name}"), value.to_owned())));
    assert!(decision.requests[1].reason.to_string().ends_with("profile measured on SEM16G)"));
    // A change of the largest request stops the queue, so it does not come and go with the foreground's waits.
    let calm = texts(&machine(&ALL).run(&config, &[WRITES]));
    assert_eq!(calm, [("queue/mmcblk0/max_sectors_kb".to_owned(), "128".to_owned())]);
    // Not the driver's tags.
    if let Some(profile) = config.profiles.get_mut("SEM16G") {
        profile.waiting.scheduler = Some("none".to_owned());
    }
    let decision = machine(&ALL).run(&config, &[LAUNCH]);
    assert!(!texts(&decision).iter().any(|(knob, _)| knob.ends_with("nr_requests")), "{:?}", texts(&decision));
}

#[test]
fn writes_wait_no_longer_than_the_configuration_allows() {
    let config = Config { writes_wait_max_ms: 40, ..Config::default() };
    let decision = machine(&ALL).run(&config, &[LAUNCH]);
    let aging = texts(&decision).into_iter().find(|(knob, _)| knob.ends_with("prio_aging_expire"));
    assert_eq!(aging.map(|(_, value)| value).as_deref(), Some("40"));
}

#[test]
fn the_kernel_s_own_scheduler_is_all_that_is_requested_for_where_it_is() {
    let mut machine = machine(&["none", "smartio", "mq-deadline"]);
    let queue = |decision: &Decision<State>| {
        let queue = decision.requests.iter().filter_map(|request| Some((request.setting()?, request.objective)));
        let queue = queue.filter(|(setting, _)| setting.knob.device().is_some());
        queue
            .map(|(setting, objective)| (setting.knob.to_string(), setting.value.clone(), objective))
            .collect::<Vec<_>>()
    };
    let all = |values: &[(&str, &str)], objective: Objective| -> Vec<_> {
        let of = |(name, value): &(&str, &str)| (format!("queue/mmcblk0/{name}"), (*value).to_owned(), objective);
        values.iter().map(of).collect()
    };
    let with = |slice_ms, share_percent| {
        [("scheduler", "smartio"), ("smartio/slice_ms", slice_ms), ("smartio/write_share_percent", share_percent)]
    };
    let calm = machine.run(&Config::default(), &[QUIET]);
    assert_eq!(queue(&calm), all(&with("100", "77"), Objective::Energy));
    let waiting = machine.run(&Config::default(), &[LAUNCH]);
    assert_eq!(queue(&waiting), all(&with("100", "10"), Objective::Delay));
    let paper = machine.run(&Config { mode: Mode::Paper, ..Config::default() }, &[QUIET]);
    assert_eq!(queue(&paper), all(&with("100", "10"), Objective::Delay));
    let config = Config { writes_wait_max_ms: 50, ..Config::default() };
    assert_eq!(queue(&machine.run(&config, &[QUIET])), all(&with("50", "77"), Objective::Energy));
    assert!(paper.notes.is_empty());
}

#[test]
fn on_a_device_of_a_kind_that_was_not_measured_the_kernel_s_scheduler_is_not_used() {
    let mut machine = machine(&["none", "smartio", "mq-deadline"]);
    machine.device.kind = "nvme".to_owned();
    for mode in [Mode::Adaptive, Mode::Paper] {
        let decision = machine.run(&Config { mode, ..Config::default() }, &[LAUNCH]);
        let chosen: Vec<String> = texts(&decision).into_iter().map(|(_, value)| value).collect();
        assert_eq!(chosen[0], "mq-deadline", "{mode:?}");
        assert!(decision.notes[0].to_string().contains("kind nvme"), "{:?}", decision.notes);
    }
}

#[test]
fn the_paper_s_parameters_stand_all_the_time_and_what_lacks_is_said() {
    let config = Config { mode: Mode::Paper, ..Config::default() };
    let decision = machine(&ALL).run(&config, &[QUIET]);
    let values: Vec<_> = texts(&decision).into_iter().map(|(_, value)| value).collect();
    assert_eq!(values, ["mq-deadline", "8", "2", "100", "534"]);
    assert!(decision.notes[0].to_string().contains("levels within a class"), "{:?}", decision.notes);
    let without = machine(&["none", "bfq"]).run(&config, &[QUIET]);
    assert_eq!(texts(&without), []);
    assert!(without.notes[0].to_string().contains("mq-deadline, which stands in"), "{:?}", without.notes);
}

#[test]
fn what_the_kernel_refused_is_not_requested_again_until_configured() {
    let (config, mut machine) = (Config::default(), machine(&ALL));
    let at_ns = machine.now.at_ns;
    let knob = "queue/mmcblk0/mq-deadline/async_depth".to_owned();
    let refused =
        Event { at_ns, kind: EventKind::Refused { knob: knob.parse().expect("a knob"), why: "gone".to_owned() } };
    let decision = machine.step(&config, &State::default(), LAUNCH, &[refused]);
    assert!(!texts(&decision).iter().any(|(requested, _)| *requested == knob));
    let again = machine.step(&config, &decision.state, LAUNCH, &[]);
    assert_eq!(texts(&again), texts(&decision));
    let configured = Event { at_ns, kind: EventKind::Configured };
    let anew = machine.step(&config, &decision.state, LAUNCH, &[configured]);
    assert!(texts(&anew).iter().any(|(requested, _)| *requested == knob));
}

#[test]
fn what_was_refused_for_a_group_that_is_gone_is_not_kept() {
    let (config, mut machine) = (Config::default(), machine(&ALL));
    let knobs =
        [Knob::IoPriority { group: "7/gone.scope".to_owned() }, Knob::queue("mmcblk0", QueueSetting::Scheduler)];
    let refused = |knob: &Knob| EventKind::Refused { knob: knob.clone(), why: "gone".to_owned() };
    let events: Vec<Event> = knobs.iter().map(|knob| Event { at_ns: machine.now.at_ns, kind: refused(knob) }).collect();
    let kept = machine.step(&config, &State::default(), LAUNCH, &events).state.refused;
    assert_eq!(kept.into_iter().collect::<Vec<_>>(), [knobs[1].clone()], "users make groups without end");
}

#[test]
fn writes_that_stand_still_end_it() {
    let (config, mut machine) = (Config::default(), machine(&ALL));
    let starved = Step { writes: 0, ..LAUNCH };
    let decision = machine.run(&config, &[LAUNCH, starved, starved, starved, starved, starved, starved]);
    assert!(!texts(&decision).iter().any(|(knob, _)| knob.starts_with("queue")), "{:?}", texts(&decision));
}

#[test]
fn what_was_counted_across_a_suspend_is_void() {
    let (config, mut machine) = (Config::default(), machine(&ALL));
    let resumed = Event { at_ns: machine.now.at_ns, kind: EventKind::Resumed { gap_ms: 60_000 } };
    assert_eq!(texts(&machine.step(&config, &State::default(), BOTH, &[resumed])), []);
}

fn any_step() -> impl Strategy<Value = Step> {
    let of_device = (1u64..4_000, 0u64..300, 0u64..40, 0u64..300, 0u64..4);
    let of_app = (0u64..=100, any::<bool>(), prop::option::of((0u64..3, 0u64..100)), 0u64..64);
    (of_device, of_app).prop_map(
        |((elapsed_ms, reads, read_ms, writes, in_flight_writes), (stall_percent, launching, moved_kib, dirty_mib))| {
            Step {
                elapsed_ms,
                // Half of the time nothing, so that needs come and go.
                reads: reads.saturating_sub(150),
                read_ms,
                writes: writes.saturating_sub(150),
                stall_percent,
                launching: launching && stall_percent > 50,
                moved_kib,
                in_flight_writes,
                dirty_mib,
            }
        },
    )
}

proptest! {
    #[test]
    fn no_knob_changes_faster_than_the_dwell(
        steps in prop::collection::vec(any_step(), 1..60),
        (dwell_ms, hold_ms) in (0u64..5_000, 0u64..5_000),
    ) {
        let config = Config { dwell_ms, hold_ms, ..Config::default() };
        let (mut machine, mut state) = (machine(&ALL), State::default());
        let mut values: BTreeMap<String, (Option<String>, u64)> = BTreeMap::new();
        for step in steps {
            let decision = machine.step(&config, &state, step, &[]);
            let now_ns = machine.now.at_ns;
            let requested: BTreeMap<String, String> = texts(&decision).into_iter().collect();
            prop_assert_eq!(requested.len(), decision.requests.len());
            for knob in values.keys().chain(requested.keys()).cloned().collect::<BTreeSet<_>>() {
                let value = requested.get(&knob).cloned();
                let last = values.get(&knob).cloned();
                match last {
                    Some((before, _)) if before == value => {}
                    Some((before, changed_ns)) => {
                        prop_assert!(
                            now_ns - changed_ns >= dwell_ms * MS,
                            "{} from {:?} to {:?} after {} ms", knob, before, value, (now_ns - changed_ns) / MS
                        );
                        values.insert(knob, (value, now_ns));
                    }
                    None => drop(values.insert(knob, (value, now_ns))),
                }
            }
            let look_ns = decision.next_look_ns.expect("it always has a next sample");
            prop_assert!(look_ns > now_ns);
            state = decision.state;
        }
    }

    #[test]
    fn the_same_inputs_give_the_same_decision(
        steps in prop::collection::vec(any_step(), 1..30),
        paper in any::<bool>(),
    ) {
        let config = Config { mode: if paper { Mode::Paper } else { Mode::Adaptive }, ..Config::default() };
        prop_assert_eq!(machine(&ALL).run(&config, &steps), machine(&ALL).run(&config, &steps));
    }

    #[test]
    fn no_scheduler_is_requested_that_the_device_lacks(
        steps in prop::collection::vec(any_step(), 1..20),
        has in prop::collection::vec(any::<bool>(), 5),
        wanted in 0usize..6,
        paper in any::<bool>(),
    ) {
        let names = ["none", "mq-deadline", "kyber", "bfq", "smartio", "adios"];
        let has = names.into_iter().zip(&has).filter(|(_, has)| **has);
        let schedulers: Vec<&str> = has.map(|(name, _)| name).collect();
        let mut config = Config { mode: if paper { Mode::Paper } else { Mode::Adaptive }, ..Config::default() };
        let waiting = QueueSettings {
            scheduler: Some(names[wanted].to_owned()),
            tunables: BTreeMap::from([("x".to_owned(), "1".to_owned())]),
            ..QueueSettings::default()
        };
        let profile = Profile { waiting: waiting.clone(), calm: waiting, ..Profile::default() };
        config.profiles.insert("SEM16G".to_owned(), profile);
        let (mut machine, mut state) = (machine(&schedulers), State::default());
        for step in steps {
            let decision = machine.step(&config, &state, step, &[]);
            let mut chosen = None;
            for setting in decision.settings() {
                match &setting.knob {
                    Knob::Queue { setting: QueueSetting::Scheduler, .. } => chosen = Some(setting.value.clone()),
                    Knob::Queue { setting: QueueSetting::Tunable { scheduler, .. }, .. } => {
                        prop_assert_eq!(Some(scheduler), chosen.as_ref());
                    }
                    _ => {}
                }
            }
            prop_assert!(chosen.is_none_or(|name| schedulers.contains(&name.as_str())));
            state = decision.state;
        }
    }

    #[test]
    fn a_state_is_read_back(steps in prop::collection::vec(any_step(), 1..20)) {
        let state = machine(&ALL).run(&Config::default(), &steps).state;
        let text = toml::to_string(&state).expect("TOML");
        prop_assert_eq!(toml::from_str::<State>(&text).expect("the same"), state);
    }
}

#[test]
fn a_configuration_names_what_it_does_not_know() {
    assert_eq!(toml::from_str::<Config>("").expect("all defaults"), Config::default());
    let error = toml::from_str::<Config>("dwel_ms = 3").expect_err("unknown").to_string();
    assert!(error.contains("dwel_ms"), "{error}");
    let text = toml::to_string(&Config::default()).expect("TOML");
    assert_eq!(toml::from_str::<Config>(&text).expect("the same"), Config::default());
}
