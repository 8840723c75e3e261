//! The block layer between swap and flash: merging, reads before writes, and what the device takes.
//!
//! Adjacent pages become one request of at most [`REQUEST_PAGES_MAX`]. Reads go before writes, but after
//! [`WRITES_STARVED`] reads in a row a waiting write goes (mq-deadline's rule and default). The device holds as many
//! requests as its preset says.

use std::collections::VecDeque;

use crate::flash::{Completion, Kind, PAGE_BYTES, Request};

use crate::swap::target::Target;

/// Largest request: 512 KiB, as emulated devices and eMMC hosts have.
const REQUEST_PAGES_MAX: u32 = 128;
/// Reads that go before a waiting write.
const WRITES_STARVED: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Finished {
    pub(crate) tag: u64,
    pub(crate) kind: Kind,
    pub(crate) first_slot: u32,
    pub(crate) pages: u32,
    /// When it was queued, when the device took it, and when it was done.
    pub(crate) queued_ns: u64,
    pub(crate) taken_ns: u64,
    pub(crate) done_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Queued {
    tag: u64,
    kind: Kind,
    first_slot: u32,
    pages: u32,
    queued_ns: u64,
    taken_ns: u64,
}

impl Queued {
    fn holds(&self, slot: u32) -> bool {
        (self.first_slot..self.first_slot + self.pages).contains(&slot)
    }
}

#[derive(Debug)]
pub(crate) struct Queue<T> {
    device: T,
    reads: VecDeque<Queued>,
    writes: VecDeque<Queued>,
    discards: VecDeque<Queued>,
    in_flight: Vec<Queued>,
    reads_in_row: u32,
    next_tag: u64,
    now_ns: u64,
    #[cfg(test)]
    pub(crate) begun_writes_ns: Vec<u64>,
}

impl<T: Target> Queue<T> {
    pub(crate) fn new(device: T) -> Self {
        Self {
            device,
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            discards: VecDeque::new(),
            in_flight: Vec::new(),
            reads_in_row: 0,
            next_tag: 0,
            now_ns: 0,
            #[cfg(test)]
            begun_writes_ns: Vec::new(),
        }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    pub(crate) fn device(&self) -> &T {
        &self.device
    }

    /// Whether a write is in the device.
    pub(crate) fn writes(&self) -> bool {
        self.in_flight.iter().any(|one| one.kind == Kind::Write)
    }

    /// Queues one page now; gives the tag of its request.
    pub(crate) fn add(&mut self, kind: Kind, slot: u32) -> u64 {
        let now_ns = self.now_ns;
        let tag = self.next_tag;
        let queue = match kind {
            Kind::Read => &mut self.reads,
            Kind::Write => &mut self.writes,
            Kind::Flush | Kind::Discard => &mut self.discards,
        };
        if let Some(last) = queue.back_mut()
            && last.first_slot + last.pages == slot
            && last.pages < REQUEST_PAGES_MAX
        {
            last.pages += 1;
            return last.tag;
        }
        queue.push_back(Queued { tag, kind, first_slot: slot, pages: 1, queued_ns: now_ns, taken_ns: 0 });
        self.next_tag += 1;
        tag
    }

    /// Removes a queued write of that page that has not begun; `false` when there is none.
    pub(crate) fn cancel_write(&mut self, slot: u32) -> bool {
        let Some(at) = self.writes.iter().position(|one| one.holds(slot)) else { return false };
        let Some(one) = self.writes.remove(at) else { return false };
        // What stands before and after it is still written.
        let before = slot - one.first_slot;
        let after = one.pages - before - 1;
        if after > 0 {
            self.writes.insert(at, Queued { tag: self.next_tag, first_slot: slot + 1, pages: after, ..one });
            self.next_tag += 1;
        }
        if before > 0 {
            self.writes.insert(at, Queued { pages: before, ..one });
        }
        true
    }

    /// Whether a page is being written or will be: its content is still in memory.
    pub(crate) fn is_in_memory(&self, slot: u32) -> bool {
        let mut writes = self.writes.iter().chain(self.in_flight.iter().filter(|one| one.kind == Kind::Write));
        writes.any(|one| one.holds(slot))
    }

    /// Removes queued discards of this slot, which gets new content.
    pub(crate) fn keep_from_discard(&mut self, slot: u32) {
        self.discards.retain(|one| !one.holds(slot));
    }

    /// Gives requests to the device as long as it takes them. Discards go only when nothing else is there (MARS 3.4).
    pub(crate) fn dispatch(&mut self) {
        loop {
            let write_is_due = self.reads_in_row >= WRITES_STARVED && !self.writes.is_empty();
            let idle = self.reads.is_empty() && self.writes.is_empty() && self.in_flight.is_empty();
            let queue = match () {
                () if !self.reads.is_empty() && !write_is_due => &mut self.reads,
                () if !self.writes.is_empty() => &mut self.writes,
                () if idle => &mut self.discards,
                () => return,
            };
            let Some(&one) = queue.front() else { return };
            let request = Request {
                tag: one.tag,
                kind: one.kind,
                offset_bytes: u64::from(one.first_slot) * PAGE_BYTES,
                len_bytes: u64::from(one.pages) * PAGE_BYTES,
                fua: false,
            };
            if !self.device.submit(self.now_ns, request) {
                return;
            }
            queue.pop_front();
            self.reads_in_row = if one.kind == Kind::Read { self.reads_in_row + 1 } else { 0 };
            #[cfg(test)]
            if one.kind == Kind::Write {
                self.begun_writes_ns.push(self.now_ns);
            }
            self.in_flight.push(Queued { taken_ns: self.now_ns, ..one });
        }
    }

    /// Dispatches whatever the device takes, and lets time pass until `until_ns` or the next completion, whichever is
    /// earlier; `None` is the next completion. Gives what finished.
    pub(crate) fn run(&mut self, until_ns: Option<u64>) -> Vec<Finished> {
        let mut done: Vec<Completion> = Vec::new();
        self.dispatch();
        self.now_ns = self.device.wait(self.now_ns, until_ns, &mut done);
        let mut finished = Vec::new();
        for completion in done {
            let Some(at) = self.in_flight.iter().position(|one| one.tag == completion.tag) else { continue };
            let one = self.in_flight.remove(at);
            finished.push(Finished {
                tag: one.tag,
                kind: one.kind,
                first_slot: one.first_slot,
                pages: one.pages,
                queued_ns: one.queued_ns,
                taken_ns: one.taken_ns,
                done_ns: completion.at_ns,
            });
        }
        self.dispatch();
        finished
    }

    /// Whether anything waits or is under way, apart from discards.
    pub(crate) fn is_busy(&self) -> bool {
        !self.reads.is_empty()
            || !self.writes.is_empty()
            || self.in_flight.iter().any(|one| matches!(one.kind, Kind::Read | Kind::Write))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::{Device, Preset};

    fn queue() -> Queue<Device> {
        let preset = Preset::builtin("nexus4-emmc").expect("built in");
        Queue::new(Device::new(&preset, 64 << 20).expect("a device"))
    }

    fn drain(queue: &mut Queue<Device>) -> Vec<Finished> {
        let mut all = Vec::new();
        while queue.is_busy() {
            all.extend(queue.run(None));
        }
        all
    }

    #[test]
    fn adjacent_pages_are_one_request_up_to_its_limit() {
        let mut queue = queue();
        (0..130).for_each(|slot| {
            queue.add(Kind::Read, slot);
        });
        queue.add(Kind::Read, 500);
        let pages: Vec<_> = drain(&mut queue).iter().map(|one| (one.first_slot, one.pages)).collect();
        assert_eq!(pages, [(0, 128), (128, 2), (500, 1)]);
    }

    #[test]
    fn a_write_goes_after_two_reads_and_not_later() {
        let mut queue = queue();
        for at in 0..40 {
            queue.add(Kind::Write, 10_000 + 2 * at);
            queue.add(Kind::Read, 2 * at);
        }
        // What is in the device is not in the queue's order any more: only dispatches count.
        let mut order = Vec::new();
        while queue.is_busy() {
            queue.dispatch();
            order.extend(
                queue
                    .in_flight
                    .iter()
                    .map(|one| (one.tag, one.kind))
                    .filter(|one| !order.contains(one))
                    .collect::<Vec<_>>(),
            );
            queue.run(None);
            order.extend(
                queue
                    .in_flight
                    .iter()
                    .map(|one| (one.tag, one.kind))
                    .filter(|one| !order.contains(one))
                    .collect::<Vec<_>>(),
            );
        }
        let reads: Vec<bool> = order.iter().map(|(_, kind)| *kind == Kind::Read).collect();
        assert_eq!(&reads[..6], [true, true, false, true, true, false]);
        assert!(reads.windows(3).take(50).all(|three| three.contains(&false)), "{reads:?}");
    }

    #[test]
    fn a_write_that_has_not_begun_can_be_cancelled_alone() {
        let mut queue = queue();
        (0..5).for_each(|slot| {
            queue.add(Kind::Write, slot);
        });
        assert!(queue.cancel_write(2));
        assert!(!queue.cancel_write(2));
        let mut written: Vec<_> =
            drain(&mut queue).iter().flat_map(|one| one.first_slot..one.first_slot + one.pages).collect();
        written.sort_unstable();
        assert_eq!(written, [0, 1, 3, 4]);
    }
}
