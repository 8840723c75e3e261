//! Returns to a running app with scripted behaviour: hot, frozen, and swapped out.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

use crate::swapped;
use std::ffi::OsString;
use std::sync::atomic::AtomicBool;

use brisk_lab::launch::{App, Launcher, Relaunched, Settings};
use brisk_lab::results::{AppState, Cause, Ending, SplitMethod};
use brisk_lab::screen::{Input, VirtualX, X11};
use brisk_requires::{Capability, available};
use brisk_sense::Sense;
use swapped::SwappedOut;

const MIB: u64 = 1 << 20;

fn specimen(server: &VirtualX, actions: &[&str]) -> App {
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples/specimen");
    let words = std::iter::once(program.into_os_string()).chain(actions.iter().map(OsString::from));
    App { env: vec![("DISPLAY".into(), server.display().into())], ..App::from_command(words.collect()) }
}

struct Bed {
    server: VirtualX,
    screen: X11,
    sense: Sense,
    stop: AtomicBool,
}

impl Bed {
    fn make() -> Option<Self> {
        available(&[Capability::Groups, Capability::Program("Xvfb")])?;
        let server = VirtualX::start((640, 480), 24).unwrap();
        let screen = X11::connect(Some(server.display())).unwrap();
        Some(Self { server, screen, sense: Sense::default(), stop: AtomicBool::new(false) })
    }

    fn launcher(&self) -> Launcher<'_> {
        Launcher { sense: &self.sense, settings: Settings::default(), stop: &self.stop }
    }
}

fn has_bpf(relaunched: &Relaunched) -> bool {
    relaunched.run.split.as_ref().is_some_and(|split| split.method == SplitMethod::Bpf)
}

#[test]
fn the_app_that_comes_to_the_front_gets_the_input_and_the_time_is_its_answer() {
    let Some(mut bed) = Bed::make() else { return };
    let first = specimen(&bed.server, &["window", "draw", "answer-keys=300"]);
    let second = specimen(&bed.server, &["window", "draw", "answer-keys=300"]);
    let launcher = Launcher { sense: &bed.sense, settings: Settings::default(), stop: &bed.stop };
    let mut first = launcher.keep(&first, &mut bed.screen).unwrap();
    let second = launcher.keep(&second, &mut bed.screen).unwrap();
    let key = Input::Key("a".into());
    let relaunched = launcher.relaunch(&mut first, &mut bed.screen, &key).unwrap();
    let run = &relaunched.run;
    assert_eq!((run.state, &run.ending), (AppState::Hot, &Ending::Settled), "{run:?}");
    // It sleeps before it draws; what was repainted because it came to the front is earlier.
    assert!(run.screen_ms.unwrap() >= 300.0 && run.end_ms >= run.screen_ms.unwrap(), "{run:?}");
    // Coarse limit: a return without any answer ends with the time limits, after 10 s.
    assert!(run.end_ms < 5_000.0, "{run:?}");
    let touched = run.touched.unwrap();
    assert_eq!(touched.swapped_bytes, 0);
    assert!(second.is_alive().unwrap());
    first.close().unwrap();
    second.close().unwrap();
}

#[test]
fn a_frozen_app_is_thawed_within_the_measured_time() {
    let Some(mut bed) = Bed::make() else { return };
    let app = specimen(&bed.server, &["window", "draw", "answer-keys=1"]);
    let launcher = Launcher { sense: &bed.sense, settings: Settings::default(), stop: &bed.stop };
    let mut app = launcher.keep(&app, &mut bed.screen).unwrap();
    app.freeze().unwrap();
    let state = std::fs::read_to_string(app.group().join("cgroup.freeze")).unwrap();
    assert_eq!(state.trim(), "1");
    let relaunched = launcher.relaunch(&mut app, &mut bed.screen, &Input::Key("a".into())).unwrap();
    assert_eq!(relaunched.run.ending, Ending::Settled, "{relaunched:?}");
    assert!(relaunched.run.screen_ms.is_some(), "it answered: {relaunched:?}");
    assert_eq!(std::fs::read_to_string(app.group().join("cgroup.freeze")).unwrap().trim(), "0");
    app.close().unwrap();
}

#[test]
fn what_a_return_needs_of_swap_is_counted_and_its_time_is_swap_in() {
    let Some(mut bed) = Bed::make() else { return };
    let Some(memory) = SwappedOut::make("relaunch") else { return };
    let app = specimen(&bed.server, &["hold=40", "window", "draw", "answer-keys-using=10"]);
    let app = App { groups: vec![memory.group().to_owned()], ..app };
    let mut app = {
        let launcher = bed.launcher();
        let mut screen = X11::connect(Some(bed.server.display())).unwrap();
        launcher.keep(&app, &mut screen).unwrap()
    };
    app.freeze().unwrap();
    memory.swap_out();
    let launcher = Launcher { sense: &bed.sense, settings: Settings::default(), stop: &bed.stop };
    let relaunched = launcher.relaunch(&mut app, &mut bed.screen, &Input::Key("a".into())).unwrap();
    let run = &relaunched.run;
    assert_eq!((run.state, &run.ending), (AppState::Swapped, &Ending::Settled), "{run:?}");
    let before = run.before.unwrap();
    assert!(before.swapped_bytes >= 40 * MIB, "{before:?}");
    let touched = run.touched.unwrap();
    // It uses 10 MiB of its heap, and a few pages of its own besides; read-ahead is not use.
    assert!((10 * MIB..14 * MIB).contains(&touched.swapped_bytes), "{touched:?}");
    if has_bpf(&relaunched) {
        let split = run.split.as_ref().unwrap();
        assert!(split.time_ms(Cause::SwapIn).is_some_and(|ms| ms > 0.0), "{split:?}");
    }
    app.close().unwrap();
}
