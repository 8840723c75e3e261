//! The hand-over to `brisk-lab`, the program with the laboratory's subcommands.
//!
//! A device has `brisk` alone; the laboratory is a package of its own. This process becomes `brisk-lab` (exec), so that
//! terminal, signals and exit code are its own.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail};

const PROGRAM: &str = "brisk-lab";

/// Becomes `brisk-lab` with the arguments of this process, of which `command` is the subcommand.
///
/// # Errors
/// When it is not installed or cannot be run.
pub(crate) fn hand_over(command: &str) -> anyhow::Result<ExitCode> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let Some(program) = program() else {
        bail!(
            "'brisk {command}' needs the program {PROGRAM}, which is neither in the directory of this program nor in PATH: install the package \
             {PROGRAM}, or in a source tree run: make build"
        );
    };
    let failed = Command::new(&program).arg(format!("--called-by={}", brisk_command::VERSION)).args(arguments).exec();
    Err(failed).with_context(|| format!("cannot run {}: install the package {PROGRAM} anew", program.display()))
}

/// Where `brisk-lab` is installed; `None` when it is not.
pub(crate) fn program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let path = std::env::var_os("PATH").unwrap_or_default();
    places(own.as_deref(), &path).find(|place| place.is_file())
}

/// Where the program may be, the first place first: the directory of this program, then in the directories of PATH.
fn places(own: Option<&Path>, path: &std::ffi::OsStr) -> impl Iterator<Item = PathBuf> {
    let in_own_dir = own.and_then(|own| Some(own.parent()?.join(PROGRAM)));
    let in_path: Vec<PathBuf> = std::env::split_paths(path).map(|dir| dir.join(PROGRAM)).collect();
    in_own_dir.into_iter().chain(in_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_the_same_directory_comes_before_those_in_path() {
        let found: Vec<PathBuf> = places(Some(Path::new("/opt/brisk")), "/usr/bin:/bin".as_ref()).collect();
        let expected = ["/opt/brisk-lab", "/usr/bin/brisk-lab", "/bin/brisk-lab"].map(PathBuf::from);
        assert_eq!(found, expected);
    }
}
