//! The scheduler at work: threads that send one request after another, a device of a few units, and a block layer that looks
//! for requests only when it has to. Time is the simulation's own.

use brisk_smartio_kernel::scheduler::{Class, Op, Request, Scheduler, Tunables};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const US: u64 = 1_000;

/// A thread that sends its next request some time after the last one is done.
#[derive(Debug, Clone, Copy)]
struct Thread {
    ops: [Op; 2],
    awaited: bool,
    priority: (Class, u16),
    pid: u32,
    bytes: u32,
    think_ns: u64,
    begins_ns: u64,
    requests: u32,
}

impl Thread {
    fn of(op: Op, requests: u32) -> Self {
        Self {
            ops: [op; 2],
            awaited: false,
            priority: (Class::None, 0),
            pid: 0,
            bytes: 4096,
            think_ns: 12 * US,
            begins_ns: 0,
            requests,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Device {
    depth: u32,
    units: usize,
    read_ns: u64,
    write_ns: u64,
    /// A write takes up to so much longer.
    write_spread_ns: u64,
    write_cache: bool,
    /// What the cache takes of writes before it is full, if it takes any: it programs one between two reads.
    places: u64,
    /// A write of more than 64 KiB takes all units.
    wide: bool,
    /// Each so many-th request is given back once; 0: none.
    requeue_every: u64,
    /// The first read after so long takes so much longer.
    hangs: Option<(u64, u64)>,
}

const SERIAL: Device = Device {
    depth: 32,
    units: 1,
    read_ns: 80 * US,
    write_ns: 400 * US,
    write_spread_ns: 0,
    write_cache: false,
    places: 0,
    wide: false,
    requeue_every: 0,
    hangs: None,
};

#[derive(Debug, Clone, Default, PartialEq)]
struct Seen {
    done: u32,
    longest_wait_ns: u64,
    latencies_ns: Vec<u64>,
}

#[derive(Debug, Default)]
struct Outcome {
    threads: Vec<Seen>,
    dispatched: Vec<usize>,
    end_ns: u64,
    /// Most writes that nobody waits for that were in the device at once when half of the time was over.
    most_plain: usize,
}

/// Cells behind a cache.
#[derive(Debug, Default)]
struct Cells {
    busy_until_ns: u64,
    /// Programs that wait.
    waiting: u64,
}

impl Cells {
    /// When a request that comes now is done.
    fn done_ns(&mut self, device: Device, op: Op, now: u64) -> u64 {
        while self.waiting > 0 && self.busy_until_ns <= now {
            self.waiting -= 1;
            self.busy_until_ns += device.write_ns;
        }
        self.busy_until_ns = self.busy_until_ns.max(now);
        if op == Op::Read {
            self.busy_until_ns += device.read_ns;
            return self.busy_until_ns;
        }
        self.waiting += 1;
        let taken_ns = now + 20 * US;
        match self.waiting.checked_sub(device.places + 1) {
            Some(more) => taken_ns.max(self.busy_until_ns + more * device.write_ns),
            None => taken_ns,
        }
    }
}

struct Sent {
    op: Op,
    at_ns: u64,
    back: bool,
}

/// What `smartio_queue_of` gives.
fn queue(thread: &Thread, op: Op) -> usize {
    // What is larger is the content of a file.
    let awaited = thread.awaited && op == Op::Write && thread.bytes <= 65_536;
    match thread.priority {
        (Class::None, _) => 12,
        (Class::RealTime, level) => usize::from(level & 7),
        (Class::BestEffort, level) => 8 + usize::from(level & 7),
        (Class::Idle, _) => 16 - usize::from(awaited),
    }
}

/// Programs of 64 KiB.
fn write_ns(device: Device, thread: &Thread) -> u64 {
    device.write_ns * u64::from(thread.bytes.div_ceil(65_536))
}

/// Some number up to `most`, by the place in a row.
fn spread(place: u64, most: u64) -> u64 {
    (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % (most + 1)
}

/// Runs until all is done or the time is over; in all of it, the quantum is watched.
fn run(tunables: Tunables, device: Device, threads: &[Thread], end_ns: u64) -> Outcome {
    let begin = 1_000 * MS;
    let mut now = begin;
    let mut scheduler = Scheduler::new(&tunables, device.depth, device.write_cache);
    let mut next: Vec<Option<u64>> = threads.iter().map(|thread| Some(begin + thread.begins_ns)).collect();
    let mut sent: Vec<Option<Sent>> = threads.iter().map(|_| None).collect();
    let mut in_device: Vec<(u64, usize)> = Vec::new();
    let mut busy = vec![0_u64; device.units];
    let mut cells = Cells::default();
    let (mut count, mut full) = (0_u64, false);
    let mut hangs = device.hangs;
    let mut outcome = Outcome { threads: vec![Seen::default(); threads.len()], ..Outcome::default() };
    loop {
        let left = |id: &usize| outcome.threads[*id].done < threads[*id].requests;
        let arrival = (0..threads.len()).filter(left).filter_map(|id| next[id].map(|at| (at, id))).min();
        let completion = in_device.iter().copied().min();
        let timer = scheduler.timer_ns();
        let times = [arrival.map(|x| x.0), completion.map(|x| x.0), timer];
        let Some(at) = times.into_iter().flatten().min() else {
            assert!(sent.iter().all(Option::is_none), "requests wait and nothing is on its way");
            break;
        };
        now = now.max(at);
        if now >= begin + end_ns {
            break;
        }
        let mut look = false;
        if let Some((_, id)) = completion.filter(|(at, _)| *at <= now) {
            in_device.retain(|(_, other)| *other != id);
            count += 1;
            let request = sent[id].as_mut().expect("it was sent");
            if device.requeue_every > 0 && count.is_multiple_of(device.requeue_every) && !request.back {
                request.back = true;
                let _ = scheduler.requeue(now, u32::try_from(id).expect("few"));
                scheduler.insert(now, u32::try_from(id).expect("few"), &of(&threads[id], request.op, 0, true));
                look = true;
            } else {
                look = scheduler.complete(now, u32::try_from(id).expect("few"));
                let seen = &mut outcome.threads[id];
                seen.done += 1;
                seen.latencies_ns.push(now - request.at_ns);
                sent[id] = None;
                next[id] = Some(now + threads[id].think_ns);
            }
            // What found the device full waits for any completion.
            look |= std::mem::take(&mut full);
        } else if let Some((_, id)) = arrival.filter(|(at, _)| *at <= now) {
            let seen = &outcome.threads[id];
            let op = threads[id].ops[seen.done as usize % 2];
            let sector = (id as u64) << 20 | u64::from(seen.done % 4096) << 3;
            scheduler.insert(now, u32::try_from(id).expect("few"), &of(&threads[id], op, sector, false));
            sent[id] = Some(Sent { op, at_ns: now, back: false });
            next[id] = None;
            look = true;
        } else if timer.is_some_and(|at| at <= now) {
            scheduler.fire(now);
            look = true;
        }
        if !look {
            continue;
        }
        loop {
            full = in_device.len() == device.depth as usize;
            let Some(id) = (if full { None } else { scheduler.dispatch(now) }) else { break };
            let id = id as usize;
            let request = sent[id].as_ref().expect("it was sent");
            let waited = now - request.at_ns;
            let seen = &mut outcome.threads[id];
            seen.longest_wait_ns = seen.longest_wait_ns.max(waited);
            outcome.dispatched.push(id);
            let own = queue(&threads[id], request.op);
            let queue_of = |other: usize| queue(&threads[other], sent[other].as_ref().expect("sent").op);
            let waits = |other: usize| {
                sent[other].as_ref().is_some_and(|sent| !sent.back) && !in_device.iter().any(|(_, id)| *id == other)
            };
            let others_wait = (0..threads.len())
                .any(|other| other != id && waits(other) && queue_of(other) != own && queue_of(other) / 8 == own / 8);
            let own_in_flight = in_device.iter().filter(|(_, other)| queue_of(*other) == own).count();
            // What was given back or has waited for its slice goes in any case.
            if others_wait && !request.back && waited < tunables.slice_ns {
                assert!(own_in_flight < tunables.quantum as usize, "{own_in_flight} of a queue while another waits");
            }
            let unit = (0..busy.len()).min_by_key(|unit| busy[*unit]).expect("one at least");
            let spread = spread(outcome.dispatched.len() as u64, device.write_spread_ns);
            let mut service =
                if request.op == Op::Read { device.read_ns } else { write_ns(device, &threads[id]) + spread };
            if let Some((_, longer_ns)) = hangs.filter(|(at_ns, _)| request.op == Op::Read && now >= begin + at_ns) {
                service += longer_ns;
                hangs = None;
            }
            let wide = device.wide && request.op == Op::Write && threads[id].bytes > 65_536;
            let free = if wide { busy.iter().copied().max().expect("one at least") } else { busy[unit] };
            let end = free.max(now) + service;
            if wide {
                busy.fill(end);
            } else {
                busy[unit] = end;
            }
            let end = if device.places > 0 { cells.done_ns(device, request.op, now) } else { end };
            in_device.push((end, id));
            if now - begin > end_ns / 2 {
                let plain = |id: usize| threads[id].ops[0] == Op::Write && !threads[id].awaited;
                outcome.most_plain = outcome.most_plain.max(in_device.iter().filter(|(_, id)| plain(*id)).count());
            }
        }
    }
    for (id, request) in sent.iter().enumerate().filter_map(|(id, sent)| Some((id, sent.as_ref()?))) {
        if !in_device.iter().any(|(_, other)| *other == id) {
            let seen = &mut outcome.threads[id];
            seen.longest_wait_ns = seen.longest_wait_ns.max(now - request.at_ns);
        }
    }
    outcome.end_ns = now - begin;
    outcome
}

fn of(thread: &Thread, op: Op, sector: u64, at_head: bool) -> Request {
    let awaited = thread.awaited && op == Op::Write;
    Request { op, sector, bytes: thread.bytes, pid: thread.pid, priority: thread.priority, awaited, at_head }
}

/// Numbers of their own.
fn numbered(threads: impl IntoIterator<Item = Thread>) -> Vec<Thread> {
    threads.into_iter().zip(1000..).map(|(thread, pid)| Thread { pid, ..thread }).collect()
}

fn mean_ns(seen: &Seen) -> f64 {
    seen.latencies_ns.iter().sum::<u64>() as f64 / seen.latencies_ns.len() as f64
}

fn percentile_ns(seen: &Seen, percent: usize) -> u64 {
    let mut all = seen.latencies_ns.clone();
    all.sort_unstable();
    all[all.len() * percent / 100]
}

/// A reader beside writers, each with a pause after a request and a begin: the part of its time that it has in the end, and
/// what is due by then: each writer may have one write in a slice, and all of them half of the device.
fn beside_a_cache(device: Device, pauses_ns: [u64; 2], begins_ns: [u64; 2], writers: usize) -> (f64, f64) {
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
        favour in 0..3_u32,
        run_depth in [0..5_u32, 0..5_u32, 0..5_u32, 0..5_u32],
    ) -> Tunables {
        Tunables { slice_ns, hold_max_ns, quantum, write_share_percent, write_cap, favour, run_depth }
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
    fn whoever_sends_without_end_nobody_waits_longer_than_was_promised(
        of in tunables(), device in device(), mut threads in prop::collection::vec(thread(), 1..24),
    ) {
        let tunables = Tunables { run_depth: [0; 4], ..of };
        for thread in &mut threads {
            (thread.requests, thread.bytes) = (u32::MAX, thread.bytes.min(65_536));
        }
        let outcome = run(tunables, device, &threads, 60 * tunables.slice_ns);
        let service_ns = device.read_ns + device.write_ns + device.write_spread_ns;
        let full_ns = (threads.len() as u64 + u64::from(device.depth)) * service_ns;
        for (thread, seen) in threads.iter().zip(&outcome.threads) {
            let slices = if thread.priority.0 == Class::Idle { 10 } else { 1 };
            // Beside commits half a slice more, and all that is due and in the device.
            let bound = slices * tunables.slice_ns + tunables.slice_ns / 2 + 2 * full_ns;
            prop_assert!(seen.longest_wait_ns <= bound, "{} of {} us: {thread:?}", seen.longest_wait_ns / US, bound / US);
        }
    }

    #[test]
    fn what_a_cache_hides_is_found_out_whoever_comes_first(
        write_ns in prop_oneof![50 * US..MS, MS..10 * MS],
        read_ns in 20 * US..600 * US,
        full_ns in 0..250 * MS,
        pauses_ns in [5 * US..200 * US, 20 * US..MS],
        begins_ns in [0..500 * MS, 0..50 * MS],
        writers in 1..5_usize,
    ) {
        let device = Device { read_ns, write_ns, write_cache: true, places: (full_ns / write_ns).clamp(1, 64), ..SERIAL };
        let (part, due) = beside_a_cache(device, pauses_ns, begins_ns, writers);
        prop_assert!(part >= 0.5 * (1.0 - due), "reads have {part:.2} of the time, and {due:.2} is due");
    }

    #[test]
    fn sections_go_before_each_other_and_levels_in_them(
        priorities in prop::collection::vec((1..4_u16, 0..8_u16), 2..30), depth in 1..4_u32,
    ) {
        let class = |class| [Class::RealTime, Class::BestEffort, Class::Idle][usize::from(class) - 1];
        let thread = |(of, level)| Thread { priority: (class(of), level), ..Thread::of(Op::Read, 1) };
        let mut threads = numbered(priorities.into_iter().map(thread));
        // All wait when the device, which somebody keeps busy until then, is free.
        threads.push(Thread { pid: 1, begins_ns: 0, ..Thread::of(Op::Read, depth) });
        for thread in &mut threads[..] {
            thread.begins_ns = if thread.pid == 1 { 0 } else { 10 * US };
        }
        let device = Device { depth: 1, ..SERIAL };
        let outcome = run(Tunables { slice_ns: 10_000 * MS, ..Tunables::default() }, device, &threads, u64::MAX / 4);
        let one = threads.len() - 1;
        let order = outcome.dispatched.iter().filter(|id| **id != one).map(|id| queue(&threads[*id], Op::Read));
        let order: Vec<usize> = order.collect();
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
            let percent = 100 * (wrote(&after) - wrote(&before)) * self::write_ns(device, &writer) / (6_000 * MS);
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
fn a_write_that_is_due_beside_reads_does_not_wait_for_writes_of_a_higher_class() {
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
fn one_pause_of_the_device_is_not_taken_for_what_writes_cost() {
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
        let (part, due) = beside_a_cache(device, pauses_us.map(|us| us * US), begins_ms.map(|ms| ms * MS), writers);
        assert!(part >= 0.7 * (1.0 - due), "reads have {part:.2} of the time beside {writers}, and {due:.2} is due");
    }
}

#[test]
fn beside_more_writes_than_the_device_does_in_a_slice_reads_and_writes_have_half_of_it_each() {
    let cases = [2, 4, 6].into_iter().flat_map(|ms| [(ms, 8, 24), (ms, 32, 24), (ms, 8, 60), (ms, 32, 60)]);
    for (write_ms, places, writers) in cases {
        let write_ns = write_ms * MS;
        let device = Device { depth: 64, read_ns: 300 * US, write_ns, write_cache: true, places, ..SERIAL };
        let (part, _) = beside_a_cache(device, [30 * US, 20 * US], [0, 0], writers);
        assert!(
            (0.35..=0.6).contains(&part),
            "reads have {part:.2} of the time beside {writers} of {write_ms} ms, cache of {places}"
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
fn a_commit_goes_step_by_step_beside_the_content_of_a_file_that_keeps_about_half_of_the_device() {
    let device = Device { depth: 4, write_cache: true, ..SERIAL };
    let file = (0..6).map(|_| Thread { awaited: true, bytes: 512 << 10, ..Thread::of(Op::Write, u32::MAX) });
    let alone = run(Tunables::default(), device, &numbered(file.clone()), 2_000 * MS);
    let content = |outcome: &Outcome| outcome.threads[..6].iter().map(|seen| seen.done).sum::<u32>();
    // While content has had the device for 3.2 ms, seven commits of the first kind fit, and one of the second.
    for (think_ns, percent) in [(30 * US, 80), (2 * MS, 30)] {
        let commit = Thread { awaited: true, think_ns, ..Thread::of(Op::Write, u32::MAX) };
        let outcome = run(Tunables::default(), device, &numbered(file.clone().chain([commit])), 2_000 * MS);
        // Once it is known that they come, so many steps meet an idle device, and none more than one write of the content.
        let seen = Seen { latencies_ns: outcome.threads[6].latencies_ns[8..].to_vec(), ..Seen::default() };
        let seen = &seen;
        let (many, most) = (percentile_ns(seen, percent), percentile_ns(seen, 99));
        assert!(many <= 2 * device.write_ns, "think {think_ns}: {} us", many / US);
        assert!(most <= 10 * device.write_ns, "think {think_ns}: {} us", most / US);
        let (got, of) = (content(&outcome), content(&alone));
        // A commit that is in the device when patience ends is waited for.
        assert!(20 * got >= 9 * of, "think {think_ns}: {got} of {of}");
    }
    // With all of the share nobody is held for anybody.
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

/// One thread that sends many writes, and a read so long after the last.
fn own(think_ns: u64) -> Vec<Thread> {
    let write = Thread { pid: 99, think_ns: US, ..Thread::of(Op::Write, u32::MAX) };
    let read = Thread { pid: 99, think_ns, ..Thread::of(Op::Read, u32::MAX) };
    [write; 8].into_iter().chain([read]).collect()
}

#[test]
fn beside_a_thread_that_reads_and_writes_nobody_starves() {
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
fn beside_a_thread_that_reads_and_writes_others_have_one_write_of_nine() {
    for (depth, units, write_cache) in [(4, 1, false), (8, 1, true), (16, 4, false), (32, 1, false), (32, 4, true)] {
        for think_ns in [20 * US, 200 * US, MS, 2 * MS, 20 * MS] {
            let device = Device { depth, units, write_cache, ..SERIAL };
            let mut threads = numbered([Thread { begins_ns: 100 * MS, ..Thread::of(Op::Write, u32::MAX) }; 4]);
            threads.extend(own(think_ns));
            let outcome = run(Tunables::default(), device, &threads, 2_000 * MS);
            let done = |of: &[Seen]| of.iter().map(|seen| seen.done).sum::<u32>();
            let (others, own) = (done(&outcome.threads[..4]), done(&outcome.threads[4..12]));
            assert!(own / 12 < others && others < own, "{others} beside {own}, think {think_ns}, {device:?}");
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
fn beside_endless_commits_a_device_is_not_taken_for_one_of_many_places() {
    for units in [1, 4] {
        for commits in [1, 4] {
            for write_spread_ns in [0, 350 * US] {
                let device = Device { units, write_ns: 50 * US, write_spread_ns, ..SERIAL };
                let commit =
                    Thread { awaited: true, think_ns: 20 * US, begins_ns: 200 * MS, ..Thread::of(Op::Write, u32::MAX) };
                let other = Thread { think_ns: US, ..Thread::of(Op::Write, u32::MAX) };
                let threads = [other; 24].into_iter().chain((0..commits).map(|_| commit));
                let outcome = run(Tunables::default(), device, &numbered(threads), 1_500 * MS);
                // Twice as many and two are what it has when nobody is awaited.
                assert!(outcome.most_plain <= 2 * units + 2, "{} at once, {device:?}", outcome.most_plain);
            }
        }
    }
}

#[test]
fn a_writer_is_not_taken_for_a_reader_whose_place_it_shares() {
    let place = |pid: u32| pid.wrapping_mul(0x61c8_8647) >> 26;
    let same = (2000..).find(|pid| place(*pid) == place(1000)).expect("one in 64");
    let other = (2000..).find(|pid| place(*pid) != place(1000)).expect("most");
    let reads = |writer: u32| {
        let reader = Thread { pid: 1000, ..Thread::of(Op::Read, u32::MAX) };
        let writers = (0..4).map(|_| Thread { pid: writer, ..Thread::of(Op::Write, u32::MAX) });
        let threads: Vec<Thread> = [reader].into_iter().chain(writers).collect();
        run(Tunables::default(), SERIAL, &threads, 1_000 * MS).threads[0].clone()
    };
    assert_eq!(reads(same), reads(other));
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
