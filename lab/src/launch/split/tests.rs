use super::network::{UNANSWERED_NS, answered_spans, awaited};
use super::*;
use crate::probes::{Connection, Operation, Request, Wait};
use proptest::prelude::*;

const SLEEP: Wait = Wait { io: false, uninterruptible: false, system_call: Some(libc::SYS_futex as u32) };
const FAULT: Wait = Wait { io: true, uninterruptible: true, system_call: None };
const FSYNC: Wait = Wait { io: false, uninterruptible: true, system_call: Some(libc::SYS_fsync as u32) };

fn at(at_ns: u64, tid: u32, kind: Kind) -> Event {
    Event { at_ns, tid, kind }
}

fn submit(operation: Operation, sector: u64) -> Kind {
    let request = Request { device: 1, sector, bytes: 4096, operation, sync: true, read_ahead: false, file: None };
    Kind::Submitted(request)
}

fn done(sector: u64) -> Kind {
    Kind::Completed { device: 1, sector }
}

#[test]
fn one_thread_passes_through_all_causes() {
    let events = [
        at(10, 1, submit(Operation::Read, 8)),
        at(10, 1, Kind::Waiting(FAULT)),
        at(30, 1, done(8)),
        at(30, 1, Kind::Runnable),
        at(35, 1, Kind::Running),
        at(40, 1, Kind::Waiting(FSYNC)),
        at(60, 1, Kind::Runnable),
        at(60, 1, Kind::Running),
        at(61, 1, submit(Operation::SwapIn, 16)),
        at(61, 1, Kind::Waiting(FAULT)),
        at(71, 1, done(16)),
        at(71, 1, Kind::Runnable),
        at(71, 1, Kind::Running),
        at(72, 1, Kind::ReclaimBegan),
        at(73, 1, Kind::Waiting(SLEEP)),
        at(76, 1, Kind::Runnable),
        at(76, 1, Kind::Running),
        at(77, 1, Kind::ReclaimEnded),
        at(80, 1, Kind::Waiting(SLEEP)),
        at(95, 1, Kind::Died),
    ];
    let found = split(&events, 0..100);
    let expected = Exclusive {
        running_ns: 10 + 5 + 1 + 2 + 4,
        cpu_wait_ns: 5,
        reclaim_ns: 3,
        storage_read_ns: 20,
        swap_in_ns: 10,
        storage_write_ns: 20,
        network_ns: 0,
        sleep_ns: 20,
    };
    assert_eq!(found, expected);
}

#[test]
fn a_thread_that_runs_hides_those_that_wait() {
    let events = [
        at(0, 1, Kind::Waiting(FSYNC)),
        at(10, 2, Kind::Runnable),
        at(20, 2, Kind::Running),
        at(50, 2, Kind::Waiting(SLEEP)),
    ];
    let found = split(&events, 0..100);
    assert_eq!((found.running_ns, found.cpu_wait_ns, found.storage_write_ns, found.sleep_ns), (30, 10, 60, 0));
}

#[test]
fn a_new_thread_counts_from_its_first_wake_up() {
    let events = [
        at(0, 1, Kind::Waiting(SLEEP)),
        at(5, 2, Kind::Born { pid: 2, parent_tid: 1 }),
        at(20, 2, Kind::Runnable),
        at(30, 2, Kind::Running),
        at(40, 2, Kind::Died),
    ];
    let found = split(&events, 0..100);
    assert_eq!((found.running_ns, found.cpu_wait_ns, found.sleep_ns), (10, 10, 80));
}

#[test]
fn the_cause_of_a_wait_follows_from_the_requests_in_flight() {
    let wait = |io, call: Option<i64>| Wait { io, uninterruptible: true, system_call: call.map(|c| c as u32) };
    let (read, write, open, futex) = (libc::SYS_read, libc::SYS_write, libc::SYS_openat, libc::SYS_futex);
    for (name, own, others, wait, cause) in [
        ("a fault reads", Some(Operation::Read), None, wait(true, None), Some(Cause::StorageRead)),
        ("a fault swaps in", Some(Operation::SwapIn), None, wait(true, None), Some(Cause::SwapIn)),
        ("another thread's page", None, Some(Operation::Read), wait(true, None), Some(Cause::StorageRead)),
        ("another thread's swap-in", None, Some(Operation::SwapIn), wait(true, None), Some(Cause::SwapIn)),
        ("another process's page", None, None, wait(true, Some(read)), Some(Cause::StorageRead)),
        ("a throttled writer", None, Some(Operation::Read), wait(true, Some(write)), Some(Cause::StorageWrite)),
        ("a partial write reads first", Some(Operation::Read), None, wait(true, Some(write)), Some(Cause::StorageRead)),
        ("a directory is read", Some(Operation::Read), None, wait(true, Some(open)), Some(Cause::StorageRead)),
        ("the journal is full", None, None, wait(false, Some(open)), Some(Cause::StorageWrite)),
        ("a lock", None, Some(Operation::Read), wait(false, Some(futex)), None),
        ("a sleep", None, Some(Operation::Read), SLEEP, None),
        ("durable", None, None, FSYNC, Some(Cause::StorageWrite)),
    ] {
        let mut waits = Waits::default();
        for (tid, operation) in [(1, own), (2, others)] {
            if let Some(operation) = operation {
                waits.note(&at(0, tid, submit(operation, u64::from(tid))));
            }
        }
        assert_eq!(waits.cause(1, &wait), cause, "{name}");
    }
}

#[test]
fn an_answer_is_awaited_from_the_request_to_its_last_part() {
    let socket = 7;
    let events = [
        at(5, 1, Kind::Network(Connection::Opening { socket })),
        at(10, 1, Kind::Waiting(SLEEP)),
        at(25, 1, Kind::Network(Connection::Opened { socket })),
        at(25, 1, Kind::Running),
        at(30, 1, Kind::Network(Connection::Sent { socket, bytes: 9, loopback: true })),
        at(30, 1, Kind::Waiting(SLEEP)),
        at(430, 1, Kind::Network(Connection::Received { socket, bytes: 1 })),
        at(450, 1, Kind::Network(Connection::Received { socket, bytes: 1 })),
    ];
    // Running until 10 and from 25 to 30.
    let found = split(&events, 0..500);
    assert_eq!((found.running_ns, found.network_ns, found.sleep_ns), (15, 15 + 420, 50));
}

#[test]
fn a_request_that_is_never_answered_counts_for_a_limited_time() {
    let socket = 7;
    let asks = |at_ns| at(at_ns, 1, Kind::Network(Connection::Sent { socket, bytes: 1, loopback: false }));
    assert_eq!(awaited(&[asks(5)]), vec![5..5 + UNANSWERED_NS]);
    // A repeated request without an answer is still one wait.
    assert_eq!(awaited(&[asks(5), asks(9)]), vec![5..5 + UNANSWERED_NS]);
    let late = at(3 * UNANSWERED_NS, 1, Kind::Network(Connection::Received { socket, bytes: 1 }));
    assert_eq!(awaited(&[asks(5), late]), vec![5..5 + UNANSWERED_NS]);
    assert_eq!(answered_spans(&[asks(5)]), []);
}

#[test]
fn a_refused_connection_is_not_awaited() {
    let socket = 7;
    let events = [
        at(5, 1, Kind::Network(Connection::Sent { socket, bytes: 9, loopback: true })),
        at(6, 1, Kind::Network(Connection::Opened { socket })),
    ];
    assert_eq!(awaited(&events), vec![5..6]);
}

#[test]
fn the_result_divides_running_time() {
    let exclusive = Exclusive { running_ns: 4_000_000, sleep_ns: 1_000_000, ..Exclusive::default() };
    let split = exclusive.to_split(0.75, 3);
    assert_eq!(split.time_ms(Cause::UserCpu), Some(3.0));
    assert_eq!(split.time_ms(Cause::SystemCpu), Some(1.0));
    assert_eq!((split.wall_ms, split.lost_events), (5.0, 3));
    assert_eq!(exclusive.to_split(f64::NAN, 0).time_ms(Cause::UserCpu), Some(4.0));
}

fn any_kind() -> impl Strategy<Value = Kind> {
    let wait = (any::<bool>(), any::<bool>(), proptest::option::of(0u32..500))
        .prop_map(|(io, uninterruptible, system_call)| Kind::Waiting(Wait { io, uninterruptible, system_call }));
    let operation =
        prop_oneof![Just(Operation::Read), Just(Operation::SwapIn), Just(Operation::Write), Just(Operation::Flush),];
    let connection = (0u64..3, 0u8..4).prop_map(|(socket, kind)| match kind {
        0 => Connection::Opening { socket },
        1 => Connection::Opened { socket },
        2 => Connection::Sent { socket, bytes: 1, loopback: false },
        _ => Connection::Received { socket, bytes: 1 },
    });
    prop_oneof![
        wait,
        Just(Kind::Running),
        Just(Kind::Runnable),
        Just(Kind::Died),
        Just(Kind::ReclaimBegan),
        Just(Kind::ReclaimEnded),
        Just(Kind::Born { pid: 1, parent_tid: 1 }),
        (operation, 0u64..4).prop_map(|(operation, sector)| submit(operation, sector)),
        (0u64..4).prop_map(done),
        connection.prop_map(Kind::Network),
    ]
}

prop_compose! {
    fn any_events()(mut found in prop::collection::vec((0u64..1_000, 1u32..5, any_kind()), 0..80)) -> Vec<Event> {
        found.sort_by_key(|(at_ns, ..)| *at_ns);
        found.into_iter().map(|(at_ns, tid, kind)| at(at_ns, tid, kind)).collect()
    }
}

fn sum(a: Exclusive, b: Exclusive) -> Exclusive {
    Exclusive {
        running_ns: a.running_ns + b.running_ns,
        cpu_wait_ns: a.cpu_wait_ns + b.cpu_wait_ns,
        reclaim_ns: a.reclaim_ns + b.reclaim_ns,
        storage_read_ns: a.storage_read_ns + b.storage_read_ns,
        swap_in_ns: a.swap_in_ns + b.swap_in_ns,
        storage_write_ns: a.storage_write_ns + b.storage_write_ns,
        network_ns: a.network_ns + b.network_ns,
        sleep_ns: a.sleep_ns + b.sleep_ns,
    }
}

proptest! {
    #[test]
    fn the_parts_add_up_to_the_window(events in any_events(), from in 0u64..1_100, length in 0u64..1_100) {
        prop_assert_eq!(split(&events, from..from + length).total_ns(), length);
    }

    #[test]
    fn splits_of_adjoining_windows_add_up_to_the_split_of_both(
        events in any_events(), mut cuts in [0u64..1_100, 0u64..1_100, 0u64..1_100],
    ) {
        cuts.sort_unstable();
        let [from, between, to] = cuts;
        prop_assert_eq!(sum(split(&events, from..between), split(&events, between..to)), split(&events, from..to));
    }

    #[test]
    fn splits_in_one_pass_equal_splits_one_by_one(
        events in any_events(), mut bounds in prop::collection::vec(0u64..1_100, 2..6),
    ) {
        bounds.sort_unstable();
        let many: Vec<Exclusive> = bounds.windows(2).map(|pair| split(&events, pair[0]..pair[1])).collect();
        prop_assert_eq!(split_between(&events, &bounds), many);
    }

    #[test]
    fn a_thread_that_only_sleeps_changes_nothing(events in any_events()) {
        let mut with = events.clone();
        with.insert(0, at(0, 99, Kind::Born { pid: 99, parent_tid: 1 }));
        prop_assert_eq!(split(&with, 0..1_000), split(&events, 0..1_000));
    }
}
