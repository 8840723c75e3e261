//! SQLite transactions (insert, update, delete of one row each) a second: figure 2 of the user-perceived latency paper.
//!
//! SQLite runs in this process, on the phone's file system; so variants that change files or the file system are
//! measured unchanged, and *sync off* is SQLite's own `PRAGMA synchronous=OFF`, as in the paper (SQLITE_NO_SYNC),
//! instead of a preloaded library. Rows have a number and a text of 100 bytes; rows are updated and deleted in a seeded
//! random order. The journal file is deleted after each transaction, Android's default at the time of the paper.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brisk_core::random::Random;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use crate::phone::error::{Error, Result, io as failed};
use crate::phone::mounts;
use crate::phone::running::Phone;
use crate::phone::variant::Variant;

/// SQLite's journal mode (sqlite.org: PRAGMA journal_mode).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalMode {
    /// A journal file for each transaction, deleted at its end.
    #[default]
    Delete,
    /// The journal file is truncated.
    Truncate,
    /// Its header is overwritten.
    Persist,
    /// A write-ahead log.
    Wal,
}

impl JournalMode {
    /// SQLite's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Truncate => "truncate",
            Self::Persist => "persist",
            Self::Wal => "wal",
        }
    }
}

/// Parameters of the measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SqliteSpec {
    pub journal_mode: JournalMode,
    /// Time for each kind of transaction.
    pub span: Duration,
    /// Seed of the order of rows.
    pub seed: u64,
}

impl Default for SqliteSpec {
    fn default() -> Self {
        Self { journal_mode: JournalMode::Delete, span: Duration::from_secs(3), seed: 1 }
    }
}

/// Transactions a second, of one row each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SqliteRates {
    pub insert_per_s: f64,
    pub update_per_s: f64,
    pub delete_per_s: f64,
}

impl Phone {
    /// Measures SQLite on the phone in its current variant. The database is removed afterwards.
    ///
    /// # Errors
    /// When the database cannot be created or used, or `stop` is set.
    pub fn sqlite(&self, spec: &SqliteSpec, stop: &AtomicBool) -> Result<SqliteRates> {
        let dir = match self.variant() {
            Variant::DatabasesInRam => mounts::inside(&self.root(), "/run/brisk"),
            _ => self.home(),
        };
        std::fs::create_dir_all(&dir).map_err(failed(format!("make {}", dir.display())))?;
        measure(&dir, spec, self.variant() != Variant::SyncOff, stop)
    }
}

/// Removes a database and its companion files when dropped.
struct Database {
    file: PathBuf,
}

impl Database {
    fn in_dir(dir: &Path) -> Self {
        let database = Self { file: dir.join("brisk-sqlite.db") };
        database.remove();
        database
    }

    fn remove(&self) {
        for suffix in ["", "-journal", "-wal", "-shm"] {
            let mut name = self.file.as_os_str().to_owned();
            name.push(suffix);
            // A missing file needs no removal.
            let _ = std::fs::remove_file(name);
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.remove();
    }
}

fn failed_to(action: &'static str) -> impl FnOnce(rusqlite::Error) -> Error {
    move |source| Error::Sqlite { action, source }
}

fn measure(dir: &Path, spec: &SqliteSpec, synchronous: bool, stop: &AtomicBool) -> Result<SqliteRates> {
    let database = Database::in_dir(dir);
    let connection = Connection::open(&database.file).map_err(failed_to("make a database in the phone"))?;
    set_up(&connection, spec, synchronous)?;
    let text = "x".repeat(100);

    let mut next = 0i64;
    let insert = "INSERT INTO row (id, text) VALUES (?1, ?2)";
    let insert_per_s = repeat(&connection, insert, spec.span, stop, |statement| {
        next += 1;
        statement.execute(params![next, text]).map(|_| true)
    })?;

    let mut order: Vec<i64> = (1..=next).collect();
    Random(spec.seed).shuffle(&mut order);
    // A new text each time, as SQLite does not write unchanged rows.
    let mut rows = order.iter().cycle().zip(1u64..);
    let update_per_s = repeat(&connection, "UPDATE row SET text = ?2 WHERE id = ?1", spec.span, stop, |statement| {
        let Some((row, round)) = rows.next() else { return Ok(false) };
        statement.execute(params![row, format!("{round:0100}")]).map(|_| true)
    })?;

    let mut rows = order.iter();
    let delete_per_s = repeat(&connection, "DELETE FROM row WHERE id = ?1", spec.span, stop, |statement| {
        // The rows may run out before the time.
        rows.next().map_or(Ok(false), |row| statement.execute(params![row]).map(|_| true))
    })?;
    connection.close().map_err(|(_, error)| failed_to("close the database")(error))?;
    Ok(SqliteRates { insert_per_s, update_per_s, delete_per_s })
}

fn set_up(connection: &Connection, spec: &SqliteSpec, synchronous: bool) -> Result<()> {
    let mode = spec.journal_mode.name();
    let set: String = connection
        .query_row(&format!("PRAGMA journal_mode={mode}"), [], |row| row.get(0))
        .map_err(failed_to("set the journal's mode"))?;
    if set != mode {
        return Err(Error::SqliteJournal { wanted: mode, found: set });
    }
    let synchronous = if synchronous { "FULL" } else { "OFF" };
    connection
        .execute_batch(&format!(
            "PRAGMA synchronous={synchronous}; CREATE TABLE row (id INTEGER PRIMARY KEY, text TEXT NOT NULL)"
        ))
        .map_err(failed_to("make a table"))
}

/// Repeats a transaction until the time is over or no row is left; returns the rate per second.
fn repeat(
    connection: &Connection,
    sql: &str,
    span: Duration,
    stop: &AtomicBool,
    mut one: impl FnMut(&mut rusqlite::Statement<'_>) -> rusqlite::Result<bool>,
) -> Result<f64> {
    let mut statement = connection.prepare(sql).map_err(failed_to("prepare a transaction"))?;
    let begun = Instant::now();
    let mut count = 0u64;
    while begun.elapsed() < span {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
        if !one(&mut statement).map_err(failed_to("carry out a transaction"))? {
            break;
        }
        count += 1;
    }
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_journal_mode_is_measured_and_no_file_stays() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let never = AtomicBool::new(false);
        for journal_mode in [JournalMode::Delete, JournalMode::Truncate, JournalMode::Persist, JournalMode::Wal] {
            let spec = SqliteSpec { journal_mode, span: Duration::from_millis(50), seed: 1 };
            let rates = measure(dir.path(), &spec, true, &never).expect("measured");
            for rate in [rates.insert_per_s, rates.update_per_s, rates.delete_per_s] {
                assert!(rate > 0.0 && rate.is_finite(), "{journal_mode:?}: {rates:?}");
            }
        }
        assert_eq!(std::fs::read_dir(dir.path()).expect("readable").count(), 0);
    }

    #[test]
    fn it_stops_on_request_and_reports_an_unwritable_directory() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let stop = AtomicBool::new(true);
        let spec = SqliteSpec::default();
        assert!(matches!(measure(dir.path(), &spec, false, &stop), Err(Error::Stopped)));
        let error = measure(&dir.path().join("none"), &spec, true, &stop).expect_err("no such directory");
        assert!(error.to_string().contains("cannot make a database"), "{error}");
    }
}
