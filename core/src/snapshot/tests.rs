use super::*;
use proptest::prelude::*;

const SECOND_NS: u64 = 1_000_000_000;

fn disk(requests: u64, bytes: u64, time_ms: u64, busy_ms: u64) -> DiskTotals {
    let io = IoTotals { requests, bytes, time_ms };
    DiskTotals { name: "vda".into(), read: io, busy_ms, queue_ms: time_ms, ..DiskTotals::default() }
}

fn at(second: u64, disks: Vec<DiskTotals>) -> Snapshot {
    Snapshot { at_ns: second * SECOND_NS, wall_unix_ms: second * 1000, disks, ..Snapshot::default() }
}

#[test]
fn totals_become_rates_and_means() {
    let then = at(10, vec![disk(100, 1 << 20, 500, 300)]);
    let now = at(12, vec![disk(140, (1 << 20) + 163_840, 580, 800)]);
    let interval = now.since(&then).expect("later");
    assert_eq!((interval.elapsed_ns, interval.wall_step_ms), (2 * SECOND_NS, 0));
    let rates = &interval.disks[0];
    assert_eq!((rates.read.requests_per_s, rates.read.bytes_per_s), (20.0, 81_920.0));
    assert_eq!((rates.read.size_bytes_mean, rates.read.latency_ms_mean), (Some(4096.0), Some(2.0)));
    assert_eq!((rates.busy_percent, rates.depth_requests_mean), (25.0, Some(0.04)));
    assert_eq!((rates.write.size_bytes_mean, rates.write.latency_ms_mean), (None, None));
    assert_eq!((rates.discard, rates.flush), (None, None));
}

#[test]
fn shares_of_processors_add_up() {
    let cpu = CpuTotals { processors: 2, user_us: 100, iowait_us: 40, ..CpuTotals::default() };
    let then = Snapshot { at_ns: 1, cpu, ..Snapshot::default() };
    let cpu = CpuTotals { user_us: 400, system_us: 100, idle_us: 500, steal_us: 100, iowait_us: 39, ..cpu };
    let shares = Snapshot { at_ns: 2, cpu, ..Snapshot::default() }.since(&then).expect("later").cpu;
    assert_eq!((shares.busy_percent, shares.user_percent, shares.system_percent), (50.0, 30.0, 10.0));
    assert_eq!((shares.iowait_percent, shares.steal_percent, shares.idle_percent), (0.0, 10.0, 50.0));
    assert_eq!(then.clone().since(&then), None);
}

#[test]
fn sums_of_milliseconds_wrap_at_32_bits() {
    let near = u64::from(u32::MAX) - 99;
    let then = at(1, vec![disk(100, 0, near, near)]);
    let now = at(2, vec![disk(110, 0, 100, 400)]);
    let rates = &now.since(&then).expect("later").disks[0];
    assert_eq!((rates.read.latency_ms_mean, rates.busy_percent), (Some(20.0), 50.0));
}

#[test]
fn what_appears_goes_or_begins_anew_has_no_rate() {
    let other = |name: &str| DiskTotals { name: name.into(), ..DiskTotals::default() };
    let then = at(1, vec![other("loop0"), disk(100, 9, 9, 9)]);
    assert_eq!(at(2, vec![disk(101, 9, 9, 9), other("sda")]).since(&then).expect("later").disks.len(), 1);
    for anew in [disk(3, 9, 9, 9), disk(100, 0, 9, 9), disk(100, 9, 9, 0)] {
        assert_eq!(at(2, vec![anew]).since(&then).expect("later").disks, []);
    }
    // The sum of times alone may run backwards by a little; that costs the mean only.
    let rates = &at(2, vec![disk(101, 9, 8, 9)]).since(&then).expect("later").disks[0];
    assert_eq!((rates.read.requests_per_s, rates.read.latency_ms_mean, rates.depth_requests_mean), (1.0, None, None));
    let app = |cpu_us| AppTotals { name: "a".into(), cpu_us: Some(cpu_us), ..AppTotals::default() };
    let with = |second, apps| Snapshot { apps, ..at(second, vec![]) };
    assert_eq!(with(2, vec![app(5)]).since(&with(1, vec![app(6)])).expect("later").apps, []);
    let net = |receive_bytes| NetTotals { name: "n".into(), receive_bytes, ..NetTotals::default() };
    let with = |second, nets| Snapshot { nets, ..at(second, vec![]) };
    assert_eq!(with(2, vec![net(5)]).since(&with(1, vec![net(6)])).expect("later").nets, []);
}

#[test]
fn a_clock_that_was_set_changes_no_rate() {
    let then = at(10, vec![disk(0, 0, 0, 0)]);
    let mut now = at(11, vec![disk(50, 0, 0, 0)]);
    for (wall_unix_ms, step) in [(11_000, 0), (3_611_000, 3_600_000), (0, -11_000), (u64::MAX, i64::MAX)] {
        now.wall_unix_ms = wall_unix_ms;
        let interval = now.since(&then).expect("later");
        assert_eq!((interval.wall_step_ms, interval.disks[0].read.requests_per_s), (step, 50.0));
    }
    assert_eq!(then.since(&now), None, "monotonic time does not run backwards but by a restart");
}

fn total() -> impl Strategy<Value = u64> {
    let wrap = u64::from(u32::MAX);
    prop_oneof![0u64..2_000, wrap - 1_000..wrap + 1_000, any::<u64>()]
}

fn io() -> impl Strategy<Value = IoTotals> {
    (total(), total(), total()).prop_map(|(requests, bytes, time_ms)| IoTotals { requests, bytes, time_ms })
}

fn stall() -> impl Strategy<Value = Option<StallTotals>> {
    prop::option::of(
        (total(), prop::option::of(total())).prop_map(|(some_us, full_us)| StallTotals { some_us, full_us }),
    )
}

fn disks() -> impl Strategy<Value = Vec<DiskTotals>> {
    let one = ("[ab]", io(), io(), prop::option::of(io()), prop::option::of((total(), total())), (total(), total()));
    let one = one.prop_map(|(name, read, write, discard, flush, (busy_ms, queue_ms))| DiskTotals {
        name,
        read,
        write,
        discard,
        merged_reads: flush.map(|(reads, _)| reads),
        merged_writes: flush.map(|(_, writes)| writes),
        flush: flush.map(|(requests, time_ms)| FlushTotals { requests, time_ms }),
        in_flight_write_requests: flush.map(|(writes, _)| writes),
        in_flight_requests: 0,
        busy_ms,
        queue_ms,
    });
    prop::collection::vec(one, 0..3)
}

fn apps() -> impl Strategy<Value = Vec<AppTotals>> {
    let one = ("[ab]", prop::option::of(total()), stall(), stall(), prop::option::of((total(), total())));
    let one = one.prop_map(|(name, cpu_us, io_pressure, memory_pressure, moved)| AppTotals {
        name,
        cpu_us,
        read_bytes: moved.map(|(read_bytes, _)| read_bytes),
        write_bytes: moved.map(|(_, write_bytes)| write_bytes),
        io_pressure,
        memory_pressure,
        ..AppTotals::default()
    });
    prop::collection::vec(one, 0..3)
}

prop_compose! {
    fn snapshot()(
        (at_ns, wall_unix_ms) in (0u64..1 << 62, total()),
        cpu in prop::array::uniform9(total()),
        paging in prop::array::uniform3(total()),
        refaults in prop::option::of(total()),
        pressure in (stall(), stall(), stall()),
        disks in disks(),
        net in prop::option::of(prop::array::uniform4(total())),
        apps in apps(),
    ) -> Snapshot {
        let [processors, user_us, nice_us, system_us, idle_us, iowait_us, irq_us, softirq_us, steal_us] = cpu;
        let cpu = CpuTotals {
            processors, user_us, nice_us, system_us, idle_us, iowait_us, irq_us, softirq_us, steal_us,
        };
        let [swap_in_pages, swap_out_pages, major_faults] = paging;
        let paging = PagingTotals {
            swap_in_pages, swap_out_pages, major_faults, refault_anon_pages: refaults, ..PagingTotals::default()
        };
        let nets = net.map(|[receive_bytes, receive_packets, transmit_bytes, transmit_packets]| NetTotals {
            name: "eth0".into(), receive_bytes, receive_packets, transmit_bytes, transmit_packets,
        });
        let (cpu_pressure, io, memory) = pressure;
        Snapshot {
            at_ns,
            wall_unix_ms,
            cpu,
            paging,
            pressure: PressureTotals { cpu: cpu_pressure, io, memory },
            disks,
            nets: nets.into_iter().collect(),
            apps,
            ..Snapshot::default()
        }
    }
}

/// All numbers of an interval that are shares, and all that are rates or means.
fn numbers(interval: &Interval) -> (Vec<f64>, Vec<f64>) {
    let (mut shares, mut rates) = (Vec::new(), Vec::new());
    interval.each_value(&Snapshot::default(), &mut |kind, _, name, value| {
        // An app may use several processors.
        if name.ends_with("percent") && (kind, &*name) != ("app", "cpu_percent") { &mut shares } else { &mut rates }
            .push(value);
    });
    (shares, rates)
}

#[test]
fn values_have_the_names_that_they_have_always_had_and_what_is_not_known_is_left_out() {
    let stall = Some(StallTotals { some_us: 1, full_us: Some(1) });
    let snapshot = |at_ns| Snapshot {
        at_ns,
        disks: vec![DiskTotals { name: "vda".into(), flush: Some(FlushTotals::default()), ..DiskTotals::default() }],
        apps: vec![AppTotals { name: "a".into(), cpu_us: Some(at_ns), io_pressure: stall, ..AppTotals::default() }],
        ..Snapshot::default()
    };
    let now = snapshot(1_000_000_000);
    let mut names = Vec::new();
    now.since(&snapshot(0))
        .expect("later")
        .each_value(&now, &mut |kind, part, name, _| names.push(format!("{kind} {part} {name}")));
    for known in [
        "cpu  iowait_percent",
        "memory  swap_used_bytes",
        "paging  swap_in_pages_per_s",
        "disk vda read_requests_per_s",
        "disk vda flush_requests_per_s",
        "disk vda in_flight_requests",
        "app a cpu_percent",
        "app a io_full_percent",
    ] {
        assert!(names.iter().any(|name| name == known), "{known}: {names:?}");
    }
    for unknown in
        ["memory  available_bytes", "pressure  io_some_percent", "app a rss_bytes", "disk vda read_latency_ms_mean"]
    {
        assert!(!names.iter().any(|name| name == unknown), "{unknown}: {names:?}");
    }
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "each name stands for one value");
}

#[test]
fn the_kernels_names_of_a_place_add_up() {
    let mut memory = MemoryLevels::default();
    for (name, kib) in [(&b"Active(anon)"[..], 3), (b"Inactive(anon)", 4), (b"MemAvailable", 5)] {
        *memory.slot_of(name).expect("known") += kib;
    }
    assert_eq!((memory.anon_bytes, memory.available_bytes), (7, Some(5)));
    assert_eq!(memory.slot_of(b"HugePages_Total"), None);
}

proptest! {
    #[test]
    fn no_two_snapshots_give_a_negative_or_infinite_rate(now in snapshot(), then in snapshot()) {
        let Some(interval) = now.since(&then) else {
            prop_assert!(now.at_ns <= then.at_ns);
            return Ok(());
        };
        let (shares, rates) = numbers(&interval);
        for share in shares {
            prop_assert!((0.0..=100.0).contains(&share), "{share} %: {interval:?}");
        }
        for rate in rates {
            prop_assert!(rate >= 0.0 && rate.is_finite(), "{rate}: {interval:?}");
        }
        for app in interval.apps.iter().filter_map(|app| app.cpu_percent) {
            prop_assert!(app <= now.cpu.processors.max(1) as f64 * 100.0);
        }
        for disk in &interval.disks {
            let before = then.disks.iter().any(|one| one.name == disk.name);
            prop_assert!(before, "{} had no earlier totals", disk.name);
        }
    }

    #[test]
    fn a_counter_that_began_anew_gives_no_jump(then in 1u64..u64::MAX, now in 0u64..1_000_000) {
        prop_assume!(now < then);
        let disk = |requests, bytes| DiskTotals {
            name: "vda".into(),
            write: IoTotals { requests, bytes, time_ms: 0 },
            ..DiskTotals::default()
        };
        let at = |at_ns, total| Snapshot { at_ns, disks: vec![disk(total, total)], ..Snapshot::default() };
        prop_assert_eq!(at(2 * SECOND_NS, now).since(&at(SECOND_NS, then)).expect("later").disks, vec![]);
    }

    #[test]
    fn half_way_changes_no_sum(
        (requests, bytes) in ((0u64..1 << 40, 0u64..1 << 40), (0u64..1 << 40, 0u64..1 << 40)),
    ) {
        let first = at(0, vec![disk(0, 0, 0, 0)]);
        let middle = at(1, vec![disk(requests.0, bytes.0, 0, 0)]);
        let last = at(2, vec![disk(requests.0 + requests.1, bytes.0 + bytes.1, 0, 0)]);
        let read = |now: &Snapshot, then: &Snapshot| now.since(then).expect("later").disks[0].read;
        let (a, b, whole) = (read(&middle, &first), read(&last, &middle), read(&last, &first));
        prop_assert!((a.requests_per_s + b.requests_per_s - 2.0 * whole.requests_per_s).abs() < 1e-3);
        prop_assert!((a.bytes_per_s + b.bytes_per_s - 2.0 * whole.bytes_per_s).abs() < 1e-3);
    }
}
