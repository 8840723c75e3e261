//! The trials of engines, as `org.brisk.Daemon.varlink` describes them.

use brisk_core::trial::Why;
pub use brisk_core::trial::{Effect, Figure, Ladder, Phase, Sums};
use serde::{Deserialize, Serialize};

/// All trials.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trials {
    /// Whether engines are tried.
    pub on: bool,
    /// Engines that run, by name.
    pub engines: Vec<EngineTrial>,
}

/// The trials of one engine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EngineTrial {
    /// Its name.
    pub engine: String,
    /// Whether it is tried: not in a mode that follows a paper.
    pub tried: bool,
    /// By which rules.
    pub ladder: Ladder,
    /// Phase of its furthest subject.
    pub phase: Phase,
    /// Since when; `None` before the first episode.
    pub since_unix_ms: Option<u64>,
    /// Why.
    pub why: Why,
    /// What decides.
    pub figure: Option<Figure>,
    /// The effect of the only subject, or of all together that act, or of the furthest; `None` while it is not known.
    pub effect: Option<Effect>,
    /// Subjects in each phase.
    pub acting: u64,
    pub on_trial: u64,
    pub observing: u64,
    pub resting: u64,
    /// Its subjects, where they are asked for.
    #[serde(default)]
    pub subjects: Vec<SubjectTrial>,
}

/// The trial of an engine on one subject.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SubjectTrial {
    /// `machine`, `disk MODEL` or `app ID`.
    pub subject: String,
    pub phase: Phase,
    pub since_unix_ms: u64,
    pub why: Why,
    /// Episodes in which the engine had something to request while it observed.
    pub learned: u64,
    /// Pairs of this stage.
    pub pairs: u64,
    /// The effect; `None` while it is not known.
    pub effect: Option<Effect>,
    /// Sums of the episodes in which the engine acted.
    pub acted: Sums,
    /// Sums of those that were held out.
    pub held_out: Sums,
    /// The stage before, where it had pairs, and this one.
    pub stages: Vec<StageOfTrial>,
}

/// The pairs of a stage of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StageOfTrial {
    /// Outcome with the engine as a multiple of that without, of each pair in their order.
    pub ratios: Vec<f64>,
    /// Chance that its interval is ever wrong, on each side.
    pub alpha: f64,
}
