//! What the daemon records in addition to samples: events, what is there, and what was decided.

use std::fs;
use std::path::Path;

use brisk_core::action::{Once, Setting};
use brisk_core::app::{AppFacts, classify};
use brisk_core::arbiter::{Overruled, Resolved, Rule};
use brisk_core::decision::Note;
use brisk_core::device::Device;
use brisk_core::event::{Event, EventKind};
use brisk_core::knob::{Knob, QueueSetting};
use brisk_core::outcome::{Outcome, Outcomes};
use brisk_core::reason::Reason;
use brisk_core::snapshot::Snapshot;
use brisk_core::state::{ActionState, SettingState};
use brisk_record::{Configuration, Decided, Item, Reader, Scene, Session, Writer, older_part};
use proptest::prelude::*;

fn event(second: u64) -> Event {
    Event { at_ns: second * 1_000_000_000, kind: EventKind::LaunchBegan { group: format!("app-x-{second}.scope") } }
}

fn configuration() -> Configuration {
    let files = [("smartio/HBG4a2.toml".to_owned(), "is_default = false\n".to_owned())];
    Configuration { text: "[daemon]\n".to_owned(), files: files.into() }
}

fn scene() -> Scene {
    let device = Device {
        name: "mmcblk0".to_owned(),
        model: "HBG4a2 7".to_owned(),
        originals: vec![("scheduler".to_owned(), "bfq".to_owned())],
        ..Device::default()
    };
    let facts = AppFacts { group: "app-x-1.scope".to_owned(), of_user: true, ..AppFacts::default() };
    Scene { devices: vec![device], apps: vec![classify(&facts)], ..Scene::default() }
}

fn decided(value: &str, share: f64) -> Decided {
    let knob = Knob::queue("mmcblk0", QueueSetting::tunable("mq-deadline", "fifo_batch"));
    let resolved = Resolved {
        what: Setting::new(knob.clone(), value),
        engine: "smartio".to_owned(),
        rule: Rule::OnlyRequest,
        reason: Reason::rule("reads_wait").number("share_percent", share),
        over: vec![Overruled { engine: "smartstorage".to_owned(), value: "16".to_owned() }],
    };
    let outcome = Outcome::Written { from: "16".to_owned(), to: value.to_owned() };
    let state = SettingState {
        resolved,
        original: Some("16".to_owned()),
        since_unix_ms: 1_700_000_000_000,
        outcome: outcome.clone(),
    };
    let once = Once::Reclaim { group: "app-x-1.scope".to_owned(), size_bytes: 1 << 20 };
    let resolved = Resolved {
        what: once,
        engine: "iram".to_owned(),
        rule: Rule::OnlyRequest,
        reason: Reason::rule("low_memory"),
        over: Vec::new(),
    };
    Decided {
        at_ns: 7,
        wall_unix_ms: 1_700_000_000_007,
        settings: vec![state],
        outcomes: Outcomes::from([(knob, outcome)]),
        actions: vec![ActionState { resolved, outcome: Outcome::Done }],
        notes: vec![Note { engine: "smartio".to_owned(), reason: Reason::rule("warming_up") }],
    }
}

fn read(path: &Path) -> Vec<Item> {
    let mut reader = Reader::open(path).expect("a record");
    let items = reader.by_ref().collect::<Result<_, _>>().expect("readable");
    assert_eq!(reader.lost(), brisk_record::Lost::default());
    items
}

#[test]
fn a_round_comes_back_in_its_order() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("daemon.brisk");
    let mut writer = Writer::begin(&path, Session::default(), None).expect("a record");
    let snapshot = Snapshot { at_ns: 5, ..Snapshot::default() };
    writer.configuration(&configuration()).expect("written");
    writer.scene(&scene()).expect("written");
    writer.event(&event(3)).expect("written");
    writer.snapshot(&snapshot).expect("written");
    writer.decided(&decided("1", 12.5)).expect("written");
    let expected = [
        Item::Session(Session::default()),
        Item::Configuration(configuration()),
        Item::Scene(scene()),
        Item::Event(event(3)),
        Item::Snapshot(Box::new(snapshot)),
        Item::Decided(decided("1", 12.5)),
    ];
    assert_eq!(read(&path), expected);
}

#[test]
fn each_file_of_a_long_session_says_what_holds() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("daemon.brisk");
    let limit_bytes = 64 << 10;
    let mut writer = Writer::begin(&path, Session::default(), Some(limit_bytes)).expect("a record");
    writer.configuration(&configuration()).expect("written");
    writer.scene(&scene()).expect("written");
    writer.decided(&decided("4", 1.0)).expect("written");
    for second in 0..4000 {
        writer.event(&event(second)).expect("written");
        writer.snapshot(&Snapshot { at_ns: second, ..Snapshot::default() }).expect("written");
    }
    for file in [&path, &older_part(&path)] {
        let items = read(file);
        assert!(matches!(&items[0], Item::Session(session) if session.part > 0), "{:?}", items[0]);
        let holding = [Item::Configuration(configuration()), Item::Scene(scene()), Item::Decided(decided("4", 1.0))];
        assert_eq!(items[1..4], holding);
        assert!(fs::metadata(file).expect("a file").len() <= limit_bytes / 2);
    }
}

#[test]
fn an_event_that_only_a_later_brisk_knows_is_no_damage() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("daemon.brisk");
    let mut writer = Writer::begin(&path, Session::default(), None).expect("a record");
    writer.event(&event(1)).expect("written");
    drop(writer);
    // The same frame with another name of the event, and the checksum that belongs to it.
    let bytes = fs::read(&path).expect("a file");
    let mut chunks: Vec<Vec<u8>> = bytes.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect();
    let mut plain = cobs::decode_vec(&chunks[2]).expect("a frame");
    let text = String::from_utf8(plain[1..plain.len() - 4].to_vec()).expect("JSON");
    plain.truncate(1);
    plain.extend(text.replace("launch_began", "launch_dreamt").bytes());
    let crc = crc32fast::hash(&plain).to_le_bytes();
    plain.extend(crc);
    chunks[2] = cobs::encode_vec(&plain);
    fs::write(&path, chunks.join(&0)).expect("a file");
    let mut reader = Reader::open(&path).expect("a record");
    let items: Vec<Item> = reader.by_ref().collect::<Result<_, _>>().expect("readable");
    assert_eq!(items, [Item::Session(Session::default())]);
    assert_eq!((reader.lost().unknown_frames, reader.lost().is_damage()), (1, false));
}

proptest! {
    #[test]
    fn any_decision_comes_back(value in ".{0,30}", share in prop::num::f64::NORMAL) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("daemon.brisk");
        let mut writer = Writer::begin(&path, Session::default(), None).expect("a record");
        writer.decided(&decided(&value, share)).expect("written");
        prop_assert_eq!(&read(&path)[1], &Item::Decided(decided(&value, share)));
    }
}
