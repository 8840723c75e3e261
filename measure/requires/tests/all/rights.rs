//! Rights that a process has dropped, as in a container: what tests ask for is missing there, whatever the user.

use std::process::{Command, Stdio};

use brisk_requires::Capability::{Fanotify, Mount, Nice, PageMap, Root, Swap};
use brisk_requires::{end_of, requires};

const RIGHTS: [brisk_requires::Capability; 5] = [Mount, Swap, Nice, Fanotify, PageMap];

#[test]
#[ignore = "what the other test runs with fewer rights"]
fn names_what_is_missing() {
    for right in RIGHTS.into_iter().chain([Root]) {
        // Twice: the second answer is the first.
        assert_eq!(right.detect(), right.detect());
        println!("\n{right} {}", right.detect().err().unwrap_or_else(|| "is here".to_owned()));
    }
}

/// What the test above says when it has lost the capabilities that `setpriv` calls `lost`.
fn without(lost: &str) -> String {
    let me = std::env::current_exe().expect("this program");
    let mut child = Command::new("setpriv")
        .args(["--bounding-set", lost, "--inh-caps", lost])
        .arg(me)
        .args(["--ignored", "--exact", "rights::names_what_is_missing", "--nocapture"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("setpriv runs");
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().expect("piped"), &mut said).expect("text");
    assert!(end_of(&mut child).success(), "{said}");
    said
}

#[test]
fn user_0_without_a_capability_has_not_what_takes_it() {
    requires!(Root, Mount, Swap, Nice, Fanotify, PageMap, Program("setpriv"));
    let said = without("-sys_admin,-sys_nice");
    for right in RIGHTS {
        let line = said.lines().find(|line| line.starts_with(&format!("{right} "))).expect("named");
        assert!(line.contains("CAP_SYS_"), "{line}");
    }
    assert!(said.contains("root is here"), "{said}");
    assert!(without("-setuid").contains("root no right to become another user (CAP_SETUID, CAP_SETGID)"));
}
