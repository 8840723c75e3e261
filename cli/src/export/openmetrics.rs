//! OpenMetrics 1.0, the text format: for each family its type, unit and help, then its samples; counters end in
//! `_total`, and the text ends with `# EOF`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use brisk_core::text::harmless;

use super::names::{Name, openmetrics};
use super::table::Columns;
use super::{Rows, names};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Never falls while the process lives.
    Counter,
    Gauge,
}

/// What text a metric becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// OpenMetrics 1.0.
    Openmetrics,
    /// The text format of Prometheus, version 0.0.4, which the textfile collector of node_exporter reads: the name of a
    /// counter has its `_total` in all lines, units are no lines of their own, and the text just ends.
    Prometheus,
}

/// A family that has begun: its samples follow.
pub(crate) struct Family<'a> {
    out: &'a mut dyn Write,
    name: String,
    factor: f64,
}

impl<'a> Family<'a> {
    /// Begins the family of the value that brisk calls `name`, of `group`; `help` is a sentence without its full stop.
    pub(crate) fn begin(
        out: &'a mut dyn Write,
        dialect: Dialect,
        kind: Kind,
        (group, name): (&str, &str),
        help: &str,
    ) -> anyhow::Result<Self> {
        let Name { name: family, unit, factor } = openmetrics(group, name);
        let word = if kind == Kind::Counter { "counter" } else { "gauge" };
        let name = if kind == Kind::Counter { format!("{family}_total") } else { family.clone() };
        match dialect {
            Dialect::Openmetrics => {
                writeln!(out, "# TYPE {family} {word}")?;
                if let Some(unit) = unit {
                    writeln!(out, "# UNIT {family} {unit}")?;
                }
                writeln!(out, "# HELP {family} {}.", escaped(help))?;
            }
            Dialect::Prometheus => {
                // Quotes have no escape there.
                writeln!(out, "# HELP {name} {}.", help.replace('\\', "\\\\").replace('\n', "\\n"))?;
                writeln!(out, "# TYPE {name} {word}")?;
            }
        }
        Ok(Self { out, name, factor })
    }

    /// Writes a sample, in brisk's unit; at a moment, or of now. A value that is no number is left out.
    pub(crate) fn sample(
        &mut self,
        labels: &[(&str, &str)],
        value: f64,
        at_unix_ns: Option<u64>,
    ) -> anyhow::Result<()> {
        if !value.is_finite() {
            return Ok(());
        }
        write!(self.out, "{}", self.name)?;
        if !labels.is_empty() {
            let labels: Vec<String> =
                labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
            write!(self.out, "{{{}}}", labels.join(","))?;
        }
        // Not multiplied: 1.5e6 us are 1.5 s, and 1.5e6 * 1e-6 is not.
        let value = if self.factor < 1.0 { value / (1.0 / self.factor).round() } else { value };
        write!(self.out, " {value}")?;
        if let Some(at_unix_ns) = at_unix_ns {
            write!(self.out, " {}.{:09}", at_unix_ns / 1_000_000_000, at_unix_ns % 1_000_000_000)?;
        }
        Ok(writeln!(self.out)?)
    }
}

pub(crate) fn end(out: &mut dyn Write, dialect: Dialect) -> anyhow::Result<()> {
    if dialect == Dialect::Openmetrics {
        writeln!(out, "# EOF")?;
    }
    Ok(())
}

/// Writes a record, with times. The format has all values of one thing together and all of one name, so the record is
/// read once for each name, and the values of one name are in memory at a time: 16 bytes each. Each session has series
/// of its own: its wall clock may be earlier than that of the session before it (a machine without a clock at boot),
/// and times of a series ascend.
pub(crate) fn record(columns: &Columns, rows: &Rows<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let families: BTreeSet<(&'static str, &str)> =
        columns.iter().map(|(part, name)| (part.kind, name.as_ref())).collect();
    for (kind, name) in families {
        let mut series: BTreeMap<(u64, String), Vec<(u64, f64)>> = BTreeMap::new();
        rows(&mut |row| {
            let own = row.metrics.iter().filter(|metric| metric.key.0.kind == kind && metric.key.1 == name);
            for metric in own {
                series
                    .entry((row.session, metric.key.0.name.clone()))
                    .or_default()
                    .push((row.end_unix_ns, metric.value));
            }
            Ok(())
        })?;
        let of = if names::is_level(name) { "at the end of" } else { "over" };
        let help = format!("{name} of {kind} in a record of brisk, {of} the interval that ends at the sample's time");
        let mut family = Family::begin(out, Dialect::Openmetrics, Kind::Gauge, (kind, name), &help)?;
        for ((session, part), values) in &series {
            let session = session.to_string();
            let labels = [("session", session.as_str()), (label(kind), part.as_str())];
            let labels = if part.is_empty() { &labels[..1] } else { &labels };
            for (at_unix_ns, value) in values {
                family.sample(labels, *value, Some(*at_unix_ns))?;
            }
        }
    }
    end(out, Dialect::Openmetrics)
}

fn label(kind: &str) -> &'static str {
    match kind {
        "disk" => "device",
        "net" => "interface",
        "app" => "app",
        _ => "name",
    }
}

fn escaped(value: &str) -> String {
    harmless(value).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The first line of OpenMetrics that breaks the format: a sample outside of its family, a unit that does not end the
/// name, a family or a series in two places, a time that is not later than the one before in its series. These are the
/// rules that readers enforce.
#[cfg(test)]
pub(crate) fn complaint(text: &str) -> Option<String> {
    let (mut family, mut kind, mut seen, mut last, mut last_s) = ("", "", BTreeSet::new(), "", f64::MIN);
    let Some(body) = text.strip_suffix("# EOF\n") else { return Some("no end".to_owned()) };
    for line in body.split_terminator('\n') {
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
                let series = line.rsplit_once("} ").map_or(name, |(series, _)| series);
                let rest: Vec<&str> = line[series.len()..].trim_start_matches('}').trim_start().split(' ').collect();
                let numbers: Option<Vec<f64>> = rest.iter().map(|number| number.parse().ok()).collect();
                let at_s = numbers.as_ref().and_then(|numbers| numbers.get(1)).copied();
                let is_together = if series == last { at_s > Some(last_s) } else { seen.insert(series) };
                (last, last_s) = (series, at_s.unwrap_or(f64::MIN));
                is_together
                    && numbers.is_some()
                    && name.strip_suffix(if kind == "counter" { "_total" } else { "" }) == Some(family)
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
        let openmetrics = Dialect::Openmetrics;
        let mut family =
            Family::begin(&mut text, openmetrics, Kind::Gauge, ("disk", "busy_percent"), "Share").expect("written");
        family.sample(&[("device", "a\"b\\c")], 12.5, Some(1_500_000_000)).expect("written");
        family.sample(&[], f64::NAN, None).expect("left out");
        end(&mut text, openmetrics).expect("written");
        let text = String::from_utf8(text).expect("UTF-8");
        assert_eq!(
            text,
            "# TYPE brisk_disk_busy_ratio gauge\n# UNIT brisk_disk_busy_ratio ratio\n# HELP brisk_disk_busy_ratio \
             Share.\n\
             brisk_disk_busy_ratio{device=\"a\\\"b\\\\c\"} 0.125 1.500000000\n# EOF\n"
        );
        assert_eq!(complaint(&text), None);
    }

    fn row(session: u64, second: u64) -> Row {
        let metric = |device: &str| Metric {
            key: (Part { kind: "disk", name: device.to_owned() }, "busy_percent".into()),
            value: second as f64,
        };
        let (start_unix_ns, end_unix_ns) = (second * 1_000_000_000, (second + 1) * 1_000_000_000);
        Row { session, start_unix_ns, end_unix_ns, metrics: vec![metric("sda"), metric("s\"d\nb } ")] }
    }

    /// Rows of these sessions and seconds.
    fn recorded(sessions: &[(u64, u64)]) -> String {
        let mut columns = Columns::default();
        columns.add(&row(1, 0));
        let rows = |use_row: &mut dyn FnMut(Row) -> anyhow::Result<()>| {
            sessions.iter().map(|(session, second)| row(*session, *second)).try_for_each(use_row)
        };
        let mut text = Vec::new();
        record(&columns, &rows, &mut text).expect("written");
        String::from_utf8(text).expect("UTF-8")
    }

    #[test]
    fn a_record_has_the_values_of_each_device_together() {
        let text = recorded(&[(1, 0), (1, 1), (1, 2)]);
        assert_eq!(complaint(&text), None, "{text}");
        let of_first = "brisk_disk_busy_ratio{session=\"1\",device=\"s\\\"d\\nb } \"} 0.02 3.000000000\n";
        let of_second = "brisk_disk_busy_ratio{session=\"1\",device=\"sda\"} 0 1.000000000\n";
        assert!(text.contains(&format!("{of_first}{of_second}")), "{text}");
    }

    #[test]
    fn sessions_whose_clock_went_back_have_series_of_their_own() {
        for sessions in
            [[(1, 7), (1, 8), (2, 1), (2, 2)], [(1, 7), (1, 8), (2, 7), (2, 8)], [(1, 1), (2, 0), (3, 1), (4, 0)]]
        {
            let text = recorded(&sessions);
            assert_eq!(complaint(&text), None, "{text}");
            assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 8, "{text}");
        }
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
            "# TYPE a gauge\na 1 2\na 1 1\n# EOF\n",
            "# TYPE a gauge\na{b=\"1\"} 1 2\na{b=\"1\"} 1 2\n# EOF\n",
            "# TYPE a gauge\na one\n# EOF\n",
        ] {
            assert!(complaint(bad).is_some(), "{bad}");
        }
    }
}
