//! `brisk` becomes `brisk-lab` for the laboratory's subcommands, and says how to get it where it is missing; called
//! `briskd` it is the daemon.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A directory with `brisk`, without `brisk-lab`.
pub(crate) fn alone() -> tempfile::TempDir {
    let program = Path::new(env!("CARGO_BIN_EXE_brisk"));
    let dir = tempfile::tempdir_in(program.parent().expect("a folder")).expect("a directory");
    fs::hard_link(program, dir.path().join("brisk")).expect("linked");
    fs::create_dir(dir.path().join("elsewhere")).expect("made");
    dir
}

/// `brisk` of that directory, with its folder `elsewhere` alone in PATH.
pub(crate) fn brisk(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(dir.join("brisk"));
    command.args(arguments).env("PATH", dir.join("elsewhere")).stdin(Stdio::null());
    command
}

fn run(dir: &Path, arguments: &[&str]) -> Output {
    brisk(dir, arguments).output().expect("brisk runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A script in place of `brisk-lab`.
fn script(path: &Path, body: &str) {
    brisk_requires::executable(path, format!("#!/bin/sh\n{body}\n"));
}

#[test]
fn without_brisk_lab_each_of_its_subcommands_says_how_to_get_it() {
    let dir = alone();
    fs::create_dir(dir.path().join("brisk-lab")).expect("a directory is no program");
    for (arguments, name) in [
        (&["launch", "xterm"][..], "'brisk launch'"),
        (&["latency", "--list"], "'brisk latency'"),
        (&["phone", "apps"], "'brisk phone'"),
        (&["kernel", "list"], "'brisk kernel'"),
        (&["profile", "--virtual", "ufs-3.1"], "'brisk profile --virtual'"),
    ] {
        let output = run(dir.path(), arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(name) && said.contains("install the package brisk-lab"), "{arguments:?}: {said}");
    }
}

/// A document of the laboratory.
const PROOF: &str = "{\"kind\": \"prove\", \"schema_version\": 1}";

#[test]
fn results_of_the_laboratory_are_read_by_brisk_lab() {
    let dir = alone();
    fs::write(dir.path().join("proof.json"), PROOF).expect("written");
    let file = dir.path().join("proof.json").display().to_string();
    let all: [&[&str]; 3] = [&["report", &file], &["compare", &file, &file], &["submit", &file, "--output", "x.json"]];
    for arguments in all {
        let output = run(dir.path(), arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("install the package brisk-lab") && said.contains("of kind \"prove\""), "{said}");
    }
    script(&dir.path().join("brisk-lab"), "for word; do echo \"<$word>\"; done; /bin/cat");
    for arguments in all {
        let said = String::from_utf8(run(dir.path(), arguments).stdout).expect("UTF-8");
        let expected: String = arguments.iter().map(|word| format!("<{word}>\n")).collect();
        assert!(said.ends_with(&expected), "{said}");
    }
    // What was read of standard input is there once more.
    let mut piped =
        brisk(dir.path(), &["report", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("runs");
    piped.stdin.take().expect("a pipe").write_all(PROOF.as_bytes()).expect("written");
    let said = String::from_utf8(piped.wait_with_output().expect("ended").stdout).expect("UTF-8");
    assert!(said.ends_with(&format!("<report>\n<->\n{PROOF}")), "{said}");
    // The schema has the kinds of both, and so has what is said over a run.
    for option in ["--schema", "--verdict", "--pages=x"] {
        let said = String::from_utf8(run(dir.path(), &["report", option]).stdout).expect("UTF-8");
        assert_eq!(said.ends_with(&format!("<report>\n<{option}>\n")), option == "--schema", "{said}");
        let said = String::from_utf8(run(dir.path(), &["report", option, "x.json"]).stdout).expect("UTF-8");
        assert_eq!(said.ends_with(&format!("<report>\n<{option}>\n<x.json>\n")), option != "--schema", "{said}");
    }
}

#[test]
fn under_the_name_briskd_it_is_the_daemon() {
    let dir = alone();
    std::os::unix::fs::symlink("brisk", dir.path().join("briskd")).expect("linked");
    let version = Command::new(dir.path().join("briskd")).arg("--version").output().expect("briskd runs");
    assert_eq!(String::from_utf8_lossy(&version.stdout), concat!("briskd ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn help_lists_the_commands_of_a_brisk_lab_that_is_missing_or_there() {
    let dir = alone();
    let help = || String::from_utf8(run(dir.path(), &["--help"]).stdout).expect("UTF-8");
    let missing = help();
    assert!(missing.contains("Laboratory (package brisk-lab, not installed):\n  launch"), "{missing}");
    script(&dir.path().join("brisk-lab"), "for word; do echo \"<$word>\"; done");
    assert!(help().contains("Laboratory (package brisk-lab):\n  launch"), "{}", help());
    for arguments in [&["launch", "--help"][..], &["help", "launch"], &["--quiet", "swap", "show", "--version"]] {
        let said = String::from_utf8(run(dir.path(), arguments).stdout).expect("UTF-8");
        let expected: String = arguments.iter().map(|word| format!("<{word}>\n")).collect();
        assert!(said.ends_with(&expected), "{said}");
    }
}

#[test]
fn alone_it_shows_the_status_and_the_next_command() {
    let dir = alone();
    let output = brisk(dir.path(), &[]).env("BRISK_RUN_DIR", dir.path()).output().expect("brisk runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(said.starts_with("briskd does not run") && said.contains("\nNext: brisk doctor "), "{said}");
}

#[test]
fn a_brisk_lab_that_cannot_be_run_is_named() {
    let dir = alone();
    let sibling = dir.path().join("brisk-lab");
    fs::write(&sibling, "#!/bin/sh\n").expect("written");
    fs::set_permissions(&sibling, Permissions::from_mode(0o644)).expect("not executable");
    let output = run(dir.path(), &["phone", "apps"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains(&format!("cannot run {}", sibling.display())) && said.contains("Permission denied"),
        "{said}"
    );
}

#[test]
fn brisk_lab_gets_the_arguments_and_gives_process_and_exit_code() {
    let dir = alone();
    script(&dir.path().join("elsewhere/brisk-lab"), "echo in PATH; exit 3");
    assert_eq!(run(dir.path(), &["phone", "apps"]).status.code(), Some(3));
    script(&dir.path().join("brisk-lab"), "echo $$; for word; do echo \"<$word>\"; done; exit 7");
    let arguments = ["launch", "--cold", "--", "xterm", "-e", "two words"];
    let child = brisk(dir.path(), &arguments).stdout(Stdio::piped()).spawn().expect("brisk runs");
    let pid = child.id();
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(7));
    let version = concat!("<--called-by=", env!("CARGO_PKG_VERSION"), ">");
    let expected = format!("{pid}\n{version}\n<launch>\n<--cold>\n<-->\n<xterm>\n<-e>\n<two words>\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}
