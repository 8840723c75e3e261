//! The scheduler with single requests: flushes, merges and hanging requests.

use brisk_kernel_tests::smartio::COMMIT_NS;
use brisk_kernel_tests::smartio::scheduler::{Class, Op, Request, Scheduler, Tunables};

const MS: u64 = 1_000_000;

/// An asynchronous write of 4 KiB.
fn request(op: Op, sector: u64) -> Request {
    Request { op, sector, bytes: 4096, pid: 1000, priority: (Class::None, 0), awaited: false, at_head: false }
}

/// A scheduler that has seen a read: for a slice then one background write is in the device.
fn after_a_read() -> Scheduler {
    let mut scheduler = Scheduler::new(&Tunables::default(), 8);
    scheduler.insert(0, 9, &request(Op::Read, 1 << 20));
    assert_eq!(scheduler.dispatch(0), Some(9));
    let _ = scheduler.complete(0, 9);
    scheduler
}

#[test]
fn a_read_does_not_wait_for_a_write_of_a_higher_class_that_waits_for_the_device() {
    let of = |class, op| Request { priority: (class, 4), ..request(op, 0) };
    let mut scheduler = after_a_read();
    scheduler.insert(0, 0, &of(Class::BestEffort, Op::Write));
    assert_eq!(scheduler.dispatch(0), Some(0));
    // The first write hangs.
    scheduler.insert(1, 1, &of(Class::RealTime, Op::Write));
    assert_eq!(scheduler.dispatch(1), None);
    scheduler.insert(2, 2, &of(Class::BestEffort, Op::Read));
    assert_eq!(scheduler.dispatch(2), Some(2));
}

/// When a second write is dispatched concurrently with a reader, after a first one that the driver gave back or not.
fn second_write_ns(given_back: bool) -> u64 {
    let mut scheduler = Scheduler::new(&Tunables::default(), 8);
    scheduler.insert(0, 0, &request(Op::Read, 0));
    assert_eq!(scheduler.dispatch(0), Some(0));
    scheduler.insert(1, 1, &request(Op::Write, 4096));
    assert_eq!(scheduler.dispatch(1), Some(1));
    if given_back {
        let _ = scheduler.requeue(2, 1);
        scheduler.insert(2, 1, &Request { at_head: true, ..request(Op::Write, 4096) });
        assert_eq!(scheduler.dispatch(2), Some(1));
    }
    let _ = scheduler.complete(MS / 2, 1);
    scheduler.insert(MS / 2, 2, &request(Op::Write, 8192));
    let mut now = MS / 2;
    loop {
        match scheduler.dispatch(now) {
            Some(2) => return now,
            Some(other) => panic!("request {other} was not sent"),
            // Each read is followed by another one.
            None => {
                now += MS / 10;
                scheduler.fire(now);
                let _ = scheduler.complete(now, 0);
                scheduler.insert(now, 0, &request(Op::Read, 0));
                assert_eq!(scheduler.dispatch(now), Some(0));
            }
        }
    }
}

#[test]
fn a_write_that_the_driver_gave_back_is_charged_once() {
    assert_eq!(second_write_ns(true), second_write_ns(false));
}

#[test]
fn the_write_after_a_flush_goes_next_and_counts_as_what_it_is() {
    let write = |sector, awaited, at_head| Request { awaited, at_head, ..request(Op::Write, sector) };
    for awaited in [false, true] {
        let mut scheduler = after_a_read();
        scheduler.insert(1, 0, &write(64, false, false));
        scheduler.insert(2, 1, &write(0, awaited, true));
        assert_eq!(scheduler.dispatch(2), Some(1));
        assert_eq!(scheduler.dispatch(2), None, "one write at a time, and none beside a commit");
        assert!(scheduler.complete(3, 1));
        // The next step of a commit is expected for a time.
        assert_eq!(scheduler.dispatch(3), (!awaited).then_some(0));
        if awaited {
            let at = scheduler.timer_ns().expect("a timer");
            assert_eq!(at, 3 + COMMIT_NS);
            scheduler.fire(at);
            assert_eq!(scheduler.dispatch(at), Some(0));
        }
    }
}

#[test]
fn a_request_made_urgent_by_a_merge_is_polled_for() {
    let write = |sector, pid| Request { pid, ..request(Op::Write, sector) };
    for (bytes, awaited) in [(4096, true), (4096, false), (1 << 20, true)] {
        let mut scheduler = after_a_read();
        scheduler.insert(1, 0, &write(0, 1000));
        assert_eq!(scheduler.dispatch(1), Some(0));
        scheduler.insert(2, 1, &write(64, 1001));
        assert_eq!(scheduler.dispatch(2), None, "one at a time");
        // An urgent write goes at once; the content of a file changes nothing.
        let urgent = awaited && bytes <= 32_768;
        assert_eq!(scheduler.merge(3, 1, bytes, awaited), urgent);
        assert_eq!(scheduler.dispatch(3), urgent.then_some(1));
        if urgent {
            continue;
        }
        assert!(scheduler.complete(4, 0), "{bytes} {awaited}: it has no waiting process");
        assert_eq!(scheduler.dispatch(4), Some(1));
    }
}

#[test]
fn a_merge_that_closes_a_gap_makes_the_whole_request_urgent() {
    let request = |op, sector| Request { pid: 1000 + sector as u32, ..request(op, sector) };
    for awaited in [true, false] {
        let mut scheduler = after_a_read();
        for (id, sector) in [(0, 0), (1, 64), (2, 80), (3, 512)] {
            scheduler.insert(1, id, &request(Op::Write, sector));
            if id == 0 {
                assert_eq!(scheduler.dispatch(1), Some(0));
            }
        }
        assert_eq!(scheduler.dispatch(1), None, "one write at a time");
        // The part between two of them has arrived.
        assert_eq!(scheduler.join(2, 1, 2, 4096, awaited), awaited);
        assert_eq!(scheduler.dispatch(2), awaited.then_some(1), "still one at a time");
        assert_eq!(scheduler.complete(3, 0), !awaited);
        scheduler.insert(3, 4, &request(Op::Read, 4096));
        assert_eq!(scheduler.dispatch(3), Some(4), "a read goes before other writes");
    }
}
