//! Files that every sample reads. One that fails costs its own part of the samples until it can be read again, and
//! nothing else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brisk_core::causes::in_one_line;
use brisk_formats::ParseError;

use crate::error::{Error, Result};
use crate::kept::Kept;
use crate::machine::Sense;

/// Failures of groups of apps that are kept: more say nothing new.
const FAILING_MAX: usize = 20;

/// A file that is opened when it is read first, and again after it has failed.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    kept: Option<Kept>,
    /// Whether some kernels lack it, or show it to root alone: that is no failure as long as it was never read.
    is_optional: bool,
}

impl Source {
    /// A file that each kernel has.
    pub(super) fn of(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), kept: None, is_optional: false }
    }

    /// A file that some kernels lack.
    pub(super) fn optional(path: impl Into<PathBuf>) -> Self {
        Self { is_optional: true, ..Self::of(path) }
    }

    /// What it says now; `None` when it cannot be read, and then `failing` has the reason.
    pub(super) fn read<T>(
        &mut self,
        sense: &Sense,
        failing: &mut Failing,
        parser: impl FnOnce(&[u8]) -> std::result::Result<T, ParseError>,
    ) -> Option<T> {
        let kept = match self.kept.take() {
            Some(kept) => Ok(kept),
            None => Kept::open(sense, &self.path),
        };
        let outcome = kept.and_then(|mut kept| kept.parse(parser).map(|value| (value, kept)));
        match outcome {
            Ok((value, kept)) => {
                (self.kept, self.is_optional) = (Some(kept), false);
                failing.forget(&self.path);
                Some(value)
            }
            Err(error) => {
                if !(self.is_optional && is_hidden(&error)) {
                    failing.note(&self.path, &error);
                }
                None
            }
        }
    }
}

/// Whether the kernel says that it has no such thing, or none for this user.
pub(super) fn is_hidden(error: &Error) -> bool {
    error.is_absent() || matches!(error, Error::Denied { .. })
}

/// Sources that cannot be read at present, with the reason.
#[derive(Debug, Default)]
pub(super) struct Failing {
    by_path: BTreeMap<PathBuf, String>,
    of_apps: BTreeMap<PathBuf, String>,
}

impl Failing {
    pub(super) fn note(&mut self, path: &Path, error: &Error) {
        self.by_path.insert(path.to_owned(), in_one_line(error));
    }

    pub(super) fn forget(&mut self, path: &Path) {
        self.by_path.remove(path);
    }

    /// Forgets the failures of groups of apps: all of them are read next.
    pub(super) fn begin_apps(&mut self) {
        self.of_apps.clear();
    }

    /// The value of a group's file; of a failure `None`, with the reason noted. What an app or a kernel lacks, or shows
    /// to root alone, is no failure.
    pub(super) fn take<T>(&mut self, group: &Path, outcome: Result<Option<T>>) -> Option<T> {
        match outcome {
            Ok(value) => value,
            Err(error) => {
                if !is_hidden(&error) && (self.of_apps.len() < FAILING_MAX || self.of_apps.contains_key(group)) {
                    self.of_apps.insert(group.to_owned(), in_one_line(&error));
                }
                None
            }
        }
    }

    pub(super) fn sentences(&self) -> impl Iterator<Item = &str> {
        self.by_path.values().chain(self.of_apps.values()).map(String::as_str)
    }
}
