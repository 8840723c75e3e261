//! Every value of an interval by name, as tables and traces have it. The unit is the last word of each name.

use std::borrow::Cow;

use brisk_core::snapshot::{Interval, Snapshot};

/// What a value belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Part {
    /// `cpu`, `memory`, `paging`, `pressure`, `disk`, `net` or `app`.
    pub(crate) kind: &'static str,
    /// Which disk, interface or app; empty for the machine.
    pub(crate) name: String,
}

/// A part and the name of one of its values.
pub(crate) type Key = (Part, Cow<'static, str>);

/// One value of one interval.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Metric {
    pub(crate) key: Key,
    pub(crate) value: f64,
}

/// The values of the interval that ends with `now`; what the machine does not have is left out.
pub(crate) fn of(now: &Snapshot, interval: &Interval) -> Vec<Metric> {
    let mut all = Vec::with_capacity(64);
    interval.each_value(now, &mut |kind, part, name, value| {
        all.push(Metric { key: (Part { kind, name: part.to_owned() }, name), value });
    });
    all
}
