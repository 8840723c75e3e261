use super::*;
use crate::swap::workload::Workload;
use proptest::prelude::*;

fn nexus4() -> Preset {
    Preset::builtin("nexus4-emmc").expect("built in")
}

fn trace(lines: &str) -> Trace {
    let head = "#brisk-swap-trace 1 area_slots=2048\ntime_us,action,app,page,slot\n";
    Trace::parse(&format!("{head}{lines}")).expect("a trace")
}

/// Apps of a twentieth of the usual size.
fn small_workload(seed: u64) -> Workload {
    let mut small = Workload { switches: 10, mix_pages: 400, ..Workload::mars(seed) };
    small.apps.iter_mut().for_each(|app| app.pages /= 20);
    small.memory_pages /= 15;
    Workload { area_slots: small.area_slots / 20, ..small }
}

fn run<'a>(trace: &Trace, settings: &'a Settings) -> Run<'a, Device> {
    let device = Device::new(&nexus4(), u64::from(trace.area_slots) * PAGE_BYTES).expect("a device");
    let mut run = Run::new(settings, trace.area_slots, device);
    trace.events.iter().for_each(|event| run.event(event));
    run
}

/// `pages` of app `a` out, one second later all of them used.
fn out_and_in(pages: u64) -> String {
    let mut lines = String::new();
    (0..pages).for_each(|page| lines += &format!("0,out,a,{page},\n"));
    lines += "5000000,front,a,,\n";
    (0..pages).for_each(|page| lines += &format!("5000000,in,a,{page},\n"));
    lines + "5000000,ready,a,,\n"
}

#[test]
fn pages_that_lie_in_sequence_are_read_with_their_neighbours() {
    let settings = Settings::of(Policy::Linux);
    let outcome = replay(&trace(&out_and_in(64)), &nexus4(), &settings).expect("a replay");
    assert_eq!((outcome.faults, outcome.read_pages, outcome.used_pages, outcome.written_pages), (64, 64, 64, 64));
    // Eight windows of eight pages: a fault in each needs a read, the others find their page.
    assert_eq!((outcome.read_latencies_ns.len(), outcome.cache_hits), (8, 56));
    assert_eq!(outcome.adjacent_reads, 7);
    assert_eq!(outcome.launches.len(), 1);
    assert_eq!((outcome.launches[0].pages, outcome.waited_ns()), (64, outcome.reading_ns));
}

#[test]
fn a_page_that_lay_in_its_slot_before_is_read_without_having_been_written() {
    let mut lines = String::new();
    (0..8).for_each(|page| lines += &format!("0,held,a,{page},{}\n", 100 + page));
    lines += "1000,ahead,a,1,101\n1000,in,a,0,100\n2000,in,a,1,101\n";
    let outcome = replay(&trace(&lines), &nexus4(), &Settings::of(Policy::Linux)).expect("a replay");
    // One window holds all eight; what the recorded system read ahead is no use.
    assert_eq!((outcome.unknown_pages, outcome.written_pages), (0, 0));
    assert_eq!((outcome.faults, outcome.read_pages, outcome.used_pages, outcome.cache_hits), (2, 8, 2, 1));
}

#[test]
fn an_extent_is_read_in_large_requests() {
    let settings = Settings::of(Policy::Extents).reading(SwapIn::App);
    let outcome = replay(&trace(&out_and_in(300)), &nexus4(), &settings).expect("a replay");
    // 256 + 44 pages in requests of at most 128.
    assert_eq!((outcome.read_latencies_ns.len(), outcome.read_pages, outcome.used_pages), (3, 300, 300));
}

#[test]
fn a_fault_reads_the_rest_of_its_extent_and_waits_for_its_own_page_alone() {
    let settings = Settings::of(Policy::Extents).reading(SwapIn::Extent);
    let outcome = replay(&trace(&out_and_in(300)), &nexus4(), &settings).expect("a replay");
    // The second extent is read when its first page is needed.
    assert_eq!((outcome.read_latencies_ns.len(), outcome.read_pages, outcome.used_pages), (3, 300, 300));
    assert!(outcome.read_device_ns.iter().sum::<u64>() <= outcome.read_latencies_ns.iter().sum());
}

#[test]
fn a_fault_delays_what_comes_after_it() {
    let lines = "0,out,a,0,\n0,out,a,500,\n1000000,in,a,0,\n1000000,in,a,500,\n";
    let outcome =
        replay(&trace(lines), &nexus4(), &Settings::of(Policy::Linux).reading(SwapIn::Window { page_cluster: 0 }));
    let outcome = outcome.expect("a replay");
    // The second read begins when the first has ended: neither waits for the other in the queue.
    let sum: u64 = outcome.read_latencies_ns.iter().sum();
    assert_eq!(outcome.read_latencies_ns.len(), 2);
    assert_eq!(outcome.duration_ns, 1_000_000_000 + sum);
}

#[test]
fn a_page_whose_write_has_not_begun_is_still_in_memory() {
    let mut lines = String::new();
    (0..600).for_each(|page| lines += &format!("0,out,a,{},\n", page * 7));
    lines += "0,in,a,4193,\n";
    let outcome = replay(&trace(&lines), &nexus4(), &Settings::of(Policy::Linux)).expect("a replay");
    assert_eq!((outcome.read_pages, outcome.written_pages, outcome.waited_ns()), (0, 599, 0));
}

#[test]
fn no_write_starts_during_a_launch_under_mars() {
    // Each launch reads its pages while another app is written out.
    let mut lines = String::new();
    (0..256).for_each(|page| lines += &format!("0,out,a,{page},\n"));
    lines += "5000000,front,a,,\n";
    (0..256).for_each(|page| lines += &format!("5000000,in,a,{page},\n5000000,out,b,{page},\n"));
    lines += "5000000,ready,a,,\n";
    let of = |policy| Settings::of(policy).reading(SwapIn::App);
    let (settings, plain) = (of(Policy::Mars), of(Policy::Extents));
    let during = |settings: &Settings| {
        let trace = trace(&lines);
        let mut run = run(&trace, settings);
        let ends_ns = 5_000_000_000 + run.shift_ns;
        run.finish();
        let begun = run.queue.begun_writes_ns.iter().filter(|&&at_ns| (5_000_000_000..ends_ns).contains(&at_ns));
        (begun.count(), run.outcome.written_pages, run.outcome.reserve_pages_max, run.outcome.reading_with_writes_ns)
    };
    assert_eq!(during(&settings), (0, 512, 256, 0));
    assert!(during(&plain).0 > 0);
    assert!(during(&plain).3 > 0);
}

#[test]
fn a_launch_that_does_not_end_holds_writes_for_a_limited_time() {
    let lines = "0,front,a,,\n10,out,b,1,\n30000000,front,c,,\n";
    let trace = trace(lines);
    let settings = Settings::of(Policy::Mars);
    let run = run(&trace, &settings);
    assert_eq!(run.queue.begun_writes_ns, [LAUNCH_NS_MAX]);
}

#[test]
fn an_extent_that_became_empty_is_discarded_when_the_device_is_idle() {
    let mut lines = String::new();
    (0..300).for_each(|page| lines += &format!("0,out,a,{page},\n"));
    (0..300).for_each(|page| lines += &format!("5000000,free,a,{page},\n"));
    lines += "9000000,front,b,,\n";
    let of = |policy| replay(&trace(&lines), &nexus4(), &Settings::of(policy)).expect("a replay").counters;
    assert!(of(Policy::Mars).discards > 0);
    assert_eq!(of(Policy::Linux).discards, 0);
}

#[test]
fn the_same_trace_gives_the_same_figures() {
    let trace = small_workload(3).trace().expect("a workload");
    for policy in Policy::ALL {
        let once = || replay(&trace, &nexus4(), &Settings::of(policy).reading(SwapIn::Extent)).expect("a replay");
        assert_eq!(once(), once());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_trace_ends_and_counts_add_up(
        events in proptest::collection::vec((0_u64..20_000, 0_usize..7, 0_u16..3, 0_u64..300), 0..400),
        policy in 0_usize..3,
        swap_in in 0_u32..8,
        area_slots in 1_u32..600,
    ) {
        let actions =
            [Action::Front, Action::Ready, Action::Out, Action::In, Action::Free, Action::Ahead, Action::Held];
        let mut at_us = 0;
        let events = events.into_iter().map(|(after_us, action, app, page)| {
            at_us += after_us;
            Event { at_us, action: actions[action], app, page, slot: None }
        });
        let apps = ["a", "b", "c"].map(str::to_owned).to_vec();
        let trace = Trace { area_slots, apps, events: events.collect() };
        let swap_in = match swap_in {
            6 => SwapIn::Extent,
            7 => SwapIn::App,
            page_cluster => SwapIn::Window { page_cluster },
        };
        let settings = Settings::of(Policy::ALL[policy]).reading(swap_in);
        let outcome = replay(&trace, &nexus4(), &settings).expect("a replay");
        let count = |action| trace.events.iter().filter(|event| event.action == action).count() as u64;
        prop_assert_eq!(outcome.faults, count(Action::In));
        prop_assert!(outcome.written_pages <= count(Action::Out));
        let known_pages = outcome.faults + count(Action::Out) + count(Action::Held);
        prop_assert!(outcome.used_pages + outcome.unknown_pages <= known_pages);
        prop_assert!(outcome.reading_with_writes_ns <= outcome.reading_ns);
        prop_assert_eq!(outcome.launches.len() as u64, count(Action::Front));
        prop_assert!(outcome.read_latencies_ns.is_sorted());
        prop_assert!(outcome.read_latencies_ns.len() as u64 <= outcome.read_pages);
    }
}
