//! The command of a desktop id such as `org.gnome.Evince`.
//!
//! A desktop entry is a file `ID.desktop` in `applications/` below the data directories of the session
//! (freedesktop.org: Desktop Entry Specification 1.5, Base Directory Specification). brisk reads its `Exec`, `Name` and
//! `Path`, and removes field codes for files to open.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::launch::app::App;
use crate::launch::error::{Error, Result};

/// The data directories, most important first: XDG_DATA_HOME, then XDG_DATA_DIRS, with the specification's defaults.
#[must_use]
pub fn data_dirs(home: Option<OsString>, data_home: Option<OsString>, data_dirs: Option<OsString>) -> Vec<PathBuf> {
    let set = |value: Option<OsString>| value.filter(|value| !value.is_empty());
    let own = set(data_home).map(PathBuf::from).or_else(|| set(home).map(|home| Path::new(&home).join(".local/share")));
    let others = set(data_dirs).unwrap_or_else(|| "/usr/local/share:/usr/share".into());
    own.into_iter().chain(std::env::split_paths(&others)).filter(|dir| dir.is_absolute()).collect()
}

/// The app of the desktop entry `id`, found below `dirs`.
///
/// # Errors
/// When there is none, or it has no command.
pub fn find(id: &str, dirs: &[PathBuf]) -> Result<App> {
    let id = id.strip_suffix(".desktop").unwrap_or(id);
    for dir in dirs {
        // A dash in an id may stand for a directory separator.
        for name in [format!("{id}.desktop"), format!("{}.desktop", id.replace('-', "/"))] {
            let path = dir.join("applications").join(name);
            match brisk_program::files::read(&path, brisk_program::files::TEXT_BYTES_MAX) {
                Ok(text) => return parse(id, &String::from_utf8_lossy(&text), &path),
                Err(error) if error.is_missing() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    let searched = dirs.iter().map(|dir| dir.join("applications").display().to_string()).collect::<Vec<_>>().join(", ");
    Err(Error::DesktopEntry { id: id.to_owned(), searched })
}

fn parse(id: &str, text: &str, path: &Path) -> Result<App> {
    let bad = |reason: &str| Error::BadDesktopEntry { path: path.to_owned(), reason: reason.to_owned() };
    let mut in_entry = false;
    let (mut exec, mut name, mut working_dir) = (None, None, None);
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            in_entry = line == "[Desktop Entry]";
        } else if in_entry && let Some((key, value)) = line.split_once('=') {
            let value = value.trim_start();
            match key.trim_end() {
                "Exec" => exec = Some(value),
                "Name" => name = Some(value),
                "Path" if !value.is_empty() => working_dir = Some(PathBuf::from(value)),
                "Terminal" if value == "true" => {
                    return Err(bad("it runs in a terminal; give the command itself, after --"));
                }
                _ => {}
            }
        }
    }
    let exec = exec.ok_or_else(|| bad("it has no line Exec"))?;
    let words = shlex::split(exec).ok_or_else(|| bad("the quotes in its line Exec do not close"))?;
    let command: Vec<OsString> =
        words.iter().filter_map(|word| field(word, name.unwrap_or(id))).map(OsString::from).collect();
    if command.is_empty() {
        return Err(bad("its line Exec is empty"));
    }
    Ok(App { id: id.to_owned(), command, working_dir, ..App::default() })
}

/// A word of Exec with its field codes replaced; `None` when nothing remains.
fn field(word: &str, name: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('%') => out.push('%'),
            Some('c') => out.push_str(name),
            // Files, places, icons: not given.
            _ => {}
        }
    }
    (!out.is_empty() || word.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ENTRY: &str = "# A comment\n[Desktop Entry]\nName=Text Editor\nExec=\"/opt/a b/edit\" --class=%c --100%% %U\n\
                         Path=/tmp\n[Desktop Action new]\nExec=other\n";

    #[test]
    fn field_codes_are_removed_from_the_command() {
        let app = parse("editor", ENTRY, Path::new("x")).expect("an app");
        assert_eq!(app.command, ["/opt/a b/edit", "--class=Text Editor", "--100%"].map(OsString::from));
        assert_eq!((app.id.as_str(), app.working_dir), ("editor", Some(PathBuf::from("/tmp"))));
    }

    #[test]
    fn entries_without_a_command_are_refused() {
        for (text, reason) in [
            ("[Desktop Entry]\nName=x\n", "no line Exec"),
            ("[Desktop Entry]\nExec=%u\n", "is empty"),
            ("[Desktop Entry]\nExec=\"a\n", "quotes"),
            ("[Desktop Entry]\nExec=a\nTerminal=true\n", "terminal"),
            ("[Other]\nExec=a\n", "no line Exec"),
        ] {
            let error = parse("x", text, Path::new("x.desktop")).expect_err(text).to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn an_entry_is_found_in_the_first_directory_that_has_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let applications = dir.path().join("b/applications/kde");
        std::fs::create_dir_all(&applications).expect("folders");
        std::fs::write(applications.join("okular.desktop"), "[Desktop Entry]\nExec=okular %U\n").expect("a file");
        let dirs = [dir.path().join("a"), dir.path().join("b")];
        assert_eq!(find("kde-okular", &dirs).expect("found").command, ["okular"].map(OsString::from));
        let error = find("none", &dirs).expect_err("none").to_string();
        assert!(error.contains("none.desktop") && error.contains("b/applications"), "{error}");
    }

    #[test]
    fn the_directories_are_those_of_the_specification() {
        let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            data_dirs(Some("/home/a".into()), None, None),
            paths(&["/home/a/.local/share", "/usr/local/share", "/usr/share"])
        );
        assert_eq!(data_dirs(None, Some("/d".into()), Some("/e:relative:/f".into())), paths(&["/d", "/e", "/f"]));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(\\[Desktop Entry\\]\n)?(Exec=)?\\PC{0,60}") {
            let _ = parse("x", &text, Path::new("x"));
        }
    }
}
