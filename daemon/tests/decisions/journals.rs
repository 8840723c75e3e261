//! The exit code when the journal of a killed daemon is damaged.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{Briskd, Loop, configure, place, run, turn};
use rustix::process::Signal;

/// The text of a journal, damaged.
type Damage = fn(&str) -> Vec<u8>;

const DAMAGES: [(&str, Damage); 6] = [
    ("a changed byte in the line of a setting", |text| text.replacen("\"original\"", "\"original!\"", 1).into_bytes()),
    ("a lost line", |text| {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.remove(2);
        lines.join("\n").into_bytes()
    }),
    ("cut off", |text| text.as_bytes()[..text.len() / 2].to_vec()),
    ("no heads", |text| text.replace("\"journal\"", "\"jorunal\"").into_bytes()),
    ("empty", |_| Vec::new()),
    ("noise", |text| text.bytes().map(|byte| byte.rotate_left(3)).collect()),
];

fn journals(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir.join("run/journal")).expect("journals").map(|entry| entry.expect("an entry").path()).collect()
}

#[test]
fn a_damaged_journal_always_ends_with_exit_code_1() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let before = (device.get("read_ahead_kb"), device.get("max_sectors_kb"));
    let fixed =
        ["read_ahead_kb\" = 64", "max_sectors_kb\" = 64"].map(|one| format!("\"queue/{}/{one}\n", device.name()));
    let rest = format!("[engines]\norder = []\n[fixed]\n{}", fixed.concat());
    for (what, damage) in DAMAGES {
        let (_, dir) = Briskd::start(place(&[device.name()], &rest), &[]).end(Signal::KILL);
        let left = journals(dir.path());
        let text = fs::read_to_string(&left[0]).expect("a journal");
        fs::write(&left[0], damage(&text)).expect("written");
        configure(dir.path(), &[device.name()], "[engines]\norder = []\n");
        for round in ["the start that finds it", "the next"] {
            let (status, said) = run(dir.path(), &["--once"]);
            let name = left[0].file_name().expect("a name").to_string_lossy();
            assert_eq!(status.code(), Some(1), "{what}, {round}: {said}");
            let last = said.lines().last().unwrap_or_default();
            assert!(last.contains("not everything from before brisk is known to be restored"), "{what}: {said}");
            assert!(last.contains(&*name) && last.contains("restart the machine"), "{what}: {said}");
        }
        journals(dir.path()).iter().for_each(|journal| fs::remove_file(journal).expect("removed"));
        device.set("read_ahead_kb", &before.0);
        device.set("max_sectors_kb", &before.1);
    }
}

#[test]
fn the_exit_code_is_0_once_a_damaged_journal_is_removed_and_of_a_dry_run() {
    let _turn = turn();
    let Some(device) = Loop::new() else { return };
    let dir = place(&[device.name()], "[engines]\norder = []\n");
    fs::create_dir_all(dir.path().join("run/journal")).expect("a directory");
    let journal = dir.path().join("run/journal/briskd.1.json");
    fs::write(&journal, "{\"schema_ver").expect("a journal");
    let code = |arguments: &[&str]| run(dir.path(), arguments).0.code();
    assert_eq!((code(&["--once", "--dry-run"]), code(&["--once"])), (Some(0), Some(1)));
    fs::remove_file(&journal).expect("still there");
    assert_eq!(code(&["--once"]), Some(0));
}
