//! scripts/setup where Debian's package sources lack what the build needs. Compiler and apt are replaced by scripts,
//! since neither sources nor packages of this machine are to change.

use std::fs;
use std::path::Path;
use std::process::Command;

use brisk_requires::requires;

/// Runs scripts/setup without a usable Rust, where apt offers `candidate` of each package with Rust.
fn setup_with(candidate: &str) -> (Option<i32>, String) {
    let programs = tempfile::tempdir().expect("a folder");
    // Whatever else this machine lacks is there.
    let offers =
        format!("case \"$2\" in *-web*) printf '  Candidate: {candidate}\\n' ;; *) printf '  Candidate: 1\\n' ;; esac");
    for (name, script) in [("cargo", "exit 1"), ("rustc", "exit 1"), ("apt-get", "exit 0"), ("apt-cache", &offers)] {
        let path = programs.path().join(name);
        brisk_requires::executable(&path, format!("#!/bin/sh\n{script}\n"));
    }
    let path = format!("{}:/usr/bin:/bin", programs.path().display());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/setup");
    let output = Command::new(script).env("PATH", path).output().expect("bash runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn without_the_security_suite_the_command_that_adds_it_is_named() {
    requires!(Root);
    let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let is_debian = system.lines().any(|line| line == "ID=debian");
    let codename = system.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME=")).unwrap_or_default();
    // Debian 12 without the suite has the first; a release that never had such a package has none.
    for candidate in ["1.85.0+dfsg3-1~deb12u3", "(none)"] {
        let (code, said) = setup_with(candidate);
        assert_eq!(code, Some(1), "{said}");
        let command = format!("echo 'deb http://deb.debian.org/debian-security {codename}-security main'");
        assert_eq!(said.contains(&command), is_debian, "{said}");
        assert!(!is_debian || said.contains("&& scripts/setup"), "{said}");
    }
}
