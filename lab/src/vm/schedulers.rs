//! The schedulers of a comparison: their modules, and the values for a search (`kernel/schedulers.toml`).

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::vm::error::{Error, Result};

/// Settings of a scheduler: `nr_requests` and its tunables.
pub type Settings = BTreeMap<String, String>;

/// The kernel's own schedulers, simplest first.
pub const STOCK: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Its kernel module; absent for `none`.
    #[serde(default)]
    module: Option<String>,
    /// Values to try by the name of the setting.
    #[serde(default)]
    search: BTreeMap<String, Vec<toml::Value>>,
    /// Settings with which it is a rival of others at its best.
    #[serde(default)]
    rivals: Vec<BTreeMap<String, toml::Value>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheduler {
    /// Its name in `queue/scheduler`.
    pub name: String,
    /// The kernel module that holds it.
    pub module: Option<String>,
    /// Settings and the values that a search tries.
    pub search: Vec<(String, Vec<String>)>,
    /// Settings with which it is a rival of others at its best.
    pub rivals: Vec<Settings>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedulers(Vec<Scheduler>);

impl Schedulers {
    /// Parses the table.
    ///
    /// # Errors
    /// When the text is invalid.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let entries: BTreeMap<String, Entry> = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut all = Vec::new();
        for (name, entry) in entries {
            plain(&name)?;
            let mut search = Vec::new();
            for (setting, values) in entry.search {
                plain(&setting)?;
                search.push((setting, values.iter().map(value).collect::<std::result::Result<_, _>>()?));
            }
            let mut rivals = Vec::new();
            for rival in entry.rivals {
                rival.keys().try_for_each(|setting| plain(setting))?;
                let settings = rival.into_iter().map(|(setting, of)| Ok((setting, value(&of)?)));
                rivals.push(settings.collect::<std::result::Result<_, String>>()?);
            }
            all.push(Scheduler { name, module: entry.module, search, rivals });
        }
        // The kernel's own first, then others.
        let rank = |one: &Scheduler| STOCK.iter().position(|name| *name == one.name).unwrap_or(STOCK.len());
        all.sort_by_key(rank);
        Ok(Self(all))
    }

    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be read or is invalid.
    pub fn read(path: &Path) -> Result<Self> {
        let text = brisk_program::files::read_text(path, brisk_program::files::TEXT_BYTES_MAX)?;
        Self::parse(&text).map_err(|why| Error::BadFile { path: path.to_owned(), why })
    }

    /// Finds a scheduler by name.
    ///
    /// # Errors
    /// When it is not in the table.
    pub fn get(&self, name: &str) -> Result<&Scheduler> {
        self.0.iter().find(|scheduler| scheduler.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.names().collect();
            Error::BadOption(format!(
                "there is no scheduler '{name}' in kernel/schedulers.toml: it has {}",
                known.join(", ")
            ))
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = &Scheduler> {
        self.0.iter()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|scheduler| scheduler.name.as_str())
    }
}

/// A value of the table as the kernel's files take it.
fn value(of: &toml::Value) -> std::result::Result<String, String> {
    let text = match of {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    plain(&text).map(|()| text)
}

/// Refuses words with shell syntax.
pub(crate) fn plain(word: &str) -> std::result::Result<(), String> {
    let ok = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    if ok { Ok(()) } else { Err(format!("'{word}' is not a plain word or number")) }
}

/// Parses settings from `name=value` words.
///
/// # Errors
/// When a word is invalid.
pub fn settings(words: &[String]) -> Result<Settings> {
    let mut settings = Settings::new();
    for word in words {
        let (name, value) = word
            .split_once('=')
            .ok_or_else(|| Error::BadOption(format!("'{word}' is not NAME=VALUE, such as nr_requests=8")))?;
        plain(name).and_then(|()| plain(value)).map_err(Error::BadOption)?;
        settings.insert(name.to_owned(), value.to_owned());
    }
    Ok(settings)
}

/// Settings as text; empty for none.
#[must_use]
pub fn words(settings: &Settings) -> String {
    let words: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_in_the_tree_is_valid_and_has_the_kernels_schedulers() {
        let all = Schedulers::parse(include_str!("../../../kernel/schedulers.toml")).expect("valid");
        for name in ["none", "mq-deadline", "kyber", "bfq", "smartio"] {
            let scheduler = all.get(name).expect(name);
            assert!(scheduler.search.iter().all(|(_, values)| !values.is_empty()), "{name}");
        }
        assert_eq!(all.names().take(4).collect::<Vec<_>>(), STOCK);
        assert!(all.get("deadline").is_err());
    }

    #[test]
    fn shell_syntax_is_refused() {
        assert!(Schedulers::parse("[bfq.search]\nx = [\"1; reboot\"]").is_err());
        assert!(Schedulers::parse("[\"b fq\"]").is_err());
        assert!(settings(&["nr_requests=$(reboot)".to_owned()]).is_err());
        assert!(settings(&["nr_requests".to_owned()]).is_err());
        assert_eq!(words(&settings(&["b=2".to_owned(), "a=1".to_owned()]).expect("two")), "a=1 b=2");
    }
}
