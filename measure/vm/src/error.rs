//! Errors of the kernel lab.

use std::path::PathBuf;

use thiserror::Error;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a run in the virtual machine gave no result, and the remedy.
#[derive(Debug, Error)]
pub enum Error {
    /// No source tree with scripts and scenarios.
    #[error(
        "no kernel/fetch in {0} or above: the kernel lab works from a source tree of brisk; go there or give --source"
    )]
    NoSource(PathBuf),
    /// No scenario of this name.
    #[error("there is no scenario '{name}'{}; `brisk kernel list` lists them", hint(.nearest))]
    NoScenario {
        /// As given.
        name: String,
        /// The most similar one.
        nearest: Option<String>,
    },
    /// A scenario, device or scheduler file that cannot be used.
    #[error("{path}: {why}")]
    BadFile {
        /// The file.
        path: PathBuf,
        /// The problem.
        why: String,
    },
    /// An invalid option.
    #[error("{0}")]
    BadOption(String),
    /// A program that is not installed.
    #[error(
        "{program} is not installed: apt-get install --no-install-recommends {package}, or run scripts/setup kernel"
    )]
    NoProgram {
        /// Its name.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// A script or program failed.
    #[error("{what} failed: {words}")]
    Failed {
        /// Its name.
        what: String,
        /// End of its output.
        words: String,
    },
    /// A file of this machine.
    #[error("cannot {doing} {path}")]
    Io {
        /// Attempted operation.
        doing: &'static str,
        /// Its file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// A file is not read.
    #[error(transparent)]
    File(#[from] brisk_files::Error),
    /// A scheduler that this kernel does not have.
    #[error("the kernel {release} has no scheduler {scheduler}: {why}")]
    NoScheduler {
        /// Its name.
        scheduler: String,
        /// The kernel.
        release: String,
        /// The missing part.
        why: String,
    },
    /// The virtual machine exceeded its time limit.
    #[error(
        "the virtual machine did not end within {limit_s} s and was ended; its console: {log}; a busy machine needs more --time-limit"
    )]
    TimeLimit {
        /// The limit.
        limit_s: u64,
        /// Its console.
        log: PathBuf,
    },
    /// The results must not be used as figures.
    #[error("the run is refused: {why}; its console: {log}")]
    Refused {
        /// The violated bound.
        why: String,
        /// Its console.
        log: PathBuf,
    },
    /// Cancelled by the user.
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
