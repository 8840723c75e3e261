//! Faults, power cuts, and requests or parameters that are refused.

use super::*;

#[test]
fn faults_hit_their_range_and_end_when_cleared() {
    let mut device = device("galaxy-s5-emmc", 1);
    device.inject(Fault::ReadError { offset_bytes: 8 * PAGE_BYTES, len_bytes: PAGE_BYTES }).expect("on the device");
    device.inject(Fault::Timeout { offset_bytes: 16 * PAGE_BYTES, len_bytes: PAGE_BYTES }).expect("on the device");
    let read = |tag, page| Step { at_ns: 0, request: Request { tag, ..request(Kind::Read, page, 4) } };
    let status = |done: &[Completion]| done.iter().map(|c| (c.tag, c.status)).collect::<BTreeMap<_, _>>();
    let done = drive(&mut device, &[read(0, 0), read(1, 5), read(2, 14)]);
    assert_eq!(status(&done), BTreeMap::from([(0, Status::Ok), (1, Status::ReadError)]));
    assert_eq!(device.in_flight(), 1);
    device.clear_faults();
    let mut done = Vec::new();
    device.advance(device.now_ns(), &mut done);
    assert_eq!(status(&done), BTreeMap::from([(2, Status::TimedOut)]));
    assert_eq!(status(&drive(&mut device, &[read(3, 5)])), BTreeMap::from([(3, Status::Ok)]));
    let outside = Fault::ReadError { offset_bytes: MIB, len_bytes: PAGE_BYTES };
    assert_eq!(device.inject(outside), Err(SubmitError::OutOfRange));
    let crooked = Fault::ReadError { offset_bytes: 5, len_bytes: PAGE_BYTES };
    assert_eq!(device.inject(crooked), Err(SubmitError::Misaligned));
}

#[test]
fn a_power_cut_loses_a_subset_that_the_seed_chooses() {
    let cut = |seed| {
        let mut device = device("nexus4-emmc", 1);
        for page in 0..4 {
            device.submit(0, request(Kind::Write, 8 * page, 8)).expect("a free queue slot");
        }
        device.advance(2_200_000, &mut Vec::new());
        device.power_cut(2_200_000, seed)
    };
    assert_eq!(cut(1), cut(1));
    let outcomes: BTreeSet<Vec<u64>> = (0..32).map(cut).collect();
    assert!(outcomes.len() > 16, "32 seeds gave only {} outcomes", outcomes.len());
    assert!(outcomes.iter().all(|lost| lost.iter().all(|page| *page < 32)));
}

#[test]
fn without_turns_a_read_waits_for_all_earlier_writes() {
    let mut preset = Preset::builtin("galaxy-s5-emmc").expect("built in");
    // Scattered writes: a program each, of 410 us.
    let mut steps: Vec<Step> =
        (0..3).map(|i| Step { at_ns: 0, request: request(Kind::Write, 10 + 20 * i, 1) }).collect();
    steps.push(Step { at_ns: 150_000, request: Request { tag: 9, ..request(Kind::Read, 200, 1) } });
    let mut read_at_ns = |turn| {
        preset.set("reads_per_turn", turn).expect("valid");
        let mut device = Device::new(&preset, MIB).expect("valid");
        drive(&mut device, &steps).iter().find(|c| c.tag == 9).expect("it finishes").at_ns
    };
    let (in_turns, in_order) = (read_at_ns("1"), read_at_ns("0"));
    assert!(in_order > 3 * 410_000 && in_order < 3 * 410_000 + 300_000, "{in_order}");
    assert!(in_turns < 2 * 410_000, "{in_turns}");
}

#[test]
fn only_a_hanging_request_is_aborted_and_the_fault_stays() {
    let mut device = device("galaxy-s5-emmc", 1);
    device.inject(Fault::Timeout { offset_bytes: 16 * PAGE_BYTES, len_bytes: PAGE_BYTES }).expect("on the device");
    let read = |tag, page| Request { tag, ..request(Kind::Read, page, 1) };
    let mut done = Vec::new();
    device.submit(0, read(1, 16)).expect("accepted");
    device.submit(0, read(2, 3)).expect("accepted");
    assert!(!device.abort(1), "the controller has not fetched it yet");
    device.advance(1_000_000, &mut done);
    assert!(!device.abort(2), "it has finished");
    assert!(device.abort(1));
    assert!(!device.abort(1), "it is over");
    device.advance(1_000_000, &mut done);
    let status: Vec<_> = done.iter().map(|c| (c.tag, c.status)).collect();
    assert_eq!(status, [(2, Status::Ok), (1, Status::TimedOut)]);
    device.submit(1_000_000, read(3, 16)).expect("a queue slot is free again");
    device.advance(10_000_000, &mut done);
    assert_eq!(device.in_flight(), 1, "the range still hangs");
}

#[test]
fn requests_that_do_not_fit_are_refused_and_change_nothing() {
    let mut device = device("galaxy-s5-emmc", 1);
    let before = device.counters();
    assert_eq!(device.submit(0, request(Kind::Read, 256, 1)), Err(SubmitError::OutOfRange));
    assert_eq!(device.submit(0, request(Kind::Read, 255, 2)), Err(SubmitError::OutOfRange));
    assert_eq!(device.submit(0, request(Kind::Write, 0, 0)), Err(SubmitError::OutOfRange));
    assert_eq!(device.submit(0, request(Kind::Read, u64::MAX / 4096, 1)), Err(SubmitError::OutOfRange));
    let crooked = Request { offset_bytes: 512, ..request(Kind::Read, 0, 1) };
    assert_eq!(device.submit(0, crooked), Err(SubmitError::Misaligned));
    assert_eq!(device.counters(), before);
    assert_eq!(device.next_event_ns(), None);
}

#[test]
fn times_may_change_while_it_runs_but_not_its_shape() {
    let mut preset = Preset::builtin("galaxy-s5-emmc").expect("built in");
    let mut device = Device::new(&preset, MIB).expect("valid");
    preset.set("read_us", "1000").expect("valid");
    device.reconfigure(&preset).expect("times only");
    let done = drive(&mut device, &[Step { at_ns: 0, request: request(Kind::Read, 0, 1) }]);
    assert_eq!(done[0].at_ns, 1_063_000);
    preset.set("units", "2").expect("valid");
    assert_eq!(device.reconfigure(&preset), Err(crate::flash::DeviceError::Structural));
}

#[test]
fn invalid_sizes_are_refused() {
    let preset = Preset::builtin("galaxy-s5-emmc").expect("built in");
    for bytes in [0, 1, 4095, 6000, 1 << 44, 1 << 62] {
        assert!(Device::new(&preset, bytes).is_err(), "{bytes}");
    }
    // More pages than 32 bits can number, including the spare ones.
    let mut spare = preset;
    for (name, value) in [("program_pages", "1"), ("block_pages", "1"), ("spare_percent", "100")] {
        spare.set(name, value).expect("valid");
    }
    assert_eq!(Device::new(&spare, 1 << 43).err(), Some(crate::flash::DeviceError::TooLarge(1 << 43)));
}
