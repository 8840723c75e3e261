//! Dependencies between crates: what each folder may use of brisk. ARCHITECTURE.md says why.
//!
//! That pure crates stay pure (no file, clock or process) is said by their `clippy.toml`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What a crate of a folder may use: parts of brisk, and for pure ones the crates of others (`None`: what `deny.toml`
/// lets in).
type Rule = (&'static str, &'static [&'static str], Option<&'static [&'static str]>);

const PURE: Option<&[&str]> = Some(&["serde", "thiserror"]);

const RULES: &[Rule] = &[
    ("core", &[], Some(&["schemars", "serde", "thiserror"])),
    ("engine", &["core"], Some(&["serde", "serde_json", "thiserror", "toml"])),
    ("api", &["core"], Some(&["serde", "serde_json", "thiserror"])),
    ("machine/program", &["core"], None),
    ("machine/formats", &["core"], PURE),
    ("machine/sense", &["core", "formats"], None),
    ("machine/act", &["core", "program", "formats"], None),
    ("machine/record", &["core", "program"], None),
    ("machine/sync", &[], None),
    ("measure/bench", &["core", "sense", "act", "program", "report"], None),
    ("measure/profile", &["core", "program", "sense", "act", "bench", "report", "engine"], None),
    ("report", &["core"], None),
    ("kernel/tests", &[], Some(&["cc"])),
    ("measure/requires", &[], Some(&["libc", "rustix", "thiserror"])),
];
/// Programs and what only they share: they use any part, but for what is named here. Nothing else uses them.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("cli", &["lab"]),
    ("command", &["lab", "cli", "daemon"]),
    ("daemon", &["lab", "cli", "command", "report"]),
    ("lab", &["cli"]),
    ("web", &["lab", "cli", "daemon", "engine", "bench", "profile", "act", "sync"]),
    ("session", &["lab", "cli", "command", "daemon", "engine", "report", "sense", "act"]),
];

/// How the names of packages begin that no device gets: the emulator, screens, databases.
const FOREIGN_TO_DEVICES: &[&str] = &["brisk-lab", "rusqlite", "libsqlite3", "x11rb", "wayland"];

fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(cargo).args(arguments).arg("--offline").current_dir(root).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Folder of each crate of the workspace, with what it and its build script use.
fn crates() -> BTreeMap<String, Vec<String>> {
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--format-version", "1", "--no-deps"])).expect("JSON");
    let root = metadata["workspace_root"].as_str().expect("a path");
    let packages = metadata["packages"].as_array().expect("packages").iter().map(|package| {
        let folder = Path::new(package["manifest_path"].as_str().expect("a path")).parent().expect("a folder");
        let folder = folder.strip_prefix(root).expect("a member").to_str().expect("UTF-8").to_owned();
        let used = package["dependencies"].as_array().expect("a list").iter().filter(|one| one["kind"] != "dev");
        (folder, used.map(|one| one["name"].as_str().expect("a name").to_owned()).collect())
    });
    packages.collect()
}

/// What is wrong with what a crate uses.
fn wrong_arrows(folder: &str, used: &[String]) -> Vec<String> {
    let rule = RULES.iter().find(|(of, ..)| *of == folder);
    let program = PROGRAMS.iter().find(|(of, _)| *of == folder);
    let is_allowed = |used: &String| match (used.strip_prefix("brisk-"), rule, program) {
        (Some(ours), Some((_, allowed, _)), _) => allowed.contains(&ours),
        (Some(ours), None, Some((_, refused))) => !refused.contains(&ours),
        (None, Some((_, _, others)), _) => {
            used != "brisk" && others.is_none_or(|others| others.contains(&used.as_str()))
        }
        (None, None, Some(_)) => used != "brisk",
        (_, None, None) => false,
    };
    used.iter().filter(|used| !is_allowed(used)).map(|used| format!("{folder} uses {used}")).collect()
}

#[test]
fn arrows_between_crates_point_the_right_way() {
    let crates = crates();
    assert!(crates.len() >= RULES.len() + PROGRAMS.len(), "{crates:?}");
    let wrong: Vec<String> = crates.iter().flat_map(|(folder, used)| wrong_arrows(folder, used)).collect();
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn a_wrong_arrow_is_found() {
    for (folder, used, is_wrong) in [
        ("engine", "brisk-core", false),
        ("engine", "brisk-sense", true),
        ("engine", "rand", true),
        ("core", "rustix", true),
        ("machine/act", "brisk-sense", true),
        ("machine/act", "brisk-daemon", true),
        ("daemon", "brisk-sense", false),
        ("cli", "brisk-lab", true),
        ("lab", "brisk", true),
        ("tools/x", "serde", true),
    ] {
        assert_eq!(!wrong_arrows(folder, &[used.to_owned()]).is_empty(), is_wrong, "{folder} uses {used}");
    }
}

#[test]
fn the_device_package_links_no_emulator_screen_or_database() {
    let linked = |package: &str| {
        cargo(&["tree", "--edges", "normal", "--prefix", "none", "--format", "{p}", "--package", package])
    };
    let is_foreign = |line: &&str| FOREIGN_TO_DEVICES.iter().any(|foreign| line.starts_with(foreign));
    for package in ["brisk", "brisk-daemon"] {
        let linked = linked(package);
        assert!(linked.contains("brisk-core"), "{linked}");
        assert_eq!(linked.lines().find(is_foreign), None, "{package}");
    }
    let lab = linked("brisk-lab");
    let missing = FOREIGN_TO_DEVICES.iter().find(|foreign| !lab.lines().any(|line| line.starts_with(**foreign)));
    assert_eq!(missing, None, "{lab}");
}
