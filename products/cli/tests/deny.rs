//! What others' code may enter brisk: the policy in `deny.toml`, held against what `Cargo.lock` brings in.
//!
//! cargo-deny reads the same file and knows more; it takes longer to build than brisk and its tests together, so the
//! gate does not depend on it. This covers what the file states: licences, banned crates, double versions, sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[derive(Debug, Clone)]
struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    /// `None` for a crate of this workspace.
    source: Option<String>,
}

/// Whether a licence expression can be met with the licences `allow`; `None` when it cannot be read.
fn can_be_met(expression: &str, allow: &[&str]) -> Option<bool> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let met = any(&words, &mut at, allow)?;
    (at == words.len()).then_some(met)
}

fn any(words: &[&str], at: &mut usize, allow: &[&str]) -> Option<bool> {
    let mut met = all(words, at, allow)?;
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        met |= all(words, at, allow)?;
    }
    Some(met)
}

fn all(words: &[&str], at: &mut usize, allow: &[&str]) -> Option<bool> {
    let mut met = one(words, at, allow)?;
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        met &= one(words, at, allow)?;
    }
    Some(met)
}

fn one(words: &[&str], at: &mut usize, allow: &[&str]) -> Option<bool> {
    let word = *words.get(*at)?;
    *at += 1;
    match word {
        "(" => {
            let met = any(words, at, allow)?;
            (words.get(*at) == Some(&")")).then(|| *at += 1)?;
            Some(met)
        }
        ")" | "AND" | "OR" | "WITH" => None,
        // An exception only adds permissions, but it has to be listed together with its licence.
        licence if words.get(*at) == Some(&"WITH") => {
            let exception = words.get(*at + 1)?;
            *at += 2;
            Some(allow.contains(&format!("{licence} WITH {exception}").as_str()))
        }
        licence => Some(allow.contains(&licence)),
    }
}

/// What breaks the policy, one sentence each.
fn violations(policy: &toml::Table, packages: &[Package]) -> Vec<String> {
    let list = |section: &str, key: &str| -> Vec<String> {
        let values = policy.get(section).and_then(|table| table.get(key)).and_then(toml::Value::as_array);
        let name = |value: &toml::Value| {
            let named = value.get("crate").unwrap_or(value);
            named.as_str().map(str::to_owned)
        };
        values.map(|values| values.iter().filter_map(name).collect()).unwrap_or_default()
    };
    let (licences, banned, skipped) = (list("licenses", "allow"), list("bans", "deny"), list("bans", "skip"));
    let licences: Vec<&str> = licences.iter().map(String::as_str).collect();
    let sources: Vec<String> =
        list("sources", "allow-registry").iter().map(|registry| format!("registry+{registry}")).collect();
    let mut wrong = Vec::new();
    let mut versions = BTreeMap::<&str, BTreeSet<&str>>::new();
    for package in packages {
        let Package { name, version, licence, source } = package;
        versions.entry(name).or_default().insert(version);
        let Some(source) = source else { continue };
        if !sources.contains(source) {
            wrong.push(format!("{name} {version} comes from {source}"));
        }
        if banned.contains(name) {
            wrong.push(format!("{name} is banned"));
        }
        match licence {
            None => wrong.push(format!("{name} {version} has no licence")),
            Some(licence) if can_be_met(licence, &licences) != Some(true) => {
                wrong.push(format!("{name} {version} has the licence {licence}"));
            }
            Some(_) => {}
        }
    }
    for (name, versions) in versions {
        let all: Vec<&str> = versions.into_iter().collect();
        let excused = |version: &&str| skipped.contains(&format!("{name}@{version}"));
        if all.len() - all.iter().copied().filter(|version| excused(version)).count() > 1 {
            wrong.push(format!("{name} comes in versions {}", all.join(" and ")));
        }
    }
    wrong
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn policy() -> toml::Table {
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("the policy is here");
    text.parse().expect("the policy is TOML")
}

fn packages(target: &str) -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--filter-platform", target])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "crates for {target} are not here, 'make setup' fetches them: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("a list");
    let text = |value: &Value| value.as_str().map(str::to_owned);
    packages
        .iter()
        .map(|package| Package {
            name: text(&package["name"]).expect("a name"),
            version: text(&package["version"]).expect("a version"),
            licence: text(&package["license"]),
            source: text(&package["source"]),
        })
        .collect()
}

#[test]
fn what_others_wrote_comes_in_by_the_policy() {
    let policy = policy();
    let targets = policy["graph"]["targets"].as_array().expect("a list").clone();
    assert!(!targets.is_empty());
    for target in targets {
        let target = target.as_str().expect("a target");
        let packages = packages(target);
        assert!(packages.len() > 20, "only {} packages", packages.len());
        assert_eq!(violations(&policy, &packages), Vec::<String>::new(), "for {target}");
    }
}

#[test]
fn what_is_ours_says_its_licence() {
    let ours: Vec<_> = packages("x86_64-unknown-linux-gnu").into_iter().filter(|one| one.source.is_none()).collect();
    assert!(ours.len() >= 8);
    for package in ours {
        assert_eq!(package.licence.as_deref(), Some("MIT OR Apache-2.0"), "{}", package.name);
    }
    for file in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let text = std::fs::read_to_string(root().join(file)).expect("a licence");
        assert!(text.contains("the brisk authors"), "{file}");
    }
}

#[test]
fn licence_expressions_are_read() {
    let allow = ["MIT", "Apache-2.0", "Unicode-3.0", "GPL-2.0-only WITH Linux-syscall-note"];
    for (expression, met) in [
        ("MIT", Some(true)),
        ("GPL-3.0", Some(false)),
        ("MIT/GPL-3.0", Some(true)),
        ("GPL-3.0 OR LGPL-3.0", Some(false)),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", Some(true)),
        ("(MIT OR Apache-2.0) AND GPL-3.0", Some(false)),
        ("MIT OR Apache-2.0 AND GPL-3.0", Some(true)),
        ("Apache-2.0 WITH LLVM-exception OR MIT", Some(true)),
        ("Apache-2.0 WITH LLVM-exception", Some(false)),
        ("GPL-2.0-only WITH Linux-syscall-note", Some(true)),
        ("", None),
        ("MIT OR", None),
        ("(MIT", None),
        ("MIT)", None),
        ("MIT Apache-2.0", None),
        ("AND", None),
    ] {
        assert_eq!(can_be_met(expression, &allow), met, "{expression}");
    }
}

#[test]
fn the_checker_finds_what_breaks_the_policy() {
    let policy: toml::Table = r#"
        [licenses]
        allow = ["MIT"]
        [bans]
        deny = [{ crate = "bad", reason = "a test" }]
        skip = ["old@1.0.0"]
        [sources]
        allow-registry = ["https://registry"]
    "#
    .parse()
    .expect("TOML");
    let package = |name: &str, version: &str, licence: Option<&str>, source: &str| Package {
        name: name.to_owned(),
        version: version.to_owned(),
        licence: licence.map(str::to_owned),
        source: Some(source.to_owned()),
    };
    let here = "registry+https://registry";
    let good = package("good", "1.0.0", Some("MIT"), here);
    for (extra, complaint) in [
        (package("bad", "1.0.0", Some("MIT"), here), "bad is banned"),
        (package("free", "1.0.0", Some("AGPL-3.0"), here), "free 1.0.0 has the licence AGPL-3.0"),
        (package("bare", "1.0.0", None, here), "bare 1.0.0 has no licence"),
        (package("fork", "1.0.0", Some("MIT"), "git+https://x"), "fork 1.0.0 comes from git+https://x"),
        (package("good", "2.0.0", Some("MIT"), here), "good comes in versions 1.0.0 and 2.0.0"),
    ] {
        assert_eq!(violations(&policy, &[good.clone(), extra]), [complaint]);
    }
    let excused = [package("old", "1.0.0", Some("MIT"), here), package("old", "2.0.0", Some("MIT"), here)];
    assert_eq!(violations(&policy, &excused), Vec::<String>::new());
}
