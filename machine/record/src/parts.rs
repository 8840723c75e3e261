//! The files of a record: its older part, and one that is damaged.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::item::{Item, Session};
use crate::reader::{Lost, Reader};

/// Where the part before the file at `path` is, if the session filled one.
#[must_use]
pub fn older_part(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// Gives every item of the record at `path` to `use_item`, and before them those of its older part where a session that
/// goes on here filled one; what is lost of both.
///
/// # Errors
/// When one of the files cannot be read, or `use_item` fails.
pub fn read_with_older_part<E: From<Error>>(
    path: &Path,
    mut use_item: impl FnMut(Item) -> std::result::Result<(), E>,
) -> std::result::Result<Lost, E> {
    let mut reader = Reader::open(path)?;
    let first = reader.next().transpose()?;
    let mut lost = Lost::default();
    if let Some(Item::Session(session)) = &first
        && is_part_before(&older_part(path), session)
    {
        let mut older = Reader::open(&older_part(path))?;
        older.by_ref().try_for_each(|item| use_item(item?))?;
        lost = older.lost();
    }
    first.into_iter().try_for_each(&mut use_item)?;
    reader.by_ref().try_for_each(|item| use_item(item?))?;
    Ok(lost.and(reader.lost()))
}

/// Whether the record at `path` holds the part before the one that begins with `session`.
fn is_part_before(path: &Path, session: &Session) -> bool {
    let Some(part_before) = session.part.checked_sub(1) else { return false };
    let Ok(mut reader) = Reader::open(path) else { return false };
    reader.any(|item| {
        matches!(item, Ok(Item::Session(older))
            if older.started_unix_ms == session.started_unix_ms && older.part == part_before)
    })
}

/// Removes the record at `path`, its older part, and those of both that were set aside. Says whether there was any.
///
/// # Errors
/// When one cannot be removed; the others are.
pub fn remove(path: &Path) -> Result<bool> {
    let older = older_part(path);
    let mut outcome = Ok(false);
    for path in [aside(&older), aside(path), older, path.to_owned()] {
        match std::fs::remove_file(&path) {
            Ok(()) => outcome = outcome.map(|_| true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => outcome = Err(Error::Open { path, source }),
        }
    }
    outcome
}

/// Where a damaged record is set aside.
fn aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".damaged");
    name.into()
}

/// Renames the file at `path`, where a record should be and none can go on because its head is damaged, so that a new
/// one can begin; gives the new name, which ends in `.damaged` and replaces an earlier file of that name. `None` when
/// it is not ours to rename: by its name it is no record (`.brisk`), and no frame of it is whole.
///
/// # Errors
/// When it cannot be renamed.
pub fn set_damaged_aside(path: &Path) -> Result<Option<PathBuf>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_named = name.strip_suffix(".1").unwrap_or(&name).ends_with(".brisk");
    if !path.is_file() || !(is_named || Reader::open(path).is_ok()) {
        return Ok(None);
    }
    let aside = aside(path);
    std::fs::rename(path, &aside).map_err(|source| Error::Open { path: aside.clone(), source })?;
    Ok(Some(aside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_of_a_record_are_removed_and_no_other() {
        let dir = tempfile::tempdir().expect("a directory");
        let names = ["day.brisk", "day.brisk.1", "day.brisk.damaged", "day.brisk.1.damaged"];
        for name in names.iter().chain(&["day.brisk.2", "night.brisk"]) {
            std::fs::write(dir.path().join(name), "x").expect("written");
        }
        let path = dir.path().join("day.brisk");
        assert!(remove(&path).expect("removed"));
        assert!(names.iter().all(|name| !dir.path().join(name).exists()));
        assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 2);
        assert!(!remove(&path).expect("nothing to do"));
    }
}
