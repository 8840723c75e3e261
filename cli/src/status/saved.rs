//! What brisk has saved, in words. Values in, lines out.

use brisk_api::{Estimate, Saved, Status};
use brisk_core::units::three_digits;

/// What is said before enough was seen both with brisk's settings and without.
const UNKNOWN: &str = "not known yet";

/// A line for each device and engine, and one that says how it was measured; one line while nothing was in force.
pub(crate) fn lines(status: &Status) -> Vec<String> {
    if status.saved.is_empty() {
        return vec![format!("saved      {UNKNOWN}: no engine has set anything so far")];
    }
    let mut lines: Vec<String> = status.saved.iter().map(line).collect();
    lines.push(format!("           {}", status.saved_how));
    lines
}

fn line(saved: &Saved) -> String {
    let reads = delay("reads", saved.read_delay_us, saved.reads_compared, saved.reads);
    let writes = delay("writes", saved.write_delay_us, saved.writes_compared, saved.writes);
    let energy = saved.energy_uj.map_or_else(
        || format!("energy {UNKNOWN}"),
        |energy| {
            let share = share(saved.energy_requests_compared, saved.reads + saved.writes);
            format!("energy {} mJ{share}", in_brackets(energy, 1e3))
        },
    );
    let engines = saved.engines.replace('+', " and ");
    format!("saved      {} by {engines} in {} s: {reads}; {writes}; {energy}", saved.device, saved.elapsed_s)
}

fn delay(what: &str, delay: Option<Estimate>, compared: u64, all: u64) -> String {
    match delay {
        None => format!("delay of {all} {what} {UNKNOWN}"),
        Some(delay) => format!("{} s of delay of {all} {what}{}", in_brackets(delay, 1e6), share(compared, all)),
    }
}

fn share(compared: u64, all: u64) -> String {
    format!(" ({:.0} % compared)", compared as f64 * 100.0 / all.max(1) as f64)
}

/// `1.20 [1.00 to 1.40]`.
fn in_brackets(estimate: Estimate, unit: f64) -> String {
    let number = |value: i64| three_digits(value as f64 / unit);
    format!("{} [{} to {}]", number(estimate.value), number(estimate.low), number(estimate.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_said_to_be_so() {
        assert_eq!(lines(&Status::default()), ["saved      not known yet: no engine has set anything so far"]);
        let saved = Saved {
            device: "mmcblk0".into(),
            engines: "smartio+smartstorage".into(),
            elapsed_s: 61,
            reads: 1000,
            reads_compared: 710,
            read_delay_us: Some(Estimate { value: 12_300_000, low: 10_100_000, high: 14_500_000 }),
            writes: 20,
            ..Saved::default()
        };
        let status = Status { saved: vec![saved], saved_how: "observed".into(), ..Status::default() };
        assert_eq!(
            lines(&status),
            [
                "saved      mmcblk0 by smartio and smartstorage in 61 s: 12.3 [10.1 to 14.5] s of delay of 1000 reads \
                 (71 % compared); delay of 20 writes not known yet; energy not known yet",
                "           observed"
            ]
        );
    }

    #[test]
    fn a_loss_is_shown_as_one() {
        let energy = Estimate { value: -2_000, low: -3_000, high: -1_000 };
        let saved = Saved { energy_uj: Some(energy), energy_requests_compared: 5, reads: 10, ..Saved::default() };
        assert!(line(&saved).ends_with("energy -2.00 [-3.00 to -1.00] mJ (50 % compared)"), "{}", line(&saved));
    }
}
