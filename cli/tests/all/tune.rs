//! `brisk tune --from` from outside: what is refused, in which words, and that nothing changes then.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const PROFILES: &str = include_str!("../fleet/profiles.json");
const SIGNATURE: &str = include_str!("../fleet/profiles.json.minisig");
const KEY: &str = include_str!("../fleet/fleet.pub");
const OTHER_KEY: &str = include_str!("../fleet/minisign.pub");

/// A folder with the file of a fleet, its signature, its key and a configuration without devices.
fn furnished() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write("profiles.json", PROFILES);
    write("profiles.json.minisig", SIGNATURE);
    write("fleet.pub", KEY);
    write("other.pub", OTHER_KEY);
    fs::create_dir(folder.path().join("keys")).expect("made");
    write(
        "brisk.toml",
        &format!("[daemon]\ndevices = []\n[fleet]\nkeys = \"{}\"\n", folder.path().join("keys").display()),
    );
    folder
}

fn tune(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk"));
    command.args(["tune", "--config", "brisk.toml", "--profiles", "kept", "--run-dir", "run", "--from"]);
    command.args(args).env("BRISK_RUN_DIR", folder.join("run")).current_dir(folder);
    command.output().expect("brisk runs")
}

/// What it says when it refuses; nothing is kept.
fn refused(folder: &Path, args: &[&str]) -> String {
    let output = tune(folder, args);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty() && !folder.join("kept").exists());
    String::from_utf8(output.stderr).expect("UTF-8")
}

#[test]
fn a_file_without_a_valid_signature_is_refused_with_the_reason() {
    let folder = furnished();
    let folder = folder.path();
    let named = ["profiles.json", "--key", "fleet.pub"];
    // Nothing is managed here, and all before that was right.
    let none = "brisk: briskd manages no device here: name one";
    assert!(refused(folder, &named).starts_with(none));
    let said = refused(folder, &["profiles.json"]);
    let keys = folder.join("keys").display().to_string();
    assert_eq!(
        said,
        format!(
            "brisk: there is no public key to verify the file with: name the key of its fleet with --key, or put it \
             into {keys}, with the ending .pub\n"
        )
    );
    fs::copy(folder.join("other.pub"), folder.join("keys/a.pub")).expect("copied");
    let said = refused(folder, &["profiles.json"]);
    assert!(said.contains("is not used because of its signature profiles.json.minisig: it is by another key than "));
    fs::copy(folder.join("fleet.pub"), folder.join("keys/b.pub")).expect("copied");
    assert!(refused(folder, &["profiles.json"]).starts_with(none));
    assert!(refused(folder, &["gone.json"]).contains("gone.json"));
    assert!(refused(folder, &["profiles.json", "--key", "gone.pub"]).contains("gone.pub"));
    assert!(refused(folder, &["profiles.json", "--key", "brisk.toml"]).contains("is no public key of minisign"));

    fs::write(folder.join("profiles.json"), PROFILES.replace("\"4\"", "\"8\"")).expect("written");
    assert!(refused(folder, &named).contains("is damaged or was changed after fleet.pub signed it"));
    fs::write(folder.join("profiles.json.minisig"), "x").expect("written");
    assert!(refused(folder, &named).contains("it is no signature of minisign"));
    fs::remove_file(folder.join("profiles.json.minisig")).expect("removed");
    assert!(refused(folder, &named).contains("its signature is missing"));
    // A signed file of another form: of minisign's own test.
    fs::write(folder.join("x"), include_str!("../fleet/signed.txt")).expect("written");
    fs::write(folder.join("x.minisig"), include_str!("../fleet/signed.txt.minisig")).expect("written");
    let said = refused(folder, &["x", "--key", "other.pub"]);
    assert!(said.starts_with("brisk: x cannot be used: it does not have the form of fleet profiles"), "{said}");
}

#[test]
fn the_file_that_is_read_is_not_the_file_that_is_written() {
    let folder = furnished();
    let said = refused(folder.path(), &["profiles.json", "--key", "fleet.pub", "--json=fleet.pub"]);
    assert!(said.contains("is the file to read"), "{said}");
    // A key alone is of no use.
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk"));
    let output = command.args(["tune", "--check", "--key", "fleet.pub"]).output().expect("brisk runs");
    assert_eq!(output.status.code(), Some(2));
}
