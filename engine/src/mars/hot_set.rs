//! Which pages a return touches: counted over the last returns.
//!
//! A return says of each page that was away (in swap, or of a file and not mapped) whether it was touched; of pages
//! that stayed in memory it says nothing, and what is known of them stays. A page has a *history* of its last eight
//! such returns, one bit each, and its *chance* to be touched by the next one is
//!
//! ```text
//! chance = (touched + weight x repeat) / (returns + weight),  weight = 4 / returns;  0 for a page never touched
//! ```
//!
//! where *repeat* is the share of pages touched by one return that the next one touched again: of an app that touches
//! other pages each time, one touch says little. (Measured: hot sets of six apps are stable in size, a browser's is
//! not.) Pages of equal history are one range, so that a hot set is a few hundred ranges.
//!
//! Pages with a chance of `hot_min_percent` are *hot*; pages that were away and never touched are *cold*; of the others
//! nothing is known.
//!
//! Properties: `the_ranges_hold_the_history_of_every_page`;
//! `what_returns_touch_is_hot_and_what_they_stop_touching_decays`; `of_pages_that_stayed_in_memory_nothing_is_learned`;
//! `the_number_of_ranges_is_bounded`.

use brisk_core::pages::PageRange;
use serde::{Deserialize, Serialize};

/// Returns that a history holds.
const RETURNS_MAX: u8 = 8;
/// Weight of the repeat share against the first return.
const REPEAT_WEIGHT: f64 = 4.0;

/// Pages of equal history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64, u8, u8)", into = "(u64, u64, u8, u8)")]
pub struct Heat {
    pub range: PageRange,
    /// The last returns, the newest in the lowest bit: 1 where it touched them.
    pub history: u8,
    /// Returns of which something is known, 8 at the most.
    pub returns: u8,
}

impl From<(u64, u64, u8, u8)> for Heat {
    fn from((first_page, pages, history, returns): (u64, u64, u8, u8)) -> Self {
        Self { range: PageRange { first_page, pages }, history, returns: returns.clamp(1, RETURNS_MAX) }
    }
}

impl From<Heat> for (u64, u64, u8, u8) {
    fn from(heat: Heat) -> Self {
        (heat.range.first_page, heat.range.pages, heat.history, heat.returns)
    }
}

impl Heat {
    /// Chance that the next return touches them, from 0 to 1.
    #[must_use]
    pub fn chance(&self, repeat: f64) -> f64 {
        if self.history == 0 {
            return 0.0;
        }
        let returns = f64::from(self.returns.max(1));
        let weight = REPEAT_WEIGHT / returns;
        (f64::from(self.history.count_ones()) + weight * repeat) / (returns + weight)
    }

    fn after(self, is_touched: bool) -> Self {
        let history = (self.history << 1) | u8::from(is_touched);
        Self { history, returns: (self.returns + 1).min(RETURNS_MAX), ..self }
    }
}

/// What of the pages that the return before had touched was away, and what of it was touched again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repeated {
    /// Pages touched by the return before.
    pub before_pages: u64,
    /// Those of them touched again.
    pub again_pages: u64,
}

/// Histories of the pages of a process or a file: ascending, without overlap, and neighbours differ.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Heats {
    ranges: Vec<Heat>,
}

impl Heats {
    /// Histories from ranges in any order; of ranges that overlap the first one counts.
    #[must_use]
    pub fn new(mut ranges: Vec<Heat>) -> Self {
        ranges.sort_by_key(|heat| heat.range.first_page);
        let mut heats = Self::default();
        for heat in ranges {
            let begin = heats.ranges.last().map_or(0, |last| last.range.end_page()).max(heat.range.first_page);
            heats.push(begin, heat.range.end_page(), heat);
        }
        heats
    }

    #[must_use]
    pub fn ranges(&self) -> &[Heat] {
        &self.ranges
    }

    /// Appends the pages from `begin` to `end` with the history of `heat`, joined with the last where that is equal.
    fn push(&mut self, begin: u64, end: u64, heat: Heat) {
        if begin >= end {
            return;
        }
        match self.ranges.last_mut() {
            Some(last)
                if last.range.end_page() == begin && (last.history, last.returns) == (heat.history, heat.returns) =>
            {
                last.range.pages += end - begin;
            }
            _ => self.ranges.push(Heat { range: PageRange { first_page: begin, pages: end - begin }, ..heat }),
        }
    }

    /// Takes in a return. Both lists are ascending; a page in both was touched.
    pub fn note(&mut self, touched: &[PageRange], untouched: &[PageRange]) -> Repeated {
        let edges = |range: &PageRange| [range.first_page, range.end_page()];
        let known = self.ranges.iter().map(|heat| &heat.range);
        let mut bounds: Vec<u64> = known.chain(touched).chain(untouched).flat_map(edges).collect();
        bounds.sort_unstable();
        bounds.dedup();
        let before = std::mem::take(&mut self.ranges);
        let mut known = Walk::new(&before, |heat| heat.range);
        let (mut touched, mut untouched) = (Walk::new(touched, |range| *range), Walk::new(untouched, |range| *range));
        let mut repeated = Repeated::default();
        for bound in bounds.windows(2) {
            let (begin, end) = (bound[0], bound[1]);
            let was = known.at(begin).copied();
            let is_touched = touched.at(begin).is_some();
            let is_away = is_touched || untouched.at(begin).is_some();
            if was.is_some_and(|was| was.history & 1 == 1) && is_away {
                repeated.before_pages += end - begin;
                repeated.again_pages += if is_touched { end - begin } else { 0 };
            }
            let new = Heat { range: PageRange { first_page: begin, pages: 0 }, history: 0, returns: 0 };
            match was {
                was if is_away => self.push(begin, end, was.unwrap_or(new).after(is_touched)),
                Some(was) => self.push(begin, end, was),
                None => {}
            }
        }
        repeated
    }

    /// Drops ranges until there are `most`: those of the least chance first, of equal ones the smaller.
    pub fn bound(&mut self, most: usize, repeat: f64) {
        let Some(excess) = self.ranges.len().checked_sub(most).filter(|excess| *excess > 0) else { return };
        let mut order: Vec<usize> = (0..self.ranges.len()).collect();
        let rank = |at: &usize| {
            let heat = &self.ranges[*at];
            (heat.chance(repeat), heat.range.pages, heat.range.first_page)
        };
        order.sort_by(|a, b| {
            let (a, b) = (rank(a), rank(b));
            a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2)))
        });
        let mut dropped: Vec<usize> = order.into_iter().take(excess).collect();
        dropped.sort_unstable();
        let mut at = 0;
        self.ranges.retain(|_| {
            at += 1;
            dropped.binary_search(&(at - 1)).is_err()
        });
    }

    /// The pages of `range` in order, each part with its history, if it has one.
    pub fn split(&self, range: PageRange) -> impl Iterator<Item = (PageRange, Option<&Heat>)> {
        let from = self.ranges.partition_point(|heat| heat.range.end_page() <= range.first_page);
        let (mut at, end) = (range.first_page, range.end_page());
        let mut rest = self.ranges[from..].iter().take_while(move |heat| heat.range.first_page < end).peekable();
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let heat = rest.next_if(|heat| heat.range.first_page <= at);
            let until = match (heat, rest.peek()) {
                (Some(heat), _) => heat.range.end_page().min(end),
                (None, Some(next)) => next.range.first_page,
                (None, None) => end,
            };
            let part = PageRange { first_page: at, pages: until - at };
            at = until;
            Some((part, heat))
        })
    }
}

/// Finds the range that has a page, for ascending pages.
struct Walk<'a, T> {
    rest: &'a [T],
    range: fn(&T) -> PageRange,
}

impl<'a, T> Walk<'a, T> {
    fn new(ranges: &'a [T], range: fn(&T) -> PageRange) -> Self {
        Self { rest: ranges, range }
    }

    fn at(&mut self, page: u64) -> Option<&'a T> {
        while let [first, rest @ ..] = self.rest
            && (self.range)(first).end_page() <= page
        {
            self.rest = rest;
        }
        self.rest.first().filter(|first| (self.range)(first).first_page <= page)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn range(first_page: u64, pages: u64) -> PageRange {
        PageRange { first_page, pages }
    }

    fn hot(heats: &Heats, repeat: f64) -> Vec<(u64, u64)> {
        let hot = heats.ranges().iter().filter(|heat| heat.chance(repeat) >= 0.25);
        hot.map(|heat| heat.range.into()).collect()
    }

    #[test]
    fn what_returns_touch_is_hot_and_what_they_stop_touching_decays() {
        let mut heats = Heats::default();
        heats.note(&[range(10, 4)], &[range(14, 86)]);
        assert_eq!(hot(&heats, 0.8), [(10, 4)]);
        assert_eq!(hot(&heats, 0.0), [], "an app that never touches the same again");
        let repeated = heats.note(&[range(10, 2), range(50, 2)], &[range(12, 38), range(52, 48)]);
        assert_eq!(repeated, Repeated { before_pages: 4, again_pages: 2 });
        assert_eq!(hot(&heats, 0.8), [(10, 2), (12, 2), (50, 2)]);
        for _ in 0..3 {
            heats.note(&[range(10, 2)], &[range(12, 88)]);
        }
        assert_eq!(hot(&heats, 0.8), [(10, 2), (12, 2), (50, 2)], "one of five returns");
        heats.note(&[range(10, 2)], &[range(12, 88)]);
        assert_eq!(hot(&heats, 0.8), [(10, 2)]);
    }

    #[test]
    fn of_pages_that_stayed_in_memory_nothing_is_learned() {
        let mut heats = Heats::default();
        heats.note(&[range(10, 4)], &[]);
        let before = heats.clone();
        for _ in 0..20 {
            heats.note(&[], &[]);
        }
        assert_eq!(heats, before);
        assert_eq!(
            heats.split(range(8, 8)).map(|(part, heat)| (part, heat.is_some())).collect::<Vec<_>>(),
            [(range(8, 2), false), (range(10, 4), true), (range(14, 2), false)]
        );
    }

    #[test]
    fn the_number_of_ranges_is_bounded() {
        let mut heats = Heats::default();
        let even: Vec<PageRange> = (0..500).map(|at| range(at * 2, 1)).collect();
        heats.note(&even, &[]);
        heats.note(&even[..100], &even[100..]);
        heats.bound(150, 0.8);
        assert_eq!(heats.ranges().len(), 150);
        assert!(even[..100].iter().all(|range| heats.ranges().iter().any(|heat| heat.range == *range)));
    }

    fn ranges() -> impl Strategy<Value = Vec<PageRange>> {
        prop::collection::vec((0_u64..6, 1_u64..6), 0..12).prop_map(|gaps| {
            let mut at = 0;
            let place = |(gap, pages): (u64, u64)| {
                let first_page = at + gap;
                at = first_page + pages;
                PageRange { first_page, pages }
            };
            gaps.into_iter().map(place).collect()
        })
    }

    proptest! {
        #[test]
        fn the_ranges_hold_the_history_of_every_page(
            returns in prop::collection::vec((ranges(), ranges()), 0..12),
            asked in (0_u64..40, 0_u64..40),
        ) {
            let mut heats = Heats::default();
            let mut pages: BTreeMap<u64, Vec<bool>> = BTreeMap::new();
            for (touched, untouched) in &returns {
                heats.note(touched, untouched);
                let has = |ranges: &[PageRange], page| {
                    ranges.iter().any(|range| (range.first_page..range.end_page()).contains(&page))
                };
                for page in 0..200 {
                    if has(touched, page) || has(untouched, page) {
                        pages.entry(page).or_default().push(has(touched, page));
                    }
                }
            }
            let mut found = BTreeMap::new();
            for heat in heats.ranges() {
                let pages = heat.range.first_page..heat.range.end_page();
                found.extend(pages.map(|page| (page, (heat.history, heat.returns))));
            }
            let expected: BTreeMap<u64, (u8, u8)> = pages.iter().map(|(page, history)| {
                let last = &history[history.len().saturating_sub(8)..];
                (*page, (last.iter().fold(0, |bits, touched| bits << 1 | u8::from(*touched)), last.len() as u8))
            }).collect();
            prop_assert_eq!(&found, &expected);
            let neighbours = heats.ranges().windows(2);
            prop_assert!(neighbours.clone().all(|two| two[0].range.end_page() <= two[1].range.first_page));
            prop_assert_eq!(Heats::new(heats.ranges().to_vec()), heats.clone());
            let asked = PageRange { first_page: asked.0, pages: asked.1 };
            let mut at = asked.first_page;
            for (part, heat) in heats.split(asked) {
                prop_assert!(part.first_page == at && part.pages > 0);
                at = part.end_page();
                for page in part.first_page..at {
                    prop_assert_eq!(heat.map(|heat| (heat.history, heat.returns)), expected.get(&page).copied());
                }
            }
            prop_assert_eq!(at, asked.end_page());
        }
    }
}
