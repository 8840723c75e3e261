//! `mode = "adaptive"`: launches that may not fit, without swap.

use super::*;

const ROUND_MS: u64 = 50;

/// A phone of 1000 MiB without swap, on which apps of 100 MiB and this memory are, and an app of which no run is known
/// begins with 1 MiB.
fn launched(ids: &[&str], available_mib: u64) -> (Machine, Decision<State>) {
    let mut machine = Machine::new(Config::default(), ids).with(available_mib);
    machine.now.memory.swap_free_bytes = 0;
    (0..2).for_each(|_| drop(machine.step(available_mib, &[])));
    let began = begin(&mut machine, Some(1), available_mib);
    (machine, began)
}

/// The app "big" begins, with this memory.
fn begin(machine: &mut Machine, memory_mib: Option<u64>, available_mib: u64) -> Decision<State> {
    let mut big = app("big", |activity| activity.front_at_ns = None);
    big.launching = true;
    let group = big.group.clone();
    machine.apps.push(big);
    let memory_bytes = memory_mib.map(|mib| mib * MIB);
    machine.now.apps.push(AppTotals { name: group.clone(), memory_bytes, ..AppTotals::default() });
    machine.after(ROUND_MS, available_mib, &[EventKind::LaunchBegan { group }])
}

/// Another round, in which the launch has this much.
fn grown(machine: &mut Machine, memory_mib: u64, available_mib: u64) -> Decision<State> {
    machine.now.apps.last_mut().expect("launched").memory_bytes = Some(memory_mib * MIB);
    machine.after(ROUND_MS, available_mib, &[])
}

/// Groups that are asked to end, and the time that they have.
fn ends(decision: &Decision<State>) -> Vec<(String, u64)> {
    let ends = once(decision).filter_map(|once| match once {
        Once::EndApp { group, grace_ms } => Some((group.clone(), *grace_ms)),
        _ => None,
    });
    ends.collect()
}

fn group(id: &str) -> String {
    format!("app-{id}.scope")
}

#[test]
fn an_app_that_is_ended_for_a_launch_has_less_time_the_sooner_that_runs_out() {
    let (mut machine, began) = launched(&["a", "b", "c"], 90);
    assert_eq!(ends(&began), [(group("a"), 200)]);
    // 200 MiB a second: 80 are there for 400 ms, and the app has 150 left.
    assert_eq!(ends(&grown(&mut machine, 11, 80)), []);
    // Faster: 40 MiB in a round, and 40 left.
    assert_eq!(ends(&grown(&mut machine, 51, 40)), [(group("a"), 0)]);
    assert_eq!(ends(&grown(&mut machine, 90, 1)), [], "it has no time left");
    // The configuration has less.
    let mut machine = Machine::new(Config { end_grace_ms: 20, ..Config::default() }, &["a", "b"]).with(90);
    machine.now.memory.swap_free_bytes = 0;
    assert_eq!(ends(&begin(&mut machine, Some(1), 90)), [(group("a"), 20)]);
}

#[test]
fn an_app_that_was_asked_before_a_launch_has_less_time_when_that_runs_out() {
    let mut machine = Machine::new(Config::default(), &["a", "b"]).with(10);
    machine.now.memory.swap_free_bytes = 0;
    let asked = (0..10).find_map(|_| Some(machine.step(10, &[])).filter(|decision| !ends(decision).is_empty()));
    assert_eq!(ends(&asked.expect("an end")), [(group("a"), 5_000)]);
    // The kernel takes caches of 70 MiB meanwhile; the launch takes 20 MiB in a round.
    assert_eq!(ends(&begin(&mut machine, Some(1), 80)), []);
    assert_eq!(ends(&grown(&mut machine, 21, 60)), [(group("a"), 0)]);
    // An app that the user returned to meanwhile is not hastened.
    machine.state.ends.pending.values_mut().for_each(|pending| pending.until_ns = u64::MAX);
    machine.app("a").activity.focused = Some(true);
    assert!(ends(&grown(&mut machine, 41, 40)).iter().all(|(group, _)| *group != self::group("a")));
}

#[test]
fn a_launch_that_fits_ends_nothing_while_it_grows() {
    let (mut machine, began) = launched(&["a", "b", "c"], 120);
    assert_eq!(ends(&began), []);
    // At 1000 MiB a second, up to what the others have.
    for memory_mib in [51, 101] {
        assert_eq!(ends(&grown(&mut machine, memory_mib, 121 - memory_mib)), [], "{memory_mib}");
    }
    // It has passed them by an eighth, and takes all within 300 ms.
    assert_eq!(ends(&grown(&mut machine, 113, 8)), [(group("a"), 0)]);
}

#[test]
fn rounds_follow_each_other_while_a_launch_may_not_fit() {
    let look_ms =
        |decision: &Decision<State>| (decision.next_look_ns.expect("a look") - decision.state.at_ns) / 1_000_000;
    let (mut machine, began) = launched(&["a", "b", "c"], 150);
    assert_eq!(look_ms(&began), ROUND_MS);
    assert_eq!(look_ms(&grown(&mut machine, 11, 140)), ROUND_MS);
    // It rests with as much as the others.
    (0..60).for_each(|_| drop(grown(&mut machine, 113, 100)));
    assert_eq!(look_ms(&grown(&mut machine, 113, 100)), 1_000);
    machine.app("big").launching = false;
    machine.now.apps.iter_mut().for_each(|totals| totals.memory_bytes = Some(100 * MIB));
    assert_eq!(machine.step(150, &[]).state.groups[&group("big")].growth, crate::iram::launch::Growth::default());
    // There is plenty, or swap.
    assert_eq!(look_ms(&launched(&["a", "b", "c"], 600).1), 1_000);
    let mut machine = Machine::new(Config::default(), &["a", "b", "c"]).with(150);
    assert_eq!(look_ms(&begin(&mut machine, Some(1), 150)), 1_000);
}

#[test]
fn a_launch_whose_memory_is_elsewhere_ends_nothing() {
    let mut machine = Machine::new(Config::default(), &["a", "b", "c"]).with(90);
    machine.now.memory.swap_free_bytes = 0;
    for _ in 0..3 {
        assert_eq!(ends(&begin(&mut machine, None, 90)), []);
        machine.apps.retain(|app| app.id != "big");
    }
}

#[test]
fn an_app_that_was_in_front_lately_ends_for_a_launch_alone() {
    let lately = |launches: bool| {
        let mut machine = Machine::new(Config::default(), &["a", "b", "c"]).with(20);
        machine.now.memory.swap_free_bytes = 0;
        for (place, id) in ["c", "b", "a"].into_iter().enumerate() {
            machine.app(id).activity.front_at_ns = Some(machine.now.at_ns + place as u64);
        }
        // The kernel has ended an app, so that nothing waits.
        let killed = EventKind::OutOfMemory { group: "gone".to_owned() };
        let calm = machine.after(ROUND_MS, 20, &[killed]);
        assert_eq!(ends(&calm), []);
        if launches { ends(&begin(&mut machine, Some(1), 20)) } else { ends(&machine.after(ROUND_MS, 20, &[])) }
    };
    assert_eq!(lately(false), []);
    // Not "a", which was in front last.
    assert_eq!(lately(true), [(group("b"), 200)]);
    // One in the background goes first.
    let mut machine = Machine::new(Config::default(), &["a", "b", "c"]).with(20);
    machine.now.memory.swap_free_bytes = 0;
    for id in ["a", "c"] {
        machine.app(id).activity.front_at_ns = Some(machine.now.at_ns);
    }
    assert_eq!(ends(&begin(&mut machine, Some(1), 20)).first(), Some(&(group("b"), 200)));
}

#[test]
fn stalls_of_a_round_count_as_part_of_a_second() {
    let mut machine = Machine::new(Config::default(), &["a", "b"]).with(200);
    machine.now.memory.swap_free_bytes = 0;
    machine.stall_percent = 100;
    let stalls = machine.after(ROUND_MS, 200, &[]).state.stalls;
    assert!((stalls.some_percent - 5.0).abs() < 0.1, "{stalls:?}");
    assert_eq!(machine.after(1_000, 200, &[]).state.stalls.some_percent.round(), 100.0);
}
