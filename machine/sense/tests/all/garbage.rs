//! Every reader over a machine one of whose files holds garbage: it answers or names the file, and never panics.

use crate::readers;
use std::cell::Cell;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use brisk_sense::{DeviceNumber, Error, Sense};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Copies a tree with its links, and lists its files.
fn copy(from: &Path, to: &Path, files: &mut Vec<PathBuf>) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().expect("a type");
        if kind.is_symlink() {
            symlink(fs::read_link(&source).expect("a link"), &target).expect("a link");
        } else if kind.is_dir() {
            copy(&source, &target, files);
        } else {
            fs::copy(&source, &target).expect("a file");
            files.push(target);
        }
    }
}

/// Calls every reader; returns the errors.
fn read_all(sense: &Sense) -> Vec<Error> {
    let parts = readers::Parts {
        devices: ["mmcblk0", "mmcblk0boot0", "dm-0", "zram0", "loop7"].map(str::to_owned).into(),
        numbers: [(179, 0), (179, 3), (253, 0), (254, 0)].map(|(major, minor)| DeviceNumber { major, minor }).into(),
        processes: vec![4711],
        group: Some("/sys/fs/cgroup/uid_10100".into()),
    };
    for supply in sense.power_supplies().into_iter().flatten() {
        let _ = supply.power_uw();
    }
    readers::read_all(sense, &parts).into_iter().map(|(_, error)| error).collect()
}

#[test]
fn garbage_in_one_file_is_named_and_harms_nothing_else() {
    let root = tempfile::tempdir().expect("a directory");
    let mut files = Vec::new();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/made-up-phone"), root.path(), &mut files);
    files.sort();
    let sense = Sense::new(root.path());
    let whole: Vec<String> = read_all(&sense).iter().map(Error::to_string).collect();
    assert_eq!(whole, Vec::<String>::new(), "the tree without garbage is read in full");

    let hits = Cell::new(0);
    let mut runner = TestRunner::default();
    let garbage = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..80),
        "[0-9]{18,40}( [0-9]{1,40}){0,20}\n".prop_map(String::into_bytes),
        "-[0-9]{1,25}\n".prop_map(String::into_bytes),
        Just(Vec::new()),
    ];
    runner
        .run(&(any::<prop::sample::Index>(), garbage), |(index, garbage)| {
            let file = index.get(&files);
            let good = fs::read(file).expect("the file");
            fs::write(file, &garbage).expect("the file");
            let errors = read_all(&sense);
            fs::write(file, good).expect("the file");
            for error in errors {
                hits.set(hits.get() + 1);
                if let Error::Parse { path, .. } = &error {
                    let (path, file) = (path.canonicalize(), file.canonicalize());
                    prop_assert_eq!(path.expect("it was read"), file.expect("it was written"));
                }
            }
            Ok(())
        })
        .expect("no case fails");
    assert!(hits.get() > 0, "no garbage was noticed");
}
