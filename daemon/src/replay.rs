//! A recorded session once more: the engines of this brisk see what was seen then, and what they decide is held against
//! what was decided. So a record is a test of the engines, and shows what another configuration would have done.
//! Engines begin with what they had learned when the recorded session began.

use std::collections::BTreeMap;

use brisk_core::action::{Once, Setting};
use brisk_core::arbiter::{Resolved, Rule};
use brisk_core::decision::Observed;
use brisk_core::event::{Event, EventKind};
use brisk_core::knob::Knob;
use brisk_core::snapshot::Snapshot;
use brisk_core::state::{ActionState, SettingState};
use brisk_engine::kit::learned::is_learned;
use brisk_record::{Configuration, Item, Scene};
use serde::Serialize;

use crate::config::Config;
use crate::engines::Engines;

/// A value with whose it is and which rule decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Choice {
    pub value: String,
    /// An engine, or `config`.
    pub engine: String,
    /// The rule of the arbiter that decided.
    pub rule: Rule,
    /// The rule by which the engine requested it.
    pub reason: String,
}

/// From a moment on, a knob is decided otherwise than it was, or as it was again; or an action was requested at that
/// moment in one of the two only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// When, by the clock on the wall of then.
    pub wall_unix_ms: u64,
    pub knob: String,
    /// The recorded decision; `None` when nothing was requested.
    pub recorded: Option<Choice>,
    /// The decision now.
    pub replayed: Option<Choice>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Replayed {
    pub sessions: u64,
    /// Sessions of which the beginning is not in the record, so that engines had to begin with nothing seen.
    pub cut_sessions: u64,
    /// Times that engines were asked.
    pub rounds: u64,
    /// Of these, the ones that came out otherwise.
    pub differing_rounds: u64,
    /// Where what is decided began to differ in another way.
    pub differences: Vec<Difference>,
    /// What could not be used, a sentence each.
    pub complaints: Vec<String>,
}

/// Replays a record, item by item.
pub struct Replay {
    /// The configuration instead of that of the record.
    instead: Option<Config>,
    config: Config,
    configuration: Configuration,
    engines: Engines,
    scene: Scene,
    events: Vec<Event>,
    previous: Option<Snapshot>,
    /// When the last round was, until it has been compared.
    open: Option<u64>,
    recorded: BTreeMap<Knob, Choice>,
    replayed: BTreeMap<Knob, Choice>,
    /// Actions of the last round.
    recorded_actions: BTreeMap<String, Choice>,
    replayed_actions: BTreeMap<String, Choice>,
    /// How the two differed after the round before.
    differed: BTreeMap<Knob, (Option<Choice>, Option<Choice>)>,
    found: Replayed,
}

impl Replay {
    /// Begins; with `instead` all sessions are replayed under that configuration.
    #[must_use]
    pub fn new(instead: Option<Config>) -> Self {
        let config = instead.clone().unwrap_or_default();
        Self {
            instead,
            engines: Engines::new(&config, &BTreeMap::new()).0,
            config,
            configuration: Configuration::default(),
            scene: Scene::default(),
            events: Vec::new(),
            previous: None,
            open: None,
            recorded: BTreeMap::new(),
            replayed: BTreeMap::new(),
            recorded_actions: BTreeMap::new(),
            replayed_actions: BTreeMap::new(),
            differed: BTreeMap::new(),
            found: Replayed::default(),
        }
    }

    /// Takes the next item of the record.
    pub fn take(&mut self, item: Item) {
        match item {
            Item::Decided(decided) => {
                let is_kept = |state: &&SettingState| !state.outcome.is_dropped();
                self.recorded = choices(decided.settings.iter().filter(is_kept).map(|state| &state.resolved));
                let was_requested = |state: &&ActionState| !state.outcome.is_dropped();
                self.recorded_actions =
                    actions(decided.actions.iter().filter(was_requested).map(|state| &state.resolved));
                self.compare();
            }
            item => {
                self.compare();
                match item {
                    Item::Session(session) => self.begin(session.part),
                    Item::Configuration(configuration) => self.configure(configuration),
                    Item::Scene(scene) => self.scene = scene,
                    Item::Event(event) => {
                        if matches!(event.kind, EventKind::Resumed { .. }) {
                            self.previous = None;
                        }
                        self.events.push(event);
                    }
                    Item::Snapshot(snapshot) => self.round(*snapshot),
                    _ => {}
                }
            }
        }
    }

    /// What was found, once the record is at its end.
    #[must_use]
    pub fn end(mut self) -> Replayed {
        self.compare();
        self.found
    }

    fn begin(&mut self, part: u64) {
        if part > 0 && self.found.sessions > 0 {
            // The session before goes on in this file.
            return;
        }
        self.found.sessions += 1;
        self.found.cut_sessions += u64::from(part > 0);
        self.start_engines();
        (self.events, self.previous) = (Vec::new(), None);
        (self.recorded, self.replayed) = (BTreeMap::new(), BTreeMap::new());
        self.differed.clear();
    }

    fn configure(&mut self, configuration: Configuration) {
        let config = match &self.instead {
            Some(config) => config.clone(),
            None => Config::parse(&configuration.text).unwrap_or_else(|complaint| {
                self.complain(format!("the recorded configuration cannot be used by this brisk: {complaint}"));
                Config::default()
            }),
        };
        // As the daemon does: the state of engines stays unless something that concerns them changes.
        let is_measured = |(name, _): &(&String, &String)| !is_learned(name);
        let (new, old) = (&configuration.files, &self.configuration.files);
        let differs = config != self.config || !new.iter().filter(is_measured).eq(old.iter().filter(is_measured));
        (self.config, self.configuration) = (config, configuration);
        if differs {
            self.start_engines();
        }
    }

    fn start_engines(&mut self) {
        let (engines, unusable) = Engines::new(&self.config, &self.configuration.files);
        self.engines = engines;
        unusable.into_iter().for_each(|one| self.complain(one.why));
    }

    fn complain(&mut self, what: String) {
        if !self.found.complaints.contains(&what) {
            self.found.complaints.push(what);
        }
    }

    fn round(&mut self, now: Snapshot) {
        let events = std::mem::take(&mut self.events);
        let observed = Observed {
            previous: self.previous.as_ref(),
            now: &now,
            events: &events,
            devices: &self.scene.devices,
            apps: &self.scene.apps,
        };
        let round = self.engines.decide(&self.config, &observed, &self.scene.left_out);
        self.replayed = choices(round.resolution.settings.iter());
        self.replayed_actions = actions(round.resolution.actions.iter());
        self.recorded_actions.clear();
        self.found.rounds += 1;
        self.open = Some(now.wall_unix_ms);
        self.previous = Some(now);
    }

    /// Holds the last round against what is recorded of it.
    fn compare(&mut self) {
        let Some(wall_unix_ms) = self.open.take() else { return };
        let knobs = self.recorded.keys().chain(self.replayed.keys());
        let pair = |knob: &Knob| (self.recorded.get(knob).cloned(), self.replayed.get(knob).cloned());
        let differs: BTreeMap<Knob, _> = knobs
            .map(|knob| (knob.clone(), pair(knob)))
            .filter(|(_, (recorded, replayed))| recorded != replayed)
            .collect();
        let (recorded, replayed) = (&self.recorded_actions, &self.replayed_actions);
        let names = recorded.keys().chain(replayed.keys().filter(|name| !recorded.contains_key(*name)));
        let pairs = names.map(|name| (name, recorded.get(name).cloned(), replayed.get(name).cloned()));
        let differing = pairs.filter(|(_, recorded, replayed)| recorded != replayed);
        let of_actions: Vec<Difference> = differing
            .map(|(name, recorded, replayed)| Difference { wall_unix_ms, knob: name.clone(), recorded, replayed })
            .collect();
        self.found.differing_rounds += u64::from(!differs.is_empty() || !of_actions.is_empty());
        let ended = self.differed.keys().filter(|knob| !differs.contains_key(*knob));
        let ended: Vec<Difference> = ended.map(|knob| difference(wall_unix_ms, knob, pair(knob))).collect();
        let began = differs.iter().filter(|(knob, pair)| self.differed.get(*knob) != Some(*pair));
        let began: Vec<Difference> = began.map(|(knob, pair)| difference(wall_unix_ms, knob, pair.clone())).collect();
        self.found.differences.extend(ended.into_iter().chain(began).chain(of_actions));
        self.differed = differs;
    }
}

fn difference(wall_unix_ms: u64, knob: &Knob, (recorded, replayed): (Option<Choice>, Option<Choice>)) -> Difference {
    Difference { wall_unix_ms, knob: knob.to_string(), recorded, replayed }
}

fn choices<'a>(resolved: impl Iterator<Item = &'a Resolved<Setting>>) -> BTreeMap<Knob, Choice> {
    resolved.map(|one| (one.what.knob.clone(), choice(one, one.what.value.clone()))).collect()
}

/// Actions by what they do and to which group.
fn actions<'a>(resolved: impl Iterator<Item = &'a Resolved<Once>>) -> BTreeMap<String, Choice> {
    let named = |one: &Resolved<Once>| format!("{} {}", one.what.name().replace('_', " "), one.what.group());
    resolved.map(|one| (named(one), choice(one, one.what.to_string()))).collect()
}

fn choice<T>(one: &Resolved<T>, value: String) -> Choice {
    Choice { value, engine: one.engine.clone(), rule: one.rule, reason: one.reason.rule.to_string() }
}

#[cfg(test)]
mod tests;
