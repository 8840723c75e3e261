//! What is wrong with a policy, or with the directories of a user.

use std::path::PathBuf;

use super::{ENCODED_BYTES_MAX, RULES_MAX, SECONDS_MAX};

/// What is wrong with a policy. Nothing is loosened then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// No TOML, or unknown keys or classes.
    #[error("{}", .0.trim_end())]
    Text(String),
    /// A path that is not allowed.
    #[error("path \"{path}\": {reason}")]
    Path {
        /// As written.
        path: String,
        /// Why, with the remedy.
        reason: &'static str,
    },
    /// A loosened rule reaches too much.
    #[error("path \"{path}\": too much for the class {class}: name a file or directory of the app")]
    TooWide {
        /// As written.
        path: String,
        /// The class.
        class: &'static str,
    },
    /// A bound out of range.
    #[error("seconds = {seconds}: between 1 and {SECONDS_MAX}")]
    Seconds {
        /// As written.
        seconds: u32,
    },
    /// A bound of a class that has none.
    #[error("path \"{path}\": the class {class} has no seconds: remove them, or set class = \"ordered\"")]
    SecondsWithout {
        /// As written.
        path: String,
        /// The class.
        class: &'static str,
    },
    /// Two rules for the same files.
    #[error("path \"{path}\": two rules, {} and {}: keep one", classes[0], classes[1])]
    Conflict {
        /// As written.
        path: String,
        /// Both classes.
        classes: [&'static str; 2],
    },
    /// A rule whose files a stricter one names.
    #[error(
        "path \"{path}\": {class} has no effect, as \"{by}\" is {by_class}, and the strictest rule holds: remove one"
    )]
    NoEffect {
        /// As written.
        path: String,
        /// Its class.
        class: &'static str,
        /// The path of the stricter rule.
        by: String,
        /// Its class.
        by_class: &'static str,
    },
    /// More rules than the libraries hold.
    #[error("{count} rules: at most {RULES_MAX}; name directories instead of files")]
    TooMany {
        /// Rules in the file.
        count: usize,
    },
}

/// Why a policy cannot hold for this user. Nothing is loosened then.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// `$HOME` is unset or relative.
    #[error("HOME is no absolute path: set it to the home directory of the user")]
    NoHome,
    /// A directory that patterns cannot hold.
    #[error("{}: a directory with this name cannot have rules (line breaks, *, bytes that are no UTF-8)", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// A cache directory that is none.
    #[error("XDG_CACHE_HOME is {}, which holds or is within {holds}: unset it, or set cache_directory = false in the policy", path.display())]
    CacheDirectory {
        /// As resolved.
        path: PathBuf,
        /// What it holds.
        holds: &'static str,
    },
    /// A rule that reaches a directory with other data.
    #[error("rule {class} for {pattern} reaches {holds}: name a file or directory of the app")]
    TooWide {
        /// The rule's pattern.
        pattern: String,
        /// Its class.
        class: &'static str,
        /// What it reaches.
        holds: String,
    },
    /// More text than the libraries hold.
    #[error("the rules take {bytes} bytes: at most {ENCODED_BYTES_MAX}; name directories instead of files")]
    TooLong {
        /// Bytes of the encoded rules.
        bytes: usize,
    },
    /// A directory that cannot be resolved.
    #[error("cannot resolve {}", path.display())]
    Resolve {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}
