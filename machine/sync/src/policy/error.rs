//! What is wrong with a policy, or with the directories of a user.

use std::path::PathBuf;

use super::{ENCODED_BYTES_MAX, RULES_MAX, SECONDS_MAX};

/// What is wrong with a policy. Nothing is loosened then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("{}", .0.trim_end())]
    Text(String),
    #[error("path \"{path}\": {reason}")]
    Path { path: String, reason: &'static str },
    #[error("path \"{path}\": too much for the class {class}: name a file or directory of the app")]
    TooWide { path: String, class: &'static str },
    #[error("seconds = {seconds}: between 1 and {SECONDS_MAX}")]
    Seconds { seconds: u32 },
    #[error("path \"{path}\": the class {class} has no seconds: remove them, or set class = \"ordered\"")]
    SecondsWithout { path: String, class: &'static str },
    #[error("path \"{path}\": two rules, {} and {}: keep one", classes[0], classes[1])]
    Conflict { path: String, classes: [&'static str; 2] },
    /// A rule whose files a stricter one names.
    #[error(
        "path \"{path}\": {class} has no effect, as \"{by}\" is {by_class}, and the strictest rule holds: remove one"
    )]
    NoEffect { path: String, class: &'static str, by: String, by_class: &'static str },
    #[error("{count} rules: at most {RULES_MAX}; name directories instead of files")]
    TooMany { count: usize },
}

/// Why a policy cannot hold for this user. Nothing is loosened then.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    #[error("HOME is no absolute path: set it to the home directory of the user")]
    NoHome,
    #[error(
        "{}: a directory with this name cannot have rules (line breaks, *, bytes that are no UTF-8)",
        path.display()
    )]
    Directory { path: PathBuf },
    #[error(
        "XDG_CACHE_HOME is {}, which holds or is within {holds}: unset it, or set cache_directory = false in the \
         policy",
        path.display()
    )]
    CacheDirectory { path: PathBuf, holds: &'static str },
    #[error("rule {class} for {pattern} reaches {holds}: name a file or directory of the app")]
    TooWide { pattern: String, class: &'static str, holds: String },
    #[error("the rules take {bytes} bytes: at most {ENCODED_BYTES_MAX}; name directories instead of files")]
    TooLong { bytes: usize },
    #[error("cannot resolve {}", path.display())]
    Resolve { path: PathBuf, source: std::io::Error },
}
