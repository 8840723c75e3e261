//! What a missing, unreadable or wrong brisk.toml means, and what a daemon with a directory of its own writes.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use brisk_requires::requires;

const BRISK: &str = env!("CARGO_BIN_EXE_brisk");

/// What runs `command` on a machine whose /etc/brisk and /var/lib/brisk are these directories.
fn run(command: &str, etc: &Path, state: &Path, run_dir: &Path) -> Output {
    let script = format!(
        "mkdir -p /etc/brisk /var/lib/brisk && mount --bind '{}' /etc/brisk && mount --bind '{}' /var/lib/brisk && \
         {command}",
        etc.display(),
        state.display()
    );
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "sh", "-c", &script]).stdin(Stdio::null());
    shell.env("BRISK", BRISK).env("RUN", run_dir).env_remove("XDG_CONFIG_HOME").env("HOME", "/nonexistent");
    shell.output().expect("it runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// All files below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("readable").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_missing_configuration_means_defaults_and_one_that_was_named_is_an_error() {
    requires!(Root, Mount, Program("unshare"));
    let dir = tempfile::tempdir().expect("a directory");
    let (etc, state, run_dir) = (dir.path().join("etc"), dir.path().join("state"), dir.path().join("run"));
    [&etc, &state].into_iter().for_each(|dir| fs::create_dir(dir).expect("made"));
    let code = |command: &str| run(command, &etc, &state, &run_dir).status.code();
    let daemon = "exec -a briskd \"$BRISK\" --dry-run --once --run-dir \"$RUN\"";
    let daemon = format!("bash -c '{daemon}'");
    for command in ["\"$BRISK\" config check", "\"$BRISK\" config show", "\"$BRISK\" bench --help", &daemon] {
        let output = run(command, &etc, &state, &run_dir);
        assert_eq!(output.status.code(), Some(0), "{command}: {}", said(&output));
    }
    let checked = run("\"$BRISK\" config check", &etc, &state, &run_dir);
    assert!(said(&checked).contains("the defaults are used"), "{}", said(&checked));
    let named = [
        "\"$BRISK\" config check /etc/brisk/brisk.toml",
        "\"$BRISK\" config show /etc/brisk/brisk.toml",
        "\"$BRISK\" bench --defaults /etc/brisk/brisk.toml /nonexistent",
        &daemon.replace("--once", "--once --config /etc/brisk/brisk.toml"),
    ];
    for command in named {
        assert_eq!(code(command), Some(2), "{command}");
    }
    // A directory in its place is a mistake, and the message has the remedy.
    fs::create_dir(etc.join("brisk.toml")).expect("made");
    for command in ["\"$BRISK\" config check", &daemon] {
        let output = run(command, &etc, &state, &run_dir);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(said(&output).contains("is a directory") && said(&output).contains("remove it"), "{}", said(&output));
    }
}

#[test]
fn a_dry_run_with_a_directory_of_its_own_writes_there_alone() {
    requires!(Root, Mount, Program("unshare"));
    let dir = tempfile::tempdir().expect("a directory");
    let (etc, state, run_dir) = (dir.path().join("etc"), dir.path().join("state"), dir.path().join("run"));
    [&etc, &state].into_iter().for_each(|dir| fs::create_dir(dir).expect("made"));
    for record in ["", "[daemon]\nrecord = { path = \"/var/lib/brisk/mine.brisk\", max_bytes = 65536 }\n"] {
        fs::write(etc.join("brisk.toml"), record).expect("written");
        let output =
            run("bash -c 'exec -a briskd \"$BRISK\" --dry-run --once --run-dir \"$RUN\"'", &etc, &state, &run_dir);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert!(files(&state).is_empty(), "{record}: {:?}", files(&state));
        assert!(run_dir.join("daemon.brisk").is_file());
        // The commands that read it find it.
        let mut explain = Command::new(BRISK);
        let explained = explain.arg0("brisk").args(["explain", "--run-dir"]).arg(&run_dir).output().expect("it runs");
        assert!(explained.status.code().is_some_and(|code| code < 2), "{}", said(&explained));
        fs::remove_file(run_dir.join("daemon.brisk")).expect("removed");
    }
}
