use brisk_core::app::{AppFacts, classify};
use brisk_core::device::Device;
use brisk_core::outcome::Outcome;
use brisk_core::snapshot::{DiskTotals, IoTotals};
use brisk_record::{Decided, Session, Writer};
use proptest::prelude::*;

use super::*;
use crate::explain::Explainer;

const TEXT: &str = "[engines]\norder = []\n[fixed]\n\"queue/sda/read_ahead_kb\" = 256\n";

fn fixed(value: &str) -> Decided {
    let resolved = Resolved {
        what: Setting::new("queue/sda/read_ahead_kb".parse().expect("a knob"), value),
        engine: "config".to_owned(),
        rule: Rule::FixedChoice,
        reason: brisk_core::reason::Reason::rule("fixed_choice"),
        over: Vec::new(),
    };
    Decided {
        settings: vec![SettingState { resolved, original: None, since_unix_ms: 0, outcome: Outcome::Unchanged }],
        ..Decided::default()
    }
}

fn session() -> Vec<Item> {
    let snapshot = |second| {
        Item::Snapshot(Box::new(Snapshot { at_ns: second, wall_unix_ms: second * 1000, ..Snapshot::default() }))
    };
    let device = Device { name: "sda".to_owned(), ..Device::default() };
    vec![
        Item::Session(Session::default()),
        Item::Configuration(Configuration { text: TEXT.to_owned(), ..Configuration::default() }),
        Item::Scene(Scene { devices: vec![device], ..Scene::default() }),
        snapshot(1),
        Item::Decided(fixed("256")),
        snapshot(2),
        Item::Event(Event { at_ns: 3, kind: EventKind::Resumed { gap_ms: 9 } }),
        snapshot(3),
    ]
}

fn replayed(items: Vec<Item>, instead: Option<&str>) -> Replayed {
    let mut replay = Replay::new(instead.map(|text| Config::parse(text).expect("a configuration")));
    items.into_iter().for_each(|item| replay.take(item));
    replay.end()
}

#[test]
fn the_same_brisk_decides_the_same() {
    let found = replayed(session(), None);
    assert_eq!(found, Replayed { sessions: 1, rounds: 3, ..Replayed::default() });
}

#[test]
fn another_configuration_shows_where_it_differs() {
    let found = replayed(session(), Some("[engines]\norder = []\n[fixed]\n\"queue/sda/read_ahead_kb\" = 64\n"));
    assert_eq!((found.rounds, found.differing_rounds, found.differences.len()), (3, 3, 1));
    let difference = &found.differences[0];
    let value = |choice: &Option<Choice>| choice.as_ref().map(|choice| choice.value.clone());
    assert_eq!((difference.wall_unix_ms, difference.knob.as_str()), (1000, "queue/sda/read_ahead_kb"));
    assert_eq!((value(&difference.recorded), value(&difference.replayed)), (Some("256".into()), Some("64".into())));
    let nothing = replayed(session(), Some("[engines]\norder = []\n"));
    assert_eq!(nothing.differences[0].replayed, None);
}

#[test]
fn a_difference_that_ends_is_told() {
    let mut items = session();
    items.insert(6, Item::Decided(fixed("64")));
    let snapshot = Snapshot { at_ns: 9, wall_unix_ms: 9000, ..Snapshot::default() };
    items.push(Item::Snapshot(Box::new(snapshot)));
    items.push(Item::Decided(fixed("256")));
    let found = replayed(items, None);
    assert_eq!((found.rounds, found.differing_rounds), (4, 2));
    let times: Vec<u64> = found.differences.iter().map(|difference| difference.wall_unix_ms).collect();
    assert_eq!(times, [2000, 9000]);
}

#[test]
fn a_configuration_of_another_brisk_is_complained_about() {
    let mut items = session();
    items[1] = Item::Configuration(Configuration { text: "[turbo]\n".to_owned(), ..Configuration::default() });
    let found = replayed(items, None);
    assert_eq!(found.complaints.len(), 1);
    assert!(found.complaints[0].contains("unknown field `turbo`"), "{:?}", found.complaints);
}

/// A device that works, with apps that come and go, as items of a session with all engines.
fn busy_session() -> Vec<Item> {
    let device = Device {
        name: "sda".to_owned(),
        kind: "emmc".to_owned(),
        schedulers: ["none", "mq-deadline", "kyber", "bfq"].map(str::to_owned).into(),
        originals: vec![("scheduler".to_owned(), "none".to_owned()), ("nr_requests".to_owned(), "64".to_owned())],
        ..Device::default()
    };
    let scene = |launching| {
        let facts = AppFacts { group: "app-x-1.scope".to_owned(), launching, of_user: true, ..AppFacts::default() };
        Item::Scene(Scene { devices: vec![device.clone()], apps: vec![classify(&facts)], ..Scene::default() })
    };
    let mut items =
        vec![Item::Session(Session::default()), Item::Configuration(Configuration::default()), scene(false)];
    for second in 1..30u64 {
        let group = "app-x-1.scope".to_owned();
        match second {
            5 => {
                items.push(scene(true));
                items.push(Item::Event(Event { at_ns: second, kind: EventKind::LaunchBegan { group } }));
            }
            9 => {
                items.push(scene(false));
                items.push(Item::Event(Event { at_ns: second, kind: EventKind::LaunchEnded { group } }));
            }
            20 => items.push(Item::Event(Event { at_ns: second, kind: EventKind::Resumed { gap_ms: 7 } })),
            _ => {}
        }
        let io = |per_s: u64| IoTotals { requests: second * per_s, bytes: second * per_s * 4096, time_ms: second * 40 };
        let disk = DiskTotals { name: "sda".to_owned(), read: io(200), write: io(400), ..DiskTotals::default() };
        let (at_ns, wall_unix_ms) = (second * 1_000_000_000, second * 1000);
        let snapshot = Snapshot { at_ns, wall_unix_ms, disks: vec![disk], ..Snapshot::default() };
        items.push(Item::Snapshot(Box::new(snapshot)));
    }
    items
}

#[test]
fn a_launch_under_writes_makes_engines_request_settings() {
    let found = replayed(busy_session(), None);
    // Nothing is recorded as decided, so every request is a difference.
    assert!(found.differing_rounds > 0, "{found:?}");
    let engines = found.differences.iter().filter_map(|one| one.replayed.as_ref()).map(|choice| choice.engine.as_str());
    assert!(engines.clone().any(|engine| engine == "smartio"), "{found:?}");
}

/// Memory gets short, then shorter, while two apps are in the background and one is in front; as items of a session
/// with the memory engine. Nothing helps: memory is reclaimed while there is swap, and then one app ends.
fn short_of_memory() -> Vec<Item> {
    let text = "[engines]\norder = [\"iram\"]\n[iram]\nprotected_apps = 0\nlimits = false\n".to_owned();
    let app = |id: &str, focused| {
        classify(&AppFacts {
            group: format!("app-{id}-1.scope"),
            id: id.to_owned(),
            of_user: true,
            role: brisk_core::app::Role::App,
            focused: Some(focused),
            activity: brisk_core::app::Activity {
                audible: Some(false),
                inhibits: Some(false),
                ..brisk_core::app::Activity::default()
            },
            ..AppFacts::default()
        })
    };
    let apps = vec![app("editor", false), app("game", false), app("front", true)];
    let mib = |mib: u64| mib << 20;
    let mut items = vec![
        Item::Session(Session::default()),
        Item::Configuration(Configuration { text, ..Configuration::default() }),
        Item::Scene(Scene { apps: apps.clone(), ..Scene::default() }),
    ];
    for second in 1..16_u64 {
        let total = |(app, memory_mib): (&brisk_core::app::App, u64)| brisk_core::snapshot::AppTotals {
            name: app.group.clone(),
            memory_bytes: Some(mib(memory_mib)),
            ..Default::default()
        };
        let memory = brisk_core::snapshot::MemoryLevels {
            total_bytes: mib(1000),
            available_bytes: Some(mib(if second < 5 { 400 } else { 20 })),
            swap_total_bytes: mib(500),
            swap_free_bytes: mib(if second < 9 { 300 } else { 0 }),
            ..Default::default()
        };
        let (at_ns, wall_unix_ms) = (second * 1_000_000_000, second * 1000);
        let apps = apps.iter().zip([100, 200, 150]).map(total).collect();
        items.push(Item::Snapshot(Box::new(Snapshot { at_ns, wall_unix_ms, memory, apps, ..Snapshot::default() })));
    }
    items
}

#[test]
fn a_session_without_memory_has_the_same_actions_as_ever() {
    let found = replayed(short_of_memory(), None);
    // Nothing is recorded as decided, so that every action is a difference.
    let requested =
        |one: &Difference| (one.wall_unix_ms / 1000, one.replayed.as_ref().expect("replayed").value.clone());
    let actions: Vec<(u64, String)> = found.differences.iter().map(requested).collect();
    let expected = include_str!("short_of_memory.txt");
    let text: String = actions.iter().map(|(second, action)| format!("{second} {action}\n")).collect();
    assert_eq!(text, expected);
}

#[test]
fn actions_that_are_recorded_are_no_difference_and_others_are() {
    let items = short_of_memory();
    // As the daemon records them: after the snapshot, the decision where there is one.
    let mut engines = Engines::new(
        &Config::parse("[engines]\norder = [\"iram\"]\n[iram]\nprotected_apps = 0\nlimits = false\n").expect("usable"),
        &BTreeMap::new(),
    )
    .0;
    let config = Config::default();
    let mut recorded = Vec::new();
    let (mut apps, mut previous) = (Vec::new(), None);
    for item in items {
        recorded.push(item.clone());
        match item {
            Item::Scene(scene) => apps = scene.apps,
            Item::Snapshot(now) => {
                let observed =
                    Observed { previous: previous.as_ref(), now: &now, events: &[], devices: &[], apps: &apps };
                let round = engines.decide(&config, &observed, &[]);
                let state = |resolved| ActionState { resolved, outcome: Outcome::Done };
                let actions: Vec<ActionState> = round.resolution.actions.into_iter().map(state).collect();
                if !actions.is_empty() {
                    recorded.push(Item::Decided(Decided { actions, ..Decided::default() }));
                }
                previous = Some(*now);
            }
            _ => {}
        }
    }
    assert_eq!(replayed(recorded.clone(), None).differing_rounds, 0);
    let without = recorded.iter().position(|item| matches!(item, Item::Decided(_))).expect("something was decided");
    recorded.remove(without);
    let found = replayed(recorded, None);
    assert_eq!(found.differing_rounds, 1);
    assert!(found.differences.iter().all(|one| one.recorded.is_none() && one.replayed.is_some()), "{found:?}");
}

proptest! {
    #[test]
    fn no_order_of_items_makes_the_engines_panic(order in Just((0..37usize).collect::<Vec<_>>()).prop_shuffle()) {
        let items = busy_session();
        let shuffled = order.into_iter().filter_map(|index| items.get(index).cloned()).collect();
        let _ = replayed(shuffled, None);
    }

    #[test]
    fn no_damage_to_a_record_makes_a_reader_panic(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("daemon.brisk");
        let mut writer = Writer::begin(&path, Session::default(), None).expect("a record");
        for item in busy_session() {
            match item {
                Item::Configuration(configuration) => writer.configuration(&configuration).expect("written"),
                Item::Scene(scene) => writer.scene(&scene).expect("written"),
                Item::Event(event) => writer.event(&event).expect("written"),
                Item::Snapshot(snapshot) => writer.snapshot(&snapshot).expect("written"),
                _ => {}
            }
        }
        drop(writer);
        let mut bytes = std::fs::read(&path).expect("a file");
        for (place, byte) in places {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        std::fs::write(&path, bytes).expect("written");
        let (mut replay, mut explainer) = (Replay::new(None), Explainer::new(None));
        let _ = brisk_record::read_with_older_part(&path, |item| {
            replay.take(item.clone());
            explainer.take(item);
            Ok::<(), brisk_record::Error>(())
        });
        let _ = (replay.end(), explainer.end());
    }
}
