//! Paths in a policy: a directory of the user, then names, of which `*` stands for any one.

use std::fmt;

use super::{Homes, OF_THE_SYSTEM, PolicyError, RulesError, text_of};

/// Longest path in a policy, in bytes.
const PATH_BYTES_MAX: usize = 1024;

/// Where a path begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    Root,
    Home,
    Data,
    Config,
    State,
    Cache,
}

/// How each base is written, with a slash.
const BASES: &[(Base, &str)] = &[
    (Base::Data, "$XDG_DATA_HOME/"),
    (Base::Config, "$XDG_CONFIG_HOME/"),
    (Base::State, "$XDG_STATE_HOME/"),
    (Base::Cache, "$XDG_CACHE_HOME/"),
    (Base::Home, "~/"),
    (Base::Root, "/"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) base: Base,
    names: Vec<String>,
}

impl Pattern {
    pub(crate) fn parse(path: &str) -> Result<Self, PolicyError> {
        let refused = |reason| PolicyError::Path { path: path.to_owned(), reason };
        if path.len() > PATH_BYTES_MAX {
            return Err(refused("longer than 1024 bytes"));
        }
        if path.chars().any(char::is_control) {
            return Err(refused("control characters are not allowed"));
        }
        let known = BASES.iter().find_map(|(base, written)| Some((*base, path.strip_prefix(written)?)));
        let (base, rest) = known.ok_or_else(|| {
            refused("begin it with /, ~/, $XDG_DATA_HOME/, $XDG_CONFIG_HOME/, $XDG_STATE_HOME/ or $XDG_CACHE_HOME/")
        })?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let names: Vec<String> =
            if rest.is_empty() { Vec::new() } else { rest.split('/').map(str::to_owned).collect() };
        for name in &names {
            match name.as_str() {
                "" | "." | ".." => return Err(refused("empty names, . and .. are not allowed")),
                "*" => {}
                name if name.contains('*') => return Err(refused("* stands for a whole name only")),
                name if name.contains('$') => return Err(refused("a variable stands at the beginning only")),
                name if name.ends_with(" (deleted)") => return Err(refused("the kernel marks removed files so")),
                _ => {}
            }
        }
        if names.is_empty() {
            return Err(refused("it names no file below its directory"));
        }
        Ok(Self { base, names })
    }

    /// Whether the pattern names more than a policy may loosen, for any user: directories of the system, or all files
    /// of a base directory.
    pub(crate) fn is_too_wide(&self, is_directory: bool) -> bool {
        let plain = self.names.iter().take_while(|name| *name != "*").count();
        let least = match self.base {
            Base::Root => 2,
            Base::Home | Base::Data | Base::Config | Base::State | Base::Cache => 1,
        };
        let of_system = self.base == Base::Root && OF_THE_SYSTEM.contains(&self.names[0].as_str());
        // A directory with nothing but the user's own name in it, /home/ann, is caught by the user's directories; the
        // names above it are caught here.
        of_system || plain < least || (self.base == Base::Root && is_directory && self.names.len() < 2)
    }

    pub(crate) fn ends_in_any_name(&self) -> bool {
        self.names.last().is_some_and(|name| name == "*")
    }

    /// Whether each path of `other` is one of this pattern; `below`: this one also stands for all below it.
    pub(crate) fn covers(&self, other: &Self, below: bool) -> bool {
        let fits = if below { self.names.len() <= other.names.len() } else { self.names.len() == other.names.len() };
        let stands_for = |(mine, theirs): (&String, &String)| mine == "*" || mine == theirs;
        self.base == other.base && fits && self.names.iter().zip(&other.names).all(stands_for)
    }

    /// The pattern for one user, without a slash at the end.
    pub(crate) fn absolute(&self, homes: &Homes) -> Result<String, RulesError> {
        Ok(format!("{}/{}", text_of(homes.of(self.base))?, self.names.join("/")))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = BASES.iter().find(|(base, _)| *base == self.base).map_or("", |(_, written)| written);
        write!(f, "{written}{}", self.names.join("/"))
    }
}
