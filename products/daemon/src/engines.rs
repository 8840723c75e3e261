//! The engines that run, and the decision of engines and arbiter on one moment.
//!
//! An engine crate is pure: configuration, state and observation give requests and the next state. [`Of`] holds configuration
//! and state of one of them, so that all look alike here; adding an engine is its name in [`NAMES`] and its arm in `engine`.
//! What an engine has learned goes in and out as a text ([`LEARNED`]); the daemon keeps it in a file, and a record holds what there was
//! at the beginning. The daemon and `brisk replay` call the same [`Engines::decide`].

use std::collections::{BTreeMap, BTreeSet};

use brisk_api::SwapWrites;
use brisk_core::action::Once;
use brisk_core::app::{App, Tolerance};
use brisk_core::arbiter::{self, Claim, Person, Resolution};
use brisk_core::decision::{Decision, Note, Observed, Request};
use brisk_core::event::Event;
use brisk_core::reason::Reason;
use brisk_core::snapshot::Part;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::config::Config;

/// All engines of this brisk, in their order of precedence.
pub const NAMES: &[&str] =
    &[brisk_prefetch::NAME, brisk_smartio::NAME, "smartstorage", brisk_mars::NAME, brisk_iram::NAME];
/// Those that run unless the configuration says otherwise. The engines for memory freeze and end apps, so a person has to name them.
pub const DEFAULT: &[&str] = &[brisk_smartio::NAME, "smartstorage"];
/// What an engine has learned is a file of this name in its folder.
pub const LEARNED: &str = "learned.json";

/// One engine with its configuration and state.
pub trait Engine {
    /// Its requests, and messages to people.
    fn decide(&mut self, observed: &Observed<'_>) -> (Vec<Request>, Vec<Reason>);
    /// Latest time of the next call, CLOCK_MONOTONIC.
    fn next_look_ns(&self) -> Option<u64>;
    /// What it has learned and is to know again after a restart; `None` for one that learns nothing.
    fn learned(&self) -> Option<String> {
        None
    }
    /// Forgets what it has learned of an app, or all. Says whether there was anything.
    fn forget(&mut self, _app: Option<&str>) -> bool {
        false
    }
    /// Whether it decides by what apps do for their users (`brisk_core::app::Activity`), which costs a file of each of their processes.
    fn needs_activities(&self) -> bool {
        false
    }
    /// Whether it decides by the memory of the machine: while that cannot be read, it is not asked.
    fn needs_memory(&self) -> bool {
        self.needs_activities()
    }
    /// What it makes of each app; `None` for one that takes no notice of apps.
    fn survey(&self, _observed: &Observed<'_>) -> Option<brisk_iram::Survey> {
        None
    }
    /// Where it sees the pages of each app; `None` for one that does not look at pages.
    fn pages(&self, _observed: &Observed<'_>) -> Option<brisk_mars::Survey> {
        None
    }
    /// What it writes to swap.
    fn wear(&self) -> Option<SwapWrites> {
        None
    }
    /// Groups whose page tables are to be scanned before the next call.
    fn scans(&self) -> Vec<String> {
        Vec::new()
    }
    /// Whether it learns from the pages that returns to apps touch, which costs two scans of the page tables for each return.
    fn learns_from_returns(&self) -> bool {
        false
    }
    /// Whether its actions are done by threads of the actuator.
    fn needs_worker(&self) -> bool {
        self.needs_activities()
    }
    /// Groups of which the files that their launch used are to be read before the next call.
    fn launch_reads(&self) -> Vec<String> {
        Vec::new()
    }
    /// Groups of which it will want to know that: their opens of files are watched meanwhile.
    fn launch_watches(&self) -> Vec<String> {
        Vec::new()
    }
    /// What it knows of launches; `None` for one that reads nothing ahead of them.
    fn launches(&self) -> Option<brisk_prefetch::Survey> {
        None
    }
    /// Edges that undo what lasts, before it is dropped.
    fn end(&mut self) -> Vec<Once> {
        Vec::new()
    }
}

/// Makes an [`Engine`] of the functions of an engine crate.
pub struct Of<C, S> {
    config: C,
    state: S,
    decide: fn(&C, &S, &Observed<'_>) -> Decision<S>,
    next_look_ns: fn(&S) -> Option<u64>,
}

impl<C: 'static, S: Default + 'static> Of<C, S> {
    /// An engine that has seen nothing yet.
    pub fn boxed(
        config: C,
        decide: fn(&C, &S, &Observed<'_>) -> Decision<S>,
        next_look_ns: fn(&S) -> Option<u64>,
    ) -> Box<dyn Engine> {
        Box::new(Self { config, state: S::default(), decide, next_look_ns })
    }
}

impl<C, S> Engine for Of<C, S> {
    fn decide(&mut self, observed: &Observed<'_>) -> (Vec<Request>, Vec<Reason>) {
        let Decision { state, requests, notes } = (self.decide)(&self.config, &self.state, observed);
        self.state = state;
        (requests, notes)
    }

    fn next_look_ns(&self) -> Option<u64> {
        (self.next_look_ns)(&self.state)
    }
}

/// One step of an engine whose state is too large to copy.
fn go_on<C, S: Default>(
    config: &C,
    state: &mut S,
    decide: fn(&C, S, &Observed<'_>) -> Decision<S>,
    observed: &Observed<'_>,
) -> (Vec<Request>, Vec<Reason>) {
    let Decision { state: next, requests, notes } = decide(config, std::mem::take(state), observed);
    *state = next;
    (requests, notes)
}

/// What an engine has learned, for its file.
fn text_of(learned: &impl Serialize) -> String {
    serde_json::to_string(learned).expect("maps with texts as keys are JSON")
}

/// Edges that thaw what an engine froze.
fn thaws(frozen: &mut BTreeMap<String, u64>) -> Vec<Once> {
    std::mem::take(frozen).into_keys().map(|group| Once::Thaw { group }).collect()
}

/// The memory engine, which learns.
struct Iram {
    config: brisk_iram::Config,
    state: brisk_iram::State,
}

impl Engine for Iram {
    fn decide(&mut self, observed: &Observed<'_>) -> (Vec<Request>, Vec<Reason>) {
        go_on(&self.config, &mut self.state, brisk_iram::go_on, observed)
    }

    fn next_look_ns(&self) -> Option<u64> {
        self.state.next_look_ns()
    }

    fn learned(&self) -> Option<String> {
        Some(text_of(&self.state.learned))
    }

    fn forget(&mut self, app: Option<&str>) -> bool {
        let learned = &mut self.state.learned;
        let new = brisk_iram::learned::Learned::new(self.config.mode);
        match app {
            Some(app) => learned.forget(app),
            None => std::mem::replace(learned, new.clone()) != new,
        }
    }

    fn needs_activities(&self) -> bool {
        true
    }

    fn survey(&self, observed: &Observed<'_>) -> Option<brisk_iram::Survey> {
        Some(brisk_iram::survey(&self.config, &self.state, observed))
    }

    fn end(&mut self) -> Vec<Once> {
        thaws(&mut self.state.frozen)
    }
}

/// The engine for swap, which learns.
struct Mars {
    config: brisk_mars::Config,
    state: brisk_mars::State,
}

impl Engine for Mars {
    fn decide(&mut self, observed: &Observed<'_>) -> (Vec<Request>, Vec<Reason>) {
        go_on(&self.config, &mut self.state, brisk_mars::go_on, observed)
    }

    fn next_look_ns(&self) -> Option<u64> {
        self.state.next_look_ns()
    }

    fn learned(&self) -> Option<String> {
        Some(text_of(&self.state.learned))
    }

    fn forget(&mut self, app: Option<&str>) -> bool {
        match app {
            Some(app) => self.state.forget(app),
            None => self.state.forget_all(),
        }
    }

    fn needs_activities(&self) -> bool {
        true
    }

    fn pages(&self, observed: &Observed<'_>) -> Option<brisk_mars::Survey> {
        Some(brisk_mars::survey(&self.config, &self.state, observed))
    }

    fn wear(&self) -> Option<SwapWrites> {
        let budget = &self.state.learned.budget;
        let left_bytes = (self.config.wear_mib_per_day > 0).then(|| budget.left_bytes());
        Some(SwapWrites { written_bytes: budget.written_bytes, left_bytes })
    }

    fn scans(&self) -> Vec<String> {
        self.state.scans().map(str::to_owned).collect()
    }

    fn learns_from_returns(&self) -> bool {
        true
    }

    fn end(&mut self) -> Vec<Once> {
        thaws(&mut self.state.frozen)
    }
}

/// The engine for launch prefetch, which learns.
struct Prefetch {
    config: brisk_prefetch::Config,
    state: brisk_prefetch::State,
}

impl Engine for Prefetch {
    fn decide(&mut self, observed: &Observed<'_>) -> (Vec<Request>, Vec<Reason>) {
        go_on(&self.config, &mut self.state, brisk_prefetch::go_on, observed)
    }

    fn next_look_ns(&self) -> Option<u64> {
        self.state.next_look_ns()
    }

    fn learned(&self) -> Option<String> {
        Some(text_of(&self.state.learned))
    }

    fn forget(&mut self, app: Option<&str>) -> bool {
        match app {
            Some(app) => self.state.forget(app),
            None => self.state.forget_all(),
        }
    }

    fn needs_worker(&self) -> bool {
        true
    }

    fn needs_memory(&self) -> bool {
        true
    }

    fn launch_reads(&self) -> Vec<String> {
        self.state.reads().map(str::to_owned).collect()
    }

    fn launch_watches(&self) -> Vec<String> {
        self.state.watches().map(str::to_owned).collect()
    }

    fn launches(&self) -> Option<brisk_prefetch::Survey> {
        Some(brisk_prefetch::survey(&self.config, &self.state))
    }
}

/// The decision on one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Round {
    /// Levels and edges as the arbiter resolved them.
    pub resolution: Resolution,
    /// Messages of engines.
    pub notes: Vec<Note>,
    /// When an engine wants to be asked again.
    pub next_look_ns: Option<u64>,
}

/// Events that are kept for engines that are not asked: the oldest are dropped.
const MISSED_MAX: usize = 1000;
/// When engines are asked again after the memory of the machine could not be read.
const UNREAD_NS: u64 = 10_000_000_000;

/// The engines that run.
pub struct Engines {
    engines: Vec<(String, Box<dyn Engine>)>,
    /// Events that engines have not seen because they were not asked: the memory of the machine could not be read.
    missed: Vec<Event>,
}

impl Engines {
    /// Those that the configuration names, with nothing seen yet, and complaints about `files` (what was measured on devices,
    /// by folder and name) that cannot be used: such a file is left out.
    #[must_use]
    pub fn new(config: &Config, files: &BTreeMap<String, String>) -> (Self, Vec<String>) {
        let mut complaints = Vec::new();
        let names = config.engines.order.iter();
        let engines = names.filter_map(|name| Some((name.clone(), engine(name, config, files, &mut complaints)?)));
        (Self { engines: engines.collect(), missed: Vec::new() }, complaints)
    }

    /// These, for tests of what is around engines.
    #[must_use]
    pub fn these(engines: Vec<(String, Box<dyn Engine>)>) -> Self {
        Self { engines, missed: Vec::new() }
    }

    /// Their names in order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.engines.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// What engines have learned, by folder and name as in `files` of [`Engines::new`].
    #[must_use]
    pub fn learned(&self) -> BTreeMap<String, String> {
        let of = |(name, engine): &(String, Box<dyn Engine>)| Some((learned_name(name), engine.learned()?));
        self.engines.iter().filter_map(of).collect()
    }

    /// Has engines forget what they have learned of an app, or all. Says whether there was anything.
    pub fn forget(&mut self, app: Option<&str>) -> bool {
        // All of them are asked.
        self.engines.iter_mut().fold(false, |known, (_, engine)| engine.forget(app) || known)
    }

    /// Whether any of them decides by what apps do for their users.
    #[must_use]
    pub fn need_activities(&self) -> bool {
        self.engines.iter().any(|(_, engine)| engine.needs_activities())
    }

    /// What the first engine that takes notice of apps makes of each.
    #[must_use]
    pub fn survey(&self, observed: &Observed<'_>) -> Option<brisk_iram::Survey> {
        self.engines.iter().find_map(|(_, engine)| engine.survey(observed))
    }

    /// Where an engine that looks at pages sees those of each app.
    #[must_use]
    pub fn pages(&self, observed: &Observed<'_>) -> Option<brisk_mars::Survey> {
        self.engines.iter().find_map(|(_, engine)| engine.pages(observed))
    }

    /// What the engine for swap writes; `None` while it does not run.
    #[must_use]
    pub fn wear(&self) -> Option<SwapWrites> {
        self.engines.iter().find_map(|(_, engine)| engine.wear())
    }

    /// Groups whose page tables engines want to have scanned before they are asked again.
    #[must_use]
    pub fn scans(&self) -> BTreeSet<String> {
        self.engines.iter().flat_map(|(_, engine)| engine.scans()).collect()
    }

    /// Whether actions of any of them are done by threads of the actuator.
    #[must_use]
    pub fn need_worker(&self) -> bool {
        self.engines.iter().any(|(_, engine)| engine.needs_worker())
    }

    /// Groups of which engines want to know the files that their launch used.
    #[must_use]
    pub fn launch_reads(&self) -> BTreeSet<String> {
        self.engines.iter().flat_map(|(_, engine)| engine.launch_reads()).collect()
    }

    /// Groups of which engines will want to know that, so that their opens of files are watched.
    #[must_use]
    pub fn launch_watches(&self) -> BTreeSet<String> {
        self.engines.iter().flat_map(|(_, engine)| engine.launch_watches()).collect()
    }

    /// What the engine for launch prefetch knows; `None` while it does not run.
    #[must_use]
    pub fn launches(&self) -> Option<brisk_prefetch::Survey> {
        self.engines.iter().find_map(|(_, engine)| engine.launches())
    }

    /// Whether any of them learns from the pages that returns to apps touch.
    #[must_use]
    pub fn learn_from_returns(&self) -> bool {
        self.engines.iter().any(|(_, engine)| engine.learns_from_returns())
    }

    /// Edges that undo what lasts, each with its engine, before the engines are dropped.
    pub fn end(&mut self) -> Vec<(String, Once)> {
        let of = |(name, engine): &mut (String, Box<dyn Engine>)| {
            engine.end().into_iter().map(|once| (name.clone(), once)).collect::<Vec<_>>()
        };
        self.engines.iter_mut().flat_map(of).collect()
    }

    /// Asks all engines, and has the arbiter resolve their requests and the choices of the configuration. Settings of a device
    /// that is not managed are left out.
    pub fn decide(&mut self, config: &Config, observed: &Observed<'_>) -> Round {
        let mut round = Round::default();
        let mut claims = Vec::new();
        let is_unread = observed.now.unread.has(Part::Memory);
        let missed = std::mem::take(&mut self.missed);
        let late: Vec<Event> = missed.into_iter().chain(observed.events.iter().cloned()).collect();
        let of_memory = Observed {
            previous: observed.previous.filter(|previous| !previous.unread.has(Part::Memory)),
            events: &late,
            ..*observed
        };
        for (name, engine) in &mut self.engines {
            let needs_memory = engine.needs_memory();
            if needs_memory && is_unread {
                let again_ns = observed.now.at_ns.saturating_add(UNREAD_NS);
                round.next_look_ns = round.next_look_ns.into_iter().chain([again_ns]).min();
                round
                    .notes
                    .push(Note { engine: name.clone(), reason: Reason::rule("memory_of_the_machine_unreadable") });
                continue;
            }
            let (requests, notes) = engine.decide(if needs_memory { &of_memory } else { observed });
            claims.extend(requests.into_iter().map(|request| Claim { engine: name.clone(), request }));
            round.notes.extend(notes.into_iter().map(|reason| Note { engine: name.clone(), reason }));
            round.next_look_ns = round.next_look_ns.into_iter().chain(engine.next_look_ns()).min();
        }
        if is_unread {
            self.missed = late;
            self.missed.drain(..self.missed.len().saturating_sub(MISSED_MAX));
        }
        let managed = |device: Option<&str>| {
            device.is_none_or(|device| observed.devices.iter().any(|managed| managed.name == device))
        };
        let mut fixed = config.fixed_values();
        fixed.retain(|knob, _| managed(knob.device()));
        claims.retain(|claim| managed(claim.request.setting().and_then(|setting| setting.knob.device())));
        let person = Person { fixed: &fixed, protected: &protected(observed.apps) };
        round.resolution = arbiter::resolve(person, &self.names(), &claims, observed.devices);
        round
    }
}

/// Groups of protected apps: the configuration gives them the class `system`.
fn protected(apps: &[App]) -> BTreeSet<String> {
    let is_protected =
        |app: &&App| app.tolerance == Tolerance::System && matches!(app.reason.rule.as_ref(), "chosen" | "protected");
    apps.iter().filter(is_protected).map(|app| app.group.clone()).collect()
}

/// The engine of that name; one arm for each.
fn engine(
    name: &str,
    config: &Config,
    files: &BTreeMap<String, String>,
    complaints: &mut Vec<String>,
) -> Option<Box<dyn Engine>> {
    use brisk_smartstorage as smartstorage;
    match name {
        brisk_smartio::NAME => {
            let mut config = config.smartio.clone();
            for profile in measured(files, name, complaints, |text| toml::from_str::<brisk_smartio::Profile>(text)) {
                // What stands in the configuration goes before what was measured.
                config.profiles.entry(profile.model.clone()).or_insert(profile);
            }
            Some(Of::boxed(config, brisk_smartio::decide, brisk_smartio::State::next_look_ns))
        }
        "smartstorage" => {
            let mut config = config.smartstorage.clone();
            let model = |text: &str| {
                let model: smartstorage::Model = serde_json::from_str(text).map_err(|error| error.to_string())?;
                model.check().map_err(|error| error.to_string()).map(|()| model)
            };
            config.models = measured(files, name, complaints, model);
            for (kind, preset, text) in smartstorage::shipped::SHIPPED {
                match model(text) {
                    Ok(model) => config.models.push(smartstorage::Model {
                        kind: (*kind).to_owned(),
                        origin: smartstorage::model::Origin::Shipped,
                        ..model
                    }),
                    Err(why) => complaints.push(format!("the shipped profile of {preset} cannot be used: {why}")),
                }
            }
            Some(Of::boxed(config, smartstorage::decide, smartstorage::State::next_look_ns))
        }
        brisk_iram::NAME => {
            use brisk_iram::learned::Learned;
            let config = config.iram.clone();
            let learned = kept::<Learned>(name, files, complaints)
                .map_or_else(|| Learned::new(config.mode), |learned| learned.for_mode(config.mode));
            Some(Box::new(Iram { config, state: brisk_iram::State::with(learned) }))
        }
        brisk_mars::NAME => {
            let learned = kept(name, files, complaints).unwrap_or_default();
            Some(Box::new(Mars { config: config.mars.clone(), state: brisk_mars::State::with(learned) }))
        }
        brisk_prefetch::NAME => {
            let learned = kept(name, files, complaints).unwrap_or_default();
            Some(Box::new(Prefetch { config: config.prefetch.clone(), state: brisk_prefetch::State::with(learned) }))
        }
        _ => None,
    }
}

/// What an engine had learned; of what cannot be used a complaint.
fn kept<T: DeserializeOwned>(
    engine: &str,
    files: &BTreeMap<String, String>,
    complaints: &mut Vec<String>,
) -> Option<T> {
    let text = files.get(&learned_name(engine))?;
    let complain =
        |error| complaints.push(format!("what {engine} has learned cannot be used, so it begins anew: {error}"));
    serde_json::from_str(text).map_err(complain).ok()
}

/// What an engine has learned, as a text, without what it knows of an app; `None` when it knows nothing of that app.
///
/// # Errors
/// When the text cannot be understood.
pub fn without(engine: &str, text: &str, app: &str) -> Result<Option<String>, serde_json::Error> {
    fn cut<T: DeserializeOwned + Serialize>(
        text: &str,
        forget: impl FnOnce(&mut T) -> bool,
    ) -> Result<Option<String>, serde_json::Error> {
        let mut learned: T = serde_json::from_str(text)?;
        forget(&mut learned).then(|| serde_json::to_string(&learned)).transpose()
    }
    match engine {
        brisk_iram::NAME => cut(text, |learned: &mut brisk_iram::learned::Learned| learned.forget(app)),
        brisk_mars::NAME => cut(text, |learned: &mut brisk_mars::learned::Learned| learned.forget(app)),
        brisk_prefetch::NAME => cut(text, |learned: &mut brisk_prefetch::learned::Learned| learned.forget(app)),
        _ => Ok(None),
    }
}

/// Folder and name of what an engine has learned.
fn learned_name(engine: &str) -> String {
    format!("{engine}/{LEARNED}")
}

/// Whether a file is what an engine has learned, rather than what was measured on a device.
#[must_use]
pub fn is_learned(name: &str) -> bool {
    name.split('/').nth(1) == Some(LEARNED)
}

/// What an engine's files say; of those that cannot be used a complaint.
fn measured<T, E: std::fmt::Display>(
    files: &BTreeMap<String, String>,
    engine: &str,
    complaints: &mut Vec<String>,
    read: impl Fn(&str) -> Result<T, E>,
) -> Vec<T> {
    let own = files.iter().filter(|(name, _)| name.split('/').next() == Some(engine) && !is_learned(name));
    let mut found = Vec::new();
    for (name, text) in own {
        match read(text) {
            Ok(one) => found.push(one),
            Err(error) => complaints.push(format!("the profile {name} cannot be used and is left out: {error}")),
        }
    }
    found
}

#[cfg(test)]
mod tests;
