//! Errors of the kernel lab.

use std::path::PathBuf;

use thiserror::Error;

pub type Result<T> = std::result::Result<T, Error>;

/// Why a run in the virtual machine gave no result, and the remedy.
#[derive(Debug, Error)]
pub enum Error {
    #[error(
        "no kernel/fetch in {0} or above: the kernel lab works from a source tree of brisk; go there or give --source"
    )]
    NoSource(PathBuf),
    #[error("there is no scenario '{name}'{}; `brisk kernel list` lists them", hint(.nearest))]
    NoScenario { name: String, nearest: Option<String> },
    #[error("{path}: {why}")]
    BadFile { path: PathBuf, why: String },
    #[error("{0}")]
    BadOption(String),
    #[error(
        "{program} is not installed: apt-get install --no-install-recommends {package}, or run scripts/setup kernel"
    )]
    NoProgram { program: &'static str, package: &'static str },
    #[error("{what} failed: {words}")]
    Failed { what: String, words: String },
    #[error("cannot {doing} {path}")]
    Io { doing: &'static str, path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    File(#[from] brisk_program::files::Error),
    #[error("the kernel {release} has no scheduler {scheduler}: {why}")]
    NoScheduler { scheduler: String, release: String, why: String },
    #[error(
        "the virtual machine did not end within {limit_s} s and was ended; its console: {log}; a busy machine needs \
         more --time-limit"
    )]
    TimeLimit { limit_s: u64, log: PathBuf },
    #[error("the run is refused: {why}; its console: {log}")]
    Refused { why: String, log: PathBuf },
    #[error("stopped")]
    Stopped,
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}

impl Error {
    /// For `map_err` of calls on files.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}
