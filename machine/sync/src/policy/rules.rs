//! Rules of one user: absolute patterns, and their form in the environment of a process.
//!
//! One line for each rule, with its class, bound in s and pattern: `O5 /home/ann/.local/share/reader/positions.db`. A
//! pattern that ends in a slash stands for that directory and all below it, `*` for one name. `c/rules.h` reads this
//! form.

use std::fmt::Write as _;
use std::path::Path;

use super::{Class, Homes, OF_THE_SYSTEM, RulesError};

/// Version of the form, its first line.
const VERSION: &str = "brisk-sync 1";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What a sync of its files does.
    pub class: Class,
    /// Bound of the class ordered, in s; 0 for others.
    pub seconds: u32,
    /// Absolute, with `*` for one name; with a slash at the end for a directory and all below it.
    pub pattern: String,
}

impl Rule {
    /// Whether the rule names this absolute path, which has no symbolic links.
    #[must_use]
    pub fn names(&self, path: &str) -> bool {
        let Some(rest) = path.strip_prefix('/') else { return false };
        let (pattern, below) = match self.pattern.strip_suffix('/') {
            Some(pattern) => (pattern, true),
            None => (self.pattern.as_str(), false),
        };
        let mut theirs = rest.split('/');
        for mine in pattern.split('/').skip(1) {
            match theirs.next() {
                Some(name) if !["", ".", ".."].contains(&name) && (mine == "*" || mine == name) => {}
                _ => return false,
            }
        }
        match theirs.next() {
            None => true,
            Some(first) => below && std::iter::once(first).chain(theirs).all(|name| !["", ".", ".."].contains(&name)),
        }
    }

    fn strictness(&self) -> (Class, std::cmp::Reverse<u32>) {
        (self.class, std::cmp::Reverse(self.seconds))
    }

    /// Whether a path below `directory`, or itself, may be one that the rule names.
    fn reaches_all_of(&self, directory: &Path) -> bool {
        self.pattern.ends_with('/') && directory.to_str().is_some_and(|directory| self.names(directory))
    }
}

/// All rules of an app for one user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    rules: Vec<Rule>,
}

impl Rules {
    pub(crate) fn new(rules: Vec<Rule>) -> Self {
        Self { rules }
    }

    /// Refuses rules that loosen directories with data of other apps, or of the system.
    pub(crate) fn check(&self, homes: &Homes) -> Result<(), RulesError> {
        for rule in self.rules.iter().filter(|rule| rule.class != Class::Durable) {
            let too_wide =
                |holds: String| RulesError::TooWide { pattern: rule.pattern.clone(), class: rule.class.name(), holds };
            if let Some((name, path)) = homes.precious().into_iter().find(|(_, path)| rule.reaches_all_of(path)) {
                return Err(too_wide(format!("{name} ({})", path.display())));
            }
            let top = rule.pattern.split('/').nth(1).unwrap_or_default();
            if OF_THE_SYSTEM.contains(&top) {
                return Err(too_wide(format!("/{top}")));
            }
        }
        Ok(())
    }

    #[must_use]
    pub fn all(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule that holds for a path without symbolic links: the strictest of those that name it. `None`: durable.
    #[must_use]
    pub fn rule_for(&self, path: &str) -> Option<&Rule> {
        self.rules.iter().filter(|rule| rule.names(path)).max_by_key(|rule| rule.strictness())
    }

    /// The class of a path without symbolic links.
    #[must_use]
    pub fn class_of(&self, path: &str) -> Class {
        self.rule_for(path).map_or(Class::Durable, |rule| rule.class)
    }

    /// The form for the environment of a process.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut text = format!("{VERSION}\n");
        for rule in &self.rules {
            let _ = match rule.class {
                Class::Cache => writeln!(text, "C {}", rule.pattern),
                Class::Ordered => writeln!(text, "O{} {}", rule.seconds, rule.pattern),
                Class::Durable => writeln!(text, "D {}", rule.pattern),
            };
        }
        text
    }
}
