//! What engines see, what they request, and why.
//!
//! An engine is a function of what was observed. It returns a [`Decision`]: its next state, *all* settings that it
//! requests now, and the one-shot actions that are to happen now (see [`crate::action`]). A knob that no engine names
//! any more gets the value from before brisk: nothing has to be remembered to be undone, and leaving a request out is
//! how an engine backs off. A one-shot action is requested once; what became of it arrives as an event.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::action::{Action, Ends, Once, Setting};
use crate::app::App;
use crate::device::Device;
use crate::event::Event;
use crate::knob::Knob;
use crate::reason::Reason;
use crate::snapshot::Snapshot;

/// What a request is for. The order is that of precedence, first before last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// Latency of the foreground: an app is launched, or the app in front waits for storage or memory.
    Delay,
    /// Energy, and whatever else the foreground does not wait for.
    Energy,
}

/// One action that an engine requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The setting or one-shot action.
    pub action: Action,
    /// What for.
    pub objective: Objective,
    /// Why.
    pub reason: Reason,
}

impl Request {
    /// A setting: `knob` is to have this value, as the kernel shows it.
    #[must_use]
    pub fn set(knob: Knob, value: impl Into<String>, objective: Objective, reason: Reason) -> Self {
        Self { action: Action::Set(Setting::new(knob, value)), objective, reason }
    }

    /// A one-shot action.
    #[must_use]
    pub fn once(once: Once, objective: Objective, reason: Reason) -> Self {
        Self { action: Action::Once(once), objective, reason }
    }

    /// The setting, if it is one.
    #[must_use]
    pub fn setting(&self) -> Option<&Setting> {
        match &self.action {
            Action::Set(setting) => Some(setting),
            Action::Once(_) => None,
        }
    }
}

/// A message of an engine to people, such as that it backed off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Name of the engine.
    pub engine: String,
    /// The message.
    pub reason: Reason,
}

/// The outcome of one call of an engine.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision<State> {
    /// Its memory until the next call.
    pub state: State,
    /// All settings that it requests now, and the one-shot actions that are to happen now.
    pub requests: Vec<Request>,
    /// Messages to people.
    pub notes: Vec<Reason>,
    /// Latest time of the next call, CLOCK_MONOTONIC.
    pub next_look_ns: Option<u64>,
    /// What is to be observed before it.
    pub needs: Needs,
}

/// What an engine needs observed before its next call, beside snapshots and events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// Groups whose page tables are to be scanned; the event `Scanned` answers.
    pub scans: BTreeSet<String>,
    /// Groups whose opens of files are to be watched.
    pub opens: BTreeSet<String>,
    /// Groups of which the files that their launch used are to be read; the event `LaunchUsed` answers.
    pub launch_files: BTreeSet<String>,
    /// Ids of apps that do not run and for which the engine may request something in its next call: trials decide about
    /// it before.
    pub prepares: BTreeSet<String>,
}

impl Needs {
    /// Adds what another engine needs.
    pub fn extend(&mut self, other: &Self) {
        self.scans.extend(other.scans.iter().cloned());
        self.opens.extend(other.opens.iter().cloned());
        self.launch_files.extend(other.launch_files.iter().cloned());
        self.prepares.extend(other.prepares.iter().cloned());
    }
}

/// What an engine uses for as long as it runs: each of these costs something, and is there for the engines that use it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// What apps do for their users ([`crate::app::Activity`]): a file of each of their processes.
    pub activities: bool,
    /// The memory of the machine: while it cannot be read, the engine is not asked.
    pub memory: bool,
    /// The pages that returns to apps touch: two scans of the page tables for each return, and for few while none of
    /// its requests is applied.
    pub returns: bool,
    /// Threads of the actuator, for actions that take time.
    pub worker: bool,
    /// The keeper of frozen apps.
    pub keeper: bool,
    /// How apps may be ended, and how many within a minute; `None`: it ends none.
    pub ends: Option<(Ends, u32)>,
    /// Directories whose files are left out of [`Needs::launch_files`], with all below them.
    pub private: Vec<String>,
}

impl Uses {
    /// Adds what another engine uses. Of two limits of ends, the first holds.
    pub fn extend(&mut self, other: Self) {
        self.activities |= other.activities;
        self.memory |= other.memory;
        self.returns |= other.returns;
        self.worker |= other.worker;
        self.keeper |= other.keeper;
        self.ends = self.ends.or(other.ends);
        self.private.extend(other.private);
    }
}

impl<State> Decision<State> {
    /// The settings that it requests.
    pub fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.requests.iter().filter_map(Request::setting)
    }
}

/// The input of an engine: two moments, the events between them, and the devices and apps that are there.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// The moment before; `None` at the start and after a gap.
    pub previous: Option<&'a Snapshot>,
    /// Now.
    pub now: &'a Snapshot,
    /// Events in between, in order of time.
    pub events: &'a [Event],
    /// Devices that brisk manages.
    pub devices: &'a [Device],
    /// Apps that run.
    pub apps: &'a [App],
}
