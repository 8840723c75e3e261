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
fn a_frontier_study_reads_well() {
    let text = brisk_report::terminal(&Document::Frontier(Box::new(samples::frontier())), Some(110));
    assert_data_eq!(text, file!["snapshots/frontier.txt"]);
}

#[test]
fn a_profile_reads_well() {
    let text = brisk_report::terminal(&Document::Profile(Box::new(samples::profile())), Some(110));
    assert_data_eq!(text, file!["snapshots/profile.txt"]);
}

#[test]
fn the_kernel_lab_reads_well() {
    let text = brisk_report::terminal(&Document::Kernel(Box::new(samples::kernel())), Some(130));
    assert_data_eq!(text, file!["snapshots/kernel.txt"]);
}

#[test]
fn the_kernel_lab_with_aims_reads_well() {
    let text = brisk_report::terminal(&Document::Kernel(Box::new(samples::kernel_bench())), Some(130));
    assert_data_eq!(text, file!["snapshots/kernel-bench.txt"]);
}

#[test]
fn a_launch_reads_well() {
    let text = brisk_report::terminal(&Document::Launch(Box::new(samples::apps::launch())), Some(110));
    assert_data_eq!(text, file!["snapshots/launch.txt"]);
}

#[test]
fn two_set_ups_of_a_launch_read_well() {
    let text = brisk_report::terminal(&Document::Launch(Box::new(samples::apps::launch_vs())), Some(110));
    assert_data_eq!(text, file!["snapshots/launch-vs.txt"]);
}

#[test]
fn latencies_read_well() {
    let text = brisk_report::terminal(&Document::Latency(Box::new(samples::apps::latency())), Some(110));
    assert_data_eq!(text, file!["snapshots/latency.txt"]);
}

#[test]
fn a_suite_reads_well() {
    let text = brisk_report::terminal(&Document::Suite(Box::new(samples::apps::suite())), Some(110));
    assert_data_eq!(text, file!["snapshots/suite.txt"]);
}

#[test]
fn a_what_if_study_reads_well() {
    let text = brisk_report::terminal(&Document::WhatIf(Box::new(samples::apps::what_if())), Some(110));
    assert_data_eq!(text, file!["snapshots/what-if.txt"]);
}

#[test]
fn a_proof_reads_well() {
    let text = brisk_report::terminal(&Document::Prove(Box::new(samples::apps::prove())), Some(110));
    assert_data_eq!(text, file!["snapshots/prove.txt"]);
}

#[test]
fn an_ugly_launch_reads_well_on_a_narrow_terminal() {
    let ugly = samples::ugly();
    let launch = ugly.iter().find(|d| matches!(d, Document::Launch(_))).expect("a sample");
    assert_data_eq!(brisk_report::terminal(launch, Some(72)), file!["snapshots/ugly-launch.txt"]);
}

#[test]
fn no_line_about_apps_is_wider_than_the_terminal() {
    let about_apps = |d: &Document| {
        matches!(
            d,
            Document::Launch(_) | Document::Latency(_) | Document::Suite(_) | Document::WhatIf(_) | Document::Prove(_)
        )
    };
    for width in [60, 72, 80, 100, 132, 200] {
        for document in samples::all().iter().chain(&samples::ugly()).filter(|d| about_apps(d)) {
            let text = brisk_report::terminal(document, Some(width));
            let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > usize::from(width)).collect();
            assert!(wide.is_empty(), "wider than {width}: {wide:#?}");
        }
    }
}

#[test]
fn an_ugly_benchmark_reads_well_on_a_narrow_terminal() {
    let text = brisk_report::terminal(&samples::ugly()[0], Some(72));
    assert!(text.lines().all(|line| line.chars().count() <= 72), "{text}");
    assert_data_eq!(text, file!["snapshots/ugly.txt"]);
}
