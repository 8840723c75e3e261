//! The device in virtual time, with the real model.

use proptest::prelude::*;

use super::*;

const SIZE: u64 = 16 << 20;

fn preset(changes: &[(&str, &str)]) -> Preset {
    let mut preset = Preset::builtin("galaxy-s5-emmc").expect("built in");
    changes.iter().for_each(|(name, value)| preset.set(name, value).expect("valid"));
    preset
}

fn device(timing: Timing, changes: &[(&str, &str)]) -> Emulated {
    let model = Device::new(&preset(changes), SIZE).expect("a device");
    let mut device = Emulated::new(Store::new(SIZE).expect("mapping"), model);
    device.set_timing(0, timing);
    device
}

/// Runs the device until no request is in flight; returns the replies with their times.
fn run_dry(device: &mut Emulated, mut now_ns: u64) -> Vec<(u64, Reply)> {
    let mut given = Vec::new();
    let mut replies = Vec::new();
    loop {
        device.poll(now_ns, &mut replies);
        given.extend(replies.drain(..).map(|reply| (now_ns, reply)));
        match device.next_due_ns() {
            Some(due_ns) => now_ns = now_ns.max(due_ns),
            None => return given,
        }
    }
}

#[test]
fn a_read_takes_what_the_model_says() {
    let mut alone = Device::new(&preset(&[]), SIZE).expect("a device");
    let request = Request { tag: 1, kind: Kind::Read, offset_bytes: 1 << 20, len_bytes: 4096, fua: false };
    alone.submit(5_000, request).expect("accepted");
    let mut done = Vec::new();
    while let Some(at_ns) = alone.next_event_ns() {
        alone.advance(at_ns, &mut done);
    }
    let mut lab = device(Timing::Model, &[]);
    lab.read(5_000, 1, 1 << 20, 4096);
    let replies = run_dry(&mut lab, 5_000);
    let outcome = Outcome::Data { offset_bytes: 1 << 20, len_bytes: 4096 };
    let at_ns = done[0].at_ns;
    assert_eq!(replies, [(at_ns, Reply { unique: 1, outcome, due_ns: Some(at_ns), service_ns: at_ns - 5_000 })]);
}

#[test]
fn the_overhead_is_compensated_for_an_idle_device_and_never_twice() {
    let mut plain = device(Timing::Model, &[]);
    plain.read(1_000_000, 1, 1 << 20, 4096);
    let due_ns = run_dry(&mut plain, 1_000_000)[0].0;
    let mut compensated = device(Timing::Model, &[]);
    compensated.set_overhead_ns(40_000);
    compensated.read(1_000_000, 1, 1 << 20, 4096);
    assert_eq!(run_dry(&mut compensated, 1_000_000)[0].0, due_ns - 40_000);
    assert_eq!(compensated.requests.faster_than_lab, 0);
}

#[test]
fn requests_faster_than_the_lab_are_counted() {
    let mut device = device(Timing::Model, &[]);
    device.set_overhead_ns(10_000_000);
    device.read(20_000_000, 1, 0, 4096);
    run_dry(&mut device, 20_000_000);
    assert_eq!(device.requests.faster_than_lab, 1);
}

#[test]
fn busy_time_counts_overlapping_requests_once_and_gaps_not_at_all() {
    let mut device = device(Timing::Model, &[]);
    let last = |found: &[(u64, Reply)]| found.iter().map(|(at_ns, _)| *at_ns).max().expect("a reply");
    device.read(0, 1, 0, 4096);
    device.read(1_000, 2, 1 << 20, 4096);
    let first_ns = last(&run_dry(&mut device, 1_000));
    assert_eq!(device.requests.busy_ns, first_ns);
    device.read(50_000_000, 3, 2 << 20, 4096);
    let second_ns = last(&run_dry(&mut device, 50_000_000));
    assert_eq!(device.requests.busy_ns, first_ns + second_ns - 50_000_000);
}

#[test]
fn parked_requests_keep_their_order() {
    let mut device = device(Timing::Model, &[("queue_depth_requests", "1")]);
    (0..20).for_each(|n| device.read(n, n, (n * 7919 % 4096) * 4096, 4096));
    assert_eq!(device.requests.parked, 19);
    assert_eq!(device.requests.in_flight_max, 20);
    let order: Vec<u64> = run_dry(&mut device, 20).iter().map(|(_, reply)| reply.unique).collect();
    assert_eq!(order, (0..20).collect::<Vec<_>>());
}

#[test]
fn time_off_replies_at_once_and_the_model_knows() {
    let mut device = device(Timing::Off, &[]);
    let mut replies = Vec::new();
    for n in 0..1000 {
        device.write(n, n, n * 4096, &[1; 4096]);
        device.poll(n, &mut replies);
        assert_eq!(replies.drain(..).map(|r| r.unique).collect::<Vec<_>>(), [n]);
    }
    assert_eq!(device.model().counters().writes, 1000);
    // After timing resumes, skipped time is not made up for.
    device.set_timing(1000, Timing::Model);
    device.read(2_000_000_000, 5000, 0, 4096);
    assert!(run_dry(&mut device, 2_000_000_000)[0].0 < 2_010_000_000);
}

#[test]
fn requests_beyond_the_device_are_refused() {
    let mut device = device(Timing::Model, &[]);
    device.write(0, 1, SIZE - 4096, &[0; 8192]);
    device.write(0, 2, u64::MAX, &[0; 1]);
    device.discard(0, 3, SIZE, 4096);
    device.read(0, 4, SIZE, 4096);
    let outcomes: Vec<_> =
        run_dry(&mut device, 0).into_iter().map(|(_, reply)| (reply.unique, reply.outcome)).collect();
    let no_space = Outcome::Failed(libc::ENOSPC);
    let nothing = Outcome::Data { offset_bytes: SIZE, len_bytes: 0 };
    assert_eq!(outcomes, [(1, no_space), (2, no_space), (3, no_space), (4, nothing)]);
}

#[test]
fn a_request_to_a_hanging_range_waits_for_the_end_of_the_fault() {
    let mut device = device(Timing::Model, &[]);
    let fault = Fault::Timeout { offset_bytes: 0, len_bytes: 4096 };
    device.inject(fault, Some(5_000_000_000)).expect("on the device");
    device.read(0, 1, 0, 4096);
    let replies = run_dry(&mut device, 0);
    assert_eq!(replies[0].0, 5_000_000_000);
    assert_eq!(replies[0].1.outcome, Outcome::Failed(libc::ETIMEDOUT));
}

#[test]
fn without_power_every_request_fails_and_no_data_changes() {
    let mut device = device(Timing::Model, &[]);
    device.write(0, 1, 0, &[1; 4096]);
    device.flush(0, 2);
    device.power_cut(0, 7);
    device.write(1, 3, 8192, &[1; 4096]);
    device.discard(1, 4, 0, 4096);
    let replies = run_dry(&mut device, 1);
    assert_eq!(replies.len(), 4);
    assert!(replies.iter().all(|(_, reply)| reply.outcome == Outcome::Failed(libc::EIO)));
    assert_eq!(device.store.read(8192, 1), [0]);
    device.power_on();
    device.read(2, 5, 0, 4096);
    assert!(matches!(run_dry(&mut device, 2)[0].1.outcome, Outcome::Data { .. }));
}

#[test]
fn a_power_cut_loses_the_pages_that_the_model_names() {
    let changes = [("buffer_pages", "64"), ("program_us", "20000")];
    let mut lost_pages = 0;
    for seed in 0..20 {
        let mut lab = device(Timing::Model, &changes);
        let mut twin = Device::new(&preset(&changes), SIZE).expect("a device");
        let mut now_ns = 0;
        for page in 0..40u64 {
            lab.write(now_ns, page, page * 4096, &[1; 4096]);
            let request =
                Request { tag: page, kind: Kind::Write, offset_bytes: page * 4096, len_bytes: 4096, fua: false };
            twin.submit(now_ns, request).expect("accepted");
            let given = run_dry_until_replied(&mut lab, now_ns);
            twin.advance(given, &mut Vec::new());
            now_ns = given;
        }
        let lost = twin.power_cut(now_ns, seed);
        assert_eq!(lab.power_cut(now_ns, seed), lost.len() as u64);
        lost_pages += lost.len();
        for page in 0..40 {
            assert_eq!(lab.store.read(page * 4096, 1)[0] == 0, lost.contains(&page), "seed {seed}, page {page}");
        }
    }
    assert!((1..20 * 40).contains(&lost_pages), "{lost_pages}");
}

/// Runs the device until its one request in flight completes; returns the time.
fn run_dry_until_replied(device: &mut Emulated, now_ns: u64) -> u64 {
    run_dry(device, now_ns).first().map_or(now_ns, |(at_ns, _)| *at_ns)
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Read(u64, u64),
    Write(u64, u64),
    Flush,
    Discard(u64, u64),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let range = (0u64..60, 1u64..5);
    prop::collection::vec(
        prop_oneof![
            3 => range.clone().prop_map(|(page, pages)| Step::Read(page, pages)),
            5 => range.clone().prop_map(|(page, pages)| Step::Write(page, pages)),
            1 => Just(Step::Flush),
            1 => range.prop_map(|(page, pages)| Step::Discard(page, pages)),
            3 => (0u64..2_000_000).prop_map(Step::Wait),
        ],
        1..120,
    )
}

fn timings() -> impl Strategy<Value = Timing> {
    prop_oneof![Just(Timing::Model), Just(Timing::Off), Just(Timing::Fixed { service_ns: 9_000 })]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_request_is_replied_to_once(
        steps in steps(), timing in timings(), depth in 1u32..9, overhead_ns in 0u64..80_000
    ) {
        let mut device = device(timing, &[("queue_depth_requests", &depth.to_string())]);
        device.set_overhead_ns(overhead_ns);
        let mut replies = Vec::new();
        let mut now_ns = 1_000_000;
        let mut asked = 0;
        for step in steps {
            match step {
                Step::Read(page, pages) => device.read(now_ns, asked, page * 4096, pages * 4096),
                Step::Write(page, pages) => device.write(now_ns, asked, page * 4096, &vec![1; pages as usize * 4096]),
                Step::Flush => device.flush(now_ns, asked),
                Step::Discard(page, pages) => device.discard(now_ns, asked, page * 4096, pages * 4096),
                Step::Wait(wait_ns) => {
                    now_ns += wait_ns;
                    device.poll(now_ns, &mut replies);
                    continue;
                }
            }
            asked += 1;
        }
        replies.extend(run_dry(&mut device, now_ns).into_iter().map(|(_, reply)| reply));
        let mut answered: Vec<u64> = replies.iter().map(|reply| reply.unique).collect();
        answered.sort_unstable();
        prop_assert_eq!(answered, (0..asked).collect::<Vec<_>>());
        prop_assert_eq!(device.in_flight(), 0);
        prop_assert_eq!(device.requests.failed, 0);
    }

    #[test]
    fn what_was_flushed_survives_a_power_cut(steps in steps(), seed in any::<u64>(), early_ns in 0u64..3_000_000) {
        let mut device = device(Timing::Model, &[]);
        let mut now_ns = 0u64;
        let mut version = [0u8; 64];
        // Per request: the pages that it wrote with their version, or, of a flush, what had been acknowledged by then.
        let mut writes: HashMap<u64, Vec<(usize, u8)>> = HashMap::new();
        let mut flushes: HashMap<u64, [u8; 64]> = HashMap::new();
        let (mut acknowledged, mut durable) = ([0u8; 64], [0u8; 64]);
        let mut replies = Vec::new();
        for (unique, step) in steps.into_iter().enumerate() {
            let unique = unique as u64;
            match step {
                Step::Write(page, pages) => {
                    let pages = page as usize..(page + pages).min(64) as usize;
                    let mut data = Vec::new();
                    for page in pages.clone() {
                        version[page] += 1;
                        data.extend([version[page]; 4096]);
                    }
                    writes.insert(unique, pages.clone().map(|page| (page, version[page])).collect());
                    device.write(now_ns, unique, page * 4096, &data);
                }
                Step::Flush => {
                    flushes.insert(unique, acknowledged);
                    device.flush(now_ns, unique);
                }
                Step::Wait(wait_ns) => now_ns += wait_ns,
                Step::Read(..) | Step::Discard(..) => continue,
            }
            device.poll(now_ns, &mut replies);
            for reply in replies.drain(..) {
                for &(page, version) in writes.get(&reply.unique).into_iter().flatten() {
                    acknowledged[page] = acknowledged[page].max(version);
                }
                if let Some(covered) = flushes.get(&reply.unique) {
                    durable.iter_mut().zip(covered).for_each(|(d, c)| *d = *c.max(d));
                }
            }
        }
        device.power_cut(now_ns + early_ns, seed);
        // Replies that were due before the cut count as sent.
        device.poll(now_ns + early_ns, &mut replies);
        for reply in replies.drain(..).filter(|reply| reply.outcome == Outcome::Done) {
            if let Some(covered) = flushes.get(&reply.unique) {
                durable.iter_mut().zip(covered).for_each(|(d, c)| *d = *c.max(d));
            }
        }
        for page in 0..64 {
            let found = device.store.read(page as u64 * 4096, 4096);
            prop_assert!(found.iter().all(|byte| *byte == found[0]), "page {} is torn", page);
            prop_assert!((durable[page]..=version[page]).contains(&found[0]), "page {}: {} durable, {} \
                found", page, durable[page], found[0]);
        }
    }
}
