//! Damaged profiles, and profiles with impossible values: the daemon continues to decide, and reports a profile that it
//! cannot use. (Damaged configurations, records and journals are tested in the crates that read them.)

use std::collections::BTreeMap;

use brisk_core::app::{AppFacts, classify};
use brisk_core::device::Device;
use brisk_core::event::{Event, EventKind};
use brisk_core::snapshot::{DiskTotals, IoTotals, Snapshot};
use brisk_daemon::replay::{Replay, Replayed};
use brisk_engine::smartstorage::model::{Cell, MODEL_VERSION, Workload};
use brisk_engine::smartstorage::pattern::Pattern;
use brisk_engine::smartstorage::{Model, Setting};
use brisk_record::{Configuration, Item, Scene, Session};
use proptest::prelude::*;

const MODEL: &str = "SEM16G 07";

/// Invalid or extreme values in place of a number.
const NUMBERS: [&str; 9] = ["0", "-1", "1e308", "1e-308", "18446744073709551616", "null", "\"\"", "nan", ""];

/// A second of work each, with an app that is launched, on a device of which these files tell.
fn replayed(files: BTreeMap<String, String>) -> Replayed {
    let device = Device {
        name: "mmcblk0".to_owned(),
        model: MODEL.to_owned(),
        kind: "emmc".to_owned(),
        schedulers: ["none", "mq-deadline", "kyber", "bfq"].map(str::to_owned).into(),
        originals: vec![("scheduler".to_owned(), "none".to_owned()), ("nr_requests".to_owned(), "64".to_owned())],
        ..Device::default()
    };
    let facts = AppFacts { group: "app-x-1.scope".to_owned(), launching: true, of_user: true, ..AppFacts::default() };
    let mut replay = Replay::new(None);
    replay.take(Item::Session(Session::default()));
    replay.take(Item::Configuration(Configuration { files, ..Configuration::default() }));
    replay.take(Item::Scene(Scene { devices: vec![device], apps: vec![classify(&facts)], ..Scene::default() }));
    let group = "app-x-1.scope".to_owned();
    replay.take(Item::Event(Event { at_ns: 1, kind: EventKind::LaunchBegan { group } }));
    for second in 1..20u64 {
        let io = |per_s: u64| IoTotals { requests: second * per_s, bytes: second * per_s * 4096, time_ms: second * 40 };
        let disk = DiskTotals { name: "mmcblk0".to_owned(), read: io(200), write: io(400), ..DiskTotals::default() };
        let (at_ns, wall_unix_ms) = (second * 1_000_000_000, second * 1000);
        replay.take(Item::Snapshot(Box::new(Snapshot {
            at_ns,
            wall_unix_ms,
            disks: vec![disk],
            ..Snapshot::default()
        })));
    }
    replay.end()
}

/// Two workloads, of which one needs less energy under bfq.
fn storage_profile() -> String {
    let setting = Setting::new;
    let settings = [setting("none", 64), setting("bfq", 16)];
    let workload = |name: &str, reads_per_s, saves: f64| {
        let pattern = Pattern {
            reads_per_s,
            writes_per_s: 400.0,
            read_bytes_mean: 4096.0,
            write_bytes_mean: 4096.0,
            depth_requests_mean: 2.0,
            busy_share: 0.5,
            ..Pattern::default()
        };
        let cell = |(setting, uj): (&Setting, f64)| Cell {
            setting: setting.clone(),
            pattern,
            request_uj_mean: uj,
            read_us_mean: Some(900.0),
            write_us_mean: Some(2500.5),
            rounds: std::collections::BTreeMap::new(),
            high: None,
        };
        let cells = settings.iter().zip([150.0, 150.0 - saves]).map(cell).collect();
        Workload { name: name.to_owned(), cells }
    };
    let model = Model {
        version: MODEL_VERSION,
        device: MODEL.to_owned(),
        kind: "emmc".to_owned(),
        meter: "a test".to_owned(),
        own: settings[0].clone(),
        workloads: vec![workload("mixed", 200.0, 60.0), workload("reading", 5000.0, 0.0)],
    };
    serde_json::to_string(&model).expect("JSON")
}

fn io_profile() -> String {
    let profile =
        brisk_engine::smartio::Profile { model: MODEL.to_owned(), ..brisk_engine::smartio::Profile::default() };
    let waiting = "[waiting]\nscheduler = \"mq-deadline\"\nnr_requests = 8\npriorities = true\n\
                   [waiting.tunables]\nfifo_batch = \"1\"\nasync_depth = \"1\"\n";
    format!("model = {:?}\nis_default = {}\n{waiting}", profile.model, profile.is_default)
}

fn files(storage: String, io: String) -> BTreeMap<String, String> {
    BTreeMap::from([("smartstorage/x.json".to_owned(), storage), ("smartio/x.toml".to_owned(), io)])
}

/// The text with its `index`-th number replaced.
fn with_number(text: &str, index: prop::sample::Index, number: &str) -> String {
    let digit = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | 'e');
    let begins: Vec<usize> = text
        .char_indices()
        .filter(|(at, c)| c.is_ascii_digit() && !text[..*at].ends_with(|c: char| digit(c) || c.is_alphabetic()))
        .map(|(at, _)| at)
        .collect();
    let at = begins[index.index(begins.len())];
    let rest = text[at..].trim_start_matches(digit);
    format!("{}{number}{rest}", &text[..at])
}

/// The text with bytes replaced, and cut off.
fn damaged(text: &str, places: &[(prop::sample::Index, u8)], end: prop::sample::Index) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for (place, byte) in places {
        let at = place.index(bytes.len());
        bytes[at] = *byte;
    }
    bytes.truncate(end.index(bytes.len() * 2));
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn profiles_that_are_whole_are_used_without_complaint() {
    let found = replayed(files(storage_profile(), io_profile()));
    assert_eq!((found.rounds, found.complaints.len()), (19, 0), "{:?}", found.complaints);
    assert!(found.differing_rounds > 0, "the engines request nothing");
}

#[test]
fn of_profiles_that_are_noise_each_is_complained_about() {
    let found = replayed(files("\u{fffd}{".to_owned(), "\u{fffd}[".to_owned()));
    assert_eq!(found.rounds, 19);
    let complaints = found.complaints.join("\n");
    assert!(complaints.contains("smartstorage/x.json") && complaints.contains("smartio/x.toml"), "{complaints}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_number_in_a_profile_makes_the_daemon_panic(
        index in any::<prop::sample::Index>(),
        number in prop::sample::select(&NUMBERS[..]),
        in_io in prop::bool::weighted(0.2),
    ) {
        let (storage, io) = (storage_profile(), io_profile());
        let (storage, io) = match in_io {
            true => (storage, with_number(&io, index, number)),
            false => (with_number(&storage, index, number), io),
        };
        prop_assert_eq!(replayed(files(storage, io)).rounds, 19);
    }

    #[test]
    fn no_damage_to_a_profile_makes_the_daemon_panic(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        end in any::<prop::sample::Index>(),
    ) {
        let (storage, io) = (damaged(&storage_profile(), &places, end), damaged(&io_profile(), &places, end));
        prop_assert_eq!(replayed(files(storage, io)).rounds, 19);
    }
}
