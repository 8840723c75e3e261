//! What the doctor has to say: parts, states, findings.

use serde::Serialize;

/// A part of brisk with requirements on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lower")]
pub(crate) enum Part {
    /// The storage benchmark and the studies
    Bench,
    /// Emulated flash devices
    Lab,
    /// Scheduler and queue depth by the pattern of I/O
    SmartStorage,
    /// Concurrency, read preference and priorities of I/O
    SmartIo,
    /// Reading files ahead of launches
    Prefetch,
    /// Whom to reclaim, freeze or kill when memory is short
    Iram,
    /// Swapping whole apps out and back in
    Mars,
    /// Where the time of an app's start goes
    Launch,
    /// Energy meters
    Energy,
}

impl Part {
    /// All parts in the order of the report.
    pub(crate) const ALL: [Self; 9] = [
        Self::Bench,
        Self::Lab,
        Self::SmartStorage,
        Self::SmartIo,
        Self::Prefetch,
        Self::Iram,
        Self::Mars,
        Self::Launch,
        Self::Energy,
    ];

    /// Its name, as in arguments, and what it does.
    pub(crate) fn title(self) -> (&'static str, &'static str) {
        match self {
            Self::Bench => ("bench", "measures the storage under a path"),
            Self::Lab => ("lab", "emulates phones"),
            Self::SmartStorage => ("smartstorage", "chooses scheduler and queue depth"),
            Self::SmartIo => ("smartio", "keeps reads ahead of writes"),
            Self::Prefetch => ("prefetch", "reads files ahead of launches"),
            Self::Iram => ("iram", "decides who keeps memory"),
            Self::Mars => ("mars", "swaps whole apps"),
            Self::Launch => ("launch", "measures where the time of a launch goes"),
            Self::Energy => ("energy", "measures what it costs in energy"),
        }
    }
}

/// How well a need is met; the worst is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Ok,
    /// The part works with less.
    Degraded,
    /// The part does not work.
    Missing,
}

impl State {
    /// As people read it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Missing => "missing",
        }
    }
}

/// One need of one part, and how it is met here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) part: Part,
    /// What is needed: a stable name.
    pub(crate) check: &'static str,
    /// How well it is met.
    pub(crate) state: State,
    pub(crate) seen: String,
    /// Why it matters, when it is not met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// What the person can do, when it is not met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remedy: Option<String>,
}

/// The worst state of `findings`; ok when there is none.
pub(crate) fn worst<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> State {
    findings.into_iter().map(|finding| finding.state).max().unwrap_or(State::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_part_is_listed_once_and_named_as_on_the_command_line() {
        assert_eq!(Part::ALL, Part::value_variants());
        for part in Part::ALL {
            let value = part.to_possible_value().expect("no part is hidden");
            assert_eq!(value.get_name(), part.title().0);
            assert_eq!(serde_json::to_value(part).expect("a name"), part.title().0);
        }
    }

    #[test]
    fn the_worst_is_missing() {
        assert!(State::Ok < State::Degraded && State::Degraded < State::Missing);
        assert_eq!(worst([]), State::Ok);
    }
}
