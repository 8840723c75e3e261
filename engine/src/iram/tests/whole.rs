//! `mode = "adaptive"`: properties of whole decisions.

use brisk_core::survey::{AppMemory, MemorySurvey};

use super::*;
use crate::kit::predict::Moment;

fn config() -> Config {
    Config { protected_apps: 0, reserve_min_percent: 10.0, reserve_max_percent: 10.0, ..Config::default() }
}

/// Calls until an action of that kind is requested, at most so many; the number of the call and the decision.
fn until(machine: &mut Machine, available_mib: u64, name: &str, calls: usize) -> Option<(usize, Decision<State>)> {
    (0..calls).find_map(|call| {
        let decision = machine.step(available_mib, &[]);
        let has_it = once(&decision).any(|once| once.name() == name);
        has_it.then_some((call, decision))
    })
}

#[test]
fn an_app_ends_only_after_the_gentler_steps() {
    let mut machine = Machine::new(config(), &["a", "b", "front"]);
    machine.app("front").activity.focused = Some(true);
    machine.stall_percent = 20;
    // 100 MiB are wanted, and 40 are there.
    let first = machine.step(40, &[]);
    let names = |decision: &Decision<State>| once(decision).map(Once::name).collect::<Vec<_>>();
    assert_eq!(names(&first), ["drop_page_cache", "drop_page_cache", "reclaim", "reclaim"]);
    let sizes = once(&first).filter_map(|once| match once {
        Once::Reclaim { size_bytes, .. } => Some(size_bytes / MIB),
        _ => None,
    });
    assert_eq!(sizes.collect::<Vec<_>>(), [16, 16], "a little at a time");
    let (call, ended) = until(&mut machine, 40, "end_app", 10).expect("an end");
    assert_eq!(call, 2, "three seconds after the first");
    assert_eq!(names(&ended).iter().filter(|name| **name == "end_app").count(), 1);
    assert!(actions(&ended).iter().all(|action| !action.ends_with("front.scope")));
    // One at a time: the next one waits until that one is gone.
    assert!(until(&mut machine, 40, "end_app", 5).is_none());
    let group = once(&ended).find(|once| once.name() == "end_app").expect("an end").group().to_owned();
    let id = group.strip_prefix("app-").and_then(|group| group.strip_suffix(".scope")).expect("an app").to_owned();
    let gone = machine.gone(&id);
    assert!(once(&machine.step(40, &[gone])).any(|once| once.name() == "end_app"));
}

#[test]
fn with_swap_left_and_without_stalls_no_app_ends() {
    let mut machine = Machine::new(config(), &["a", "b"]);
    assert!(until(&mut machine, 10, "end_app", 60).is_none());
}

#[test]
fn a_small_shortage_ends_nothing() {
    let mut machine = Machine::new(config(), &["a", "b"]).with(80);
    machine.now.memory.swap_free_bytes = 0;
    assert!(until(&mut machine, 80, "end_app", 30).is_none());
}

#[test]
fn without_swap_apps_end_since_nothing_else_frees_memory() {
    let mut machine = Machine::new(config(), &["a", "b"]);
    machine.now.memory.swap_free_bytes = 0;
    let first = machine.step(20, &[]);
    assert_eq!(actions(&first), ["drop_page_cache app-a.scope", "drop_page_cache app-b.scope"]);
    assert!(until(&mut machine, 20, "end_app", 5).is_some());
}

#[test]
fn where_reclaim_is_refused_an_app_is_paged_out_instead() {
    let mut machine = Machine::new(Config { ends: Ends::Never, ..config() }, &["a"]);
    let first = machine.step(40, &[]);
    assert_eq!(actions(&first), ["drop_page_cache app-a.scope", "reclaim app-a.scope"]);
    let refused = performed(&first, &Outcome::Refused { why: "no memory.reclaim".to_owned() });
    assert_eq!(actions(&machine.step(40, &refused)), ["page_out app-a.scope"]);
    let rest: Vec<String> = (0..20).flat_map(|_| actions(&machine.step(40, &[]))).collect();
    assert!(rest.is_empty(), "{rest:?}");
}

#[test]
fn an_app_ends_once_the_stalls_cost_more() {
    // 300 MiB are more than twice what is wanted, and less than the files of programs need: tasks stall for 40 % of the
    // time.
    let config = Config { reserve_max_percent: 40.0, ..config() };
    let mut machine = Machine::new(config, &["a", "b"]).with(300);
    machine.now.memory.swap_free_bytes = 0;
    machine.stall_percent = 40;
    let (call, _) = until(&mut machine, 300, "end_app", 10).expect("an end");
    assert_eq!(call, 0, "what was never used costs next to nothing: as soon as that counts as thrashing at all");
    // With swap the kernel has something else to take.
    let mut machine = Machine::new(machine.config.clone(), &["a", "b"]).with(300);
    machine.stall_percent = 40;
    assert!(until(&mut machine, 300, "end_app", 60).is_none());
    // With more memory the stalls are those of a group under its own limit.
    machine.now.memory.swap_free_bytes = 0;
    assert!(until(&mut machine, 410, "end_app", 60).is_none());
}

#[test]
fn a_launch_that_will_not_fit_ends_apps_at_once() {
    let launched = |swap_mib: u64, available_mib: u64| {
        let mut machine = Machine::new(Config::default(), &["a", "b", "c"]).with(available_mib);
        machine.now.memory.swap_free_bytes = swap_mib * MIB;
        let mut big = app("big", |_| ());
        big.launching = true;
        machine.apps.push(big);
        let name = "app-big.scope".to_owned();
        machine.now.apps.push(AppTotals { name: name.clone(), memory_bytes: Some(0), ..AppTotals::default() });
        let began = machine.step(available_mib, &[EventKind::LaunchBegan { group: name.clone() }]);
        (machine, name, once(&began).filter(|once| once.name() == "end_app").count())
    };
    // The other apps have 100 MiB each: so may this one.
    let (mut machine, name, ends) = launched(0, 90);
    assert_eq!(ends, 1, "what it frees is enough");
    assert_eq!(launched(0, 600).2, 0, "there is enough");
    assert_eq!(launched(500, 90).2, 0, "there is swap");
    // It was not enough: the kernel has ended it. The next time, two are ended.
    let killed = EventKind::OutOfMemory { group: name.clone() };
    let pending: Vec<String> = machine.state.ends.pending.keys().cloned().collect();
    let gone: Vec<EventKind> =
        pending.iter().map(|group| machine.gone(group.trim_start_matches("app-").trim_end_matches(".scope"))).collect();
    machine.step(190, &[vec![killed], gone].concat());
    assert_eq!(machine.state.learned.peak_bytes("big", 1), Some(180 * MIB));
}

#[test]
fn an_app_that_came_back_costs_more_stalls() {
    let config = Config { reserve_max_percent: 40.0, ..config() };
    let mut machine = Machine::new(config, &["a", "b"]).with(300);
    machine.now.memory.swap_free_bytes = 0;
    machine.stall_percent = 10;
    let call = |machine: &mut Machine| until(machine, 300, "end_app", 600).map(|(call, _)| call);
    let mut again = Machine::new(machine.config.clone(), &["a", "b"]).with(300);
    again.now.memory.swap_free_bytes = 0;
    again.stall_percent = 10;
    again.state.ends.regrets.times = 6;
    let (first, later) = (call(&mut machine).expect("an end"), call(&mut again).expect("an end"));
    assert!(first < later, "{first} {later}");
}

#[test]
fn a_group_whose_reclaim_gave_way_to_another_engine_is_reclaimed_later() {
    let mut machine = Machine::new(Config { ends: Ends::Never, ..config() }, &["a"]);
    let first = machine.step(40, &[]);
    let dropped = performed(&first, &Outcome::Dropped);
    assert!(actions(&machine.step(40, &dropped)).contains(&"reclaim app-a.scope".to_owned()));
}

#[test]
fn an_out_of_memory_kill_ends_the_wait() {
    let mut machine = Machine::new(config(), &["a", "b"]);
    machine.now.memory.swap_free_bytes = 0;
    let killed = EventKind::OutOfMemory { group: "app-a.scope".to_owned() };
    assert!(once(&machine.step(20, &[killed])).any(|once| once.name() == "end_app"));
}

#[test]
fn the_app_whose_return_costs_least_is_ended() {
    let mut machine = Machine::new(config(), &["rare", "likely"]);
    machine.now.memory.swap_free_bytes = 0;
    machine.step(400, &[focused("rare"), focused("likely"), focused("other")]);
    let uses = ["likely", "rare", "likely", "rare", "likely"];
    uses.iter().for_each(|id| drop(machine.step(400, &[focused(id)])));
    // The last one used may follow itself by no definition; another one is in front.
    machine.app("likely").activity.focused = Some(false);
    let chance = |machine: &Machine, id: &str| machine.state.outlook(&machine.now).of(id).chance;
    let cheapest = if chance(&machine, "rare") < chance(&machine, "likely") { "rare" } else { "likely" };
    machine.after(60_000, 400, &[]);
    let (_, ended) = until(&mut machine, 20, "end_app", 10).expect("an end");
    assert!(actions(&ended).contains(&format!("end_app app-{cheapest}.scope")), "{:?}", actions(&ended));
}

#[test]
fn while_the_screen_is_off_the_engine_sleeps() {
    let mut machine = Machine::new(config(), &["a", "b"]);
    let off = machine.step(20, &[EventKind::Screen { on: false }]);
    assert_eq!((actions(&off), off.next_look_ns), (vec![], None));
    assert!(until(&mut machine, 20, "end_app", 20).is_none());
    let on = machine.step(20, &[EventKind::Screen { on: true }]);
    assert!(!actions(&on).is_empty() && on.next_look_ns == Some(machine.now.at_ns + S_NS));
}

#[test]
fn a_frozen_app_is_thawed_when_it_is_needed() {
    let mut machine = Machine::new(Config { freeze: true, ends: Ends::Never, ..config() }, &["a", "b"]);
    let (call, frozen) = until(&mut machine, 40, "freeze", 10).expect("a freeze");
    assert_eq!(call, 2);
    assert_eq!(actions(&frozen).iter().filter(|action| action.starts_with("freeze")).count(), 2);
    machine.app("a").activity.focused = Some(true);
    assert_eq!(actions(&machine.step(40, &[focused("a")]))[0], "thaw app-a.scope");
    // Memory is there again.
    assert_eq!(actions(&machine.step(400, &[])), ["thaw app-b.scope"]);
    assert!(machine.state.frozen.is_empty());
    // What the freezer refused is not frozen.
    let (_, frozen) = until(&mut machine, 40, "freeze", 10).expect("a freeze");
    let refused = performed(&frozen, &Outcome::Refused { why: "no freezer".to_owned() });
    machine.step(400, &refused);
    assert!(machine.state.frozen.is_empty());
    assert!(until(&mut machine, 40, "freeze", 20).is_none(), "it is not tried again for ten minutes");
}

#[test]
fn what_a_paused_daemon_does_not_do_is_not_requested_in_each_round() {
    let mut machine = Machine::new(Config { freeze: true, ends: Ends::Never, ..config() }, &["a"]);
    let (mut events, mut all) = (Vec::new(), Vec::new());
    for _ in 0..30 {
        let decision = machine.step(40, &events);
        events = performed(&decision, &Outcome::Paused);
        all.extend(actions(&decision));
    }
    for step in ["drop_page_cache", "reclaim", "page_out", "freeze"] {
        let times = all.iter().filter(|action| action.starts_with(step)).count();
        assert!(times <= 4, "{step} {times} times in {all:?}");
    }
}

#[test]
fn a_thaw_of_others_is_taken_in_and_a_refused_one_is_repeated() {
    let frozen = || {
        let mut machine = Machine::new(Config { freeze: true, ends: Ends::Never, ..config() }, &["a"]);
        until(&mut machine, 40, "freeze", 10).expect("a freeze");
        machine
    };
    let thaw = |outcome| EventKind::Performed { once: Once::Thaw { group: "app-a.scope".to_owned() }, outcome };
    let mut machine = frozen();
    // Enough memory for nothing to be frozen, and not so much that all is thawed.
    machine.step(60, &[thaw(Outcome::Done)]);
    assert!(machine.state.frozen.is_empty());
    let mut machine = frozen();
    machine.app("a").activity.focused = Some(true);
    let first = machine.step(40, &[focused("a")]);
    let second = machine.step(40, &performed(&first, &Outcome::Refused { why: "no space".to_owned() }));
    let is_thawed = |decision: &Decision<State>| actions(decision).contains(&"thaw app-a.scope".to_owned());
    assert!(is_thawed(&first) && is_thawed(&second));
    // The app ended, and another one has its name.
    let mut machine = frozen();
    machine.step(60, &[EventKind::AppGone { group: "app-a.scope".to_owned() }]);
    assert!(machine.state.frozen.is_empty());
}

#[test]
fn a_second_launch_of_a_frozen_app_thaws_the_first() {
    let mut machine = Machine::new(Config { freeze: true, ends: Ends::Never, ..config() }, &["a"]);
    until(&mut machine, 40, "freeze", 10).expect("a freeze");
    let mut second = app("a", |_| ());
    (second.group, second.launching) = ("app-a-2.scope".to_owned(), true);
    machine.apps.push(second);
    let began = EventKind::LaunchBegan { group: "app-a-2.scope".to_owned() };
    assert_eq!(actions(&machine.step(40, &[began]))[0], "thaw app-a.scope");
}

#[test]
fn what_does_not_help_is_left_alone() {
    let mut machine = Machine::new(Config { ends: Ends::Never, ..config() }, &["a", "b"]).with(40);
    assert!(!actions(&machine.step(40, &[])).is_empty());
    let notes: Vec<Reason> = (0..4).flat_map(|_| machine.step(40, &[]).notes).collect();
    assert_eq!(notes[0].rule, "freeing_does_not_help");
    assert!(notes.iter().skip(1).all(|note| note.rule == "short_in_back_off"), "{notes:?}");
    let quiet = (0..26).all(|_| actions(&machine.step(40, &[])).is_empty());
    assert!(quiet, "a back-off of thirty seconds");
    assert!(until(&mut machine, 40, "reclaim", 10).is_some(), "then it is tried again");
}

#[test]
fn an_app_that_comes_back_at_once_ends_ends() {
    let mut machine = Machine::new(config(), &["a", "b", "c"]);
    machine.now.memory.swap_free_bytes = 0;
    let (_, ended) = until(&mut machine, 20, "end_app", 10).expect("an end");
    let group = once(&ended).find(|once| once.name() == "end_app").expect("an end").group().to_owned();
    let id = group.trim_start_matches("app-").trim_end_matches(".scope").to_owned();
    let gone = machine.gone(&id);
    machine.step(400, &[gone]);
    let mut again = app(&id, |_| ());
    again.launching = true;
    machine.apps.push(again);
    machine.step(400, &[EventKind::LaunchBegan { group }]);
    machine.app(&id).launching = false;
    assert_eq!(machine.state.ends.regrets.times, 1);
    assert!(until(&mut machine, 20, "end_app", 250).is_none());
    assert!(until(&mut machine, 20, "end_app", 100).is_some(), "five minutes later");
}

#[test]
fn an_end_that_is_refused_is_tried_again_soon_and_counts_for_nothing() {
    let mut machine = Machine::new(config(), &["a", "b"]);
    machine.now.memory.swap_free_bytes = 0;
    let (_, asked) = until(&mut machine, 20, "end_app", 10).expect("an end");
    let refused = performed(&asked, &Outcome::Refused { why: "earlyoom runs".to_owned() });
    machine.step(20, &refused);
    assert!(machine.state.ends.at_ns.is_empty() && machine.state.ends.pending.is_empty());
    assert!(until(&mut machine, 20, "end_app", 13).is_none());
    // Not the same app, which waits a minute.
    let (_, again) = until(&mut machine, 20, "end_app", 5).expect("fifteen seconds later");
    assert_ne!(actions(&again), actions(&asked));
}

#[test]
fn an_end_that_the_app_followed_holds_up_no_other() {
    let mut machine = Machine::new(config(), &["a", "b"]);
    machine.now.memory.swap_free_bytes = 0;
    let (_, asked) = until(&mut machine, 20, "end_app", 10).expect("an end");
    let group = once(&asked).find(|once| once.name() == "end_app").expect("an end").group().to_owned();
    let gone = machine.gone(group.trim_start_matches("app-").trim_end_matches(".scope"));
    let left = performed(&asked, &Outcome::Gone);
    let next = machine.step(20, &[vec![gone], left].concat());
    assert!(once(&next).any(|once| once.name() == "end_app"), "{:?}", actions(&next));
}

#[test]
fn memory_for_a_launch_is_freed_before_the_app_asks_for_it() {
    let mut machine = Machine::new(config(), &["big", "other"]);
    // Its first run needed 300 MiB.
    machine.app("big").launching = true;
    machine.now.apps[0].memory_bytes = Some(300 * MIB);
    machine.step(400, &[EventKind::LaunchBegan { group: "app-big.scope".to_owned() }]);
    machine.app("big").launching = false;
    let gone = machine.gone("big");
    machine.step(400, &[EventKind::LaunchEnded { group: "app-big.scope".to_owned() }, gone]);
    machine.after(60_000, 250, &[]);
    assert_eq!(actions(&machine.step(250, &[])), Vec::<String>::new());
    // It is launched again, and has 10 MiB so far.
    let mut big = app("big", |_| ());
    big.launching = true;
    machine.apps.push(big);
    let name = "app-big.scope".to_owned();
    machine.now.apps.push(AppTotals { name: name.clone(), memory_bytes: Some(10 * MIB), ..AppTotals::default() });
    let decision = machine.step(250, &[EventKind::LaunchBegan { group: name }]);
    assert_eq!(actions(&decision), ["drop_page_cache app-other.scope", "reclaim app-other.scope"]);
}

#[test]
fn no_more_is_reclaimed_than_the_machine_may_write() {
    let reclaimed = |left_bytes: Option<u64>| {
        let mut machine = Machine::new(Config { ends: Ends::Never, ..config() }, &["a", "b", "front"]);
        machine.app("front").activity.focused = Some(true);
        machine.config.wear.left_bytes = left_bytes;
        machine.step(400, &[]);
        let decision = machine.step(10, &[]);
        let of = |once: &Once| if let Once::Reclaim { size_bytes, .. } = once { Some(*size_bytes) } else { None };
        once(&decision).filter_map(of).sum::<u64>()
    };
    assert_eq!(reclaimed(None), 32 * MIB);
    assert_eq!((reclaimed(Some(20 * MIB)), reclaimed(Some(1000)), reclaimed(Some(0))), (20 * MIB, 0, 0));
}

#[test]
fn limits_hold_while_memory_is_short_and_some_seconds_longer() {
    let limited = |decision: &Decision<State>| {
        let settings = decision.settings().map(|setting| (setting.knob.to_string(), setting.value.clone()));
        settings.collect::<BTreeMap<_, _>>()
    };
    let mut machine = Machine::new(Config { ends: Ends::Never, ..config() }, &["a", "front"]);
    machine.app("front").activity.focused = Some(true);
    assert_eq!(limited(&machine.step(400, &[])), BTreeMap::new());
    let short = limited(&machine.step(40, &[]));
    let names: Vec<&str> = short.keys().map(String::as_str).collect();
    assert_eq!(names, ["memory.high/app-a.scope", "memory.low/app-front.scope"]);
    assert!(short.values().all(|value| value.parse::<u64>().is_ok_and(|bytes| bytes >= 100 * MIB)), "{short:?}");
    assert_eq!(limited(&machine.after(29_000, 400, &[])).len(), 2);
    assert_eq!(limited(&machine.step(400, &[])), BTreeMap::new());
}

#[test]
fn another_boot_keeps_what_was_learned() {
    let mut machine = Machine::new(config(), &["a", "b"]);
    machine.step(40, &[focused("a"), focused("b")]);
    assert!(machine.state.short_since_ns.is_some());
    machine.now.at_ns = 0;
    machine.previous = None;
    let decision = machine.step(400, &[]);
    assert_eq!(decision.state.short_since_ns, None);
    assert!(decision.state.learned != Learned::default());
}

#[test]
fn a_survey_says_what_goes_first_and_why() {
    let mut machine = Machine::new(config(), &["a", "front"]).with(40);
    machine.app("front").activity.focused = Some(true);
    machine.now.apps[0].memory_bytes = Some(300 * MIB);
    machine.step(40, &[focused("front")]);
    let survey = survey::survey(&machine.config, &machine.state, &machine.observed(&[]));
    assert_eq!((survey.available_bytes / MIB, survey.wanted_bytes / MIB), (40, 100));
    let of = |row: &AppMemory| {
        (row.id.clone(), row.importance, row.protected.as_ref().map(|reason| reason.rule.to_string()))
    };
    assert_eq!(of(&survey.apps[0]), ("a".to_owned(), importance::Importance::Background, None));
    assert_eq!(survey.apps[0].steps, [Step::FreeCaches, Step::Reclaim, Step::End]);
    let front = (String::from("front"), importance::Importance::Foreground, Some("focused".to_owned()));
    assert_eq!(of(&survey.apps[1]), front);
    let text = serde_json::to_string(&survey).expect("JSON");
    assert_eq!(serde_json::from_str::<MemorySurvey>(&text).expect("the same"), survey);
}

/// Whether nothing may be taken from the app, whatever was learned; by the app alone.
fn is_kept(app: &App) -> bool {
    let activity = &app.activity;
    app.launching
        || app.id == "briskd"
        || activity.focused == Some(true)
        || activity.audible == Some(true)
        || (activity.audible.is_none() && !activity.is_rated)
        || activity.inhibits == Some(true)
        || (app.tolerance == Tolerance::System && app.reason.rule == "chosen")
        || (activity.is_rated && activity.oom_score_adj.is_some_and(|adj| adj < 100))
}

fn any_config() -> impl Strategy<Value = Config> {
    let modes = prop::sample::select(&[Mode::Adaptive, Mode::Paper][..]);
    (modes, any::<bool>(), 0_u32..4, 1_u8..=3, 0_usize..10).prop_map(
        |(mode, freeze, ends_per_minute, aggression_level, protected_apps)| Config {
            mode,
            freeze,
            ends_per_minute,
            aggression_level,
            protected_apps,
            ..Config::default()
        },
    )
}

/// Some calls on one world, with the available memory of each, and which app comes to the foreground.
fn any_calls() -> impl Strategy<Value = Vec<(u64, u64, usize)>> {
    prop::collection::vec((100_u64..20_000, 0_u64..1000, 0_usize..12), 1..30)
}

fn run(
    world: &World,
    config: &Config,
    calls: &[(u64, u64, usize)],
    mut check: impl FnMut(&Snapshot, &Decision<State>),
) {
    let (mut state, mut now) = (State::default(), world.now.clone());
    for (ms, available_mib, index) in calls {
        let previous = now.clone();
        now.at_ns += ms * 1_000_000;
        now.memory.available_bytes = Some(available_mib * MIB);
        let front = world.apps.get(*index).map(|app| EventKind::Focused { group: app.group.clone() });
        let events: Vec<Event> = front.into_iter().map(|kind| Event { at_ns: now.at_ns, kind }).collect();
        let observed =
            Observed { previous: Some(&previous), now: &now, events: &events, devices: &[], apps: &world.apps };
        let decision = Iram::decide(config, state, &observed);
        check(&now, &decision);
        state = decision.state;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn the_same_inputs_give_the_same_decision(world in any_world(), config in any_config(), calls in any_calls()) {
        let decisions = || {
            let mut all = Vec::new();
            run(&world, &config, &calls, |_, decision| all.push(decision.clone()));
            all
        };
        prop_assert_eq!(decisions(), decisions());
    }

    #[test]
    fn nothing_is_taken_from_a_protected_app(world in any_world(), config in any_config(), calls in any_calls()) {
        let mut wrong = Vec::new();
        run(&world, &config, &calls, |now, decision| {
            let moment = Moment::at(now, now.at_ns, None);
            let next = decision.state.learned.predictor.next(moment, config.protected_apps.min(1));
            for once in once(decision).filter(|once| !once.favours_the_app()) {
                let app = world.apps.iter().find(|app| app.group == once.group()).expect("of this world");
                // The likeliest next app, where all groups of it fit into the share.
                let of_id = world.apps.iter().zip(&now.apps).filter(|(other, _)| other.id == app.id);
                let bytes: u64 = of_id.filter_map(|(_, totals)| totals.memory_bytes.or(totals.rss_bytes)).sum();
                let is_next = next.iter().any(|chance| chance.app == app.id)
                    && app.activity.role == Role::App
                    && bytes <= now.memory.total_bytes / 100 * 40;
                if is_kept(app) || is_next {
                    wrong.push((once.clone(), app.clone()));
                }
            }
        });
        prop_assert_eq!(wrong, vec![]);
    }

    #[test]
    fn nothing_is_taken_while_nothing_is_short(world in any_world(), mut config in any_config(), calls in any_calls()) {
        // More is available than any rule wants.
        config.free_min_percent = 60.0;
        let plenty: Vec<_> = calls.into_iter().map(|(ms, _, index)| (ms, 700, index)).collect();
        let mut taken = Vec::new();
        run(&world, &config, &plenty, |_, decision| {
            taken.extend(once(decision).filter(|once| !once.favours_the_app()).cloned());
            taken.extend(decision.settings().map(|_| Once::Thaw { group: "a limit".to_owned() }));
        });
        prop_assert_eq!(taken, vec![]);
    }

    #[test]
    fn no_more_apps_end_in_a_minute_than_configured(
        world in any_world(),
        config in any_config(),
        calls in any_calls(),
    ) {
        let mut ends: Vec<u64> = Vec::new();
        run(&world, &config, &calls, |now, decision| {
            let count = once(decision).filter(|once| matches!(once, Once::EndApp { .. })).count();
            ends.extend(std::iter::repeat_n(now.at_ns, count));
        });
        for at_ns in &ends {
            let within = ends.iter().filter(|other| **other <= *at_ns && at_ns - *other < 60 * S_NS).count();
            prop_assert!(within <= config.ends_per_minute as usize, "{:?}", ends);
        }
    }

    #[test]
    fn a_state_is_read_back(world in any_world(), config in any_config(), calls in any_calls()) {
        let mut states = Vec::new();
        run(&world, &config, &calls, |_, decision| states.push(decision.state.clone()));
        for state in states.into_iter().rev().take(1) {
            let text = serde_json::to_string(&state).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<State>(&text).expect("the same").frozen, state.frozen);
        }
    }
}

#[test]
fn uses_are_learned_by_local_time_where_an_event_tells_it() {
    let mut machine = Machine::new(config(), &["a"]);
    let decision = machine.step(2_000, &[EventKind::LocalTime { utc_offset_s: 19_800 }]);
    assert_eq!(decision.state.context.utc_offset_s, Some(19_800));
}
