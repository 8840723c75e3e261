use super::*;
use crate::probes::event::{Operation, Request, Wait};

fn event(at_ns: u64, tid: u32, kind: Kind) -> Option<Record> {
    Some(Record::Event(Event { at_ns, tid, kind }))
}

fn born(at_ns: u64, tid: u32, pid: u32) -> Option<Record> {
    Some(Record::Born { at_ns, tid, pid, parent_tid: 1, name: b"x".to_vec() })
}

fn waiting(io: bool) -> Kind {
    Kind::Waiting(Wait { io, uninterruptible: io, system_call: None })
}

fn collected(records: impl IntoIterator<Item = Option<Record>>) -> Collector {
    let mut collector = Collector::new(1000);
    records.into_iter().for_each(|record| collector.take(record));
    collector
}

fn events_of(collector: Collector) -> Vec<(u64, u32, Kind)> {
    collector.finish().events.into_iter().map(|event| (event.at_ns, event.tid, event.kind)).collect()
}

#[test]
fn a_process_that_comes_into_the_group_is_born_once_however_often_it_moves_within() {
    let moved_in =
        |at_ns| Some(Record::MovedIn { at_ns, tid: 7, pid: 7, parent_tid: 1, name: b"sh".to_vec(), running: true });
    let born = Kind::Born { pid: 7, parent_tid: 1 };
    assert_eq!(events_of(collected([moved_in(5), moved_in(6)])), [(5, 7, born), (5, 7, Kind::Running)]);
}

#[test]
fn a_process_that_leaves_the_group_takes_its_threads_along() {
    let collector = collected([
        born(1, 7, 7),
        born(2, 8, 7),
        born(3, 9, 9),
        event(3, 8, Kind::Runnable),
        event(4, 8, Kind::Running),
        Some(Record::MovedOut { at_ns: 5, tid: 7, pid: 7, whole: true }),
        Some(Record::MovedOut { at_ns: 6, tid: 55, pid: 55, whole: true }),
    ]);
    let activity = collector.activity(10, 0);
    assert_eq!((activity.threads, activity.running, activity.running_ns_total), (1, 0, 1));
    let deaths: Vec<_> = events_of(collector).into_iter().filter(|(_, _, kind)| *kind == Kind::Died).collect();
    assert_eq!(deaths, [(5, 7, Kind::Died), (5, 8, Kind::Died)]);
}

#[test]
fn a_thread_that_becomes_its_process_by_exec_gives_up_its_number() {
    let exec = Record::Exec { at_ns: 5, tid: 7, old_tid: 8, name: b"new".to_vec() };
    let collector =
        collected([born(1, 7, 7), born(2, 8, 7), event(3, 8, Kind::Runnable), event(3, 8, Kind::Running), Some(exec)]);
    let activity = collector.activity(9, 0);
    assert_eq!((activity.threads, activity.running, activity.running_ns_total), (1, 1, 6));
    let last = events_of(collector).split_off(4);
    assert_eq!(
        last,
        [
            (5, 8, Kind::Died),
            (5, 7, Kind::Born { pid: 7, parent_tid: 8 }),
            (5, 7, Kind::Running),
            (5, 7, Kind::Exec { name: b"new".to_vec() }),
        ]
    );
}

#[test]
fn beyond_the_limit_events_are_counted_and_the_state_stays_right() {
    let mut collector = Collector::new(2);
    for record in [event(1, 7, Kind::Runnable), event(2, 7, Kind::Running), event(4, 7, waiting(true)), None] {
        collector.take(record);
    }
    let activity = collector.activity(9, 3);
    assert_eq!((activity.events, activity.lost, activity.waiting_for_io), (3, 5, 1));
    assert_eq!((activity.running_ns_total, activity.last_running_ns), (2, Some(4)));
    let all = collector.finish();
    assert_eq!((all.events.len(), all.dropped), (2, 2));
}

fn request(sector: u64, file: Option<Inode>) -> Kind {
    Kind::Submitted(Request {
        device: 3,
        sector,
        bytes: 4096,
        operation: Operation::Read,
        sync: true,
        read_ahead: false,
        file: file.map(|inode| (inode, 0)),
    })
}

#[test]
fn requests_at_the_same_place_are_in_flight_until_both_are_done() {
    let done = || event(9, 7, Kind::Completed { device: 3, sector: 8 });
    let mut collector = collected([event(4, 7, request(8, None)), event(5, 7, request(8, None))]);
    assert_eq!(collector.activity(6, 0).in_flight_requests, 2);
    collector.take(done());
    assert_eq!(collector.activity(9, 0).in_flight_requests, 1);
    assert_eq!(collector.activity(5 + BELIEVED_NS, 0).in_flight_requests, 1);
    assert_eq!(collector.activity(6 + BELIEVED_NS, 0).in_flight_requests, 0);
    collector.take(done());
    collector.take(done());
    assert_eq!(collector.activity(9, 0).in_flight_requests, 0);
}

#[test]
fn what_must_have_happened_unseen_is_put_in_and_counted() {
    let late = Event { at_ns: 9, tid: 7, kind: Kind::Completed { device: 3, sector: 8 } };
    let collector = collected([
        born(1, 7, 7),
        event(2, 7, Kind::Runnable),
        event(3, 7, Kind::Running),
        event(4, 7, request(8, None)),
        event(5, 7, waiting(true)),
        // Completion, wake-up and start of running were not seen.
        event(8, 7, request(16, None)),
        event(9, 7, waiting(true)),
        Some(Record::Late(late.clone())),
        // The wake-up was not seen.
        event(10, 7, Kind::Running),
        // Preempted; the start of running was not seen.
        event(11, 7, Kind::Runnable),
        event(12, 7, Kind::Died),
    ]);
    assert_eq!(collector.activity(12, 0).running_ns_total, 2 + 1 + 1);
    let all = collector.finish();
    assert_eq!(all.mended, 5);
    let events: Vec<_> = all.events.into_iter().skip(5).map(|event| (event.at_ns, event.kind)).collect();
    assert_eq!(
        events,
        [
            (8, Kind::Runnable),
            (8, Kind::Running),
            (8, request(16, None)),
            (9, waiting(true)),
            (9, late.kind),
            (10, Kind::Runnable),
            (10, Kind::Running),
            (11, Kind::Runnable),
            (12, Kind::Running),
            (12, Kind::Died),
        ]
    );
}

#[test]
fn of_a_thread_that_was_there_before_nothing_is_made_up() {
    let all =
        collected([event(4, 7, waiting(true)), event(5, 8, request(8, None)), event(6, 9, Kind::Running)]).finish();
    assert_eq!((all.mended, all.events.len()), (0, 3));
}

#[test]
fn events_come_out_in_the_order_of_time_and_of_arrival_within_one_instant() {
    let records = [event(5, 1, Kind::Running), event(4, 2, Kind::Running), event(4, 3, Kind::Running)];
    let tids: Vec<u32> = events_of(collected(records)).into_iter().map(|(_, tid, _)| tid).collect();
    assert_eq!(tids, [2, 3, 1]);
}

#[test]
fn the_last_name_of_a_thread_counts_and_paths_are_given_for_files_that_were_asked_for() {
    let file = Inode { device: 1, number: 30 };
    let name = |number, name: &[u8]| {
        Some(Record::FileName { inode: Inode { device: 1, number }, parent: 2, name: name.to_vec() })
    };
    let all = collected([
        born(1, 7, 7),
        Some(Record::Renamed { tid: 7, name: b"render".to_vec() }),
        name(30, b"f"),
        name(31, b"not asked for"),
        name(2, b"/"),
        event(3, 7, request(8, Some(file))),
    ])
    .finish();
    assert_eq!(all.names[&7], b"render");
    assert_eq!(all.files, HashMap::from([(file, b"/f".to_vec())]));
}
