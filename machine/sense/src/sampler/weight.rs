//! What the processes of an app have in memory and in swap: a file of each process, which costs more than the rest of a
//! sample.
//!
//! What is known is used again within a second, and longer while no task of the app has run and the machine has not
//! swapped: what an app has changes by its own work, by swapping, or, slowly, by reclaim of its files, which the limit
//! of ten seconds is for.
//!
//! Property: `apps_are_weighed_by_their_processes_where_that_is_wanted` (`tests.rs`).

use brisk_formats::ProcessMemory;

use super::Sampler;
use super::groups::{DEPTH, Group};

/// How long it is known in any case.
const FRESH_NS: u64 = 1_000_000_000;
const KNOWN_NS_MAX: u64 = 10_000_000_000;

/// What the processes of a group had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weight {
    pub(super) memory: ProcessMemory,
    pub(super) at_ns: u64,
    /// Processor time of the group by then; `None` where that is not counted.
    pub(super) cpu_us: Option<u64>,
    /// Pages that the machine had swapped in and out by then.
    pub(super) swapped_pages: u64,
}

impl Weight {
    fn holds(&self, at_ns: u64, cpu_us: Option<u64>, swapped_pages: u64) -> bool {
        let elapsed_ns = at_ns.saturating_sub(self.at_ns);
        let is_unchanged = cpu_us.is_some() && cpu_us == self.cpu_us && swapped_pages == self.swapped_pages;
        // A process that is moved into a new group, or begins, may have nothing yet.
        let is_unchanged = is_unchanged && self.memory.anonymous_bytes > 0;
        elapsed_ns < if is_unchanged { KNOWN_NS_MAX } else { FRESH_NS }
    }
}

impl Sampler {
    /// What the processes of a group, which has used `cpu_us` so far, have in memory and in swap. A page that several
    /// of them map counts for each; what has ended meanwhile, or may not be seen, has nothing.
    pub(super) fn weigh(&self, group: &mut Group, at_ns: u64, cpu_us: Option<u64>) -> Option<ProcessMemory> {
        if !self.with_weights {
            return None;
        }
        if let Some(weight) = group.weight.filter(|weight| weight.holds(at_ns, cpu_us, self.swapped_pages)) {
            return Some(weight.memory);
        }
        let mut dirs = vec![group.dir.clone()];
        if self.sense.has_groups_below(&group.dir) {
            self.walk(&group.dir, DEPTH, &mut |below, _| {
                dirs.push(below.to_owned());
                true
            });
        }
        let mut memory = ProcessMemory::default();
        for dir in dirs {
            for pid in self.sense.cgroup_processes(&dir).ok().flatten().into_iter().flatten() {
                let of = self.sense.process_memory(pid).ok().flatten().unwrap_or_default();
                memory.anonymous_bytes = memory.anonymous_bytes.saturating_add(of.anonymous_bytes);
                memory.file_bytes = memory.file_bytes.saturating_add(of.file_bytes);
                memory.swapped_bytes = memory.swapped_bytes.saturating_add(of.swapped_bytes);
            }
        }
        group.weight = Some(Weight { memory, at_ns, cpu_us, swapped_pages: self.swapped_pages });
        Some(memory)
    }
}
