//! What `brisk` refuses, and in which words: the transcript `tests/refusals.txt`.

use std::path::Path;
use std::process::Command;

use brisk_requires::transcript;

/// A directory with a file, a directory and a link to nowhere in it.
fn furnished() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("file"), "x").expect("written");
    std::fs::create_dir(dir.path().join("sub")).expect("made");
    std::os::unix::fs::symlink("nowhere", dir.path().join("dangling")).expect("linked");
    dir
}

#[test]
fn wrong_command_lines_are_refused_as_written_down() {
    let (dir, run_dir) = (furnished(), tempfile::tempdir().expect("a directory"));
    let place = dir.path().canonicalize().expect("there").display().to_string();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refusals.txt");
    let written = std::fs::read_to_string(&file).expect("a file of this crate");
    let said = transcript(&written, &[("{d}", &place)], |words| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brisk"));
        command.args(words).env("BRISK_RUN_DIR", run_dir.path()).output().expect("brisk runs")
    });
    assert!(!said.contains("\n? 0\n"), "one was not refused");
    snapbox::assert_data_eq!(said, snapbox::Data::read_from(&file, None));
}
