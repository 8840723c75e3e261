//! `brisk-lab` as `brisk` calls it, and called directly.

use std::process::{Command, Output};

fn brisk_lab(arguments: &[&str]) -> Output {
    let run_dir = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
    command.args(arguments).env("BRISK_RUN_DIR", run_dir.path()).output().expect("brisk-lab runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_brisk_of_another_version_is_refused() {
    let other = brisk_lab(&["--called-by=9.9.9", "lab", "presets"]);
    let said = stderr(&other);
    assert_eq!(other.status.code(), Some(2), "{said}");
    assert!(said.contains("version 9.9.9") && said.contains("the same version of both packages"), "{said}");
    let same = brisk_lab(&[concat!("--called-by=", env!("CARGO_PKG_VERSION")), "lab", "presets"]);
    assert!(same.status.success(), "{}", stderr(&same));
}

#[test]
fn it_runs_without_brisk_and_has_its_own_version() {
    assert!(brisk_lab(&["lab", "presets"]).status.success());
    let version = |option: &str| String::from_utf8_lossy(&brisk_lab(&[option]).stdout).into_owned();
    let short = concat!("brisk-lab ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(version("-V"), short);
    // The long one also names the commit, where that is known.
    let long = version("--version");
    let commit = long.strip_prefix(short).expect("it begins with the version");
    assert!(commit.is_empty() || commit.starts_with("commit ") && commit.lines().count() == 1, "{long}");
}

#[test]
fn what_is_not_the_laboratorys_is_refused() {
    for (arguments, words) in [
        (&["bench"][..], "unrecognized subcommand 'bench'"),
        (&[], "Usage: brisk [OPTIONS] <COMMAND>"),
        (&["profile", "/tmp"], "it needs --virtual PRESET"),
    ] {
        let output = brisk_lab(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(stderr(&output).contains(words), "{arguments:?}: {}", stderr(&output));
    }
}
