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
    let other = brisk_lab(&["--called-by=9.9.9", "phone", "presets"]);
    let said = stderr(&other);
    assert_eq!(other.status.code(), Some(2), "{said}");
    assert!(said.contains("version 9.9.9") && said.contains("the same version of both packages"), "{said}");
    let same = brisk_lab(&[concat!("--called-by=", env!("CARGO_PKG_VERSION")), "phone", "presets"]);
    assert!(same.status.success(), "{}", stderr(&same));
}

#[test]
fn it_runs_without_brisk_and_has_its_own_version() {
    assert!(brisk_lab(&["phone", "presets"]).status.success());
    let version = |option: &str| String::from_utf8_lossy(&brisk_lab(&[option]).stdout).into_owned();
    let short = concat!("brisk-lab ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(version("-V"), short);
    // The long one also names the commit, where that is known.
    let long = version("--version");
    let commit = long.strip_prefix(short).expect("it begins with the version");
    assert!(commit.is_empty() || commit.starts_with("commit ") && commit.lines().count() == 1, "{long}");
}

#[test]
fn results_of_all_kinds_are_shown_and_described() {
    let schema = String::from_utf8(brisk_lab(&["report", "--schema"]).stdout).expect("UTF-8");
    assert!(schema.contains("\"const\": \"prove\"") && schema.contains("\"const\": \"bench\""), "{schema}");
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("poem.json");
    std::fs::write(&file, "{\"kind\": \"poem\", \"schema_version\": 1}").expect("written");
    let unknown = brisk_lab(&["report", &file.display().to_string()]);
    let said = stderr(&unknown);
    assert!(said.contains("of kind \"poem\"") && said.contains("slowdown") && said.contains("kernel_hunt"), "{said}");
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

/// What a shell is offered for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
    let output = command.arg("--").arg("brisk").args(words).env("BRISK_COMPLETE", "fish").output();
    let text = String::from_utf8(output.expect("brisk-lab runs").stdout).expect("UTF-8");
    text.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn values_are_offered_by_what_they_are() {
    for (words, expected) in [
        (&["phone", "launch", "--preset", "galaxy-s5"][..], &["galaxy-s5-emmc"][..]),
        (&["phone", "launch", "--apps", "evince,ga"], &["evince,galculator"]),
        (&["study", "cures", "--apps", ""], &["facebook", "webbench"]),
        // Sizes are no files.
        (&["phone", "launch", "--memory", ""], &[]),
    ] {
        assert_eq!(offered(words), expected, "{words:?}");
    }
}

#[test]
fn hidden_commands_and_options_are_never_offered() {
    for (words, hidden) in [(&["phone", ""][..], &["write", "inside"][..]), (&[""], &["man", "profile"])] {
        let found = offered(words);
        assert!(!found.is_empty() && !found.iter().any(|one| hidden.contains(&one.as_str())), "{words:?}: {found:?}");
    }
}

#[test]
fn it_has_the_man_pages_of_what_it_runs_and_no_others() {
    let dir = tempfile::tempdir().expect("a directory");
    assert!(brisk_lab(&["man", dir.path().to_str().expect("UTF-8")]).status.success());
    let paths = || std::fs::read_dir(dir.path()).expect("listed").map(|entry| entry.expect("an entry").path());
    let names: Vec<String> =
        paths().map(|path| path.file_name().expect("a name").to_string_lossy().into_owned()).collect();
    for own in ["brisk-launch.1", "brisk-swap-record.1", "brisk-study-cures.1"] {
        assert!(names.contains(&own.to_owned()), "{own}: {names:?}");
    }
    for other in ["brisk.1", "brisk-swap.1", "brisk-study.1", "brisk-man.1", "brisk-profile.1"] {
        assert!(!names.contains(&other.to_owned()), "{other}: {names:?}");
    }
    brisk_requires::requires!(Program("mandoc"));
    let output = Command::new("mandoc").args(["-T", "lint", "-W", "warning"]).args(paths()).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.is_empty(), "{said}");
}
