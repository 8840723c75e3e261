//! What SECURITY.md promises is tested by tests of these names.

use std::fs;
use std::path::Path;

/// Words of all Rust sources below a folder, with one blank between them.
fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        // Links are not followed: trees of devices have loops.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != "fixtures" {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).expect("UTF-8");
            source.split_whitespace().for_each(|word| {
                text.push_str(word);
                text.push(' ');
            });
        }
    }
}

#[test]
fn each_promise_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let security = fs::read_to_string(root.join("SECURITY.md")).expect("the page");
    let section =
        security.split("## ").find(|section| section.starts_with("What brisk may never do")).expect("a section");
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() >= 8, "{rows:?}");
    let mut text = String::new();
    for folder in ["core", "engine", "machine", "daemon", "cli", "command", "session", "web"] {
        sources(&root.join(folder), &mut text);
    }
    for row in rows {
        let names: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test: {row}");
        for name in names {
            assert!(text.contains(&format!("#[test] fn {name}()")), "no test has the name {name}");
        }
    }
}
