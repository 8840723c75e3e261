//! Man pages and completions come from the binary and know its subcommands.

use std::process::Command;

fn brisk() -> Command {
    Command::new(env!("CARGO_BIN_EXE_brisk"))
}

const SUBCOMMANDS: [&str; 10] =
    ["doctor", "bench", "study", "launch", "latency", "suite", "report", "compare", "lab", "monitor"];

#[test]
fn every_subcommand_has_a_man_page() {
    let dir = tempfile::tempdir().expect("a directory");
    let pages = dir.path().join("man1");
    let output = brisk().arg("man").arg(&pages).output().expect("brisk runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(pages.join(name)).expect("a page");
    assert!(read("brisk.1").contains(".TH brisk 1"));
    for subcommand in SUBCOMMANDS {
        let page = read(&format!("brisk-{subcommand}.1"));
        assert!(page.contains("SYNOPSIS") && page.contains(&format!("brisk\\-{subcommand}")), "{page}");
    }
}

#[test]
fn the_daemon_has_a_man_page_among_those_of_administrators() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = brisk().arg("man").arg(dir.path()).output().expect("brisk runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(dir.path().join("briskd.8")).expect("a page");
    assert!(page.contains(".TH briskd 8"), "{page}");
    for option in ["config", "run\\-dir", "profiles", "dry\\-run", "once", "foreground"] {
        assert!(page.contains(&format!("\\-\\-{option}")), "{option}: {page}");
    }
}

#[test]
fn man_pages_that_cannot_be_written_are_an_error() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("file");
    std::fs::write(&file, "").expect("a file");
    let output = brisk().arg("man").arg(&file).output().expect("brisk runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot make the directory"));
}

#[test]
fn man_pages_that_do_not_fit_leave_the_earlier_ones() {
    brisk_requires::requires!(Mount);
    let dir = tempfile::tempdir().expect("a directory");
    rustix::mount::mount("tmpfs", dir.path(), "tmpfs", rustix::mount::MountFlags::empty(), Some(c"size=8k"))
        .expect("a tmpfs");
    let page = dir.path().join("brisk-bench.1");
    std::fs::write(&page, "earlier").expect("written");
    let output = brisk().arg("man").arg(dir.path()).output().expect("brisk runs");
    let text = std::fs::read_to_string(&page);
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("listed").file_name();
    let names: Vec<_> = std::fs::read_dir(dir.path()).expect("listed").map(name).collect();
    rustix::mount::unmount(dir.path(), rustix::mount::UnmountFlags::DETACH).expect("unmounted");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(&format!("cannot write {}", dir.path().display())) && said.contains("No space"), "{said}");
    assert_eq!(text.expect("there"), "earlier");
    assert!(names.iter().all(|name| !name.to_string_lossy().ends_with(".new")), "{names:?}");
}

#[test]
fn completions_know_the_subcommands_in_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let output = brisk().args(["completions", shell]).output().expect("brisk runs");
        assert!(output.status.success());
        let script = String::from_utf8(output.stdout).expect("text");
        for subcommand in SUBCOMMANDS {
            assert!(script.contains(subcommand), "{shell}: {subcommand}");
        }
    }
    let output = brisk().args(["completions", "tcsh"]).output().expect("brisk runs");
    assert_eq!(output.status.code(), Some(2));
}
