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

/// All pages that this program writes, by name.
fn all_pages(arguments: &[&str]) -> std::collections::BTreeMap<String, String> {
    let dir = tempfile::tempdir().expect("a directory");
    let output = brisk().arg("man").arg(dir.path()).args(arguments).output().expect("brisk runs");
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
    assert!(pages.len() > 50, "{} pages", pages.len());
    let output = Command::new("mandoc").args(["-T", "lint", "-W", "warning"]).args(&pages).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn each_page_is_where_its_command_is() {
    let (own, lab, all) = (all_pages(&["--of", "brisk"]), all_pages(&["--of", "brisk-lab"]), all_pages(&[]));
    for name in [
        "brisk.1",
        "briskd.8",
        "brisk.toml.5",
        "brisk-swap.1",
        "brisk-swap-setup.1",
        "brisk-swap-undo.1",
        "brisk-study.1",
    ] {
        assert!(own.contains_key(name) && !lab.contains_key(name), "{name}");
    }
    for name in ["brisk-lab.1", "brisk-launch.1", "brisk-swap-record.1", "brisk-study-memory.1", "brisk-front-watch.1"]
    {
        assert!(lab.contains_key(name) && !own.contains_key(name), "{name}");
    }
    let both: std::collections::BTreeSet<&String> = own.keys().chain(lab.keys()).collect();
    assert_eq!(both.len(), own.len() + lab.len(), "no page is in both");
    assert_eq!(both, all.keys().collect(), "and none is in neither");
}

#[test]
fn pages_have_the_usual_sections_and_a_date() {
    for (name, page) in all_pages(&[]) {
        assert!(!page.contains(".SH EXTRA"), "{name}");
        let title = page.lines().find(|line| line.starts_with(".TH ")).unwrap_or_else(|| panic!("{name} has no title"));
        let words: Vec<&str> = title.split(' ').collect();
        assert_eq!(format!("{}.{}", words[1].replace("\\-", "-"), words[2]), name, "{title}");
        assert!(words[3].trim_matches('"').parse::<jiff::civil::Date>().is_ok(), "{title}");
    }
    let daemon = all_pages(&[]).remove("briskd.8").expect("written");
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
    let page = all_pages(&[]).remove("brisk.toml.5").expect("written").replace("\\-", "-");
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
