//! The commit of the program that measures: the program knows it, and the crates that fill the heads of results do not.

use std::sync::OnceLock;

static COMMIT: OnceLock<&'static str> = OnceLock::new();

/// Names the commit in all results of this process. Later calls change nothing.
pub fn set_commit(commit: &'static str) {
    COMMIT.get_or_init(|| commit);
}

/// See [`crate::results::Environment::commit`].
#[must_use]
pub fn commit() -> Option<String> {
    COMMIT.get().map(|commit| (*commit).to_owned())
}
