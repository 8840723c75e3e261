use std::collections::BTreeMap;

use brisk_core::decision::Needs;
use brisk_core::event::EventKind;
use brisk_core::snapshot::Snapshot;
use serde::{Deserialize, Serialize};

use super::*;
use crate::kit::world::{self, focused};

/// An engine that counts how often each app comes to the foreground, and has it frozen since.
#[derive(Debug)]
struct Counts;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    measured: u64,
}

impl Section for Config {}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Known {
    version: Version<1>,
    apps: Apps<u64>,
}

impl Learned for Known {
    fn forget(&mut self, app: Option<&str>) -> bool {
        self.apps.forget(app)
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
struct State {
    known: Known,
    calls: u64,
    frozen: BTreeMap<String, u64>,
}

impl Engine for Counts {
    const NAME: &'static str = "counts";
    type Config = Config;
    type State = State;
    type Learned = Known;
    type Measured = Config;

    fn decide(_config: &Config, mut state: State, observed: &Observed<'_>) -> Decision<State> {
        state.calls += 1;
        for event in observed.events {
            if let EventKind::Focused { group } = &event.kind {
                *state.known.apps.used(group, || 0) += 1;
                state.frozen.insert(group.clone(), event.at_ns);
            }
        }
        Decision { state, requests: Vec::new(), notes: Vec::new(), next_look_ns: None, needs: Needs::default() }
    }

    fn measured(config: &mut Config, measured: Config) -> Result<(), String> {
        if measured.measured == 0 {
            return Err("nothing was measured".to_owned());
        }
        config.measured += measured.measured;
        Ok(())
    }

    fn begin(_config: &Config, known: Known) -> State {
        State { known, ..State::default() }
    }

    fn learned(state: &mut State) -> Option<&mut Known> {
        Some(&mut state.known)
    }

    fn frozen(state: &mut State) -> Option<&mut BTreeMap<String, u64>> {
        Some(&mut state.frozen)
    }
}

fn see(engine: &mut Running<Counts>, at_ns: u64, kinds: &[EventKind]) {
    let (now, events) = (Snapshot { at_ns, ..Snapshot::default() }, world::events(at_ns, kinds));
    engine.decide(&Observed { previous: None, now: &now, events: &events, devices: &[], apps: &[] });
}

fn new(files: &[(&str, &str)]) -> (Running<Counts>, Vec<String>) {
    let files = files.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect();
    let mut unusable = Vec::new();
    let engine = Running::new(Config::default(), &files, &mut unusable);
    (engine, unusable.into_iter().map(|one| one.why).collect())
}

#[test]
fn a_clock_that_runs_backwards_voids_all_but_what_was_learned() {
    let (mut engine, _) = new(&[]);
    see(&mut engine, 9, &[focused("a")]);
    see(&mut engine, 9, &[]);
    assert_eq!((engine.state.calls, engine.state.frozen.len()), (2, 1));
    let known = engine.state.known.clone();
    see(&mut engine, 5, &[]);
    assert_eq!(engine.state, State { known, calls: 1, frozen: BTreeMap::new() });
}

#[test]
fn what_was_learned_goes_out_and_in_again() {
    let (mut engine, _) = new(&[]);
    see(&mut engine, 1, &[focused("a"), focused("b")]);
    let text = engine.learned().expect("it learns");
    let (mut again, complaints) = new(&[("counts/learned.json", &text), ("other/learned.json", "{")]);
    assert!(again.state.known == engine.state.known && complaints.is_empty(), "{complaints:?}");
    let rest = without::<Counts>(&text, "app-a.scope").expect("a text").expect("known");
    assert!(!rest.contains("app-a.scope") && rest.contains("app-b.scope"), "{rest}");
    assert_eq!(without::<Counts>(&rest, "app-a.scope").expect("a text"), None);
    assert!(again.forget(Some("app-a.scope")) && !again.forget(Some("app-a.scope")));
    assert_eq!(again.learned(), Some(rest));
    assert!(again.forget(None) && !again.forget(None));
}

#[test]
fn files_that_cannot_be_used_are_left_out_with_a_complaint() {
    let files = [
        ("counts/a.toml", "measured = 3"),
        ("counts/b.json", "{\"measured\":4}"),
        ("counts/c.toml", "measured = 0"),
        ("counts/d.json", "{"),
        ("counts/learned.json", "{\"version\":2}"),
        ("other/a.toml", "measured = 7"),
    ];
    let (engine, complaints) = new(&files);
    assert_eq!((engine.config.measured, engine.state), (7, State::default()));
    let begins: Vec<&str> = complaints.iter().filter_map(|complaint| complaint.split(" cannot").next()).collect();
    assert_eq!(begins, ["the profile counts/c.toml", "the profile counts/d.json", "what counts has learned"]);
    assert!(complaints[0].ends_with("left out: nothing was measured") && complaints[2].contains("version 2"));
}

#[test]
fn an_engine_that_ends_leaves_nothing_frozen() {
    let (mut engine, _) = new(&[]);
    see(&mut engine, 1, &[focused("a")]);
    let group = "app-a.scope".to_owned();
    assert_eq!((engine.end(), engine.end()), (vec![Once::Thaw { group }], Vec::new()));
}
