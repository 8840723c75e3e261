//! OpenMetrics 1.0, the text format: for each family its type, unit and help, then its samples; counters end in `_total`, and
//! the text ends with `# EOF`.

use std::collections::BTreeSet;
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

/// Writes a record, with times. All samples of a family stand together, so the record is read once for each: memory does not
/// grow with its length.
pub(crate) fn record(columns: &Columns, rows: &Rows<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let families: BTreeSet<(&'static str, &str)> =
        columns.iter().map(|(part, name)| (part.kind, name.as_ref())).collect();
    for (kind, name) in families {
        let of = if names::is_level(name) { "at the end of" } else { "over" };
        let help =
            format!("{} of {kind}, {of} the interval that ends at the time of the sample", name.replace('_', " "));
        let mut family = Family::begin(out, Kind::Gauge, (kind, name), &help)?;
        rows(&mut |row| {
            let own = row.metrics.iter().filter(|metric| metric.key.0.kind == kind && metric.key.1 == name);
            for metric in own {
                let part = metric.key.0.name.as_str();
                let labels: &[(&str, &str)] = if part.is_empty() { &[] } else { &[(label(kind), part)] };
                family.sample(labels, metric.value, Some(row.end_unix_ns))?;
            }
            Ok(())
        })?;
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

/// Whether every sample of a text stands in the family before it, and each family's name ends in its unit: the rules of the
/// format that a scraper enforces.
#[cfg(test)]
pub(crate) fn complaint(text: &str) -> Option<String> {
    let (mut family, mut kind, mut seen) = ("", "", BTreeSet::new());
    let Some(body) = text.strip_suffix("# EOF\n") else { return Some("no end".to_owned()) };
    for line in body.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let good = match words.as_slice() {
            ["#", "TYPE", name, of] => {
                (family, kind) = (name, of);
                seen.insert(*name)
            }
            ["#", "UNIT", name, unit] => *name == family && name.ends_with(&format!("_{unit}")),
            ["#", "HELP", name, ..] => *name == family,
            _ => {
                let name = line.split(['{', ' ']).next().unwrap_or_default();
                name.strip_suffix(if kind == "counter" { "_total" } else { "" }) == Some(family)
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
    fn what_breaks_the_format_is_found() {
        for bad in [
            "# TYPE a gauge\na 1\n",
            "# TYPE a counter\na 1\n# EOF\n",
            "# TYPE a gauge\nb 1\n# EOF\n",
            "# TYPE a gauge\na 1\n# TYPE a gauge\n# EOF\n",
            "# TYPE a_ms gauge\n# UNIT a_ms seconds\n# EOF\n",
        ] {
            assert!(complaint(bad).is_some(), "{bad}");
        }
    }
}
