//! What a journal may name, and whose it is: what stands in it is done as root.

use std::fs;
use std::path::Path;

use brisk_act::{Journal, Paths, damaged_journals, restore_leftovers};

use crate::fixture_tree::FixtureTree;

/// A journal of a dead process of this boot with these lines.
fn write_journal(paths: &Paths, lines: &[(&str, serde_json::Value)]) -> std::path::PathBuf {
    let boot_id = fs::read_to_string(paths.proc.join("sys/kernel/random/boot_id")).unwrap_or_default();
    let owner = serde_json::json!({ "pid": 999_999, "start_ticks": 1, "boot_id": boot_id.trim() });
    let head = serde_json::json!({ "version": 1, "name": "briskd", "owner": owner, "lines": lines.len() });
    let all = std::iter::once(("journal", head)).chain(lines.iter().cloned()).map(|(kind, value)| {
        let body = format!("\"{kind}\":{value}");
        format!("{{\"crc32\":\"{:08x}\",{body}}}", crc32fast::hash(body.as_bytes()))
    });
    let text = format!("{{\"schema_version\":1,\"lines\":[\n{}\n]}}\n", all.collect::<Vec<_>>().join(",\n"));
    fs::create_dir_all(&paths.journal).expect("made");
    let file = paths.journal.join("briskd.999999.json");
    fs::write(&file, text).expect("written");
    file
}

#[test]
fn a_journal_names_knobs_and_no_other_file() {
    use std::os::unix::fs::MetadataExt as _;
    let tree = FixtureTree::new();
    let at = |name: &str| tree.dir.path().join(name);
    let precious = ["target.conf", "page-cluster", "dev/queue/read_ahead_kb", "io.weight", "cgroup.freeze"];
    for name in precious {
        fs::create_dir_all(at(name).parent().expect("a folder")).expect("made");
        fs::write(at(name), "precious").expect("written");
    }
    tree.group("app-x-1.scope", &[]);
    let group = at("cgroup/user.slice/app-x-1.scope");
    fs::write(group.join("io.weight"), "7").expect("written");
    fs::write(group.join("other"), "precious").expect("written");
    let inode = |file: &Path| fs::metadata(file).expect("there").ino();
    let file = |by: (&str, &str), path: std::path::PathBuf| {
        let mut value = serde_json::json!({ "file": path, "inode": inode(&path), "original": "1", "ours": null });
        value[by.0] = by.1.into();
        ("file", value)
    };
    let queue = |device: std::path::PathBuf, knob: &str| {
        let (device, original) = (device.to_str().expect("UTF-8").to_owned(), "777");
        let entry = serde_json::json!({
            "device": device, "backing_file": null, "instance": null, "knob": knob, "original": original, "ours": null,
        });
        ("entry", entry)
    };
    let kernel = serde_json::json!({
        "knob": "vm/page-cluster", "file": at("page-cluster"), "kernel": null, "original": "1", "ours": null,
    });
    let weight = ("knob", "io.weight/app-x-1.scope");
    let dots = |path: &str| std::path::PathBuf::from(format!("{}/{path}", group.display()));
    let wrong = [
        file(("group", "x"), at("target.conf")),
        ("file", kernel),
        queue(at("dev"), "read_ahead_kb"),
        queue(tree.paths.sysfs.join("block/../../dev"), "read_ahead_kb"),
        queue(tree.paths.sysfs.join("block/sda"), "none/.."),
        file(weight, at("io.weight")),
        file(weight, dots("../../../io.weight")),
        file(weight, group.join("other")),
        file(("group", "x"), at("cgroup.freeze")),
        file(("group", "x"), group.join("other")),
    ];
    let right = [file(weight, group.join("io.weight")), queue(tree.paths.sysfs.join("block/sda"), "read_ahead_kb")];
    write_journal(&tree.paths, &[wrong.to_vec(), right.to_vec()].concat());
    let reports = restore_leftovers(&tree.paths).expect("the rest is undone");
    assert_eq!(reports[0].1.restored.len(), right.len(), "{reports:?}");
    for name in precious {
        assert_eq!(fs::read_to_string(at(name)).expect("there"), "precious", "{name}");
    }
    assert_eq!(fs::read_to_string(group.join("other")).expect("there"), "precious");
    assert_eq!(
        (fs::read_to_string(group.join("io.weight")).expect("there"), tree.read("sda", "queue/read_ahead_kb")),
        ("1".to_owned(), "777".to_owned())
    );
    let damaged = damaged_journals(&tree.paths);
    assert_eq!(damaged.iter().map(|one| one.lost).collect::<Vec<_>>(), [Some(wrong.len())]);
}

#[test]
fn journals_that_others_may_write_and_what_is_no_file_are_not_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let tree = FixtureTree::new();
    let line = || {
        let device = tree.paths.sysfs.join("block/sda");
        (
            "entry",
            serde_json::json!({
                "device": device, "backing_file": null, "instance": null, "knob": "read_ahead_kb", "original": "777",
                "ours": null,
            }),
        )
    };
    let file = write_journal(&tree.paths, &[line()]);
    let mode = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("changed");
    mode(&file, 0o666);
    assert_eq!(restore_leftovers(&tree.paths).expect("nothing to undo"), vec![]);
    assert_eq!(damaged_journals(&tree.paths).len(), 1);
    // A FIFO would keep the reader for ever, and a link leads elsewhere.
    fs::rename(&file, tree.dir.path().join("elsewhere")).expect("moved");
    rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0)
        .expect("a FIFO");
    std::os::unix::fs::symlink(tree.dir.path().join("elsewhere"), tree.paths.journal.join("a.1.json")).expect("a link");
    assert_eq!(restore_leftovers(&tree.paths).expect("nothing to undo"), vec![]);
    assert_eq!(damaged_journals(&tree.paths).len(), 2);
    fs::remove_file(&file).expect("there");
    // Of a folder that others may write nothing is done.
    write_journal(&tree.paths, &[line()]);
    mode(&tree.paths.journal, 0o777);
    let refused = restore_leftovers(&tree.paths).expect_err("others may write it");
    assert!(brisk_core::causes::in_one_line(&refused).contains("others may write it"), "{refused:?}");
    assert!(Journal::open("briskd", &tree.paths).is_err());
    assert_eq!(tree.read("sda", "queue/read_ahead_kb"), "128");
    mode(&tree.paths.journal, 0o700);
    assert_eq!(restore_leftovers(&tree.paths).expect("undone").len(), 1);
    assert_eq!(tree.read("sda", "queue/read_ahead_kb"), "777");
}
