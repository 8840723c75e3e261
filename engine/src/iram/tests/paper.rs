//! `mode = "paper"`: the rules of the chapter.

use super::*;
use crate::kit::predict::Moment;

fn paper(aggression_level: u8) -> Config {
    Config { mode: Mode::Paper, aggression_level, ends_per_minute: 100, ..Config::default() }
}

/// Ids of apps on Android with these values of oom_score_adj.
fn android(config: Config, adjs: &[i16]) -> Machine {
    let ids: Vec<String> = adjs.iter().map(|adj| format!("uid_{adj}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut machine = Machine::new(config, &ids);
    for (app, adj) in machine.apps.iter_mut().zip(adjs) {
        (app.activity.oom_score_adj, app.activity.is_rated) = (Some(*adj), true);
    }
    machine
}

#[test]
fn each_candidate_is_ended_from_the_lowest_importance() {
    let mut machine = android(paper(1), &[0, 900, 500, 950, 700]);
    let decision = machine.step(300, &[]);
    let ended = ["uid_950", "uid_700", "uid_900"].map(|id| format!("end_app app-{id}.scope"));
    let mut found = actions(&decision);
    assert_eq!(found[0], ended[0], "Empty before Background");
    found.sort();
    let mut ended = ended.to_vec();
    ended.sort();
    assert_eq!(found, ended);
    assert!(once(&decision).all(|once| matches!(once, Once::EndApp { grace_ms: 5_000, .. })));
    assert_eq!(decision.next_look_ns, Some(machine.now.at_ns + 20 * S_NS));
    assert_eq!(actions(&machine.step(300, &[])), Vec::<String>::new(), "not before the next check");
}

#[test]
fn the_nine_likely_next_apps_stay() {
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let mut machine = Machine::new(paper(1), &ids);
    // The last one is in front, the nine before it are the likeliest: by then the predictor knows nothing else.
    let events: Vec<EventKind> = ids.iter().map(|id| focused(id)).collect();
    machine.app("l").activity.focused = Some(true);
    let decision = machine.step(300, &events);
    let moment = Moment::at(&machine.now, machine.now.at_ns, None);
    let next: Vec<&str> = decision.state.learned.predictor.next(moment, 9).iter().map(|chance| chance.app).collect();
    assert_eq!(next.len(), 9);
    let mut stay: Vec<&str> = ids.into_iter().filter(|id| next.contains(id) || *id == "l").collect();
    stay.sort_unstable();
    let ended = |id: &&str| actions(&decision).contains(&format!("end_app app-{id}.scope"));
    assert_eq!(ids.into_iter().filter(|id| !ended(id)).collect::<Vec<_>>(), stay);
    assert_eq!(actions(&decision).len(), 2);
}

#[test]
fn level_2_frees_caches_too() {
    let mut machine = android(paper(2), &[0, 900, 500]);
    let expected = ["drop_page_cache app-uid_500.scope", "end_app app-uid_900.scope"];
    assert_eq!(actions(&machine.step(300, &[])), expected);
}

#[test]
fn level_3_ends_all_below_the_foreground() {
    let mut machine = android(paper(3), &[-900, -800, 0, 100, 200, 500, 900, 950]);
    // What Android holds that its user hears stays.
    let expected = [950, 900, 500, 100].map(|adj| format!("end_app app-uid_{adj}.scope"));
    assert_eq!(actions(&machine.step(300, &[])), expected);
}

#[test]
fn nothing_is_cleaned_above_60_percent() {
    let mut machine = android(paper(3), &[900, 950]);
    assert_eq!(actions(&machine.step(600, &[])), Vec::<String>::new());
    assert_eq!(actions(&machine.after(20_000, 599, &[])).len(), 2);
}

#[test]
fn with_the_screen_off_it_checks_once_a_minute() {
    let mut machine = android(paper(1), &[900]);
    let decision = machine.step(900, &[EventKind::Screen { on: false }]);
    assert_eq!(decision.next_look_ns, Some(machine.now.at_ns + 60 * S_NS));
    assert_eq!(actions(&machine.after(59_000, 300, &[])).len(), 0);
    assert_eq!(actions(&machine.after(1_000, 300, &[])).len(), 1);
}

#[test]
fn the_rest_of_the_candidates_waits_for_the_next_minute() {
    let config = Config { ends_per_minute: 2, ..paper(1) };
    let mut machine = android(config, &[900, 901, 902, 903, 904]);
    let first = machine.step(300, &[]);
    assert_eq!(actions(&first).len(), 2);
    assert_eq!(first.notes[0].to_string(), "ends are limited (apps 3, ends_per_minute 2)");
    assert_eq!(actions(&machine.after(20_000, 300, &[])).len(), 0);
    assert_eq!(actions(&machine.after(40_000, 300, &[])).len(), 2, "others, or those that did not end");
}
