//! Records as their writers and readers meet them: sessions that follow each other, crashes, damage, limits.

use std::fs::{self, OpenOptions};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use brisk_core::snapshot::{AppTotals, DiskTotals, IoTotals, MemoryLevels, Snapshot};
use brisk_record::{End, Error, Item, Lost, Reader, Session, Writer, older_part, set_damaged_aside};
use proptest::prelude::*;
use rustix::mount::{MountFlags, UnmountFlags};

/// The `second`-th sample of a machine that does something; an app lives from the 100th to the 150th.
fn sample(second: u64) -> Snapshot {
    let requests = second * 17 + second * second % 23;
    let disk = DiskTotals {
        name: "vda".into(),
        read: IoTotals { requests, bytes: requests * 4096, time_ms: requests / 3 },
        busy_ms: second * 31,
        ..DiskTotals::default()
    };
    let app = AppTotals { name: "app-x.scope".into(), cpu_us: Some(second), ..AppTotals::default() };
    Snapshot {
        at_ns: second * 1_000_000_000 + second * second % 7919,
        wall_unix_ms: 1_700_000_000_000 + second * 1000,
        memory: MemoryLevels { free_bytes: second * second % 4093 * 4096, ..MemoryLevels::default() },
        disks: vec![disk],
        apps: if (100..150).contains(&second) { vec![app] } else { vec![] },
        ..Snapshot::default()
    }
}

fn session(name: &str) -> Session {
    Session { machine: name.into(), interval_ms: 1000, ..Session::default() }
}

/// Writes samples; the writer stays open.
fn write(path: &Path, name: &str, seconds: std::ops::Range<u64>) -> Writer {
    let mut writer = Writer::begin(path, session(name), None).expect("a record");
    for second in seconds {
        writer.snapshot(&sample(second)).expect("written");
    }
    writer
}

fn read(path: &Path) -> (Vec<Item>, Lost) {
    let mut reader = Reader::open(path).expect("a record");
    let items = reader.by_ref().collect::<Result<_, _>>().expect("readable");
    (items, reader.lost())
}

/// The seconds of the samples, each of which must be as it was written.
fn seconds(items: &[Item]) -> Vec<u64> {
    let snapshots = items.iter().filter_map(|item| match item {
        Item::Snapshot(snapshot) => Some(snapshot),
        _ => None,
    });
    let second = |snapshot: &Snapshot| (snapshot.wall_unix_ms - 1_700_000_000_000) / 1000;
    snapshots
        .map(|snapshot| {
            assert_eq!(**snapshot, sample(second(snapshot)));
            second(snapshot)
        })
        .collect()
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("day.brisk");
    (dir, path)
}

#[test]
fn two_sessions_in_one_file_come_back() {
    let (_dir, path) = place();
    let end = End { samples: 200, own_cpu_us: 5, ..End::default() };
    let written = write(&path, "first", 0..200).end(&end).expect("written");
    assert_eq!((written.samples, written.parts, written.dropped_bytes), (200, 0, 0));
    assert_eq!(written.bytes, fs::metadata(&path).expect("a file").len());
    write(&path, "second", 300..310).end(&End::default()).expect("written");
    let (items, lost) = read(&path);
    assert_eq!(lost, Lost::default());
    assert_eq!(seconds(&items), (0..200).chain(300..310).collect::<Vec<_>>());
    assert_eq!((&items[0], &items[201]), (&Item::Session(session("first")), &Item::End(end)));
    assert_eq!(items[202], Item::Session(session("second")));
}

#[test]
fn what_a_crash_cut_off_is_dropped_by_the_next_session() {
    let (_dir, path) = place();
    drop(write(&path, "crashed", 0..10));
    let whole = fs::metadata(&path).expect("a file").len();
    drop(write(&path, "crashed", 10..11));
    let file = OpenOptions::new().write(true).open(&path).expect("a file");
    file.set_len(fs::metadata(&path).expect("a file").len() - 3).expect("cut");
    let (items, lost) = read(&path);
    assert_eq!(seconds(&items), (0..10).collect::<Vec<_>>());
    assert!(lost.cut_off_bytes > 0 && lost.is_damage() && lost.damaged_frames == 0, "{lost:?}");

    let writer = write(&path, "next", 20..25);
    assert_eq!(writer.written().dropped_bytes, lost.cut_off_bytes);
    writer.end(&End::default()).expect("written");
    let (items, lost) = read(&path);
    assert_eq!((seconds(&items), lost), ((0..10).chain(20..25).collect(), Lost::default()));
    assert!(whole < fs::metadata(&path).expect("a file").len());
}

#[test]
fn a_long_tail_without_a_frame_is_dropped() {
    let (_dir, path) = place();
    drop(write(&path, "crashed", 0..10));
    OpenOptions::new().append(true).open(&path).expect("a file").write_all(&[7; 200_000]).expect("a tail");
    assert_eq!(write(&path, "next", 0..1).written().dropped_bytes, 200_000);
}

#[test]
fn a_limit_keeps_the_latest_samples() {
    let (_dir, path) = place();
    let limit = 16_384;
    let mut writer = Writer::begin(&path, session("long"), Some(limit)).expect("a record");
    let mut largest = 0;
    for second in 0..2_000 {
        writer.snapshot(&sample(second)).expect("written");
        let size = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
        largest = largest.max(size(&path) + size(&older_part(&path)));
    }
    let written = writer.end(&End::default()).expect("written");
    assert!(largest <= limit && largest > limit / 2, "{largest}");
    assert!(written.parts >= 2, "{written:?}");
    let (newer, lost_newer) = read(&path);
    let (older, lost_older) = read(&older_part(&path));
    assert!(!lost_newer.is_damage() && !lost_older.is_damage());
    let kept = [seconds(&older), seconds(&newer)].concat();
    assert_eq!(kept, (kept[0]..2_000).collect::<Vec<_>>());
    assert_eq!(newer[0], Item::Session(Session { part: written.parts, ..session("long") }));
}

#[test]
fn a_stranger_is_neither_overwritten_nor_read() {
    let (dir, path) = place();
    for stranger in ["letter to a friend", "brisk record 2\0", "brisk", "\0\0\0"] {
        fs::write(&path, stranger).expect("a file");
        let outcome = Writer::begin(&path, session("x"), None);
        assert!(matches!(outcome, Err(Error::NotARecord { .. } | Error::Newer { format: 2, .. })), "{stranger}");
        assert!(matches!(Reader::open(&path), Err(Error::NotARecord { .. } | Error::Newer { .. })), "{stranger}");
        assert_eq!(fs::read(&path).expect("a file"), stranger.as_bytes());
    }
    assert!(matches!(Writer::begin(dir.path(), session("x"), None), Err(Error::NotAFile { .. })));
    for endless in [dir.path(), Path::new("/dev/zero")] {
        assert!(matches!(Reader::open(endless), Err(Error::File(_))));
    }
    assert!(matches!(Writer::begin(&dir.path().join("no/such"), session("x"), None), Err(Error::Open { .. })));

    // The older part of a long session must be a record too.
    let path = dir.path().join("long");
    fs::write(older_part(&path), "letter").expect("a file");
    let mut writer = Writer::begin(&path, session("x"), Some(1)).expect("a record");
    writer.snapshot(&sample(0)).expect("the first fits");
    assert!(matches!(writer.snapshot(&sample(1)), Err(Error::NotARecord { .. })));
    assert_eq!(fs::read(older_part(&path)).expect("a file"), b"letter");
}

#[test]
fn an_empty_file_becomes_a_record() {
    let (_dir, path) = place();
    fs::write(&path, "").expect("a file");
    assert!(matches!(Reader::open(&path), Err(Error::NotARecord { .. })));
    drop(write(&path, "x", 0..3));
    assert_eq!(seconds(&read(&path).0), [0, 1, 2]);
}

#[test]
fn two_writers_do_not_mix() {
    let (_dir, path) = place();
    let first = write(&path, "first", 0..3);
    assert!(matches!(Writer::begin(&path, session("second"), None), Err(Error::InUse { .. })));
    drop(first);
    assert!(Writer::begin(&path, session("second"), None).is_ok());
}

#[test]
fn a_full_disk_leaves_a_whole_record() {
    // RLIMIT_FSIZE would do the same to this whole test process.
    brisk_requires::requires!(Mount);
    let (dir, _) = place();
    // Not by a program: between fork and exec a child would hold the locks of the other tests' records.
    let mounted = rustix::mount::mount("none", dir.path(), "tmpfs", MountFlags::empty(), c"size=64k");
    mounted.expect("a tmpfs is mounted");
    let path = dir.path().join("small");
    let mut writer = Writer::begin(&path, session("x"), None).expect("a record");
    let failed = (0..1_000_000).find_map(|second| writer.snapshot(&sample(second)).err().map(|error| (second, error)));
    let read = failed.as_ref().map(|_| read(&path));
    drop(writer);
    rustix::mount::unmount(dir.path(), UnmountFlags::empty()).expect("unmounted");
    let (second, error) = failed.expect("64 KiB are soon full");
    assert!(matches!(error, Error::Write { samples, .. } if samples == second), "{error:?}");
    let (items, lost) = read.expect("it failed");
    assert_eq!((seconds(&items), lost), ((0..second).collect(), Lost::default()));
}

#[test]
fn damage_costs_what_it_hits_and_no_more_than_to_the_next_key() {
    let (_dir, path) = place();
    write(&path, "x", 0..99).end(&End::default()).expect("written");
    let good = fs::read(&path).expect("a file");
    for at in (20..good.len()).step_by(37) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        fs::write(&path, &bad).expect("a file");
        let (items, lost) = read(&path);
        let kept = seconds(&items);
        assert!(lost.is_damage(), "byte {at}: {lost:?}");
        assert!(kept.len() >= 39, "byte {at}: {} samples are left, {lost:?}", kept.len());
        assert!(kept.is_sorted());
    }
}

#[test]
fn a_lost_sample_is_never_made_up() {
    let (_dir, path) = place();
    drop(write(&path, "x", 0..130));
    let bytes = fs::read(&path).expect("a file");
    let frames: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == 0).collect();
    // Head, session, then samples: any stretch may be missing.
    for (from, to) in [(5, 6), (2, 3), (30, 62), (61, 63), (3, 125)] {
        let rest: Vec<u8> = frames[..from].iter().chain(&frames[to..]).flat_map(|frame| frame.to_vec()).collect();
        let mut reader = Reader::new(BufReader::new(&rest[..]), &path).expect("a record");
        let items: Vec<_> = reader.by_ref().collect::<Result<_, _>>().expect("readable");
        let kept = seconds(&items);
        let missing = (to - from) as u64 + reader.lost().orphaned_samples;
        assert_eq!(kept.len() as u64 + missing, 130, "{from}..{to}: {:?}", reader.lost());
    }
}

#[test]
fn a_session_whose_key_is_lost_does_not_go_on_with_the_one_before() {
    let (_dir, path) = place();
    drop(write(&path, "first", 0..1));
    drop(write(&path, "second", 50..60));
    let bytes = fs::read(&path).expect("a file");
    let frames: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == 0).collect();
    // Head, session, key; session, key, deltas.
    let rest = [&frames[..4], &frames[5..]].concat().concat();
    fs::write(&path, rest).expect("a file");
    let (items, lost) = read(&path);
    assert_eq!((seconds(&items), lost.orphaned_samples), (vec![0], 9));
}

#[test]
fn zeros_of_a_power_cut_are_one_damage() {
    let (_dir, path) = place();
    drop(write(&path, "x", 0..5));
    OpenOptions::new().append(true).open(&path).expect("a file").write_all(&[0; 4096]).expect("zeros");
    drop(write(&path, "y", 5..9));
    let (items, lost) = read(&path);
    assert_eq!(seconds(&items), (0..9).collect::<Vec<_>>());
    assert_eq!(lost, Lost { damaged_frames: 1, damaged_bytes: 4096, ..Lost::default() });
}

#[test]
fn kinds_of_later_versions_are_skipped() {
    let (_dir, path) = place();
    drop(write(&path, "x", 0..3));
    let plain = [&[200u8, 1, 2, 0, 3][..], &crc32fast::hash(&[200, 1, 2, 0, 3]).to_le_bytes()].concat();
    let mut bytes = fs::read(&path).expect("a file");
    bytes.extend(cobs::encode_vec(&plain));
    bytes.push(0);
    fs::write(&path, &bytes).expect("a file");
    drop(write(&path, "y", 3..5));
    let (items, lost) = read(&path);
    assert_eq!(seconds(&items), [0, 1, 2, 3, 4]);
    assert_eq!(lost, Lost { unknown_frames: 1, ..Lost::default() });
    assert!(!lost.is_damage());
}

fn all_of(bytes: &[u8]) -> Option<(usize, Lost)> {
    let mut reader = Reader::new(BufReader::with_capacity(64, bytes), Path::new("bytes")).ok()?;
    let items = reader.by_ref().filter_map(Result::ok).count();
    Some((items, reader.lost()))
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        all_of(&bytes);
        let mut with_head = b"brisk record 1\0".to_vec();
        with_head.extend(&bytes);
        prop_assert!(all_of(&with_head).is_some());
    }

    #[test]
    fn no_change_of_a_record_makes_the_reader_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        twice in any::<prop::sample::Index>(),
    ) {
        let (_dir, path) = place();
        drop(write(&path, "x", 90..160));
        let mut bytes = fs::read(&path).expect("a file");
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let again = bytes[twice.index(bytes.len())..].to_vec();
        bytes.truncate(cut.index(bytes.len() + 1));
        bytes.extend(again);
        if let Some((items, _)) = all_of(&bytes) {
            prop_assert!(items <= 2 * 71);
        }
    }
}

#[test]
fn a_record_whose_head_is_damaged_is_set_aside_and_nothing_else_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("day.brisk");
    let aside = dir.path().join("day.brisk.damaged");
    let begin = |path: &Path| Writer::begin(path, session("again"), None);
    // The head alone, and all of it.
    drop(write(&path, "first", 1..4));
    let mut bytes = fs::read(&path).expect("a record");
    bytes[3] ^= 0x40;
    for bytes in [bytes.as_slice(), b"noise"] {
        fs::write(&path, bytes).expect("damaged");
        let error = begin(&path).expect_err("it cannot go on").to_string();
        assert!(error.contains("head is damaged: name another file, or move it away"), "{error}");
        assert_eq!(set_damaged_aside(&path).expect("renamed"), Some(aside.clone()));
        assert_eq!(fs::read(&aside).expect("kept"), bytes);
        drop(begin(&path).expect("a new one"));
        fs::remove_file(&path).expect("there");
    }
    assert_eq!(set_damaged_aside(&path).expect("nothing there"), None);
    // A file that is no record stays where it is; a record stands under any name.
    let foreign = dir.path().join("passwd");
    fs::write(&foreign, "root:x:0:0\n").expect("a file");
    assert_eq!(set_damaged_aside(&foreign).expect("left"), None);
    assert!(foreign.exists());
    fs::write(&foreign, &bytes).expect("a record");
    assert!(set_damaged_aside(&foreign).expect("renamed").is_some());
    // The older part counts as the record's.
    let older = older_part(&path);
    fs::write(&older, "noise").expect("damaged");
    assert_eq!(set_damaged_aside(&older).expect("renamed"), Some(dir.path().join("day.brisk.1.damaged")));
}
