//! What `brisk lab` says to bad input: whole sentences, exit code 2, and nothing made.

use std::process::Command;

use brisk_requires::requires;

/// Runs `brisk lab` in a run directory that must stay empty; gives the exit code and what was said.
fn lab(words: &[&str]) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().expect("temporary directory");
    let output = Command::new(env!("CARGO_BIN_EXE_brisk-lab"))
        .arg("lab")
        .args(words)
        .env("BRISK_RUN_DIR", dir.path().join("run"))
        .output()
        .expect("brisk starts");
    assert!(!dir.path().join("run/lab/1").exists(), "{words:?} made something");
    (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
}

#[test]
fn bad_input_is_named_with_a_remedy() {
    let up = |more: &[&'static str]| [&["up", "--preset", "galaxy-s5-emmc", "--size", "64M"], more].concat();
    let cases: &[(Vec<&str>, &str)] = &[
        (vec!["up", "--preset", "galaxy-s5", "--size", "64M"], "did you mean 'galaxy-s5-emmc'"),
        (vec!["up", "--preset", "/no/such.toml", "--size", "64M"], "cannot read /no/such.toml"),
        (vec!["up", "--preset", "/dev/zero", "--size", "64M"], "/dev/zero is a character device: name a regular file"),
        (
            vec!["up", "--preset", "nokia", "--size", "64M"],
            "there is no preset 'nokia': `brisk lab presets` lists them",
        ),
        (vec!["up", "--preset", "galaxy-s5-emmc", "--size", "big"], "is not a size"),
        (vec!["up", "--preset", "galaxy-s5-emmc", "--size", "64 parsecs"], "is not a unit of size"),
        (vec!["up", "--preset", "galaxy-s5-emmc", "--size", "0"], "at least 16 MiB"),
        (vec!["up", "--preset", "galaxy-s5-emmc", "--size", "1M"], "at least 16 MiB"),
        (vec!["up", "--preset", "galaxy-s5-emmc", "--size", "33554433"], "a multiple of 4 KiB"),
        (vec!["up", "--preset", "galaxy-s5-emmc"], "--size"),
        (vec!["up", "--size", "64M"], "--preset"),
        (up(&["--set", "reed_us=1"]), "did you mean 'read_us'"),
        (up(&["--set", "read_us"]), "write KEY=VALUE"),
        (up(&["--set", "read_us=fast"]), "read_us"),
        (up(&["--set", "units=5000"]), "units"),
        (up(&["--time", "maybe"]), "off"),
        (up(&["--backend", "nbd"]), "ublk"),
        (up(&["--seed=-1"]), "--seed"),
        (vec!["ctl", "/dev/loop999"], "'/dev/loop999' is not a lab device"),
        (vec!["ctl", "../../etc"], "is not a lab device"),
        (vec!["ctl"], "<DEVICE>"),
        (vec!["fault", "1"], "--power-cut"),
        (vec!["fault", "1", "--power-cut", "--power-on"], "--power-on"),
        (vec!["fault", "1", "--read-error", "4k"], "write an offset and a length"),
        (vec!["fault", "1", "--read-error", "4k+0"], "the length is zero"),
        (vec!["fault", "1", "--clear", "--for", "3"], "--for"),
        (vec!["fault", "1", "--power-on", "--seed", "3"], "--seed"),
        (vec!["fault", "1", "--clear"], "'1' is not a lab device"),
        (vec!["down"], "<DEVICES>"),
        (vec!["down", "1", "--all"], "--all"),
        (vec!["down", "1"], "'1' is not a lab device"),
        (vec!["serve", "/no/such"], "is not the directory of a lab device"),
    ];
    for (words, sentence) in cases {
        let (code, said) = lab(words);
        assert_eq!(code, Some(2), "{words:?}: {said}");
        assert!(said.contains(sentence), "{words:?}: {said}");
        assert!(!said.contains("panicked"), "{words:?}: {said}");
    }
}

#[test]
fn a_kernel_without_ublk_is_told_with_a_remedy() {
    requires!(Mount, NoUblk);
    let (code, said) = lab(&["up", "--preset", "galaxy-s5-emmc", "--size", "64M", "--backend", "ublk"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("modprobe ublk_drv") && said.contains("use --backend fuse"), "{said}");
}

#[test]
fn a_device_larger_than_memory_is_refused() {
    requires!(Mount, Fuse, Loop);
    let (code, said) = lab(&["up", "--preset", "galaxy-s5-emmc", "--size", "1000T"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("do not fit") && said.contains("choose a smaller --size"), "{said}");
}

#[test]
fn nothing_to_take_down_is_no_error() {
    assert_eq!(lab(&["down", "--all"]).0, Some(0));
    assert_eq!(lab(&["list"]).0, Some(0));
}

#[test]
fn not_root_is_told_to_become_it() {
    use std::os::unix::process::CommandExt as _;
    // Only root can become another user.
    requires!(Root);
    let dir = tempfile::tempdir().expect("temporary directory");
    std::fs::create_dir_all(dir.path().join("run/lab")).expect("run directory");
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(dir.path().join("run/lab"), closed).expect("permissions");
    // The build's directory may be closed to others, so the program is copied to where they may go; by another process,
    // because one that starts programs meanwhile, as parallel tests do, would hold the copy open for writing.
    let program = dir.path().join("brisk");
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_brisk-lab")).arg(&program).status();
    assert!(copied.expect("cp is everywhere").success());
    std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("permissions");
    let (up, list) = (&["up", "--preset", "galaxy-s5-emmc", "--size", "64M"][..], &["list"][..]);
    for (words, reason) in [(up, "the lab needs CAP_SYS_ADMIN, which this process lacks"), (list, "which is root's")] {
        let mut command = Command::new(&program);
        command.arg("lab").args(words).env("BRISK_RUN_DIR", dir.path().join("run"));
        let output = command.uid(65_534).output().expect("brisk starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason) && said.contains("run it as root (sudo brisk"), "{said}");
    }
}

/// `brisk lab` as user 0 without capabilities of `lost`, as in a container.
fn lab_without(lost: &str, run_dir: &std::path::Path, words: &[&str]) -> (Option<i32>, String) {
    let output = Command::new("setpriv")
        .args(["--bounding-set", lost, "--inh-caps", lost, env!("CARGO_BIN_EXE_brisk-lab"), "lab"])
        .args(words)
        .env("BRISK_RUN_DIR", run_dir)
        .output()
        .expect("setpriv runs");
    (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
}

#[test]
fn root_of_a_container_is_told_which_right_it_lacks_and_nothing_is_left() {
    requires!(Root, Program("setpriv"));
    let dir = tempfile::tempdir().expect("temporary directory");
    let up: &[&str] = &["up", "--preset", "galaxy-s5-emmc", "--size", "64M"];
    let phone: &[&str] = &["phone", "build", "--apps", "xterm"];
    for words in [up, phone] {
        let (code, said) = lab_without("-sys_admin", dir.path(), words);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("needs CAP_SYS_ADMIN, which this process lacks: it is root with fewer rights"), "{said}");
        assert!(said.contains("--cap-add=SYS_ADMIN or --privileged"), "{said}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).expect("there").count(), 0, "something was made");
    assert_eq!(lab_without("-sys_admin", dir.path(), &["down", "--all", "--force"]), (Some(0), String::new()));
}

#[test]
fn what_was_never_mounted_is_taken_down_without_the_right_to_unmount() {
    use brisk_profile::lab_client::state::{Record, SCHEMA_VERSION, StateDir, Transport};
    requires!(Root, Program("setpriv"));
    let dir = tempfile::tempdir().expect("temporary directory");
    // Where a server dies before its mount, the record is all there is.
    let (state, lock) = StateDir::create(dir.path()).expect("a device");
    let record = Record {
        schema_version: SCHEMA_VERSION,
        preset: "galaxy-s5-emmc".to_owned(),
        identity: None,
        set: Vec::new(),
        size_bytes: 64 << 20,
        seed: 1,
        take_down: Vec::new(),
        server_pid: None,
        way: Transport::Fuse,
        loop_name: None,
        file_system: None,
        ublk_number: None,
        ready: false,
    };
    state.save(&record).expect("saved");
    drop(lock);
    let (code, said) = lab_without("-sys_admin", dir.path(), &["down", "--all", "--force"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(!state.exists(), "{said}");
}

#[test]
fn read_only_settings_are_named_before_anything_is_made() {
    requires!(Mount, RootMount, Program("unshare"));
    let dir = tempfile::tempdir().expect("temporary directory");
    // As in a container with the right to mount.
    let script = "mount -o remount,bind,ro /sys && exec \"$0\" lab up --preset galaxy-s5-emmc --size 64M";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_brisk-lab")])
        .env("BRISK_RUN_DIR", dir.path())
        .output()
        .expect("unshare runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("/sys is read-only") && said.contains("--privileged"), "{said}");
    assert_eq!(std::fs::read_dir(dir.path()).expect("there").count(), 0, "something was made");
}
