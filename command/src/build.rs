//! What a program was built from.

/// Version and commit, for `--version`; the version alone where the commit is not known.
pub const LONG_VERSION: &str = if COMMIT_AND_DAY.is_empty() {
    env!("CARGO_PKG_VERSION")
} else {
    concat!(env!("CARGO_PKG_VERSION"), "\ncommit ", env!("BRISK_COMMIT_OF_BUILD"))
};

/// `a1b2c3d4e5f6 2026-11-26`, or empty.
const COMMIT_AND_DAY: &str = env!("BRISK_COMMIT_OF_BUILD");

/// The commit, where it is known.
#[must_use]
pub fn commit() -> Option<&'static str> {
    COMMIT_AND_DAY.split(' ').next().filter(|commit| !commit.is_empty())
}

/// Has results of this process name the commit: to be called first.
pub fn name_in_results() {
    if let Some(commit) = commit() {
        brisk_report::results::set_commit(commit);
    }
}
