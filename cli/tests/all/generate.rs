//! Man pages and completions come from the binary and know its subcommands.

use std::process::Command;

fn brisk() -> Command {
    Command::new(env!("CARGO_BIN_EXE_brisk"))
}

const SUBCOMMANDS: [&str; 6] = ["doctor", "bench", "study", "report", "compare", "monitor"];

#[test]
fn every_subcommand_has_a_man_page() {
    let dir = tempfile::tempdir().expect("a directory");
    let pages = dir.path().join("man1");
    let output = brisk().arg("man").arg(&pages).output().expect("brisk runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(pages.join(name)).expect("a page");
    assert!(read("brisk.1").contains(".TH brisk 1"));
    let has = |name: &str| pages.join(name).exists();
    assert!(has("brisk-swap.1") && has("brisk-swap-undo.1") && has("brisk-study.1") && has("brisk.toml.5"));
    // Those are the laboratory's.
    assert!(!has("brisk-lab.1") && !has("brisk-swap-record.1") && !has("brisk-study-memory.1"));
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

/// A folder with brisk and a laboratory whose apps are evince and galculator, whatever is asked.
fn installed() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let program = dir.path().join("brisk");
    let own = env!("CARGO_BIN_EXE_brisk");
    std::fs::hard_link(own, &program).or_else(|_| std::fs::copy(own, &program).map(|_| ())).expect("brisk");
    let lab = "#!/bin/sh\nprintf 'evince,evince%sevince,galculator' \"${_CLAP_IFS-\n}\"\n";
    brisk_requires::executable(&dir.path().join("brisk-lab"), lab);
    dir
}

/// What a shell is offered for the last of these words.
fn offered(installed: &std::path::Path, words: &[&str]) -> Vec<String> {
    let mut command = Command::new(installed.join("brisk"));
    let output =
        command.arg("--").arg("brisk").args(words).env("BRISK_COMPLETE", "fish").current_dir(installed).output();
    let text = String::from_utf8(output.expect("brisk runs").stdout).expect("UTF-8");
    text.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn values_are_offered_by_what_they_are() {
    let dir = installed();
    let of = |words: &[&str]| offered(dir.path(), words);
    for known in SUBCOMMANDS.iter().chain(&["launch", "phone"]) {
        assert!(of(&[""]).contains(&(*known).to_owned()), "{known}: {:?}", of(&[""]));
    }
    for (words, expected) in [
        (&["study", "schedulers", "--schedulers", "ky"][..], &["kyber"][..]),
        (&["bench", "--engine", ""], &["io_uring", "calls"]),
        // Numbers and sizes are no files.
        (&["bench", "--depth", ""], &[]),
        // The laboratory answers for its commands, and brisk for their names.
        (&["phone", "launch", "--apps", "evince,"], &["evince,evince", "evince,galculator"]),
        (&["swap", "rec"], &["record"]),
        // What is a file still is one.
        (&["report", "brisk-l"], &["brisk-lab"]),
    ] {
        assert_eq!(of(words), expected, "{words:?}");
    }
}

#[test]
fn without_the_laboratory_its_names_are_not_offered_and_nothing_fails() {
    let dir = installed();
    std::fs::remove_file(dir.path().join("brisk-lab")).expect("removed");
    let mut command = Command::new(dir.path().join("brisk"));
    command
        .args(["--", "brisk", "phone", "launch", "--apps", ""])
        .env("BRISK_COMPLETE", "fish")
        .env("PATH", "/nonexistent");
    let output = command.output().expect("brisk runs");
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn what_is_installed_for_a_shell_is_small_and_bash_completes_with_it() {
    for shell in ["bash", "zsh", "fish", "elvish"] {
        let output = brisk().args(["completions", shell]).output().expect("brisk runs");
        let script = String::from_utf8(output.stdout).expect("text");
        assert!(
            output.status.success() && script.contains("BRISK_COMPLETE") && script.len() < 2_000,
            "{shell}: {script}"
        );
    }
    let output = brisk().args(["completions", "tcsh"]).output().expect("brisk runs");
    assert_eq!(output.status.code(), Some(2));

    brisk_requires::requires!(Program("bash"));
    let dir = installed();
    // As bash does it when a person presses the key.
    let script = r#"
        source <(brisk completions bash)
        complete -p brisk >/dev/null || exit 1
        COMP_WORDS=(brisk phone launch --apps evince,) COMP_CWORD=4 COMP_TYPE=9
        _clap_complete_brisk brisk evince, --apps
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("bash").args(["--norc", "-c", script]).env("PATH", path).output().expect("bash");
    let said = String::from_utf8_lossy(&output.stdout);
    let found: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(found, ["evince,evince", "evince,galculator"], "{}", String::from_utf8_lossy(&output.stderr));
}

/// All pages that this program writes, by name.
fn all_pages() -> std::collections::BTreeMap<String, String> {
    let dir = tempfile::tempdir().expect("a directory");
    let output = brisk().arg("man").arg(dir.path()).output().expect("brisk runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.expect("listed").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).expect("a page"))
    };
    std::fs::read_dir(dir.path()).expect("listed").map(read).collect()
}

#[test]
fn mandoc_has_no_warning_about_any_page() {
    brisk_requires::requires!(Program("mandoc"));
    let dir = tempfile::tempdir().expect("a directory");
    assert!(brisk().arg("man").arg(dir.path()).output().expect("brisk runs").status.success());
    let mut pages: Vec<_> =
        std::fs::read_dir(dir.path()).expect("listed").map(|one| one.expect("listed").path()).collect();
    pages.sort();
    assert!(pages.len() > 40, "{} pages", pages.len());
    let output = Command::new("mandoc").args(["-T", "lint", "-W", "warning"]).args(&pages).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn pages_have_the_usual_sections_and_a_date() {
    for (name, page) in all_pages() {
        assert!(!page.contains(".SH EXTRA"), "{name}");
        let title = page.lines().find(|line| line.starts_with(".TH ")).unwrap_or_else(|| panic!("{name} has no title"));
        let words: Vec<&str> = title.split(' ').collect();
        assert_eq!(format!("{}.{}", words[1].replace("\\-", "-"), words[2]), name, "{title}");
        assert!(words[3].trim_matches('"').parse::<jiff::civil::Date>().is_ok(), "{title}");
    }
    let daemon = all_pages().remove("briskd.8").expect("written");
    for section in [".SH \"EXIT STATUS\"\n0 ended, and", ".SH EXAMPLES\n", ".SH \"SEE ALSO\"\n"] {
        assert!(daemon.contains(section), "{section}: {daemon}");
    }
}

#[test]
fn the_same_moment_gives_the_same_pages() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = brisk().arg("man").arg(dir.path()).env("SOURCE_DATE_EPOCH", "86400").output().expect("brisk runs");
    assert!(output.status.success());
    let page = std::fs::read_to_string(dir.path().join("brisk.1")).expect("a page");
    assert!(page.contains(".TH brisk 1 1970-01-02 ") || page.contains(".TH brisk 1 \"1970-01-02\""), "{page}");
}

#[test]
fn the_page_of_the_configuration_has_every_key_with_its_default() {
    let page = all_pages().remove("brisk.toml.5").expect("written").replace("\\-", "-");
    let defaults: toml::Table = brisk_daemon::config::DEFAULT_TEXT.parse().expect("TOML");
    for (section, keys) in &defaults {
        let (_, own) =
            page.split_once(&format!(".SH [{section}]\n")).unwrap_or_else(|| panic!("[{section}] is missing"));
        let own = own.split(".SH ").next().unwrap_or(own);
        for (key, value) in keys.as_table().expect("a section") {
            let entry = own.lines().find(|line| line.starts_with(&format!("\\fB{key}\\fR = ")));
            let entry = entry.unwrap_or_else(|| panic!("[{section}] {key} is missing"));
            if !value.is_table() && !value.is_array() {
                assert!(entry.ends_with(&value.to_string()), "[{section}] {key} = {value}: {entry}");
            }
        }
    }
}
