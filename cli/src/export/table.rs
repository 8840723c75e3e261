//! Tables: a column for each value, a row for each interval.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use super::metric::Key;
use super::{Row, Rows};

/// What stands before the values.
const HEAD: [&str; 4] = ["session", "start_unix_ns", "end_unix_ns", "elapsed_s"];

/// All values that a record has anywhere, in the order of their columns.
#[derive(Debug, Default)]
pub(crate) struct Columns(BTreeSet<Key>);

impl Columns {
    /// Adds those of one interval.
    pub(crate) fn add(&mut self, row: &Row) {
        for metric in &row.metrics {
            if !self.0.contains(&metric.key) {
                self.0.insert(metric.key.clone());
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each with what it belongs to.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Key> {
        self.0.iter()
    }
}

/// The name of a column: `cpu.busy_percent`, `disk.vda.read_bytes_per_s`.
fn title((part, name): &Key) -> String {
    match part.name.as_str() {
        "" => format!("{}.{name}", part.kind),
        which => format!("{}.{which}.{name}", part.kind),
    }
}

/// Writes comma-separated values with a heading; an unavailable value is empty.
pub(crate) fn csv(columns: &Columns, rows: &Rows<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(HEAD.into_iter().map(str::to_owned).chain(columns.iter().map(title)))?;
    rows(&mut |row| {
        let values: BTreeMap<&Key, f64> = row.metrics.iter().map(|metric| (&metric.key, metric.value)).collect();
        let elapsed_s = row.end_unix_ns.saturating_sub(row.start_unix_ns) as f64 / 1e9;
        let head = [
            row.session.to_string(),
            row.start_unix_ns.to_string(),
            row.end_unix_ns.to_string(),
            elapsed_s.to_string(),
        ];
        let cells = columns.iter().map(|key| values.get(key).map_or_else(String::new, f64::to_string));
        Ok(table.write_record(head.into_iter().chain(cells))?)
    })?;
    Ok(table.flush()?)
}
