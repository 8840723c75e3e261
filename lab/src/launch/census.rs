//! Where the memory of an app is, and what of it a return used.

use crate::results::{MemoryCensus, Touched};
use brisk_sense::{PageRun, PageState, ProcessPages, Sense};

use crate::launch::error::Result;

/// The pages of all processes of an app, by process id.
#[derive(Debug, Clone, Default)]
pub struct Pages(Vec<(u32, ProcessPages)>);

impl Pages {
    /// Reads the pages of these processes; one that has ended meanwhile has none.
    ///
    /// # Errors
    /// When another user's process may not be read.
    pub fn read(sense: &Sense, pids: &[u32]) -> Result<Self> {
        let mut all = Vec::new();
        for &pid in pids {
            all.extend(sense.process_pages(pid)?.map(|pages| (pid, pages)));
        }
        Ok(Self(all))
    }

    #[must_use]
    pub fn census(&self) -> MemoryCensus {
        let mut census = MemoryCensus::default();
        for (_, pages) in &self.0 {
            for run in &pages.runs {
                let bytes = run.pages * pages.page_bytes;
                match run.state {
                    PageState::Anonymous => census.anonymous_bytes += bytes,
                    PageState::File => census.file_bytes += bytes,
                    PageState::Swapped { .. } => census.swapped_bytes += bytes,
                    PageState::Absent => {}
                }
            }
        }
        census
    }

    /// What is in memory here and was not before. Pages that were read ahead and not used stay in swap in the page
    /// tables, and do not count.
    #[must_use]
    pub fn touched_since(&self, before: &Self) -> Touched {
        let mut touched = Touched::default();
        for (pid, pages) in &self.0 {
            let earlier = before.0.iter().find(|(known, _)| known == pid);
            let earlier = earlier.map_or(&[][..], |(_, pages)| &pages.runs);
            for run in &pages.runs {
                let in_state = |wanted: fn(&PageState) -> bool| overlap(run, earlier, wanted) * pages.page_bytes;
                let all_bytes = run.pages * pages.page_bytes;
                let swapped_bytes = in_state(|state| matches!(state, PageState::Swapped { .. }));
                match run.state {
                    PageState::Anonymous => {
                        touched.swapped_bytes += swapped_bytes;
                        // A page of a file that was copied on write is new as well.
                        let kept_bytes = in_state(|state| *state == PageState::Anonymous);
                        touched.new_bytes += all_bytes - swapped_bytes - kept_bytes;
                    }
                    PageState::File => {
                        // Shared memory can be in swap too.
                        touched.swapped_bytes += swapped_bytes;
                        let kept_bytes = in_state(|state| *state == PageState::File);
                        touched.file_bytes += all_bytes - swapped_bytes - kept_bytes;
                    }
                    PageState::Swapped { .. } | PageState::Absent => {}
                }
            }
        }
        touched
    }
}

/// Pages of `run` that one of `others` (ascending) has in a state that is wanted.
fn overlap(run: &PageRun, others: &[PageRun], wanted: fn(&PageState) -> bool) -> u64 {
    let from = others.partition_point(|other| other.end_page() <= run.first_page);
    let near = others[from..].iter().take_while(|other| other.first_page < run.end_page());
    near.filter(|other| wanted(&other.state))
        .map(|other| other.end_page().min(run.end_page()) - other.first_page.max(run.first_page))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::AppState;
    use proptest::prelude::*;

    const FILE: PageState = PageState::File;
    const ANONYMOUS: PageState = PageState::Anonymous;
    const SWAPPED: PageState = PageState::Swapped { area: 0, slot: 9 };

    fn pages(runs: &[(u64, u64, PageState)]) -> Pages {
        let run = |&(first_page, pages, state): &(u64, u64, PageState)| PageRun { first_page, pages, state };
        let runs = runs.iter().map(run).collect();
        Pages(vec![(7, ProcessPages { runs, page_bytes: 4096, ..ProcessPages::default() })])
    }

    #[test]
    fn what_came_back_is_told_from_what_is_new() {
        let before = pages(&[(0, 10, ANONYMOUS), (10, 10, SWAPPED), (40, 4, FILE)]);
        let after = pages(&[(0, 14, ANONYMOUS), (14, 6, SWAPPED), (20, 2, ANONYMOUS), (40, 10, FILE)]);
        assert_eq!(
            before.census(),
            MemoryCensus { anonymous_bytes: 40_960, file_bytes: 16_384, swapped_bytes: 40_960 }
        );
        let touched = after.touched_since(&before);
        assert_eq!(touched, Touched { swapped_bytes: 4 * 4096, file_bytes: 6 * 4096, new_bytes: 2 * 4096 });
    }

    #[test]
    fn an_app_is_swapped_when_a_tenth_of_its_heap_is() {
        let state = |anonymous, swapped| pages(&[(0, anonymous, ANONYMOUS), (1000, swapped, SWAPPED)]).census().state();
        assert_eq!((state(95, 5), state(90, 10), state(0, 1)), (AppState::Hot, AppState::Swapped, AppState::Swapped));
        assert_eq!(MemoryCensus::default().state(), AppState::Hot);
    }

    #[test]
    fn a_new_process_has_new_pages_alone() {
        let after = pages(&[(0, 3, ANONYMOUS), (5, 2, FILE)]);
        let touched = after.touched_since(&Pages::default());
        assert_eq!(touched, Touched { swapped_bytes: 0, file_bytes: 2 * 4096, new_bytes: 3 * 4096 });
    }

    /// Runs without gaps between pages of other states.
    fn any_pages() -> impl Strategy<Value = Vec<(u64, u64, PageState)>> {
        let run = (0_u64..5, 1_u64..8, 0_usize..3);
        proptest::collection::vec(run, 0..12).prop_map(|all| {
            let mut at = 0;
            let place = |(gap, count, state): (u64, u64, usize)| {
                let first = at + gap;
                at = first + count;
                (first, count, [FILE, ANONYMOUS, SWAPPED][state])
            };
            all.into_iter().map(place).collect()
        })
    }

    proptest! {
        #[test]
        fn the_counts_agree_with_a_page_by_page_comparison(before in any_pages(), after in any_pages()) {
            let state = |runs: &[(u64, u64, PageState)], page: u64| {
                runs.iter().find(|(first, count, _)| (*first..first + count).contains(&page)).map(|(.., state)| *state)
            };
            let count = |now: &[PageState], was: &[Option<PageState>]| {
                (0..200).filter(|&page| {
                    state(&after, page).is_some_and(|state| now.contains(&state)) && was.contains(&state(&before, page))
                }).count() as u64 * 4096
            };
            let expected = Touched {
                swapped_bytes: count(&[ANONYMOUS, FILE], &[Some(SWAPPED)]),
                file_bytes: count(&[FILE], &[None, Some(ANONYMOUS)]),
                new_bytes: count(&[ANONYMOUS], &[None, Some(FILE)]),
            };
            prop_assert_eq!(pages(&after).touched_since(&pages(&before)), expected);
            prop_assert_eq!(pages(&after).touched_since(&pages(&after)), Touched::default());
        }
    }
}
