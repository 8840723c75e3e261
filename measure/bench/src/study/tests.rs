use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::concurrency::parameter;
use super::footprint::{FIRST_RANGE_BYTES, drops};
use super::*;
use crate::results::{ConcurrencyPoint, FootprintPoint};

fn common(path: &std::path::Path) -> Common {
    Common { path: path.to_owned(), destroy_data: false, block_bytes: 4096, runs: 2, engine: None, seed: 3 }
}

fn measured<T>(measure: impl FnOnce(&Sense, &Control<'_>) -> Result<T>) -> Result<T> {
    let stop = AtomicBool::new(false);
    measure(
        &Sense::default(),
        &Control { stop: &stop, progress: &|done, _| assert!((0.0..=1.0).contains(&done), "{done}") },
    )
}

#[test]
fn slowdown_reports_each_pattern_and_number_of_streams() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = slowdown::Options { common: common(dir.path()), stream_bytes: 64 << 10, streams: vec![1, 2] };
    let report = measured(|sense, control| slowdown::run(sense, &options, control)).expect("measured");
    let rows: Vec<_> = report.rows.iter().map(|row| (row.pattern, row.streams)).collect();
    assert_eq!(rows, [(Pattern::Sequential, 1), (Pattern::Sequential, 2), (Pattern::Random, 1), (Pattern::Random, 2)]);
    for row in &report.rows {
        assert_eq!((row.read_slowdown.count, row.write_slowdown.count), (2, 2));
        assert_eq!(row.read_peers_us.is_some(), row.streams > 1);
    }
    // The file, and per pattern and run at least the quotas; streams continue beyond them.
    assert!(report.header.written_bytes >= (4 + 2 * 2 * (2 + 1 + 2 + 2)) * (64 << 10), "{:?}", report.header);
    assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 0);
}

#[test]
fn concurrency_reports_each_kind_and_four_parameters() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = concurrency::Options { common: common(dir.path()), stream_bytes: 64 << 10, streams: vec![2, 4] };
    let report = measured(|sense, control| concurrency::run(sense, &options, control)).expect("measured");
    assert_eq!((report.points.len(), report.parameters.len()), (8, 4));
    assert!(report.points.iter().all(|point| point.speedup.count == 2));
    // The file of 4 parts, and per pattern, run and way (serial, concurrent) 2 + 4 writing streams.
    assert_eq!(report.header.written_bytes, (4 + 2 * 2 * 2 * 6) * (64 << 10));
}

#[test]
fn footprint_reports_each_range_up_to_the_whole() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = footprint::Options {
        common: common(dir.path()),
        largest: exactly(24 << 20),
        requests: 16,
        patience: None,
        precondition_bytes: 1 << 20,
    };
    let report = measured(|sense, control| footprint::run(sense, &options, control)).expect("measured");
    let ranges: Vec<_> = report.points.iter().map(|point| point.range_bytes >> 20).collect();
    assert_eq!(ranges, [8, 16, 24]);
    assert_eq!(report.precondition_bytes, 1 << 20);
    assert_eq!(report.header.written_bytes, (24 << 20) + 2 * 3 * ((1 << 20) + 16 * 4096));
    let cut = |report: &crate::results::FootprintReport| report.header.warnings.iter().any(|w| w.code == "cut_short");
    assert!(!cut(&report));
    let options =
        footprint::Options { patience: Some(std::time::Duration::ZERO), largest: exactly(16 << 20), ..options };
    let report = measured(|sense, control| footprint::run(sense, &options, control)).expect("measured");
    assert!(cut(&report) && report.points.iter().all(|point| point.bandwidth_bytes_per_s.median > 0.0));
}

#[test]
fn impossible_studies_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let good = slowdown::Options { common: common(dir.path()), stream_bytes: 64 << 10, streams: vec![1] };
    for (bad, word) in [
        (slowdown::Options { stream_bytes: 0, ..good.clone() }, "0 bytes"),
        (slowdown::Options { stream_bytes: 5000, ..good.clone() }, "multiple of the 4096"),
        (slowdown::Options { stream_bytes: 1 << 63, ..good.clone() }, "larger than any device"),
        (slowdown::Options { streams: vec![], ..good.clone() }, "1 to 64"),
        (slowdown::Options { streams: vec![1, 0], ..good.clone() }, "1 to 64"),
        (slowdown::Options { streams: vec![65], ..good.clone() }, "1 to 64"),
        (slowdown::Options { common: Common { runs: 0, ..good.common.clone() }, ..good.clone() }, "0 runs"),
        (
            slowdown::Options { common: Common { block_bytes: 3, ..good.common.clone() }, ..good.clone() },
            "power of two",
        ),
    ] {
        let error = measured(|sense, control| slowdown::run(sense, &bad, control)).expect_err(word).to_string();
        assert!(error.contains(word), "{error}");
    }
    let small = footprint::Options {
        common: common(dir.path()),
        largest: exactly(FIRST_RANGE_BYTES),
        requests: 1,
        patience: None,
        precondition_bytes: 0,
    };
    let error = measured(|sense, control| footprint::run(sense, &small, control)).expect_err("one range").to_string();
    assert!(error.contains("two ranges"), "{error}");
}

#[test]
fn an_impossible_search_is_refused_before_the_first_write() {
    let dir = tempfile::tempdir().expect("a directory");
    let good = frontier::Options {
        common: common(dir.path()),
        budget: std::time::Duration::from_secs(10),
        written_bytes_max: None,
        size_bytes: frontier::SIZE_BYTES,
        write_min_percent: 90.0,
        writes_wait_max_ms: 100,
        schedulers: Vec::new(),
    };
    let paths = brisk_act::Paths::with_run_dir(dir.path().join("run"));
    for (bad, word) in [
        (frontier::Options { write_min_percent: 0.0, ..good.clone() }, "0 % of the writes"),
        (frontier::Options { write_min_percent: f64::NAN, ..good.clone() }, "1 to 100"),
        (frontier::Options { size_bytes: 4096, ..good.clone() }, "too small"),
        (frontier::Options { writes_wait_max_ms: 0, ..good.clone() }, "1 ms or more"),
        (frontier::Options { common: Common { block_bytes: 2 << 20, ..good.common.clone() }, ..good.clone() }, "1M"),
    ] {
        let error = measured(|sense, control| frontier::run(sense, &paths, &bad, control)).expect_err(word).to_string();
        assert!(error.contains(word), "{error}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 0);
}

#[test]
fn a_set_stop_flag_ends_each_study_without_a_result() {
    let dir = tempfile::tempdir().expect("a directory");
    let stop = AtomicBool::new(false);
    // Set by the first measurement after the preparation.
    let control = Control { stop: &stop, progress: &|_, doing| stop.store(doing != "preparing", Ordering::Relaxed) };
    let sense = Sense::default();
    let options = slowdown::Options { common: common(dir.path()), stream_bytes: 1 << 20, streams: vec![2] };
    assert!(matches!(slowdown::run(&sense, &options, &control), Err(Error::Stopped)));
    stop.store(false, Ordering::Relaxed);
    let options = concurrency::Options { common: common(dir.path()), stream_bytes: 1 << 20, streams: vec![2] };
    assert!(matches!(concurrency::run(&sense, &options, &control), Err(Error::Stopped)));
    assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 0);
}

/// The parameter from points of one kind: (streams, low, median).
fn race(points: &[(u32, f64, f64)]) -> u32 {
    let summary = |low: f64, median: f64| Summary { low, ..Summary::of(&[median]).expect("one") };
    let points: Vec<ConcurrencyPoint> = points
        .iter()
        .map(|(streams, low, median)| ConcurrencyPoint {
            pattern: Pattern::Random,
            direction: Direction::Read,
            streams: *streams,
            serial_s: summary(1.0, 1.0),
            concurrent_s: summary(1.0, 1.0),
            speedup: summary(*low, *median),
        })
        .collect();
    parameter(&points, Pattern::Random, Direction::Read).streams
}

#[test]
fn the_fewest_streams_within_noise_of_the_best_win() {
    // The dissertation's random reads: best at 4.
    assert_eq!(race(&[(2, 1.3, 1.35), (4, 1.5, 1.55), (8, 1.4, 1.45), (16, 1.2, 1.3)]), 4);
    // 8 is best, but 4 reaches its interval.
    assert_eq!(race(&[(2, 1.3, 1.35), (4, 1.5, 1.55), (8, 1.5, 1.6)]), 4);
    // Narrow intervals, but closer than two percent.
    assert_eq!(race(&[(2, 1.98, 1.99), (4, 2.01, 2.02)]), 2);
    // No gain: one stream.
    assert_eq!(race(&[(2, 0.9, 0.95), (4, 0.7, 0.8)]), 1);
    assert_eq!(race(&[(2, 0.95, 1.01)]), 1);
    assert_eq!(race(&[]), 1);
}

fn curve(rates: &[f64]) -> Vec<FootprintPoint> {
    let ranges = std::iter::successors(Some(FIRST_RANGE_BYTES), |range| Some(range * 2));
    let bandwidth = |rate: f64| Summary::of(&[rate]).expect("finite");
    ranges
        .zip(rates)
        .map(|(range_bytes, r)| FootprintPoint { range_bytes, bandwidth_bytes_per_s: bandwidth(*r) })
        .collect()
}

#[test]
fn drops_are_found_where_throughput_falls_permanently() {
    let mib = |rates: &[f64]| -> Vec<(u64, f64)> {
        drops(&curve(rates)).iter().map(|drop| (drop.after_range_bytes >> 20, drop.factor)).collect()
    };
    for (rates, expected) in [
        // One regime.
        (vec![10.0, 10.2, 9.9, 10.4], vec![]),
        // A log-block card: one sharp fall.
        (vec![10.0, 10.0, 1.0, 1.0, 1.0], vec![(16, 10.0)]),
        // Two regime changes.
        (vec![8.0, 8.0, 8.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.5], vec![(32, 4.0), (1024, 4.0)]),
        // A slope over several ranges is one fall.
        (vec![9.0, 6.0, 4.0, 3.0, 3.0], vec![(8, 3.0)]),
        // A dip is no permanent drop, and a small loss is none at all.
        (vec![10.0, 3.0, 10.0, 10.0], vec![]),
        (vec![10.0, 8.0, 8.0, 8.0], vec![]),
        (vec![10.0], vec![]),
        (vec![], vec![]),
    ] {
        assert_eq!(mib(&rates), expected, "{rates:?}");
    }
}

proptest! {
    #[test]
    fn drops_are_scale_invariant_and_go_down(rates in prop::collection::vec(0.1f64..100.0, 0..12)) {
        let found = drops(&curve(&rates));
        let scaled: Vec<f64> = rates.iter().map(|rate| rate * 8.0).collect();
        prop_assert_eq!(&found, &drops(&curve(&scaled)));
        prop_assert!(found.iter().all(|drop| drop.factor >= footprint::DROP_FACTOR));
        prop_assert!(found.windows(2).all(|w| w[0].after_range_bytes < w[1].after_range_bytes));
    }

    #[test]
    fn a_parameter_is_one_of_the_candidates(medians in prop::collection::vec(0.2f64..4.0, 0..6)) {
        let points: Vec<(u32, f64, f64)> =
            medians.iter().enumerate().map(|(i, m)| (2 << i, m * 0.95, *m)).collect();
        let winner = race(&points);
        prop_assert!(winner == 1 || points.iter().any(|(streams, ..)| *streams == winner));
    }
}
