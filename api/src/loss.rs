//! Apps that a user has lost for want of memory, as `org.brisk.Daemon.varlink` describes them.

use brisk_core::text::one_line;
use serde::{Deserialize, Serialize};

/// What became of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossKind {
    /// brisk ended it, or a process of it.
    #[default]
    Ended,
    /// Another one did: brisk could not keep it.
    NotKept,
}

/// An app that was ended, or could not be kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    pub at_unix_ms: u64,
    pub kind: LossKind,
    /// Id of the app; the name of its group where that is unknown.
    pub app: String,
    /// Name of its control group.
    pub group: String,
    /// Who ended it: an engine, or `kernel`.
    pub by: String,
    /// Why, in words.
    pub reason: String,
    /// The command that protects it; empty where it is protected already.
    pub protect: String,
}

impl Loss {
    /// Head and sentences of a notice: names in it are what their makers chose.
    #[must_use]
    pub fn notice(&self) -> (String, String) {
        let (app, reason) = (one_line(&self.app), one_line(&self.reason));
        let (head, why) = match self.kind {
            LossKind::Ended => {
                (format!("{app} was closed"), format!("Memory was short, so brisk closed it: {reason}."))
            }
            LossKind::NotKept => {
                (format!("{app} could not be kept"), format!("The system closed it for want of memory: {reason}."))
            }
        };
        let remedy = match self.kind {
            _ if self.protect.is_empty() => "It is protected from brisk. More memory: brisk swap setup".to_owned(),
            LossKind::Ended => format!("To keep it next time: {}", self.protect),
            LossKind::NotKept => format!("To have brisk take nothing from it: {}", self.protect),
        };
        (head, format!("{why} {remedy}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_says_what_why_and_how_to_protect() {
        let loss = Loss {
            app: "org.signal.Signal".to_owned(),
            by: "iram".to_owned(),
            reason: "short of memory (need 40)".to_owned(),
            protect: "brisk apps protect org.signal.Signal".to_owned(),
            ..Loss::default()
        };
        let (head, body) = loss.notice();
        assert_eq!(head, "org.signal.Signal was closed");
        assert_eq!(
            body,
            "Memory was short, so brisk closed it: short of memory (need 40). To keep it next time: brisk apps protect \
             org.signal.Signal"
        );
        let not_kept = Loss { kind: LossKind::NotKept, by: "kernel".to_owned(), protect: String::new(), ..loss };
        let (head, body) = not_kept.notice();
        assert_eq!(head, "org.signal.Signal could not be kept");
        assert!(body.ends_with("It is protected from brisk. More memory: brisk swap setup"), "{body}");
    }
}
