//! One snapshot by what differs from the one before.
//!
//! The numbers of a snapshot in the order of the table of counters (`brisk_core::snapshot`) make a list. Where both
//! have the same devices, interfaces, apps and missing counters, only the numbers differ: one bit for each number says
//! whether it changed, and each that did has a varint. Many numbers move in steps (10 ms of processor time, pages,
//! sectors), so a difference is given in steps where that is exact; the lowest bit of the varint says which.
//!
//! Correctness does not depend on the list being complete: what differs and is not in the list makes a key.

use brisk_core::snapshot::{Counted, Snapshot};

/// What differs in `now` from `previous`; `None` when that is more than numbers.
pub(crate) fn encode(previous: &Snapshot, now: &Snapshot) -> Option<Vec<u8>> {
    let (before, shape_before) = split(previous);
    let (after, shape_after) = split(now);
    if shape_before != shape_after {
        return None;
    }
    let mut changed = vec![0u8; before.len().div_ceil(8)];
    let mut varints = Vec::new();
    for (index, ((then, step), (now, _))) in before.into_iter().zip(after).enumerate() {
        let difference = now.wrapping_sub(then).cast_signed();
        if difference != 0 {
            changed[index / 8] |= 1 << (index % 8);
            push_varint(&mut varints, to_code(difference, step));
        }
    }
    changed.extend(varints);
    Some(changed)
}

/// The snapshot that differs from `previous` by `bytes`; `None` when these cannot be such a difference.
pub(crate) fn decode(previous: &Snapshot, bytes: &[u8]) -> Option<Snapshot> {
    let mut now = previous.clone();
    let mut count = 0usize;
    now.each_number(1, &mut |_, _| count += 1);
    let (changed, mut rest) = bytes.split_at_checked(count.div_ceil(8))?;
    let mut index = 0;
    let mut whole = true;
    now.each_number(1, &mut |number, step| {
        if changed[index / 8] & (1 << (index % 8)) != 0 {
            match take_varint(&mut rest).and_then(|code| from_code(code, step)) {
                Some(difference) => *number = number.wrapping_add(difference.cast_unsigned()),
                None => whole = false,
            }
        }
        index += 1;
    });
    (whole && rest.is_empty()).then_some(now)
}

/// Zigzag, and one bit for the unit.
fn to_code(difference: i64, step: u64) -> u128 {
    let step = step.cast_signed();
    let (value, raw) = if difference % step == 0 { (difference / step, 0) } else { (difference, 1) };
    let zigzag = ((value << 1) ^ (value >> 63)).cast_unsigned();
    u128::from(zigzag) << 1 | raw
}

fn from_code(code: u128, step: u64) -> Option<i64> {
    let zigzag = u64::try_from(code >> 1).ok()?;
    let value = (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed();
    if code & 1 == 1 { Some(value) } else { value.checked_mul(step.cast_signed()) }
}

fn push_varint(out: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_varint(rest: &mut &[u8]) -> Option<u128> {
    let mut value = 0u128;
    // 65 bits take ten bytes.
    for shift in (0..70).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u128::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// The numbers of a snapshot with their steps, and what is left of it without them.
fn split(snapshot: &Snapshot) -> (Vec<(u64, u64)>, Snapshot) {
    let mut shape = snapshot.clone();
    let mut numbers = Vec::new();
    shape.each_number(1, &mut |number, step| {
        numbers.push((*number, step));
        *number = 0;
    });
    (numbers, shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::snapshot::{
        AppTotals, DiskTotals, FlushTotals, IoTotals, MemoryLevels, NetTotals, PagingTotals, PressureTotals,
        StallTotals, TICK_US,
    };
    use proptest::prelude::*;

    /// Two disks, an interface and an app, and all counters there are.
    fn sample() -> Snapshot {
        let stall = Some(StallTotals { some_us: 0, full_us: Some(0) });
        let disk = |name: &str| DiskTotals {
            name: name.into(),
            discard: Some(IoTotals::default()),
            flush: Some(FlushTotals::default()),
            ..DiskTotals::default()
        };
        Snapshot {
            memory: MemoryLevels { available_bytes: Some(0), ..MemoryLevels::default() },
            paging: PagingTotals { refault_anon_pages: Some(0), scan_direct_pages: Some(0), ..PagingTotals::default() },
            pressure: PressureTotals { cpu: stall, io: stall, memory: stall },
            disks: vec![disk("vda"), disk("vdb")],
            nets: vec![NetTotals { name: "eth0".into(), ..NetTotals::default() }],
            apps: vec![AppTotals {
                name: "app-x.scope".into(),
                cpu_us: Some(0),
                memory_bytes: Some(0),
                rss_bytes: Some(0),
                io_pressure: stall,
                memory_pressure: stall,
                ..AppTotals::default()
            }],
            ..Snapshot::default()
        }
    }

    fn with(numbers: &[u64]) -> Snapshot {
        let mut snapshot = sample();
        let mut numbers = numbers.iter().copied().cycle();
        snapshot.each_number(1, &mut |number, _| *number = numbers.next().unwrap_or_default());
        snapshot
    }

    #[test]
    fn every_number_of_a_snapshot_is_visited() {
        let mut visited = 0;
        sample().each_number(1, &mut |_, _| visited += 1);
        let json = serde_json::to_string(&sample()).expect("numbers and strings");
        let written = json.matches(":0").count();
        assert_eq!(visited, written, "{json}");
    }

    #[test]
    fn what_comes_or_goes_makes_a_key() {
        let one = sample();
        let mut renamed = sample();
        renamed.disks[1].name = "vdc".into();
        let mut fewer = sample();
        fewer.apps.clear();
        let mut unknown = sample();
        unknown.pressure.cpu = None;
        for other in [renamed, fewer, unknown] {
            assert_eq!(encode(&one, &other), None);
        }
    }

    #[test]
    fn an_idle_second_is_small() {
        let mut now = sample();
        now.at_ns += 1_000_050_123;
        now.wall_unix_ms += 1000;
        now.cpu.idle_us += 1_990_000;
        now.cpu.user_us += 10_000;
        let bytes = encode(&sample(), &now).expect("numbers only");
        assert!(bytes.len() <= 25, "{} bytes", bytes.len());
    }

    #[test]
    fn what_is_left_over_is_no_difference() {
        let bytes = encode(&sample(), &with(&[7])).expect("numbers only");
        assert!(decode(&sample(), &bytes).is_some());
        assert_eq!(decode(&sample(), &bytes[..bytes.len() - 1]), None);
        assert_eq!(decode(&sample(), &[&bytes[..], &[0]].concat()), None);
        assert_eq!(decode(&sample(), &[]), None);
    }

    proptest! {
        #[test]
        fn a_difference_leads_from_one_to_the_other(
            then in prop::collection::vec(prop_oneof![0u64..9, Just(40_960), any::<u64>()], 1..30),
            now in prop::collection::vec(prop_oneof![0u64..9, Just(81_920), any::<u64>()], 1..30),
        ) {
            let (then, now) = (with(&then), with(&now));
            let bytes = encode(&then, &now).expect("numbers only");
            prop_assert_eq!(decode(&then, &bytes), Some(now));
        }

        #[test]
        fn codes_come_back(difference in any::<i64>(), step in prop::sample::select(vec![1, 4096, TICK_US])) {
            prop_assert_eq!(from_code(to_code(difference, step), step), Some(difference));
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode(&sample(), &bytes);
        }
    }
}
