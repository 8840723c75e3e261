//! What is wrong with a configuration: where, what, and what was probably meant.

use std::fmt;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// Line, the first is 1.
    pub line: usize,
    /// Character in the line, the first is 1.
    pub column: usize,
    pub what: String,
    /// Section and key that it is about, where `what` does not name it.
    pub key: Option<String>,
    /// What was probably meant.
    pub suggestion: Option<String>,
}

impl Complaint {
    /// From what the parser says of `text`.
    pub(super) fn of(error: &toml::de::Error, text: &str) -> Self {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let before = text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let what = error.message().trim().replace('\n', ", ");
        let suggestion = suggestion_of(&what);
        let is_named = |key: &str| ['`', '\''].iter().any(|quote| what.contains(&format!("{quote}{key}{quote}")));
        let key = key_at(text, line).filter(|(_, key)| !is_named(key));
        let key = key.map(|(section, key)| format!("{section} {key}").trim_start().to_owned());
        Self { line, column, what, key, suggestion }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.what)?;
        if let Some(key) = &self.key {
            write!(f, " ({key})")?;
        }
        match &self.suggestion {
            Some(suggestion) => write!(f, "; did you mean '{suggestion}'?"),
            None => Ok(()),
        }
    }
}

/// The key of a line, or that of the list which it continues, with its section as it is written.
fn key_at(text: &str, line: usize) -> Option<(String, String)> {
    let before: Vec<&str> = text.lines().take(line).map(str::trim).collect();
    let is_section = |line: &&str| line.starts_with('[') && line.ends_with(']');
    let at = before.iter().rposition(|line| is_section(line) || line.contains('='))?;
    if is_section(&before[at]) {
        return None;
    }
    let section = before[..at].iter().rfind(|line| is_section(line)).copied().unwrap_or_default();
    let (key, _) = before[at].split_once('=')?;
    Some((section.to_owned(), key.trim().trim_matches(['"', '\'']).to_owned()))
}

/// A sentence that `name` is no `kind`, with what was probably meant.
pub(super) fn no_such(kind: &str, name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        _ if known.is_empty() => format!("there is no {kind} '{name}': this brisk has none"),
        Some(near) => format!("there is no {kind} '{name}'; did you mean '{near}'?"),
        None => format!("there is no {kind} '{name}': there are {}", known.join(", ")),
    }
}

/// serde says "unknown field `a`, expected one of `b`, `c`": the nearest of what it expected.
fn suggestion_of(what: &str) -> Option<String> {
    if !what.starts_with("unknown ") {
        return None;
    }
    let mut quoted = what.split('`').skip(1).step_by(2);
    let given = quoted.next()?;
    nearest(given, quoted).map(str::to_owned)
}

/// The nearest of `known`, if it is so near that it was probably meant.
fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |name: &str| strsim::damerau_levenshtein(&given.to_lowercase(), name);
    let (near, far) = known.map(|name| (name, distance(name))).min_by_key(|&(_, distance)| distance)?;
    (far <= (near.len() / 3).max(2)).then_some(near)
}
