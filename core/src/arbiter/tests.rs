use super::*;
use crate::action::tests::any_once;
use proptest::prelude::*;

const ENGINES: [&str; 2] = ["smartio", "smartstorage"];

fn claim(engine: &str, setting: QueueSetting, value: &str, objective: Objective) -> Claim {
    let request = Request::set(Knob::queue("mmcblk0", setting), value, objective, Reason::rule("test"));
    Claim { engine: engine.to_owned(), request, arm: Arm::On }
}

fn action(engine: &str, once: Once, objective: Objective) -> Claim {
    Claim { engine: engine.to_owned(), request: Request::once(once, objective, Reason::rule("test")), arm: Arm::On }
}

fn resolved(fixed: &[(&str, &str)], protected: &[&str], claims: &[Claim]) -> Resolution {
    let fixed = fixed.iter().map(|(knob, value)| (knob.parse().expect("a knob"), (*value).to_owned())).collect();
    let protected = protected.iter().map(|&group| group.to_owned()).collect();
    let device = Device {
        name: "mmcblk0".to_owned(),
        originals: vec![("scheduler".to_owned(), "mq-deadline".to_owned())],
        ..Device::default()
    };
    resolve(Person { fixed: &fixed, protected: &protected }, &ENGINES, claims, &[device])
}

#[test]
fn each_rule_decides_where_those_before_it_do_not() {
    use Objective::{Delay, Energy};
    let scheduler = QueueSetting::Scheduler;
    let delay = claim("smartstorage", scheduler.clone(), "bfq", Delay);
    let energy = claim("smartio", scheduler.clone(), "none", Energy);
    let same = claim("smartio", scheduler.clone(), "kyber", Delay);
    let chosen = [("queue/mmcblk0/scheduler", "mq-deadline")];
    let cases = [
        (&chosen[..], vec![delay.clone()], "mq-deadline", Rule::FixedChoice),
        (&[], vec![energy.clone(), delay.clone()], "bfq", Rule::DelayBeforeEnergy),
        (&[], vec![delay.clone(), same], "kyber", Rule::OrderOfEngines),
        (&[], vec![energy], "none", Rule::OnlyRequest),
    ];
    for (fixed, claims, value, rule) in cases {
        let found = resolved(fixed, &[], &claims).settings;
        assert_eq!((found.len(), found[0].what.value.as_str(), found[0].rule), (1, value, rule));
    }
}

#[test]
fn a_tunable_without_its_scheduler_is_dropped_and_the_rule_says_so() {
    let tunable = claim("smartio", QueueSetting::tunable("mq-deadline", "fifo_batch"), "1", Objective::Delay);
    assert_eq!(resolved(&[], &[], std::slice::from_ref(&tunable)).settings.len(), 1);
    let other = claim("smartstorage", QueueSetting::Scheduler, "bfq", Objective::Energy);
    let found = resolved(&[], &[], &[tunable, other]);
    assert_eq!(found.settings.iter().map(|one| one.what.value.as_str()).collect::<Vec<_>>(), ["bfq"]);
    let [dropped] = found.dropped_settings.as_slice() else { panic!("{found:?}") };
    assert_eq!((dropped.what.value.as_str(), dropped.rule), ("1", Rule::TunableWithoutScheduler));
}

#[test]
fn what_is_held_out_is_dropped_as_if_it_were_not_requested() {
    let held = |claim: &Claim, arm| Claim { arm, ..claim.clone() };
    let group = || "a".to_owned();
    let (first, second) = (
        claim("smartio", QueueSetting::Scheduler, "bfq", Objective::Delay),
        claim("smartstorage", QueueSetting::Scheduler, "none", Objective::Energy),
    );
    // The engine that loses otherwise has its value.
    let found = resolved(&[], &[], &[held(&first, Arm::HeldOut), second.clone()]);
    let [kept] = found.settings.as_slice() else { panic!("{found:?}") };
    assert_eq!((kept.what.value.as_str(), kept.rule, &kept.over), ("none", Rule::OnlyRequest, &Vec::new()));
    assert!(found.dropped_settings.is_empty(), "one state for each knob");
    for (arm, rule) in [
        (Arm::HeldOut, Rule::HeldOut),
        (Arm::Observing, Rule::Observing),
        (Arm::Resting, Rule::Resting),
        (Arm::Off, Rule::SwitchedOff),
    ] {
        let found = resolved(&[], &[], &[held(&first, arm)]);
        assert_eq!((found.settings.len(), found.dropped_settings[0].rule), (0, rule));
        let freeze = action("mars", Once::Freeze { group: group() }, Objective::Delay);
        let thaw = action("mars", Once::Thaw { group: "b".to_owned() }, Objective::Delay);
        let found = resolved(&[], &[], &[held(&freeze, arm), held(&thaw, arm)]);
        assert_eq!((found.actions.len(), found.actions[0].what.name()), (1, "thaw"), "what restores is never held out");
        assert_eq!((found.dropped_actions.len(), found.dropped_actions[0].rule), (1, rule));
    }
    // It is in the way of no other engine.
    let reclaim = |engine| action(engine, Once::Reclaim { group: group(), size_bytes: 1 }, Objective::Delay);
    let found = resolved(&[], &[], &[held(&reclaim("smartio"), Arm::HeldOut), reclaim("smartstorage")]);
    assert_eq!((found.actions.len(), found.actions[0].engine.as_str()), (1, "smartstorage"));
}

#[test]
fn one_engine_swaps_out_in_each_round() {
    let reclaim = |group: &str| Once::Reclaim { group: group.to_owned(), size_bytes: 1 << 20 };
    let page_out = |group: &str| Once::PageOut { group: group.to_owned(), ranges: Vec::new() };
    let claims = [
        action("smartstorage", reclaim("a"), Objective::Delay),
        action("smartstorage", page_out("b"), Objective::Delay),
        action("smartstorage", Once::DropPageCache { group: "b".to_owned() }, Objective::Delay),
        action("smartio", page_out("c"), Objective::Delay),
        action("smartio", reclaim("d"), Objective::Delay),
    ];
    let names = |resolved: &[Resolved<Once>]| {
        resolved.iter().map(|one| format!("{} {}", one.what.name(), one.what.group())).collect::<Vec<_>>()
    };
    let found = resolved(&[], &[], &claims);
    assert_eq!(names(&found.actions), ["drop_page_cache b", "reclaim d", "page_out c"]);
    assert_eq!(names(&found.dropped_actions), ["reclaim a", "page_out b"]);
    let dropped = &found.dropped_actions[0];
    let over = vec![Overruled { engine: "smartio".to_owned(), value: "reclaim".to_owned() }];
    assert_eq!((dropped.rule, &dropped.over), (Rule::SwapOutByAnother, &over));
    // What cannot happen is in the way of none: the first engine's app is protected.
    let found = resolved(&[], &["c", "d"], &claims);
    assert_eq!(names(&found.actions), ["drop_page_cache b", "reclaim a", "page_out b"]);
    // For energy comes after for the foreground, whatever the order.
    let claims = [action("smartio", page_out("c"), Objective::Energy), claims[0].clone()];
    assert_eq!(names(&resolved(&[], &[], &claims).actions), ["reclaim a"]);
}

#[test]
fn overruled_requests_are_named() {
    let claims = [
        claim("smartstorage", QueueSetting::ReadAheadKb, "128", Objective::Energy),
        claim("smartio", QueueSetting::ReadAheadKb, "512", Objective::Delay),
    ];
    let over = Overruled { engine: "smartstorage".to_owned(), value: "128".to_owned() };
    assert_eq!(resolved(&[], &[], &claims).settings[0].over, [over]);
}

#[test]
fn each_rule_for_actions_decides_where_those_before_it_do_not() {
    use Objective::{Delay, Energy};
    let group = || "a".to_owned();
    let (freeze, thaw) = (Once::Freeze { group: group() }, Once::Thaw { group: group() });
    let end = Once::EndApp { group: group(), grace_ms: 500 };
    let names = |found: &[Resolved<Once>]| found.iter().map(|one| (one.what.name(), one.rule)).collect::<Vec<_>>();
    type Case = (&'static [&'static str], Vec<Claim>, &'static str, (&'static str, Rule));
    let cases: [Case; 5] = [
        (
            &["a"],
            vec![action("iram", freeze.clone(), Delay), action("mars", thaw.clone(), Energy)],
            "thaw",
            ("freeze", Rule::Protected),
        ),
        (
            &[],
            vec![action("smartio", thaw.clone(), Energy), action("mars", freeze.clone(), Delay)],
            "freeze",
            ("thaw", Rule::DelayBeforeEnergy),
        ),
        (
            &[],
            vec![action("smartstorage", freeze.clone(), Delay), action("smartio", thaw.clone(), Delay)],
            "thaw",
            ("freeze", Rule::OrderOfEngines),
        ),
        (
            &[],
            vec![action("smartio", freeze.clone(), Delay), action("smartio", thaw, Delay)],
            "thaw",
            ("freeze", Rule::OrderOfEngines),
        ),
        (
            &[],
            vec![action("smartio", freeze, Delay), action("smartstorage", end, Energy)],
            "end_app",
            ("freeze", Rule::AppEnds),
        ),
    ];
    for (protected, claims, happens, dropped) in cases {
        let found = resolved(&[], protected, &claims);
        assert_eq!(names(&found.actions), [(happens, Rule::OnlyRequest)]);
        assert_eq!(names(&found.dropped_actions), [dropped]);
    }
}

#[test]
fn an_action_of_two_engines_happens_once() {
    let reclaim = |size_bytes| Once::Reclaim { group: "a".to_owned(), size_bytes };
    let claims =
        [action("smartstorage", reclaim(1), Objective::Delay), action("smartio", reclaim(2), Objective::Delay)];
    let found = resolved(&[], &[], &claims);
    let [action] = found.actions.as_slice() else { panic!("{found:?}") };
    assert_eq!((&action.what, action.rule, action.over.len()), (&reclaim(2), Rule::OrderOfEngines, 1));
    assert!(found.dropped_actions.is_empty());
}

fn objective() -> impl Strategy<Value = Objective> {
    prop_oneof![Just(Objective::Delay), Just(Objective::Energy)]
}

fn engine() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["smartio", "smartstorage", "mars"][..])
}

fn settings() -> impl Strategy<Value = Vec<Claim>> {
    let setting = prop_oneof![
        Just(QueueSetting::Scheduler),
        Just(QueueSetting::NrRequests),
        Just(QueueSetting::tunable("bfq", "low_latency")),
    ];
    let one = (engine(), setting, "[a-c]", objective());
    prop::collection::vec(
        one.prop_map(|(engine, setting, value, objective)| claim(engine, setting, &value, objective)),
        0..8,
    )
}

fn actions() -> impl Strategy<Value = Vec<Claim>> {
    let one = (engine(), any_once(), objective()).prop_map(|(engine, once, objective)| action(engine, once, objective));
    prop::collection::vec(one, 0..10)
}

fn rotated(claims: &[Claim], by: usize) -> Vec<Claim> {
    let mut turned = claims.to_vec();
    if !turned.is_empty() {
        turned.rotate_left(by % claims.len());
    }
    turned
}

proptest! {
    #[test]
    fn each_knob_has_one_value_whatever_the_order(claims in settings(), by in any::<usize>()) {
        let first = resolved(&[], &[], &claims);
        let second = resolved(&[], &[], &rotated(&claims, by));
        let what = |found: &Resolution| {
            let all = found.settings.iter().chain(&found.dropped_settings);
            all.map(|one| (one.what.clone(), one.engine.clone(), one.rule)).collect::<Vec<_>>()
        };
        prop_assert_eq!(what(&first), what(&second));
        let mut knobs: Vec<_> = first.settings.iter().map(|one| &one.what.knob).collect();
        knobs.dedup();
        prop_assert_eq!(knobs.len(), first.settings.len());
    }

    #[test]
    fn every_outcome_was_requested_or_fixed(settings in settings(), once in actions(), fixed in prop::bool::ANY) {
        let chosen = [("queue/mmcblk0/nr_requests", "64")];
        let claims: Vec<Claim> = settings.into_iter().chain(once).collect();
        let found = resolved(if fixed { &chosen } else { &[] }, &["b"], &claims);
        for one in found.settings.iter().chain(&found.dropped_settings) {
            let is_requested = claims.iter().any(|claim| claim.request.setting() == Some(&one.what));
            prop_assert!(is_requested || one.rule == Rule::FixedChoice, "{:?}", one);
        }
        for one in found.actions.iter().chain(&found.dropped_actions) {
            let action = Action::Once(one.what.clone());
            prop_assert!(claims.iter().any(|claim| claim.request.action == action), "{:?}", one);
        }
    }

    #[test]
    fn no_app_is_favoured_and_restricted_at_once(claims in actions()) {
        let actions = resolved(&[], &["b"], &claims).actions;
        for (a, b) in actions.iter().flat_map(|a| actions.iter().map(move |b| (a, b))) {
            prop_assert!(a.what.group() != b.what.group() || a.what.favours_the_app() == b.what.favours_the_app());
        }
    }

    #[test]
    fn a_protected_app_is_never_restricted(claims in actions()) {
        let found = resolved(&[], &["a", "b"], &claims);
        prop_assert!(found.actions.iter().all(|one| one.what.favours_the_app() || one.what.group() == "c"));
    }

    #[test]
    fn actions_do_not_depend_on_the_order(claims in actions(), by in any::<usize>()) {
        let (first, second) = (resolved(&[], &["b"], &claims), resolved(&[], &["b"], &rotated(&claims, by)));
        prop_assert_eq!(first, second);
    }
}
