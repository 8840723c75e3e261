//! Names and units: a name of brisk ends in its unit (`read_bytes_per_s`, `busy_percent`), of a statistic in the unit
//! and the statistic (`read_latency_ms_mean`). OpenMetrics wants base units at the end and ratios instead of percents
//! (OpenMetrics 1.0, "Units and Base Units"), Perfetto a sign for its axis.

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Unit {
    /// How names of brisk end in it.
    ending: &'static str,
    pub(crate) sign: &'static str,
    /// The base unit of OpenMetrics.
    base: &'static str,
    /// That many base units.
    pub(crate) factor: f64,
}

const fn unit(ending: &'static str, sign: &'static str, base: &'static str, factor: f64) -> Unit {
    Unit { ending, sign, base, factor }
}

/// All units; of two that fit, the first is meant.
const UNITS: [Unit; 12] = [
    unit("bytes_per_s", "bytes/s", "bytes_per_second", 1.0),
    unit("requests_per_s", "requests/s", "requests_per_second", 1.0),
    unit("packets_per_s", "packets/s", "packets_per_second", 1.0),
    unit("pages_per_s", "pages/s", "pages_per_second", 1.0),
    unit("per_s", "1/s", "per_second", 1.0),
    unit("percent", "%", "ratio", 0.01),
    unit("us", "us", "seconds", 1e-6),
    unit("ms", "ms", "seconds", 1e-3),
    unit("s", "s", "seconds", 1.0),
    unit("uj", "uJ", "joules", 1e-6),
    unit("bytes", "bytes", "bytes", 1.0),
    unit("requests", "requests", "requests", 1.0),
];

/// The statistics that follow a unit.
const STATISTICS: [&str; 1] = ["mean"];

/// A name without unit and statistic, its unit, and its statistic.
fn parts(name: &str) -> (&str, Option<Unit>, Option<&'static str>) {
    let before =
        |name: &'_ str, ending: &str| name.strip_suffix(ending).and_then(|rest| rest.strip_suffix('_')).map(str::len);
    let statistic = STATISTICS.into_iter().find(|one| before(name, one).is_some());
    let name = statistic.and_then(|one| before(name, one)).map_or(name, |length| &name[..length]);
    let unit = UNITS.into_iter().find(|unit| before(name, unit.ending).is_some());
    let bare = unit.and_then(|unit| before(name, unit.ending)).map_or(name, |length| &name[..length]);
    (bare, unit, statistic)
}

/// The sign of a name's unit: of `read_bytes_per_s` it is `bytes/s`; empty where it counts things.
pub(crate) fn sign(name: &str) -> &'static str {
    parts(name).1.map_or("", |unit| unit.sign)
}

/// Whether a value stands at a moment rather than for an interval.
pub(crate) fn is_level(name: &str) -> bool {
    name == "in_flight_requests" || name.ends_with("_bytes")
}

/// A name as OpenMetrics has it, with the prefix of brisk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Name {
    /// `brisk_disk_read_latency_mean_seconds`.
    pub(crate) name: String,
    /// `seconds`; `None` where things are counted.
    pub(crate) unit: Option<&'static str>,
    /// By which a value is multiplied.
    pub(crate) factor: f64,
}

/// The name of a value in OpenMetrics; `group` is what it belongs to, such as `disk`, or empty.
pub(crate) fn openmetrics(group: &str, name: &str) -> Name {
    let (bare, unit, statistic) = parts(name);
    let words = ["brisk", group, bare].into_iter().chain(statistic).chain(unit.map(|unit| unit.base));
    let name = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    Name { name, unit: unit.map(|unit| unit.base), factor: unit.map_or(1.0, |unit| unit.factor) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_the_names() {
        for (name, expected) in [
            ("busy_percent", "%"),
            ("read_size_bytes_mean", "bytes"),
            ("read_latency_ms_mean", "ms"),
            ("depth_requests_mean", "requests"),
            ("write_bytes_per_s", "bytes/s"),
            ("major_faults_per_s", "1/s"),
            ("swap_in_pages_per_s", "pages/s"),
            ("launches", ""),
        ] {
            assert_eq!(sign(name), expected, "{name}");
        }
        for (name, expected) in
            [("available_bytes", true), ("write_bytes_per_s", false), ("read_size_bytes_mean", false)]
        {
            assert_eq!(is_level(name), expected, "{name}");
        }
    }

    #[test]
    fn openmetrics_has_base_units_at_the_end() {
        for (group, name, expected, unit, factor) in [
            ("disk", "read_latency_ms_mean", "brisk_disk_read_latency_mean_seconds", Some("seconds"), 1e-3),
            ("cpu", "busy_percent", "brisk_cpu_busy_ratio", Some("ratio"), 0.01),
            ("disk", "read_bytes_per_s", "brisk_disk_read_bytes_per_second", Some("bytes_per_second"), 1.0),
            ("paging", "major_faults_per_s", "brisk_paging_major_faults_per_second", Some("per_second"), 1.0),
            ("", "energy_saved_uj", "brisk_energy_saved_joules", Some("joules"), 1e-6),
            ("", "launches", "brisk_launches", None, 1.0),
        ] {
            assert_eq!(openmetrics(group, name), Name { name: expected.to_owned(), unit, factor }, "{name}");
        }
    }
}
