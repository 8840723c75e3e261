//! Every value of an interval by name, as tables and traces have it. The unit is the last word of each name.

use std::borrow::Cow;
use std::collections::HashSet;

use brisk_core::snapshot::{Interval, Snapshot};

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

/// The values of the interval that ends with `now`; what the machine does not have, and what is no number, is left out.
/// Of parts with one name, such as control groups `a/x.scope` and `b/x.scope`, the second is `x (2)`: no format has a
/// name twice.
pub(crate) fn of(now: &Snapshot, interval: &Interval) -> Vec<Metric> {
    let mut all = Vec::with_capacity(64);
    let mut seen = HashSet::with_capacity(64);
    interval.each_value(now, &mut |kind, part, name, value| {
        if !value.is_finite() {
            return;
        }
        let named = |part: String| (Part { kind, name: part }, name.clone());
        let first = std::iter::once(named(part.to_owned()));
        let others = (2..).map(|number: u32| named(format!("{part} ({number})")));
        if let Some(key) = first.chain(others).find(|key| seen.insert(key.clone())) {
            all.push(Metric { key, value });
        }
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::snapshot::{AppRates, DiskRates};

    #[test]
    fn no_value_is_there_twice_and_all_are_numbers() {
        let app = |name: &str| AppRates { name: name.to_owned(), memory_bytes: Some(7), ..AppRates::default() };
        let disk = DiskRates { name: "sda".to_owned(), busy_percent: f64::NAN, ..DiskRates::default() };
        let interval =
            Interval { apps: vec![app("x"), app("x"), app("y"), app("x")], disks: vec![disk], ..Interval::default() };
        let all = of(&Snapshot::default(), &interval);
        let keys: HashSet<&Key> = all.iter().map(|metric| &metric.key).collect();
        assert_eq!(keys.len(), all.len());
        let apps: std::collections::BTreeSet<&str> =
            all.iter().filter(|one| one.key.0.kind == "app").map(|one| one.key.0.name.as_str()).collect();
        assert_eq!(apps.into_iter().collect::<Vec<_>>(), ["x", "x (2)", "x (3)", "y"]);
        assert!(all.iter().all(|metric| metric.value.is_finite()));
    }
}
