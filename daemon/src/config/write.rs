//! Changes of the configuration that people make by a command or a page: what is to be done with an app, and the text
//! of the main file. Each is checked with all other files before anything is written, and a file replaced as a whole.
//!
//! What is chosen of apps stands in a drop-in file of its own, with whole lists, as of a list the last file wins; the
//! file is there only as long as it says more than the files before it. So a person's file keeps its comments.
//!
//! Properties: `an_app_is_on_one_list_at_most`; `what_cannot_be_used_changes_no_file`;
//! `a_text_that_another_program_changed_meanwhile_is_not_replaced`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use brisk_program::files;

use super::{Config, Error, Loaded};
use crate::learned;

/// Name of the file of apps: after those of a maker.
const FILE: &str = "80-apps.toml";

/// What a person chose of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Nothing is taken from it.
    Protect,
    /// It ends first, where any is ended.
    EndFirst,
    /// As brisk finds out.
    None,
}

impl Choice {
    /// The choice of this name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "protect" => Some(Self::Protect),
            "end_first" => Some(Self::EndFirst),
            "none" => Some(Self::None),
            _ => None,
        }
    }
}

/// Why a configuration was not changed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("{0:?} names no app: give an id such as org.gnome.Evince ('brisk apps' shows those that run)")]
    NoApp(String),
    #[error(transparent)]
    Bad(#[from] Error),
    #[error("{} comes later and has its own list '{list}': change it there", .path.display())]
    Overruled { path: PathBuf, list: &'static str },
    #[error("{} was changed by another program meanwhile: load it again, and repeat the change", .0.display())]
    Changed(PathBuf),
    #[error("cannot write {}", .path.display())]
    Write { path: PathBuf, source: std::io::Error },
}

/// Notes what is chosen of the app with this id in the folder brisk.d next to the configuration at `path`; whether that
/// differs from before.
///
/// # Errors
/// When the id names no app, the configuration cannot be used with the choice, or a later file has lists of its own.
pub fn choose(path: &Path, or_default: bool, id: &str, choice: Choice) -> Result<bool, WriteError> {
    if id.contains(char::is_control) || id.trim_matches('*').is_empty() {
        return Err(WriteError::NoApp(id.to_owned()));
    }
    let before = Loaded::read(path, or_default)?;
    let file = path.with_extension("d").join(FILE);
    let others = Loaded::of(before.files.iter().filter(|(path, _)| *path != file).cloned().collect())?;
    let mut wanted = before.config.apps.clone();
    for (list, of) in [(&mut wanted.protect, Choice::Protect), (&mut wanted.end_first, Choice::EndFirst)] {
        match list.iter().any(|one| one == id) {
            true if of != choice => list.retain(|one| one != id),
            false if of == choice => list.push(id.to_owned()),
            _ => {}
        }
    }
    if wanted == before.config.apps {
        return Ok(false);
    }
    let mut text = String::new();
    let lists = [
        ("protect", &wanted.protect, &others.config.apps.protect),
        ("end_first", &wanted.end_first, &others.config.apps.end_first),
    ];
    for (name, wanted, _) in lists.into_iter().filter(|(_, wanted, without)| wanted != without) {
        let list: Vec<toml::Value> = wanted.iter().map(|id| id.as_str().into()).collect();
        text += &format!("{name} = {}\n", toml::Value::Array(list));
    }
    if text.is_empty() {
        std::fs::remove_file(&file).map_err(|source| WriteError::Write { path: file, source })?;
        return Ok(true);
    }
    let text = format!(
        "# Written for 'brisk apps' and 'brisk web'. These lists replace those of earlier files.\n[apps]\n{text}"
    );
    let after = with(before.files, &file, text.clone())?;
    for (list, is_so) in [
        ("protect", after.config.apps.protect == wanted.protect),
        ("end_first", after.config.apps.end_first == wanted.end_first),
    ] {
        if !is_so {
            let origins = after.origins();
            let path = origins.get(format!("apps.{list}").as_str()).map_or(file, |path| (*path).to_owned());
            return Err(WriteError::Overruled { path, list });
        }
    }
    replace(&file, &text)?;
    Ok(true)
}

/// The text of the main file, and its version by which [`edit`] knows it again; empty where there is none and that is
/// good.
///
/// # Errors
/// When it cannot be read.
pub fn main_text(path: &Path, or_default: bool) -> Result<(String, String), Error> {
    let text = match files::read_text(path, files::TEXT_BYTES_MAX) {
        Err(error) if error.is_missing() && or_default && !path.is_symlink() => String::new(),
        text => text?,
    };
    let version = format!("{:016x}", learned::digest(&text));
    Ok((text, version))
}

/// Replaces the main file by `text` where its version is `version`, or with `check` only says whether it could. Gives
/// the configuration as it is then.
///
/// # Errors
/// When the text cannot be used, alone or with the drop-in files, or the file is another one by now.
pub fn edit(path: &Path, or_default: bool, text: &str, version: &str, check: bool) -> Result<Config, WriteError> {
    let before = Loaded::read(path, or_default)?;
    let after = with(before.files, path, text.to_owned())?;
    if main_text(path, or_default)?.1 != version {
        return Err(WriteError::Changed(path.to_owned()));
    }
    if !check {
        replace(path, text)?;
    }
    Ok(after.config)
}

/// Replaces a file as a whole. A new one is for all to read, as those of packages are, whatever the mask of this
/// process.
fn replace(file: &Path, text: &str) -> Result<(), WriteError> {
    let failed = |source| WriteError::Write { path: file.to_owned(), source };
    let folder = file.parent().unwrap_or(Path::new("/"));
    let all_read = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
    if !folder.exists() {
        std::fs::create_dir_all(folder).and_then(|()| all_read(folder, 0o755)).map_err(failed)?;
    }
    let is_new = !file.exists();
    files::replace(file, text.as_bytes()).map_err(failed)?;
    if is_new { all_read(file, 0o644).map_err(failed) } else { Ok(()) }
}

/// The configuration with another text of one file.
fn with(mut files: Vec<(PathBuf, String)>, file: &Path, text: String) -> Result<Loaded, Error> {
    let is_drop_in = |path: &Path| path.parent().is_some_and(|parent| parent.extension().is_some_and(|end| end == "d"));
    let order = |path: &Path| (is_drop_in(path), path.file_name().map(std::ffi::OsStr::to_owned));
    match files.iter().position(|(path, _)| path == file) {
        Some(at) => files[at].1 = text,
        None => {
            let at = files.partition_point(|(path, _)| order(path) < order(file));
            files.insert(at, (file.to_owned(), text));
        }
    }
    Loaded::of(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("brisk.d")).expect("made");
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).expect("written");
        }
        let main = dir.path().join("brisk.toml");
        (dir, main)
    }

    #[test]
    fn an_app_is_on_one_list_at_most() {
        let main_text = "# mine\n[apps]\nprotect = [\"a\"]\n";
        let (dir, main) = written(&[("brisk.toml", main_text), ("brisk.d/90.toml", "[mars]\n")]);
        let choose = |id: &str, choice| choose(&main, true, id, choice).expect("chosen");
        let lists = || {
            let apps = Loaded::read(&main, true).expect("usable").config.apps;
            (apps.protect.join(" "), apps.end_first.join(" "))
        };
        assert!(choose("quo\"te", Choice::Protect) && !choose("quo\"te", Choice::Protect));
        assert_eq!(lists(), ("a quo\"te".to_owned(), String::new()));
        assert!(choose("a", Choice::EndFirst));
        assert_eq!(lists(), ("quo\"te".to_owned(), "a".to_owned()));
        assert!(choose("quo\"te", Choice::None) && choose("a", Choice::Protect));
        // It says no more than the file of the person.
        assert!(!dir.path().join("brisk.d").join(FILE).exists());
        assert_eq!(lists(), ("a".to_owned(), String::new()));
        assert_eq!(std::fs::read_to_string(&main).expect("there"), main_text);
    }

    #[test]
    fn what_cannot_be_used_changes_no_file() {
        let later = ("brisk.d/90.toml", "[apps]\nprotect = [\"b\"]\n");
        let (dir, main) = written(&[("brisk.toml", "[apps]\nend_first = [\"mail\"]\n"), later]);
        for id in ["", "*", "a\nb"] {
            assert!(matches!(choose(&main, true, id, Choice::Protect), Err(WriteError::NoApp(_))), "{id:?}");
        }
        let overruled = choose(&main, true, "c", Choice::Protect).expect_err("it comes later");
        assert!(overruled.to_string().contains("90.toml comes later and has its own list 'protect'"), "{overruled}");
        let both = choose(&main, true, "b", Choice::EndFirst).expect_err("on both lists");
        assert!(both.to_string().contains("'b' is in 'protect' and in 'end_first'"), "{both}");
        assert!(!dir.path().join("brisk.d").join(FILE).exists());
        let (_, version) = main_text(&main, true).expect("readable");
        let wrong = edit(&main, true, "[daemon]\ndevice = 1\n", &version, false).expect_err("no such key");
        assert!(wrong.to_string().contains("brisk.toml:2:1: unknown field `device`"), "{wrong}");
        assert!(std::fs::read_to_string(&main).expect("there").starts_with("[apps]"));
    }

    #[test]
    fn a_text_that_another_program_changed_meanwhile_is_not_replaced() {
        let (_dir, main) = written(&[("brisk.toml", "# one\n")]);
        let (_, version) = main_text(&main, true).expect("readable");
        let text = "# mine\n[engines]\ntrial = false\n";
        assert!(!edit(&main, true, text, &version, true).expect("usable").engines.trial);
        assert_eq!(std::fs::read_to_string(&main).expect("there"), "# one\n", "checked, not written");
        edit(&main, true, text, &version, false).expect("written");
        assert_eq!(std::fs::read_to_string(&main).expect("there"), text);
        assert!(matches!(edit(&main, true, "# two\n", &version, false), Err(WriteError::Changed(_))));
        std::fs::remove_file(&main).expect("removed");
        let (empty, version) = main_text(&main, true).expect("the defaults");
        assert_eq!(empty, "");
        edit(&main, true, text, &version, false).expect("made");
        assert_eq!(std::fs::read_to_string(&main).expect("there"), text);
    }
}
