//! The usage trace: which app was in front of which user, and when.
//!
//! A table (`brisk_program::files::table`), one line for each app that was brought to the foreground, in the order of
//! time for each user:
//!
//! ```text
//! user_id,timestamp,app,duration_s
//! u1,1700000000,Messages,12
//! u1,1700000012.5,Browser,64
//! ```
//!
//! `timestamp` is Unix time in seconds, with or without decimals. Lines of one second are in the order of the file.

use std::collections::HashMap;
use std::fmt::Write as _;

use brisk_program::files::table::{Layout, Row, Table, TableError, quoted};
use thiserror::Error;

/// Largest number of seconds that a time or a duration may have: the year 5138.
const SECONDS_MAX: f64 = 1e11;

/// Why a text is no usage trace.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UsageError {
    #[error(transparent)]
    Table(#[from] TableError),
    #[error("it has no sessions: nothing follows the names of the columns")]
    Empty,
    #[error("there is no user '{user}': it has {}", known.join(", "))]
    NoSuchUser { user: String, known: Vec<String> },
    #[error("it has {} users: choose one with --user ({})", known.len(), known.join(", "))]
    SeveralUsers { known: Vec<String> },
}

/// An app in the foreground.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// When it was brought there, in ms of Unix time.
    pub at_ms: u64,
    pub app: String,
    /// How long it stayed there.
    pub front_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserTrace {
    pub user: String,
    /// Sessions in the order of time.
    pub sessions: Vec<Session>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageTrace {
    /// Users in the order of their first line.
    pub users: Vec<UserTrace>,
}

impl UsageTrace {
    pub const LAYOUT: Layout = Layout { needed: &["user_id", "timestamp", "app", "duration_s"], optional: &[] };

    /// Reads a trace.
    ///
    /// # Errors
    /// With line and column, when the text is no trace, or the time of a user runs backwards.
    pub fn parse(text: &str) -> Result<Self, UsageError> {
        let (mut table, _) = Table::begin(text, &[Self::LAYOUT])?;
        let mut trace = Self::default();
        let mut known: HashMap<String, usize> = HashMap::new();
        while let Some(row) = table.next_row()? {
            trace.add(&row, &mut known)?;
        }
        if trace.users.is_empty() { Err(UsageError::Empty) } else { Ok(trace) }
    }

    fn add(&mut self, row: &Row<'_>, known: &mut HashMap<String, usize>) -> Result<(), TableError> {
        let milliseconds =
            |column| Ok::<u64, TableError>((row.number(column, 0.0..=SECONDS_MAX)? * 1e3).round() as u64);
        let (user, app) = (row.filled("user_id")?.to_owned(), row.filled("app")?.to_owned());
        let session = Session { at_ms: milliseconds("timestamp")?, app, front_ms: milliseconds("duration_s")? };
        let index = *known.entry(user).or_insert_with_key(|user| {
            self.users.push(UserTrace { user: user.clone(), sessions: Vec::new() });
            self.users.len() - 1
        });
        let of_user = &mut self.users[index];
        if let Some(last) = of_user.sessions.last().filter(|last| last.at_ms > session.at_ms) {
            let [now, before] = [session.at_ms, last.at_ms].map(seconds);
            let why = format!("{now} of {} is before the line above, {before}", of_user.user);
            return Err(row.wrong("timestamp", why));
        }
        of_user.sessions.push(session);
        Ok(())
    }

    /// The sessions of a user; without a name, of the only one.
    ///
    /// # Errors
    /// When there is no such user, or none is named and the trace has several.
    pub fn of_user(&self, user: Option<&str>) -> Result<&UserTrace, UsageError> {
        let known = || self.users.iter().map(|one| one.user.clone()).collect();
        match (user, &self.users[..]) {
            (None, [only]) => Ok(only),
            (None, []) => Err(UsageError::Empty),
            (None, _) => Err(UsageError::SeveralUsers { known: known() }),
            (Some(user), all) => {
                let found = all.iter().find(|one| one.user == user);
                found.ok_or_else(|| UsageError::NoSuchUser { user: user.to_owned(), known: known() })
            }
        }
    }

    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = Self::LAYOUT.needed.join(",") + "\n";
        for (user, session) in self.users.iter().flat_map(|one| one.sessions.iter().map(move |s| (&one.user, s))) {
            let [at, front] = [session.at_ms, session.front_ms].map(seconds);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{},{at},{},{front}", quoted(user), quoted(&session.app));
        }
        text
    }
}

/// Milliseconds as seconds, with decimals where they are needed.
fn seconds(ms: u64) -> String {
    if ms.is_multiple_of(1000) { (ms / 1000).to_string() } else { format!("{}.{:03}", ms / 1000, ms % 1000) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &str = "user_id,timestamp,app,duration_s\n";

    fn wrong(lines: &str) -> String {
        UsageTrace::parse(&format!("{HEAD}{lines}")).expect_err(lines).to_string()
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        assert_eq!(wrong("u,5,a,1\nu,6,b\n"), "line 3, column duration_s: '' is no number from 0 to 1e11");
        assert_eq!(wrong("u,soon,a,1\n"), "line 2, column timestamp: 'soon' is no number from 0 to 1e11");
        assert_eq!(wrong("u,nan,a,1\n"), "line 2, column timestamp: 'nan' is no number from 0 to 1e11");
        assert_eq!(wrong("u,5,a,-1\n"), "line 2, column duration_s: '-1' is no number from 0 to 1e11");
        assert_eq!(wrong("u,5,,1\n"), "line 2, column app: it is empty");
        assert_eq!(wrong(",5,a,1\n"), "line 2, column user_id: it is empty");
        // An empty line counts.
        assert_eq!(wrong("u,5,a,1\n\nu,x,a,1\n"), "line 4, column timestamp: 'x' is no number from 0 to 1e11");
        assert_eq!(wrong(""), "it has no sessions: nothing follows the names of the columns");
    }

    #[test]
    fn a_time_that_runs_backwards_is_refused_for_each_user() {
        assert_eq!(wrong("u,7,a,1\nu,6.5,b,1\n"), "line 3, column timestamp: 6.500 of u is before the line above, 7");
        // Another user has another clock, and one second may have many lines.
        let trace = UsageTrace::parse(&format!("{HEAD}u,7,a,1\nv,1,a,1\nv,1,b,1\n")).expect("two users");
        assert_eq!(trace.users.len(), 2);
    }

    #[test]
    fn another_file_is_no_trace() {
        for text in ["", "a,b\n1,2\n", "\u{1f}\u{8b}\n"] {
            assert!(matches!(UsageTrace::parse(text), Err(UsageError::Table(_))), "{text:?}");
        }
        let long = UsageTrace::parse(&"x".repeat(1000)).expect_err("no trace").to_string();
        assert!(long.len() < 200, "{long}");
    }

    #[test]
    fn each_form_of_the_table_is_the_same_trace() {
        let plain = UsageTrace::parse(&format!("{HEAD}u,7,a,1\nu,8.5,b,2\n")).expect("a trace");
        for text in [
            "\u{feff}user_id,timestamp,app,duration_s\r\nu,7,a,1\r\nu,8.5,b,2\r\n",
            "App;Timestamp;Duration_S;User_ID;Place\na;7;1;u;home\n\nb;8,5;2;u;\n",
            "# of a phone\n\"user_id\", \"timestamp\", \"app\", \"duration_s\"\n\"u\", 7, \"a\", 1\nu, \"8.5\", b, 2\n",
        ] {
            assert_eq!(UsageTrace::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}")), plain);
        }
    }

    #[test]
    fn a_user_is_named_where_there_are_several() {
        let trace = UsageTrace::parse(&format!("{HEAD}u,7,a,1\nv,1,a,1\n")).expect("two users");
        assert_eq!(trace.of_user(Some("v")).expect("there").sessions.len(), 1);
        assert_eq!(trace.of_user(Some("w")).expect_err("not there").to_string(), "there is no user 'w': it has u, v");
        let several = trace.of_user(None).expect_err("several").to_string();
        assert_eq!(several, "it has 2 users: choose one with --user (u, v)");
        let one = UsageTrace::parse(&format!("{HEAD}u,7,a,1\n")).expect("one user");
        assert_eq!(one.of_user(None).expect("the only one").user, "u");
    }

    fn any_sessions() -> impl Strategy<Value = Vec<Session>> {
        let session = (0_u64..1_000_000_000, "[a-c,\"\\n]{1,4}", 0_u64..1_000_000);
        proptest::collection::vec(session, 1..30).prop_map(|mut all| {
            all.sort_by_key(|one| one.0);
            let named = all.into_iter().filter(|(_, app, _)| app.trim() == app && !app.is_empty());
            named.map(|(at_ms, app, front_ms)| Session { at_ms, app, front_ms }).collect()
        })
    }

    proptest! {
        #[test]
        fn a_trace_is_read_back_as_it_was_written(sessions in any_sessions()) {
            prop_assume!(!sessions.is_empty());
            let trace = UsageTrace { users: vec![UserTrace { user: "u".to_owned(), sessions }] };
            prop_assert_eq!(UsageTrace::parse(&trace.to_text()), Ok(trace));
        }

        #[test]
        fn damaged_text_never_panics(text in "\\PC{0,200}") {
            let _ = UsageTrace::parse(&text);
            let _ = UsageTrace::parse(&format!("{HEAD}u,1,a,1\n{text}"));
        }
    }
}
