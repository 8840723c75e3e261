//! Documents for programs of the laboratory: each has its kind and version.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[test]
fn every_document_has_its_kind_and_version() {
    let dir = tempfile::tempdir().expect("a directory");
    for (arguments, kind, list) in [
        (&["phone", "presets"][..], "phone_presets", "presets"),
        (&["phone", "apps"], "phone_apps", "apps"),
        (&["kernel", "list"], "kernel_list", "scenarios"),
        (&["latency", "--list"], "latency_scripts", "scripts"),
        (&["-q", "latency", "--show", "mousepad"], "latency_script", "toml"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_brisk-lab"))
            .args(arguments)
            .arg("--json")
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
            .env("BRISK_RUN_DIR", dir.path())
            .output()
            .expect("brisk-lab runs");
        let document: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {output:?}"));
        assert_eq!((&document["kind"], &document["schema_version"]), (&kind.into(), &1.into()), "{arguments:?}");
        let is_some = document[list].as_array().is_some_and(|list| !list.is_empty()) || document[list].is_string();
        assert!(is_some, "{arguments:?} lacks {list}: {document}");
    }
}
