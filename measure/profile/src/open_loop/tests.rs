use super::*;
use crate::results::Pattern;
use std::os::fd::AsFd;

fn stream(action: Action, requests_per_s: f64) -> Stream {
    Stream { action, pattern: Pattern::Random, block_bytes: 4096, requests_per_s }
}

fn file() -> std::fs::File {
    let file = tempfile::tempfile().expect("a file");
    file.set_len(8 << 20).expect("free space");
    file
}

#[test]
fn arrivals_are_the_same_for_the_same_seed_and_come_at_their_rate() {
    let times = |seed| {
        let mut sources = sources(Region::first(1 << 20), &[stream(Action::Read, 1_000.0)], seed);
        (0..10_000).map(|_| (sources[0].due_ns(), sources[0].advance()).0).collect::<Vec<u64>>()
    };
    assert_eq!(times(1), times(1));
    assert_ne!(times(1), times(2));
    let last_s = times(1)[9_999] as f64 / 1e9;
    // Ten thousand arrivals of a Poisson process: 10 s within 4 standard deviations of 0.1.
    assert!((last_s - 10.0).abs() < 0.4, "{last_s}");
}

#[test]
fn what_is_due_is_done_and_counted_by_kind() {
    let file = file();
    let streams = [stream(Action::Read, 400.0), stream(Action::Write, 200.0), stream(Action::Flush, 20.0)];
    let streams = streams.map(|s| if s.action == Action::Flush { Stream { block_bytes: 0, ..s } } else { s });
    let time = Duration::from_millis(500);
    let mut open_loop = OpenLoop::default();
    let served = open_loop.run(file.as_fd(), Region::first(8 << 20), &streams, time, 1, &AtomicBool::new(false));
    let served = match served {
        Err(Error::NoUring(why)) => return brisk_requires::skip(brisk_requires::Capability::Uring, why),
        served => served.expect("run"),
    };
    let due = |number: usize| {
        let mut all = sources(Region::first(8 << 20), &streams, 1);
        left(&mut all[number], time.as_nanos() as u64)
    };
    assert_eq!(served.reads.count() + served.writes.count() + served.left, due(0) + due(1));
    assert!(served.flushes.count() > 0);
    assert!(served.elapsed >= time);
}

#[test]
fn a_recording_is_replayed_to_its_end_within_the_place() {
    let file = file();
    let at = |at_us, action, offset_bytes, size_bytes| Arrival { at_us, action, offset_bytes, size_bytes };
    let arrivals = vec![
        at(0, Action::Read, 1 << 40, 4096),
        at(1_000, Action::Write, 8 << 20, 65_536),
        at(1_000, Action::Flush, 0, 0),
        at(900_000_000, Action::Read, 0, 4096),
    ];
    let region = Region::first(8 << 20);
    let replayed = |arrivals| {
        OpenLoop::default().replay(
            file.as_fd(),
            region,
            arrivals,
            Duration::from_millis(50),
            1,
            &AtomicBool::new(false),
        )
    };
    let served = match replayed(arrivals) {
        Err(Error::NoUring(why)) => return brisk_requires::skip(brisk_requires::Capability::Uring, why),
        served => served.expect("replayed"),
    };
    let counts = [served.reads.count(), served.writes.count(), served.flushes.count(), served.left];
    // The last is due later.
    assert_eq!(counts, [1, 1, 1, 0]);
    let large = vec![at(0, Action::Read, 0, 16 << 20)];
    assert!(matches!(replayed(large), Err(Error::Workload { .. })));
}

#[test]
fn a_failed_request_and_a_raised_flag_end_it() {
    let null = std::fs::File::open("/dev/null").expect("there");
    let region = Region::first(8 << 20);
    let streams = [stream(Action::Read, 1_000.0)];
    let run = |file: BorrowedFd<'_>, stop: bool| {
        OpenLoop::default().run(file, region, &streams, Duration::from_secs(5), 1, &AtomicBool::new(stop))
    };
    assert!(matches!(run(null.as_fd(), false), Err(Error::Bench(_) | Error::NoUring(_))));
    assert!(matches!(run(file().as_fd(), true), Err(Error::Stopped | Error::NoUring(_))));
}
