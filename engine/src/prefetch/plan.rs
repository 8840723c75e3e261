//! What is read ahead of a launch, and in which order.
//!
//! Adaptive: the pages that launches use with a chance of `use_min_percent`, in the order in which they lie on the
//! device, so that the device gets long requests. Pages between two of them are read along where that takes less time
//! than another request:
//!
//! ```text
//! gap <= bandwidth x latency of a random read / requests that overlap
//! ```
//!
//! where as many requests overlap as the device serves at once, and no more than there are streams. (Measured on the
//! emulated S5: reading all that a launch leaves in memory, twice the bytes that it uses, takes 1.2 times as long as
//! reading what it uses.) All of it takes at most a
//! share of the memory that is available; where that is less than what launches use, the likeliest pages are read, and
//! of equal ones those of files that few of the apps launched last share, since the others are the likeliest to be in
//! memory. The pieces come in *windows* of `window_mib`: between two windows the engine checks whether the launch goes
//! on as expected.
//!
//! Paper: all pages that the last learned launch used, in the order of paths and pages, by one stream (FAST '11,
//! section 4).
//!
//! Properties, against a naive plan page by page: `each_likely_page_is_read_once_and_others_only_in_gaps`;
//! `pieces_are_in_the_order_of_the_device`; `a_plan_keeps_its_budget_and_windows`.

use brisk_core::device::Speeds;
use brisk_core::launch::{Piece, PrefetchFile};
use brisk_core::pages::{MappedFile, PageRange};

use crate::prefetch::config::{Config, Mode};
use crate::prefetch::history::Span;
use crate::prefetch::learned::{AppLaunches, Learned};

/// Longest piece: the largest request that flash devices take.
pub const PIECE_BYTES: u64 = 512 << 10;
const MIB: u64 = 1 << 20;

/// What is read ahead.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    pub files: Vec<PrefetchFile>,
    pub windows: Vec<Vec<Piece>>,
    /// Pages of each file, ascending, gaps included; in the order of `files`.
    pub pages: Vec<Vec<PageRange>>,
    pub streams: u8,
    /// Sum of the pieces.
    pub size_bytes: u64,
}

/// Adjacent pages of a file that are read together.
#[derive(Debug, Clone, Copy)]
struct Run {
    file: usize,
    first_page: u64,
    pages: u64,
    physical_page: Option<u32>,
}

/// Plans for `app`, one of the apps of `learned`.
#[must_use]
pub fn plan(config: &Config, learned: &Learned, app: &AppLaunches, page_bytes: u64, available_bytes: u64) -> Plan {
    let page_bytes = page_bytes.max(1);
    match config.mode {
        Mode::Paper => {
            let last = |span: &Span| span.history & 1 == 1;
            let runs = runs(app, 0, |file, _| app.files[file].spans.spans().iter().copied().filter(last).collect());
            assembled(app, runs, page_bytes, u64::MAX, 1)
        }
        Mode::Adaptive => {
            let budget_bytes = (available_bytes as f64 * config.memory_max_percent / 100.0) as u64;
            let likely = likely(config, app, budget_bytes / page_bytes, |file| learned.sharers(file));
            let mut runs = runs(app, gap_pages(config, page_bytes), |file, _| likely[file].clone());
            runs.sort_by_key(|run| {
                let device = app.files[run.file].file.device;
                (run.physical_page.is_none(), device, run.physical_page, run.file, run.first_page)
            });
            assembled(app, runs, page_bytes, config.window_mib.saturating_mul(MIB), config.streams)
        }
    }
}

/// Pages between two ranges that are read along.
#[must_use]
pub fn gap_pages(config: &Config, page_bytes: u64) -> u64 {
    let Speeds { random_read_us, read_mib_per_s, parallel_reads, .. } = config.speeds();
    let bytes_per_us = read_mib_per_s * MIB as f64 / 1e6;
    let overlap = f64::from(config.streams).min(parallel_reads).max(1.0);
    let gap_bytes = bytes_per_us * random_read_us / overlap;
    (gap_bytes / page_bytes as f64) as u64
}

/// The likely spans of each file that fit into so many pages. A user waits for this: other apps are compared only for
/// the chance of which some spans do not fit.
fn likely(
    config: &Config,
    app: &AppLaunches,
    budget_pages: u64,
    mut sharers: impl FnMut(&MappedFile) -> usize,
) -> Vec<Vec<Span>> {
    let least = config.use_min_percent / 100.0;
    let mut found: Vec<(u8, usize, Span)> = Vec::new();
    for (at, file) in app.files.iter().enumerate() {
        let likely =
            file.spans.spans().iter().filter(|span| span.chance(file.launches) >= least.max(f64::MIN_POSITIVE));
        found.extend(likely.map(|span| ((span.chance(file.launches) * 100.0) as u8, at, *span)));
    }
    found.sort_by_key(|(chance, at, span)| (std::cmp::Reverse(*chance), *at, span.first_page));
    let mut sum_pages = 0_u64;
    let is_cut = |(_, _, span): &&(u8, usize, Span)| {
        sum_pages = sum_pages.saturating_add(span.pages.into());
        sum_pages > budget_pages
    };
    if let Some((cut, ..)) = found.iter().find(is_cut).copied() {
        let begin = found.partition_point(|(chance, ..)| *chance > cut);
        let end = found.partition_point(|(chance, ..)| *chance >= cut);
        let mut of_file: Vec<Option<usize>> = vec![None; app.files.len()];
        let mut sharers = |at: usize| *of_file[at].get_or_insert_with(|| sharers(&app.files[at].file));
        let ties = &mut found[begin..end];
        // By place in the file at last, as before: the order is stable.
        ties.sort_by_key(|(_, at, _)| sharers(*at));
    }
    let mut of_file = vec![Vec::new(); app.files.len()];
    let mut rest = budget_pages;
    for (_, at, span) in found {
        let pages = u64::from(span.pages).min(rest);
        rest -= pages;
        if let Some(pages) = u32::try_from(pages).ok().filter(|pages| *pages > 0) {
            of_file[at].push(Span { pages, ..span });
        }
    }
    of_file.iter_mut().for_each(|spans| spans.sort_by_key(|span| span.first_page));
    of_file
}

/// The spans of all files as runs, joined over gaps within a file where they lie in the same distance on the device.
fn runs(app: &AppLaunches, gap_pages: u64, spans: impl Fn(usize, &AppLaunches) -> Vec<Span>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for file in 0..app.files.len() {
        for span in spans(file, app) {
            let (first_page, pages) = (u64::from(span.first_page), u64::from(span.pages));
            let new = Run { file, first_page, pages, physical_page: span.physical_page };
            match runs.last_mut() {
                Some(last) if last.file == file && continues(last, &new, gap_pages) => {
                    last.pages = first_page + pages - last.first_page;
                }
                _ => runs.push(new),
            }
        }
    }
    runs
}

fn continues(last: &Run, new: &Run, gap_pages: u64) -> bool {
    let is_near = new.first_page - (last.first_page + last.pages) <= gap_pages;
    let is_in_step = match (last.physical_page, new.physical_page) {
        (Some(last_page), Some(page)) => {
            u64::from(page).checked_sub(last_page.into()) == Some(new.first_page - last.first_page)
        }
        (None, None) => true,
        _ => false,
    };
    is_near && is_in_step
}

/// Cuts runs into pieces and windows.
fn assembled(app: &AppLaunches, runs: Vec<Run>, page_bytes: u64, window_bytes: u64, streams: u8) -> Plan {
    let mut plan = Plan { streams, ..Plan::default() };
    let mut place = vec![None; app.files.len()];
    let piece_pages = (PIECE_BYTES.min(window_bytes) / page_bytes).max(1);
    let (mut window, mut of_window_bytes) = (Vec::new(), 0_u64);
    for run in runs {
        let file = *place[run.file].get_or_insert_with(|| {
            plan.files.push(app.files[run.file].to_read());
            plan.pages.push(Vec::new());
            plan.files.len() - 1
        });
        plan.pages[file].push(PageRange { first_page: run.first_page, pages: run.pages });
        let end = run.first_page + run.pages;
        let mut begin = run.first_page;
        while begin < end {
            let pages = (end - begin).min(piece_pages);
            let size_bytes = pages * page_bytes;
            if of_window_bytes > 0 && of_window_bytes.saturating_add(size_bytes) > window_bytes {
                plan.windows.push(std::mem::take(&mut window));
                of_window_bytes = 0;
            }
            let file = u32::try_from(file).unwrap_or(u32::MAX);
            window.push(Piece { file, offset_bytes: begin.saturating_mul(page_bytes), size_bytes });
            of_window_bytes += size_bytes;
            plan.size_bytes += size_bytes;
            begin += pages;
        }
    }
    if !window.is_empty() {
        plan.windows.push(window);
    }
    plan.pages.iter_mut().for_each(|pages| pages.sort());
    plan
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use brisk_core::launch::{FileVersion, LaunchFiles, PlacedRange, UsedFile};
    use proptest::prelude::*;

    use super::*;
    use crate::prefetch::learned::How;

    const PAGE: u64 = 4096;

    /// A file: ranges by gap and length, and where it lies, if that is known.
    type File = (Vec<(u64, u64)>, Option<u64>);

    fn any_files() -> impl Strategy<Value = Vec<File>> {
        let file = (prop::collection::vec((1..20_u64, 1..200_u64), 1..8), prop::option::of(0..50_u64));
        prop::collection::vec(file, 1..6)
    }

    fn used(files: &[File], skipped: usize) -> LaunchFiles {
        let of = |(nth, (steps, place)): (usize, &File)| {
            let (mut at, mut ranges) = (0, Vec::new());
            for (gap, pages) in steps {
                ranges.push(PageRange { first_page: at + gap, pages: *pages });
                at += gap + pages;
            }
            let whole = PageRange { first_page: 0, pages: at };
            UsedFile {
                opened: false,
                file: MappedFile { device: 5, inode: nth as u64, path: format!("/usr/lib/{nth}") },
                version: FileVersion { changed_ns: 1, size_bytes: at * PAGE },
                used: ranges.into_iter().skip(skipped).collect(),
                placed: place
                    .map(|place| PlacedRange { range: whole, physical_page: (place * 8 + nth as u64) * 10_000 })
                    .into_iter()
                    .collect(),
            }
        };
        LaunchFiles { page_bytes: PAGE, opens: true, files: files.iter().enumerate().map(of).collect() }
    }

    /// Two launches, the second of which did not use the first range of any file.
    fn learned(files: &[File]) -> Learned {
        let mut learned = Learned::default();
        let how = How { adds: true, cold: Some(true) };
        learned.learn(&Config::default(), "a", &used(files, 0), how);
        learned.learn(&Config::default(), "a", &used(files, 1), how);
        learned
    }

    fn planned(config: &Config, learned: &Learned, available_bytes: u64) -> Plan {
        plan(config, learned, learned.app("a").expect("known"), PAGE, available_bytes)
    }

    /// Page and file of all that is read; a page that is read twice is an error.
    fn pages(plan: &Plan) -> BTreeSet<(String, u64)> {
        let mut pages = BTreeSet::new();
        for piece in plan.windows.iter().flatten() {
            let path = &plan.files[piece.file as usize].file.path;
            for page in piece.offset_bytes / PAGE..(piece.offset_bytes + piece.size_bytes) / PAGE {
                assert!(pages.insert((path.clone(), page)), "{path} {page} is read twice");
            }
        }
        pages
    }

    /// Pages with at least that chance, one by one.
    fn naive(learned: &Learned, least: f64) -> BTreeSet<(String, u64)> {
        let mut pages = BTreeSet::new();
        for file in &learned.app("a").expect("known").files {
            for span in file.spans.spans().iter().filter(|span| span.chance(file.launches) >= least) {
                pages.extend((span.first_page..span.end_page()).map(|page| (file.file.path.clone(), page.into())));
            }
        }
        pages
    }

    proptest! {
        #[test]
        fn each_likely_page_is_read_once_and_others_only_in_gaps(
            files in any_files(),
            least in prop::sample::select(&[40.0, 60.0][..]),
            streams in 1..9_u8,
        ) {
            let config = Config { use_min_percent: least, streams, ..Config::default() };
            let learned = learned(&files);
            let read = pages(&planned(&config, &learned, u64::MAX));
            let wanted = naive(&learned, least / 100.0);
            prop_assert!(read.is_superset(&wanted));
            let gap = gap_pages(&config, PAGE);
            for (path, page) in read.difference(&wanted) {
                let near = |mut pages: std::ops::Range<u64>| pages.any(|page| wanted.contains(&(path.clone(), page)));
                let (before, after) = (page.saturating_sub(gap)..*page, page + 1..page + gap + 1);
                prop_assert!(near(before) && near(after), "{} {}", path, page);
            }
        }

        #[test]
        fn pieces_are_in_the_order_of_the_device(files in any_files()) {
            let learned = learned(&files);
            let plan = planned(&Config { use_min_percent: 1.0, ..Config::default() }, &learned, u64::MAX);
            let place = |piece: &Piece| {
                let nth = plan.files[piece.file as usize].file.inode as usize;
                files[nth].1.map(|place| (place * 8 + nth as u64) * 10_000 + piece.offset_bytes / PAGE)
            };
            let places: Vec<Option<u64>> = plan.windows.iter().flatten().map(place).collect();
            let known: Vec<u64> = places.iter().copied().flatten().collect();
            prop_assert!(known.is_sorted());
            prop_assert!(places.iter().skip(known.len()).all(Option::is_none), "what is nowhere comes last");
        }

        #[test]
        fn a_plan_keeps_its_budget_and_windows(
            files in any_files(),
            available in 0..2_000_u64,
            window_mib in 1..3_u64,
        ) {
            let flash = Some(Speeds { random_read_us: 1e-9, ..Speeds::of_kind("") });
            let config = Config { use_min_percent: 40.0, window_mib, flash, ..Config::default() };
            let learned = learned(&files);
            let plan = planned(&config, &learned, available * PAGE);
            let all = naive(&learned, 0.4);
            let budget = available * 25 / 100;
            prop_assert_eq!(pages(&plan).len() as u64, budget.min(all.len() as u64));
            prop_assert_eq!(plan.size_bytes, pages(&plan).len() as u64 * PAGE);
            let size = |window: &Vec<_>| window.iter().map(|piece: &Piece| piece.size_bytes).sum::<u64>();
            let sizes: Vec<u64> = plan.windows.iter().map(size).collect();
            prop_assert!(sizes.iter().all(|bytes| (1..=window_mib << 20).contains(bytes)), "{:?}", sizes);
            prop_assert!(plan.windows.iter().flatten().all(|piece| piece.size_bytes <= PIECE_BYTES));
            let of_file: BTreeMap<&str, u64> = plan.files.iter().zip(&plan.pages)
                .map(|(file, ranges)| (file.file.path.as_str(), ranges.iter().map(|range| range.pages).sum()))
                .collect();
            prop_assert_eq!(of_file.values().sum::<u64>() * PAGE, plan.size_bytes);
        }

        #[test]
        fn the_paper_reads_what_the_last_launch_used_in_the_order_of_files(files in any_files()) {
            let learned = learned(&files);
            let plan = planned(&Config { mode: Mode::Paper, ..Config::default() }, &learned, 0);
            let app = learned.app("a").expect("known");
            let mut last = BTreeSet::new();
            for file in &app.files {
                for span in file.spans.spans().iter().filter(|span| span.history & 1 == 1) {
                    let pages = span.first_page..span.end_page();
                    last.extend(pages.map(|page| (file.file.path.clone(), u64::from(page))));
                }
            }
            prop_assert_eq!(pages(&plan), last);
            prop_assert!(plan.streams == 1 && plan.windows.len() <= 1);
            let order: Vec<_> = plan.windows.iter().flatten().map(|piece| (piece.file, piece.offset_bytes)).collect();
            prop_assert!(order.is_sorted());
        }
    }

    #[test]
    fn ten_thousand_ranges_are_planned() {
        let mut learned = Learned::default();
        let ranges: Vec<(u64, u64)> = (0..10_000).map(|_| (20, 1)).collect();
        learned.learn(&Config::default(), "a", &used(&[(ranges, Some(1))], 0), How { adds: true, cold: Some(true) });
        let plan = planned(&Config::default(), &learned, u64::MAX);
        assert!(plan.size_bytes >= 10_000 * PAGE, "{}", plan.size_bytes);
    }

    #[test]
    fn when_memory_is_short_files_that_few_apps_share_come_first() {
        let mut learned = Learned::default();
        let how = How { adds: true, cold: Some(true) };
        let both = used(&[(vec![(1, 10)], Some(1)), (vec![(1, 10)], Some(2))], 0);
        learned.learn(&Config::default(), "a", &both, how);
        let shared = LaunchFiles { files: both.files[..1].to_vec(), ..both };
        learned.learn(&Config::default(), "b", &shared, how);
        let plan = planned(&Config::default(), &learned, 40 * PAGE);
        assert_eq!(plan.files.iter().map(|file| file.file.path.as_str()).collect::<Vec<_>>(), ["/usr/lib/1"]);
    }

    #[test]
    fn other_apps_are_compared_only_for_what_may_not_fit() {
        let mut learned = Learned::default();
        // Two launches, of which the second did not use the first range of any file: those are the less likely ones.
        let all: Vec<File> = (0..20).map(|at| (vec![(1, 10), (1, 10)], Some(at))).collect();
        let how = How { adds: true, cold: Some(true) };
        let config = Config { use_min_percent: 1.0, ..Config::default() };
        learned.learn(&config, "a", &used(&all, 0), how);
        learned.learn(&config, "a", &used(&all[..5], 1), how);
        let app = learned.app("a").expect("known");
        let compared = |budget_pages: u64| {
            let mut compared = 0;
            let spans = likely(&config, app, budget_pages, |_| {
                compared += 1;
                0
            });
            let pages: u64 = spans.iter().flatten().map(|span| u64::from(span.pages)).sum();
            (compared, pages)
        };
        assert_eq!(compared(u64::MAX), (0, 400), "all fit");
        assert_eq!(compared(49), (5, 49), "those that both launches used");
        assert_eq!(compared(60), (20, 60), "what one of them used");
    }
}
