//! Days of use on a model of a phone: the engine against the kernel alone and against writing out all and reading back
//! all.

use std::collections::BTreeSet;

use brisk_core::random::Random;

use super::phone::{Phone, Profile, Totals};
use super::*;

/// Memory in pages: 96 MiB.
pub(super) const TOTAL_PAGES: u64 = 24 * 1024;
/// Returns to each app that are not counted: without knowledge, a return costs what it costs without the engine.
const WARM_TIMES: u64 = 2;
const RETURNS: u64 = 16;

/// A load: apps, the last of which may be a hog, and the returns to them.
pub(super) struct Load {
    pub(super) profiles: Vec<Profile>,
    pub(super) returns: Vec<Return>,
}

pub(super) struct Return {
    pub(super) app: usize,
    pub(super) touched: BTreeSet<u64>,
    pub(super) dwell_s: u64,
    is_counted: bool,
}

/// A hot set of clusters of some pages.
fn hot_set(random: &mut Random, pages: u64, hot_percent: u64) -> BTreeSet<u64> {
    let mut hot = BTreeSet::new();
    while (hot.len() as u64) < pages * hot_percent / 100 {
        let first = random.below(pages);
        (first..(first + 1 + random.below(12)).min(pages)).for_each(|page| {
            hot.insert(page);
        });
    }
    hot
}

/// What a return touches: nearly all of the hot set, and some other pages; the hot set drifts.
fn touch(random: &mut Random, profile: &mut Profile, drift_percent: u64) -> BTreeSet<u64> {
    let hot: Vec<u64> = profile.hot.iter().copied().collect();
    for page in hot {
        if random.below(100) < drift_percent {
            profile.hot.remove(&page);
            profile.hot.insert(random.below(profile.pages));
        }
    }
    let mut touched: BTreeSet<u64> = profile.hot.iter().copied().filter(|_| random.below(100) < 96).collect();
    touched.extend((0..profile.pages / 100).map(|_| random.below(profile.pages)));
    touched
}

/// Five to eight apps, returned to at random. Their hot sets fit into memory: it is merely tight. While `hog` says so,
/// by the number of the return, a further app that takes all memory but 12 MiB is in front between them: memory is
/// full.
pub(super) fn load(seed: u64, count: u64, hog: impl Fn(u64) -> bool) -> Load {
    let mut random = Random(seed);
    let apps = 5 + random.below(4);
    let size = TOTAL_PAGES * (18 + random.below(10)) / 10 / apps;
    let mut profiles: Vec<Profile> = (0..apps)
        .map(|_| {
            let pages = size * (60 + random.below(80)) / 100;
            let hot_percent = 3 + random.below(12);
            Profile { pages, hot: hot_set(&mut random, pages, hot_percent) }
        })
        .collect();
    let drift_percent = random.below(8);
    let first = profiles.clone();
    let hog_pages = TOTAL_PAGES - 3 * 1024;
    let mut returns = Vec::new();
    let warm = apps * WARM_TIMES;
    let mut front = 0;
    for at in 0..warm + count {
        let next = if at < warm { at % apps } else { (front + 1 + random.below(apps - 1)) % apps };
        let touched = touch(&mut random, &mut profiles[next as usize], drift_percent);
        returns.push(Return { app: next as usize, touched, dwell_s: 20 + random.below(100), is_counted: at >= warm });
        let dwell_s = 10 + random.below(240);
        if hog(at) {
            let (app, touched) = (profiles.len(), (0..hog_pages).collect());
            returns.push(Return { app, touched, dwell_s, is_counted: false });
        }
        front = next;
    }
    let mut profiles = first;
    profiles.push(Profile { pages: if hog(0) { hog_pages } else { 1 }, hot: BTreeSet::new() });
    Load { profiles, returns }
}

/// Runs a load; the returns that count.
fn run(load: &Load, config: Option<Config>) -> Totals {
    let mut phone = Phone::new(config, TOTAL_PAGES, &load.profiles);
    let mut counted = Totals::default();
    for one in &load.returns {
        let before = phone.totals;
        phone.returns(one.app, &one.touched, one.dwell_s);
        if one.is_counted {
            counted.add(&before, &phone.totals);
        }
    }
    counted
}

fn seconds(totals: &Totals) -> f64 {
    totals.return_us / 1e6
}

/// Times with the engine over those without, for some loads; the worst is shown where a test fails.
fn times(name: &str, seeds: std::ops::Range<u64>, hog: impl Fn(u64) -> bool) -> Vec<(u64, f64, f64)> {
    let of_seed = |seed: u64| {
        let load = load(seed, RETURNS, &hog);
        let (nothing, adaptive) = (run(&load, None), run(&load, Some(Config::default())));
        (seed, seconds(&nothing), seconds(&adaptive))
    };
    let times: Vec<(u64, f64, f64)> = seeds.map(of_seed).collect();
    let worst = times.iter().max_by(|a, b| (a.2 / a.1).total_cmp(&(b.2 / b.1)));
    println!("{name}: worst (seed, seconds without, seconds with): {worst:?}");
    times
}

#[test]
fn in_tight_memory_no_worse_than_doing_nothing() {
    for (seed, nothing_s, adaptive_s) in times("tight", 0..4, |_| false) {
        assert!(adaptive_s <= nothing_s * 1.05, "seed {seed}: {adaptive_s} s, and {nothing_s} s without");
    }
}

#[test]
fn in_tight_memory_after_full_memory_no_worse_than_doing_nothing() {
    // What was seen while memory was full holds for longer than it is true.
    for (seed, nothing_s, adaptive_s) in times("full, then tight", 0..2, |at| at < 16) {
        assert!(adaptive_s <= nothing_s * 1.05, "seed {seed}: {adaptive_s} s, and {nothing_s} s without");
    }
}

#[test]
fn in_full_memory_reads_at_most_what_it_needs() {
    for seed in 0..2 {
        let load = load(seed, RETURNS, |_| true);
        let (nothing, adaptive) = (run(&load, None), run(&load, Some(Config::default())));
        let (nothing_s, adaptive_s) = (seconds(&nothing), seconds(&adaptive));
        println!("full: seed {seed}: {nothing_s:.2} s without, {adaptive_s:.2} s with; {adaptive:?}");
        assert!(adaptive_s <= nothing_s * 0.7, "seed {seed}: {adaptive_s} s, and {nothing_s} s without");
        // Of what it reads by its own wish it wastes little, and altogether it reads less than the kernel's read-ahead.
        let Totals { ahead_pages, useful_pages, needed_pages, read_pages, .. } = adaptive;
        assert!(ahead_pages > needed_pages / 2 && ahead_pages <= needed_pages * 5 / 4, "seed {seed}: {adaptive:?}");
        assert!(useful_pages * 4 >= ahead_pages * 3, "seed {seed}: {adaptive:?}");
        assert!(read_pages <= nothing.read_pages, "seed {seed}: {read_pages} of {}", nothing.read_pages);
    }
}

#[test]
fn writing_out_all_and_reading_back_all_loses_to_both() {
    // The measured trap: the paper's way on apps whose returns touch a tenth.
    let load = load(3, RETURNS, |_| false);
    let [nothing, adaptive] = [None, Some(Config::default())].map(|config| run(&load, config));
    let paper = run(&load, Some(Config { mode: Mode::Paper, ..Config::default() }));
    let found = [seconds(&adaptive), seconds(&nothing), seconds(&paper)];
    println!("paper: adaptive, nothing, paper: {found:?} s");
    assert!(found[0] < found[1] && found[1] < found[2], "{found:?}");
}
