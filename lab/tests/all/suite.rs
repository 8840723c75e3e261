//! `brisk suite` from outside: what is refused and in which words. What it measures is tested where it is measured.

use std::process::{Command, Output};

fn brisk(args: &[&str]) -> Output {
    // A cache of its own, so that a refusal that comes too late shows as a build and not as a measurement.
    let dir = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
    command.args(args).env("BRISK_CACHE_DIR", dir.path().join("not a folder")).env("PATH", "/nowhere");
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").output().expect("brisk runs")
}

#[test]
fn each_invalid_command_line_is_refused_with_a_reason_and_code_2() {
    let cases: &[(&[&str], &str)] = &[
        (&["suite"], "brisk suite"),
        (&["suite", "run", "--apps", "solitaire"], "solitaire"),
        (&["suite", "run", "--runs", "0"], "1..=1000"),
        (&["suite", "run", "--conditions", "rain"], "idle, writers"),
        (&["suite", "run", "--conditions", "idle,idle"], "names a condition twice"),
        (&["suite", "run", "--cold", "--warm"], "--warm"),
        (&["suite", "run", "--writer-rate", "fast"], "'fast' is not a size"),
        (&["suite", "run", "--json=/no/such/folder/x"], "there is no directory /no/such/folder"),
        (&["suite", "whatif", "--variants", "faster"], "there are baseline, cache_in_ram"),
        (&["suite", "whatif", "--sqlite", "0"], "is zero"),
        (&["suite", "relaunch", "--policies", "best"], "there is no policy best: there are default, unfrozen"),
        (&["suite", "relaunch", "--policies", "zram,zram"], "--policies names zram twice"),
        (&["suite", "relaunch", "--regimes", "empty"], "tight, full"),
        (&["suite", "relaunch", "--regimes", "full,full"], "names a regime twice"),
        (&["suite", "relaunch", "--memory", "1M"], "the limit is too small: at least 64 MiB"),
        (&["suite", "relaunch", "--swap-size", "1M"], "the swap area is too small: at least 16 MiB"),
        (&["suite", "relaunch", "--apps", "solitaire"], "solitaire"),
        (&["suite", "relaunch", "--apart", "gimp", "--apps", "evince"], "--apart names gimp"),
        (
            &["suite", "relaunch", "--policies", "default,zram", "--swap-trace", "day.swap"],
            "--swap-trace is of one swap area: name --policies that all swap to the flash, or all to zram",
        ),
        (&["suite", "relaunch", "--policies", "none", "--swap-trace", "day.swap"], "--swap-trace is of one swap area"),
        (&["suite", "relaunch", "--swap-trace", "/no/such/folder/x"], "there is no directory /no/such/folder"),
        // Said before a phone is made, for which there is neither an image here nor a tool to build one.
        (&["suite", "run", "--no-screen"], "this needs a screen: leave --no-screen out"),
        (&["suite", "whatif", "--no-screen"], "this needs a screen: leave --no-screen out"),
        // Without a virtual screen there is nothing to launch on.
        (&["suite", "run"], "xvfb"),
    ];
    for (args, words) in cases {
        let output = brisk(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?} said: {said}");
    }
}

#[test]
fn without_its_window_manager_a_suite_names_the_package() {
    brisk_requires::requires!(Program("Xvfb"));
    let path = std::env::var_os("PATH").expect("a path");
    let server =
        std::env::split_paths(&path).map(|dir| dir.join("Xvfb")).find(|file| file.exists()).expect("in the path");
    // A path with nothing else in it.
    let dir = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(server, dir.path().join("Xvfb")).expect("a link");
    let mut command = Command::new(env!("CARGO_BIN_EXE_brisk-lab"));
    command.args(["suite", "run"]).env("BRISK_CACHE_DIR", dir.path().join("cache")).env("PATH", dir.path());
    let output = command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").output().expect("brisk runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("apt-get install matchbox-window-manager"), "{said}");
}
