//! The scheduler at work in a simulation: what it promises to readers, writers, commits, discards and priorities.

use crate::simulation;
use brisk_kernel_tests::smartio::CREDIT_NS;
use brisk_kernel_tests::smartio::scheduler::{Class, Op, Tunables};
use proptest::prelude::*;
use simulation::{Device, MS, SERIAL, Seen, Thread, US, class_and_level, mean_ns, numbered, percentile_ns, run};

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
        write_spread_ns in 0..MS,
        wide in any::<bool>(),
        requeue_every in prop_oneof![Just(0), 2..9_u64],
    ) -> Device {
        Device { depth, units, read_ns, write_ns, write_spread_ns, wide, requeue_every, ..SERIAL }
    }
}

prop_compose! {
    fn tunables()(
        slice_ns in MS..200 * MS,
        hold_max_ns in prop_oneof![Just(0), 0..3 * MS],
        quantum in 1..10_u32,
        write_share_percent in 1..=100_u32,
    ) -> Tunables {
        Tunables { slice_ns, hold_max_ns, quantum, write_share_percent }
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
            // Of a quantum one is the oldest, and background writes have their share of that time.
            let turns_ns = (u64::from(tunables.quantum) + 1) * full_ns + CREDIT_NS;
            let bound = slices * tunables.slice_ns + turns_ns * 100 / u64::from(tunables.write_share_percent);
            let waited_ns = seen.longest_wait_ns;
            prop_assert!(waited_ns <= bound, "{} of {} us: {thread:?}", waited_ns / US, bound / US);
        }
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
fn a_due_write_concurrent_with_reads_does_not_wait_for_writes_of_a_higher_class() {
    let be = (Class::BestEffort, 4);
    for (higher, lower, slices) in [((Class::RealTime, 4), be, 1), (be, (Class::Idle, 0), 10)] {
        let device = Device { depth: 64, write_ns: 2 * MS, ..SERIAL };
        let writer = Thread { priority: higher, think_ns: US, ..Thread::of(Op::Write, u32::MAX) };
        let reader = Thread { priority: lower, ..Thread::of(Op::Read, u32::MAX) };
        let last = Thread { priority: lower, begins_ns: 1_000 * MS, ..Thread::of(Op::Write, u32::MAX) };
        let threads = numbered([last, reader].into_iter().chain([writer; 40]));
        let seen = run(Tunables::default(), device, &threads, 8_000 * MS).threads[0].clone();
        assert!(seen.done > 2, "{} done, {lower:?}", seen.done);
        let bound = slices * 100 * MS + 20 * device.write_ns;
        assert!(seen.longest_wait_ns <= bound, "{} us, {lower:?}", seen.longest_wait_ns / US);
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
fn under_endless_commits_a_write_waits_for_its_slice_and_half_of_one() {
    for (commits, write_ns) in [(1, 400 * US), (4, 400 * US), (3, 3 * MS), (7, 3 * MS)] {
        let device = Device { depth: 8, write_ns, ..SERIAL };
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
    for (depth, units) in [(4, 1), (8, 1), (4, 2), (16, 4), (32, 1)] {
        let device = Device { depth, units, ..SERIAL };
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
    for (depth, units) in [(4, 1), (8, 1), (16, 4), (32, 1), (32, 4)] {
        for think_ns in [20 * US, 200 * US, MS, 2 * MS, 20 * MS] {
            let device = Device { depth, units, ..SERIAL };
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
fn a_reader_of_the_idle_class_keeps_no_other_from_being_awaited() {
    for (depth, units) in [(4, 1), (32, 1), (32, 4)] {
        let device = Device { depth, units, ..SERIAL };
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

/// Background writes done by themselves, and with concurrent readers.
fn writes_alone_and_mixed(device: Device, readers: &[Thread], writers: &[Thread], tunables: Tunables) -> [f64; 2] {
    let wrote = |readers: &[Thread]| {
        let threads = numbered(readers.iter().chain(writers).copied());
        let outcome = run(tunables, device, &threads, 3_000 * MS);
        outcome.threads[readers.len()..].iter().map(|seen| f64::from(seen.done)).sum()
    };
    [wrote(&[]), wrote(readers)]
}

#[test]
fn writes_that_wait_get_their_share_under_endless_reads_whatever_they_are() {
    for (readers, think_ns) in [(1, 10 * US), (1, MS / 2), (8, 10 * US)] {
        for (writers, bytes) in [(1, 65_536), (4, 4096), (16, 65_536)] {
            for share in [25, 50, 77, 95] {
                let reader = Thread { think_ns, ..Thread::of(Op::Read, u32::MAX) };
                let writer = Thread { bytes, think_ns: US, ..Thread::of(Op::Write, u32::MAX) };
                let tunables = Tunables { write_share_percent: share, ..Tunables::default() };
                let device = Device { depth: 4, ..SERIAL };
                let [alone, mixed] =
                    writes_alone_and_mixed(device, &vec![reader; readers], &vec![writer; writers], tunables);
                // A write has to wait for what is in the device, and that counts as its time.
                let least = f64::from(share) / 100.0 * alone * device.write_ns as f64
                    / (device.write_ns + device.read_ns * readers.min(4) as u64) as f64;
                assert!(
                    mixed >= 0.9 * least,
                    "share {share}, {readers} readers, {writers} writers: {mixed} of {alone}"
                );
            }
        }
    }
}

#[test]
fn with_concurrent_reads_one_background_write_is_in_the_device() {
    for units in [1, 4, 16] {
        let device = Device { units, ..SERIAL };
        let threads = [Thread::of(Op::Read, u32::MAX)].into_iter().chain([Thread::of(Op::Write, u32::MAX); 16]);
        assert_eq!(run(Tunables::default(), device, &numbered(threads), 1_000 * MS).most_plain, 1);
    }
}

#[test]
fn a_read_waits_for_at_most_one_background_write() {
    for share in [10, 50, 100] {
        let writers = (0..16).map(|_| Thread { bytes: 16_384, ..Thread::of(Op::Write, u32::MAX) });
        let threads = numbered([Thread::of(Op::Read, u32::MAX)].into_iter().chain(writers));
        let tunables = Tunables { write_share_percent: share, slice_ns: 1_000 * MS, ..Tunables::default() };
        let longest = run(tunables, SERIAL, &threads, 2_000 * MS).threads[0].longest_wait_ns;
        assert!(longest <= SERIAL.write_ns, "share {share}: {} us", longest / US);
    }
}

#[test]
fn a_writer_that_waits_for_each_write_is_as_fast_as_its_share_allows() {
    for units in [1, 4, 16] {
        for (readers, think_ns) in [(1, 10 * US), (1, MS), (4, 100 * US)] {
            let reader = Thread { think_ns, ..Thread::of(Op::Read, u32::MAX) };
            let device = Device { units, ..SERIAL };
            let writer = Thread { think_ns: US, ..Thread::of(Op::Write, u32::MAX) };
            let [alone, mixed] = writes_alone_and_mixed(device, &vec![reader; readers], &[writer], Tunables::default());
            // At most half as long again beside what is in the device before it.
            let before = if readers >= units { device.read_ns * (readers / units) as u64 } else { 0 };
            let bound = 1.5 * (device.write_ns + before) as f64 / device.write_ns as f64;
            assert!(mixed * bound >= alone, "{units} units, {readers} readers: {mixed} of {alone}");
        }
    }
}

#[test]
fn what_a_cache_programs_later_is_time_of_the_writes() {
    let device = Device { depth: 4, cache: 32, write_ns: 8 * MS, read_ns: 500 * US, ..SERIAL };
    let threads = numbered([Thread::of(Op::Read, u32::MAX), Thread::of(Op::Write, u32::MAX)]);
    // Alone it writes one in 8 ms.
    for (share, reads_at_most, writes_at_least) in [(10, 2.0, 0.1), (77, 8.0, 0.6)] {
        let tunables = Tunables { write_share_percent: share, ..Tunables::default() };
        let outcome = run(tunables, device, &threads, 20_000 * MS);
        let [reads, writes] = &outcome.threads[..] else { unreachable!("two threads") };
        let late = Seen { latencies_ns: reads.latencies_ns[reads.latencies_ns.len() / 4..].to_vec(), ..reads.clone() };
        let slowdown = mean_ns(&late) / device.read_ns as f64;
        assert!(slowdown <= reads_at_most, "share {share}: {slowdown:.2} times as long as alone");
        let wrote = f64::from(writes.done) * device.write_ns as f64 / outcome.end_ns as f64;
        assert!(wrote >= writes_at_least, "share {share}: {wrote:.2} of the time");
    }
}

#[test]
fn reads_that_are_slow_by_themselves_cost_a_waiting_writer_half_of_its_time_at_most() {
    for (readers, think_ns) in [(1, 10 * US), (1, MS), (4, 100 * US)] {
        for read_spread in [2, 8, 40] {
            let device = Device { read_spread, ..SERIAL };
            let reader = Thread { think_ns, ..Thread::of(Op::Read, u32::MAX) };
            let writer = Thread { think_ns: US, ..Thread::of(Op::Write, u32::MAX) };
            let [alone, mixed] = writes_alone_and_mixed(device, &vec![reader; readers], &[writer], Tunables::default());
            // Beside what is in the device before it.
            let before = (device.read_ns * (1 + read_spread / 2)) * readers as u64;
            let bound = 1.5 * (device.write_ns + before) as f64 / device.write_ns as f64;
            assert!(mixed * bound >= alone, "spread {read_spread}, {readers} readers: {mixed} of {alone}");
        }
    }
}

#[test]
fn readers_that_pause_shortly_read_several_times_between_two_writes() {
    // Writes of 12.8 ms.
    let device = Device { units: 4, placed: true, wide: true, write_ns: 1_600 * US, ..SERIAL };
    let writer = Thread { bytes: 512 << 10, think_ns: US, ..Thread::of(Op::Write, u32::MAX) };
    let write_ns = simulation::write_ns(device, &writer) as f64;
    for (pause_ms, readers, most) in [(0, 1, 0.25), (0, 8, 0.25), (1, 8, 0.5), (2, 8, 0.7), (2, 1, 0.7)] {
        let reader = Thread { think_ns: pause_ms * MS, ..Thread::of(Op::Read, u32::MAX) };
        let threads = numbered(vec![reader; readers].into_iter().chain(vec![writer; 16]));
        let outcome = run(Tunables::default(), device, &threads, 4_000 * MS);
        let late = |seen: &Seen| seen.latencies_ns[seen.latencies_ns.len() / 4..].to_vec();
        let reads =
            Seen { latencies_ns: outcome.threads[..readers].iter().flat_map(late).collect(), ..Seen::default() };
        let writes: u32 = outcome.threads[readers..].iter().map(|seen| seen.done).sum();
        let share = f64::from(writes) * write_ns / outcome.end_ns as f64;
        let mean = mean_ns(&reads) / write_ns;
        assert!(mean <= most, "{readers} readers, pause {pause_ms} ms: {mean:.2} of a write");
        assert!(share >= 0.7, "{readers} readers, pause {pause_ms} ms: writes got {share:.2}");
    }
}

#[test]
fn the_content_of_a_file_keeps_its_share_beside_commits_which_wait_for_one_write_of_it() {
    let device = Device { depth: 4, ..SERIAL };
    let file = [Thread { awaited: true, bytes: 512 << 10, ..Thread::of(Op::Write, u32::MAX) }; 6];
    for think_ns in [30 * US, 2 * MS] {
        let commit = Thread { awaited: true, think_ns, ..Thread::of(Op::Write, u32::MAX) };
        let [alone, mixed] = writes_alone_and_mixed(device, &[commit], &file, Tunables::default());
        assert!(mixed >= 0.65 * alone, "think {think_ns}: {mixed} of {alone}");
        let threads = numbered(file.into_iter().chain([commit]));
        let longest = run(Tunables::default(), device, &threads, 2_000 * MS).threads[6].longest_wait_ns;
        assert!(longest <= 2 * simulation::write_ns(device, &file[0]), "think {think_ns}: {} us", longest / US);
    }
}

#[test]
fn the_idle_class_gets_an_eighth_beside_others_and_all_of_it_alone() {
    let device = Device { depth: 4, ..SERIAL };
    let idle = [Thread { priority: (Class::Idle, 0), think_ns: US, ..Thread::of(Op::Write, u32::MAX) }; 8];
    for reader in [Thread::of(Op::Read, u32::MAX), Thread { awaited: true, ..Thread::of(Op::Write, u32::MAX) }] {
        let [alone, mixed] = writes_alone_and_mixed(device, &[reader], &idle, Tunables::default());
        assert!(alone * device.write_ns as f64 >= 0.99 * (3_000 * MS) as f64, "{alone}");
        assert!((0.05..=0.2).contains(&(mixed / alone)), "{mixed} of {alone}");
    }
}

#[test]
fn the_idle_class_goes_on_when_the_next_step_of_a_commit_does_not_come() {
    let device = Device { write_ns: 5 * MS, ..SERIAL };
    let idle = Thread { priority: (Class::Idle, 0), think_ns: US, ..Thread::of(Op::Write, u32::MAX) };
    let commit = Thread { awaited: true, think_ns: 40 * MS, ..Thread::of(Op::Write, u32::MAX) };
    let [alone, mixed] = writes_alone_and_mixed(device, &[commit], &[idle], Tunables::default());
    // Of 50 ms, a commit takes 5, one that is in the device before it 5, and 2 pass behind it.
    assert!(mixed >= 0.7 * alone, "{mixed} of {alone}");
}

#[test]
fn reads_of_the_idle_class_limit_no_writes_of_others() {
    let device = Device { units: 4, ..SERIAL };
    let idle = Thread { priority: (Class::Idle, 0), think_ns: 100 * US, ..Thread::of(Op::Read, u32::MAX) };
    let writer = Thread { think_ns: US, ..Thread::of(Op::Write, u32::MAX) };
    let [alone, mixed] = writes_alone_and_mixed(device, &[idle; 4], &[writer; 16], Tunables::default());
    assert!(mixed >= 0.8 * alone, "{mixed} of {alone}");
    let threads = numbered([idle; 4].into_iter().chain([writer; 16]));
    assert!(run(Tunables::default(), device, &threads, 1_000 * MS).most_plain > 4);
}
