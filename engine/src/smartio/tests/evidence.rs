//! Which evidence makes the engine act: writes that compete, the disk of the app, and whether it reads.

use super::*;

const ELSEWHERE: &[&str] = &["sda"];

fn on_disks(mut machine: Machine, disks: &[&str]) -> Machine {
    let disks: Vec<String> = disks.iter().map(|&disk| disk.to_owned()).collect();
    machine.apps.iter_mut().for_each(|app| app.disks = Some(disks.clone()));
    machine
}

/// Rules after each of the steps.
fn after_each(mut machine: Machine, steps: &[Step]) -> Vec<Vec<String>> {
    let (config, mut state) = (Config::default(), State::default());
    let mut all = Vec::new();
    for step in steps {
        let decision = machine.step(&config, &state, *step, &[]);
        all.push(rules(&decision).into_iter().map(str::to_owned).collect());
        state = decision.state;
    }
    all
}

const QUARTER: Step = Step { elapsed_ms: 250, ..QUIET };
const LAUNCHING: Step = Step { launching: true, ..QUARTER };

#[test]
fn a_launch_without_writes_requests_nothing() {
    let reads = Step { reads: 300, read_ms: 3, stall_percent: 90, moved_kib: Some((4_000, 0)), ..LAUNCHING };
    // The commit of a journal while it is launched, and the few dirty pages of any desktop.
    let commit = Step { writes: 3, dirty_mib: 8, ..reads };
    for launch in [vec![reads, reads, reads], vec![commit, reads, commit]] {
        let rules = after_each(machine(&ALL), &[&[QUIET], &launch[..], &[QUIET]].concat());
        assert_eq!(rules, vec![Vec::<String>::new(); 5]);
    }
}

#[test]
fn a_launch_during_writes_gets_its_priority_before_its_first_reads() {
    let before_reads = |step: Step| rules_of(step, &[WRITES]);
    fn rules_of(begin: Step, before: &[Step]) -> Vec<String> {
        after_each(machine(&ALL), &[before, &[begin]].concat()).pop().expect("steps")
    }
    let all = ["launch_with_writes", "launch_may_wait", "foreground_waits_elsewhere"];
    let begin = Step { elapsed_ms: 50, moved_kib: Some((0, 0)), ..LAUNCHING };
    assert_eq!(before_reads(Step { writes: 10, ..begin }), all);
    // A queue of writes that has just begun, in a machine that was idle.
    assert_eq!(rules_of(Step { in_flight_writes: 2, ..begin }, &[QUIET]), all);
    // Pages of an install that wait for their write-back: for the app, not for the device, which has nothing to
    // throttle yet.
    let install = Step { dirty_mib: 100, ..begin };
    assert_eq!(rules_of(Step { writes: 1, ..install }, &[QUIET]), all[1..]);
    // They are of another device: nothing was written to this one.
    assert_eq!(rules_of(install, &[QUIET]), [""; 0]);
    assert_eq!(rules_of(begin, &[QUIET]), [""; 0]);
}

#[test]
fn a_launch_that_meets_writes_later_is_protected_by_the_next_sample() {
    let computes = Step { moved_kib: Some((0, 0)), ..LAUNCHING };
    let reads = Step { reads: 50, read_ms: 3, stall_percent: 60, moved_kib: Some((800, 0)), ..LAUNCHING };
    let with_writes = Step { writes: 10, ..reads };
    let found = after_each(machine(&ALL), &[QUIET, computes, reads, with_writes]);
    assert_eq!(found[..3], vec![Vec::<String>::new(); 3]);
    assert_eq!(found[3], ["launch_with_writes", "foreground_waits", "foreground_waits_elsewhere"]);
    // One that computes when they begin may read at any time.
    let found = after_each(machine(&ALL), &[QUIET, computes, Step { writes: 10, ..computes }]);
    assert_eq!(found[2], ["launch_with_writes", "launch_may_wait", "foreground_waits_elsewhere"]);
}

#[test]
fn an_app_on_another_disk_holds_no_settings() {
    let others = on_disks(machine(&ALL), ELSEWHERE);
    for steps in [vec![LAUNCH; 4], vec![WRITES, BOTH, BOTH, BOTH]] {
        assert_eq!(after_each(others.clone(), &steps), vec![Vec::<String>::new(); 4]);
    }
    // The front app reads here, and of the others one works elsewhere.
    let mut machine = on_disks(machine(&ALL), &["mmcblk0", "sda"]);
    machine.apps[1].disks = Some(vec!["sda".to_owned()]);
    let decision = machine.run(&Config::default(), &[WRITES, LAUNCH]);
    let priorities: Vec<String> = texts(&decision).into_iter().map(|(knob, _)| knob).skip(5).collect();
    assert_eq!(priorities, ["io_priority/app-front.scope", "io_priority/index.service"]);
}

#[test]
fn a_launch_whose_disk_turns_out_to_be_another_one_is_let_go_without_hold_off() {
    let config = Config::default();
    let mut unknown = machine(&ALL);
    let mut decision = unknown.run(&config, &[WRITES, Step { reads: 0, ..LAUNCH }]);
    assert!(texts(&decision).len() > 5);
    let mut known = on_disks(unknown, ELSEWHERE);
    // Reads of others go on.
    for (elapsed_ms, held) in [(400, true), (700, false)] {
        decision = known.step(&config, &decision.state, Step { elapsed_ms, ..LAUNCH }, &[]);
        assert_eq!(!texts(&decision).is_empty(), held, "{:?}", texts(&decision));
    }
}

#[test]
fn a_new_group_has_not_waited_yet_whatever_the_machine_does() {
    let (config, mut machine) = (Config::default(), machine(&ALL));
    machine.now.pressure.io = Some(StallTotals::default());
    let decision = machine.run(&config, &[WRITES, LAUNCH]);
    let mut second = machine.clone();
    second.apps.push(App { launching: true, ..app("app-second.scope", Tolerance::Interactive) });
    for counts in [true, false] {
        let mut machine = second.clone();
        let previous = machine.now.clone();
        machine.now.at_ns += 500 * MS;
        machine.now.pressure.io = Some(StallTotals { some_us: 400_000, full_us: None });
        let disk = &mut machine.now.disks[0];
        (disk.read.requests, disk.read.time_ms, disk.write.requests) =
            (disk.read.requests + 100, disk.read.time_ms + 900, disk.write.requests + 100);
        let io_pressure = counts.then(StallTotals::default);
        machine.now.apps.push(AppTotals { name: "app-second.scope".to_owned(), io_pressure, ..AppTotals::default() });
        let (devices, apps) = (std::slice::from_ref(&machine.device), machine.apps.as_slice());
        let observed = Observed { previous: Some(&previous), now: &machine.now, events: &[], devices, apps };
        let decided = Smartio::decide(&config, decision.state.clone(), &observed);
        let reason = decided
            .requests
            .iter()
            .find(|request| request.setting().is_some_and(|setting| setting.knob.group() == Some("app-second.scope")));
        let rule = reason.map(|request| request.reason.rule.as_ref());
        assert_eq!(rule, Some(if counts { "launch_may_wait" } else { "foreground_waits" }));
    }
}

#[test]
fn without_knowledge_of_the_app_the_reads_of_the_device_decide() {
    // No counters of the app, no places: writes alone hold the settings for a second, reads for as long as they come.
    let writes = Step { writes: 100, ..LAUNCHING };
    let reads = Step { reads: 50, read_ms: 3, ..writes };
    let is_held = |steps: &[Step]| !after_each(machine(&ALL), steps).pop().expect("steps").is_empty();
    assert!(is_held(&[QUIET, writes, writes, writes]));
    assert!(!is_held(&[QUIET, writes, writes, writes, writes, writes, writes]));
    assert!(is_held(&[QUIET, writes, reads, reads, reads, reads, reads, reads, reads]));
    // It reads, and not from this device.
    let elsewhere = Step { moved_kib: Some((900, 0)), ..writes };
    assert!(!is_held(&[QUIET, writes, elsewhere, elsewhere, elsewhere, elsewhere, elsewhere]));
}

#[test]
fn a_launch_that_only_writes_is_not_waited_for() {
    // Four processes of an app that write in step, and stall on that; another app reads the same device.
    let begins = Step { reads: 20, read_ms: 3, moved_kib: Some((0, 0)), ..LAUNCHING };
    let writes = Step { writes: 100, stall_percent: 95, moved_kib: Some((64, 20_000)), ..begins };
    let alone = after_each(machine(&ALL), &[QUIET, begins, writes, writes, writes, writes]);
    assert!(alone.iter().all(Vec::is_empty), "{alone:?}");
    // Concurrent with writes of others its beginning is protected, and for the minimum dwell time only.
    let contended = Step { writes: 100, ..begins };
    let found = after_each(machine(&ALL), &[WRITES, contended, writes, writes, writes, writes, writes]);
    let is_held: Vec<bool> = found.iter().map(|rules| !rules.is_empty()).collect();
    assert_eq!(is_held, [false, true, true, true, true, false, false]);
    // The same after the launch: an app that stalls on its own writes does not wait for reads of others.
    let later = Step { launching: false, ..writes };
    let before = Step { moved_kib: Some((0, 0)), ..QUIET };
    assert!(after_each(machine(&ALL), &[&[before][..], &[later; 6]].concat()).iter().all(Vec::is_empty));
    // Reads first, then writes alone: the priority ends at once, and everything else after the hold-off.
    let reads = Step { writes: 100, moved_kib: Some((4_000, 100)), ..begins };
    let found = after_each(machine(&ALL), &[&[WRITES][..], &[reads; 6], &[writes; 2]].concat());
    assert_eq!(found[6], ["launch_with_writes", "foreground_waits", "foreground_waits_elsewhere"]);
    assert_eq!(found[8], ["hold_off", "foreground_waits_elsewhere"]);
}

#[test]
fn where_no_device_is_managed_no_app_is_either() {
    let mut machine = machine(&ALL);
    machine.apps[0].launching = true;
    machine.now.disks[0].in_flight_write_requests = Some(8);
    machine.now.at_ns += MS;
    let observed = Observed { previous: None, now: &machine.now, events: &[], devices: &[], apps: &machine.apps };
    assert_eq!(texts(&Smartio::decide(&Config::default(), State::default(), &observed)), []);
    let devices = std::slice::from_ref(&machine.device);
    let managed = Smartio::decide(&Config::default(), State::default(), &Observed { devices, ..observed });
    assert!(texts(&managed).iter().any(|(knob, _)| knob == "io_priority/app-front.scope"), "{:?}", texts(&managed));
}

proptest! {
    #[test]
    fn apps_on_other_disks_change_nothing(steps in prop::collection::vec(any_step(), 1..40)) {
        let mut machine = on_disks(machine(&ALL), ELSEWHERE);
        prop_assert_eq!(texts(&machine.run(&Config::default(), &steps)), []);
    }

    #[test]
    fn without_writes_nothing_is_requested(steps in prop::collection::vec(any_step(), 1..40)) {
        let (mut machine, mut state) = (machine(&ALL), State::default());
        for step in steps {
            let quiet = Step {
                writes: step.writes.min(3),
                elapsed_ms: step.elapsed_ms.min(900),
                in_flight_writes: 0,
                dirty_mib: step.dirty_mib / 2,
                ..step
            };
            let decision = machine.step(&Config::default(), &state, quiet, &[]);
            prop_assert_eq!(texts(&decision), []);
            state = decision.state;
        }
    }

    #[test]
    fn a_launch_that_reads_nothing_is_held_for_three_seconds_at_most(
        steps in prop::collection::vec((any_step(), any::<bool>()), 1..60),
    ) {
        let (config, mut machine, mut state) = (Config::default(), machine(&ALL), State::default());
        let begun_ns = machine.now.at_ns;
        for (step, counted) in steps {
            let moved_kib = counted.then_some((0, step.writes));
            let blind = Step { launching: true, reads: 0, elapsed_ms: step.elapsed_ms % 500 + 1, moved_kib, ..step };
            let decision = machine.step(&config, &state, blind, &[]);
            let elapsed_ms = (machine.now.at_ns - begun_ns) / MS;
            // A second for the first read to come, the dwell time, and a sample; it may begin with the second.
            let is_quiet = elapsed_ms <= 3_000 || texts(&decision).is_empty();
            prop_assert!(is_quiet, "{} ms: {:?}", elapsed_ms, rules(&decision));
            state = decision.state;
        }
    }
}
