//! Apps, and how much delay each tolerates.
//!
//! An app is the control group that its processes are in. What it tolerates decides who waits for whom: a person waits
//! for an interactive app at every read; a stream has a buffer; nobody looks at work in the background; a batch only has
//! to be done at some time. (Dissertation, chapter 6: applications are classified by their tolerance of delay.)

use serde::{Deserialize, Serialize};

use crate::decision::Reason;

/// How the group is called of an app that is no control group but a session of processes: this, and the session's number.
pub const SESSION: &str = "session-";

/// How much delay an app tolerates, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tolerance {
    /// A person waits for it.
    Interactive,
    /// It reads or writes steadily, ahead of when that is needed.
    Streaming,
    /// Nobody waits for it now.
    Background,
    /// It is to be done at some time: installs, backups, indexing.
    Batch,
}

/// What is known of an app before it is classified.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppFacts {
    /// Name of its control group.
    pub group: String,
    /// Its id, such as `org.gnome.Evince`, as far as the group's name tells.
    pub id: String,
    /// It was launched and has not come to rest.
    pub launching: bool,
    /// It has the focus; `None` where nobody says.
    pub focused: Option<bool>,
    /// It runs under a user's session rather than the system's.
    pub of_user: bool,
    /// Its nice value at the least; `None` when unknown.
    pub nice_min: Option<i8>,
    /// The class that the person chose for it.
    pub chosen: Option<Tolerance>,
}

/// An app as engines see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct App {
    /// Name of its control group.
    pub group: String,
    /// Its id.
    pub id: String,
    /// It was launched and has not come to rest.
    pub launching: bool,
    /// What it tolerates.
    pub tolerance: Tolerance,
    /// Why it is in that class.
    pub reason: Reason,
}

/// Puts an app into its class.
#[must_use]
pub fn classify(facts: &AppFacts) -> App {
    let (tolerance, rule) = match facts {
        AppFacts { chosen: Some(chosen), .. } => (*chosen, "chosen"),
        AppFacts { launching: true, .. } => (Tolerance::Interactive, "launching"),
        AppFacts { nice_min: Some(10..), .. } => (Tolerance::Batch, "nice"),
        AppFacts { focused: Some(true), .. } => (Tolerance::Interactive, "focused"),
        AppFacts { focused: Some(false), .. } => (Tolerance::Background, "not_focused"),
        AppFacts { of_user: true, .. } if facts.group.ends_with(".scope") => {
            (Tolerance::Interactive, "scope_of_a_user")
        }
        AppFacts { of_user: true, .. } if facts.group.starts_with(SESSION) => {
            (Tolerance::Interactive, "session_of_a_user")
        }
        _ => (Tolerance::Background, "service"),
    };
    App {
        group: facts.group.clone(),
        id: facts.id.clone(),
        launching: facts.launching,
        tolerance,
        reason: Reason::rule(rule),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_holds_gives_the_class() {
        let facts = AppFacts { group: "app-x-1.scope".to_owned(), of_user: true, ..AppFacts::default() };
        let with = |change: fn(&mut AppFacts)| {
            let mut facts = facts.clone();
            change(&mut facts);
            let app = classify(&facts);
            (app.tolerance, app.reason.rule.into_owned())
        };
        type Change = fn(&mut AppFacts);
        let cases: [(Change, Tolerance, &str); 7] = [
            (|_| (), Tolerance::Interactive, "scope_of_a_user"),
            (|f| f.group = "backup.service".to_owned(), Tolerance::Background, "service"),
            (|f| f.group = "session-40".to_owned(), Tolerance::Interactive, "session_of_a_user"),
            (|f| f.focused = Some(false), Tolerance::Background, "not_focused"),
            (|f| (f.focused, f.nice_min) = (Some(true), Some(19)), Tolerance::Batch, "nice"),
            (|f| (f.launching, f.focused) = (true, Some(false)), Tolerance::Interactive, "launching"),
            (|f| (f.launching, f.chosen) = (true, Some(Tolerance::Batch)), Tolerance::Batch, "chosen"),
        ];
        for (change, tolerance, rule) in cases {
            assert_eq!(with(change), (tolerance, rule.to_owned()));
        }
    }
}
