//! Earlier content of pages, which a power cut may restore.
//!
//! A write changes the store when it arrives, so that later reads see it. Until it is known to be durable, the page's
//! earlier content is kept as an *image*. A page may have several writes that are not yet durable; its images are kept
//! in order, because an acknowledged flush covers the writes acknowledged before it arrived, and no later ones
//! (`a_flush_protects_what_was_acknowledged_before_it`).
//!
//! Property: `a_cut_gives_a_version_no_older_than_the_last_flush`.

use std::collections::HashMap;

use crate::device::store::{PAGE_BYTES, Store};

/// A point in the order of acknowledgements.
pub(crate) type Moment = u64;

/// One write, in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WriteId(u64);

type Page = Box<[u8]>;

#[derive(Debug)]
struct Image {
    /// The write that replaced `content`.
    write: WriteId,
    /// Time of its acknowledgement; absent before that.
    acknowledged: Option<Moment>,
    content: Page,
}

/// Images of all pages that are not known to be durable.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    pages: HashMap<u64, Vec<Image>>,
    spare: Vec<Page>,
    writes: u64,
    moments: Moment,
    /// Number of pages at which durable pages are pruned.
    prune_at: usize,
}

/// Least number of pages for pruning.
const PRUNE_MIN: usize = 1024;
/// Buffers kept for reuse.
const SPARE_MAX: usize = 1024;

impl Undo {
    /// The current moment, for an arriving flush.
    pub(crate) fn moment(&self) -> Moment {
        self.moments
    }

    /// Keeps the content of the range; must be called before the store changes.
    pub(crate) fn before_write(
        &mut self,
        store: &Store,
        offset_bytes: u64,
        len_bytes: u64,
        is_volatile: impl Fn(u64) -> bool,
    ) -> WriteId {
        let write = WriteId(self.writes);
        self.writes += 1;
        if self.pages.len() >= self.prune_at.max(PRUNE_MIN) {
            self.prune(&is_volatile);
        }
        for page in pages(offset_bytes, len_bytes) {
            let mut content = self.spare.pop().unwrap_or_else(|| vec![0; PAGE_BYTES as usize].into());
            content.copy_from_slice(store.read(page * PAGE_BYTES, PAGE_BYTES));
            let chain = self.pages.entry(page).or_default();
            if !chain.is_empty() && chain.iter().all(|i| i.acknowledged.is_some()) && !is_volatile(page) {
                // All of them are durable by now.
                self.spare.extend(chain.drain(..).map(|image| image.content));
            }
            chain.push(Image { write, acknowledged: None, content });
        }
        write
    }

    /// Records the acknowledgement of a write; `durable` when it guarantees that the write survives a power cut.
    pub(crate) fn acknowledged(&mut self, write: WriteId, offset_bytes: u64, len_bytes: u64, flush_outstanding: bool) {
        let moment = self.moments;
        self.moments += 1;
        for page in pages(offset_bytes, len_bytes) {
            let Some(chain) = self.pages.get_mut(&page) else { continue };
            if let Some(image) = chain.iter_mut().find(|i| i.write == write) {
                image.acknowledged = Some(moment);
            }
            if flush_outstanding {
                continue;
            }
            // Every later flush covers all acknowledged writes at the front, so the oldest image suffices.
            let done = chain.iter().take_while(|i| i.acknowledged.is_some()).count();
            if done > 1 {
                let newest = chain[done - 1].write;
                chain[0].write = newest;
                chain[0].acknowledged = Some(moment);
                self.spare.extend(chain.drain(1..done).map(|image| image.content));
            }
        }
        self.spare.truncate(SPARE_MAX);
    }

    /// Discards images that a flush, which arrived at `moment`, made durable.
    pub(crate) fn flushed(&mut self, moment: Moment) {
        let spare = &mut self.spare;
        self.pages.retain(|_, chain| {
            let covered = chain.iter().rposition(|i| i.acknowledged.is_some_and(|at| at < moment));
            if let Some(last) = covered {
                spare.extend(chain.drain(..=last).map(|image| image.content));
            }
            !chain.is_empty()
        });
        self.spare.truncate(SPARE_MAX);
    }

    /// Discards images of a discarded range.
    pub(crate) fn discarded(&mut self, offset_bytes: u64, len_bytes: u64) {
        if len_bytes == 0 {
            return;
        }
        let (first, last) = (offset_bytes / PAGE_BYTES, (offset_bytes + len_bytes - 1) / PAGE_BYTES);
        self.pages.retain(|page, _| !(first..=last).contains(page));
    }

    /// Cuts the power: pages for which `is_lost` is true revert to their oldest image. All images are then discarded.
    pub(crate) fn cut(&mut self, store: &mut Store, is_lost: impl Fn(u64, bool) -> bool) -> u64 {
        let mut lost = 0;
        for (page, chain) in self.pages.drain() {
            let on_the_way = chain.iter().any(|i| i.acknowledged.is_none());
            if let Some(oldest) = chain.first().filter(|_| is_lost(page, on_the_way)) {
                store.write(page * PAGE_BYTES, &oldest.content);
                lost += 1;
            }
        }
        lost
    }

    pub(crate) fn pages(&self) -> usize {
        self.pages.len()
    }

    fn prune(&mut self, is_volatile: impl Fn(u64) -> bool) {
        self.pages.retain(|&page, chain| chain.iter().any(|i| i.acknowledged.is_none()) || is_volatile(page));
        self.prune_at = self.pages.len() * 2;
    }
}

fn pages(offset_bytes: u64, len_bytes: u64) -> std::ops::Range<u64> {
    offset_bytes / PAGE_BYTES..(offset_bytes + len_bytes).div_ceil(PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fill(store: &mut Store, undo: &mut Undo, page: u64, byte: u8) -> WriteId {
        let id = undo.before_write(store, page * PAGE_BYTES, PAGE_BYTES, |_| true);
        store.write(page * PAGE_BYTES, &[byte; PAGE_BYTES as usize]);
        id
    }

    #[test]
    fn a_flush_protects_what_was_acknowledged_before_it() {
        let mut store = Store::new(4 * PAGE_BYTES).expect("mapping");
        let mut undo = Undo::default();
        let first = fill(&mut store, &mut undo, 0, 1);
        undo.acknowledged(first, 0, PAGE_BYTES, false);
        // The second write is on the way when the flush arrives, so the flush covers the first alone.
        let second = fill(&mut store, &mut undo, 0, 2);
        let flush = undo.moment();
        undo.acknowledged(second, 0, PAGE_BYTES, true);
        undo.flushed(flush);
        assert_eq!(undo.cut(&mut store, |_, _| true), 1);
        assert_eq!(store.read(0, 1), [1]);
    }

    #[test]
    fn rewriting_one_page_keeps_one_image() {
        let mut store = Store::new(4 * PAGE_BYTES).expect("mapping");
        let mut undo = Undo::default();
        for byte in 1..100 {
            let id = fill(&mut store, &mut undo, 2, byte);
            undo.acknowledged(id, 2 * PAGE_BYTES, PAGE_BYTES, false);
        }
        assert_eq!(undo.pages[&2].len(), 1);
        undo.cut(&mut store, |page, on_the_way| page == 2 && !on_the_way);
        assert_eq!(store.read(2 * PAGE_BYTES, 1), [0]);
    }

    #[test]
    fn a_page_that_the_model_programmed_starts_anew() {
        let mut store = Store::new(4 * PAGE_BYTES).expect("mapping");
        let mut undo = Undo::default();
        let id = fill(&mut store, &mut undo, 0, 1);
        undo.acknowledged(id, 0, PAGE_BYTES, false);
        undo.before_write(&store, 0, PAGE_BYTES, |_| false);
        store.write(0, &[2; PAGE_BYTES as usize]);
        undo.cut(&mut store, |_, _| true);
        assert_eq!(store.read(0, 1), [1]);
    }

    #[test]
    fn pages_that_became_durable_are_pruned() {
        let mut store = Store::new(3000 * PAGE_BYTES).expect("mapping");
        let mut undo = Undo::default();
        for page in 0..3000 {
            let id = undo.before_write(&store, page * PAGE_BYTES, PAGE_BYTES, |p| p + 10 > page);
            store.write(page * PAGE_BYTES, &[1]);
            undo.acknowledged(id, page * PAGE_BYTES, PAGE_BYTES, false);
        }
        assert!(undo.pages() <= 2 * PRUNE_MIN, "{}", undo.pages());
    }

    #[derive(Debug, Clone)]
    enum Step {
        Write(u64),
        Acknowledge(usize),
        FlushArrives,
        FlushDone,
    }

    proptest! {
        #[test]
        fn a_cut_gives_a_version_no_older_than_the_last_flush(
            steps in prop::collection::vec(prop_oneof![
                4 => (0u64..3).prop_map(Step::Write),
                4 => (0usize..4).prop_map(Step::Acknowledge),
                1 => Just(Step::FlushArrives),
                1 => Just(Step::FlushDone),
            ], 0..80),
            lost in any::<u8>(),
        ) {
            let mut store = Store::new(4 * PAGE_BYTES).expect("mapping");
            let mut undo = Undo::default();
            let mut version = [0u8; 3]; // newest written
            let mut acknowledged = [0u8; 3]; // newest acknowledged
            let mut durable = [0u8; 3]; // promised by a flush
            let mut on_the_way: Vec<(WriteId, u64, u8)> = Vec::new();
            let mut flush: Option<(Moment, [u8; 3])> = None;
            for step in steps {
                match step {
                    Step::Write(page) => {
                        let v = &mut version[page as usize];
                        *v += 1;
                        let id = fill(&mut store, &mut undo, page, *v);
                        on_the_way.push((id, page, *v));
                    }
                    Step::Acknowledge(which) if !on_the_way.is_empty() => {
                        let (id, page, v) = on_the_way.remove(which % on_the_way.len());
                        undo.acknowledged(id, page * PAGE_BYTES, PAGE_BYTES, flush.is_some());
                        let a = &mut acknowledged[page as usize];
                        *a = v.max(*a);
                    }
                    Step::FlushArrives if flush.is_none() => flush = Some((undo.moment(), acknowledged)),
                    Step::FlushDone => {
                        if let Some((moment, covered)) = flush.take() {
                            undo.flushed(moment);
                            durable = covered;
                        }
                    }
                    _ => {}
                }
            }
            undo.cut(&mut store, |page, _| lost & (1 << page) != 0);
            for page in 0..3u64 {
                let found = store.read(page * PAGE_BYTES, 1)[0];
                prop_assert!(durable[page as usize] <= found && found <= version[page as usize]);
                if lost & (1 << page) == 0 {
                    prop_assert_eq!(found, version[page as usize]);
                }
            }
            prop_assert_eq!(undo.pages(), 0);
        }
    }
}
