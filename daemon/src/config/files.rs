//! The files of a configuration: brisk.toml, and then those of the folder brisk.d next to it.
//!
//! A drop-in file, such as /etc/brisk/brisk.d/50-kiosk.toml, has the same keys as brisk.toml. Files are read in the
//! order of the bytes of their names; tables are merged key by key, and of a key that two files have the later one
//! wins, lists as a whole. So a package, a fleet or `brisk setup` can add a setting without editing a file of another.
//!
//! Each file is checked by itself first, so that a message has file, line and key. What only several files together
//! make wrong is blamed on the file with which it begins.
//!
//! Properties: `later_files_win_key_by_key`; `a_message_names_the_file_line_and_key`;
//! `what_files_are_wrong_together_is_blamed_on_the_later_one`; `each_value_has_its_file`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use brisk_program::files;
use serde::Deserialize as _;

use super::{Complaint, Config, Error};

/// A configuration with where it is from.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The whole.
    pub config: Config,
    /// One text that means the same: that of the file where there is but one.
    pub text: String,
    /// The files in their order, with their texts.
    pub files: Vec<(PathBuf, String)>,
    origins: Origins,
}

/// Which file each value is from, by its path of keys.
type Origins = BTreeMap<Vec<String>, PathBuf>;

impl Loaded {
    /// Reads the file at `path` and its drop-in files. A missing file at `path` is an empty one where `or_default` says
    /// so.
    ///
    /// # Errors
    /// When a file cannot be read, has a key that is not known, or a value that cannot be used.
    pub fn read(path: &Path, or_default: bool) -> Result<Self, Error> {
        let mut files = Vec::new();
        match files::read_text(path, files::TEXT_BYTES_MAX) {
            Ok(text) => files.push((path.to_owned(), text)),
            // A dangling link is no missing file: what it was to lead to is not there.
            Err(error) if error.is_missing() && or_default && !path.is_symlink() => {}
            Err(error) => return Err(error.into()),
        }
        for drop_in in files::drop_ins(path)? {
            let text = files::read_text(&drop_in, files::TEXT_BYTES_MAX)?;
            files.push((drop_in, text));
        }
        Self::of(files)
    }

    /// The same of files that were read.
    ///
    /// # Errors
    /// When one has a key that is not known, or a value that cannot be used.
    pub fn of(files: Vec<(PathBuf, String)>) -> Result<Self, Error> {
        let (mut merged, mut origins, mut config) = (toml::Table::new(), Origins::new(), Config::default());
        for (path, text) in &files {
            let bad = |complaint| Error::Bad { path: path.clone(), complaint };
            let table: toml::Table = toml::from_str(text).map_err(|error| bad(Complaint::of(&error, text)))?;
            merge(&mut merged, table, path, &mut Vec::new(), &mut origins);
            config = Config::deserialize(merged.clone()).map_err(|together| match Config::parse(text) {
                Err(complaint) => bad(complaint),
                Ok(_) => Error::Together { path: path.clone(), what: together.message().trim().replace('\n', ", ") },
            })?;
        }
        let text = match files.as_slice() {
            [] => String::new(),
            [(_, text)] => text.clone(),
            _ => toml::to_string(&merged).expect("tables that were read are TOML"),
        };
        Ok(Self { config, text, files, origins })
    }

    /// The whole configuration as TOML. What a file sets has its name behind it, but for defaults that the first file
    /// repeats, as the one of a package does.
    #[must_use]
    pub fn to_text(&self) -> String {
        let default = Config::default().to_text();
        let defaults: BTreeSet<(Vec<String>, &str)> = lines(&default).collect();
        let first = self.files.first().map(|(path, _)| path);
        let mut text = String::new();
        for (keys, line) in lines(&self.config.to_text()) {
            text += line;
            let origin = self.origins.get(&keys).filter(|_| !line.starts_with('['));
            let is_repeated = |origin: &&PathBuf| first == Some(*origin) && defaults.contains(&(keys.clone(), line));
            if let Some(origin) = origin.filter(|origin| !is_repeated(origin)) {
                text += &format!("  # {}", origin.display());
            }
            text.push('\n');
        }
        text
    }

    /// Which file each value is from that a file sets, by its keys with points between them.
    #[must_use]
    pub fn origins(&self) -> BTreeMap<String, &Path> {
        self.origins.iter().map(|(keys, path)| (keys.join("."), path.as_path())).collect()
    }
}

/// The lines of a configuration that brisk wrote, each with the path of its keys.
fn lines(text: &str) -> impl Iterator<Item = (Vec<String>, &str)> {
    let mut section = Vec::new();
    text.lines().map(move |line| {
        let keys = toml::from_str(line).map(|table: toml::Table| path_of(table)).unwrap_or_default();
        if line.starts_with('[') {
            section.clone_from(&keys);
            return (keys, line);
        }
        ([section.clone(), keys].concat(), line)
    })
}

/// The keys of a line: those of a section, or that of a value.
fn path_of(table: toml::Table) -> Vec<String> {
    let mut keys = Vec::new();
    let mut rest = Some(table);
    while let Some((key, value)) = rest.and_then(|table| table.into_iter().next()) {
        keys.push(key);
        rest = if let toml::Value::Table(table) = value { Some(table) } else { None };
    }
    keys
}

/// Puts the values of `from` in the place of those of `into`, and notes that they are from `path`.
fn merge(into: &mut toml::Table, from: toml::Table, path: &Path, keys: &mut Vec<String>, origins: &mut Origins) {
    for (key, value) in from {
        keys.push(key.clone());
        match value {
            toml::Value::Table(from) => {
                let below = into.entry(key).or_insert_with(|| toml::Table::new().into());
                if !below.is_table() {
                    *below = toml::Table::new().into();
                }
                if let toml::Value::Table(below) = below {
                    merge(below, from, path, keys, origins);
                }
            }
            value => {
                into.insert(key, value);
                origins.retain(|known, _| !known.starts_with(keys));
                origins.insert(keys.clone(), path.to_owned());
            }
        }
        keys.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::app::Tolerance;

    fn of(files: &[(&str, &str)]) -> Result<Loaded, String> {
        let files = files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
        Loaded::of(files).map_err(|error| error.to_string())
    }

    const MAIN: (&str, &str) = (
        "brisk.toml",
        "[apps.class]\n\"org.a\" = \"batch\"\n\"org.b\" = \"batch\"\n[daemon]\ndevices = [\"sda\", \"sdb\"]\n",
    );
    const FLEET: (&str, &str) = (
        "brisk.d/50.toml",
        "[daemon]\ndevices = [\"sdc\"]\nrecord = { max_bytes = 0 }\n[apps.class]\n\"org.b\" = \"streaming\"\n",
    );

    #[test]
    fn later_files_win_key_by_key() {
        let loaded = of(&[MAIN, FLEET]).expect("usable");
        let apps = [("org.a", Tolerance::Batch), ("org.b", Tolerance::Streaming)];
        assert_eq!(loaded.config.apps.class, apps.map(|(id, class)| (id.to_owned(), class)).into());
        assert_eq!(loaded.config.daemon.devices, super::super::Devices::These(vec!["sdc".to_owned()]));
        // A record has one text, which means the same.
        assert_eq!(Config::parse(&loaded.text), Ok(loaded.config));
        assert_eq!(of(&[MAIN]).expect("usable").text, MAIN.1);
        assert_eq!(of(&[]).expect("usable").config, Config::default());
    }

    #[test]
    fn a_message_names_the_file_line_and_key() {
        let cases = [
            ("[daemon]\ndevice = 1\n", "brisk.d/x.toml:2:1: unknown field `device`", "did you mean 'devices'?"),
            ("[daemon]\n\nsocket_group = 7\n", "brisk.d/x.toml:3:16: ", "([daemon] socket_group)"),
            ("[daemon]\nrecord = { max_bytes = 7 }\n", "brisk.d/x.toml:2:24: a record of 7 bytes", "([daemon] record)"),
            ("[daemon\n", "brisk.d/x.toml:1:8: ", ""),
        ];
        for (text, begin, rest) in cases {
            let message = of(&[MAIN, FLEET, ("brisk.d/x.toml", text)]).expect_err("not usable");
            assert!(message.starts_with(begin) && message.contains(rest), "{text:?}: {message}");
        }
    }

    #[test]
    fn what_files_are_wrong_together_is_blamed_on_the_later_one() {
        let low = ("brisk.d/10.toml", "[mars]\nreserve_max_percent = 10.0\n");
        let high = ("brisk.d/20.toml", "[mars]\nreserve_min_percent = 12.0\n");
        let alone = of(&[("brisk.d/20.toml", "[mars]\nreserve_max_percent = 30.0\nreserve_min_percent = 12.0\n")]);
        assert!(alone.is_ok(), "{alone:?}");
        let message = of(&[low, high]).expect_err("not usable");
        assert!(message.starts_with("brisk.d/20.toml"), "{message}");
        // What is wrong alone may be right with the files before it.
        let wide = ("brisk.d/10.toml", "[mars]\nreserve_max_percent = 40.0\n");
        let min = ("brisk.d/20.toml", "[mars]\nreserve_min_percent = 30.0\n");
        assert!(of(&[min]).is_err() && of(&[wide, min]).is_ok());
    }

    #[test]
    fn each_value_has_its_file() {
        let loaded = of(&[MAIN, FLEET]).expect("usable");
        let text = loaded.to_text();
        for line in [
            "\"org.a\" = \"batch\"  # brisk.toml",
            "\"org.b\" = \"streaming\"  # brisk.d/50.toml",
            "devices = [\"sdc\"]  # brisk.d/50.toml",
            "max_bytes = 0  # brisk.d/50.toml",
            "socket_group = \"brisk\"",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}: {text}");
        }
        assert_eq!(Config::parse(&text), Ok(loaded.config));
        let loaded = of(&[MAIN, FLEET]).expect("usable");
        let origins = loaded.origins();
        assert_eq!(origins["daemon.record.max_bytes"], Path::new("brisk.d/50.toml"));
        assert_eq!(origins.len(), 4);
    }
}
