//! Detects when the screen is settled: the last visible change that is not periodic.
//!
//! The user-perceived latency paper (section 2) calls a GUI state stable when it does not change without further input.
//! A blinking caret or a spinner would prevent that, so repeating changes are ignored from their first occurrence on.
//! This is a pure function of the list of changes; the watcher calls [`judge`] repeatedly, and gets the state and the
//! time of the next call.
//!
//! Terms: a *repaint* is a visible change of one tile of the screen, with a hash of the new content. A tile's repaints
//! are *periodic* from a point on when each repeats the content of one period earlier, with a period of 0.25 to 1.5 s
//! (carets blink in 0.8 to 1.2 s; spinners turn in about one second), at least [`RECURRENCES_MIN`] times. A *clock* is
//! a tile that changes once a second, [`TICKS_MIN`] times in a row, to any content; a small change at the same moment
//! belongs to it (the digit before). A progress display that changes every second is treated as a clock.
//!
//! Properties, each with a test of the same name:
//! - a caret does not move the settled time, whenever it begins to blink;
//! - a clock that shows seconds does not move the settled time;
//! - a change after the settled time that is not periodic moves it;
//! - the order of tiles within one moment does not matter.

use std::collections::BTreeMap;

/// Time without change until the screen counts as settled.
pub const QUIET_NS: u64 = 500_000_000;
/// Shortest and longest period of a caret or spinner.
pub const PERIOD_NS: std::ops::RangeInclusive<u64> = 250_000_000..=1_500_000_000;
/// Least recurrences of a tile's content after one period.
pub const RECURRENCES_MIN: usize = 2;
/// Share of the screen, in percent, below which a last change may be a caret's first blink.
pub const SMALL_PERCENT: f64 = 1.0;

/// Least changes of a tile in a row, one second apart, for a clock.
pub const TICKS_MIN: usize = 3;
/// Interval of a clock.
const SECOND_NS: u64 = 1_000_000_000;
/// Most tiles that change with a tick and belong to the clock.
const DIGITS_MAX: usize = 2;

/// Tolerance of a period: timers of busy programs are late, and the watcher samples.
const TOLERANCE_NS: u64 = 120_000_000;
/// Repaints within this time are one change of the screen. A caret that first appears within it is not separated from
/// that change, which is then late by at most this time.
const TOGETHER_NS: u64 = 60_000_000;

/// A change of a tile's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repaint {
    pub at_ns: u64,
    pub tile: u32,
    /// Hash of the new content.
    pub hash: u64,
}

/// State of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement {
    /// The last change that is not periodic; `None` without one.
    pub last_change_ns: Option<u64>,
    /// Whether it is final: no known change can still turn out to be something else.
    pub settled: bool,
    /// Time of the next call, if nothing changes before.
    pub ask_again_ns: u64,
    /// Whether something blinks.
    pub periodic: bool,
}

/// Evaluates `repaints` (any order) from `begin_ns` to `now_ns`, on a screen of `tiles` tiles.
#[must_use]
pub fn judge(repaints: &[Repaint], begin_ns: u64, now_ns: u64, tiles: u32) -> Judgement {
    let mut series: BTreeMap<u32, Vec<Repaint>> = BTreeMap::new();
    for repaint in repaints.iter().filter(|repaint| (begin_ns..=now_ns).contains(&repaint.at_ns)) {
        series.entry(repaint.tile).or_default().push(*repaint);
    }
    let mut lasting: Vec<Repaint> = Vec::with_capacity(repaints.len());
    let mut ticks: Vec<u64> = Vec::new();
    let mut periodic = false;
    for of_tile in series.values_mut() {
        of_tile.sort_by_key(|repaint| repaint.at_ns);
        let clock = clock_from(of_tile);
        ticks.extend(of_tile[clock.unwrap_or(of_tile.len())..].iter().map(|tick| tick.at_ns));
        let from = periodic_from(of_tile).or(clock).unwrap_or(of_tile.len());
        periodic |= from < of_tile.len();
        lasting.extend_from_slice(&of_tile[..from]);
    }
    let lasting = without_digits(&lasting, &ticks);
    let Some(last) = lasting.iter().map(|repaint| repaint.at_ns).max() else {
        let until = begin_ns + QUIET_NS;
        return Judgement { last_change_ns: None, settled: now_ns >= until, ask_again_ns: until, periodic };
    };
    // A small last change may be a caret's first blink: it must stay alone for a period, or turn out to blink.
    let area = lasting.iter().filter(|repaint| repaint.at_ns + TOGETHER_NS > last).count();
    let small = (area as f64) < f64::from(tiles) * SMALL_PERCENT / 100.0 || area <= 2;
    let until = last + if small { PERIOD_NS.end() + TOLERANCE_NS } else { QUIET_NS };
    Judgement { last_change_ns: Some(last), settled: now_ns >= until, ask_again_ns: until, periodic }
}

/// Index of the first repaint of a tile's periodic tail; `None` when its last repaint is not periodic.
fn periodic_from(series: &[Repaint]) -> Option<usize> {
    let last = series.len().checked_sub(1)?;
    for steps in 1..=last {
        let period = series[last].at_ns - series[last - steps].at_ns;
        if period > PERIOD_NS.end() + TOLERANCE_NS {
            return None;
        }
        if period < *PERIOD_NS.start() || series[last].hash != series[last - steps].hash {
            continue;
        }
        let repeats = |at: usize| {
            let (now, before) = (series[at], series[at - steps]);
            now.hash == before.hash && (now.at_ns - before.at_ns).abs_diff(period) <= TOLERANCE_NS
        };
        let first_repeat = (steps..=last).rev().take_while(|at| repeats(*at)).last()?;
        // All phases of the period must repeat, not only one frame.
        if last + 1 - first_repeat >= RECURRENCES_MIN.max(steps) {
            return Some(first_repeat - steps);
        }
    }
    None
}

/// Index of the first tick of a tile that is a clock at the end.
fn clock_from(series: &[Repaint]) -> Option<usize> {
    let is_second = |pair: &&[Repaint]| (pair[1].at_ns - pair[0].at_ns).abs_diff(SECOND_NS) <= TOLERANCE_NS;
    let ticks = series.windows(2).rev().take_while(is_second).count();
    (ticks >= TICKS_MIN).then(|| series.len() - 1 - ticks)
}

/// Removes small changes that coincide with ticks.
fn without_digits(lasting: &[Repaint], ticks: &[u64]) -> Vec<Repaint> {
    let together = |a: u64, b: u64| a.abs_diff(b) <= TOGETHER_NS;
    let few = |at: u64| lasting.iter().filter(|other| together(other.at_ns, at)).count() <= DIGITS_MAX;
    let digit = |at: u64| ticks.iter().any(|tick| together(*tick, at)) && few(at);
    lasting.iter().filter(|repaint| !digit(repaint.at_ns)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;
    const TILES: u32 = 1_000;

    fn paint(at_ms: u64, tile: u32, hash: u64) -> Repaint {
        Repaint { at_ns: at_ms * MS, tile, hash }
    }

    /// A window of 400 tiles drawn in two steps.
    fn window(at_ms: u64) -> Vec<Repaint> {
        let first = (0..400).map(|tile| paint(at_ms, tile, 1));
        first.chain((100..400).map(|tile| paint(at_ms + 150, tile, 2))).collect()
    }

    /// A caret in tile 7 that alternates with the window's content, by `on_ms` and `off_ms`, until `end_ms`.
    fn caret(begin_ms: u64, on_ms: u64, off_ms: u64, end_ms: u64) -> Vec<Repaint> {
        let mut found = Vec::new();
        let (mut at, mut on) = (begin_ms, true);
        while at <= end_ms {
            found.push(paint(at, 7, if on { 3 } else { 1 }));
            at += if on { on_ms } else { off_ms };
            on = !on;
        }
        found
    }

    /// Simulates the launcher: calls, waits until the next call or change; returns the settled time.
    fn watch(repaints: &[Repaint], cap_ms: u64) -> Option<u64> {
        let mut now = 0;
        while now <= cap_ms * MS {
            let judgement = judge(repaints, 0, now, TILES);
            if judgement.settled && judgement.last_change_ns.is_some() {
                return judgement.last_change_ns.map(|ns| ns / MS);
            }
            let next = repaints.iter().map(|repaint| repaint.at_ns).filter(|at| *at > now).min();
            let ask = judgement.ask_again_ns.max(now + 1);
            now = next.map_or(ask, |next| next.min(ask));
        }
        None
    }

    #[test]
    fn a_window_is_settled_at_its_last_change() {
        assert_eq!(watch(&window(300), 10_000), Some(450));
    }

    #[test]
    fn a_caret_does_not_move_the_settled_time() {
        for (on, off) in [(600, 600), (800, 400), (530, 530), (300, 300), (700, 700)] {
            for begin in [520, 700, 900, 1_400] {
                let mut repaints = window(300);
                repaints.extend(caret(begin, on, off, 9_000));
                assert_eq!(watch(&repaints, 10_000), Some(450), "on {on}, off {off}, from {begin}");
            }
        }
    }

    #[test]
    fn a_caret_that_blinks_while_the_app_still_draws_is_ignored() {
        let mut repaints = window(300);
        repaints.extend(caret(500, 600, 600, 9_000));
        repaints.extend((500..560).map(|tile| paint(2_000, tile, 9)));
        let judgement = judge(&repaints, 0, 6_000 * MS, TILES);
        assert_eq!((judgement.last_change_ns, judgement.settled, judgement.periodic), (Some(2_000 * MS), true, true));
    }

    #[test]
    fn a_spinner_of_many_frames_is_periodic() {
        let mut repaints = window(300);
        // Twelve frames a second, each with another content of four tiles.
        repaints
            .extend((0..48).flat_map(|frame| (10..14).map(move |tile| paint(460 + frame * 83, tile, 50 + frame % 12))));
        let judgement = judge(&repaints, 0, 4_500 * MS, TILES);
        assert_eq!((judgement.last_change_ns, judgement.settled), (Some(450 * MS), true));
    }

    #[test]
    fn a_clock_that_shows_seconds_does_not_move_the_settled_time() {
        for begin in [520, 700, 1_300] {
            // Seconds in tile 7, tens of seconds in tile 8; timers are sometimes late.
            let tick = |second: u64| (begin + second * 1_000 + second % 3 * 40, 100 + second);
            let mut repaints = window(300);
            repaints.extend((0..14).map(tick).map(|(at, shown)| paint(at, 7, shown)));
            repaints.push(paint(tick(3).0 + 5, 8, 200));
            assert_eq!(watch(&repaints, 10_000), Some(450), "from {begin}");
        }
    }

    #[test]
    fn a_change_concurrent_with_a_clock_counts() {
        let mut repaints = window(300);
        repaints.extend((0..14).map(|second| paint(700 + second * 1_000, 7, 100 + second)));
        // One at the moment of a tick, but larger than a digit; one small, but between two ticks.
        repaints.extend((20..26).map(|tile| paint(1_700, tile, 9)));
        assert_eq!(watch(&repaints, 10_000), Some(1_700));
        repaints.push(paint(2_200, 30, 9));
        assert_eq!(watch(&repaints, 10_000), Some(2_200));
    }

    #[test]
    fn a_tile_that_stopped_ticking_is_no_clock() {
        let mut repaints = window(300);
        repaints.extend((0..3).map(|second| paint(700 + second * 1_000, 7, 100 + second)));
        assert_eq!(watch(&repaints, 10_000), Some(2_700));
    }

    #[test]
    fn a_single_flash_is_a_change() {
        let mut repaints = window(300);
        repaints.extend([paint(800, 7, 3), paint(1_400, 7, 1)]);
        assert_eq!(watch(&repaints, 10_000), Some(1_400));
    }

    #[test]
    fn a_progress_bar_is_not_periodic() {
        let mut repaints = window(300);
        repaints.extend((0..20).map(|step| paint(500 + step * 300, 20 + step as u32, 5)));
        assert_eq!(watch(&repaints, 10_000), Some(500 + 19 * 300));
    }

    #[test]
    fn an_animation_without_a_period_never_settles() {
        let repaints: Vec<Repaint> = (0..400).map(|frame| paint(frame * 40, 3, 1_000 + frame)).collect();
        assert_eq!(watch(&repaints, 15_000), None);
    }

    #[test]
    fn a_screen_without_any_change_is_settled() {
        assert_eq!(
            judge(&[], 0, QUIET_NS, TILES),
            Judgement { last_change_ns: None, settled: true, ask_again_ns: QUIET_NS, periodic: false }
        );
        assert!(!judge(&[], 0, QUIET_NS - 1, TILES).settled);
    }

    fn any_repaints() -> impl Strategy<Value = Vec<Repaint>> {
        prop::collection::vec((0u64..5_000, 0u32..6, 0u64..4).prop_map(|(at, tile, hash)| paint(at, tile, hash)), 0..60)
    }

    proptest! {
        #[test]
        fn a_change_after_the_settled_time_that_is_not_periodic_moves_it(repaints in any_repaints()) {
            let mut more = repaints;
            more.push(paint(6_000, 77, 123));
            let judgement = judge(&more, 0, 9_000 * MS, TILES);
            prop_assert_eq!(judgement.last_change_ns, Some(6_000 * MS));
            prop_assert!(judgement.settled);
        }

        #[test]
        fn the_order_of_tiles_within_one_moment_does_not_matter(repaints in any_repaints()) {
            let mut sorted = repaints.clone();
            sorted.sort_by_key(|repaint| (repaint.tile, repaint.at_ns));
            // A stable sort: only the order between tiles changes.
            let judged = |repaints: &_| judge(repaints, 0, 9_000 * MS, TILES);
            prop_assert_eq!(judged(&repaints_in_time(&repaints)), judged(&sorted));
        }
    }

    fn repaints_in_time(repaints: &[Repaint]) -> Vec<Repaint> {
        let mut sorted = repaints.to_vec();
        sorted.sort_by_key(|repaint| repaint.at_ns);
        sorted
    }
}
