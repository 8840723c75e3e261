//! Whether the times of a device can be trusted: a pure function of measurements.
//!
//! A late lab measures the machine instead of the flash, so results must be able to say so. Properties:
//! `a_quiet_calibrated_lab_is_reliable`, and each reason alone makes it unreliable.

use brisk_profile::lab_client::{CpuPressure, Fidelity, Lateness, Overhead, Requests};

/// Shorter times are not faithful even under good conditions.
pub const FAITHFUL_FROM_US: f64 = 100.0;

/// Above this, the overhead is as large as the service time of a fast device.
const OVERHEAD_US_MAX: f64 = 120.0;
/// Most spread of a usable calibration.
const OVERHEAD_SPREAD_US_MAX: f64 = 40.0;
/// Lateness that is always accepted, and its largest accepted share of the service times.
const LATENESS_US_P50_MAX: f64 = 10.0;
const LATENESS_SHARE_MAX: f64 = 0.02;
/// Least number of replies for a percentile.
const LATENESS_COUNT_MIN: u64 = 50;
/// On two processors a synchronous load causes 20 % by itself, since it shares them with the server; medians were then
/// within 2.5 % of the model (187 and 410 us), and far off at 60 %.
const CPU_PRESSURE_PERCENT_MAX: f64 = 25.0;
/// Largest share of requests that are faster than the lab.
const FASTER_SHARE_MAX: f64 = 0.05;

/// The lab's own overhead, measured on the finished device before its first use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence<'a> {
    pub(crate) overhead: Option<Overhead>,
    pub(crate) lateness: &'a Lateness,
    pub(crate) pressure: Option<CpuPressure>,
    pub(crate) requests: &'a Requests,
    /// Wanted queue depth, and the measured one.
    pub(crate) depth_requests: (u32, u32),
    pub(crate) timed: bool,
    /// Privileges refused to the server.
    pub(crate) refused: &'a [String],
}

pub(crate) fn judge(evidence: Evidence<'_>) -> Fidelity {
    let mut reasons = Vec::new();
    let mut notes = Vec::new();
    match evidence.overhead {
        None => reasons.push("the lab's own overhead was not calibrated".to_owned()),
        Some(o) if o.overhead_us_p50 > OVERHEAD_US_MAX || o.overhead_us_spread > OVERHEAD_SPREAD_US_MAX => {
            reasons.push(format!(
                "calibration is off: the lab's own overhead was {:.0} us and varied by {:.0} us (at most \
                 {OVERHEAD_US_MAX} and {OVERHEAD_SPREAD_US_MAX}); create the device again on a quiet machine",
                o.overhead_us_p50, o.overhead_us_spread
            ));
        }
        Some(_) => {}
    }
    let late = evidence.lateness;
    let late_max_us = LATENESS_US_P50_MAX.max(LATENESS_SHARE_MAX * late.service_us_mean);
    if late.count >= LATENESS_COUNT_MIN && late.lateness_us_p50 > late_max_us {
        reasons.push(format!(
            "half of the replies came more than {:.0} us late (at most {late_max_us:.0})",
            late.lateness_us_p50
        ));
    }
    match evidence.pressure {
        None => notes.push("this kernel does not report CPU pressure".to_owned()),
        Some(p) if p.percent_since_reset > CPU_PRESSURE_PERCENT_MAX => reasons.push(format!(
            "tasks waited for a processor in {:.0} % of the time (at most {CPU_PRESSURE_PERCENT_MAX})",
            p.percent_since_reset
        )),
        Some(_) => {}
    }
    let timed = evidence.requests.read.requests + evidence.requests.write.requests;
    let faster = evidence.requests.faster_than_lab;
    if timed > 0 && faster as f64 > FASTER_SHARE_MAX * timed as f64 {
        notes.push(format!(
            "{:.0} % of the requests take less time in the model than the lab itself needs; times below \
             {FAITHFUL_FROM_US} us are not faithful",
            100.0 * faster as f64 / timed as f64
        ));
    }
    let (wanted, shown) = evidence.depth_requests;
    if wanted != shown {
        reasons.push(format!("the device shows a queue depth of {shown} instead of {wanted}"));
    }
    if !evidence.timed {
        reasons.push("time is off: replies are immediate".to_owned());
    }
    notes.extend(evidence.refused.iter().map(|what| format!("refused by this machine: {what}")));
    Fidelity { reliable: reasons.is_empty(), reasons, notes }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet<'a>(lateness: &'a Lateness, requests: &'a Requests) -> Evidence<'a> {
        Evidence {
            overhead: Some(Overhead {
                read_at_zero_us_p50: 41.0,
                overhead_us_p50: 55.0,
                overhead_us_spread: 6.0,
                count: 300,
            }),
            lateness,
            pressure: Some(CpuPressure { percent_since_reset: 1.0, percent_avg10: 1.0 }),
            requests,
            depth_requests: (4, 4),
            timed: true,
            refused: &[],
        }
    }

    #[test]
    fn a_quiet_calibrated_lab_is_reliable() {
        let verdict = judge(quiet(&Lateness::default(), &Requests::default()));
        assert_eq!(verdict, Fidelity { reliable: true, reasons: vec![], notes: vec![] });
    }

    #[test]
    fn each_reason_alone_makes_it_unreliable() {
        let (on_time, none) = (Lateness::default(), Requests::default());
        let late = Lateness { count: 100, lateness_us_p50: 11.0, service_us_mean: 500.0, ..Lateness::default() };
        let good = quiet(&on_time, &none);
        let slow = Overhead { overhead_us_p50: 150.0, ..good.overhead.expect("set above") };
        let busy = CpuPressure { percent_since_reset: 30.0, percent_avg10: 0.0 };
        for (word, evidence) in [
            ("not calibrated", Evidence { overhead: None, ..good }),
            ("calibration is off", Evidence { overhead: Some(slow), ..good }),
            ("late", Evidence { lateness: &late, ..good }),
            ("processor", Evidence { pressure: Some(busy), ..good }),
            ("queue depth", Evidence { depth_requests: (4, 128), ..good }),
            ("time is off", Evidence { timed: false, ..good }),
        ] {
            let verdict = judge(evidence);
            assert!(
                !verdict.reliable && verdict.reasons.len() == 1 && verdict.reasons[0].contains(word),
                "{verdict:?}"
            );
        }
    }

    #[test]
    fn accepted_lateness_depends_on_the_service_time() {
        let requests = Requests::default();
        let slow = Lateness { count: 100, lateness_us_p50: 40.0, service_us_mean: 5_000.0, ..Lateness::default() };
        assert!(judge(quiet(&slow, &requests)).reliable);
        assert!(!judge(quiet(&Lateness { service_us_mean: 1_000.0, ..slow }, &requests)).reliable);
    }

    #[test]
    fn times_below_the_overhead_are_noted() {
        let lateness = Lateness::default();
        let mut requests = Requests { faster_than_lab: 10, ..Requests::default() };
        requests.read.requests = 20;
        let verdict = judge(quiet(&lateness, &requests));
        assert!(verdict.reliable && verdict.notes[0].starts_with("50 %"), "{verdict:?}");
    }
}
