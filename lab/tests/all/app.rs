//! The program that does the storage work, on this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use brisk_lab::cures::paper::{CACHE_BYTES, DATABASE_BYTES};
use brisk_lab::cures::workload::{App, Step, sums, text};

struct Bed(tempfile::TempDir);

impl Bed {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("files")).expect("a directory");
        brisk_requires::executable(&dir.path().join("app"), brisk_lab::cures::APP);
        Self(dir)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, plan: &str, settings: &[&str]) -> Output {
        std::fs::write(self.path("plan"), plan).expect("written");
        let mut command = Command::new(self.path("app"));
        command.args(["plan", "files", "index.db", "kept.db"].map(|name| self.path(name))).args(settings);
        command.output().expect("it starts")
    }
}

fn number(output: &Output, name: &str) -> u64 {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line: serde_json::Value =
        serde_json::from_str(text.strip_prefix("@ ").expect("a line for the host")).expect("JSON");
    line["app"][name].as_u64().expect(name)
}

fn bytes(path: &Path) -> u64 {
    std::fs::metadata(path).expect("it is there").len()
}

/// Plays WebBench with a seed, checks what it leaves against the sums of its steps, and returns the bytes of both
/// databases.
fn played(seed: u64) -> [u64; 2] {
    let bed = Bed::new();
    let steps = App::WebBench.steps(seed, App::WebBench.shape().pages);
    let steps: Vec<Step> = steps.into_iter().filter(|step| !matches!(step, Step::Think { .. })).collect();
    // Syncs cost time alone.
    let settings = ["journal=persist", "synchronous=off"];
    assert!(bed.run(&text(&App::WebBench.preparation()), &settings).status.success());
    let output = bed.run(&text(&steps), &settings);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = sums(&steps);
    assert_eq!(number(&output, "files"), expected.files);
    assert_eq!(number(&output, "file_bytes"), expected.file_bytes);
    assert_eq!(number(&output, "transactions"), expected.index_writes + expected.kept_writes);
    let files: Vec<u64> =
        std::fs::read_dir(bed.path("files")).expect("readable").map(|file| bytes(&file.expect("one").path())).collect();
    assert_eq!((files.len() as u64, files.iter().sum::<u64>()), (expected.cached_files, expected.cached_bytes));
    assert!(expected.cached_bytes > CACHE_BYTES * 19 / 20);
    ["index.db", "kept.db"].map(|name| bytes(&bed.path(name)))
}

#[test]
fn runs_leave_the_cache_and_in_the_middle_the_databases_of_the_paper() {
    let runs: Vec<[u64; 2]> = (1..=5).map(played).collect();
    for (database, published) in [DATABASE_BYTES.0, DATABASE_BYTES.1].into_iter().enumerate() {
        let mut ratios: Vec<f64> = runs.iter().map(|run| run[database] as f64 / published as f64).collect();
        ratios.sort_by(f64::total_cmp);
        assert!((0.6..1.6).contains(&ratios[2]), "database {database}: {ratios:?}");
    }
}

#[test]
fn rows_of_a_batch_are_one_transaction_and_a_page_ends_it() {
    let bed = Bed::new();
    let plan = "start\nput i 1 10\nput i 2 10\nput i 3 10\npage\nput k 1 10\n";
    let of = |settings: &[&str]| number(&bed.run(plan, settings), "transactions");
    assert_eq!((of(&[]), of(&["batch=2"]), of(&["journal=wal", "batch=10"])), (4, 3, 2));
}

#[test]
fn time_without_storage_passes_and_is_counted() {
    let bed = Bed::new();
    let output = bed.run("start\nthink 20000\nthink 10000\n", &[]);
    assert!(number(&output, "think_ns") >= 30_000_000 && number(&output, "run_ns") >= 30_000_000);
}

#[test]
fn wrong_plans_and_steps_that_fail_are_reported() {
    let bed = Bed::new();
    for (plan, settings, status, words) in [
        ("start\nfly 1\n", vec![], 2, "line 2 of the plan: unknown step: fly 1"),
        ("start\nput x 1 2\n", vec![], 2, "no database 'x'"),
        ("start\nput i 1 99999999\n", vec![], 2, "larger than"),
        ("think 1\n", vec![], 2, "no step 'start'"),
        ("start\nremove 7\n", vec![], 1, "cannot remove"),
        ("start\nread 7\n", vec![], 1, "cannot open"),
        ("start\n", vec!["batch=0"], 2, "unknown argument 'batch=0'"),
        ("start\n", vec!["journal=paper"], 1, "the journal's mode"),
    ] {
        let output = bed.run(plan, &settings);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{plan}: {said}");
        assert!(said.contains(words), "{plan}: {said}");
    }
}
