//! What a replay's requests go to: the flash model in model time, or a block device in real time.

use crate::flash::{Completion, Counters, Device, Request};

/// A device and its clock.
pub trait Target {
    /// Takes a request that arrives now; `false` when it has as many as it takes.
    fn submit(&mut self, now_ns: u64, request: Request) -> bool;

    /// Lets time pass until `until_ns` or the next completion, whichever is earlier; `None` is the next completion.
    /// Appends what has finished to `done`, and gives the time then, which is not before `now_ns`. With nothing under
    /// way and no time to wait for, no time passes.
    fn wait(&mut self, now_ns: u64, until_ns: Option<u64>, done: &mut Vec<Completion>) -> u64;

    /// Whether it takes no more requests and finishes none: it failed, or was stopped. The replay ends then.
    fn is_over(&self) -> bool {
        false
    }

    /// Operations that it counted; zeroes where it counts none.
    fn counters(&self) -> Counters {
        Counters::default()
    }
}

/// The model: time passes when it is asked to.
impl Target for Device {
    fn submit(&mut self, now_ns: u64, request: Request) -> bool {
        Device::submit(self, now_ns, request).is_ok()
    }

    fn wait(&mut self, now_ns: u64, until_ns: Option<u64>, done: &mut Vec<Completion>) -> u64 {
        let mut at_ns = now_ns;
        let before = done.len();
        // Its own work, such as programs of what is in its buffer, completes nothing.
        while let Some(next_ns) = self.next_event_ns() {
            let next_ns = next_ns.max(at_ns);
            if until_ns.is_some_and(|until_ns| next_ns > until_ns) {
                break;
            }
            at_ns = next_ns;
            self.advance(at_ns, done);
            if done.len() > before {
                return at_ns;
            }
        }
        until_ns.map_or(at_ns, |until_ns| until_ns.max(at_ns))
    }

    fn counters(&self) -> Counters {
        Device::counters(self)
    }
}

impl<T: Target + ?Sized> Target for &mut T {
    fn submit(&mut self, now_ns: u64, request: Request) -> bool {
        (**self).submit(now_ns, request)
    }

    fn wait(&mut self, now_ns: u64, until_ns: Option<u64>, done: &mut Vec<Completion>) -> u64 {
        (**self).wait(now_ns, until_ns, done)
    }

    fn is_over(&self) -> bool {
        (**self).is_over()
    }

    fn counters(&self) -> Counters {
        (**self).counters()
    }
}
