//! The format stays as it is: a file of it, with what is read of it next to it. A change that fails here needs a new
//! kind of frame, or a new version of the format and its file.

use std::fs;
use std::path::{Path, PathBuf};

use brisk_record::{Item, Lost, Reader};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// One line of JSON for each item.
fn lines(path: &Path) -> String {
    let mut reader = Reader::open(path).expect("a record");
    let line = |item| match item {
        Item::Session(session) => serde_json::to_string(&session),
        Item::Snapshot(snapshot) => serde_json::to_string(&snapshot),
        Item::End(end) => serde_json::to_string(&end),
        other => panic!("no such item in format 1: {other:?}"),
    };
    let text = reader.by_ref().map(|item| line(item.expect("readable")).expect("JSON") + "\n").collect();
    assert_eq!(reader.lost(), Lost::default());
    text
}

#[test]
fn format_1_is_read_as_ever() {
    let read = lines(&fixture("format-1.brisk"));
    let then = fs::read_to_string(fixture("format-1.json")).expect("the fixture");
    for (now, then) in read.lines().zip(then.lines()) {
        assert_eq!(now, then);
    }
    assert_eq!(read.lines().count(), then.lines().count());
}
