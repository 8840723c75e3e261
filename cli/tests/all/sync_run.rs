//! `brisk sync run` applies its library whatever the home is called, or says that it does not.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use brisk_requires::requires;

const BRISK: &str = env!("CARGO_BIN_EXE_brisk");

fn run(home: &Path, program: &OsStr, arguments: &[&str]) -> Output {
    let mut brisk = Command::new(BRISK);
    brisk.args(["sync", "run", "org.example.App", "--"]).arg(program).args(arguments).env("HOME", home);
    for name in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] {
        brisk.env_remove(name);
    }
    brisk.output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_library_is_loaded_whatever_the_home_is_called() {
    let dir = tempfile::tempdir().expect("a directory");
    for name in ["plain", "a b", "a:b", "$ORIGIN", "\u{e9} '\"x"] {
        let home = dir.path().join(name);
        std::fs::create_dir(&home).expect("made");
        let output = run(&home, "sh".as_ref(), &["-c", "cat /proc/self/maps; exit 3"]);
        assert_eq!(output.status.code(), Some(3), "{name}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains("brisk_sync.so"), "{name}: {}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "", "{name}");
    }
}

#[test]
fn a_program_that_takes_no_library_is_named_and_runs_durable() {
    requires!(Program("gcc"));
    let dir = tempfile::tempdir().expect("a directory");
    let (source, program) = (dir.path().join("main.c"), dir.path().join("fixed"));
    std::fs::write(&source, "int main(void) { return 3; }\n").expect("written");
    let built = Command::new("gcc").arg("-static").arg("-o").arg(&program).arg(&source).status().expect("gcc runs");
    assert!(built.success());
    let output = run(dir.path(), program.as_os_str(), &[]);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert!(said.contains("linked statically") && said.contains("durable"), "{said}");
    // Nothing to start is an error of its own.
    let missing = run(dir.path(), dir.path().join("gone").as_os_str(), &[]);
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn the_libraries_that_a_user_preloads_stay() {
    let dir = tempfile::tempdir().expect("a directory");
    let other =
        Command::new(BRISK).args(["sync", "libraries"]).arg(dir.path().join("other")).output().expect("it runs");
    assert!(other.status.success(), "{}", text(&other.stderr));
    let other = dir.path().join("other/brisk_sync_sqlite.so");
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let mut brisk = Command::new(BRISK);
    brisk.args(["sync", "run", "org.example.App", "--", "sh", "-c", "echo $LD_PRELOAD"]).env("HOME", dir.path());
    let output = brisk.env("LD_PRELOAD", "/nonexistent/mine.so").output().expect("it runs");
    let all = text(&output.stdout);
    assert!(all.trim_end().ends_with("brisk_sync.so:/nonexistent/mine.so"), "{all}");
}
