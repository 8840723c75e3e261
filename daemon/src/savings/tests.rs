use super::*;

/// A second of `reads` of `read_ms` and writes of 2 ms that come to `write_bytes_per_s`.
fn second(reads_per_s: f64, read_ms: f64, write_bytes_per_s: f64) -> Interval {
    let io = |requests_per_s: f64, bytes_per_s: f64, ms| IoRates {
        requests_per_s,
        bytes_per_s,
        size_bytes_mean: (requests_per_s > 0.0).then(|| bytes_per_s / requests_per_s),
        latency_ms_mean: (requests_per_s > 0.0).then_some(ms),
    };
    let disk = DiskRates {
        name: "sda".to_owned(),
        read: io(reads_per_s, reads_per_s * 4096.0, read_ms),
        write: io(write_bytes_per_s / 65536.0, write_bytes_per_s, 2.0),
        busy_percent: 50.0,
        ..DiskRates::default()
    };
    Interval { elapsed_ns: 1_000_000_000, disks: vec![disk], ..Interval::default() }
}

fn under(engines: Option<&str>) -> BTreeMap<String, EnginesInForce> {
    let under = engines.map_or(EnginesInForce::NoEngine, |engines| EnginesInForce::Engines(engines.to_owned()));
    BTreeMap::from([("sda".to_owned(), under)])
}

fn saved(rounds: &[(Option<&str>, f64, f64)], times: usize) -> Vec<Saved> {
    let mut savings = Savings::default();
    for time in 0..times {
        for (engines, read_ms, write_bytes_per_s) in rounds {
            // A little noise that cancels.
            let read_ms = read_ms + if time % 2 == 0 { 0.1 } else { -0.1 };
            savings.add_interval(&second(100.0, read_ms, *write_bytes_per_s), &under(*engines));
        }
    }
    savings.estimates()
}

#[test]
fn nothing_is_said_before_enough_was_seen() {
    assert_eq!(saved(&[(None, 10.0, 4e6)], 100), []);
    let early = saved(&[(None, 10.0, 4e6), (Some("smartio"), 2.0, 4e6)], 5);
    let [early] = early.as_slice() else { panic!("{early:?}") };
    assert_eq!((early.reads, early.reads_compared, early.read_delay_us), (500, 0, None));
    let later = saved(&[(None, 10.0, 4e6), (Some("smartio"), 2.0, 4e6)], 10);
    let delay = later[0].read_delay_us.expect("known");
    // 1000 reads that took 8 ms less each.
    assert_eq!((later[0].reads_compared, delay.value), (1000, 8_000_000));
    assert!(delay.low < 8_000_000 && delay.low > 7_800_000 && delay.high - 8_000_000 == 8_000_000 - delay.low);
}

#[test]
fn like_is_compared_with_like() {
    // With writes of another order there is no baseline.
    let other = saved(&[(None, 10.0, 4e6), (Some("smartio"), 2.0, 64e6)], 20);
    assert_eq!((other[0].reads_compared, other[0].read_delay_us), (0, None));
    // Reads alone are a pattern of their own.
    let both =
        saved(&[(None, 10.0, 4e6), (None, 1.0, 0.0), (Some("smartio"), 2.0, 4e6), (Some("smartio"), 1.0, 0.0)], 20);
    let delay = both[0].read_delay_us.expect("known");
    assert_eq!((both[0].reads_compared, delay.value), (4000, 16_000_000));
}

#[test]
fn what_got_slower_is_a_negative_saving() {
    let worse = saved(&[(None, 1.0, 0.0), (Some("smartstorage"), 3.0, 0.0)], 10);
    assert_eq!(worse[0].read_delay_us.expect("known").value, -2_000_000);
    assert_eq!(worse[0].write_delay_us, None);
    // As busy for each request: nothing saved, and nothing lost.
    assert_eq!(worse[0].energy_uj, Some(Estimate::default()));
}

#[test]
fn engines_are_told_apart_and_what_is_unclear_is_left_out() {
    let both = saved(&[(None, 9.0, 0.0), (Some("smartio"), 4.0, 0.0), (Some("smartio+smartstorage"), 8.0, 0.0)], 10);
    let saved: Vec<(&str, i64)> =
        both.iter().map(|one| (one.engines.as_str(), one.read_delay_us.expect("known").value)).collect();
    assert_eq!(saved, [("smartio", 5_000_000), ("smartio+smartstorage", 1_000_000)]);
    let mut savings = Savings::default();
    savings.add_interval(&second(100.0, 1.0, 0.0), &BTreeMap::from([("sda".to_owned(), EnginesInForce::Unclear)]));
    savings.add_interval(&second(100.0, 1.0, 0.0), &BTreeMap::new());
    assert_eq!(savings.estimates(), []);
}

#[test]
fn nothing_grows_without_bound() {
    let mut savings = Savings::default();
    for rate in 0..2000 {
        let interval = second(f64::from(rate % 40).exp2(), 1.0, f64::from(rate / 40).exp2());
        savings.add_interval(&interval, &under(None));
    }
    assert!(savings.devices["sda"].seen.len() <= PATTERNS_MAX);
    savings.forget("sda");
    assert!(savings.devices.is_empty());
}

#[test]
fn the_words_name_the_number_that_is_used() {
    assert!(METHOD.contains(&format!("{AWAKE_MW} mW")));
}
