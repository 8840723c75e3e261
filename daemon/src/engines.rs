//! The engines that run, and the decision of engines and arbiter on one moment.
//!
//! An engine is pure ([`brisk_engine::kit::Engine`]): configuration, state and observation give requests, the next
//! state, and what is to be observed before the next call. Adding an engine is its line in `with_engines!`. What an
//! engine has learned goes in and out as a text; the daemon keeps it in a file, and a record holds what there was at
//! the beginning. The daemon and `brisk replay` call the same [`Engines::decide`].

use std::collections::{BTreeMap, BTreeSet};

use brisk_core::action::{Action, Once};
use brisk_core::app::App;
use brisk_core::arbiter::{self, Claim, Person, Resolution};
use brisk_core::decision::{Decision, Needs, Note, Observed, Request, Uses};
use brisk_core::event::Event;
use brisk_core::reason::Reason;
use brisk_core::snapshot::Part;
use brisk_core::survey::{Shown, SwapWrites, Topic};
use brisk_core::trial::{Arm, LeftOut, Plan, Scope, Subject, Told};
use brisk_engine::kit::learned::file_of;
use brisk_engine::kit::wear::{self, Wear};
use brisk_engine::kit::{AnyEngine, Engine, Running, Unusable};

use crate::config::{Config, Order};

/// Passes all engines of this brisk to another macro, after what that takes first: a line each, in their order of
/// precedence, with the name of its section in the configuration.
macro_rules! with_engines {
    ($then:ident! { $($first:tt)* }) => {
        $then! {
            { $($first)* }
            prefetch: brisk_engine::prefetch::Prefetch,
            smartio: brisk_engine::smartio::Smartio,
            smartstorage: brisk_engine::smartstorage::Smartstorage,
            mars: brisk_engine::mars::Mars,
            iram: brisk_engine::iram::Iram,
        }
    };
}
pub(crate) use with_engines;

macro_rules! list {
    ({} $($section:ident: $engine:ty,)*) => {
        /// The names of all engines, in their order of precedence.
        pub const NAMES: &[&str] = &[$(<$engine>::NAME),*];

        /// The engines that run where the configuration names none, in that order.
        pub fn by_default() -> Vec<&'static str> {
            let all = [$((<$engine>::NAME, <$engine>::BY_DEFAULT)),*];
            all.into_iter().filter_map(|(name, runs)| runs.then_some(name)).collect()
        }

        /// The engine of that name, which begins.
        fn begin(
            name: &str,
            config: &Config,
            files: &BTreeMap<String, String>,
            unusable: &mut Vec<Unusable>,
        ) -> Option<Box<dyn AnyEngine>> {
            match name {
                $(<$engine>::NAME => {
                    let mut own = config.$section.clone();
                    if config.engines.order == Order::Auto {
                        <$engine>::unnamed(&mut own);
                    }
                    Some(Box::new(Running::<$engine>::new(own, files, unusable)))
                })*
                _ => None,
            }
        }

        /// What an engine has learned, as a text, without what it knows of an app; `None` when it knows nothing of that
        /// app.
        ///
        /// # Errors
        /// When the text cannot be understood.
        pub fn without(name: &str, text: &str, app: &str) -> Result<Option<String>, serde_json::Error> {
            match name {
                $(<$engine>::NAME => brisk_engine::kit::without::<$engine>(text, app),)*
                _ => Ok(None),
            }
        }
    };
}
with_engines!(list! {});

/// The decision on one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Round {
    /// Settings and one-shot actions as the arbiter resolved them.
    pub resolution: Resolution,
    /// Messages of engines.
    pub notes: Vec<Note>,
    /// When an engine wants to be asked again.
    pub next_look_ns: Option<u64>,
    /// What concerns the trials of engines.
    pub trials: ForTrials,
}

/// What a round says of the trials of engines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForTrials {
    /// For which subjects engines had something to request, applied or not.
    pub touched: BTreeSet<(String, Subject)>,
    /// What engines say of them.
    pub told: Vec<(String, Subject, Told)>,
}

/// Events that are kept for engines that are not asked: the oldest are dropped.
const MISSED_MAX: usize = 1000;
/// An engine of whose requests none is applied, whatever happens, is asked no sooner than after this time: a round
/// takes milliseconds of the processor that apps in front use.
const LEFT_OUT_NS: u64 = 5_000_000_000;
/// When engines are asked again after the memory of the machine could not be read.
const UNREAD_NS: u64 = 10_000_000_000;

struct Member {
    name: String,
    engine: Box<dyn AnyEngine>,
    /// It decides by the memory of the machine.
    by_memory: bool,
    /// How it is tried.
    plan: Option<Plan>,
    /// The same of what it does between two launches, under another name.
    ahead: Option<(&'static str, Plan)>,
    /// What its last decision needs.
    needs: Needs,
}

pub struct Engines {
    members: Vec<Member>,
    /// What all of them write to swap.
    wear: Wear,
    uses: Uses,
    /// Events that engines have not seen because they were not asked: the memory of the machine could not be read.
    missed: Vec<Event>,
}

impl Engines {
    /// Those that the configuration names, with nothing seen yet, and those of `files` (what was measured on
    /// devices, and what engines have learned, by folder and name) that cannot be used and are left out.
    #[must_use]
    pub fn new(config: &Config, files: &BTreeMap<String, String>) -> (Self, Vec<Unusable>) {
        let mut unusable = Vec::new();
        let names = config.engines.names().into_iter();
        let engines = names.filter_map(|name| Some((name.to_owned(), begin(name, config, files, &mut unusable)?)));
        let mut engines = Self::these(engines.collect());
        let wear = files.get(&file_of(wear::NAME)).map(|text| serde_json::from_str(text)).transpose();
        engines.wear = wear.map(Option::unwrap_or_default).unwrap_or_else(|error| {
            let why = format!("what was written to swap so far cannot be used, so it is counted anew: {error}");
            unusable.push(Unusable { file: file_of(wear::NAME), why });
            Wear::default()
        });
        (engines, unusable)
    }

    /// These, for tests of what is around engines.
    #[must_use]
    pub fn these(engines: Vec<(String, Box<dyn AnyEngine>)>) -> Self {
        let mut uses = Uses::default();
        let member = |(name, engine): (String, Box<dyn AnyEngine>)| {
            let own = engine.uses();
            let by_memory = own.memory;
            uses.extend(own);
            let (plan, ahead) = (engine.trial(), engine.trial_ahead());
            Member { name, engine, by_memory, plan, ahead, needs: Needs::default() }
        };
        let members = engines.into_iter().map(member).collect();
        Self { members, wear: Wear::default(), uses, missed: Vec::new() }
    }

    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.members.iter().map(|member| member.name.as_str()).collect()
    }

    /// Engines that use what returns touch.
    pub fn that_use_returns(&self) -> impl Iterator<Item = &str> {
        let members = self.members.iter().filter(|_| self.uses.returns);
        members.filter(|member| member.engine.uses().returns).map(|member| member.name.as_str())
    }

    /// How each is tried, by the name of the trial: that of the engine, and another for what it does between launches.
    #[must_use]
    pub fn plans(&self) -> BTreeMap<String, Option<Plan>> {
        let ahead = self.members.iter().filter_map(|member| member.ahead);
        let ahead = ahead.map(|(name, plan)| (name.to_owned(), Some(plan)));
        self.members.iter().map(|member| (member.name.clone(), member.plan)).chain(ahead).collect()
    }

    /// What engines have learned, by folder and name as in `files` of [`Engines::new`]; one after the other, as the
    /// texts may be long.
    pub fn learned(&mut self) -> impl Iterator<Item = (String, String)> {
        let of = |member: &mut Member| Some((file_of(&member.name), member.engine.learned()?));
        let wear = self.wear.is_used().then(|| {
            let text = serde_json::to_string(&self.wear).expect("numbers are JSON");
            (file_of(wear::NAME), text)
        });
        self.members.iter_mut().filter_map(of).chain(wear)
    }

    /// What engines have written to swap, and what may still be; `None` where none does.
    #[must_use]
    pub fn swap_writes(&self) -> Option<SwapWrites> {
        let writes = self.members.iter().any(|member| member.by_memory);
        (writes || self.wear.is_used()).then(|| self.wear.shown())
    }

    /// Has engines forget what they have learned of an app, or all. Says whether there was anything.
    pub fn forget(&mut self, app: Option<&str>) -> bool {
        // All of them are asked.
        self.members.iter_mut().filter_map(|member| member.engine.forget(app).then_some(())).count() > 0
    }

    /// What they use together for as long as they run.
    #[must_use]
    pub fn uses(&self) -> &Uses {
        &self.uses
    }

    /// What they need observed together before they are asked again.
    #[must_use]
    pub fn needs(&self) -> Needs {
        let mut sum = Needs::default();
        self.members.iter().for_each(|member| sum.extend(&member.needs));
        sum
    }

    /// What those that run know of a topic.
    pub fn show<'a>(&'a self, topic: Topic<'a>) -> impl Iterator<Item = Shown> + 'a {
        self.members.iter().filter_map(move |member| member.engine.show(topic))
    }

    /// The same of one that runs, with `true`; or else what an engine that does not run would make of it, having
    /// learned nothing.
    #[must_use]
    pub fn show_or_guess(&self, config: &Config, topic: Topic<'_>) -> (bool, Option<Shown>) {
        let guess =
            || NAMES.iter().find_map(|name| begin(name, config, &BTreeMap::new(), &mut Vec::new())?.show(topic));
        let shown = self.show(topic).next();
        (shown.is_some(), shown.or_else(guess))
    }

    /// One-shot actions that undo what lasts, each with its engine, before the engines are dropped.
    pub fn end(&mut self) -> Vec<(String, Once)> {
        let names: Vec<String> = self.members.iter().map(|member| member.name.clone()).collect();
        names.iter().flat_map(|name| self.undo(name)).collect()
    }

    /// The same of one engine, which goes on.
    pub fn undo(&mut self, engine: &str) -> Vec<(String, Once)> {
        let of = |member: &mut Member| {
            let actions = member.engine.end();
            actions.into_iter().map(|once| (member.name.clone(), once)).collect::<Vec<_>>()
        };
        self.members.iter_mut().filter(|member| member.name == engine).flat_map(of).collect()
    }

    /// Asks all engines, and has the arbiter resolve their requests and the choices of the configuration. Settings of a
    /// device that is not managed are left out; what trials leave out is dropped.
    pub fn decide(&mut self, config: &Config, observed: &Observed<'_>, left_out: &[LeftOut]) -> Round {
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
        let is_on_flash = observed.devices.iter().any(|device| device.has_swap);
        let per_day_mib = config.engines.wear_mib_per_day;
        self.wear.refill(per_day_mib, is_on_flash, observed.now.wall_unix_ms, observed.events);
        for Member { name, engine, by_memory, plan, ahead, needs } in &mut self.members {
            if *by_memory && is_unread {
                let again_ns = observed.now.at_ns.saturating_add(UNREAD_NS);
                round.next_look_ns = round.next_look_ns.into_iter().chain([again_ns]).min();
                round
                    .notes
                    .push(Note { engine: name.clone(), reason: Reason::rule("memory_of_the_machine_unreadable") });
                continue;
            }
            engine.wear(self.wear.shown());
            let decision = engine.decide(if *by_memory { &of_memory } else { observed });
            let Decision { requests, notes, next_look_ns, .. } = decision;
            *needs = decision.needs;
            let of_engine: Vec<&LeftOut> = left_out.iter().filter(|one| one.engine == *name).collect();
            for request in requests {
                let is_ahead = matches!(&request.action, Action::Once(Once::MakeReady { .. }));
                let (trial, plan) = match ahead.filter(|_| is_ahead) {
                    Some((trial, plan)) => (trial, Some(plan)),
                    None => (name.as_str(), *plan),
                };
                let subjects = plan.map_or_else(Vec::new, |plan| subjects(plan.scope, &request, observed));
                // What is switched off does nothing at all.
                let is_of_it = |one: &&LeftOut| one.engine == trial || one.engine == *name && one.subject.is_none();
                let left_out: Vec<&LeftOut> = left_out.iter().filter(is_of_it).collect();
                let arm = arm(&left_out, &subjects, &request);
                let counts = !matches!(&request.action, Action::Once(once) if once.only_restores());
                let touched = subjects.into_iter().filter(|_| counts).map(|subject| (trial.to_owned(), subject));
                round.trials.touched.extend(touched);
                if let (Action::Once(once), Arm::On) = (&request.action, arm) {
                    let totals = observed.now.apps.iter().find(|totals| totals.name == once.group());
                    self.wear.spend(once, totals.and_then(|totals| totals.memory_bytes.or(totals.rss_bytes)));
                }
                claims.push(Claim { engine: name.clone(), request, arm });
            }
            let told = engine.told().into_iter().map(|(subject, told)| (name.clone(), subject, told));
            round.trials.told.extend(told);
            round.notes.extend(notes.into_iter().map(|reason| Note { engine: name.clone(), reason }));
            let is_left_out = of_engine
                .iter()
                .any(|one| !one.reads_back && one.subject.as_ref().is_none_or(|subject| *subject == Subject::Machine));
            let earliest_ns = observed.now.at_ns.saturating_add(if is_left_out { LEFT_OUT_NS } else { 0 });
            let next_look_ns = next_look_ns.map(|next_ns| next_ns.max(earliest_ns));
            round.next_look_ns = round.next_look_ns.into_iter().chain(next_look_ns).min();
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

/// The subjects of an engine's trials that a request is for.
fn subjects(scope: Scope, request: &Request, observed: &Observed<'_>) -> Vec<Subject> {
    let (device, group) = match &request.action {
        Action::Set(setting) => (setting.knob.device(), setting.knob.group()),
        Action::Once(once) => (None, Some(once.group())),
    };
    let app = || group.and_then(|group| observed.apps.iter().find(|app| app.group == group));
    if let Action::Once(Once::MakeReady { group, .. }) = &request.action {
        // It does not run, and has no group but its id.
        return vec![Subject::App(group.clone())];
    }
    match scope {
        Scope::Machine => vec![Subject::Machine],
        Scope::App => app().map(|app| Subject::App(app.owned_id())).into_iter().collect(),
        Scope::Disk => {
            let is_meant = |name: &str| match device {
                Some(device) => device == name,
                None => app().is_some_and(|app| app.may_use(name)),
            };
            observed.devices.iter().filter(|device| is_meant(&device.name)).map(Subject::disk).collect()
        }
    }
}

/// Whether a request is applied; `left_out` is what is not of this engine.
fn arm(left_out: &[&LeftOut], subjects: &[Subject], request: &Request) -> Arm {
    let reads_back =
        matches!(&request.action, Action::Once(Once::PageIn { .. } | Once::MapIn { .. } | Once::ReadAhead { .. }));
    let is_meant = |one: &&&LeftOut| {
        !(one.reads_back && reads_back) && one.subject.as_ref().is_none_or(|subject| subjects.contains(subject))
    };
    left_out.iter().filter(is_meant).map(|one| one.arm).max().unwrap_or(Arm::On)
}

/// Groups of the apps that the configuration protects.
fn protected(apps: &[App]) -> BTreeSet<String> {
    apps.iter().filter(|app| app.protection().is_some()).map(|app| app.group.clone()).collect()
}

#[cfg(test)]
mod tests;
