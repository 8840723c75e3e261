//! Tables: a column for each value, a row for each interval.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use super::Row;
use crate::monitor::metrics::Part;

/// What stands before the values.
const HEAD: [&str; 4] = ["session", "start_unix_ns", "end_unix_ns", "elapsed_s"];

/// All values that a record has anywhere, in the order of their columns.
#[derive(Debug, Default)]
pub(super) struct Columns(BTreeMap<(Part, &'static str), ()>);

impl Columns {
    /// Adds those of one interval.
    pub(super) fn add(&mut self, row: &Row) {
        for metric in &row.metrics {
            let key = (metric.part.clone(), metric.name);
            self.0.entry(key).or_default();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each with what it belongs to.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(Part, &'static str)> {
        self.0.keys()
    }
}

/// The name of a column: `cpu.busy_percent`, `disk.vda.read_bytes_per_s`.
fn title((part, name): &(Part, &'static str)) -> String {
    match part.name.as_str() {
        "" => format!("{}.{name}", part.kind),
        which => format!("{}.{which}.{name}", part.kind),
    }
}

/// Writes comma-separated values with a heading; an unavailable value is empty.
pub(super) fn csv(columns: &Columns, path: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(HEAD.into_iter().map(str::to_owned).chain(columns.iter().map(title)))?;
    super::rows(path, &mut |row| {
        let values: BTreeMap<_, f64> =
            row.metrics.iter().map(|metric| ((&metric.part, metric.name), metric.value)).collect();
        let elapsed_s = row.end_unix_ns.saturating_sub(row.start_unix_ns) as f64 / 1e9;
        let head = [
            row.session.to_string(),
            row.start_unix_ns.to_string(),
            row.end_unix_ns.to_string(),
            elapsed_s.to_string(),
        ];
        let cells =
            columns.iter().map(|(part, name)| values.get(&(part, *name)).map_or_else(String::new, f64::to_string));
        Ok(table.write_record(head.into_iter().chain(cells))?)
    })?;
    Ok(table.flush()?)
}
