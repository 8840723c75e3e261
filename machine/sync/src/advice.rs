//! Which files an app waits for, and what class they may have, from the log of the preload library. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::policy::Class;

/// Syncs of one file, or of a database with its journal and log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// The file; of a database its main file.
    pub path: String,
    pub syncs: u64,
    /// Time that the app's threads waited in them, in us.
    pub waited_us: u64,
    /// The class that it may have.
    pub class: Class,
    /// Why that class.
    pub reason: String,
    /// The most of the waited time that this class saves, in us.
    pub gain_us_max: u64,
    /// What a power cut can lose then.
    pub risk: String,
}

/// What the file system tells of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// It lies in the user's cache directory.
    Cache,
    /// It begins as SQLite databases do.
    Database,
    /// Anything else.
    Other,
}

/// The file's name without what SQLite appends for journal and log.
#[must_use]
pub fn main_file(path: &str) -> &str {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    ["-journal", "-wal"].into_iter().find_map(|suffix| path.strip_suffix(suffix)).unwrap_or(path)
}

/// Advice by file, longest waited first. Lines that are none of the log are skipped.
pub fn advise(log: &str, nature: impl Fn(&str) -> Nature) -> Vec<Advice> {
    let mut files: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for line in log.lines() {
        let fields: Vec<&str> = line.splitn(5, '\t').collect();
        let [_, _, _, waited_ns, path] = fields[..] else { continue };
        let Ok(waited_ns) = waited_ns.parse::<u64>() else { continue };
        let counts = files.entry(main_file(path)).or_default();
        counts.0 += 1;
        counts.1 += waited_ns;
    }
    let mut all: Vec<Advice> = files
        .into_iter()
        .map(|(path, (syncs, waited_ns))| of_file(path, syncs, waited_ns / 1000, nature(path)))
        .collect();
    all.sort_by_key(|advice| std::cmp::Reverse(advice.waited_us));
    all
}

fn of_file(path: &str, syncs: u64, waited_us: u64, nature: Nature) -> Advice {
    let (class, reason, risk) = match nature {
        Nature::Cache => (
            Class::Cache,
            "it lies in the cache directory",
            "the whole file: its content may be damaged, so the app has to be able to make it anew",
        ),
        Nature::Database => (
            Class::Ordered,
            "it is a SQLite database. The gain needs WAL mode, or an ext4 file system that journals its data",
            "changes of the last seconds; the database stays whole",
        ),
        Nature::Other => (Class::Durable, "its use is unknown", "nothing that was synced"),
    };
    let gain_us_max = if class == Class::Durable { 0 } else { waited_us };
    Advice {
        path: path.to_owned(),
        syncs,
        waited_us,
        class,
        reason: reason.to_owned(),
        gain_us_max,
        risk: risk.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journals_and_logs_count_for_their_database() {
        let log = "1\tfsync\tdurable\t5000000\t/d/a.db-journal\n1\tfdatasync\tdurable\t2000000\t/d/a.db\n\
                   1\tfsync\tdurable\t1000000\t/d/a.db-journal (deleted)\n2\tfsync\tdurable\t9000000\t/c/x\n\
                   2\tmsync\tdurable\t3000\t\n2\tfsync\tdurable\t4000\t/d/note\nhalf a line\n1\t2\t3\tx\t/y\n";
        let nature = |path: &str| match path {
            "/d/a.db" => Nature::Database,
            "/c/x" => Nature::Cache,
            _ => Nature::Other,
        };
        let found = advise(log, nature);
        let short: Vec<_> =
            found.iter().map(|one| (one.path.as_str(), one.syncs, one.waited_us, one.class, one.gain_us_max)).collect();
        assert_eq!(
            short,
            [
                ("/c/x", 1, 9000, Class::Cache, 9000),
                ("/d/a.db", 3, 8000, Class::Ordered, 8000),
                ("/d/note", 1, 4, Class::Durable, 0),
                ("", 1, 3, Class::Durable, 0),
            ]
        );
    }
}
