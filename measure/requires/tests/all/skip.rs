//! A skip as `scripts/test` sees it: this program again, with and without `BRISK_REQUIRE`.

use std::process::{Command, Output};

use brisk_requires::{Capability, requires, skip};

#[test]
#[ignore = "what the other tests run"]
fn a_test_that_lacks_a_program() {
    requires!(Program("no-such-program"));
    panic!("it was not skipped");
}

#[test]
#[ignore = "what the other tests run"]
fn a_test_that_skips_a_part() {
    skip(Capability::Uring, "refused\nby seccomp");
}

/// Runs one of the two above; its output, and what it appended to the file of skips.
fn run(test: &str, require: &str) -> (Output, String) {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("skipped");
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args(["--ignored", "--exact", "--test-threads=2", test])
        .env("BRISK_SKIPPED", &file)
        .env("BRISK_REQUIRE", require)
        .output()
        .expect("it runs");
    (output, std::fs::read_to_string(file).unwrap_or_default())
}

#[test]
fn a_missing_capability_skips_the_test_and_is_recorded_with_its_reason() {
    let (output, skipped) = run("skip::a_test_that_lacks_a_program", "");
    assert!(output.status.success(), "{output:?}");
    let reason = "there is no program no-such-program in PATH";
    let name = "brisk-requires/all: skip::a_test_that_lacks_a_program";
    assert_eq!(skipped, format!("{name}\tprogram:no-such-program\t{reason}\n"));
    // A line for each, whatever the reason contains.
    let (_, skipped) = run("skip::a_test_that_skips_a_part", "disk");
    assert_eq!(skipped, "brisk-requires/all: skip::a_test_that_skips_a_part\tio_uring\trefused by seccomp\n");
}

#[test]
fn a_missing_capability_that_is_required_fails_the_test() {
    for (test, require, reason) in [
        (
            "a_test_that_lacks_a_program",
            "program:no-such-program",
            "requires program:no-such-program: there is no program",
        ),
        ("a_test_that_skips_a_part", "root", "requires io_uring: refused by seccomp"),
        ("a_test_that_skips_a_part", "rooot", "'rooot' is not a capability"),
    ] {
        let (output, skipped) = run(&format!("skip::{test}"), require);
        assert!(!output.status.success(), "{test} {require}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(reason), "{text}");
        assert_eq!(skipped, "");
    }
}
