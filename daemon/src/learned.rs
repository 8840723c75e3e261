//! What engines have learned, kept over restarts: a file for each, replaced as a whole.
//!
//! A file tells which apps a person uses and when, so that only root reads it.
//!
//! A file that cannot be read or understood is set aside: the next save would replace it.
//!
//! Properties: `what_was_written_is_read_again`; `a_forgotten_app_is_in_no_file`; `what_cannot_be_read_is_set_aside`;
//! `what_is_no_regular_file_blocks_nothing`.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use brisk_core::causes::in_one_line;
use brisk_engine::iram::learned::Learned;
use brisk_engine::kit::Unusable;
use brisk_engine::kit::learned::{file_of, is_learned};

use crate::engines::{self, NAMES};
use crate::trials::Trials;

/// The file of the trials of engines.
pub const TRIALS: &str = "trials.json";

/// Larger files are none of ours.
const FILE_BYTES_MAX: u64 = 8 << 20;
/// Of a larger file that was set aside it is not known what it names.
const ASIDE_BYTES_MAX: u64 = 64 << 20;
/// A record holds all files of a configuration in one piece: what is larger than this is left out of it.
const RECORDED_BYTES_MAX: usize = 256 << 10;

/// A file that cannot be changed.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", .path.display())]
pub struct NotWritten {
    pub path: PathBuf,
    source: io::Error,
}

/// What all engines have learned, by folder and name: `iram/learned.json`; and complaints about files that cannot be
/// read, which are left out and, but for a dry run, set aside.
#[must_use]
pub fn read(dir: &Path, dry_run: bool) -> (BTreeMap<String, String>, Vec<String>) {
    let (mut files, mut complaints) = (BTreeMap::new(), Vec::new());
    for engine in NAMES.iter().chain(&[brisk_engine::kit::wear::NAME]) {
        let name = file_of(engine);
        match brisk_program::files::read_text(&dir.join(&name), FILE_BYTES_MAX) {
            Ok(text) => drop(files.insert(name, text)),
            Err(error) if error.is_missing() => {}
            Err(error) => {
                let why = format!("what {engine} has learned is left out: {}", in_one_line(&error));
                complaints.push(set_aside(dir, &name, why, dry_run));
            }
        }
    }
    (files, complaints)
}

/// Complaints about files that engines cannot use; what was learned is set aside, but for a dry run.
#[must_use]
pub fn left_out(dir: &Path, unusable: Vec<Unusable>, dry_run: bool) -> Vec<String> {
    let complain = |one: Unusable| {
        if is_learned(&one.file) { set_aside(dir, &one.file, one.why, dry_run) } else { one.why }
    };
    unusable.into_iter().map(complain).collect()
}

/// Renames a file that cannot be used, in place of one that was set aside before; the complaint, with its path.
fn set_aside(dir: &Path, name: &str, why: String, dry_run: bool) -> String {
    let path = dir.join(name);
    if dry_run {
        return format!("{why}; it is {}", path.display());
    }
    let aside = aside(&path);
    match fs::rename(&path, &aside) {
        Ok(()) => format!("{why}; it was renamed to {}", aside.display()),
        Err(error) => format!("{why}; it is {} and cannot be renamed: {error}", path.display()),
    }
}

fn aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".damaged");
    name.into()
}

/// Removes a file that was set aside, where all is to be forgotten, or it names the app.
fn forget_aside(path: &Path, app: Option<&str>) -> Result<bool, NotWritten> {
    let aside = aside(path);
    let has = |app: &str| {
        let bytes = brisk_program::files::read(&aside, ASIDE_BYTES_MAX);
        // What cannot be read may name it.
        bytes
            .map_or_else(|error| !error.is_missing(), |bytes| bytes.windows(app.len()).any(|one| one == app.as_bytes()))
    };
    if app.is_some_and(|app| app.is_empty() || !has(app)) {
        return Ok(false);
    }
    match fs::remove_file(&aside) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(NotWritten { path: aside, source }),
    }
}

/// The trials of engines; without those of a file that cannot be used, with a complaint. It is set aside, but for a dry
/// run.
#[must_use]
pub fn trials(dir: &Path, dry_run: bool) -> (Trials, Option<String>) {
    let of = |why: String| {
        let why = format!("the trials of engines begin anew: {why}");
        (Trials::default(), Some(set_aside(dir, TRIALS, why, dry_run)))
    };
    let text = match brisk_program::files::read_text(&dir.join(TRIALS), FILE_BYTES_MAX) {
        Ok(text) => text,
        Err(error) if error.is_missing() => return (Trials::default(), None),
        Err(error) => return of(in_one_line(&error)),
    };
    Trials::of(Some(&text)).map_or_else(|error| of(error.to_string()), |trials| (trials, None))
}

/// The most memory that each app has needed, by its id, as the memory engine learned it in `dir`: anonymous pages, in
/// memory and in swap, in the first minutes of its runs. Empty where nothing was learned.
///
/// # Errors
/// When the file cannot be read or understood: a complaint.
pub fn needs(dir: &Path) -> Result<BTreeMap<String, u64>, String> {
    let path = dir.join(file_of(brisk_engine::iram::NAME));
    let text = match brisk_program::files::read_text(&path, FILE_BYTES_MAX) {
        Ok(text) => text,
        Err(error) if error.is_missing() => return Ok(BTreeMap::new()),
        Err(error) => return Err(in_one_line(&error)),
    };
    let learned: Learned =
        serde_json::from_str(&text).map_err(|error| format!("cannot understand {}: {error}", path.display()))?;
    Ok(learned.heap.peaks().map(|(id, bytes)| (id.to_owned(), bytes)).collect())
}

/// The files that a record holds: without what is too large for it.
#[must_use]
pub fn recorded(files: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut recorded = files.clone();
    recorded.retain(|name, text| !is_learned(name) || text.len() <= RECORDED_BYTES_MAX);
    recorded
}

/// By which two texts are told apart within one run of the daemon.
#[must_use]
pub fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Writes one of them.
///
/// # Errors
/// When the directory or the file cannot be written, or the next start would refuse the file for its size; the earlier
/// file is then unchanged.
pub fn write(dir: &Path, name: &str, text: &str) -> Result<(), NotWritten> {
    let path = dir.join(name);
    let write = || {
        if text.len() as u64 > FILE_BYTES_MAX {
            let why = format!("it would have {} bytes, and the next start reads {FILE_BYTES_MAX}", text.len());
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        let folder = path.parent().unwrap_or(dir);
        fs::create_dir_all(folder)?;
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        brisk_program::files::replace_regular(&path, text.as_bytes())
    };
    write().map_err(|source| NotWritten { path: path.clone(), source })
}

/// Removes an app from all files, or all files; for a time when no daemon runs. Says whether there was anything.
///
/// # Errors
/// When a file cannot be changed. A file that cannot be understood is an error too: what is in it is not known to be
/// forgotten.
pub fn forget(dir: &Path, app: Option<&str>) -> Result<bool, NotWritten> {
    let mut known = forget_trials(dir, app)?;
    for engine in NAMES {
        let path = dir.join(file_of(engine));
        let failed = |source: io::Error| NotWritten { path: path.clone(), source };
        known |= forget_aside(&path, app)?;
        let Some(app) = app else {
            match fs::remove_file(&path) {
                Ok(()) => known = true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(error)),
            }
            continue;
        };
        let text = match brisk_program::files::read_text(&path, FILE_BYTES_MAX) {
            Ok(text) => text,
            Err(error) if error.is_missing() => continue,
            Err(error) => return Err(failed(io::Error::other(error))),
        };
        if let Some(text) = engines::without(engine, &text, app).map_err(|error| failed(error.into()))? {
            known = true;
            write(dir, &file_of(engine), &text)?;
        }
    }
    Ok(known)
}

/// The same of the trials of engines. What persons switched stays.
fn forget_trials(dir: &Path, app: Option<&str>) -> Result<bool, NotWritten> {
    let path = dir.join(TRIALS);
    let was_aside = forget_aside(&path, app)?;
    let failed = |source: io::Error| NotWritten { path: path.clone(), source };
    let text = match brisk_program::files::read_text(&path, FILE_BYTES_MAX) {
        Ok(text) => text,
        Err(error) if error.is_missing() => return Ok(was_aside),
        Err(_) if app.is_none() => String::new(),
        Err(error) => return Err(failed(io::Error::other(error))),
    };
    let mut trials = match Trials::of(Some(&text)) {
        Ok(trials) => trials,
        // What cannot be understood may have anything in it.
        Err(_) if app.is_none() => return fs::remove_file(&path).map(|()| true).map_err(failed),
        Err(error) => return Err(failed(error.into())),
    };
    let known = trials.forget(app);
    match trials.text() {
        Some(text) if known => write(dir, TRIALS, &text)?,
        None => fs::remove_file(&path).map_err(failed)?,
        Some(_) => {}
    }
    Ok(known || was_aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_launches(ids: &[&str]) -> String {
        let mut learned = Learned::default();
        ids.iter().for_each(|id| learned.launched(id, 2.0));
        serde_json::to_string(&learned).expect("JSON")
    }

    #[test]
    fn what_was_written_is_read_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let place = dir.path().join("learned");
        assert_eq!(read(&place, false), (BTreeMap::new(), Vec::new()));
        write(&place, "iram/learned.json", "{}").expect("written");
        write(&place, "iram/learned.json", "{ }").expect("written");
        let expected = BTreeMap::from([("iram/learned.json".to_owned(), "{ }".to_owned())]);
        assert_eq!(read(&place, false), (expected, Vec::new()));
        let mode = fs::metadata(place.join("iram")).expect("made").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "who uses which apps is for root alone");
        assert_eq!(fs::read_dir(place.join("iram")).expect("listed").count(), 1);
    }

    #[test]
    fn needs_are_the_peaks_of_the_runs_that_ended() {
        const SECOND_NS: u64 = 1_000_000_000;
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(needs(dir.path()), Ok(BTreeMap::new()));
        let mut learned = Learned::default();
        for (app, most_bytes) in [("mpv", 90_u64 << 20), ("gimp", 300 << 20)] {
            learned.heap.launch_began(app, 0);
            for (second, bytes) in [(1, most_bytes / 2), (2, most_bytes), (3, most_bytes / 3)] {
                learned.heap.sample(app, second * SECOND_NS, bytes);
            }
        }
        learned.heap.ended("mpv");
        write(dir.path(), "iram/learned.json", &serde_json::to_string(&learned).expect("JSON")).expect("written");
        let found = needs(dir.path()).expect("a text");
        let (id, bytes) = found.first_key_value().expect("one has ended");
        let exact = (90_u64 << 20) as f64;
        assert!(found.len() == 1 && id == "mpv" && (*bytes as f64 / exact - 1.0).abs() < 0.001, "{found:?}");
        write(dir.path(), "iram/learned.json", "{}").expect("written");
        let why = needs(dir.path()).expect_err("not of this brisk");
        assert!(why.contains("cannot understand") && why.contains("iram/learned.json"), "{why}");
    }

    #[test]
    fn a_forgotten_app_is_in_no_file() {
        let dir = tempfile::tempdir().expect("a directory");
        write(dir.path(), "iram/learned.json", &with_launches(&["org.secret.App", "mpv"])).expect("written");
        let text = || read(dir.path(), false).0.get("iram/learned.json").cloned();
        assert!(forget(dir.path(), Some("org.secret.App")).expect("changed"));
        assert!(text().is_some_and(|text| !text.contains("secret") && text.contains("mpv")), "{:?}", text());
        assert!(!forget(dir.path(), Some("org.secret.App")).expect("nothing to do"));
        assert!(forget(dir.path(), None).expect("removed"));
        assert_eq!(text(), None);
        assert!(!forget(dir.path(), None).expect("nothing to do"));
    }

    #[test]
    fn what_cannot_be_read_is_set_aside() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("iram/learned.json");
        fs::create_dir_all(dir.path().join("iram")).expect("made");
        fs::write(&path, b"org.secret.App \xff").expect("written");
        assert_eq!(read(dir.path(), true).1.len(), 1);
        assert!(path.exists(), "a dry run changes nothing");
        let why = forget(dir.path(), Some("x")).expect_err("what is in it is not known").to_string();
        assert!(why.contains("iram/learned.json"), "{why}");
        let (files, complaints) = read(dir.path(), false);
        let begin = format!("what iram has learned is left out: {}", path.display());
        let end = format!("; it was renamed to {}.damaged", path.display());
        assert!(
            files.is_empty() && complaints[0].starts_with(&begin) && complaints[0].ends_with(&end),
            "{complaints:?}"
        );
        assert_eq!(read(dir.path(), false).1, [""; 0], "once");
        // What this brisk does not understand.
        fs::write(&path, "{}").expect("written");
        let unusable = || vec![Unusable { file: "iram/learned.json".to_owned(), why: "no version".to_owned() }];
        let complaints = left_out(dir.path(), unusable(), false);
        assert_eq!(complaints, [format!("no version{end}")]);
        let profile = vec![Unusable { file: "smartio/a.toml".to_owned(), why: "no speed".to_owned() }];
        assert_eq!(left_out(dir.path(), profile, false), ["no speed"], "what people measured stays");
        fs::write(dir.path().join(TRIALS), "{").expect("written");
        let complaint = trials(dir.path(), false).1.expect("not of this brisk");
        assert!(complaint.ends_with("/trials.json.damaged"), "{complaint}");
        // What was set aside names apps too.
        let damaged = aside(&path);
        fs::write(&damaged, "org.secret.App").expect("written");
        assert!(!forget(dir.path(), Some("mpv")).expect("it names another") && damaged.exists());
        assert!(forget(dir.path(), Some("org.secret.App")).expect("removed") && !damaged.exists());
        assert!(forget(dir.path(), None).expect("the trials") && !forget(dir.path(), None).expect("nothing"));
    }

    #[test]
    fn what_the_next_start_would_refuse_is_not_written() {
        let dir = tempfile::tempdir().expect("a directory");
        let text = " ".repeat(FILE_BYTES_MAX as usize);
        write(dir.path(), "iram/learned.json", &text).expect("the largest");
        let why = write(dir.path(), "iram/learned.json", &format!("{text}x")).expect_err("one byte more");
        assert!(in_one_line(&why).contains("it would have 8388609 bytes"), "{}", in_one_line(&why));
        assert_eq!(read(dir.path(), false).0.get("iram/learned.json"), Some(&text), "the earlier one stays");
    }

    #[test]
    fn what_is_no_regular_file_blocks_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("iram/learned.json");
        fs::create_dir_all(dir.path().join("iram")).expect("made");
        for path in [&path, &dir.path().join(TRIALS)] {
            let (of, rights) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
            rustix::fs::mknodat(rustix::fs::CWD, path, of, rights, 0).expect("a pipe");
        }
        let why = write(dir.path(), "iram/learned.json", "{}").expect_err("a pipe");
        assert!(in_one_line(&why).contains("iram/learned.json: it is not a regular file"), "{}", in_one_line(&why));
        assert!(read(dir.path(), false).1[0].contains("is a pipe (FIFO)"));
        assert!(trials(dir.path(), false).1.is_some_and(|why| why.contains("is a pipe (FIFO)")));
        write(dir.path(), "iram/learned.json", "{}").expect("the pipe was set aside");
        assert!(forget(dir.path(), None).expect("removed"));
    }

    #[test]
    fn what_is_too_large_is_not_recorded() {
        let files = BTreeMap::from([
            ("iram/learned.json".to_owned(), "x".repeat(RECORDED_BYTES_MAX + 1)),
            ("smartio/a.toml".to_owned(), "x".repeat(RECORDED_BYTES_MAX + 1)),
        ]);
        assert_eq!(recorded(&files).into_keys().collect::<Vec<_>>(), ["smartio/a.toml"]);
    }
}
