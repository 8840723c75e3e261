//! Colours, signs and how much is said, as the terminal, the locale and the options want it.

use std::path::Path;
use std::process::{Command, Output};

/// `brisk` without the variables that decide on colour and signs.
fn brisk(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LC_ALL", "LC_CTYPE", "LANG"] {
        command.env_remove(name);
    }
    command.args(arguments);
    command
}

fn has_colour(output: &Output) -> bool {
    output.stdout.contains(&b'\x1b')
}

#[test]
fn colour_is_where_it_is_wanted() {
    for (options, variables, expected) in [
        (&[][..], &[][..], false),
        (&["--color", "always"], &[], true),
        (&["--color=always"], &[("NO_COLOR", "1")], true),
        (&["--color", "never"], &[("CLICOLOR_FORCE", "1")], false),
        (&[], &[("CLICOLOR_FORCE", "1")], true),
        (&[], &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], false),
    ] {
        let arguments = [&["doctor", "bench"], options].concat();
        let output = brisk(&arguments).envs(variables.iter().copied()).output().expect("brisk runs");
        assert_eq!(has_colour(&output), expected, "{options:?} {variables:?}: {output:?}");
    }
    let json = brisk(&["doctor", "--json", "--color", "always"]).output().expect("brisk runs");
    assert!(!has_colour(&json) && json.stdout.starts_with(b"{"), "{json:?}");
    let wrong = brisk(&["doctor", "--color", "sometimes"]).output().expect("brisk runs");
    assert_eq!(wrong.status.code(), Some(2));
}

fn document(folder: &Path) -> String {
    let text = include_str!("../footprint.json");
    let file = folder.join("a.json");
    std::fs::write(&file, text).expect("written");
    file.display().to_string()
}

#[test]
fn a_locale_without_utf8_gets_ascii() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = document(folder.path());
    let show = |variables: &[(&str, &str)], more: &[&str]| {
        let arguments = [&["report", file.as_str()], more].concat();
        let output = brisk(&arguments).envs(variables.iter().copied()).output().expect("brisk runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert!(show(&[("LANG", "C.UTF-8")], &[]).contains("Footprint · /data\n━"));
    for variables in [&[("LC_ALL", "C"), ("LANG", "C.UTF-8")][..], &[("LANG", "en_US.ISO-8859-1")], &[]] {
        let text = show(variables, &[]);
        assert!(text.is_ascii() && text.contains("Footprint - /data\n==="), "{variables:?}: {text}");
    }
    // What programs read stays as it is.
    assert!(show(&[("LC_ALL", "C")], &["--html", "-"]).contains('·'));
}

#[test]
fn quiet_prints_results_alone_and_excludes_verbose() {
    let output = brisk(&["--quiet", "doctor", "--verbose"]).output().expect("brisk runs");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let before = brisk(&["-q", "doctor", "bench"]).output().expect("brisk runs");
    let after = brisk(&["doctor", "bench", "-q"]).output().expect("brisk runs");
    assert!(!before.stdout.is_empty() && before.stdout == after.stdout && before.stderr.is_empty(), "{before:?}");
}
