//! A day of use on a phone with little memory: each switch with its state and wait, and what the day cost.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::PROGRAMMED;
use crate::results::{AppState, EndedApp, EndedBy, Ending, Header, MemoryCensus, PhoneFacts, PhoneMemory, Split};

/// Where an app was when the person came to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DayState {
    /// Not started yet on this day: a launch, whatever the policy.
    First,
    /// In memory ([`AppState::Hot`]).
    Hot,
    /// In swap ([`AppState::Swapped`]).
    Swapped,
    /// Ended since its last visit: a launch.
    Killed,
    /// It could not be brought to the front: its launch failed, or it ended.
    Failed,
}

impl DayState {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 5] = [Self::First, Self::Hot, Self::Swapped, Self::Killed, Self::Failed];
}

impl From<AppState> for DayState {
    fn from(state: AppState) -> Self {
        match state {
            AppState::Hot => Self::Hot,
            AppState::Swapped => Self::Swapped,
            AppState::Killed => Self::Killed,
        }
    }
}

/// Memory of an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DayMemory {
    /// The app.
    pub app: String,
    /// Where its pages are.
    #[serde(flatten)]
    pub census: MemoryCensus,
}

/// What the flash did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DayFlash {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time in which it had at least one request, in time of its model.
    pub busy_ms: f64,
}

/// A switch to an app, and its time in front.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DaySwitch {
    /// When it was in the trace, counted from the begin of the span.
    pub trace_s: f64,
    /// When it was in the replay, counted from the begin of the run.
    pub at_s: f64,
    /// The app.
    pub app: String,
    /// Where it was.
    pub state: DayState,
    /// How the wait ended; absent where it failed.
    #[serde(default)]
    pub ending: Option<Ending>,
    /// From the switch until the app has answered; of a failed one, until it was given up.
    pub wait_ms: f64,
    /// What the wait went to.
    #[serde(default)]
    pub split: Option<Split>,
    /// Time in front after the wait.
    pub dwell_ms: f64,
    /// The flash during the wait.
    pub waiting: DayFlash,
    /// The flash during the dwell, and until the next switch.
    pub dwelling: DayFlash,
    /// Read from swap by all apps, from this switch to the next.
    pub swap_in_bytes: u64,
    /// Written to swap, from this switch to the next.
    pub swap_out_bytes: u64,
    /// Memory that was available just before; absent where it could not be read.
    #[serde(default)]
    pub available_bytes: Option<u64>,
    /// Pages that were read again soon after they had been reclaimed, from this switch to the next; absent where they
    /// are not counted.
    #[serde(default)]
    pub refault_pages: Option<u64>,
    /// Apps that were ended, from this switch to the next.
    pub ended: Vec<EndedApp>,
    /// Why it failed.
    #[serde(default)]
    pub failure: Option<String>,
    /// Memory of the apps that run, after the dwell.
    pub memory: Vec<DayMemory>,
}

/// Wear of a run, as the model of flash has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DayCosts {
    /// Bytes that the flash programmed: those written, and those that it moved itself.
    #[schemars(extend("measure" = PROGRAMMED))]
    pub programmed_bytes: u64,
    /// Blocks that it erased.
    pub erases: u64,
}

/// A day under one policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DayRun {
    /// Round, from 1.
    pub round: u32,
    /// Position among all runs, from 1: in which order they were made.
    pub position: u32,
    /// Switches in order.
    pub switches: Vec<DaySwitch>,
    /// Wall time of the run, without bringing up and taking down.
    pub duration_s: f64,
    /// What it cost.
    pub costs: DayCosts,
}

impl DayRun {
    /// Sum of the waits, failed ones included.
    #[must_use]
    pub fn wait_ms(&self) -> f64 {
        self.switches.iter().map(|switch| switch.wait_ms).sum()
    }

    /// Number of switches in this state.
    #[must_use]
    pub fn count(&self, state: DayState) -> u64 {
        self.switches.iter().filter(|switch| switch.state == state).count() as u64
    }

    /// How many apps ended by whom, most first.
    #[must_use]
    pub fn kills(&self) -> Vec<(EndedBy, u64)> {
        let mut kills: BTreeMap<EndedBy, u64> = BTreeMap::new();
        for end in self.switches.iter().flat_map(|switch| &switch.ended) {
            *kills.entry(end.by).or_default() += 1;
        }
        let mut kills: Vec<_> = kills.into_iter().collect();
        kills.sort_by_key(|&(by, count)| (std::cmp::Reverse(count), by));
        kills
    }

    /// The flash over all waits and dwells.
    #[must_use]
    pub fn flash(&self) -> DayFlash {
        self.switches.iter().flat_map(|switch| [switch.waiting, switch.dwelling]).fold(
            DayFlash::default(),
            |sum, one| DayFlash {
                read_bytes: sum.read_bytes.saturating_add(one.read_bytes),
                written_bytes: sum.written_bytes.saturating_add(one.written_bytes),
                busy_ms: sum.busy_ms + one.busy_ms,
            },
        )
    }

    /// Pages that were read again soon after they had been reclaimed; absent where a switch does not know them.
    #[must_use]
    pub fn refault_pages(&self) -> Option<u64> {
        self.switches.iter().try_fold(0, |sum, switch| Some(u64::saturating_add(sum, switch.refault_pages?)))
    }

    /// Read from swap and written to swap.
    #[must_use]
    pub fn swapped_bytes(&self) -> (u64, u64) {
        self.switches.iter().fold((0, 0), |(read, written), switch| {
            (u64::saturating_add(read, switch.swap_in_bytes), u64::saturating_add(written, switch.swap_out_bytes))
        })
    }
}

/// A policy with its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DayPolicy {
    /// Its name.
    pub name: String,
    /// What it does, in a sentence.
    pub text: String,
    /// Runs in the order in which they were made.
    pub runs: Vec<DayRun>,
}

/// An app of the trace, and the app of the phone that stands for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DayApp {
    /// App of the trace.
    pub trace_app: String,
    /// App of the phone.
    pub app: String,
    /// How many switches go to it.
    pub switches: u64,
}

/// What was replayed, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DayTrace {
    /// Its file, or `synthetic`.
    pub name: String,
    /// The user.
    pub user: String,
    /// Begin of the span, counted from the user's first session.
    pub from_s: f64,
    /// From the begin of the span to the end of the last visit.
    pub span_s: f64,
    /// Switches in it.
    pub switches: u64,
    /// Sessions of apps that no app of the phone stands for.
    pub dropped_sessions: u64,
    /// How many apps these are.
    pub dropped_apps: u64,
    /// By what the dwell was divided.
    pub speed: f64,
    /// Least dwell, and how many were raised to it.
    pub dwell_ms_min: f64,
    /// Most dwell.
    pub dwell_ms_max: f64,
    /// Dwells that were raised to the least.
    pub lengthened: u64,
    /// Dwells that were lowered to the most.
    pub shortened: u64,
    /// The apps, the most used first.
    pub apps: Vec<DayApp>,
}

/// `brisk phone day`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DayReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// The phone.
    pub phone: PhoneFacts,
    /// Its memory.
    pub memory: PhoneMemory,
    /// What was replayed.
    pub trace: DayTrace,
    /// The policies, the base first.
    pub policies: Vec<DayPolicy>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switch(state: DayState, wait_ms: f64, ended: &[EndedBy]) -> DaySwitch {
        let flash = DayFlash { read_bytes: 10, written_bytes: 3, busy_ms: 0.5 };
        DaySwitch {
            trace_s: 0.0,
            at_s: 0.0,
            app: "xterm".to_owned(),
            state,
            ending: None,
            wait_ms,
            split: None,
            dwell_ms: 0.0,
            waiting: flash,
            dwelling: flash,
            swap_in_bytes: 5,
            swap_out_bytes: 7,
            available_bytes: None,
            refault_pages: Some(2),
            ended: ended.iter().map(|&by| EndedApp { app: "evince".to_owned(), by }).collect(),
            failure: None,
            memory: Vec::new(),
        }
    }

    #[test]
    fn sums_of_a_run_are_those_of_its_switches() {
        let run = DayRun {
            round: 1,
            position: 1,
            switches: vec![
                switch(DayState::First, 500.0, &[]),
                switch(DayState::Swapped, 250.0, &[EndedBy::Kernel]),
                switch(DayState::Failed, 50.0, &[EndedBy::Brisk, EndedBy::Brisk]),
            ],
            duration_s: 3.0,
            costs: DayCosts::default(),
        };
        assert_eq!(run.wait_ms(), 800.0);
        assert_eq!(DayState::ALL.map(|state| run.count(state)), [1, 0, 1, 0, 1]);
        assert_eq!(run.kills(), [(EndedBy::Brisk, 2), (EndedBy::Kernel, 1)]);
        assert_eq!(run.flash(), DayFlash { read_bytes: 60, written_bytes: 18, busy_ms: 3.0 });
        assert_eq!(run.swapped_bytes(), (15, 21));
        assert_eq!(run.refault_pages(), Some(6));
    }
}
