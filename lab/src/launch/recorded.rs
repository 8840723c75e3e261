//! Events of one thread, for tests of evaluations.

use crate::probes::{Event, Kind, Wait};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SLEEP: Kind = Kind::Waiting(Wait { io: false, uninterruptible: false, system_call: None });
pub(crate) const FAULT: Kind = Kind::Waiting(Wait { io: true, uninterruptible: true, system_call: None });

pub(crate) fn at(ms: u64, kind: Kind) -> Event {
    Event { at_ns: ms * MS, tid: 1, kind }
}
