//! Context events of a usage trace: what happened on the device besides launches.
//!
//! A table (`brisk_program::files::table`), in the order of time for each user; unlocks and notifications are used,
//! other events are left out:
//!
//! ```text
//! user_id,timestamp,event,detail
//! u1,1700000000,unlock,
//! u1,1700000003.5,notification,Messages
//! ```

use std::collections::BTreeMap;

use brisk_program::files::table::{Layout, Row, Table, TableError};

/// Largest number of seconds that a time may have: the year 5138.
const SECONDS_MAX: f64 = 1e11;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextKind {
    Unlocked,
    /// An app asked for attention.
    Notified {
        app: String,
    },
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextEvent {
    pub at_ms: u64,
    pub kind: ContextKind,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextTrace {
    users: BTreeMap<String, Vec<ContextEvent>>,
}

impl ContextTrace {
    /// The columns of their table.
    pub const LAYOUT: Layout = Layout { needed: &["user_id", "timestamp", "event"], optional: &["detail"] };

    /// Reads events.
    ///
    /// # Errors
    /// With line and column, when the text has no events, or the time of a user runs backwards.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let (mut table, _) = Table::begin(text, &[Self::LAYOUT])?;
        let mut trace = Self::default();
        while let Some(row) = table.next_row()? {
            trace.add(&row)?;
        }
        Ok(trace)
    }

    fn add(&mut self, row: &Row<'_>) -> Result<(), TableError> {
        let seconds = row.number("timestamp", 0.0..=SECONDS_MAX)?;
        let kind = match (row.filled("event")?, row.text("detail")) {
            ("unlock", _) => ContextKind::Unlocked,
            ("notification", app) if !app.is_empty() => ContextKind::Notified { app: app.to_owned() },
            _ => return Ok(()),
        };
        let at_ms = (seconds * 1e3).round() as u64;
        let events = self.users.entry(row.filled("user_id")?.to_owned()).or_default();
        if events.last().is_some_and(|last| last.at_ms > at_ms) {
            let why = format!("{} of {} is before an event above", row.text("timestamp"), row.text("user_id"));
            return Err(row.wrong("timestamp", why));
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
            "line 3, column timestamp: 'soon' is no number from 0 to 1e11"
        );
        assert_eq!(wrong("u,5,unlock,\nu,4,unlock,\n"), "line 3, column timestamp: 4 of u is before an event above");
        assert_eq!(wrong("u,5\n"), "line 2, column event: it is empty");
        assert_eq!(wrong(",5,unlock,\n"), "line 2, column user_id: it is empty");
        assert!(matches!(ContextTrace::parse("a,b\n"), Err(TableError::Missing { .. })));
        assert!(matches!(ContextTrace::parse(""), Err(TableError::Empty { .. })));
    }
}
