//! The scheduler at work in a simulation: what it promises to readers, writers, commits, discards and priorities.

use crate::simulation;
use brisk_kernel_tests::smartio::scheduler::{Class, Op, Tunables};
use proptest::prelude::*;
use simulation::{
    Device, MS, Outcome, SERIAL, Seen, Thread, US, class_and_level, mean_ns, numbered, percentile_ns, run,
};

/// A reader concurrent with writers, each with a pause after a request and a begin: the part of its time that it has in
/// the end, and what is due by then: each writer may have one write in a slice, and all of them half of the device.
fn mixed_load_over_a_cache(device: Device, pauses_ns: [u64; 2], begins_ns: [u64; 2], writers: usize) -> (f64, f64) {
    let thread =
        |op, at: usize| Thread { think_ns: pauses_ns[at], begins_ns: begins_ns[at], ..Thread::of(op, u32::MAX) };
    let threads = numbered([thread(Op::Read, 0)].into_iter().chain(vec![thread(Op::Write, 1); writers]));
    let reads = |ms| f64::from(run(Tunables::default(), device, &threads, ms * MS).threads[0].done);
    let part = (reads(3_500) - reads(2_000)) * (device.read_ns + pauses_ns[0]) as f64 / (1_500 * MS) as f64;
    (part, (writers as f64 * device.write_ns as f64 / (100 * MS) as f64).clamp(0.1, 0.5))
}

prop_compose! {
    fn thread()(
        ops in prop::sample::select(vec![
            [Op::Read; 2], [Op::Write; 2], [Op::Discard; 2], [Op::Read, Op::Write], [Op::Write, Op::Discard],
        ]),
        awaited in any::<bool>(),
        class in prop::sample::select(vec![Class::None, Class::RealTime, Class::BestEffort, Class::Idle]),
        level in 0..8_u16,
        pid in 1..20_u32,
        bytes in prop::sample::select(vec![4096, 16_384, 131_072, 1_048_576]),
        think_ns in prop_oneof![Just(0), 0..5 * MS],
        begins_ns in 0..50 * MS,
        requests in 1..40_u32,
    ) -> Thread {
        Thread { ops, awaited, priority: (class, level), pid, bytes, think_ns, begins_ns, requests }
    }
}

prop_compose! {
    fn device()(
        depth in 1..33_u32,
        units in 1..5_usize,
        read_ns in 10 * US..300 * US,
        write_ns in 10 * US..5 * MS,
        write_cache in any::<bool>(),
        write_spread_ns in 0..MS,
        wide in any::<bool>(),
        requeue_every in prop_oneof![Just(0), 2..9_u64],
    ) -> Device {
        Device { depth, units, read_ns, write_ns, write_spread_ns, write_cache, wide, requeue_every, ..SERIAL }
    }
}

prop_compose! {
    fn tunables()(
        slice_ns in MS..200 * MS,
        hold_max_ns in prop_oneof![Just(0), 0..3 * MS],
        quantum in 1..10_u32,
        write_share_percent in 1..=100_u32,
        write_cap in 0..4_u32,
    ) -> Tunables {
        Tunables { slice_ns, hold_max_ns, quantum, write_share_percent, write_cap }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_sent_is_served_once_and_nothing_gets_stuck(
        tunables in tunables(), device in device(), threads in prop::collection::vec(thread(), 1..24),
    ) {
        let outcome = run(tunables, device, &threads, u64::MAX / 4);
        for (thread, seen) in threads.iter().zip(&outcome.threads) {
            prop_assert_eq!(seen.done, thread.requests);
        }
    }

    #[test]
    fn no_request_waits_longer_than_promised_under_endless_load(
        tunables in tunables(), device in device(), mut threads in prop::collection::vec(thread(), 1..24),
    ) {
        for thread in &mut threads {
            (thread.requests, thread.bytes) = (u32::MAX, thread.bytes.min(65_536));
        }
        let outcome = run(tunables, device, &threads, 60 * tunables.slice_ns);
        let service_ns = device.read_ns + device.write_ns + device.write_spread_ns;
        let full_ns = (threads.len() as u64 + u64::from(device.depth)) * service_ns;
        for (thread, seen) in threads.iter().zip(&outcome.threads) {
            let slices = if thread.priority.0 == Class::Idle { 10 } else { 1 };
            // Under commits half a slice more, and all that is due and in the device.
            let bound = slices * tunables.slice_ns + tunables.slice_ns / 2 + 2 * full_ns;
            let waited_ns = seen.longest_wait_ns;
            prop_assert!(waited_ns <= bound, "{} of {} us: {thread:?}", waited_ns / US, bound / US);
        }
    }

    #[test]
    fn the_cost_of_writes_behind_a_cache_is_learned_in_any_order_of_arrival(
        write_ns in prop_oneof![50 * US..MS, MS..10 * MS],
        read_ns in 20 * US..600 * US,
        full_ns in 0..250 * MS,
        pauses_ns in [5 * US..200 * US, 20 * US..MS],
        begins_ns in [0..500 * MS, 0..50 * MS],
        writers in 1..5_usize,
    ) {
        let places = (full_ns / write_ns).clamp(1, 64);
        let device = Device { read_ns, write_ns, write_cache: true, places, ..SERIAL };
        let (part, due) = mixed_load_over_a_cache(device, pauses_ns, begins_ns, writers);
        prop_assert!(part >= 0.5 * (1.0 - due), "reads have {part:.2} of the time, and {due:.2} is due");
    }

    #[test]
    fn sections_go_before_each_other_and_levels_in_them(
        priorities in prop::collection::vec((1..4_u16, 0..8_u16), 2..30), depth in 1..4_u32,
    ) {
        let class = |class| [Class::RealTime, Class::BestEffort, Class::Idle][usize::from(class) - 1];
        let thread = |(of, level)| Thread { priority: (class(of), level), ..Thread::of(Op::Read, 1) };
        let mut threads = numbered(priorities.into_iter().map(thread));
        // All wait when the device is free, which one thread keeps busy until then.
        threads.push(Thread { pid: 1, begins_ns: 0, ..Thread::of(Op::Read, depth) });
        for thread in &mut threads[..] {
            thread.begins_ns = if thread.pid == 1 { 0 } else { 10 * US };
        }
        let device = Device { depth: 1, ..SERIAL };
        let outcome = run(Tunables { slice_ns: 10_000 * MS, ..Tunables::default() }, device, &threads, u64::MAX / 4);
        let one = threads.len() - 1;
        let order = outcome.dispatched.iter().filter(|id| **id != one).map(|id| class_and_level(&threads[*id]));
        let order: Vec<_> = order.collect();
        prop_assert!(order.is_sorted(), "{order:?}");
    }
}

#[test]
fn under_endless_reads_a_write_waits_for_its_slice_and_what_is_in_the_device() {
    for (write_cache, slice_ms) in [(false, 20), (true, 20), (false, 100), (true, 100)] {
        let device = Device { depth: 4, write_cache, ..SERIAL };
        let readers = (0..12).map(|_| Thread::of(Op::Read, u32::MAX));
        let writers = (0..2).map(|_| Thread::of(Op::Write, u32::MAX));
        let threads = numbered(readers.chain(writers));
        let tunables = Tunables { slice_ns: slice_ms * MS, write_share_percent: 1, ..Tunables::default() };
        let outcome = run(tunables, device, &threads, 3_000 * MS);
        for writer in &outcome.threads[12..] {
            let bound = slice_ms * MS + 4 * (device.write_ns + device.read_ns) + MS;
            assert!(writer.longest_wait_ns <= bound, "{} us, slice {slice_ms} ms", writer.longest_wait_ns / US);
            assert!(u64::from(writer.done) > 3_000 / (slice_ms + 3), "{} writes", writer.done);
        }
    }
}

#[test]
fn more_writes_than_the_device_does_in_a_slice_leave_half_of_it_to_a_reader() {
    for write_cache in [false, true] {
        // What a copy has queued: up to two seconds of work.
        for (writers, bytes, write_ns) in [(96, 4096, 2 * MS), (48, 512 << 10, 3 * MS), (96, 512 << 10, 3 * MS)] {
            let device = Device { depth: 128, read_ns: 200 * US, write_ns, write_cache, ..SERIAL };
            let begins_ns = 4_000 * MS;
            let reader = Thread { begins_ns, think_ns: 100 * US, ..Thread::of(Op::Read, u32::MAX) };
            let writer = Thread { bytes, think_ns: US, ..Thread::of(Op::Write, u32::MAX) };
            let threads = numbered([reader].into_iter().chain([writer; 96][..writers].iter().copied()));
            // Before, the device is done with what it was sent when nothing was known of it.
            let (before, after) = [8_000, 14_000].map(|ms| run(Tunables::default(), device, &threads, ms * MS)).into();
            let wrote = |outcome: &Outcome| outcome.threads[1..].iter().map(|seen| u64::from(seen.done)).sum::<u64>();
            let percent = 100 * (wrote(&after) - wrote(&before)) * simulation::write_ns(device, &writer) / (6_000 * MS);
            let read = after.threads[0].latencies_ns[before.threads[0].latencies_ns.len()..].to_vec();
            let mean = mean_ns(&Seen { latencies_ns: read, ..Seen::default() });
            let what = format!("{writers} writers of {bytes}, cache {write_cache}");
            assert!((45..=55).contains(&percent), "{what}: writes got {percent} percent");
            // In half of the time it reads each 300 us, and one of those stands behind a write: 500 us.
            assert!(mean < 600.0 * US as f64, "{what}: {mean} ns");
        }
    }
}

#[test]
fn a_due_write_concurrent_with_reads_does_not_wait_for_writes_of_a_higher_class() {
    let be = (Class::BestEffort, 4);
    for (write_cache, higher, lower, slices) in [
        (false, (Class::RealTime, 4), be, 1),
        (true, (Class::RealTime, 4), be, 1),
        (false, be, (Class::Idle, 0), 10),
        (true, be, (Class::Idle, 0), 10),
    ] {
        let device = Device { depth: 64, write_ns: 2 * MS, write_cache, ..SERIAL };
        let writer = Thread { priority: higher, think_ns: US, ..Thread::of(Op::Write, u32::MAX) };
        let reader = Thread { priority: lower, ..Thread::of(Op::Read, u32::MAX) };
        let last = Thread { priority: lower, begins_ns: 1_000 * MS, ..Thread::of(Op::Write, u32::MAX) };
        let threads = numbered([last, reader].into_iter().chain([writer; 40]));
        let seen = run(Tunables::default(), device, &threads, 8_000 * MS).threads[0].clone();
        assert!(seen.done > 2, "{} done, {lower:?}, cache {write_cache}", seen.done);
        let bound = slices * 100 * MS + 20 * device.write_ns;
        assert!(seen.longest_wait_ns <= bound, "{} us, {lower:?}, cache {write_cache}", seen.longest_wait_ns / US);
    }
}

#[test]
fn one_pause_of_the_device_does_not_raise_the_cost_of_writes() {
    for write_cache in [false, true] {
        for pause_ms in [300, 900, 2_000] {
            let device = Device {
                depth: 64,
                read_ns: 200 * US,
                write_ns: 2 * MS,
                write_cache,
                hangs: Some((6_000 * MS, pause_ms * MS)),
                ..SERIAL
            };
            let reader = Thread { think_ns: 100 * US, begins_ns: 1_000 * MS, ..Thread::of(Op::Read, u32::MAX) };
            let writer = Thread { bytes: 16_384, think_ns: US, ..Thread::of(Op::Write, u32::MAX) };
            let threads = numbered([reader].into_iter().chain([writer; 60]));
            let wrote = |ms| -> u64 {
                let outcome = run(Tunables::default(), device, &threads, ms * MS);
                outcome.threads[1..].iter().map(|seen| u64::from(seen.done)).sum()
            };
            let (before, after) = (wrote(6_000) - wrote(4_000), wrote(14_000) - wrote(12_000));
            assert!(10 * after >= 9 * before, "{after} writes after {before}, cache {write_cache}, {pause_ms} ms");
        }
    }
}

#[test]
fn a_cache_that_is_full_when_the_first_read_comes_gets_empty_once() {
    for (write_ns, read_ns, places, pauses_us, begins_ms, writers) in [
        (8 * MS, 590 * US, 32, [12, 65], [0, 0], 1),
        (8 * MS, 590 * US, 32, [12, 65], [24, 0], 1),
        (8_817 * US, 141 * US, 8, [187, 171], [498, 42], 1),
        (9_926 * US, 409 * US, 24, [88, 755], [40, 40], 5),
        (8 * MS, 590 * US, 8, [12, 65], [0, 0], 12),
        (8 * MS, 590 * US, 16, [12, 65], [0, 0], 12),
    ] {
        let device = Device { depth: 4, read_ns, write_ns, write_cache: true, places, ..SERIAL };
        let (part, due) =
            mixed_load_over_a_cache(device, pauses_us.map(|us| us * US), begins_ms.map(|ms| ms * MS), writers);
        assert!(part >= 0.7 * (1.0 - due), "reads have {part:.2} of the time under {writers}, and {due:.2} is due");
    }
}

#[test]
fn reads_and_more_writes_than_the_device_does_in_a_slice_have_half_of_it_each() {
    let cases = [2, 4, 6].into_iter().flat_map(|ms| [(ms, 8, 24), (ms, 32, 24), (ms, 8, 60), (ms, 32, 60)]);
    for (write_ms, places, writers) in cases {
        let write_ns = write_ms * MS;
        let device = Device { depth: 64, read_ns: 300 * US, write_ns, write_cache: true, places, ..SERIAL };
        let (part, _) = mixed_load_over_a_cache(device, [30 * US, 20 * US], [0, 0], writers);
        assert!(
            (0.35..=0.6).contains(&part),
            "reads have {part:.2} of the time under {writers} of {write_ms} ms, cache of {places}"
        );
    }
}

#[test]
fn without_a_cache_a_read_stands_behind_one_write_and_the_share_is_kept() {
    for share in [10, 25, 50] {
        let writers = (0..16).map(|_| Thread { bytes: 16_384, ..Thread::of(Op::Write, u32::MAX) });
        let threads = numbered([Thread::of(Op::Read, u32::MAX)].into_iter().chain(writers));
        let tunables = Tunables { write_share_percent: share, slice_ns: 1_000 * MS, ..Tunables::default() };
        let outcome = run(tunables, SERIAL, &threads, 4_000 * MS);
        let p99 = percentile_ns(&outcome.threads[0], 99);
        assert!(p99 <= SERIAL.write_ns + SERIAL.read_ns, "share {share}: {} us", p99 / US);
        let writes: u32 = outcome.threads[1..].iter().map(|seen| seen.done).sum();
        let got = f64::from(writes) * SERIAL.write_ns as f64 / outcome.end_ns as f64 * 100.0;
        let wanted = f64::from(share);
        assert!(got > wanted * 0.85 && got < wanted * 1.15 + 1.0, "share {share}: writes got {got:.1} percent");
    }
}

#[test]
fn a_commit_is_not_held_behind_other_writes_and_reads() {
    let commit = Thread { awaited: true, think_ns: 2 * MS, ..Thread::of(Op::Write, u32::MAX) };
    let others = (0..8).map(|_| Thread::of(Op::Write, u32::MAX)).chain((0..2).map(|_| Thread::of(Op::Read, u32::MAX)));
    let threads = numbered([commit].into_iter().chain(others));
    let outcome = run(Tunables::default(), SERIAL, &threads, 2_000 * MS);
    // Its own program, what was in the device, and a read of each reader.
    let bound = 3 * SERIAL.write_ns + 2 * SERIAL.read_ns;
    assert!(percentile_ns(&outcome.threads[0], 99) <= bound, "{} us", percentile_ns(&outcome.threads[0], 99) / US);
}

#[test]
fn a_commit_concurrent_with_large_synchronous_writes_leaves_them_about_half_of_the_device() {
    let device = Device { depth: 4, write_cache: true, ..SERIAL };
    let file = (0..6).map(|_| Thread { awaited: true, bytes: 512 << 10, ..Thread::of(Op::Write, u32::MAX) });
    let alone = run(Tunables::default(), device, &numbered(file.clone()), 2_000 * MS);
    let content = |outcome: &Outcome| outcome.threads[..6].iter().map(|seen| seen.done).sum::<u32>();
    // While content has had the device for 3.2 ms, seven commits of the first kind fit, and one of the second.
    for (think_ns, percent) in [(30 * US, 80), (2 * MS, 30)] {
        let commit = Thread { awaited: true, think_ns, ..Thread::of(Op::Write, u32::MAX) };
        let outcome = run(Tunables::default(), device, &numbered(file.clone().chain([commit])), 2_000 * MS);
        // Once it is known that they come, so many steps meet an idle device, and none more than one write of the
        // content.
        let seen = Seen { latencies_ns: outcome.threads[6].latencies_ns[8..].to_vec(), ..Seen::default() };
        let seen = &seen;
        let (many, most) = (percentile_ns(seen, percent), percentile_ns(seen, 99));
        assert!(many <= 2 * device.write_ns, "think {think_ns}: {} us", many / US);
        assert!(most <= 10 * device.write_ns, "think {think_ns}: {} us", most / US);
        let (got, of) = (content(&outcome), content(&alone));
        // A commit that is in the device when patience ends is waited for.
        assert!(20 * got >= 9 * of, "think {think_ns}: {got} of {of}");
    }
    // With all of the share no write is throttled for another.
    let commit = Thread { awaited: true, think_ns: 2 * MS, ..Thread::of(Op::Write, u32::MAX) };
    let tunables = Tunables { write_share_percent: 100, ..Tunables::default() };
    let outcome = run(tunables, device, &numbered(file.chain([commit])), 2_000 * MS);
    assert!(10 * content(&outcome) >= 8 * content(&alone), "{} of {}", content(&outcome), content(&alone));
}

#[test]
fn under_endless_commits_a_write_waits_for_its_slice_and_half_of_one() {
    for (commits, write_ns, write_cache) in
        [(1, 400 * US, true), (4, 400 * US, true), (4, 400 * US, false), (3, 3 * MS, true), (7, 3 * MS, false)]
    {
        let device = Device { depth: 8, write_ns, write_cache, ..SERIAL };
        let commits = (0..commits).map(|_| Thread { awaited: true, think_ns: 0, ..Thread::of(Op::Write, u32::MAX) });
        let plain = Thread::of(Op::Write, u32::MAX);
        let discard = Thread { begins_ns: 10 * MS, ..Thread::of(Op::Discard, u32::MAX) };
        let idle = Thread { priority: (Class::Idle, 0), ..plain };
        let threads = numbered([plain, plain, discard, idle].into_iter().chain(commits));
        let outcome = run(Tunables::default(), device, &threads, 4_000 * MS);
        for (seen, slices) in outcome.threads.iter().zip([1, 1, 1, 10]) {
            let bound = slices * 100 * MS + 50 * MS + 12 * device.write_ns;
            assert!(seen.longest_wait_ns <= bound, "{} us, {threads:?}", seen.longest_wait_ns / US);
            assert!(seen.done > 1, "{threads:?}");
        }
    }
}

#[test]
fn due_writes_do_not_wait_for_slots_that_discards_of_a_larger_limit_take() {
    // Writes of 2.5 ms have one slot concurrent with reads, and discards of unknown length one more.
    let device = Device { depth: 24, write_ns: 2_500 * US, ..SERIAL };
    let reader = Thread { think_ns: 300 * US, ..Thread::of(Op::Read, u32::MAX) };
    let discard = Thread { ops: [Op::Discard; 2], think_ns: MS, begins_ns: MS, ..Thread::of(Op::Write, u32::MAX) };
    let commit = Thread { awaited: true, think_ns: MS, ..Thread::of(Op::Write, u32::MAX) };
    let writer = Thread { begins_ns: 20 * MS, ..Thread::of(Op::Write, u32::MAX) };
    for higher in [Class::BestEffort, Class::RealTime] {
        let discard = Thread { priority: (higher, 4), ..discard };
        let threads = numbered([writer; 3].into_iter().chain([reader; 3]).chain([discard; 6]).chain([commit; 4]));
        let tunables = Tunables { slice_ns: 10 * MS, ..Tunables::default() };
        let outcome = run(tunables, device, &threads, 2_000 * MS);
        for seen in &outcome.threads[..3] {
            let bound = 15 * MS + 2 * 16 * (device.write_ns + device.read_ns);
            assert!(seen.longest_wait_ns <= bound, "{} us of {}, {higher:?}", seen.longest_wait_ns / US, bound / US);
            assert!(seen.done > 10, "{} done, {higher:?}", seen.done);
        }
    }
}

/// One thread that sends many writes, and a read so long after the last.
fn own(think_ns: u64) -> Vec<Thread> {
    let write = Thread { pid: 99, think_ns: US, ..Thread::of(Op::Write, u32::MAX) };
    let read = Thread { pid: 99, think_ns, ..Thread::of(Op::Read, u32::MAX) };
    [write; 8].into_iter().chain([read]).collect()
}

#[test]
fn no_write_starves_under_a_thread_that_reads_and_writes() {
    let begins_ns = 300 * MS;
    let writer = Thread { begins_ns, ..Thread::of(Op::Write, u32::MAX) };
    let commit = Thread { awaited: true, ..writer };
    let discard = Thread { ops: [Op::Discard; 2], ..writer };
    for (depth, write_cache, units) in [(4, false, 1), (8, true, 1), (4, false, 2), (16, false, 4), (32, false, 1)] {
        let device = Device { depth, units, write_cache, ..SERIAL };
        let both_ns = device.write_ns + device.read_ns;
        // One write of nine is for others, whose oldest goes; few commits go next.
        for (others, bound) in [
            (vec![writer; 8], 9 * 8 * both_ns),
            (vec![commit], 10 * both_ns),
            (vec![commit; 8], 20 * both_ns),
            (vec![commit; 24], 9 * 24 * both_ns),
            (vec![discard], 20 * both_ns),
        ] {
            let mut threads = numbered(others.clone());
            threads.extend(own(60 * MS));
            let outcome = run(Tunables::default(), device, &threads, 2_000 * MS);
            for seen in &outcome.threads[..others.len()] {
                let longest = seen.longest_wait_ns / US;
                assert!(seen.longest_wait_ns <= bound.min(95 * MS), "{longest} us, {device:?}, {:?}", others[0]);
                assert!(seen.done > 20, "{} done, {device:?}", seen.done);
            }
        }
    }
}

#[test]
fn other_threads_have_one_write_of_nine_under_a_thread_that_reads_and_writes() {
    for (depth, units, write_cache) in [(4, 1, false), (8, 1, true), (16, 4, false), (32, 1, false), (32, 4, true)] {
        for think_ns in [20 * US, 200 * US, MS, 2 * MS, 20 * MS] {
            let device = Device { depth, units, write_cache, ..SERIAL };
            let mut threads = numbered([Thread { begins_ns: 100 * MS, ..Thread::of(Op::Write, u32::MAX) }; 4]);
            threads.extend(own(think_ns));
            let outcome = run(Tunables::default(), device, &threads, 2_000 * MS);
            let done = |of: &[Seen]| of.iter().map(|seen| seen.done).sum::<u32>();
            let (others, own) = (done(&outcome.threads[..4]), done(&outcome.threads[4..12]));
            assert!(own / 12 < others && others < own, "{others} and {own}, think {think_ns}, {device:?}");
        }
    }
}

#[test]
fn what_is_due_has_as_much_room_as_small_writes() {
    let small = Thread { think_ns: US, begins_ns: 700 * MS, ..Thread::of(Op::Write, u32::MAX) };
    let large = Thread { bytes: 128 << 10, think_ns: US, ..Thread::of(Op::Write, 20) };
    let last = Thread { begins_ns: 1_200 * MS, ..small };
    let discard = Thread { ops: [Op::Discard; 2], ..last };
    for (units, write_cache) in [(3, false), (8, false), (8, true)] {
        // It learns that it works on one large write at a time, and on more small ones.
        let device = Device { units, write_cache, wide: true, ..SERIAL };
        for (later, bound) in [
            (Thread { bytes: 128 << 10, ..discard }, 100 * MS),
            (Thread { bytes: 65_536, ..discard }, 100 * MS),
            (Thread { bytes: 65_536, priority: (Class::BestEffort, 7), ..last }, 100 * MS),
            (Thread { bytes: 128 << 10, priority: (Class::BestEffort, 7), ..last }, 100 * MS),
            (Thread { bytes: 65_536, awaited: true, ..last }, 0),
        ] {
            let threads = numbered([later].into_iter().chain([small; 40]).chain([large; 40]));
            let outcome = run(Tunables::default(), device, &threads, 3_000 * MS);
            let seen = &outcome.threads[0];
            assert!(seen.longest_wait_ns <= bound + 20 * MS, "{} us, {device:?}, {later:?}", seen.longest_wait_ns / US);
            assert!(seen.done > 10, "{} done, {device:?}, {later:?}", seen.done);
        }
    }
}

#[test]
fn a_reader_of_the_idle_class_keeps_no_other_from_being_awaited() {
    for (depth, units, write_cache) in [(4, 1, false), (32, 1, false), (32, 4, true)] {
        let device = Device { depth, units, write_cache, ..SERIAL };
        let reader = Thread { think_ns: 300 * US, ..Thread::of(Op::Read, u32::MAX) };
        let others = numbered([reader].into_iter().chain([Thread::of(Op::Write, u32::MAX); 4]));
        let idle = Thread { pid: 7, priority: (Class::Idle, 0), ..Thread::of(Op::Read, u32::MAX) };
        let without = run(Tunables::default(), device, &others, 2_000 * MS);
        let with = run(Tunables::default(), device, &[others, vec![idle]].concat(), 2_000 * MS);
        let (before, after) = (mean_ns(&without.threads[0]), mean_ns(&with.threads[0]));
        assert!(after <= 1.1 * before, "{after} ns, {before} without it, {device:?}");
    }
}

#[test]
fn under_endless_commits_the_parallelism_of_a_device_is_not_overestimated() {
    for units in [1, 4] {
        for commits in [1, 4] {
            for write_spread_ns in [0, 350 * US] {
                let device = Device { units, write_ns: 50 * US, write_spread_ns, ..SERIAL };
                let commit =
                    Thread { awaited: true, think_ns: 20 * US, begins_ns: 200 * MS, ..Thread::of(Op::Write, u32::MAX) };
                let other = Thread { think_ns: US, ..Thread::of(Op::Write, u32::MAX) };
                let threads = [other; 24].into_iter().chain((0..commits).map(|_| commit));
                let outcome = run(Tunables::default(), device, &numbered(threads), 1_500 * MS);
                // Twice as many and two are in flight without commits.
                assert!(outcome.most_plain <= 2 * units + 2, "{} at once, {device:?}", outcome.most_plain);
            }
        }
    }
}

#[test]
fn a_writer_that_shares_a_readers_place_stays_a_writer() {
    let reads = |writer: u32| {
        let reader = Thread { pid: 1000, ..Thread::of(Op::Read, u32::MAX) };
        let writers = (0..4).map(|_| Thread { pid: writer, ..Thread::of(Op::Write, u32::MAX) });
        let threads: Vec<Thread> = [reader].into_iter().chain(writers).collect();
        run(Tunables::default(), SERIAL, &threads, 200 * MS).threads[0].clone()
    };
    // There are 64 places: among so many writers some share the reader's.
    let expected = reads(2000);
    for writer in 2001..2200 {
        assert_eq!(reads(writer), expected, "writer {writer}");
    }
}

#[test]
fn a_higher_share_costs_reads_more() {
    let mean = |share: u32| {
        let writers = (0..8).map(|_| Thread::of(Op::Write, u32::MAX));
        let threads = numbered([Thread::of(Op::Read, u32::MAX)].into_iter().chain(writers));
        let tunables = Tunables { write_share_percent: share, ..Tunables::default() };
        mean_ns(&run(tunables, SERIAL, &threads, 1_000 * MS).threads[0])
    };
    let means = [10, 50, 90, 100].map(mean);
    assert!(means.windows(2).all(|pair| pair[0] < pair[1]), "{means:?}");
}

/// Writes a second by themselves, and concurrent with readers that are there from the start.
fn writes_alone_and_mixed(device: Device, readers: usize, writers: usize, tunables: Tunables) -> [u32; 2] {
    let writer = Thread { think_ns: US, ..Thread::of(Op::Write, u32::MAX) };
    let wrote = |readers: usize| {
        let threads = numbered(vec![Thread::of(Op::Read, u32::MAX); readers].into_iter().chain(vec![writer; writers]));
        let outcome = run(tunables, device, &threads, 1_000 * MS);
        outcome.threads[readers..].iter().map(|seen| seen.done).sum::<u32>()
    };
    [wrote(0), wrote(readers)]
}

#[test]
fn writes_that_occupy_a_part_of_the_device_are_charged_that_part() {
    for (share, least, most) in [(10, 9, 25), (50, 22, 75)] {
        let device = Device { units: 16, placed: true, ..SERIAL };
        let tunables = Tunables { write_share_percent: share, ..Tunables::default() };
        let [alone, mixed] = writes_alone_and_mixed(device, 1, 48, tunables);
        let percent = 100 * mixed / alone;
        assert!((least..=most).contains(&percent), "share {share}: {mixed} of {alone} writes");
    }
}

#[test]
fn a_writer_with_one_write_at_a_time_is_not_throttled_where_it_leaves_reads_half_of_the_device() {
    for (units, percent) in [(4, 85), (16, 95)] {
        let [alone, mixed] = writes_alone_and_mixed(Device { units, ..SERIAL }, units, 1, Tunables::default());
        assert!(100 * mixed >= percent * alone, "{units} units: {mixed} of {alone} writes");
    }
    let [alone, mixed] = writes_alone_and_mixed(SERIAL, 1, 1, Tunables::default());
    assert!((5..=20).contains(&(100 * mixed / alone)), "one unit: {mixed} of {alone} writes");
}

#[test]
fn two_writers_whose_writes_go_together_are_not_throttled_where_they_leave_reads_half_of_the_device() {
    // A read takes a third of a write, so that the next one is sent late in it.
    for (units, percent) in [(8, 80), (16, 90)] {
        let device = Device { units, placed: true, read_ns: 70 * US, write_ns: 200 * US, ..SERIAL };
        let [alone, mixed] = writes_alone_and_mixed(device, 1, 2, Tunables::default());
        assert!(100 * mixed >= percent * alone, "{units} units: {mixed} of {alone} writes");
    }
}

#[test]
fn a_device_of_one_unit_gets_one_write_at_a_time_concurrent_with_reads() {
    let threads = numbered([Thread::of(Op::Read, u32::MAX)].into_iter().chain([Thread::of(Op::Write, u32::MAX); 16]));
    let outcome = run(Tunables::default(), SERIAL, &threads, 1_000 * MS);
    assert_eq!(outcome.most_plain, 1);
}

#[test]
fn a_reader_with_pauses_that_are_short_beside_a_write_is_waited_for() {
    // Writes of 12.8 ms; the readers wait together for one, and then pause together.
    for (pause_ms, readers) in [(0, 8), (1, 8), (2, 8), (2, 1)] {
        let device = Device { units: 4, placed: true, wide: true, write_ns: 1_600 * US, ..SERIAL };
        let reader = Thread { think_ns: pause_ms * MS, ..Thread::of(Op::Read, u32::MAX) };
        let writer = Thread { bytes: 512 << 10, think_ns: US, ..Thread::of(Op::Write, u32::MAX) };
        let threads = numbered(vec![reader; readers].into_iter().chain(vec![writer; 16]));
        let outcome = run(Tunables::default(), device, &threads, 4_000 * MS);
        let late = |seen: &Seen| seen.latencies_ns[seen.latencies_ns.len() / 4..].to_vec();
        let reads =
            Seen { latencies_ns: outcome.threads[..readers].iter().flat_map(late).collect(), ..Seen::default() };
        let writes: u64 = outcome.threads[readers..].iter().map(|seen| u64::from(seen.done)).sum();
        let percent = 100 * writes * simulation::write_ns(device, &writer) / outcome.end_ns;
        let mean = mean_ns(&reads);
        assert!(mean <= 3.0 * MS as f64, "{readers} readers, pause {pause_ms} ms: {mean} ns");
        assert!((40..=60).contains(&percent), "{readers} readers, pause {pause_ms} ms: writes got {percent} percent");
    }
}

#[test]
fn readers_and_a_copy_of_large_writes_have_half_of_the_device_each() {
    // Writes of one size class, of which some take nearly twice as long as others.
    for (readers, bytes) in
        [(1, [512 << 10; 2]), (8, [512 << 10; 2]), (1, [288 << 10, 512 << 10]), (8, [288 << 10, 512 << 10])]
    {
        let device = Device { units: 4, placed: true, wide: true, write_ns: 1_600 * US, ..SERIAL };
        let writer = |bytes| Thread { bytes, think_ns: US, ..Thread::of(Op::Write, u32::MAX) };
        let writers = bytes.map(writer).repeat(10);
        let threads = numbered(writers.iter().copied().chain(vec![Thread::of(Op::Read, u32::MAX); readers]));
        let wrote_ns = |ms| -> u64 {
            let outcome = run(Tunables::default(), device, &threads, ms * MS);
            let of_each = outcome.threads.iter().zip(&writers);
            of_each.map(|(seen, writer)| u64::from(seen.done) * simulation::write_ns(device, writer)).sum()
        };
        let percent = 100 * (wrote_ns(4_000) - wrote_ns(1_000)) / (3_000 * MS);
        assert!((42..=58).contains(&percent), "{readers} readers, writes of {bytes:?}: they got {percent} percent");
    }
}
