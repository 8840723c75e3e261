//! Memory that is full of page cache.

use proptest::prelude::*;

use super::*;

/// A machine whose memory is full of page cache, with two sets of 12 MiB, some time after the last launch.
fn full(inactive_mib: u64) -> Machine {
    let mut machine = Machine::new(&[("a", 3_072), ("b", 3_071), ("a", 3_072), ("b", 3_071), ("a", 3_072)]);
    machine.now.memory.free_bytes = FULL_BYTES;
    machine.now.memory.inactive_file_bytes = Some(inactive_mib * MIB);
    machine
}

fn step(machine: &mut Machine) -> Option<(Once, u64)> {
    let once = machine.next_set(30.0)?;
    let Once::MakeReady { most_bytes, .. } = once else { panic!("{once}") };
    Some((once, most_bytes))
}

fn cut(read_bytes: u64) -> Outcome {
    Outcome::Prefetched { read_bytes, changed_files: 0, complete: false }
}

#[test]
fn full_memory_is_read_into_slowly_while_nobody_wants_it() {
    let mut machine = full(200);
    // A tenth of the page cache is for others, and half of the rest is 49 MiB: enough for both sets.
    for (outcome, bytes) in [(cut(8 * MIB), 8), (read(4 * MIB), 4), (cut(8 * MIB), 8), (read(4 * MIB), 4)] {
        let (once, most_bytes) = step(&mut machine).expect("a step");
        assert_eq!(most_bytes, cache::STEP_BYTES);
        // Its own reads: sets that were in memory before.
        machine.now.paging.refault_file_pages = machine.now.paging.refault_file_pages.map(|pages| pages + bytes * 256);
        machine.performed(&once, outcome);
        assert_eq!(machine.next_set(4.9), None, "others show what they miss");
    }
    assert_eq!(machine.state.ready.totals(&machine.config).ready_apps, 2);
    assert_eq!(step(&mut machine), None, "both are ready");
    let mut machine = full(110);
    let (once, most_bytes) = step(&mut machine).expect("a step");
    assert!((3 * MIB..4 * MIB).contains(&most_bytes), "half of what is beyond a tenth of all: {most_bytes}");
    machine.performed(&once, cut(most_bytes));
    assert_eq!(step(&mut machine), None, "it has its share");
    let mut machine = full(90);
    assert_eq!(step(&mut machine), None);
    assert_eq!(machine.state.ready.waits.clone().expect("it waits").rule, "little_memory_is_free");
}

#[test]
fn what_others_miss_ends_it_for_longer_each_time() {
    let mut machine = full(200);
    for back_off_s in [600.0, 1_200.0] {
        let (once, _) = step(&mut machine).expect("a step");
        machine.performed(&once, cut(MIB));
        machine.now.paging.refault_file_pages = machine.now.paging.refault_file_pages.map(|pages| pages + 200);
        machine.call(1.0, Vec::new());
        assert_eq!(machine.next_set(back_off_s - 10.0), None);
        assert_eq!(machine.state.ready.waits.clone().expect("it waits").rule, "others_missed_what_was_dropped_for_it");
    }
    let (once, _) = step(&mut machine).expect("a step");
    // While it reads as well, beyond what it reads itself.
    machine.now.paging.refault_file_pages = machine.now.paging.refault_file_pages.map(|pages| pages + 3_000);
    assert_eq!(ends(&machine.call(0.25, Vec::new())), ["others_missed_what_was_dropped_for_it"]);
    machine.performed(&once, cut(MIB));
    assert_eq!(machine.next_set(2_300.0), None);
    // What a launch reads again was dropped long before.
    let mut machine = full(200);
    let (once, _) = step(&mut machine).expect("a step");
    machine.performed(&once, cut(MIB));
    machine.now.paging.refault_file_pages = machine.now.paging.refault_file_pages.map(|pages| pages + 3_000);
    machine.begin("c");
    machine.call(1.0, vec![EventKind::LaunchEnded { group: group("c") }]);
    assert!(step(&mut machine).is_some());
}

#[test]
fn what_the_kernel_tells_late_of_a_step_is_no_want_of_others() {
    let mut machine = full(200);
    let (once, _) = step(&mut machine).expect("a step");
    machine.performed(&once, cut(MIB));
    let stall = |machine: &mut Machine| {
        if let Some(stall) = &mut machine.now.pressure.memory {
            stall.some_us += 9_000;
        }
        machine.call(0.5, Vec::new());
    };
    stall(&mut machine);
    let once = machine.next_set(6.0).expect("the next step, after its pause");
    machine.performed(&once, cut(MIB));
    machine.call(4.0, Vec::new());
    stall(&mut machine);
    assert_eq!(machine.next_set(9.0), None, "others stall");
    assert_eq!(machine.state.ready.waits.clone().expect("it waits").rule, "memory_is_short");
    assert!(machine.next_set(6.0).is_some(), "and have what they want by then");
}

/// What becomes of memory between two looks.
#[derive(Debug, Clone)]
struct Wants {
    after_ms: u64,
    stall_us: u64,
    refaults: u64,
    swapped: u64,
    available_mib: u64,
    inactive_mib: u64,
}

prop_compose! {
    fn wants()(
        after_ms in 200_u64..20_000,
        stall_us in prop_oneof![5 => Just(0), 1 => 0_u64..100_000],
        refaults in prop_oneof![5 => Just(0), 1 => 0_u64..5_000],
        swapped in prop_oneof![9 => Just(0), 1 => 0_u64..500],
        available_mib in prop_oneof![9 => Just(300), 1 => 20_u64..80],
        inactive_mib in prop_oneof![3 => Just(300), 1 => 0_u64..300],
    ) -> Wants {
        Wants { after_ms, stall_us, refaults, swapped, available_mib, inactive_mib }
    }
}

proptest! {
    #[test]
    fn where_memory_is_wanted_nothing_is_dropped_for_it(looks in prop::collection::vec(wants(), 1..200)) {
        let mut machine = full(300);
        machine.config.ready_mib_per_day = 40;
        let (mut wanted_ns, mut ended_ns, mut read_bytes) = (0, 0, 0);
        for of in looks {
            machine.now.memory.available_bytes = Some(of.available_mib * MIB);
            machine.now.memory.inactive_file_bytes = Some(of.inactive_mib * MIB);
            if let Some(stall) = &mut machine.now.pressure.memory {
                stall.some_us += of.stall_us;
            }
            machine.now.paging.refault_file_pages = machine.now.paging.refault_file_pages.map(|n| n + of.refaults);
            machine.now.paging.swap_out_pages += of.swapped;
            let is_own_stall = machine.now.at_ns < ended_ns + 3 * S_NS;
            machine.call(of.after_ms as f64 / 1e3, Vec::new());
            let is_stalled = of.stall_us > of.after_ms.max(1_000) && !is_own_stall;
            let is_wanted = is_stalled || of.refaults > 64 || of.swapped > 64;
            if is_wanted {
                wanted_ns = machine.now.at_ns;
            }
            let Some(once) = machine.requested.take() else { continue };
            let Once::MakeReady { most_bytes, .. } = once else { panic!("{once}") };
            prop_assert!(!is_wanted && of.available_mib >= 52 && of.inactive_mib > 102, "{of:?}");
            prop_assert!(machine.now.at_ns - wanted_ns >= 10 * S_NS && most_bytes <= cache::STEP_BYTES);
            let bytes = most_bytes.min(size_bytes(&once));
            read_bytes += bytes;
            machine.performed(&once, cut(bytes));
            ended_ns = machine.now.at_ns;
        }
        prop_assert!(read_bytes <= 40 * MIB, "{read_bytes} in less than a day");
        let unknown = |of: fn(&mut Machine)| {
            let mut machine = full(300);
            of(&mut machine);
            step(&mut machine)
        };
        prop_assert_eq!(unknown(|machine| machine.now.pressure.memory = None), None);
        prop_assert_eq!(unknown(|machine| machine.now.paging.refault_file_pages = None), None);
    }
}
