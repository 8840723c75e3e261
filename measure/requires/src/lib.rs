//! What a test requires of the machine it runs on, and what happens where that is missing.
//!
//! Tests of loop devices, control groups, eBPF or virtual displays cannot run on every machine. libtest has no skip at
//! run time, so that such a test would count as passed. Here a test names the capabilities that it requires:
//!
//! ```
//! # fn a_loop_device_is_attached() {
//! use brisk_requires::requires;
//! requires!(Loop, Program("losetup"));
//! // ... the test
//! # }
//! ```
//!
//! Rights are detected by trying them: user 0 of a container lacks most of those of the machine's.
//!
//! Where one of them is missing, the skip is recorded and the test returns:
//!
//! - on standard error, and as one line in the file that `BRISK_SKIPPED` names: test, capability, reason, separated by
//!   tabs (`scripts/test` counts and names them in its summary);
//! - where `BRISK_REQUIRE` contains the capability, the test fails instead. It is a list of words separated by commas,
//!   for instance `root,disk,program:openbox`. `root` implies what root has on a machine that `scripts/setup test` has
//!   prepared and whose kernel lacks nothing ([`Capability::is_implied_by_root`]). An unknown word fails each test that
//!   lacks something, so that a misspelt word does not switch the check off.
//!
//! Tests wait with a limit: [`until`], [`line_with`], [`end_of`], [`killed_late`].
//!
//! What only the code under test can find out, such as a part of eBPF that this kernel lacks, is given to [`skip`].

#![allow(clippy::print_stderr, reason = "a test reports to its output")]

mod attempt;
mod capability;
mod executable;
mod loop_device;
mod requirement;
mod transcript;
mod wait;

use std::fmt;
use std::io::Write as _;
use std::panic::Location;
use std::path::Path;

pub use capability::Capability;
pub use executable::executable;
pub use loop_device::{LoopDevice, loop_control};
use requirement::Requirement;
pub use transcript::transcript;
pub use wait::{KilledLate, LIMIT, end_of, killed_late, line_with, next_line, until};

/// Names a file to which each skip is appended.
const SKIPPED: &str = "BRISK_SKIPPED";
/// Names the capabilities without which a test fails.
const REQUIRE: &str = "BRISK_REQUIRE";

/// Returns from the test, as skipped, where one of the capabilities is missing: `requires!(Root, Program("losetup"))`.
#[macro_export]
macro_rules! requires {
    ($($capability:expr),+ $(,)?) => {
        if {
            #[allow(unused_imports, reason = "a caller may name capabilities by their path")]
            use $crate::Capability::*;
            $crate::available(&[$($capability),+]).is_none()
        } {
            return;
        }
    };
}

/// The same for functions that prepare a test: `None`, with the skip recorded, where one of `capabilities` is missing.
///
/// # Panics
/// When `BRISK_REQUIRE` contains what is missing.
#[must_use]
#[track_caller]
pub fn available(capabilities: &[Capability]) -> Option<()> {
    for capability in capabilities {
        if let Err(reason) = capability.detect() {
            skip(*capability, reason);
            return None;
        }
    }
    Some(())
}

/// Records that the test that runs now is skipped, in whole or in part, because `capability` is missing.
///
/// # Panics
/// When `BRISK_REQUIRE` contains `capability`, or a word that is none; when the file of skips cannot be written.
#[track_caller]
pub fn skip(capability: Capability, reason: impl fmt::Display) {
    let variable = std::env::var(REQUIRE).unwrap_or_default();
    let requirement: Requirement = variable.parse().unwrap_or_else(|error| panic!("{REQUIRE}={variable}: {error}"));
    let reason = reason.to_string().replace(['\n', '\t'], " ");
    assert!(!requirement.contains(capability), "{REQUIRE}={variable} requires {capability}: {reason}");
    let test = test_name(Location::caller());
    eprintln!("skipped: {test}: {capability}: {reason}");
    let Some(path) = std::env::var_os(SKIPPED).filter(|path| !path.is_empty()) else { return };
    // One write to a file in append mode: lines of tests that run at the same time do not mix.
    let line = format!("{test}\t{capability}\t{reason}\n");
    let written = std::fs::File::options().create(true).append(true).open(&path);
    let written = written.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("cannot append to {SKIPPED}={}: {error}", Path::new(&path).display()));
}

/// Package, test program and test. libtest names each thread after its test, except when it runs all in the first
/// thread; then the place of the call stands for the name.
fn test_name(place: &Location<'_>) -> String {
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "?".to_owned());
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    // Without the hash that cargo appends.
    let program = program.rsplit_once('-').map_or(program.as_str(), |(name, _)| name);
    let thread = std::thread::current();
    let test = match thread.name() {
        Some(name) if name != "main" => name.to_owned(),
        _ => format!("{}:{}", place.file(), place.line()),
    };
    format!("{package}/{program}: {test}")
}
