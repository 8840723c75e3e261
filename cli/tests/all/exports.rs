//! Exports of records, held against the rules of their formats and against the programs that read them.

#[allow(dead_code, reason = "it is a program as well")]
#[path = "../../../machine/record/examples/odd_records.rs"]
mod odd_records;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{PoisonError, RwLock};

use brisk_requires::requires;

/// Held to write records, and shared to start programs: a child has the lock of a record that is being written until it
/// has become its program.
static FORKS: RwLock<()> = RwLock::new(());

fn output(command: &mut Command) -> Output {
    let started = {
        let _shared = FORKS.read().unwrap_or_else(PoisonError::into_inner);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    };
    started.and_then(std::process::Child::wait_with_output).expect("the program runs")
}

/// The export of a record, of which a part may be lost.
fn export(record: &Path, format: &str) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk"));
    command.args(["monitor", "export", "--format", format, "--output", "-"]).arg(record);
    let output = output(&mut command);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// All records, below a directory that lives as long as they are read.
fn records() -> (tempfile::TempDir, Vec<PathBuf>) {
    let dir = tempfile::tempdir().expect("a directory");
    let _alone = FORKS.write().unwrap_or_else(PoisonError::into_inner);
    let records = odd_records::write(dir.path()).expect("written");
    (dir, records)
}

#[test]
fn times_of_each_openmetrics_series_ascend_whatever_the_record_holds() {
    let (_dir, records) = records();
    for record in records {
        let text = String::from_utf8(export(&record, "openmetrics")).expect("UTF-8");
        assert!(text.ends_with("\n# EOF\n"), "{}", record.display());
        let mut last: HashMap<&str, f64> = HashMap::new();
        let (mut order, mut samples) = (Vec::new(), 0);
        for line in text.split_terminator('\n').filter(|line| !line.starts_with('#')) {
            let (rest, time) = line.rsplit_once(' ').expect("a time");
            let (series, value) = rest.rsplit_once(' ').expect("a value");
            let (time_s, value) = (time.parse::<f64>().expect("a time"), value.parse::<f64>().expect("a value"));
            assert!(value.is_finite(), "{line}");
            let before_s = last.insert(series, time_s);
            assert!(
                before_s.is_none_or(|before_s| before_s < time_s),
                "{}: {line} after {before_s:?}",
                record.display()
            );
            if order.last() != Some(&series) {
                order.push(series);
            }
            samples += 1;
        }
        let unique: BTreeSet<&&str> = order.iter().collect();
        assert_eq!(unique.len(), order.len(), "{}: a series is in two places", record.display());
        assert!(samples > 0, "{}", record.display());
    }
}

#[test]
fn rows_of_csv_have_all_columns_once_and_each_session_ascends() {
    let (_dir, records) = records();
    for record in records {
        let table = export(&record, "csv");
        let mut reader = csv::Reader::from_reader(&table[..]);
        let titles = reader.headers().expect("a heading").clone();
        let unique: BTreeSet<&str> = titles.iter().collect();
        assert_eq!(unique.len(), titles.len(), "{}: a column is there twice", record.display());
        let mut last: HashMap<String, u64> = HashMap::new();
        for row in reader.records() {
            let row = row.expect("as many cells as columns");
            let end_ns: u64 = row[2].parse().expect("nanoseconds");
            let before_ns = last.insert(row[0].to_owned(), end_ns);
            assert!(before_ns.is_none_or(|before_ns| before_ns < end_ns), "{}", record.display());
            assert!(row.iter().skip(3).all(|cell| cell.is_empty() || cell.parse::<f64>().is_ok_and(f64::is_finite)));
        }
        assert!(!last.is_empty(), "{}", record.display());
    }
}

#[test]
fn promtool_makes_blocks_of_each_record() {
    requires!(Program("promtool"));
    let (dir, records) = records();
    for record in records {
        let metrics = record.with_extension("om");
        std::fs::write(&metrics, export(&record, "openmetrics")).expect("written");
        let blocks = dir.path().join("blocks");
        let mut promtool = Command::new("promtool");
        let output = output(promtool.args(["tsdb", "create-blocks-from", "openmetrics"]).args([&metrics, &blocks]));
        assert!(output.status.success(), "{}: {}", record.display(), String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_unit_for_node_exporter_writes_a_whole_file_also_when_no_daemon_runs() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("brisk.prom");
    std::fs::write(&file, "brisk_rounds_total 7\n").expect("an earlier file");
    let unit = include_str!("../../../packaging/brisk-metrics.service");
    let words = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/brisk ")).expect("a command");
    let words =
        words.split(' ').map(|word| if word.ends_with("/brisk.prom") { file.as_os_str() } else { word.as_ref() });
    let mut brisk = Command::new(env!("CARGO_BIN_EXE_brisk"));
    let output = output(brisk.args(words).env("BRISK_RUN_DIR", dir.path()));
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(unit.contains("\nSuccessExitStatus=1 2\n"));
    let text = std::fs::read_to_string(&file).expect("written");
    assert!(text.contains("# TYPE brisk_up gauge\nbrisk_up 0\n") && !text.contains("rounds"), "{text}");
    assert_eq!(std::fs::read_dir(dir.path()).expect("a directory").count(), 1, "nothing half-written stays");
}
