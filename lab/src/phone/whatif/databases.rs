//! Moves the user's databases to memory, one by one.
//!
//! Databases are recognised by content: a SQLite file has a signature, a LevelDB directory has `CURRENT` and a
//! manifest. Each is copied into the phone's /run, which is in memory.
//!
//! A SQLite file is renamed, and a symbolic link to the copy takes its place: SQLite resolves the link before it names
//! its journal, so the journal is in memory as well; with a bind mount over the file it would stay on the flash. A copy
//! of a LevelDB directory is bind-mounted: chromium removes some of its directories at start, and would replace a link
//! by a directory on the flash. New databases of an app are on the flash.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use rustix::mount::mount_bind;

use crate::phone::error::{Result, io as failed};
use crate::phone::{mounts, tree};

/// Directory of the copies in the phone.
const PLACE: &str = "/run/brisk/databases";
/// Suffix of an original while it is replaced.
const KEPT: &str = ".brisk-kept";
/// Signature of a SQLite file (sqlite.org: Database File Format, 1.3).
const SQLITE: &[u8; 16] = b"SQLite format 3\0";
/// Suffixes of files that belong to a database.
const COMPANIONS: [&str; 3] = ["-journal", "-wal", "-shm"];

/// Moves the databases below `home` to memory; returns their number.
///
/// # Errors
/// When one cannot be copied or replaced; those moved before stay, for [`move_back`].
pub(super) fn move_out(home: &Path, root: &Path) -> Result<usize> {
    let found = find(home).map_err(failed(format!("look for databases in {}", home.display())))?;
    for (number, database) in found.iter().enumerate() {
        move_one(database, number, root).map_err(failed(format!("move {} to memory", database.display())))?;
    }
    Ok(found.len())
}

fn move_one(database: &Path, number: usize, root: &Path) -> std::io::Result<()> {
    let name = database.file_name().unwrap_or_default();
    let dir = mounts::inside(root, PLACE).join(number.to_string());
    fs::create_dir_all(&dir)?;
    chown(&dir, Some(mounts::UID), Some(mounts::UID))?;
    copy(database, &dir.join(name))?;
    if database.is_dir() {
        return Ok(mount_bind(dir.join(name), database)?);
    }
    for companion in COMPANIONS {
        let from = with_suffix(database, companion);
        if from.is_file() {
            copy(&from, &with_suffix(&dir.join(name), companion))?;
        }
    }
    fs::rename(database, with_suffix(database, KEPT))?;
    symlink(Path::new(PLACE).join(number.to_string()).join(name), database)
}

/// Restores the originals.
///
/// # Errors
/// When one cannot be restored.
pub(super) fn move_back(home: &Path, root: &Path) -> Result<()> {
    mounts::unmount_all(home, false)?;
    let mut kept = Vec::new();
    let found = tree::walk(home, &mut |path, _| {
        kept.extend(path.to_str().and_then(|path| path.strip_suffix(KEPT)).map(PathBuf::from));
        Ok(())
    });
    found.map_err(failed(format!("look for databases in {}", home.display())))?;
    for database in kept {
        // Removes the current entry: the link, or an app's new file.
        let removed = if database.is_symlink() || database.exists() { fs::remove_file(&database) } else { Ok(()) };
        let back = removed.and_then(|()| fs::rename(with_suffix(&database, KEPT), &database));
        back.map_err(failed(format!("restore {}", database.display())))?;
    }
    match fs::remove_dir_all(mounts::inside(root, PLACE)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(failed("remove databases from memory")(error))
        }
        _ => Ok(()),
    }
}

/// Databases below a directory: SQLite files, and LevelDB directories outside of other databases.
fn find(home: &Path) -> std::io::Result<Vec<PathBuf>> {
    let (mut files, mut dirs) = (Vec::new(), Vec::new());
    tree::walk(home, &mut |path, about| {
        let kept = path.as_os_str().as_encoded_bytes().ends_with(KEPT.as_bytes());
        if about.is_file() && !kept && is_sqlite(path) {
            files.push(path.to_owned());
        } else if about.is_dir() && is_leveldb(path) {
            dirs.push(path.to_owned());
        }
        Ok(())
    })?;
    let outer: Vec<PathBuf> = dirs.clone();
    dirs.retain(|dir| !outer.iter().any(|other| other != dir && dir.starts_with(other)));
    files.retain(|file| !dirs.iter().any(|dir| file.starts_with(dir)));
    files.extend(dirs);
    files.sort();
    Ok(files)
}

fn is_sqlite(path: &Path) -> bool {
    let mut head = [0; 16];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == *SQLITE
}

fn is_leveldb(dir: &Path) -> bool {
    let has_manifest = || {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.file_name().as_encoded_bytes().starts_with(b"MANIFEST-"))
    };
    dir.join("CURRENT").is_file() && has_manifest()
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Copies a file or a directory with owners and modes.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let about = fs::symlink_metadata(from)?;
    if about.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        fs::set_permissions(to, about.permissions())?;
    } else if about.is_file() {
        fs::copy(from, to)?;
    }
    chown(to, Some(about.uid()), Some(about.gid()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_move_to_memory_and_back_unchanged() {
        brisk_requires::requires!(Root, Mount);
        let root = tempfile::tempdir().expect("temporary directory");
        let home = root.path().join("home/user");
        let write = |name: &str, bytes: &[u8]| {
            let path = home.join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(&path, bytes).expect("written");
            path
        };
        let sqlite = [SQLITE.as_slice(), b"rows"].concat();
        let history = write("browser/History", &sqlite);
        write("browser/History-journal", b"half a transaction");
        let text = write("browser/History.txt", b"SQLite format 3 is a nice format");
        let level = write("browser/Local Storage/CURRENT", b"MANIFEST-000001\n");
        write("browser/Local Storage/MANIFEST-000001", b"x");
        write("browser/Local Storage/inner.db", &sqlite);
        let storage = level.parent().expect("a parent");

        assert_eq!(move_out(&home, root.path()).expect("moved"), 2);
        let target = fs::read_link(&history).expect("a link");
        assert!(target.starts_with(PLACE), "{}", target.display());
        assert!(mounts::mount_on(storage).expect("readable").is_some());
        fs::write(storage.join("LOG"), "written in memory").expect("written");
        let place = mounts::inside(root.path(), PLACE);
        let copies: Vec<_> = (0..2).map(|number| place.join(number.to_string())).collect();
        let copied = |name: &str| copies.iter().any(|dir| dir.join(name).exists());
        for name in ["History", "History-journal", "Local Storage/inner.db", "Local Storage/CURRENT"] {
            assert!(copied(name), "{name}");
        }
        assert!(fs::symlink_metadata(&text).expect("there").is_file());
        move_back(&home, root.path()).expect("moved back");
        assert_eq!(fs::read(&history).expect("a file again"), sqlite);
        assert!(mounts::mount_on(storage).expect("readable").is_none());
        assert!(storage.join("CURRENT").is_file() && !storage.join("LOG").exists());
        assert!(!place.exists());
        move_back(&home, root.path()).expect("nothing to do");
    }
}
