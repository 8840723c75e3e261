//! Dependencies between crates, and purity of pure crates.
//!
//! The rules are the tables below; ARCHITECTURE.md says why. Each checker is a function over made-up input as well as
//! over the workspace, and the tests at the end show that it can fail.

mod purity;

use purity::impurities;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a folder may use of brisk, and of others (`None`: anything that `cargo deny` lets in).
struct Rule {
    /// The folder of the crate, or `*` for its last part.
    folder: &'static str,
    brisk: &'static [&'static str],
    others: Option<&'static [&'static str]>,
}

/// Crates that are not named after their folder: the two commands, and kernel parts, whose engines have the names.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("products/cli", "brisk"),
    ("products/lab", "brisk-lab-command"),
    ("kernel/mars", "brisk-mars-kernel"),
    ("kernel/smartio", "brisk-smartio-kernel"),
];

/// Products that may use another: both commands can run the daemon, and share one command line.
const BETWEEN_PRODUCTS: &[(&str, &str)] = &[
    ("brisk", "brisk-daemon"),
    ("brisk", "brisk-command"),
    ("brisk-lab-command", "brisk-command"),
    ("brisk-lab-command", "brisk-daemon"),
];

const PURE: Option<&[&str]> = Some(&["serde", "thiserror"]);

const RULES: &[Rule] = &[
    Rule { folder: "core", brisk: &[], others: PURE },
    Rule {
        folder: "api",
        brisk: &["brisk-core", "brisk-iram", "brisk-mars", "brisk-prefetch"],
        others: Some(&["serde", "serde_json", "thiserror"]),
    },
    Rule { folder: "engines/*", brisk: &["brisk-core"], others: PURE },
    Rule { folder: "kernel/mars", brisk: &[], others: Some(&["cc"]) },
    Rule { folder: "kernel/smartio", brisk: &[], others: Some(&["cc"]) },
    Rule { folder: "platform/files", brisk: &["brisk-core"], others: None },
    Rule { folder: "platform/formats", brisk: &["brisk-core"], others: PURE },
    Rule { folder: "platform/log", brisk: &[], others: None },
    Rule { folder: "platform/sense", brisk: &["brisk-core", "brisk-formats"], others: None },
    Rule { folder: "platform/probes", brisk: &["brisk-core"], others: None },
    Rule { folder: "platform/act", brisk: &["brisk-core", "brisk-files", "brisk-formats", "brisk-log"], others: None },
    Rule { folder: "platform/record", brisk: &["brisk-core", "brisk-files"], others: None },
    Rule { folder: "platform/sync", brisk: &[], others: None },
    Rule { folder: "measure/flash", brisk: &["brisk-core"], others: Some(&["cc", "serde", "thiserror", "toml"]) },
    Rule {
        folder: "measure/lab",
        brisk: &[
            "brisk-core",
            "brisk-files",
            "brisk-log",
            "brisk-sense",
            "brisk-act",
            "brisk-flash",
            "brisk-lab-client",
        ],
        others: None,
    },
    Rule { folder: "measure/child", brisk: &[], others: Some(&["rustix"]) },
    Rule { folder: "measure/lab-client", brisk: &["brisk-sense"], others: None },
    // For tests alone: no crate may use it otherwise.
    Rule { folder: "measure/requires", brisk: &[], others: Some(&["libc", "rustix", "thiserror"]) },
    Rule {
        folder: "measure/bench",
        brisk: &["brisk-core", "brisk-sense", "brisk-act", "brisk-child", "brisk-report"],
        others: None,
    },
    Rule { folder: "measure/screen", brisk: &["brisk-core", "brisk-child"], others: None },
    Rule {
        folder: "measure/launch",
        brisk: &[
            "brisk-core",
            "brisk-files",
            "brisk-formats",
            "brisk-sense",
            "brisk-act",
            "brisk-child",
            "brisk-probes",
            "brisk-report",
            "brisk-screen",
        ],
        others: None,
    },
    Rule {
        folder: "measure/phone",
        brisk: &[
            "brisk-core",
            "brisk-sense",
            "brisk-act",
            "brisk-child",
            "brisk-flash",
            "brisk-lab",
            "brisk-launch",
            "brisk-report",
            "brisk-screen",
        ],
        others: None,
    },
    Rule {
        folder: "measure/memory",
        brisk: &[
            "brisk-core",
            "brisk-files",
            "brisk-sense",
            "brisk-act",
            "brisk-child",
            "brisk-iram",
            "brisk-launch",
            "brisk-phone",
            "brisk-report",
            "brisk-screen",
        ],
        others: None,
    },
    Rule {
        folder: "measure/profile",
        brisk: &[
            "brisk-core",
            "brisk-files",
            "brisk-sense",
            "brisk-act",
            "brisk-lab-client",
            "brisk-bench",
            "brisk-report",
            "brisk-smartstorage",
        ],
        others: None,
    },
    Rule {
        folder: "measure/swap",
        brisk: &["brisk-core", "brisk-files", "brisk-flash"],
        others: Some(&["serde", "thiserror"]),
    },
    Rule {
        folder: "measure/swap-io",
        brisk: &["brisk-core", "brisk-sense", "brisk-probes", "brisk-flash", "brisk-swap"],
        others: None,
    },
    Rule {
        folder: "measure/vm",
        brisk: &["brisk-core", "brisk-child", "brisk-files", "brisk-flash", "brisk-report"],
        others: None,
    },
    Rule { folder: "measure/cures", brisk: &["brisk-core", "brisk-report", "brisk-sync", "brisk-vm"], others: None },
    Rule {
        folder: "measure/submission",
        brisk: &["brisk-core", "brisk-report"],
        others: Some(&["serde", "serde_json", "serde_json_canonicalizer", "sha2", "thiserror"]),
    },
    Rule { folder: "measure/report", brisk: &["brisk-core"], others: None },
    // What a device links is judged with all that it uses in turn (`FOREIGN_TO_DEVICES`).
    Rule {
        folder: "products/*",
        brisk: &[
            "brisk-api",
            "brisk-core",
            "brisk-files",
            "brisk-formats",
            "brisk-sense",
            "brisk-probes",
            "brisk-act",
            "brisk-child",
            "brisk-command",
            "brisk-cures",
            "brisk-daemon",
            "brisk-record",
            "brisk-flash",
            "brisk-lab",
            "brisk-lab-client",
            "brisk-log",
            "brisk-bench",
            "brisk-launch",
            "brisk-memory",
            "brisk-phone",
            "brisk-profile",
            "brisk-report",
            "brisk-screen",
            "brisk-smartstorage",
            "brisk-submission",
            "brisk-swap",
            "brisk-swap-io",
            "brisk-sync",
            "brisk-vm",
            "brisk-smartio",
            "brisk-kit",
            "brisk-iram",
            "brisk-mars",
            "brisk-prefetch",
        ],
        others: None,
    },
];

/// How the names of packages begin that no device gets: the emulator, phones, screens, databases.
const FOREIGN_TO_DEVICES: &[&str] = &[
    "brisk-flash",
    "brisk-phone",
    "brisk-launch",
    "brisk-screen",
    "brisk-vm",
    "brisk-cures",
    "rusqlite",
    "libsqlite3",
    "x11rb",
    "wayland",
];

/// Sources that read no file, clock or environment and start nothing.
const PURE_SOURCES: &[&str] = &[
    "core/src",
    "engines",
    "platform/formats/src",
    "platform/sync/src/policy",
    "measure/flash/src",
    "measure/report/src",
    "measure/submission/src",
];

/// Paths that pure sources do not name, the glob of a module that holds one of them included.
const IMPURE_PATHS: &[&str] = &[
    "std::fs",
    "std::env",
    "std::net",
    "std::os::fd",
    "std::os::linux",
    "std::os::unix::fs",
    "std::os::unix::io",
    "std::os::unix::net",
    "std::os::unix::process",
    "std::os::unix::thread",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
];

/// Macros that pure sources do not call.
const IMPURE_MACROS: &[&str] = &["print", "println", "eprint", "eprintln", "dbg"];

/// One crate of the workspace.
#[derive(Debug)]
struct Crate {
    name: String,
    folder: String,
    /// Dependencies of the crate and of its build script.
    uses: Vec<String>,
    /// Dependencies of its tests.
    tests_use: Vec<String>,
}

fn rule_for(folder: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| match rule.folder.strip_suffix("/*") {
        Some(parent) => Path::new(folder).parent() == Some(Path::new(parent)),
        None => folder == rule.folder,
    })
}

/// What is wrong with the arrows between crates, one sentence each.
fn wrong_arrows(crates: &[Crate]) -> Vec<String> {
    let mut wrong = Vec::new();
    let products: Vec<&str> =
        crates.iter().filter(|one| one.folder.starts_with("products/")).map(|one| one.name.as_str()).collect();
    for one in crates {
        let Crate { name, folder, .. } = one;
        for used in one.uses.iter().chain(&one.tests_use) {
            let is_allowed = BETWEEN_PRODUCTS.contains(&(name.as_str(), used.as_str()));
            if products.contains(&used.as_str()) && !is_allowed {
                wrong.push(format!("{name} uses the product {used}"));
            }
        }
        let Some(rule) = rule_for(folder) else {
            wrong.push(format!("{folder} has no rule: add one here and a line to ARCHITECTURE.md"));
            continue;
        };
        let last = folder.rsplit('/').next().unwrap_or(folder);
        if *name != format!("brisk-{last}") && !OTHER_NAMES.contains(&(folder.as_str(), name.as_str())) {
            wrong.push(format!("{folder} is named {name}"));
        }
        for used in &one.uses {
            let ours = crates.iter().any(|other| other.name == *used);
            let allowed = if ours {
                rule.brisk.contains(&used.as_str())
            } else {
                rule.others.is_none_or(|others| others.contains(&used.as_str()))
            };
            if !allowed {
                wrong.push(format!("{name} uses {used}"));
            }
        }
    }
    wrong
}

fn workspace() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the sources are here")
}

fn crates() -> Vec<Crate> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline", "--no-deps"])
        .current_dir(workspace())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |value: &serde_json::Value| value.as_str().expect("a string").to_owned();
    let list = |value: &serde_json::Value| value.as_array().expect("a list").clone();
    list(&metadata["packages"])
        .iter()
        .map(|package| {
            let manifest = PathBuf::from(text(&package["manifest_path"]));
            let folder = manifest.parent().expect("a manifest has a folder");
            let folder = folder.strip_prefix(workspace()).expect("a member lies in the workspace");
            let of_kind = |test: bool| {
                let wanted = |one: &&serde_json::Value| (one["kind"] == "dev") == test;
                list(&package["dependencies"]).iter().filter(wanted).map(|one| text(&one["name"])).collect()
            };
            Crate {
                name: text(&package["name"]),
                folder: folder.to_str().expect("a folder of ours").to_owned(),
                uses: of_kind(false),
                tests_use: of_kind(true),
            }
        })
        .collect()
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && name != "tests" && name != "target" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" && name != "build.rs" {
            found.push(path);
        }
    }
}

#[test]
fn arrows_between_crates_point_the_right_way() {
    let crates = crates();
    assert!(crates.len() >= 8, "only {} crates found", crates.len());
    assert_eq!(wrong_arrows(&crates), Vec::<String>::new());
}

#[test]
fn pure_parts_stay_pure() {
    let mut files = Vec::new();
    for folder in PURE_SOURCES {
        sources(&workspace().join(folder), &mut files);
    }
    assert!(files.len() >= 4, "only {} files found", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let source = std::fs::read_to_string(&file).expect("source is text");
        wrong.extend(impurities(&source).into_iter().map(|what| format!("{}: {what}", file.display())));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Names of all packages that `package` links, its own included.
fn linked_by(package: &str) -> Vec<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--offline", "--edges", "normal", "--prefix", "none", "--format", "{p}", "--package", package])
        .current_dir(workspace())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

fn foreign_to_devices(packages: &[String]) -> Vec<&str> {
    let is_foreign =
        |name: &&str| *name == "brisk-lab" || FOREIGN_TO_DEVICES.iter().any(|foreign| name.starts_with(foreign));
    packages.iter().map(String::as_str).filter(is_foreign).collect()
}

#[test]
fn the_device_package_links_no_emulator_screen_or_database() {
    for package in ["brisk", "brisk-daemon"] {
        let linked = linked_by(package);
        assert!(linked.iter().any(|name| name == "brisk-core"), "{linked:?}");
        assert_eq!(foreign_to_devices(&linked), [""; 0], "{package}");
    }
    let lab = linked_by("brisk-lab-command");
    let found = foreign_to_devices(&lab);
    assert!(FOREIGN_TO_DEVICES.iter().all(|foreign| found.iter().any(|name| name.starts_with(foreign))), "{found:?}");
}

fn made_up(name: &str, folder: &str, uses: &[&str]) -> Crate {
    Crate {
        name: name.to_owned(),
        folder: folder.to_owned(),
        uses: uses.iter().map(|&used| used.to_owned()).collect(),
        tests_use: Vec::new(),
    }
}

#[test]
fn the_checker_finds_a_wrong_arrow() {
    let with = |extra: Crate| {
        let mut crates = vec![
            made_up("brisk-core", "core", &["serde"]),
            made_up("brisk-sense", "platform/sense", &["brisk-core", "rustix"]),
            made_up("brisk", "products/cli", &["brisk-sense", "clap"]),
        ];
        crates.retain(|one| one.folder != extra.folder);
        crates.push(extra);
        wrong_arrows(&crates)
    };
    assert_eq!(with(made_up("brisk-mars", "engines/mars", &["brisk-core", "serde"])), Vec::<String>::new());
    let mut tested_by_product = made_up("brisk-act", "platform/act", &[]);
    tested_by_product.tests_use.push("brisk".to_owned());
    for (bad, complaint) in [
        (made_up("brisk-core", "core", &["brisk-sense"]), "brisk-core uses brisk-sense"),
        (made_up("brisk-core", "core", &["rustix"]), "brisk-core uses rustix"),
        (made_up("brisk-mars", "engines/mars", &["brisk-sense"]), "brisk-mars uses brisk-sense"),
        (made_up("brisk-mars", "engines/mars", &["rand"]), "brisk-mars uses rand"),
        (made_up("brisk-act", "platform/act", &["brisk-sense"]), "brisk-act uses brisk-sense"),
        (made_up("brisk-bench", "measure/bench", &["brisk"]), "brisk-bench uses the product brisk"),
        (tested_by_product, "brisk-act uses the product brisk"),
        (made_up("iram", "engines/iram", &[]), "engines/iram is named iram"),
        (made_up("brisk-x", "tools/x", &[]), "tools/x has no rule: add one here and a line to ARCHITECTURE.md"),
    ] {
        let found = with(bad);
        assert!(found.iter().any(|sentence| sentence == complaint), "{complaint}: {found:?}");
    }
}

#[test]
fn the_checker_finds_what_is_not_pure() {
    for (source, wrong) in [
        ("use std::fs;", "std::fs"),
        ("fn f() { std::fs::read(\"x\"); }", "std::fs::read"),
        ("use std::{io, fs::{self, File}};", "std::fs::self"),
        ("use std :: time :: { Duration, Instant };", "std::time::Instant"),
        ("use std::time::*;", "std::time::*"),
        ("use std::{\n    // why not\n    collections::{BTreeMap, BTreeSet},\n    env,\n};", "std::env"),
        ("/* a */ let x = '\"'; println!(\"{x}\");", "println!"),
        ("fn f<'a>(x: &'a str) { eprintln!(\"{x}\") }", "eprintln!"),
        ("#[cfg(test)]\nmod tests { fn f() {} }\nuse std::thread;", "std::thread"),
        ("#[cfg(test)]\nmod tests;\nuse std::net::TcpStream;", "std::net::TcpStream"),
    ] {
        assert!(impurities(source).iter().any(|found| found == wrong), "{source}: {:?}", impurities(source));
    }
    for source in [
        "use std::time::Duration; // std::fs would be wrong",
        "/// println!(\"a\")\nfn f() { let s = \"std::fs \\\" println!(\"; }",
        "#[cfg(test)]\nmod tests { use std::fs; fn f() { println!(\"{}\", 1) } }",
        "use std::{collections::BTreeMap, fmt}; const V: &str = env!(\"CARGO_PKG_VERSION\");",
        "/* use std::fs; */ fn print() {} fn f() { print() }",
    ] {
        assert_eq!(impurities(source), Vec::<String>::new(), "{source}");
    }
}
