//! Whole decisions: what is written out, read back and left alone.

use brisk_core::device::Speeds;
use brisk_core::pages::{Away, MappedFile};

use super::*;

/// Pages of the app: 64 MiB.
pub(super) const PAGES: u64 = 16 * 1024;
/// Its hot pages: 4 MiB.
const HOT: (u64, u64) = (2_000, 1_024);

/// A machine with the app `a`, whose hot set is known, left long ago, and another one in front.
/// MARS, tables 1 and 2.
const NEXUS4: Speeds =
    Speeds { random_read_us: 585.0, read_mib_per_s: 63.0, write_mib_per_s: 16.0, parallel_reads: 1.0 };

pub(super) fn used(config: Config) -> Machine {
    let config = Config { flash: Some(NEXUS4), ..config };
    let mut machine = Machine::new(config, &["a", "b", "c"]);
    machine.step(400, &[focused("a")]);
    let touched = returned(
        &process(1, 1),
        &heap(0x1000_0000, PAGES),
        &[HOT],
        &[(0, HOT.0), (HOT.0 + HOT.1, PAGES - HOT.0 - HOT.1 - 1_000)],
    );
    for _ in 0..3 {
        machine.step(400, &[EventKind::Returned { group: "app-a.scope".to_owned(), touched: touched.clone() }]);
    }
    machine.step(400, &[focused("b")]);
    machine.step(400, &[focused("c")]);
    machine.app("c").activity.focused = Some(true);
    machine.after(600_000, 400, &[]);
    machine
}

pub(super) fn scanned(private: &[(u64, u64)], swapped: &[(u64, u64, u64)]) -> EventKind {
    let pages = app_pages(&process(1, 1), &heap(0x1000_0000, PAGES), private, swapped);
    EventKind::Scanned { group: "app-a.scope".to_owned(), pages }
}

pub(super) fn nothing_of(id: &str) -> EventKind {
    let pages = app_pages(&process(9, 1), &heap(0x1000_0000, 1), &[], &[]);
    EventKind::Scanned { group: format!("app-{id}.scope"), pages }
}

/// The pages of a page-out or page-in.
pub(super) fn pages_of(ranges: &[AddressRange]) -> Vec<(u64, u64)> {
    ranges.iter().map(|range| ((range.start - 0x1000_0000) / PAGE, range.size_bytes / PAGE)).collect()
}

fn written(decision: &Decision<State>) -> Option<Vec<(u64, u64)>> {
    once(decision).find_map(|once| match once {
        Once::PageOut { ranges, .. } => Some(pages_of(ranges)),
        _ => None,
    })
}

fn read(decision: &Decision<State>) -> Option<Vec<(u64, u64)>> {
    once(decision).find_map(|once| match once {
        Once::PageIn { ranges, .. } => Some(pages_of(ranges)),
        _ => None,
    })
}

fn rules(decision: &Decision<State>) -> Vec<&str> {
    decision.notes.iter().map(|note| note.rule.as_ref()).collect()
}

#[test]
fn an_app_is_scanned_then_frozen_then_written_out_a_second_at_a_time() {
    let mut machine = used(Config::default());
    let first = machine.step(10, &[]);
    assert_eq!(
        (actions(&first), first.needs.scans.iter().map(String::as_str).collect::<Vec<_>>()),
        (vec![], vec!["app-a.scope", "app-b.scope"])
    );
    let scans = [scanned(&[(0, PAGES)], &[]), nothing_of("b")];
    let frozen = machine.step(10, &scans);
    assert_eq!(actions(&frozen), ["freeze app-a.scope"]);
    let out = machine.step(10, &performed(&frozen, &Outcome::Done));
    assert_eq!(
        written(&out).expect("a page-out"),
        [(0, HOT.0), (HOT.0 + HOT.1, 4_096 - HOT.0)],
        "16 MiB, none of it hot"
    );
    assert_eq!(actions(&machine.step(10, &[])), [""; 0], "one at a time");
    // What was written leaves the swap cache, and a scan tells what it left.
    let after = machine.step(10, &performed(&out, &Outcome::Done));
    assert_eq!(actions(&after), ["reclaim app-a.scope"]);
    assert!(after.needs.scans.contains("app-a.scope"));
    let rest = scanned(&[HOT, (8_000, PAGES - 8_000)], &[(0, 2_000, 0), (3_024, 4_976, 2_000)]);
    let next = machine.step(10, &[rest]);
    assert_eq!(written(&next).map(|ranges| ranges[0].0), Some(8_000));
}

#[test]
fn what_was_written_leaves_the_swap_cache_and_nothing_else_does() {
    let reclaimed = |fell_mib: u64| {
        let mut machine = used(Config { freeze: false, ..Config::default() });
        let out = machine.step(10, &[scanned(&[(0, PAGES)], &[]), nothing_of("b")]);
        machine.now.apps[0].memory_bytes = Some((100 - fell_mib) * MIB);
        let after = machine.step(10, &performed(&out, &Outcome::Done));
        let sizes = once(&after).filter_map(|once| match once {
            Once::Reclaim { size_bytes, .. } => Some(size_bytes / MIB),
            _ => None,
        });
        sizes.collect::<Vec<u64>>()
    };
    assert_eq!((reclaimed(0), reclaimed(11)), (vec![16], vec![5]));
    assert_eq!((reclaimed(16), reclaimed(40)), (vec![], vec![]));
}

#[test]
fn nothing_is_written_while_nothing_is_short() {
    let mut machine = used(Config::default());
    for _ in 0..100 {
        let decision = machine.step(41, &[scanned(&[(0, PAGES)], &[]), nothing_of("b")]);
        assert_eq!(actions(&decision), [""; 0]);
    }
}

#[test]
fn hot_pages_go_last_and_unknown_ones_are_the_kernels() {
    // All that is cold is out already.
    let unknown = (PAGES - 1_000, 1_000);
    let left = [scanned(&[HOT, unknown], &[(0, HOT.0, 0)]), nothing_of("b")];
    let parts = |lost: Option<f64>| {
        let mut machine = used(Config::default());
        machine.state.frozen.insert("app-a.scope".to_owned(), 0);
        machine.state.learned.known_mut("a").expect("known").lost = lost;
        let mut found = Vec::new();
        for second in 0..10 {
            let decision = machine.step(10, &left);
            if let Some(ranges) = written(&decision) {
                found.push((second, ranges));
                let done = performed(&decision, &Outcome::Done);
                let out = machine.step(10, &[&done[..], &[scanned(&[HOT], &[]), nothing_of("b")]].concat());
                found.extend(written(&out).map(|ranges| (second, ranges)));
                break;
            }
        }
        found
    };
    assert_eq!(parts(None), []);
    assert_eq!(parts(Some(0.4)), [], "the kernel keeps most of the hot set");
    assert_eq!(parts(Some(0.6)), [(5, vec![unknown]), (5, vec![HOT])], "severely short for five seconds");
}

#[test]
fn a_hot_set_that_is_needed_at_once_is_left_to_the_kernel() {
    let mut machine = used(Config::default());
    let group = machine.state.groups.get_mut("app-a.scope").expect("a group");
    group.hot_out_ns = Some(machine.now.at_ns);
    machine.step(400, &[focused("a")]);
    let until_ns = machine.state.groups["app-a.scope"].regrets.until_ns;
    assert_eq!(until_ns, Some(machine.now.at_ns + 300 * S_NS));
    assert_eq!(machine.state.groups["app-a.scope"].regrets.times, 1);
}

#[test]
fn an_app_that_is_not_frozen_is_not_written_out() {
    let mut machine = used(Config::default());
    let scans = [scanned(&[(0, PAGES)], &[]), nothing_of("b")];
    let frozen = machine.step(10, &scans);
    let refused = performed(&frozen, &Outcome::Refused { why: "it holds the screen".to_owned() });
    for _ in 0..20 {
        let decision = machine.step(10, &refused);
        assert!(written(&decision).is_none() && !actions(&decision).contains(&"freeze app-a.scope".to_owned()));
    }
    let mut running = used(Config { freeze: false, ..Config::default() });
    assert!(written(&running.step(10, &scans)).is_some());
}

#[test]
fn what_a_page_out_left_is_not_written_again() {
    let mut machine = used(Config { freeze: false, ..Config::default() });
    let all = [scanned(&[(0, PAGES)], &[]), nothing_of("b")];
    let out = machine.step(10, &all);
    assert!(written(&out).is_some());
    let again = machine.step(10, &[&performed(&out, &Outcome::Done)[..], &all[..]].concat());
    assert_eq!((written(&again), rules(&again)), (None, vec!["page_out_left_its_pages"]));
    assert_eq!(written(&machine.step(10, &all)), None);
    assert!(written(&machine.after(600_000, 10, &all)).is_some(), "ten minutes later");
}

#[test]
fn no_more_is_written_than_the_machine_may() {
    let mut machine = used(Config { freeze: false, ..Config::default() });
    machine.config.wear.left_bytes = Some(10 * MIB);
    let scans = [scanned(&[(0, PAGES)], &[]), nothing_of("b")];
    let bytes = |decision: &Decision<State>| {
        written(decision).map(|ranges| ranges.iter().map(|range| range.1).sum::<u64>() * PAGE)
    };
    assert_eq!(bytes(&machine.step(10, &scans)), Some(10 * MIB));
    let mut empty = used(Config { freeze: false, ..Config::default() });
    empty.config.wear.left_bytes = Some(1000);
    let decision = empty.step(10, &scans);
    assert_eq!((bytes(&decision), rules(&decision)), (None, vec!["nothing_may_be_written"]));
}

#[test]
fn a_page_out_that_was_dropped_is_requested_again_later() {
    let mut machine = used(Config { freeze: false, ..Config::default() });
    let scans = [scanned(&[(0, PAGES)], &[]), nothing_of("b")];
    let out = machine.step(10, &scans);
    machine.step(10, &performed(&out, &Outcome::Dropped));
    assert_eq!(written(&machine.step(10, &scans)), None, "another engine swaps out");
    assert!(written(&machine.after(5_000, 10, &scans)).is_some());
}

#[test]
fn nothing_is_written_during_a_return() {
    let mut machine = used(Config { freeze: false, ..Config::default() });
    let scans = [scanned(&[(0, PAGES)], &[]), nothing_of("b")];
    let returns = machine.step(10, &[&scans[..], &[focused("b")]].concat());
    assert_eq!(written(&returns), None);
    machine.app("c").activity.focused = Some(false);
    for _ in 0..9 {
        assert_eq!(written(&machine.step(10, &scans)), None);
    }
    assert_eq!(machine.step(10, &scans).state.window, None, "ten seconds at the most");
    assert!(written(&machine.step(10, &scans)).is_some());
}

#[test]
fn a_return_reads_its_hot_set_and_ends_what_was_being_written() {
    let mut machine = used(Config { freeze: false, ..Config::default() });
    let out = machine.step(10, &[scanned(&[(0, PAGES)], &[]), nothing_of("b")]);
    assert!(machine.state.groups["app-a.scope"].out.is_some());
    // Two stretches of slots, the later addresses in the earlier slots, and a cold page between hot ones.
    let swapped = [(0, 2_500, 9_000), (2_500, PAGES - 2_500, 20_000 - PAGES)];
    let back = machine.step(300, &[scanned(&[], &swapped), focused("a")]);
    assert_eq!(read(&back).expect("a page-in"), [(2_500, 256), (2_756, 256), (3_012, 12), (2_000, 256), (2_256, 244)]);
    assert_eq!(read(&machine.step(300, &[scanned(&[], &swapped)])), None, "once");
    machine.step(300, &performed(&out, &Outcome::Cancelled { done_bytes: 4 * MIB }));
    assert!(machine.state.groups["app-a.scope"].cut_short.is_none());
}

#[test]
fn an_app_that_lost_little_is_not_read_back() {
    let verdict = |lost_pages: u64| {
        let mut machine = used(Config::default());
        let swapped = [(0, HOT.0, 0), (HOT.0, lost_pages, 4_000), (4_000, PAGES - 4_000, 9_000)];
        let private = [(HOT.0 + lost_pages, HOT.1 - lost_pages)];
        let back = machine.step(300, &[scanned(&private, &swapped), focused("a")]);
        (read(&back).is_some(), rules(&back).first().map(|rule| (*rule).to_owned()))
    };
    let little = Some("little_of_the_hot_set_is_in_swap".to_owned());
    assert_eq!(verdict(0), (false, little.clone()));
    assert_eq!(verdict(63), (false, little.clone()), "less than 256 KiB");
    assert_eq!(verdict(101), (false, little), "less than a tenth, and than 1 MiB");
    assert_eq!(verdict(103), (true, None));
}

#[test]
fn a_few_scattered_pages_gain_nothing_by_reading_them() {
    let mut machine = used(Config::default());
    // Each page by itself, and none of those between them hot: as many random reads as by faults.
    let swapped: Vec<(u64, u64, u64)> = (0..HOT.1 / 2).map(|at| (HOT.0 + at * 2, 1, at * 100)).collect();
    let back = machine.step(300, &[scanned(&[], &swapped), focused("a")]);
    assert_eq!((read(&back), rules(&back)), (None, vec!["reading_gains_little"]));
}

#[test]
fn in_short_memory_only_likely_pages_are_read() {
    let mut machine = used(Config::default());
    // Of five returns one touched the second half.
    for _ in 0..4 {
        let touched = returned(&process(1, 1), &heap(0x1000_0000, PAGES), &[(HOT.0, 512)], &[(HOT.0 + 512, 512)]);
        let group = "app-a.scope".to_owned();
        machine.step(400, &[EventKind::Returned { group, touched }]);
    }
    machine.state.learned.known_mut("a").expect("known").read_bytes = Some(40 * MIB);
    let swapped = [(0, PAGES, 0)];
    let mut short = Machine { state: machine.state.clone(), ..used(Config::default()) };
    short.now = machine.now.clone();
    let of = |machine: &mut Machine, available_mib| {
        let back = machine.step(available_mib, &[scanned(&[], &swapped), focused("a")]);
        let pages: u64 = read(&back).expect("a page-in").iter().map(|range| range.1).sum();
        (pages, actions(&back).iter().filter(|action| action.starts_with("drop_page_cache")).count())
    };
    assert_eq!(of(&mut machine, 300), (1_024, 0));
    assert_eq!(of(&mut short, 60), (512, 1), "68 MiB are needed; b gives its files");
}

#[test]
fn hot_ranges_of_files_are_read_too() {
    let mut machine = used(Config::default());
    let file = MappedFile { device: 8, inode: 7, path: "/usr/lib/libx.so".to_owned() };
    let library = Mapping {
        identity: Identity::File(file.clone()),
        start: 0x7000_0000,
        range: PageRange { first_page: 100, pages: 900 },
        swappable: true,
    };
    let mut touched = returned(&process(1, 1), &library, &[], &[]);
    touched.processes[0].mappings[0].file =
        Away { touched: ranges(&[(100, 50), (155, 45), (600, 10)]), untouched: vec![] };
    for _ in 0..3 {
        machine.step(400, &[EventKind::Returned { group: "app-a.scope".to_owned(), touched: touched.clone() }]);
    }
    let mut pages = app_pages(&process(1, 1), &heap(0x1000_0000, PAGES), &[], &[(0, PAGES, 0)]);
    let there = MappingPages { mapping: library, private: vec![], file: ranges(&[(100, 20)]), swapped: vec![] };
    pages.processes[0].mappings.push(there);
    let back = machine.step(400, &[EventKind::Scanned { group: "app-a.scope".to_owned(), pages }, focused("a")]);
    let files = once(&back).find_map(|once| match once {
        Once::ReadAhead { files, .. } => Some(files.clone()),
        _ => None,
    });
    let files = files.expect("read-ahead");
    assert_eq!(files[0].file, file);
    let found: Vec<(u64, u64)> =
        files[0].ranges.iter().map(|range| (range.offset_bytes / PAGE, range.size_bytes / PAGE)).collect();
    assert_eq!(found, [(120, 80), (600, 10)], "small gaps are read along");
}

#[test]
fn what_is_frozen_runs_when_it_returns() {
    let thawed = |event: EventKind, change: fn(&mut App)| {
        let mut machine = used(Config::default());
        machine.state.frozen.insert("app-a.scope".to_owned(), machine.now.at_ns);
        change(machine.app("a"));
        actions(&machine.step(50, &[event])).contains(&"thaw app-a.scope".to_owned())
    };
    let idle = || EventKind::UserIdle { idle: false };
    assert!(!thawed(idle(), |_| ()));
    assert!(thawed(focused("a"), |_| ()));
    assert!(thawed(EventKind::LaunchBegan { group: "app-a.scope".to_owned() }, |_| ()));
    assert!(thawed(idle(), |app| app.launching = true));
    assert!(thawed(idle(), |app| app.activity.audible = Some(true)));
    assert!(thawed(idle(), |app| app.activity.audible = None));
    assert!(thawed(idle(), |app| app.activity.works = Some(true)));
    assert!(thawed(idle(), |app| app.activity.focused = Some(true)));
    // Started again: another group of the same id is launched.
    let mut machine = used(Config::default());
    machine.state.frozen.insert("app-a.scope".to_owned(), machine.now.at_ns);
    let mut second = app("a", |_| ());
    (second.group, second.launching) = ("app-a-2.scope".to_owned(), true);
    machine.apps.push(second);
    assert_eq!(actions(&machine.step(50, &[])), ["thaw app-a.scope"]);
}

#[test]
fn a_thaw_of_others_is_taken_in_and_a_refused_one_is_repeated() {
    let thaw = |outcome| EventKind::Performed { once: Once::Thaw { group: "app-a.scope".to_owned() }, outcome };
    let frozen = |event: &EventKind| {
        let mut machine = used(Config::default());
        machine.state.frozen.insert("app-a.scope".to_owned(), machine.now.at_ns);
        machine.step(50, std::slice::from_ref(event));
        !machine.state.frozen.is_empty()
    };
    for outcome in [Outcome::Done, Outcome::Unchanged, Outcome::Gone, Outcome::Left { found: "1".to_owned() }] {
        assert!(!frozen(&thaw(outcome.clone())), "{outcome:?}");
    }
    for outcome in [Outcome::Refused { why: "no space".to_owned() }, Outcome::Dropped] {
        assert!(frozen(&thaw(outcome.clone())), "{outcome:?}");
        let mut machine = used(Config::default());
        machine.state.frozen.insert("app-a.scope".to_owned(), machine.now.at_ns);
        let first = machine.step(50, &[focused("a")]);
        let second = machine.step(50, &performed(&first, &outcome));
        assert_eq!(
            (actions(&first), actions(&second)),
            (vec!["thaw app-a.scope".to_owned()], actions(&first)),
            "{outcome:?}"
        );
    }
    // The app ended, and another one has its name.
    assert!(!frozen(&EventKind::AppGone { group: "app-a.scope".to_owned() }));
}

#[test]
fn what_was_refused_for_an_app_that_ended_is_not_kept() {
    let mut machine = used(Config::default());
    let knob = brisk_core::knob::Knob::IoPriority { group: "app-a.scope".to_owned() };
    machine.step(50, &[EventKind::Refused { knob, why: "gone".to_owned() }]);
    assert_eq!(machine.state.refused.len(), 1);
    machine.step(50, &[EventKind::AppGone { group: "app-a.scope".to_owned() }]);
    assert!(machine.state.refused.is_empty(), "users make groups without end");
}

#[test]
fn what_is_not_done_is_not_requested_in_each_round() {
    for outcome in [Outcome::Paused, Outcome::HeldOut, Outcome::Planned { from: None, to: None }] {
        let mut machine = used(Config::default());
        let scans = [scanned(&[(0, PAGES)], &[]), nothing_of("b")];
        let first = machine.step(10, &scans);
        assert_eq!(actions(&first), ["freeze app-a.scope"]);
        let again = machine.after(50, 10, &performed(&first, &outcome));
        assert!(!actions(&again).contains(&"freeze app-a.scope".to_owned()), "{outcome:?}");
        let until_ns = machine.state.groups["app-a.scope"].no_freeze.until_ns.expect("refused");
        let waits = until_ns - machine.now.at_ns > 60 * S_NS;
        assert_eq!(waits, outcome == Outcome::HeldOut, "{outcome:?}: scans for nothing cost time");
        assert!(actions(&machine.step(10, &[EventKind::Configured])).contains(&"freeze app-a.scope".to_owned()));
    }
}

#[test]
fn a_freeze_that_was_refused_is_asked_for_again_soon_and_then_later_and_later() {
    let mut machine = used(Config::default());
    let refused = Outcome::Refused { why: "a is not frozen: it plays or records sound".to_owned() };
    let mut at_s = Vec::new();
    let mut heard = vec![scanned(&[(0, PAGES)], &[]), nothing_of("b")];
    for _ in 0..2_000 {
        let step = machine.step(10, &heard);
        heard.clear();
        if actions(&step).contains(&"freeze app-a.scope".to_owned()) {
            at_s.push(machine.now.at_ns / S_NS);
            heard = performed(&step, &refused);
        }
        heard.extend([scanned(&[(0, PAGES)], &[]), nothing_of("b")]);
    }
    let gaps: Vec<u64> = at_s.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(gaps.len() > 6 && gaps[0] <= 20 && gaps.iter().all(|gap| *gap <= 605), "{gaps:?}");
    assert!(gaps.windows(2).all(|two| two[0] <= two[1]), "{gaps:?}");
}

#[test]
fn a_page_out_is_not_judged_by_what_the_app_used_since() {
    let mut machine = used(Config::default());
    machine.state.frozen.insert("app-a.scope".to_owned(), machine.now.at_ns);
    let scans = [scanned(&[(0, PAGES)], &[]), nothing_of("b")];
    let out = machine.step(10, &scans);
    assert!(written(&out).is_some());
    machine.step(400, &performed(&out, &Outcome::Done));
    let thaw = Once::Thaw { group: "app-a.scope".to_owned() };
    let events = [&[EventKind::Performed { once: thaw, outcome: Outcome::Done }][..], &scans[..]].concat();
    let again = machine.step(10, &events);
    assert!(!rules(&again).contains(&"page_out_left_its_pages"), "{again:?}");
}

#[test]
fn frozen_apps_run_again_while_memory_is_plenty() {
    let mut machine = used(Config::default());
    for id in ["a", "b"] {
        machine.state.frozen.insert(format!("app-{id}.scope"), machine.now.at_ns);
    }
    assert_eq!(actions(&machine.step(79, &[])), [""; 0], "twice of what is wanted");
    assert_eq!(actions(&machine.step(80, &[])), ["thaw app-b.scope"], "the one left last first");
    assert_eq!(actions(&machine.step(80, &[])), ["thaw app-a.scope"]);
}

#[test]
fn a_scattered_hot_set_is_laid_out_anew_when_idle() {
    let scattered: Vec<(u64, u64, u64)> = (0..HOT.1 / 4).map(|at| (HOT.0 + at * 4, 4, at * 1_000)).collect();
    let begin = |used_mib: u64, idle: bool, available_mib| {
        let mut machine = used(Config::default());
        machine.state.frozen.insert("app-a.scope".to_owned(), 0);
        machine.now.memory.swap_free_bytes = (1_000 - used_mib) * MIB;
        let events = [scanned(&[], &scattered), EventKind::UserIdle { idle }];
        let decision = machine.step(available_mib, &events);
        (machine, decision)
    };
    let (mut machine, first) = begin(501, true, 60);
    assert_eq!(actions(&first), ["map_in app-a.scope"]);
    let scans = machine.step(60, &performed(&first, &Outcome::Done));
    assert_eq!((actions(&scans), scans.needs.scans.contains("app-a.scope")), (vec![], true));
    let out = machine.step(60, &[scanned(&[HOT], &[])]);
    assert_eq!(written(&out), Some(vec![HOT]));
    let done = machine.step(60, &performed(&out, &Outcome::Done));
    assert!(!done.state.groups["app-a.scope"].laying_out);
    assert_eq!(actions(&begin(501, false, 60).1), [""; 0], "the user is there");
    assert_eq!(actions(&begin(501, true, 43).1), [""; 0], "memory would be short");
    assert_eq!(actions(&begin(500, true, 60).1), [""; 0], "below_half_of_swap_nothing_would_move");
    let in_order = [scanned(&[], &[(HOT.0, HOT.1, 0)])];
    let (mut machine, _) = begin(500, true, 60);
    machine.now.memory.swap_free_bytes = 100 * MIB;
    assert_eq!(actions(&machine.step(60, &in_order)), [""; 0], "it lies in one stretch");
}

#[test]
fn the_survey_says_where_the_pages_are() {
    let mut machine = used(Config::default());
    machine.config.wear.left_bytes = Some(512 * MIB);
    machine.step(400, &[scanned(&[(0, 100), HOT], &[(3_024, 76, 0)])]);
    let survey = survey::survey(&machine.config, &machine.state, &machine.observed(&[]));
    let row = survey.apps.iter().find(|row| row.id == "a").expect("a row");
    let pages = row.pages.expect("scanned");
    assert_eq!((pages.cold_bytes, pages.hot_bytes, pages.hot_swapped_bytes), (100 * PAGE, HOT.1 * PAGE, 0));
    let front = survey.apps.iter().find(|row| row.id == "c").expect("a row");
    assert_eq!(front.spared.as_ref().map(|spared| spared.rule.as_ref()), Some("focused"));
    assert_eq!(survey.wear_left_bytes, Some(512 * MIB));
}

#[test]
fn paper_writes_all_out_and_reads_all_in() {
    let mut machine = used(Config { mode: Mode::Paper, ..Config::default() });
    let plenty = machine.step(400, &[]);
    let reserve: Vec<String> = plenty.settings().map(|set| format!("{} {}", set.knob, set.value)).collect();
    assert_eq!(reserve, ["vm/min_free_kbytes 45007"], "sqrt(16 x 1024000) + 4 %");
    machine.step(10, &[]);
    let frozen = machine.step(10, &[scanned(&[(0, PAGES)], &[])]);
    assert_eq!(actions(&frozen), ["freeze app-a.scope"]);
    let out = machine.step(10, &performed(&frozen, &Outcome::Done));
    assert_eq!(written(&out), Some(vec![(0, PAGES)]));
    let back = machine.step(300, &[scanned(&[], &[(0, 1_000, 5_000), (1_000, PAGES - 1_000, 9_000)]), focused("a")]);
    assert_eq!(actions(&back)[0], "thaw app-a.scope");
    assert_eq!(read(&back).expect("a page-in").iter().map(|range| range.1).sum::<u64>(), PAGES);
    assert_eq!(back.settings().count(), 0, "the reserve is there to be used");
}
