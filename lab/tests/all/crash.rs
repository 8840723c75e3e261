//! The program that writes until a power cut and checks what is left, on this machine: without devices nothing is cut,
//! so that what a cut can do is done here by hand.

use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::process::{Command, Output};

use brisk_requires::requires;
use serde_json::Value;

struct Bed(tempfile::TempDir);

impl Bed {
    /// With files and databases of a run.
    fn new(settings: &[&str]) -> Self {
        let bed = Self(tempfile::tempdir().expect("a directory"));
        for name in ["files", "state"] {
            std::fs::create_dir(bed.path(name)).expect("a directory");
        }
        brisk_requires::executable(&bed.path("crash"), brisk_lab::cures::CRASH);
        bed.run(settings);
        bed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, command: &str, settings: &[&str]) -> Output {
        let mut program = Command::new(self.path("crash"));
        program.arg(command).args(["files", "index.db", "kept.db", "state"].map(|name| self.path(name)));
        program.args(settings).output().expect("it starts")
    }

    fn run(&self, settings: &[&str]) {
        let output =
            self.command("run", &[&["seed=1", "moment=1000", "pause=200", "synchronous=off"], settings].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// What is found in `files`, `index` and `kept`.
    fn check(&self, settings: &[&str]) -> [Value; 3] {
        let output = self.command("check", settings);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line: Value = serde_json::from_str(text.strip_prefix("@ ").expect("a line for the host")).expect("JSON");
        [0, 1, 2].map(|part| line["cut"]["parts"][part].clone())
    }

    fn sql(&self, database: &str, text: &str) {
        let output = Command::new("sqlite3").arg(self.path(database)).arg(text).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// A file of the cache that was acknowledged.
    fn file(&self) -> PathBuf {
        let acknowledged = std::fs::read_to_string(self.path("state/files")).expect("it is there");
        let line = acknowledged.lines().nth(1).expect("the first one");
        let number: u64 = line.split(' ').next().and_then(|number| number.parse().ok()).expect("a number");
        self.path(&format!("files/slot{:02}", number % 24))
    }
}

fn damage(part: &Value) -> &str {
    part["damage"].as_str().unwrap_or_default()
}

#[test]
fn what_is_whole_is_found_whole_and_a_second_run_goes_on() {
    requires!(Program("sqlite3"));
    for settings in [&["journal=wal"][..], &["journal=persist", "batch=10"]] {
        let bed = Bed::new(settings);
        for _ in 0..2 {
            for part in bed.check(settings) {
                assert_eq!((part["lost"].as_u64(), &part["damage"]), (Some(0), &Value::Null), "{part}");
                assert!(part["acknowledged"].as_u64().is_some_and(|count| count > 0), "{part}");
            }
            bed.run(settings);
        }
    }
}

#[test]
fn transactions_that_are_gone_count_as_lost_with_their_age() {
    requires!(Program("sqlite3"));
    let bed = Bed::new(&[]);
    let acknowledged =
        std::fs::read_to_string(bed.path("state/index")).expect("it is there").lines().count() as u64 - 1;
    for name in ["index.db", "index.db-journal"] {
        let _ = std::fs::remove_file(bed.path(name));
    }
    std::fs::remove_file(bed.file()).expect("it is there");
    let [files, index, kept] = bed.check(&[]);
    // The writer may have ended between the cut and its last acknowledgement.
    assert!(index["lost"].as_u64().is_some_and(|lost| lost > 0 && lost <= acknowledged), "{index}");
    assert!(index["age_us"].as_u64().is_some_and(|age_us| age_us > 0) && damage(&index).is_empty(), "{index}");
    assert_eq!((files["lost"].as_u64(), kept["lost"].as_u64()), (Some(1), Some(0)));
}

#[test]
fn a_database_that_is_no_prefix_is_damaged_and_is_made_anew() {
    requires!(Program("sqlite3"));
    for (change, words) in [
        ("delete from slot where id = (select max(id) from slot)", "no prefix"),
        ("update slot set x = zeroblob(300) where id = (select max(id) from slot)", "another content"),
        ("update state set last = last + 1", "no prefix"),
        ("drop table state", "no last row"),
    ] {
        let bed = Bed::new(&[]);
        bed.sql("kept.db", change);
        let found = bed.check(&[]);
        assert!(damage(&found[2]).contains(words) && damage(&found[1]).is_empty(), "{change}: {}", found[2]);
        assert!(!bed.path("kept.db").exists());
    }
    // Ten rows are one transaction.
    let bed = Bed::new(&["batch=10"]);
    bed.sql("index.db", "delete from slot where id = (select max(id) from slot); update state set last = last - 1");
    assert!(damage(&bed.check(&["batch=10"])[1]).contains("half a transaction"));
}

#[test]
fn damaged_bytes_of_databases_and_files_are_found() {
    requires!(Program("sqlite3"));
    let bed = Bed::new(&[]);
    // Of the database the root of its first tree, which is in use however little there is.
    for (path, at) in [(bed.path("index.db"), 100), (bed.file(), 100)] {
        let mut file = std::fs::File::options().write(true).open(path).expect("it is there");
        file.seek(SeekFrom::Start(at)).expect("seeks");
        file.write_all(&[0x55; 900]).expect("written");
    }
    let [files, index, _] = bed.check(&[]);
    assert!(damage(&files).contains("1 pages wrong"), "{files}");
    assert!(!damage(&index).is_empty(), "{index}");
}

#[test]
fn a_file_that_is_older_than_acknowledged_is_wrong_where_a_device_is_missing() {
    let bed = Bed::new(&[]);
    let read = || {
        let output = Command::new(bed.path("crash")).arg("read").arg(bed.path("files")).arg(bed.path("state")).output();
        String::from_utf8_lossy(&output.expect("it starts").stdout).into_owned()
    };
    assert!(read().contains("\"errors\":0,\"wrong\":0"));
    std::fs::remove_file(bed.file()).expect("it is there");
    assert!(read().contains("\"errors\":0,\"wrong\":1"));
}

#[test]
fn wrong_arguments_are_refused() {
    let bed = Bed::new(&[]);
    for (settings, words) in
        [(["batch=0"], "batch=0"), (["batch=201"], "batch=201"), (["fly=1"], "fly=1"), (["cut=/nowhere"], "/nowhere")]
    {
        let output = bed.command("run", &settings);
        assert_eq!(output.status.code(), Some(2), "{settings:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(words));
    }
}
