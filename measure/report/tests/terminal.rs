//! The whole text of one document of each kind. After a wanted change: `SNAPSHOTS=overwrite cargo test -p brisk-report`.

mod samples;

use brisk_results::Document;
use snapbox::{assert_data_eq, file};

#[test]
fn a_benchmark_reads_well() {
    let text = brisk_report::terminal(&Document::Bench(Box::new(samples::bench())), Some(110));
    assert_data_eq!(text, file!["snapshots/bench.txt"]);
}

#[test]
fn a_slowdown_study_reads_well() {
    let text = brisk_report::terminal(&Document::Slowdown(Box::new(samples::slowdown())), Some(110));
    assert_data_eq!(text, file!["snapshots/slowdown.txt"]);
}

#[test]
fn a_concurrency_study_reads_well() {
    let text = brisk_report::terminal(&Document::Concurrency(Box::new(samples::concurrency())), Some(110));
    assert_data_eq!(text, file!["snapshots/concurrency.txt"]);
}

#[test]
fn a_scheduler_study_reads_well() {
    let text = brisk_report::terminal(&Document::Schedulers(Box::new(samples::schedulers())), Some(110));
    assert_data_eq!(text, file!["snapshots/schedulers.txt"]);
}

#[test]
fn a_footprint_study_reads_well() {
    let text = brisk_report::terminal(&Document::Footprint(Box::new(samples::footprint())), Some(110));
    assert_data_eq!(text, file!["snapshots/footprint.txt"]);
}

#[test]
fn an_ugly_benchmark_reads_well_on_a_narrow_terminal() {
    let text = brisk_report::terminal(&samples::ugly()[0], Some(72));
    assert!(text.lines().all(|line| line.chars().count() <= 72), "{text}");
    assert_data_eq!(text, file!["snapshots/ugly.txt"]);
}
