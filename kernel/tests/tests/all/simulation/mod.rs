//! Threads that send one request after another, a device of a few units, and a block layer that looks for requests only
//! when it has to, around the scheduler. Time is the simulation's own.

use brisk_kernel_tests::smartio::scheduler::{Class, Op, Request, Scheduler, Tunables};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const US: u64 = 1_000;

/// A thread that sends its next request some time after the last one is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thread {
    pub(crate) ops: [Op; 2],
    pub(crate) awaited: bool,
    pub(crate) priority: (Class, u16),
    pub(crate) pid: u32,
    pub(crate) bytes: u32,
    pub(crate) think_ns: u64,
    pub(crate) begins_ns: u64,
    pub(crate) requests: u32,
}

impl Thread {
    pub(crate) fn of(op: Op, requests: u32) -> Self {
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
pub(crate) struct Device {
    pub(crate) depth: u32,
    pub(crate) units: usize,
    pub(crate) read_ns: u64,
    pub(crate) write_ns: u64,
    /// A write takes up to so much longer.
    pub(crate) write_spread_ns: u64,
    /// Each request has to be done by one unit, whatever the others do.
    pub(crate) placed: bool,
    /// A write of more than 64 KiB takes all units.
    pub(crate) wide: bool,
    /// Reads take up to so many times longer.
    pub(crate) read_spread: u64,
    /// So many writes are done at once, and programmed one by one between reads; for a device of one unit.
    pub(crate) cache: u32,
    /// Each so many-th request is given back once; 0: none.
    pub(crate) requeue_every: u64,
}

pub(crate) const SERIAL: Device = Device {
    depth: 32,
    units: 1,
    read_ns: 80 * US,
    write_ns: 400 * US,
    write_spread_ns: 0,
    placed: false,
    wide: false,
    read_spread: 0,
    cache: 0,
    requeue_every: 0,
};

/// Time of a write into the cache.
const CACHED_NS: u64 = 80 * US;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) done: u32,
    pub(crate) longest_wait_ns: u64,
    pub(crate) latencies_ns: Vec<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) threads: Vec<Seen>,
    pub(crate) dispatched: Vec<usize>,
    pub(crate) end_ns: u64,
    /// Most asynchronous writes in the device at once in the second half of the time.
    pub(crate) most_plain: usize,
}

struct Sent {
    op: Op,
    at_ns: u64,
    back: bool,
    in_device: bool,
}

/// Class and level as ioprio_set(2) has them: no class is best effort at its middle level, and the idle class has no
/// levels.
pub(crate) fn class_and_level(thread: &Thread) -> (Class, u16) {
    match thread.priority {
        (Class::None, _) => (Class::BestEffort, 4),
        (Class::Idle, _) => (Class::Idle, 0),
        other => other,
    }
}

/// Programs of 64 KiB.
pub(crate) fn write_ns(device: Device, thread: &Thread) -> u64 {
    device.write_ns * u64::from(thread.bytes.div_ceil(65_536))
}

/// Some number up to `most`, by the place in a row.
fn spread_of(place: u64, most: u64) -> u64 {
    (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % (most + 1)
}

/// Runs until all is done or the time is over; in all of it, the quantum is watched.
pub(crate) fn run(tunables: Tunables, device: Device, threads: &[Thread], end_ns: u64) -> Outcome {
    let begin = 1_000 * MS;
    let mut now = begin;
    let mut scheduler = Scheduler::new(&tunables, device.depth);
    let mut next: Vec<Option<u64>> = threads.iter().map(|thread| Some(begin + thread.begins_ns)).collect();
    let mut sent: Vec<Option<Sent>> = threads.iter().map(|_| None).collect();
    let mut in_device: Vec<(u64, usize)> = Vec::new();
    let mut busy = vec![0_u64; device.units];
    let (mut count, mut full) = (0_u64, false);
    let mut programs = 0;
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
                (request.back, request.in_device) = (true, false);
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
            sent[id] = Some(Sent { op, at_ns: now, back: false, in_device: false });
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
            let own = class_and_level(&threads[id]);
            let waits = |other: &usize| sent[*other].as_ref().is_some_and(|sent| !sent.back && !sent.in_device);
            let is_other = |(class, level)| class == own.0 && level != own.1;
            // What was given back or has waited for its slice goes in any case.
            let judged = !request.back && waited < tunables.slice_ns;
            if judged && (0..threads.len()).any(|other| is_other(class_and_level(&threads[other])) && waits(&other)) {
                let same = |(_, other): &&(u64, usize)| class_and_level(&threads[*other]) == own;
                let own_in_flight = in_device.iter().filter(same).count();
                assert!(
                    own_in_flight < tunables.quantum as usize,
                    "{own_in_flight} of {own:?} while another level waits"
                );
            }
            let place = spread_of(outcome.dispatched.len() as u64, device.units as u64 - 1) as usize;
            let free = (0..busy.len()).min_by_key(|unit| busy[*unit]).expect("one at least");
            let unit = if device.placed { place } else { free };
            let spread = spread_of(outcome.dispatched.len() as u64, device.write_spread_ns);
            let reads = outcome.dispatched.len() as u64;
            let service = if request.op == Op::Read {
                device.read_ns * (1 + spread_of(reads, device.read_spread))
            } else {
                write_ns(device, &threads[id]) + spread
            };
            // What the cache programs meanwhile: one after the other, as no read waits.
            while programs > 0 && busy[0] <= now {
                (busy[0], programs) = (busy[0] + device.write_ns, programs - 1);
            }
            if request.op == Op::Write && programs < device.cache {
                programs += 1;
                busy[0] = busy[0].max(now);
                in_device.push((now + CACHED_NS, id));
                sent[id].as_mut().expect("it was sent").in_device = true;
                continue;
            }
            let wide = device.wide && request.op == Op::Write && threads[id].bytes > 65_536;
            let free = if wide { busy.iter().copied().max().expect("one at least") } else { busy[unit] };
            let end = free.max(now) + service;
            if wide {
                busy.fill(end);
            } else {
                busy[unit] = end;
            }
            in_device.push((end, id));
            sent[id].as_mut().expect("it was sent").in_device = true;
            if now - begin > end_ns / 2 {
                let plain = |id: usize| threads[id].ops[0] == Op::Write && !threads[id].awaited;
                outcome.most_plain = outcome.most_plain.max(in_device.iter().filter(|(_, id)| plain(*id)).count());
            }
        }
    }
    for (id, request) in sent.iter().enumerate().filter_map(|(id, sent)| Some((id, sent.as_ref()?))) {
        if !request.in_device {
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

pub(crate) fn numbered(threads: impl IntoIterator<Item = Thread>) -> Vec<Thread> {
    threads.into_iter().zip(1000..).map(|(thread, pid)| Thread { pid, ..thread }).collect()
}

pub(crate) fn mean_ns(seen: &Seen) -> f64 {
    seen.latencies_ns.iter().sum::<u64>() as f64 / seen.latencies_ns.len() as f64
}

pub(crate) fn percentile_ns(seen: &Seen, percent: usize) -> u64 {
    let mut all = seen.latencies_ns.clone();
    all.sort_unstable();
    all[all.len() * percent / 100]
}
