//! Returns to a running app on a Wayland display: sway without a screen, and foot, a terminal that speaks Wayland, with
//! a scripted program in it.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

use crate::swapped;
use std::sync::atomic::AtomicBool;

use brisk_lab::launch::{App, Launcher, Settings};
use brisk_lab::results::{AppState, Ending};
use brisk_lab::screen::{Input, VirtualSway, Wayland};
use brisk_requires::{Capability, available};
use brisk_sense::Sense;
use swapped::SwappedOut;
use tempfile::TempDir;

/// Answers a key after 300 ms by a line; the key itself is not shown.
const ANSWERS: &str = "stty -echo; printf here; while IFS= read -rsn1 key; do sleep 0.3; echo \"answer to $key\"; done";

struct Bed {
    server: VirtualSway,
    screen: Wayland,
    sense: Sense,
    stop: AtomicBool,
    /// Where foot looks for sockets of its own.
    dir: TempDir,
}

impl Bed {
    fn make() -> Option<Self> {
        let needed = [
            Capability::Root,
            Capability::Cgroup2,
            Capability::Program("sway"),
            Capability::Program("foot"),
            Capability::Program("bash"),
        ];
        available(&needed)?;
        let server = VirtualSway::start((640, 480)).unwrap();
        let screen = Wayland::connect(server.socket().to_str()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        Some(Self { server, screen, sense: Sense::default(), stop: AtomicBool::new(false), dir })
    }

    /// A terminal that runs `script`; with plain fonts and without a blinking cursor.
    fn terminal(&self, script: &str) -> App {
        let words = ["foot", "--config=/dev/null", "bash", "-c", script];
        let env = [
            ("WAYLAND_DISPLAY", self.server.socket().as_os_str()),
            ("XDG_RUNTIME_DIR", self.dir.path().as_os_str()),
            ("LC_ALL", "C.UTF-8".as_ref()),
        ];
        let env = env.map(|(name, value)| (name.into(), value.to_owned())).to_vec();
        App { env, ..App::from_command(words.map(Into::into).to_vec()) }
    }
}

#[test]
fn the_app_that_comes_to_the_front_gets_the_input_and_the_time_is_its_answer() {
    let Some(mut bed) = Bed::make() else { return };
    let (first, second) = (bed.terminal(ANSWERS), bed.terminal(ANSWERS));
    let launcher = Launcher { sense: &bed.sense, settings: Settings::default(), stop: &bed.stop };
    let mut first = launcher.keep(&first, &mut bed.screen).unwrap();
    let mut second = launcher.keep(&second, &mut bed.screen).unwrap();
    for app in [&mut first, &mut second] {
        let run = launcher.relaunch(app, &mut bed.screen, &Input::Key("a".into())).unwrap().run;
        assert_eq!((run.state, &run.ending), (AppState::Hot, &Ending::Settled), "{run:?}");
        // Its program sleeps before it answers; what was repainted because it came to the front is earlier.
        assert!(run.screen_ms.unwrap() >= 300.0 && run.end_ms >= run.screen_ms.unwrap(), "{run:?}");
        // Coarse limit: a return without any answer ends with the time limits, after 10 s.
        assert!(run.end_ms < 5_000.0, "{run:?}");
    }
    first.close().unwrap();
    second.close().unwrap();
}

#[test]
fn a_frozen_app_is_thawed_within_the_measured_time() {
    let Some(mut bed) = Bed::make() else { return };
    let (first, second) = (bed.terminal(ANSWERS), bed.terminal(ANSWERS));
    let launcher = Launcher { sense: &bed.sense, settings: Settings::default(), stop: &bed.stop };
    let mut first = launcher.keep(&first, &mut bed.screen).unwrap();
    // Frozen before another app changes the layout of windows: the compositor waits for its answer in vain.
    first.freeze().unwrap();
    let second = launcher.keep(&second, &mut bed.screen).unwrap();
    let run = launcher.relaunch(&mut first, &mut bed.screen, &Input::Key("a".into())).unwrap().run;
    assert_eq!((run.state, &run.ending), (AppState::Hot, &Ending::Settled), "{run:?}");
    assert!(run.screen_ms.is_some_and(|ms| ms >= 300.0), "it answered: {run:?}");
    assert_eq!(std::fs::read_to_string(first.group().join("cgroup.freeze")).unwrap().trim(), "0");
    first.close().unwrap();
    second.close().unwrap();
}

#[test]
fn an_app_that_is_swapped_out_comes_back() {
    let Some(mut bed) = Bed::make() else { return };
    let Some(memory) = SwappedOut::make("relaunch-wayland") else { return };
    // Holds 40 MB of characters, which are no zeroes.
    let app = bed.terminal(&format!("held=$(head -c 30M /dev/urandom | base64); {ANSWERS}"));
    let launcher = Launcher { sense: &bed.sense, settings: Settings::default(), stop: &bed.stop };
    let mut app = launcher.keep(&App { groups: vec![memory.group().to_owned()], ..app }, &mut bed.screen).unwrap();
    app.freeze().unwrap();
    memory.swap_out();
    let run = launcher.relaunch(&mut app, &mut bed.screen, &Input::Key("a".into())).unwrap().run;
    assert_eq!((run.state, &run.ending), (AppState::Swapped, &Ending::Settled), "{run:?}");
    assert!(run.screen_ms.is_some_and(|ms| ms >= 300.0), "it answered: {run:?}");
    assert!(run.before.unwrap().swapped_bytes >= 40 << 20, "{run:?}");
    let touched = run.touched.unwrap();
    assert!(touched.swapped_bytes > 0, "{touched:?}");
    app.close().unwrap();
}

#[test]
fn an_app_whose_window_has_closed_is_not_brought_to_the_front() {
    let Some(mut bed) = Bed::make() else { return };
    // Any key ends it.
    let app = bed.terminal("read -rsn1 key");
    let launcher = Launcher { sense: &bed.sense, settings: Settings::default(), stop: &bed.stop };
    let mut app = launcher.keep(&app, &mut bed.screen).unwrap();
    let run = launcher.relaunch(&mut app, &mut bed.screen, &Input::Key("a".into())).unwrap().run;
    assert!(matches!(run.ending, Ending::Exited { code: Some(0), .. }), "{run:?}");
    assert!(!app.is_alive().unwrap());
    let error = launcher.relaunch(&mut app, &mut bed.screen, &Input::Key("a".into())).unwrap_err().to_string();
    assert!(error.contains("there is no such window"), "{error}");
}
