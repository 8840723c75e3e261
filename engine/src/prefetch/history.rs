//! Which pages of a file the last launches used.
//!
//! A page has a *history* of the last eight launches that were learned, one bit each, and its *chance* is the share of
//! them that used it, where newer ones weigh more: the first launch after an installation does what none does again (it
//! compiles shaders, fills caches), and the second one shows that. Pages of equal history are one range. Each range has
//! the place of its first page on the device, where that is known; it orders the reads and nothing else, so that a file
//! that was moved costs speed alone.
//!
//! A launch is learned in one of two ways. In an *exact* one nearly all that is mapped was asked for by the app, so
//! that new pages come in. In others the kernel's read-ahead and fault-around map neighbours too: there, known pages
//! are counted as used or not, and no page comes in, or prefetching would widen what is prefetched with each launch.
//!
//! Properties: `the_ranges_hold_the_history_of_every_page` (against one bit string for each page);
//! `an_inexact_launch_adds_no_page`; `a_text_gives_the_same_histories_again`;
//! `coarser_ranges_hold_all_pages_that_finer_ones_hold`.

use brisk_core::launch::PlacedRange;
use brisk_core::pages::PageRange;
use serde::{Deserialize, Serialize};

/// Launches that a history holds.
pub const LAUNCHES_MAX: u32 = 8;

/// Pages of equal history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub first_page: u32,
    pub pages: u32,
    /// The last launches, the newest in the lowest bit: 1 where it used them.
    pub history: u8,
    /// Where the first page lies, in pages from the begin of the device.
    pub physical_page: Option<u32>,
}

impl Span {
    /// The page behind the last.
    #[must_use]
    pub fn end_page(&self) -> u32 {
        self.first_page.saturating_add(self.pages)
    }

    #[must_use]
    pub fn range(&self) -> PageRange {
        PageRange { first_page: self.first_page.into(), pages: self.pages.into() }
    }

    /// Chance that the next launch uses them, from 0 to 1: the share of the last `launches` that did, where the newest
    /// weighs 1, the one before 1/2, then 1/3 and so on.
    #[must_use]
    pub fn chance(&self, launches: u32) -> f64 {
        let (mut used, mut all) = (0.0, 0.0);
        for age in 0..launches.clamp(1, LAUNCHES_MAX) {
            let weight = 1.0 / f64::from(age + 1);
            all += weight;
            used += if self.history >> age & 1 == 1 { weight } else { 0.0 };
        }
        used / all
    }

    /// Place of a page behind it that lies as this one does.
    fn place_of(&self, page: u32) -> Option<u32> {
        self.physical_page?.checked_add(page.checked_sub(self.first_page)?)
    }

    /// The one behind it, from its part of a text.
    fn next(&self, part: &str) -> Option<Self> {
        let (part, place) = part.split_once('@').map_or((part, None), |(part, place)| (part, Some(place)));
        let (part, history) = part.split_once('/').map_or((part, None), |(part, history)| (part, Some(history)));
        let (gap, pages) = part.split_once('+')?;
        let first_page = self.end_page().checked_add(gap.parse().ok()?)?;
        let physical_page = match place {
            None => self.place_of(first_page),
            Some("") => None,
            Some(place) => Some(place.parse().ok()?),
        };
        let history = history.map_or(Some(self.history), |history| history.parse().ok())?;
        Some(Self { first_page, pages: pages.parse().ok()?, history, physical_page })
    }

    /// Whether `next` continues it: adjacent, also on the device, and of the same history.
    fn is_continued_by(&self, next: &Self) -> bool {
        let places = match (self.physical_page, next.physical_page) {
            (Some(own), Some(next)) => own.checked_add(self.pages) == Some(next),
            (None, None) => true,
            _ => false,
        };
        self.end_page() == next.first_page && self.history == next.history && places
    }
}

/// What stands before the first span of a text.
const BEFORE: Span = Span { first_page: 0, pages: 0, history: 1, physical_page: None };

/// Histories of the pages of a file: ascending, without overlap.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Spans {
    spans: Vec<Span>,
}

/// A text that is no histories.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no range of pages: GAP+PAGES, with /HISTORY and @PLACE where they change")]
pub struct NoSpan(String);

impl From<Spans> for String {
    /// The spans, comma-separated: pages after the one before `+` pages, `/` history where it differs from that before
    /// (at first 1), `@` place of the first page where it does not follow from the one before; without a number it is
    /// not known. So a thousand ranges take about 8 KB.
    fn from(spans: Spans) -> Self {
        use std::fmt::Write as _;
        let mut text = Self::new();
        let mut before = BEFORE;
        for span in spans.spans {
            let comma = if text.is_empty() { "" } else { "," };
            let _ = write!(text, "{comma}{}+{}", span.first_page - before.end_page(), span.pages);
            if span.history != before.history {
                let _ = write!(text, "/{}", span.history);
            }
            if span.physical_page != before.place_of(span.first_page) {
                text.push('@');
                text.extend(span.physical_page.iter().map(ToString::to_string));
            }
            before = span;
        }
        text
    }
}

impl TryFrom<String> for Spans {
    type Error = NoSpan;

    fn try_from(text: String) -> Result<Self, NoSpan> {
        let mut spans = Vec::new();
        let mut before = BEFORE;
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let span = before.next(part).ok_or_else(|| NoSpan(part.to_owned()))?;
            spans.push(span);
            before = span;
        }
        Ok(Self::new(spans))
    }
}

impl Spans {
    /// Histories from spans in any order; of spans that overlap the first one counts.
    #[must_use]
    pub fn new(mut spans: Vec<Span>) -> Self {
        spans.sort_by_key(|span| span.first_page);
        let mut all = Self::default();
        for span in spans {
            let begin = all.spans.last().map_or(0, Span::end_page).max(span.first_page);
            let skipped = begin - span.first_page;
            if let Some(pages) = span.pages.checked_sub(skipped).filter(|pages| *pages > 0) {
                let physical_page = span.physical_page.and_then(|page| page.checked_add(skipped));
                let pages = pages.min(u32::MAX - begin);
                all.push(Span { first_page: begin, pages, physical_page, ..span });
            }
        }
        all
    }

    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    fn push(&mut self, span: Span) {
        match self.spans.last_mut() {
            _ if span.pages == 0 => {}
            Some(last) if last.is_continued_by(&span) => last.pages += span.pages,
            _ => self.spans.push(span),
        }
    }

    /// Takes in a launch that used the pages of `used`, which is ascending and without overlap. With `adds`, pages that
    /// are not known come in. Pages that none of the last eight launches used are dropped.
    pub fn note(&mut self, used: &[PageRange], adds: bool) {
        let before = std::mem::take(&mut self.spans);
        let used: Vec<(u32, u32)> = used.iter().filter_map(bounds).collect();
        let mut edges: Vec<u32> = before.iter().flat_map(|span| [span.first_page, span.end_page()]).collect();
        edges.extend(used.iter().flat_map(|(begin, end)| [*begin, *end]));
        edges.sort_unstable();
        edges.dedup();
        let (mut known, mut used) = (before.iter().peekable(), used.iter().peekable());
        for edge in edges.windows(2) {
            let (begin, end) = (edge[0], edge[1]);
            while known.next_if(|span| span.end_page() <= begin).is_some() {}
            while used.next_if(|(_, used_end)| *used_end <= begin).is_some() {}
            let was = known.peek().filter(|span| span.first_page <= begin);
            let is_used = used.peek().is_some_and(|(used_begin, _)| *used_begin <= begin);
            let history = match was {
                Some(span) => (span.history << 1) | u8::from(is_used),
                None => u8::from(is_used && adds),
            };
            if history != 0 {
                let physical_page =
                    was.and_then(|span| span.physical_page?.checked_add(begin.checked_sub(span.first_page)?));
                self.push(Span { first_page: begin, pages: end - begin, history, physical_page });
            }
        }
    }

    /// Takes in where the file lies; `placed` is ascending. A page that it does not name is nowhere.
    pub fn place(&mut self, placed: &[PlacedRange]) {
        let before = std::mem::take(&mut self.spans);
        for span in before {
            let from = placed.partition_point(|place| place.range.end_page() <= u64::from(span.first_page));
            let mut begin = span.first_page;
            for place in &placed[from..] {
                let Some((place_begin, place_end)) = bounds(&place.range) else { continue };
                if place_begin >= span.end_page() {
                    break;
                }
                let (part_begin, part_end) = (place_begin.max(begin), place_end.min(span.end_page()));
                self.push(Span { first_page: begin, pages: part_begin - begin, physical_page: None, ..span });
                let physical = place.physical_page.saturating_add(u64::from(part_begin - place_begin));
                let physical_page = u32::try_from(physical).ok();
                self.push(Span { first_page: part_begin, pages: part_end - part_begin, physical_page, ..span });
                begin = part_end;
            }
            self.push(Span { first_page: begin, pages: span.end_page() - begin, physical_page: None, ..span });
        }
    }

    /// Joins spans that are at most `gap_pages` apart; a joined one was used by every launch that used one of them.
    pub fn coarsen(&mut self, gap_pages: u32) {
        let before = std::mem::take(&mut self.spans);
        for span in before {
            match self.spans.last_mut() {
                Some(last) if span.first_page - last.end_page() <= gap_pages => {
                    last.pages = span.end_page() - last.first_page;
                    last.history |= span.history;
                }
                _ => self.spans.push(span),
            }
        }
    }

    #[must_use]
    pub fn pages(&self) -> u64 {
        self.spans.iter().map(|span| u64::from(span.pages)).sum()
    }

    /// How many pages of `used` are further than `window_pages`, aligned, from all known pages: the kernel maps
    /// neighbours within such a window of what an app asks for.
    #[must_use]
    pub fn outside_pages(&self, used: &[PageRange], window_pages: u32) -> u64 {
        let window = u64::from(window_pages.max(1));
        let widened: Vec<(u64, u64)> = self
            .spans
            .iter()
            .map(|span| {
                let (begin, end) = (u64::from(span.first_page), u64::from(span.end_page()));
                (begin / window * window, end.div_ceil(window) * window)
            })
            .collect();
        used.iter().map(|range| range.pages - covered(&widened, range.first_page, range.end_page())).sum()
    }
}

/// How many of the pages from `begin` to `end` are in `ranges`, which ascend and may overlap.
fn covered(ranges: &[(u64, u64)], begin: u64, end: u64) -> u64 {
    let from = ranges.partition_point(|(_, range_end)| *range_end <= begin);
    let (mut at, mut sum) = (begin, 0);
    for &(range_begin, range_end) in &ranges[from..] {
        if range_begin >= end {
            break;
        }
        let (part_begin, part_end) = (range_begin.max(at), range_end.min(end));
        if part_end > part_begin {
            sum += part_end - part_begin;
            at = part_end;
        }
    }
    sum
}

/// First page and the one behind the last; `None` for what is no range of a file.
fn bounds(range: &PageRange) -> Option<(u32, u32)> {
    let (begin, end) = (u32::try_from(range.first_page).ok()?, u32::try_from(range.end_page()).ok()?);
    (end > begin).then_some((begin, end))
}

/// How many pages are in both lists, which ascend without overlaps.
#[must_use]
pub fn common_pages(a: &[PageRange], b: &[PageRange]) -> u64 {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut sum = 0;
    while let (Some(one), Some(other)) = (a.peek(), b.peek()) {
        let begin = one.first_page.max(other.first_page);
        let end = one.end_page().min(other.end_page());
        sum += end.saturating_sub(begin);
        if one.end_page() <= other.end_page() {
            a.next();
        } else {
            b.next();
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(first_page: u64, pages: u64) -> PageRange {
        PageRange { first_page, pages }
    }

    /// Ascending ranges without overlap below page 120.
    fn any_used() -> impl Strategy<Value = Vec<PageRange>> {
        prop::collection::vec((1..9_u64, 1..7_u64), 0..9).prop_map(|steps| {
            let mut at = 0;
            let mut ranges = Vec::new();
            for (gap, pages) in steps {
                at += gap;
                ranges.push(range(at, pages));
                at += pages;
            }
            ranges
        })
    }

    fn has(ranges: &[PageRange], page: u64) -> bool {
        ranges.iter().any(|range| (range.first_page..range.end_page()).contains(&page))
    }

    fn history_of(spans: &Spans, page: u32) -> u8 {
        let found = spans.spans().iter().find(|span| (span.first_page..span.end_page()).contains(&page));
        found.map_or(0, |span| span.history)
    }

    fn place_of(spans: &Spans, page: u32) -> Option<u32> {
        let span = spans.spans().iter().find(|span| (span.first_page..span.end_page()).contains(&page))?;
        Some(span.physical_page? + page - span.first_page)
    }

    #[test]
    fn a_text_has_what_changes_from_range_to_range() {
        let span = |first_page, pages, history, physical_page| Span { first_page, pages, history, physical_page };
        let spans = Spans::new(vec![
            span(0, 4, 1, Some(100)),
            span(6, 2, 1, Some(106)),
            span(8, 1, 3, Some(400)),
            span(20, 5, 3, None),
        ]);
        let text = String::from(spans.clone());
        assert_eq!(text, "0+4@100,2+2,0+1/3@400,11+5@");
        assert_eq!(Spans::try_from(text), Ok(spans));
        for bad in ["5", "x+1", "1+", "1+2/300", "1+2@-1", "4294967295+1,1+1", "1+2/3/4"] {
            assert!(Spans::try_from(bad.to_owned()).is_err(), "{bad}");
        }
        assert_eq!(Spans::try_from(String::new()), Ok(Spans::default()));
    }

    proptest! {
        #[test]
        fn the_ranges_hold_the_history_of_every_page(
            launches in prop::collection::vec((any_used(), any::<bool>()), 0..12),
        ) {
            let mut spans = Spans::default();
            let mut oracle = [0_u8; 200];
            for (used, adds) in &launches {
                spans.note(used, *adds);
                for (page, history) in (0..).zip(oracle.iter_mut()) {
                    let is_used = has(used, page);
                    let comes_in = is_used && *adds;
                    *history = if *history == 0 { u8::from(comes_in) } else { (*history << 1) | u8::from(is_used) };
                }
            }
            for (page, history) in (0..).zip(oracle) {
                prop_assert_eq!(history_of(&spans, page), history, "page {}", page);
            }
            prop_assert!(spans.spans().windows(2).all(|two| two[0].end_page() <= two[1].first_page));
            prop_assert!(spans.spans().windows(2).all(|two| !two[0].is_continued_by(&two[1])), "joined");
            let text = serde_json::to_string(&spans).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<Spans>(&text).expect("the same"), spans);
        }

        #[test]
        fn a_text_gives_the_same_histories_again(
            launches in prop::collection::vec((any_used(), any::<bool>()), 0..6),
            place in prop::option::of(0..1_000_000_u64),
        ) {
            let mut spans = Spans::default();
            for (used, adds) in &launches {
                spans.note(used, *adds);
            }
            if let Some(place) = place {
                spans.place(&[PlacedRange { range: PageRange { first_page: 3, pages: 20 }, physical_page: place }]);
            }
            let text = String::from(spans.clone());
            prop_assert_eq!(Spans::try_from(text), Ok(spans));
        }

        #[test]
        fn no_text_is_taken_for_more_than_it_says(text in "[0-9+/@,]{0,40}") {
            if let Ok(spans) = Spans::try_from(text) {
                prop_assert!(spans.spans().windows(2).all(|two| two[0].end_page() <= two[1].first_page));
            }
        }

        #[test]
        fn an_inexact_launch_adds_no_page(first in any_used(), later in prop::collection::vec(any_used(), 0..5)) {
            let mut spans = Spans::default();
            spans.note(&first, true);
            for used in &later {
                spans.note(used, false);
            }
            for page in 0..200 {
                prop_assert!(history_of(&spans, page) == 0 || has(&first, page.into()), "page {}", page);
            }
        }

        #[test]
        fn places_are_those_of_the_file(used in any_used(), extents in any_used(), more in any_used()) {
            let mut spans = Spans::default();
            spans.note(&used, true);
            let place = |range: &PageRange| PlacedRange { range: *range, physical_page: 1000 + range.first_page * 3 };
            let placed: Vec<PlacedRange> = extents.iter().map(place).collect();
            spans.place(&placed);
            let expected = |page: u64| {
                let of = placed.iter().find(|one| (one.range.first_page..one.range.end_page()).contains(&page))?;
                Some((of.physical_page + page - of.range.first_page) as u32)
            };
            for page in 0..200_u32 {
                let is_known = has(&used, page.into());
                prop_assert_eq!(history_of(&spans, page), u8::from(is_known));
                prop_assert_eq!(place_of(&spans, page), expected(page.into()).filter(|_| is_known), "page {}", page);
            }
            spans.note(&more, true);
            for page in (0..200_u32).filter(|page| has(&used, (*page).into())) {
                prop_assert_eq!(place_of(&spans, page), expected(page.into()), "page {}", page);
            }
        }

        #[test]
        fn coarser_ranges_hold_all_pages_that_finer_ones_hold(used in any_used(), gap in 0..9_u32) {
            let mut spans = Spans::default();
            spans.note(&used, true);
            let fine = spans.clone();
            spans.coarsen(gap);
            prop_assert!((0..200).all(|page| history_of(&spans, page) >= history_of(&fine, page)));
            prop_assert!(spans.spans().windows(2).all(|two| two[1].first_page - two[0].end_page() > gap));
            prop_assert!(spans.spans().len() <= fine.spans().len());
        }

        #[test]
        fn pages_outside_of_windows_are_counted(known in any_used(), used in any_used(), window in 1..20_u32) {
            let mut spans = Spans::default();
            spans.note(&known, true);
            let is_near = |page: u64| {
                let begin = page / u64::from(window) * u64::from(window);
                (begin..begin + u64::from(window)).any(|page| has(&known, page))
            };
            let expected = (0..200).filter(|page| has(&used, *page) && !is_near(*page)).count() as u64;
            prop_assert_eq!(spans.outside_pages(&used, window), expected);
        }

        #[test]
        fn common_pages_are_those_in_both(a in any_used(), b in any_used()) {
            let expected = (0..200).filter(|page| has(&a, *page) && has(&b, *page)).count() as u64;
            prop_assert_eq!(common_pages(&a, &b), expected);
        }

        #[test]
        fn damaged_spans_are_put_in_order(spans in prop::collection::vec(any::<(u32, u32, u8, Option<u32>)>(), 0..20)) {
            let span = |(first_page, pages, history, physical_page)| Span { first_page, pages, history, physical_page };
            let spans = Spans::new(spans.into_iter().map(span).collect());
            prop_assert!(spans.spans().windows(2).all(|two| two[0].end_page() <= two[1].first_page));
            prop_assert!(spans.spans().iter().all(|span| span.pages > 0));
            let mut later = spans.clone();
            later.note(&[range(5, 10)], true);
            later.place(&[PlacedRange { range: range(0, 100), physical_page: u64::MAX / 2 }]);
            later.coarsen(3);
        }
    }

    #[test]
    fn a_chance_is_the_share_of_the_launches_that_are_known_and_newer_ones_weigh_more() {
        let span = |history| Span { first_page: 0, pages: 1, history, physical_page: None };
        assert_eq!(span(0b1).chance(1), 1.0);
        assert_eq!((span(0b10).chance(2), span(0b1).chance(2)), (0.5 / 1.5, 1.0 / 1.5));
        assert_eq!(span(0b1000_0001).chance(20), span(0b1000_0001).chance(8));
        assert!((span(0b1000_0001).chance(8) - 1.125 / 2.717_857).abs() < 1e-6);
        assert_eq!(span(0b100).chance(2), 0.0, "older than what is known");
        assert_eq!(span(0b1).chance(0), 1.0);
    }

    #[test]
    fn a_page_that_no_launch_uses_any_more_is_dropped() {
        let mut spans = Spans::default();
        spans.note(&[range(3, 4)], true);
        (0..7).for_each(|_| spans.note(&[], false));
        assert_eq!(spans.pages(), 4);
        spans.note(&[], false);
        assert_eq!(spans.pages(), 0);
    }
}
