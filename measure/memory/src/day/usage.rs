//! The usage trace: which app was in front of which user, and when.
//!
//! A text table (CSV), one line for each app that was brought to the foreground, in the order of time for each user:
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

use thiserror::Error;

const COLUMNS: [&str; 4] = ["user_id", "timestamp", "app", "duration_s"];
/// Largest number of seconds that a time or a duration may have: the year 5138.
const SECONDS_MAX: f64 = 1e11;

/// Why a text is no usage trace.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UsageError {
    /// The columns are other ones.
    #[error("line 1 has the columns '{found}' instead of {}", COLUMNS.join(","))]
    Columns {
        /// The first line.
        found: String,
    },
    /// A line that cannot be read.
    #[error("line {line}: {reason}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// No line but the first.
    #[error("it has no sessions: line 1 names the columns, and nothing follows")]
    Empty,
    /// No such user.
    #[error("there is no user '{user}': it has {}", known.join(", "))]
    NoSuchUser {
        /// The one that was asked for.
        user: String,
        /// All users of the trace.
        known: Vec<String>,
    },
    /// Several users and none named.
    #[error("it has {} users: choose one with --user ({})", known.len(), known.join(", "))]
    SeveralUsers {
        /// All users of the trace.
        known: Vec<String>,
    },
}

/// An app in the foreground.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// When it was brought there, in ms of Unix time.
    pub at_ms: u64,
    /// Name of the app.
    pub app: String,
    /// How long it stayed there.
    pub front_ms: u64,
}

/// Sessions of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserTrace {
    /// Name of the user.
    pub user: String,
    /// Sessions in the order of time.
    pub sessions: Vec<Session>,
}

/// A usage trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageTrace {
    /// Users in the order of their first line.
    pub users: Vec<UserTrace>,
}

impl UsageTrace {
    /// Reads a trace.
    ///
    /// # Errors
    /// With the number of the line, when the text is no trace, or the time of a user runs backwards.
    pub fn parse(text: &str) -> Result<Self, UsageError> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
        let mut record = csv::StringRecord::new();
        let mut trace = Self::default();
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut is_first = true;
        loop {
            let begin = reader.position().byte();
            let line = || line_of(text, begin);
            match reader.read_record(&mut record) {
                Ok(true) if is_first => {
                    if !record.iter().map(str::trim).eq(COLUMNS) {
                        return Err(UsageError::Columns { found: shortened(record.iter()) });
                    }
                    is_first = false;
                }
                Ok(true) => {
                    let added = trace.add(&record, &mut known);
                    added.map_err(|reason| UsageError::Line { line: line(), reason })?;
                }
                Ok(false) if is_first => return Err(UsageError::Columns { found: String::new() }),
                Ok(false) if trace.users.is_empty() => return Err(UsageError::Empty),
                Ok(false) => return Ok(trace),
                Err(error) => return Err(UsageError::Line { line: line(), reason: error.to_string() }),
            }
        }
    }

    fn add(&mut self, record: &csv::StringRecord, known: &mut HashMap<String, usize>) -> Result<(), String> {
        if record.len() != COLUMNS.len() {
            return Err(format!("{} fields instead of {} ({})", record.len(), COLUMNS.len(), COLUMNS.join(",")));
        }
        let field = |index: usize| record.get(index).unwrap_or_default().trim();
        let milliseconds = |index: usize| {
            let text = field(index);
            let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds));
            let wrong = || format!("{} is '{text}', which is no number of seconds from 0 to 1e11", COLUMNS[index]);
            seconds.map(|seconds| (seconds * 1e3).round() as u64).ok_or_else(wrong)
        };
        let named = |index: usize| match field(index) {
            "" => Err(format!("{} is empty", COLUMNS[index])),
            name => Ok(name.to_owned()),
        };
        let (user, app) = (named(0)?, named(2)?);
        let session = Session { at_ms: milliseconds(1)?, app, front_ms: milliseconds(3)? };
        let index = *known.entry(user).or_insert_with_key(|user| {
            self.users.push(UserTrace { user: user.clone(), sessions: Vec::new() });
            self.users.len() - 1
        });
        let of_user = &mut self.users[index];
        if let Some(last) = of_user.sessions.last().filter(|last| last.at_ms > session.at_ms) {
            let [now, before] = [session.at_ms, last.at_ms].map(seconds);
            return Err(format!("the time {now} of {} is before that of the line above, {before}", of_user.user));
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

    /// The trace as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let quoted = |name: &str| {
            if name.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", name.replace('"', "\"\""))
            } else {
                name.to_owned()
            }
        };
        let mut text = COLUMNS.join(",") + "\n";
        for (user, session) in self.users.iter().flat_map(|one| one.sessions.iter().map(move |s| (&one.user, s))) {
            let [at, front] = [session.at_ms, session.front_ms].map(seconds);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{},{at},{},{front}", quoted(user), quoted(&session.app));
        }
        text
    }
}

/// Number of the line in which the record begins that the reader finds from byte `begin` on: it skips empty lines.
fn line_of(text: &str, begin: u64) -> u64 {
    let bytes = text.as_bytes();
    let begin = usize::try_from(begin).unwrap_or(usize::MAX).min(bytes.len());
    let skipped = bytes[begin..].iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    1 + bytes[..begin + skipped].iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Milliseconds as seconds, with decimals where they are needed.
fn seconds(ms: u64) -> String {
    if ms.is_multiple_of(1000) { (ms / 1000).to_string() } else { format!("{}.{:03}", ms / 1000, ms % 1000) }
}

/// Fields as a line of at most 80 characters.
fn shortened<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    let line = fields.collect::<Vec<_>>().join(",");
    match line.char_indices().nth(80) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line,
    }
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
        assert_eq!(wrong("u,5,a,1\nu,6,b\n"), "line 3: 3 fields instead of 4 (user_id,timestamp,app,duration_s)");
        assert_eq!(wrong("u,soon,a,1\n"), "line 2: timestamp is 'soon', which is no number of seconds from 0 to 1e11");
        assert_eq!(wrong("u,nan,a,1\n"), "line 2: timestamp is 'nan', which is no number of seconds from 0 to 1e11");
        assert_eq!(wrong("u,5,a,-1\n"), "line 2: duration_s is '-1', which is no number of seconds from 0 to 1e11");
        assert_eq!(wrong("u,5,,1\n"), "line 2: app is empty");
        assert_eq!(wrong(",5,a,1\n"), "line 2: user_id is empty");
        // An empty line counts.
        assert_eq!(
            wrong("u,5,a,1\n\nu,x,a,1\n"),
            "line 4: timestamp is 'x', which is no number of seconds from 0 to 1e11"
        );
        assert_eq!(wrong(""), "it has no sessions: line 1 names the columns, and nothing follows");
    }

    #[test]
    fn a_time_that_runs_backwards_is_refused_for_each_user() {
        assert_eq!(wrong("u,7,a,1\nu,6.5,b,1\n"), "line 3: the time 6.500 of u is before that of the line above, 7");
        // Another user has another clock, and one second may have many lines.
        let trace = UsageTrace::parse(&format!("{HEAD}u,7,a,1\nv,1,a,1\nv,1,b,1\n")).expect("two users");
        assert_eq!(trace.users.len(), 2);
    }

    #[test]
    fn another_file_is_no_trace() {
        for text in ["", "a,b\n1,2\n", "\u{1f}\u{8b}\n"] {
            assert!(matches!(UsageTrace::parse(text), Err(UsageError::Columns { .. })), "{text:?}");
        }
        let long = UsageTrace::parse(&"x".repeat(1000)).expect_err("no trace").to_string();
        assert!(long.len() < 200, "{long}");
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
