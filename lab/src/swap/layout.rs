//! How sequential a recorded session of swapping was: over time, and in the swap area.
//!
//! Only events with a slot count. Read are the pages of `ahead`, and those of `in` that were not read ahead before. A
//! *run* is a number of events of one kind whose slots follow each other; the longer runs are, the closer reads come to
//! the sequential bandwidth (MARS table 1).

use std::collections::BTreeSet;

use crate::swap::area::CLUSTER_SLOTS;
use crate::swap::trace::{Action, Trace};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bin {
    /// Where it begins, since the beginning of the trace.
    pub from_us: u64,
    /// Pages read in it, and in how many runs.
    pub in_pages: u64,
    pub in_runs: u64,
    /// Pages written in it, and in how many runs.
    pub out_pages: u64,
    pub out_runs: u64,
}

/// The swapping of a trace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Layout {
    /// Length of an interval.
    pub bin_us: u64,
    /// Intervals in which something happened, in the order of time.
    pub bins: Vec<Bin>,
    /// Pages read and written.
    pub in_pages: u64,
    pub out_pages: u64,
    /// Pages that were read and then used, or read for a use.
    pub used_pages: u64,
    pub in_runs: u64,
    pub out_runs: u64,
    /// Pages that were read in an interval that had writes.
    pub in_pages_with_writes: u64,
    /// Apps with pages in a cluster, over the clusters in use at the end: sum and number of clusters.
    pub apps_in_clusters: u64,
    /// Clusters in use at the end.
    pub clusters: u64,
    /// Events without a slot, which are not counted above.
    pub without_slot: u64,
}

impl Layout {
    /// Mean pages of a run of reads; `None` without reads.
    #[must_use]
    pub fn in_run_pages_mean(&self) -> Option<f64> {
        (self.in_runs > 0).then(|| self.in_pages as f64 / self.in_runs as f64)
    }

    /// Percent of the pages read that an app used; `None` without reads.
    #[must_use]
    pub fn used_percent(&self) -> Option<f64> {
        (self.in_pages > 0).then(|| 100.0 * self.used_pages as f64 / self.in_pages as f64)
    }

    /// Mean number of apps with pages in one cluster at the end; `None` when nothing is swapped out then.
    #[must_use]
    pub fn apps_in_cluster_mean(&self) -> Option<f64> {
        (self.clusters > 0).then(|| self.apps_in_clusters as f64 / self.clusters as f64)
    }

    /// Percent of the pages read that were read in an interval that had writes; `None` without reads.
    #[must_use]
    pub fn in_with_writes_percent(&self) -> Option<f64> {
        (self.in_pages > 0).then(|| 100.0 * self.in_pages_with_writes as f64 / self.in_pages as f64)
    }
}

/// Sums up a trace in intervals of `bin_us`.
#[must_use]
pub fn layout(trace: &Trace, bin_us: u64) -> Layout {
    let bin_us = bin_us.max(1);
    let mut layout = Layout { bin_us, ..Layout::default() };
    let mut owner: Vec<Option<u16>> = vec![None; trace.area_slots as usize];
    // Slots that were read ahead and not used yet.
    let mut ahead: BTreeSet<u32> = BTreeSet::new();
    let (mut last_in, mut last_out) = (None, None);
    for event in trace.events.iter().filter(|event| event.action.is_of_page()) {
        let Some(slot) = event.slot else {
            layout.without_slot += 1;
            continue;
        };
        match event.action {
            Action::Held | Action::Out => owner[slot as usize] = Some(event.app),
            Action::Free => owner[slot as usize] = None,
            _ => {}
        }
        layout.used_pages += u64::from(event.action == Action::In);
        // A use of what was read ahead reads nothing.
        let was_ahead = if event.action == Action::Ahead { !ahead.insert(slot) } else { ahead.remove(&slot) };
        let is_read = match event.action {
            Action::Ahead => true,
            Action::In if !was_ahead => true,
            Action::Out => false,
            _ => continue,
        };
        let from_us = event.at_us - event.at_us % bin_us;
        if layout.bins.last().is_none_or(|bin| bin.from_us != from_us) {
            layout.bins.push(Bin { from_us, ..Bin::default() });
        }
        let Some(bin) = layout.bins.last_mut() else { continue };
        let continues = |last: &mut Option<u32>| last.replace(slot).is_some_and(|last| last + 1 == slot);
        if is_read {
            bin.in_pages += 1;
            bin.in_runs += u64::from(!continues(&mut last_in));
        } else {
            bin.out_pages += 1;
            bin.out_runs += u64::from(!continues(&mut last_out));
        }
    }
    for bin in &layout.bins {
        layout.in_pages += bin.in_pages;
        layout.in_runs += bin.in_runs;
        layout.out_pages += bin.out_pages;
        layout.out_runs += bin.out_runs;
        layout.in_pages_with_writes += if bin.out_pages > 0 { bin.in_pages } else { 0 };
    }
    for cluster in owner.chunks(CLUSTER_SLOTS as usize) {
        let mut apps: Vec<u16> = cluster.iter().copied().flatten().collect();
        apps.sort_unstable();
        apps.dedup();
        layout.apps_in_clusters += apps.len() as u64;
        layout.clusters += u64::from(!apps.is_empty());
    }
    layout
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_the_mixture_of_apps_are_counted_by_hand() {
        let text = "#brisk-swap-trace 1 area_slots=600\ntime_us,action,app,page,slot\n\
                    0,out,a,0,0\n0,out,b,0,1\n10,out,a,1,300\n20,out,a,2,301\n100,front,a,,\n\
                    110,in,a,1,300\n120,in,a,2,301\n130,in,a,0,0\n130,out,b,1,2\n210,in,b,0,1\n220,in,b,7,\n";
        let layout = layout(&Trace::parse(text).expect("a trace"), 100);
        let bins: Vec<_> = layout
            .bins
            .iter()
            .map(|bin| (bin.from_us, bin.in_pages, bin.in_runs, bin.out_pages, bin.out_runs))
            .collect();
        // The read of slot 1 continues that of slot 0, in another interval.
        assert_eq!(bins, [(0, 0, 0, 4, 2), (100, 3, 2, 1, 1), (200, 1, 0, 0, 0)]);
        assert_eq!((layout.in_pages, layout.in_runs, layout.in_pages_with_writes), (4, 2, 3));
        assert_eq!(layout.in_run_pages_mean(), Some(2.0));
        // Slots 0, 1 and 2 belong to a and b, slots 300 and 301 to a.
        assert_eq!(layout.apps_in_cluster_mean(), Some(1.5));
        assert_eq!(layout.without_slot, 1);
    }

    #[test]
    fn a_page_that_was_read_ahead_is_read_once_and_used_where_it_is_used() {
        let text = "#brisk-swap-trace 1 area_slots=600\ntime_us,action,app,page,slot\n\
                    0,held,a,0,4\n0,held,a,1,5\n0,held,b,0,6\n0,held,b,1,90\n\
                    10,in,a,0,4\n10,ahead,a,1,5\n10,ahead,b,0,6\n500,in,a,1,5\n600,in,b,1,90\n";
        let layout = layout(&Trace::parse(text).expect("a trace"), 100);
        let bins: Vec<_> = layout.bins.iter().map(|bin| (bin.from_us, bin.in_pages, bin.in_runs)).collect();
        assert_eq!(bins, [(0, 3, 1), (600, 1, 1)]);
        assert_eq!((layout.in_pages, layout.used_pages, layout.out_pages), (4, 3, 0));
        assert_eq!(layout.used_percent(), Some(75.0));
        assert_eq!(layout.apps_in_cluster_mean(), Some(2.0));
    }

    #[test]
    fn without_reads_there_is_no_mean() {
        let layout = layout(&Trace { area_slots: 10, ..Trace::default() }, 0);
        assert_eq!((layout.in_run_pages_mean(), layout.in_with_writes_percent()), (None, None));
    }
}
