//! Which files of an app may lose what, and how much: the policy of selective sync (Revisiting storage for smartphones,
//! sect. 5.5).
//!
//! A policy is a TOML file of an app, shipped by a packager or written by an administrator. It names files, directories
//! and databases, each with a [`Class`]. [`Policy::parse`] checks it, [`Policy::rules`] sets in the directories of one
//! user and gives
//! [`Rules`]: absolute patterns, which the libraries compare with the paths that the kernel has for open files.
//!
//! ```toml
//! seconds = 5                  # bound of the class ordered, in s [default: 5]
//! cache_directory = true       # files in $XDG_CACHE_HOME are of the class cache [default: true]
//!
//! [[database]]                 # a SQLite database with its -journal and -wal
//! path = "$XDG_DATA_HOME/reader/positions.db"
//! class = "ordered"
//! why = "positions in documents"
//!
//! [[directory]]                # and all below it; `*` stands for one name
//! path = "~/.reader/*/thumbnails"
//! class = "cache"
//!
//! [[file]]
//! path = "$XDG_CACHE_HOME/reader/outbox"
//! class = "durable"
//! ```
//!
//! Properties, each with a test of the same name:
//! - what the policy does not name is durable;
//! - of several rules the strictest holds, so that a further rule never loosens what another one keeps;
//! - no path leaves its directory: `..`, `.`, relative paths and symbolic links match nothing outside;
//! - a rule without effect, or two rules for one path, are refused, as are classes and keys that are unknown;
//! - the oracle of components and the matcher agree;
//! - any text is a policy or an error.

mod error;
mod pattern;
mod rules;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use error::{PolicyError, RulesError};
use pattern::{Base, Pattern};
pub use rules::{Rule, Rules};

/// Bound of the class ordered where a policy has none, in s.
pub const SECONDS: u32 = 5;
/// The longest bound that a policy may have, in s.
pub const SECONDS_MAX: u32 = 300;
pub const RULES_MAX: usize = 100;

/// Longest form of all rules in the environment, in bytes.
pub const ENCODED_BYTES_MAX: usize = 65_535;

/// What a request to sync a file does. The order is that of strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Nothing: after a power cut the file may have any content.
    Cache,
    /// A barrier: after a power cut the file is as it was at some moment, which is at most some seconds ago.
    Ordered,
    /// What the kernel does: the file is on the device when the request returns. The class of all that no policy names.
    Durable,
}

impl Class {
    /// The word in policies and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cache => "cache",
            Self::Ordered => "ordered",
            Self::Durable => "durable",
        }
    }
}

/// The checked policy of one app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    seconds: u32,
    cache_directory: bool,
    entries: Vec<Entry>,
}

/// What one table of the file says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    pattern: Pattern,
    kind: Kind,
    class: Class,
    seconds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
    Database,
}

impl Entry {
    /// The larger, the less may be lost.
    fn strictness(&self) -> (Class, std::cmp::Reverse<u32>) {
        (self.class, std::cmp::Reverse(self.seconds))
    }

    /// Whether all that `other` names is named here too.
    fn covers(&self, other: &Self) -> bool {
        let below = self.kind == Kind::Directory;
        let same_kind = below || self.kind == other.kind;
        same_kind && self.pattern.covers(&other.pattern, below)
    }
}

/// The file, as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    seconds: Option<u32>,
    cache_directory: Option<bool>,
    #[serde(default)]
    file: Vec<WrittenEntry>,
    #[serde(default)]
    directory: Vec<WrittenEntry>,
    #[serde(default)]
    database: Vec<WrittenEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenEntry {
    path: String,
    class: Class,
    seconds: Option<u32>,
    /// For readers of the policy alone.
    #[serde(rename = "why")]
    _why: Option<String>,
}

impl Default for Policy {
    /// The policy of an app that has none: its files in the user's cache directory are of the class cache, all others
    /// durable.
    fn default() -> Self {
        Self { seconds: SECONDS, cache_directory: true, entries: Vec::new() }
    }
}

impl Policy {
    /// Reads and checks a policy.
    ///
    /// # Errors
    /// When the text is no TOML, has unknown keys or classes, a path that is not allowed, a bound out of range, or
    /// rules that contradict each other.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let written: Written = toml::from_str(text).map_err(|error| PolicyError::Text(error.to_string()))?;
        let seconds = checked_seconds(written.seconds.unwrap_or(SECONDS))?;
        let of_kind = |kind, entries: Vec<WrittenEntry>| entries.into_iter().map(move |entry| (kind, entry));
        let all = of_kind(Kind::File, written.file)
            .chain(of_kind(Kind::Directory, written.directory))
            .chain(of_kind(Kind::Database, written.database));
        let entries = all.map(|(kind, entry)| checked(kind, entry, seconds)).collect::<Result<Vec<_>, _>>()?;
        if entries.len() > RULES_MAX {
            return Err(PolicyError::TooMany { count: entries.len() });
        }
        let policy = Self { seconds, cache_directory: written.cache_directory.unwrap_or(true), entries };
        policy.check_conflicts()?;
        Ok(policy)
    }

    /// Bound of the class ordered where a rule has none of its own, in s.
    #[must_use]
    pub fn seconds(&self) -> u32 {
        self.seconds
    }

    /// Refuses rules for the same files, and rules that never hold because a stricter one names all their files.
    fn check_conflicts(&self) -> Result<(), PolicyError> {
        for (at, one) in self.entries.iter().enumerate() {
            for (other_at, other) in self.entries.iter().enumerate().filter(|(other_at, _)| *other_at != at) {
                let (path, by) = (one.pattern.to_string(), other.pattern.to_string());
                let same = one.covers(other) && other.covers(one);
                if same && other_at < at {
                    let classes = [other.class.name(), one.class.name()];
                    return Err(PolicyError::Conflict { path, classes });
                }
                if !same && other.covers(one) && other.strictness() > one.strictness() {
                    let (class, by_class) = (one.class.name(), other.class.name());
                    return Err(PolicyError::NoEffect { path, class, by, by_class });
                }
            }
        }
        Ok(())
    }

    /// The rules of this policy for a user with these directories.
    ///
    /// # Errors
    /// When a directory of the user is one in which nothing may be loosened, or a rule reaches such a directory.
    pub fn rules(&self, homes: &Homes) -> Result<Rules, RulesError> {
        homes.check(self.cache_directory || self.entries.iter().any(|entry| entry.pattern.base == Base::Cache))?;
        let mut rules = Vec::new();
        if self.cache_directory {
            rules.push(Rule { class: Class::Cache, seconds: 0, pattern: format!("{}/", text_of(&homes.cache)?) });
        }
        for entry in &self.entries {
            let path = entry.pattern.absolute(homes)?;
            let rule = |pattern| Rule {
                class: entry.class,
                seconds: if entry.class == Class::Ordered { entry.seconds } else { 0 },
                pattern,
            };
            match entry.kind {
                Kind::File => rules.push(rule(path)),
                Kind::Directory => rules.push(rule(format!("{path}/"))),
                Kind::Database => {
                    rules.extend(["", "-journal", "-wal"].map(|suffix| rule(format!("{path}{suffix}"))));
                }
            }
        }
        let rules = Rules::new(rules);
        rules.check(homes)?;
        let bytes = rules.encode().len();
        if bytes > ENCODED_BYTES_MAX {
            return Err(RulesError::TooLong { bytes });
        }
        Ok(rules)
    }
}

fn checked_seconds(seconds: u32) -> Result<u32, PolicyError> {
    if !(1..=SECONDS_MAX).contains(&seconds) {
        return Err(PolicyError::Seconds { seconds });
    }
    Ok(seconds)
}

fn checked(kind: Kind, entry: WrittenEntry, seconds: u32) -> Result<Entry, PolicyError> {
    if entry.seconds.is_some() && entry.class != Class::Ordered {
        return Err(PolicyError::SecondsWithout { path: entry.path, class: entry.class.name() });
    }
    let seconds = checked_seconds(entry.seconds.unwrap_or(seconds))?;
    let pattern = Pattern::parse(&entry.path)?;
    if kind == Kind::Database && pattern.ends_in_any_name() {
        let reason = "a database has a name, so that its -wal and -journal have one: name the directory instead";
        return Err(PolicyError::Path { path: entry.path, reason });
    }
    if entry.class != Class::Durable && pattern.is_too_wide(kind == Kind::Directory) {
        return Err(PolicyError::TooWide { path: entry.path, class: entry.class.name() });
    }
    Ok(Entry { pattern, kind, class: entry.class, seconds })
}

/// The directories of one user, absolute and without symbolic links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Homes {
    /// `$HOME`.
    pub home: PathBuf,
    /// `$XDG_DATA_HOME`, or `~/.local/share`.
    pub data: PathBuf,
    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    pub config: PathBuf,
    /// `$XDG_STATE_HOME`, or `~/.local/state`.
    pub state: PathBuf,
    /// `$XDG_CACHE_HOME`, or `~/.cache`.
    pub cache: PathBuf,
}

/// Top directories that hold a system, in which no rule loosens anything.
const OF_THE_SYSTEM: &[&str] =
    &["bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "usr"];

impl Homes {
    /// The directories by their variables, as the XDG Base Directory Specification 0.8 has them: what is unset, empty
    /// or relative has its default. Paths are taken as they are: `canonical` removes symbolic links.
    ///
    /// # Errors
    /// When `$HOME` is not an absolute path, or `canonical` fails.
    pub fn new(
        variable: impl Fn(&str) -> Option<PathBuf>,
        canonical: impl Fn(&Path) -> Result<PathBuf, RulesError>,
    ) -> Result<Self, RulesError> {
        let home = variable("HOME").filter(|home| home.is_absolute()).ok_or(RulesError::NoHome)?;
        let of = |name: &str, default: &str| {
            let named = variable(name).filter(|path| path.is_absolute());
            canonical(&named.unwrap_or_else(|| home.join(default)))
        };
        Ok(Self {
            data: of("XDG_DATA_HOME", ".local/share")?,
            config: of("XDG_CONFIG_HOME", ".config")?,
            state: of("XDG_STATE_HOME", ".local/state")?,
            cache: of("XDG_CACHE_HOME", ".cache")?,
            home: canonical(&home)?,
        })
    }

    fn of(&self, base: Base) -> &Path {
        match base {
            Base::Root => Path::new("/"),
            Base::Home => &self.home,
            Base::Data => &self.data,
            Base::Config => &self.config,
            Base::State => &self.state,
            Base::Cache => &self.cache,
        }
    }

    /// Directories that hold more than caches, with their names.
    fn precious(&self) -> [(&'static str, &Path); 4] {
        [
            ("$HOME", &self.home),
            ("$XDG_DATA_HOME", &self.data),
            ("$XDG_CONFIG_HOME", &self.config),
            ("$XDG_STATE_HOME", &self.state),
        ]
    }

    /// Refuses directories that no rule can be set in: those with signs of patterns, and a cache directory that holds
    /// other directories of the user, is held by them (but for the home), or is one of the system.
    fn check(&self, uses_cache: bool) -> Result<(), RulesError> {
        for path in [&self.home, &self.data, &self.config, &self.state, &self.cache] {
            text_of(path)?;
        }
        if !uses_cache {
            return Ok(());
        }
        let path = self.cache.clone();
        let names: Vec<_> = path.components().skip(1).collect();
        let is_of_system = names.first().is_some_and(|name| OF_THE_SYSTEM.iter().any(|top| name.as_os_str() == *top));
        if names.len() < 2 || is_of_system {
            return Err(RulesError::CacheDirectory { path, holds: "files of the system" });
        }
        for (name, precious) in self.precious() {
            if precious.starts_with(&path) || (name != "$HOME" && path.starts_with(precious)) {
                return Err(RulesError::CacheDirectory { path, holds: name });
            }
        }
        Ok(())
    }
}

/// A path of the user as text that rules can hold.
fn text_of(path: &Path) -> Result<&str, RulesError> {
    let refused = || RulesError::Directory { path: path.to_owned() };
    let text = path.to_str().ok_or_else(refused)?;
    let is_plain = text.starts_with('/')
        && !text.chars().any(char::is_control)
        && !text.contains('*')
        && (text == "/" || !text[1..].split('/').any(|name| ["", ".", ".."].contains(&name)));
    if is_plain { Ok(text.trim_end_matches('/')) } else { Err(refused()) }
}

#[cfg(test)]
mod tests;
