//! Context events of a usage trace: what happened on the device besides launches.
//!
//! A text table (CSV), in the order of time for each user; unlocks and notifications are used, other events are left out:
//!
//! ```text
//! user_id,timestamp,event,detail
//! u1,1700000000,unlock,
//! u1,1700000003.5,notification,Messages
//! ```

use std::collections::BTreeMap;

use thiserror::Error;

const COLUMNS: [&str; 4] = ["user_id", "timestamp", "event", "detail"];
/// Largest number of seconds that a time may have: the year 5138.
const SECONDS_MAX: f64 = 1e11;

/// Why a text has no context events.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ContextError {
    /// The columns are other ones.
    #[error("line 1 has other columns than {}", COLUMNS.join(","))]
    Columns,
    /// A line that cannot be read.
    #[error("line {line}: {reason}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextKind {
    /// The device was unlocked.
    Unlocked,
    /// An app asked for attention.
    Notified {
        /// The app.
        app: String,
    },
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextEvent {
    /// When, in ms of Unix time.
    pub at_ms: u64,
    /// What.
    pub kind: ContextKind,
}

/// Context events of users.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextTrace {
    users: BTreeMap<String, Vec<ContextEvent>>,
}

impl ContextTrace {
    /// Reads events.
    ///
    /// # Errors
    /// With the number of the line, when the text has no events, or the time of a user runs backwards.
    pub fn parse(text: &str) -> Result<Self, ContextError> {
        let mut reader = csv::ReaderBuilder::new().has_headers(true).from_reader(text.as_bytes());
        let of_reader = |error: csv::Error| {
            let line = error.position().map_or(1, csv::Position::line);
            ContextError::Line { line, reason: error.to_string() }
        };
        if !reader.headers().map_err(of_reader)?.iter().map(str::trim).eq(COLUMNS) {
            return Err(ContextError::Columns);
        }
        let mut trace = Self::default();
        for record in reader.records() {
            let record = record.map_err(of_reader)?;
            let line = record.position().map_or(1, csv::Position::line);
            trace.add(&record).map_err(|reason| ContextError::Line { line, reason })?;
        }
        Ok(trace)
    }

    fn add(&mut self, record: &csv::StringRecord) -> Result<(), String> {
        let field = |index: usize| record.get(index).unwrap_or_default().trim();
        let seconds = field(1).parse::<f64>().ok().filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds));
        let seconds = seconds
            .ok_or_else(|| format!("timestamp is '{}', which is no number of seconds from 0 to 1e11", field(1)))?;
        let kind = match (field(2), field(3)) {
            ("unlock", _) => ContextKind::Unlocked,
            ("notification", app) if !app.is_empty() => ContextKind::Notified { app: app.to_owned() },
            _ => return Ok(()),
        };
        let at_ms = (seconds * 1e3).round() as u64;
        let events = self.users.entry(field(0).to_owned()).or_default();
        if events.last().is_some_and(|last| last.at_ms > at_ms) {
            return Err(format!("the time {} of {} is before that of an event above", field(1), field(0)));
        }
        events.push(ContextEvent { at_ms, kind });
        Ok(())
    }

    /// Events of a user, in order.
    #[must_use]
    pub fn of_user(&self, user: &str) -> &[ContextEvent] {
        self.users.get(user).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "user_id,timestamp,event,detail\n";

    #[test]
    fn unlocks_and_notifications_are_read_and_other_events_left_out() {
        let text = format!("{HEAD}u,1,screen_on,\nu,1.5,unlock,\nv,0,notification,Chat\nu,2,notification,\n");
        let trace = ContextTrace::parse(&text).expect("events");
        assert_eq!(trace.of_user("u"), [ContextEvent { at_ms: 1_500, kind: ContextKind::Unlocked }]);
        let chat = ContextKind::Notified { app: "Chat".to_owned() };
        assert_eq!(trace.of_user("v"), [ContextEvent { at_ms: 0, kind: chat }]);
        assert!(trace.of_user("w").is_empty());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let wrong = |lines: &str| ContextTrace::parse(&format!("{HEAD}{lines}")).expect_err(lines).to_string();
        assert_eq!(
            wrong("u,1,unlock,\nu,soon,unlock,\n"),
            "line 3: timestamp is 'soon', which is no number of seconds from 0 to 1e11"
        );
        assert_eq!(wrong("u,5,unlock,\nu,4,unlock,\n"), "line 3: the time 4 of u is before that of an event above");
        assert!(wrong("u,5\n").starts_with("line 2: "));
        assert_eq!(ContextTrace::parse("a,b\n"), Err(ContextError::Columns));
        assert_eq!(ContextTrace::parse(""), Err(ContextError::Columns));
    }
}
