//! OpenMetrics 1.0, the text format: for each family its type, unit and help, then its samples; counters end in `_total`, and
//! the text ends with `# EOF`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use super::names::{Name, openmetrics};
use super::table::Columns;
use super::{Rows, names};

/// How a value behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Never falls while the process lives.
    Counter,
    /// Any other.
    Gauge,
}

/// A family that has begun: its samples follow.
pub(crate) struct Family<'a> {
    out: &'a mut dyn Write,
    name: Name,
    kind: Kind,
}

impl<'a> Family<'a> {
    /// Begins the family of the value that brisk calls `name`, of `group`; `help` is a sentence without its full stop.
    pub(crate) fn begin(
        out: &'a mut dyn Write,
        kind: Kind,
        (group, name): (&str, &str),
        help: &str,
    ) -> anyhow::Result<Self> {
        let name = openmetrics(group, name);
        let word = if kind == Kind::Counter { "counter" } else { "gauge" };
        writeln!(out, "# TYPE {} {word}", name.name)?;
        if let Some(unit) = name.unit {
            writeln!(out, "# UNIT {} {unit}", name.name)?;
        }
        writeln!(out, "# HELP {} {}.", name.name, escaped(help))?;
        Ok(Self { out, name, kind })
    }

    /// Writes a sample, in brisk's unit; at a moment, or of now.
    pub(crate) fn sample(
        &mut self,
        labels: &[(&str, &str)],
        value: f64,
        at_unix_ns: Option<u64>,
    ) -> anyhow::Result<()> {
        let total = if self.kind == Kind::Counter { "_total" } else { "" };
        write!(self.out, "{}{total}", self.name.name)?;
        if !labels.is_empty() {
            let labels: Vec<String> =
                labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
            write!(self.out, "{{{}}}", labels.join(","))?;
        }
        // Not multiplied: 1.5e6 us are 1.5 s, and 1.5e6 * 1e-6 is not.
        let value = if self.name.factor < 1.0 { value / (1.0 / self.name.factor).round() } else { value };
        write!(self.out, " {value}")?;
        if let Some(at_unix_ns) = at_unix_ns {
            write!(self.out, " {}.{:09}", at_unix_ns / 1_000_000_000, at_unix_ns % 1_000_000_000)?;
        }
        Ok(writeln!(self.out)?)
    }
}

/// Ends the text.
pub(crate) fn end(out: &mut dyn Write) -> anyhow::Result<()> {
    Ok(writeln!(out, "# EOF")?)
}

/// Writes a record, with times. The format has all values of one thing together and all of one name, so the record is read
/// once for each name, and the values of one name are in memory at a time: 16 bytes each.
pub(crate) fn record(columns: &Columns, rows: &Rows<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let families: BTreeSet<(&'static str, &str)> =
        columns.iter().map(|(part, name)| (part.kind, name.as_ref())).collect();
    for (kind, name) in families {
        let mut series: BTreeMap<String, Vec<(u64, f64)>> = BTreeMap::new();
        rows(&mut |row| {
            let own = row.metrics.iter().filter(|metric| metric.key.0.kind == kind && metric.key.1 == name);
            for metric in own {
                series.entry(metric.key.0.name.clone()).or_default().push((row.end_unix_ns, metric.value));
            }
            Ok(())
        })?;
        let of = if names::is_level(name) { "at the end of" } else { "over" };
        let help = format!("{name} of {kind} in a record of brisk, {of} the interval that ends at the sample's time");
        let mut family = Family::begin(out, Kind::Gauge, (kind, name), &help)?;
        for (part, values) in &series {
            let labels: &[(&str, &str)] = if part.is_empty() { &[] } else { &[(label(kind), part)] };
            for (at_unix_ns, value) in values {
                family.sample(labels, *value, Some(*at_unix_ns))?;
            }
        }
    }
    end(out)
}

/// What names one of a kind.
fn label(kind: &str) -> &'static str {
    match kind {
        "disk" => "device",
        "net" => "interface",
        "app" => "app",
        _ => "name",
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The first line that breaks the format: a sample outside of its family, a unit that does not end the name, a family or a series
/// in two places. These are the rules that readers enforce.
#[cfg(test)]
pub(crate) fn complaint(text: &str) -> Option<String> {
    let (mut family, mut kind, mut seen, mut last) = ("", "", BTreeSet::new(), "");
    let Some(body) = text.strip_suffix("# EOF\n") else { return Some("no end".to_owned()) };
    for line in body.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let good = match words.as_slice() {
            ["#", "TYPE", name, of] => {
                (family, kind) = (name, of);
                seen.insert(line)
            }
            ["#", "UNIT", name, unit] => *name == family && name.ends_with(&format!("_{unit}")),
            ["#", "HELP", name, ..] => *name == family,
            _ => {
                let name = line.split(['{', ' ']).next().unwrap_or_default();
                let series = line.split("} ").next().filter(|series| *series != line).unwrap_or(name);
                let is_together = series == last || seen.insert(series);
                last = series;
                is_together && name.strip_suffix(if kind == "counter" { "_total" } else { "" }) == Some(family)
            }
        };
        if !good {
            return Some(line.to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::Row;
    use crate::export::metric::{Metric, Part};

    #[test]
    fn a_sample_has_base_units_escaped_labels_and_its_time() {
        let mut text = Vec::new();
        let mut family = Family::begin(&mut text, Kind::Gauge, ("disk", "busy_percent"), "Share").expect("written");
        family.sample(&[("device", "a\"b\\c")], 12.5, Some(1_500_000_000)).expect("written");
        end(&mut text).expect("written");
        let text = String::from_utf8(text).expect("UTF-8");
        assert_eq!(
            text,
            "# TYPE brisk_disk_busy_ratio gauge\n# UNIT brisk_disk_busy_ratio ratio\n# HELP brisk_disk_busy_ratio Share.\n\
             brisk_disk_busy_ratio{device=\"a\\\"b\\\\c\"} 0.125 1.500000000\n# EOF\n"
        );
        assert_eq!(complaint(&text), None);
    }

    #[test]
    fn a_record_has_the_values_of_each_device_together() {
        let row = |second: u64| {
            let metric = |device: &str| Metric {
                key: (Part { kind: "disk", name: device.to_owned() }, "busy_percent".into()),
                value: second as f64,
            };
            let (start_unix_ns, end_unix_ns) = (second * 1_000_000_000, (second + 1) * 1_000_000_000);
            Row { session: 1, start_unix_ns, end_unix_ns, metrics: vec![metric("sda"), metric("sdb")] }
        };
        let mut columns = Columns::default();
        columns.add(&row(0));
        let rows = |use_row: &mut dyn FnMut(Row) -> anyhow::Result<()>| (0..3).map(row).try_for_each(use_row);
        let mut text = Vec::new();
        record(&columns, &rows, &mut text).expect("written");
        let text = String::from_utf8(text).expect("UTF-8");
        assert_eq!(complaint(&text), None, "{text}");
        assert!(
            text.contains("{device=\"sda\"} 0.02 3.000000000\nbrisk_disk_busy_ratio{device=\"sdb\"} 0 1.000000000\n"),
            "{text}"
        );
    }

    #[test]
    fn what_breaks_the_format_is_found() {
        for bad in [
            "# TYPE a gauge\na 1\n",
            "# TYPE a counter\na 1\n# EOF\n",
            "# TYPE a gauge\nb 1\n# EOF\n",
            "# TYPE a gauge\na 1\n# TYPE a gauge\n# EOF\n",
            "# TYPE a gauge\na{b=\"1\"} 1 1\na{b=\"2\"} 1 1\na{b=\"1\"} 1 2\n# EOF\n",
            "# TYPE a_ms gauge\n# UNIT a_ms seconds\n# EOF\n",
        ] {
            assert!(complaint(bad).is_some(), "{bad}");
        }
    }
}
