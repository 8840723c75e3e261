//! The journal's promises on a tree of plain files that stands for sysfs.

use crate::journal_lines;
use std::fs;
use std::path::Path;

use brisk_act::{BlockQueue, DamagedJournal, Error, Journal, Paths, damaged_journals, restore_leftovers};
use brisk_core::knob::QueueSetting;
use journal_lines::of_a_dead_owner;
use proptest::prelude::*;

const SETTINGS: [QueueSetting; 5] = [
    QueueSetting::Scheduler,
    QueueSetting::NrRequests,
    QueueSetting::ReadAheadKb,
    QueueSetting::MaxSectorsKb,
    QueueSetting::WbtLatUsec,
];

/// A sysfs with two devices, and an empty directory for journals.
fn fixture() -> (tempfile::TempDir, Paths) {
    let dir = tempfile::tempdir().expect("temporary directory");
    for device in ["loop3", "vda"] {
        let queue = dir.path().join("sys/block").join(device).join("queue");
        fs::create_dir_all(&queue).expect("fixture");
        for (file, text) in [
            ("scheduler", "none [mq-deadline] kyber bfq\n"),
            ("nr_requests", "256\n"),
            ("read_ahead_kb", "128\n"),
            ("max_sectors_kb", "1280\n"),
            ("wbt_lat_usec", "2000\n"),
        ] {
            fs::write(queue.join(file), text).expect("fixture");
        }
        let tags = queue.with_file_name("mq").join("0");
        fs::create_dir_all(&tags).expect("fixture");
        fs::write(tags.join("nr_tags"), "128\n").expect("fixture");
    }
    let paths = Paths { sysfs: dir.path().join("sys"), proc: "/proc".into(), journal: dir.path().join("run/journal") };
    (dir, paths)
}

fn values(paths: &Paths) -> Vec<String> {
    ["loop3", "vda"]
        .iter()
        .flat_map(|device| {
            let queue = BlockQueue::new(&paths.sysfs, device);
            SETTINGS.map(|setting| queue.get(&setting).expect("fixture knob"))
        })
        .collect()
}

fn write(paths: &Paths, device: &str, file: &str, text: &str) {
    fs::write(paths.sysfs.join("block").join(device).join("queue").join(file), text).expect("fixture knob");
}

fn journal_files(dir: &Path) -> usize {
    fs::read_dir(dir).map_or(0, Iterator::count)
}

/// Devices whose driver tags are journaled, and how many there were.
fn journaled_tags(journal: &[u8]) -> Vec<(String, String)> {
    let file: serde_json::Value = serde_json::from_slice(journal).expect("a journal is JSON");
    let entries = file["lines"].as_array().expect("lines").iter().map(|line| &line["entry"]);
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    entries
        .filter(|entry| entry["knob"] == "driver_tags")
        .map(|entry| {
            (text(&entry["device"]).rsplit('/').next().unwrap_or_default().to_owned(), text(&entry["original"]))
        })
        .collect()
}

#[derive(Debug, Clone)]
enum Step {
    Scheduler(&'static str),
    NrRequests(u32),
    ReadAhead(u64),
    MaxSectors(u64),
    Wbt(u64),
    Tags(u32),
}

fn steps() -> impl Strategy<Value = Vec<(bool, Step)>> {
    let step = prop_oneof![
        prop::sample::select(vec!["none", "mq-deadline", "kyber", "bfq"]).prop_map(Step::Scheduler),
        (4u32..300).prop_map(Step::NrRequests),
        (0u64..4096).prop_map(Step::ReadAhead),
        (4u64..1280).prop_map(Step::MaxSectors),
        (0u64..75_000).prop_map(Step::Wbt),
        (1u32..128).prop_map(Step::Tags),
    ];
    prop::collection::vec((any::<bool>(), step), 0..12)
}

fn apply(paths: &Paths, journal: &mut Journal, steps: &[(bool, Step)]) {
    for (first, step) in steps {
        let mut queue = BlockQueue::new(&paths.sysfs, if *first { "loop3" } else { "vda" });
        match *step {
            Step::Scheduler(name) => queue.set_scheduler(journal, name).expect("scheduler"),
            Step::NrRequests(n) => assert_eq!(queue.set_nr_requests(journal, n).expect("nr_requests"), n),
            Step::ReadAhead(kb) => assert_eq!(queue.set_read_ahead_kb(journal, kb).expect("read-ahead"), kb),
            Step::MaxSectors(kb) => assert_eq!(queue.set_max_sectors_kb(journal, kb).expect("max_sectors"), kb),
            Step::Wbt(us) => assert_eq!(queue.set_wbt_lat_usec(journal, us).expect("wbt"), us),
            Step::Tags(n) => assert_eq!(queue.set_driver_tags(journal, n).expect("tags"), n.max(4)),
        }
    }
}

/// Makes the journal of this process look like one of a process that died.
fn kill_the_owner(journal: Journal) {
    let file = journal.file().to_owned();
    let text = fs::read_to_string(&file).expect("journal on disk");
    std::mem::forget(journal);
    fs::write(file, of_a_dead_owner(&text)).expect("journal");
}

#[test]
fn a_driver_of_four_requests_has_no_other_number_of_them_and_is_not_asked_for_one() {
    let (_dir, paths) = fixture();
    fs::write(paths.sysfs.join("block/vda/mq/0/nr_tags"), "4\n").expect("fixture");
    let mut journal = Journal::open("test", &paths).expect("journal");
    let mut queue = BlockQueue::new(&paths.sysfs, "vda");
    let before =
        [values(&paths), vec![fs::read_to_string(paths.sysfs.join("block/vda/queue/scheduler")).expect("fixture")]];
    assert_eq!(queue.set_driver_tags(&mut journal, 4).expect("they are four"), 4);
    journal.restore().expect("nothing to put back");
    let after =
        [values(&paths), vec![fs::read_to_string(paths.sysfs.join("block/vda/queue/scheduler")).expect("fixture")]];
    assert_eq!(after, before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn undo_after_apply_is_identity(steps in steps(), by_drop in any::<bool>()) {
        let (_dir, paths) = fixture();
        let before = values(&paths);
        let mut journal = Journal::open("test", &paths).expect("journal");
        apply(&paths, &mut journal, &steps);
        if by_drop {
            drop(journal);
        } else {
            prop_assert_eq!(journal.restore().expect("restore").left, vec![]);
            prop_assert_eq!(journal.restore().expect("again").restored, vec![]);
        }
        prop_assert_eq!(values(&paths), before);
        prop_assert_eq!(journal_files(&paths.journal), 0);
    }

    #[test]
    fn the_journal_of_a_dead_owner_is_undone_by_the_next(steps in steps()) {
        let (_dir, paths) = fixture();
        let before = values(&paths);
        let mut journal = Journal::open("test", &paths).expect("journal");
        apply(&paths, &mut journal, &steps);
        if !steps.is_empty() {
            kill_the_owner(journal);
        }
        let reports = restore_leftovers(&paths).expect("leftovers");
        prop_assert!(reports.iter().all(|(name, report)| name == "test" && report.left.is_empty()));
        prop_assert_eq!(values(&paths), before);
        prop_assert_eq!(journal_files(&paths.journal), 0);
    }

    #[test]
    fn no_damage_to_a_journal_restores_a_wrong_value(
        steps in steps(), place in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()
    ) {
        let (_dir, paths) = fixture();
        let before = values(&paths);
        let mut journal = Journal::open("test", &paths).expect("journal");
        apply(&paths, &mut journal, &steps);
        let file = journal.file().to_owned();
        if file.exists() {
            kill_the_owner(journal);
            let changed = values(&paths);
            let mut bytes = fs::read(&file).expect("journal");
            let whole = bytes.clone();
            let tags = journaled_tags(&whole);
            let place = place.index(bytes.len());
            bytes[place] = byte;
            bytes.truncate(if cut { place + 1 } else { bytes.len() });
            fs::write(&file, &bytes).expect("journal");
            restore_leftovers(&paths).expect("what can be read is undone");
            let found = values(&paths);
            for (index, now) in found.iter().enumerate() {
                // Under `none` the number of requests is that of the driver's tags, which are as they were found.
                let device = ["loop3", "vda"][index / 5];
                let are_tags = |now: &str| tags.iter().any(|(of, tags)| of == device && tags == now);
                let is_of_tags = index % 5 == 1 && found[index - 1] == "none" && are_tags(now);
                prop_assert!([&before[index], &changed[index]].contains(&now) || is_of_tags, "{index}: {now}");
            }
            // A whole journal is undone and removed; a damaged one is reported.
            let damaged = damaged_journals(&paths);
            if damaged.is_empty() {
                prop_assert_eq!(values(&paths), before);
            } else {
                prop_assert_ne!(&bytes, &whole);
                prop_assert_eq!(fs::read(&damaged[0].file).expect("kept"), bytes);
                // Nothing more comes of it.
                let left = values(&paths);
                restore_leftovers(&paths).expect("nothing to undo");
                prop_assert_eq!(values(&paths), left);
                prop_assert_eq!(damaged_journals(&paths), damaged);
            }
        }
    }

    #[test]
    fn a_knob_that_someone_else_changed_is_left(
        steps in steps(), knob in 1usize..5, external in 5_000_000u64..6_000_000
    ) {
        let (_dir, paths) = fixture();
        let before = values(&paths);
        let mut journal = Journal::open("test", &paths).expect("journal");
        apply(&paths, &mut journal, &steps);
        let file = ["scheduler", "nr_requests", "read_ahead_kb", "max_sectors_kb", "wbt_lat_usec"][knob];
        write(&paths, "vda", file, &format!("{external}\n"));
        let touched = fs::read_to_string(journal.file()).unwrap_or_default();
        let report = journal.restore().expect("restore");
        let mut requested = before;
        requested[5 + knob] = external.to_string();
        prop_assert_eq!(values(&paths), requested);
        for left in &report.left {
            prop_assert_eq!((left.device.as_str(), left.knob.as_str()), ("vda", file));
            prop_assert!(touched.contains("vda"));
        }
    }
}

#[test]
fn what_someone_else_changed_is_reported() {
    let (_dir, paths) = fixture();
    let mut journal = Journal::open("test", &paths).expect("journal");
    BlockQueue::new(&paths.sysfs, "vda").set_read_ahead_kb(&mut journal, 512).expect("read-ahead");
    write(&paths, "vda", "read_ahead_kb", "64\n");
    let report = journal.restore().expect("restore");
    assert_eq!(report.restored, []);
    assert_eq!((report.left[0].found.as_deref(), report.left[0].original.as_str()), (Some("64"), "128"));
}

#[test]
fn a_live_owner_keeps_its_changes() {
    let (_dir, paths) = fixture();
    let mut journal = Journal::open("test", &paths).expect("journal");
    BlockQueue::new(&paths.sysfs, "vda").set_scheduler(&mut journal, "kyber").expect("scheduler");
    assert_eq!(restore_leftovers(&paths).expect("leftovers"), vec![]);
    assert_eq!(BlockQueue::new(&paths.sysfs, "vda").scheduler().expect("scheduler"), "kyber");
}

#[test]
fn the_journal_is_on_disk_before_the_change() {
    let (_dir, paths) = fixture();
    // The knob's file cannot be written, so only what precedes the write has happened.
    let knob = paths.sysfs.join("block/vda/queue/read_ahead_kb");
    fs::remove_file(&knob).expect("fixture");
    fs::create_dir(&knob).expect("fixture");
    let mut journal = Journal::open("test", &paths).expect("journal");
    let mut queue = BlockQueue::new(&paths.sysfs, "vda");
    assert!(matches!(queue.set_read_ahead_kb(&mut journal, 1), Err(Error::Read { .. })));
    assert_eq!(journal_files(&paths.journal), 0);
    // A journal that cannot be written forbids the change.
    fs::remove_dir(&paths.journal).expect("journal directory");
    assert!(matches!(queue.set_scheduler(&mut journal, "bfq"), Err(Error::Journal { .. })));
    assert_eq!(queue.scheduler().expect("scheduler"), "mq-deadline");
}

#[test]
fn a_loop_device_with_another_file_is_someone_elses() {
    let (_dir, paths) = fixture();
    let loop_dir = paths.sysfs.join("block/loop3/loop");
    fs::create_dir_all(&loop_dir).expect("fixture");
    fs::write(loop_dir.join("backing_file"), "/ours\n").expect("fixture");
    let mut journal = Journal::open("test", &paths).expect("journal");
    let mut queue = BlockQueue::new(&paths.sysfs, "loop3");
    queue.set_scheduler(&mut journal, "kyber").expect("scheduler");
    fs::write(loop_dir.join("backing_file"), "/other\n").expect("fixture");
    let file = journal.file().to_owned();
    let kept = fs::read_to_string(&file).expect("journal on disk");
    let report = journal.restore().expect("restore");
    assert_eq!(report.restored, []);
    assert_eq!(queue.scheduler().expect("scheduler"), "kyber");
    // Without a file the device is free for this journal.
    fs::remove_file(loop_dir.join("backing_file")).expect("fixture");
    assert_eq!(journal.restore().expect("restore").restored.len(), report.left.len());
    assert_eq!(queue.scheduler().expect("scheduler"), "mq-deadline");
    fs::write(loop_dir.join("backing_file"), "/other\n").expect("fixture");
    write(&paths, "loop3", "scheduler", "kyber\n");

    // Unless `vouch_for` says that the settings are ours.
    fs::write(&file, kept).expect("journal");
    let mut journal = Journal::of_process("test", std::process::id(), &paths).expect("journal");
    journal.vouch_for(&queue);
    assert_eq!(journal.restore().expect("restore").left, []);
    assert_eq!(queue.scheduler().expect("scheduler"), "mq-deadline");
}

#[test]
fn tags_that_another_journal_shrank_go_back_to_that_size() {
    let (_dir, paths) = fixture();
    let mut outer = Journal::open("lab", &paths).expect("journal");
    let mut queue = BlockQueue::new(&paths.sysfs, "loop3");
    queue.set_driver_tags(&mut outer, 8).expect("tags");
    let mut study = Journal::open("study", &paths).expect("journal");
    queue.set_scheduler(&mut study, "none").expect("scheduler");
    queue.set_nr_requests(&mut study, 32).expect("tags");
    let text = fs::read_to_string(study.file()).expect("journal on disk");
    let record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let lines = record["lines"].as_array().expect("lines");
    let tags =
        lines.iter().map(|line| &line["entry"]).find(|e| e["knob"] == "driver_tags").expect("tags are journaled");
    assert_eq!((tags["original"].as_str(), tags["ours"].as_str()), (Some("8"), Some("32")));
}

#[test]
fn changes_made_for_another_process_are_undone_in_its_place() {
    let (_dir, paths) = fixture();
    let before = values(&paths);
    let mut other = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().expect("a process");
    let mut journal = Journal::of_process("lab-1", other.id(), &paths).expect("journal");
    BlockQueue::new(&paths.sysfs, "loop3").set_scheduler(&mut journal, "kyber").expect("scheduler");
    journal.hand_over();
    assert_eq!(restore_leftovers(&paths).expect("leftovers"), vec![], "its owner lives");
    assert_ne!(values(&paths), before);
    other.kill().and_then(|()| other.wait().map(drop)).expect("end of the process");
    Journal::of_process("lab-1", other.id(), &paths).expect("journal").restore().expect("restore");
    assert_eq!(values(&paths), before);
    assert!(matches!(Journal::of_process("lab-1", other.id(), &paths), Err(Error::NoProcess { .. })));
}

#[test]
fn bad_names_and_missing_devices_are_named() {
    let (_dir, paths) = fixture();
    for name in ["", "a/b", "..", "a b", ".hidden"] {
        assert!(matches!(Journal::open(name, &paths), Err(Error::Name(_))), "{name}");
    }
    let mut journal = Journal::open("test", &paths).expect("journal");
    assert!(matches!(
        BlockQueue::new(&paths.sysfs, "sdz").set_scheduler(&mut journal, "none"),
        Err(Error::Read { .. })
    ));
}

#[test]
fn a_file_that_is_not_a_journal_is_left_alone() {
    let (_dir, paths) = fixture();
    fs::create_dir_all(&paths.journal).expect("directory");
    for (name, text) in [("a.json", "{"), ("b.json", "[1]"), ("c.txt", "hello")] {
        fs::write(paths.journal.join(name), text).expect("file");
    }
    assert_eq!(restore_leftovers(&paths).expect("leftovers"), vec![]);
    assert_eq!(journal_files(&paths.journal), 3);
    let damaged = damaged_journals(&paths);
    let unread = |name: &str| DamagedJournal { file: paths.journal.join(name), lost: None };
    assert_eq!(damaged, [unread("a.json"), unread("b.json")]);
    assert!(damaged[0].to_string().contains("a.json cannot be read"), "{}", damaged[0]);
}

#[test]
fn of_a_damaged_journal_the_rest_is_undone_and_what_is_lost_is_told() {
    let (_dir, paths) = fixture();
    let mut journal = Journal::open("test", &paths).expect("journal");
    let mut queue = BlockQueue::new(&paths.sysfs, "vda");
    queue.set_read_ahead_kb(&mut journal, 512).expect("read-ahead");
    queue.set_max_sectors_kb(&mut journal, 64).expect("max_sectors");
    let file = journal.file().to_owned();
    kill_the_owner(journal);
    let text = fs::read_to_string(&file).expect("journal");
    fs::write(&file, text.replace("\"1280\"", "\"9999\"")).expect("journal");
    let reports = restore_leftovers(&paths).expect("the rest is undone");
    assert_eq!(reports[0].1.restored, [("vda".to_owned(), "read_ahead_kb".to_owned())]);
    assert_eq!(queue.get(&QueueSetting::MaxSectorsKb).expect("readable"), "64");
    let damaged = damaged_journals(&paths);
    assert_eq!((damaged.len(), damaged[0].lost), (1, Some(1)));
    let said = damaged[0].to_string();
    assert!(said.contains(".json.damaged is damaged: 1 of its settings cannot be read"), "{said}");
    assert!(said.contains("restart the machine"), "{said}");
}

#[test]
fn a_number_of_requests_whose_scheduler_is_lost_does_not_resize_the_driver_tags() {
    let (_dir, paths) = fixture();
    let mut journal = Journal::open("test", &paths).expect("journal");
    let mut queue = BlockQueue::new(&paths.sysfs, "vda");
    queue.set_scheduler(&mut journal, "none").expect("scheduler");
    let file = journal.file().to_owned();
    kill_the_owner(journal);
    let text = fs::read_to_string(&file).expect("journal");
    assert!(text.contains("nr_requests"), "{text}");
    let scheduler = "\"knob\":\"scheduler\"";
    fs::write(&file, text.replace(scheduler, &scheduler.replace('s', "S"))).expect("journal");
    write(&paths, "vda", "nr_requests", "128\n");
    let reports = restore_leftovers(&paths).expect("the rest is undone");
    assert_eq!(queue.get(&QueueSetting::NrRequests).expect("readable"), "128");
    let left: Vec<&str> = reports[0].1.left.iter().map(|left| left.knob.as_str()).collect();
    assert_eq!(left, ["nr_requests"]);
}

#[test]
fn what_a_killed_writer_of_a_journal_left_goes() {
    let (_dir, paths) = fixture();
    fs::create_dir_all(&paths.journal).expect("fixture");
    // No process has the largest number there is; this one is alive.
    let dead = paths.journal.join(format!("study.{}.new", u32::MAX));
    let alive = paths.journal.join(format!("study.{}.new", std::process::id()));
    let foreign = paths.journal.join("notes.new");
    for file in [&dead, &alive, &foreign] {
        fs::write(file, "{\"half\":").expect("fixture");
    }
    restore_leftovers(&paths).expect("nothing was changed");
    assert!(!dead.exists() && alive.exists() && foreign.exists());
    Journal::open("study", &paths).expect("a journal").restore().expect("nothing was changed");
    assert!(!alive.exists());
}
