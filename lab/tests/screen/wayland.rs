//! The Wayland side against a real compositor: a second connection draws and listens, as an app would.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

use crate::common;
use crate::wayland_app;

use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use brisk_lab::screen::{
    Error, Input, Kind, Rect, Screen as _, Seen, VirtualSway, Watcher, Wayland, WindowInfo, monotonic_ns,
};
use brisk_requires::{Capability::Program, available};
use rustix::process::{Pid, Signal};

use common::{LONG, SIZE, changes_until, damage, shown};
use wayland_app::App;

fn rect(x: i32, y: i32, width: u32, height: u32) -> Rect {
    Rect { x, y, width, height }
}

/// A compositor with a watcher, or a word on why not.
fn set_up() -> Option<(VirtualSway, Wayland)> {
    available(&[Program("sway")])?;
    let server = VirtualSway::start(SIZE).unwrap();
    let screen = Wayland::connect(server.socket().to_str()).unwrap();
    Some((server, screen))
}

/// Takes in what is under way; then nothing more comes.
fn settle(screen: &mut Wayland) {
    let begin = Instant::now();
    while !screen.changes(Duration::from_millis(150)).unwrap().is_empty() {
        assert!(begin.elapsed() < LONG, "it never stands still");
    }
}

#[test]
fn what_an_app_draws_is_reported_where_it_draws() {
    let Some((server, mut screen)) = set_up() else { return };
    assert_eq!((screen.protocol(), screen.size()), ("wayland", SIZE));
    let mut app = App::connect(server.socket());
    app.open("painter", "a window", 0x10_2030);
    settle(&mut screen);
    let before_ns = monotonic_ns();
    app.fill(rect(100, 70, 30, 40), 0xff_fefd);
    let changes = changes_until(&mut screen, |changes| !damage(changes).is_empty());
    assert_eq!(damage(&changes), [rect(100, 70, 30, 40)]);
    assert!(changes.iter().all(|change| (before_ns..=monotonic_ns()).contains(&change.at_ns)));
    let picture = screen.picture(rect(99, 70, 2, 1)).unwrap();
    assert_eq!(picture.bgrx, [0x30, 0x20, 0x10, 0, 0xfd, 0xfe, 0xff, 0]);
    let corner = screen.picture(rect(630, 470, 100, 100)).unwrap();
    assert_eq!((corner.rect, corner.bgrx), (rect(630, 470, 10, 10), [0x30, 0x20, 0x10, 0].repeat(100)));
    assert_eq!(screen.picture(rect(5000, 0, 10, 10)).unwrap().bgrx.len(), 0);
}

#[test]
fn nothing_is_reported_when_nothing_happens() {
    let Some((_server, mut screen)) = set_up() else { return };
    settle(&mut screen);
    let begin = Instant::now();
    assert_eq!(screen.changes(Duration::from_millis(300)).unwrap(), []);
    assert!(begin.elapsed() >= Duration::from_millis(300));
}

#[test]
fn a_window_comes_up_is_renamed_and_goes() {
    let Some((server, mut screen)) = set_up() else { return };
    let mut app = App::connect(server.socket());
    app.open("org.example.Editor", "noél \u{1b}[1m\n", 0x10_2030);
    let changes = changes_until(&mut screen, |changes| shown(changes).is_some());
    let info = shown(&changes).unwrap().clone();
    assert_eq!((info.title.as_str(), info.app_id.as_str()), ("noél \u{1b}[1m\n", "org.example.Editor"));
    assert_eq!((info.pid, info.rect), (None, None));
    assert_eq!(screen.windows().unwrap(), std::slice::from_ref(&info));
    let mut late = Wayland::connect(server.socket().to_str()).unwrap();
    assert_eq!(late.windows().unwrap().len(), 1);
    assert!(
        !late
            .changes(Duration::from_millis(50))
            .unwrap()
            .iter()
            .any(|change| shown(std::slice::from_ref(change)).is_some())
    );

    app.rename("another");
    let renamed = Kind::WindowChanged(WindowInfo { title: "another".into(), ..info.clone() });
    changes_until(&mut screen, |changes| changes.iter().any(|change| change.kind == renamed));
    app.close();
    let gone = Kind::WindowGone { id: info.id };
    changes_until(&mut screen, |changes| changes.iter().any(|change| change.kind == gone));
    assert_eq!(screen.windows().unwrap(), []);
}

#[test]
fn an_activated_window_has_the_keys() {
    let Some((server, mut screen)) = set_up() else { return };
    let mut first = App::connect(server.socket());
    first.open("first", "the first", 0x10_2030);
    first.wait_for_focus();
    let mut second = App::connect(server.socket());
    second.open("second", "the second", 0x30_2010);
    second.wait_for_focus();
    let windows = screen.windows().unwrap();
    let info = windows.iter().find(|window| window.app_id == "first").expect("the first window");
    let before_ns = monotonic_ns();
    let at_ns = screen.activate(info.id).unwrap();
    assert!((before_ns..=monotonic_ns()).contains(&at_ns));
    first.wait_for_focus();
    screen.send(&Input::Key("a".into())).unwrap();
    assert_eq!(first.next_input(), "key 30 with 0");
    let error = screen.activate(u64::MAX).unwrap_err().to_string();
    assert!(error.contains("no such window"), "{error}");
}

#[test]
fn keys_arrive_with_their_modifiers() {
    let Some((server, mut screen)) = set_up() else { return };
    let mut app = App::connect(server.socket());
    app.open("painter", "a window", 0x10_2030);
    app.wait_for_focus();
    for (key, seen) in [
        ("a", vec!["key 30 with 0"]),
        ("A", vec!["key 42 with 0", "key 30 with 1"]),
        ("Return", vec!["key 28 with 0"]),
        ("ctrl+o", vec!["key 29 with 0", "key 24 with 4"]),
        ("alt+F4", vec!["key 56 with 0", "key 62 with 8"]),
        ("ctrl+shift+Home", vec!["key 29 with 0", "key 42 with 4", "key 102 with 5"]),
        ("字", vec!["key 195 with 0"]),
        ("b", vec!["key 48 with 0"]),
    ] {
        let before_ns = monotonic_ns();
        let at_ns = screen.send(&Input::Key(key.into())).unwrap();
        assert!((before_ns..=monotonic_ns()).contains(&at_ns));
        let received: Vec<_> = seen.iter().map(|_| app.next_input()).collect();
        assert_eq!(received, seen, "{key}");
    }
    let error = screen.send(&Input::Key("Retrun".into())).unwrap_err().to_string();
    assert!(error.contains("'Retrun' is not the name of a key"), "{error}");
}

#[test]
fn a_terminal_reads_the_text_that_is_typed() {
    let Some((server, mut screen)) = set_up() else { return };
    let dir = tempfile::tempdir().unwrap();
    let (ready, read) = (dir.path().join("ready"), dir.path().join("read"));
    // More characters without a key than there are spare keys, and each several times.
    let text = (0x4e00..0x4e40).filter_map(char::from_u32).chain("Zoë costs 5€, 'a|b'!".chars()).collect::<String>();
    let script = format!(
        "echo 1 >{}; IFS= read -r line; printf %s \"$line\" >{}.part; mv {}.part {}",
        ready.display(),
        read.display(),
        read.display(),
        read.display()
    );
    let mut command = Command::new("foot");
    command.args(["--config=/dev/null", "sh", "-c", &script]).env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    command.env("WAYLAND_DISPLAY", server.socket()).env("XDG_RUNTIME_DIR", dir.path());
    let mut foot = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let wait = |screen: &mut Wayland, path: &std::path::Path| {
        let begin = Instant::now();
        while !path.exists() {
            assert!(begin.elapsed() < LONG, "{} did not come", path.display());
            screen.changes(Duration::from_millis(20)).unwrap();
        }
    };
    changes_until(&mut screen, |changes| shown(changes).is_some());
    wait(&mut screen, &ready);
    screen.send(&Input::Text(format!("{text}\n"))).unwrap();
    wait(&mut screen, &read);
    assert_eq!(std::fs::read_to_string(&read).unwrap(), text);
    let _ = foot.wait();
}

#[test]
fn clicks_wheel_and_drags_arrive() {
    let Some((server, mut screen)) = set_up() else { return };
    let mut app = App::connect(server.socket());
    app.open("painter", "a window", 0x10_2030);
    app.wait_for_focus();
    screen.send(&Input::Move { x: 151, y: 163 }).unwrap();
    screen.send(&Input::Click { button: 3 }).unwrap();
    let mut press = app.next_input();
    while press.starts_with("move") {
        press = app.next_input();
    }
    assert_eq!((press.as_str(), app.next_input().as_str()), ("press 273 at 151,163", "release 273 at 151,163"));
    screen.send(&Input::Click { button: 2 }).unwrap();
    assert_eq!([app.next_input(), app.next_input()], ["press 274 at 151,163", "release 274 at 151,163"]);
    screen.send(&Input::Scroll { clicks: 2 }).unwrap();
    screen.send(&Input::Scroll { clicks: -1 }).unwrap();
    assert_eq!([app.next_input(), app.next_input(), app.next_input()], ["wheel 1", "wheel 1", "wheel -1"]);
    screen.send(&Input::Drag { from: (110, 110), to: (190, 150) }).unwrap();
    assert_eq!([app.next_input(), app.next_input()], ["move to 110,110", "press 272 at 110,110"]);
    let mut moves = 0;
    let end = loop {
        match app.next_input() {
            seen if seen.starts_with("move") => moves += 1,
            seen => break seen,
        }
    };
    assert_eq!((end.as_str(), moves), ("release 272 at 190,150", 8));
    for input in [Input::Move { x: 640, y: 0 }, Input::Drag { from: (0, -1), to: (0, 0) }, Input::Click { button: 4 }] {
        assert!(matches!(screen.send(&input), Err(Error::Input { .. })), "{input:?}");
    }
}

#[test]
fn the_watcher_sees_what_changed_and_nothing_else() {
    let Some((server, mut screen)) = set_up() else { return };
    let mut app = App::connect(server.socket());
    app.open("painter", "a window", 0x10_2030);
    settle(&mut screen);
    let mut watcher = Watcher::new(&mut screen).unwrap();
    let next = |watcher: &mut Watcher<'_>| {
        let begin = Instant::now();
        loop {
            assert!(begin.elapsed() < LONG, "nothing was seen");
            for seen in watcher.watch(Duration::from_millis(200)).unwrap() {
                if let Seen::Visible(visible) = seen {
                    return visible;
                }
            }
        }
    };
    let mut hashes = Vec::new();
    for blink in 0..6 {
        app.fill(rect(5, 5, 2, 14), if blink % 2 == 0 { 0xff_ffff } else { 0x10_2030 });
        let visible = next(&mut watcher);
        assert_eq!(visible.tiles.len(), 1, "{visible:?}");
        hashes.push(visible.tiles[0].hash.unwrap());
    }
    assert_ne!(hashes[0], hashes[1]);
    assert!(hashes.windows(3).all(|three| three[0] == three[2]), "{hashes:?}");

    let looks = watcher.looks();
    app.fill(rect(5, 5, 2, 14), 0x10_2030);
    let begin = Instant::now();
    while watcher.looks() == looks {
        assert!(begin.elapsed() < LONG, "it did not look");
        assert_eq!(watcher.watch(Duration::from_millis(50)).unwrap(), []);
    }
}

#[test]
fn the_last_state_of_the_screen_is_always_looked_at() {
    let Some((server, mut screen)) = set_up() else { return };
    let mut app = App::connect(server.socket());
    app.open("painter", "a window", 0x10_2030);
    settle(&mut screen);
    let mut watcher = Watcher::new(&mut screen).unwrap();
    let all_visible = |watcher: &mut Watcher<'_>, quiet: Duration| {
        let (begin, mut last, mut tiles) = (Instant::now(), Instant::now(), Vec::new());
        while last.elapsed() < quiet {
            assert!(begin.elapsed() < LONG);
            for seen in watcher.watch(Duration::from_millis(50)).unwrap() {
                if let Seen::Visible(visible) = seen {
                    (last, tiles) = (Instant::now(), visible.tiles);
                }
            }
        }
        tiles
    };
    let quiet = Duration::from_millis(800);
    let colours = [0xab_cdef, 0xfe_dcba];
    let expected = colours.map(|colour| {
        app.fill(rect(0, 0, 32, 32), colour);
        all_visible(&mut watcher, quiet)[0].hash
    });
    for round in 0..3 {
        // More frames than the burst that is free.
        for colour in 0..60 {
            app.fill(rect(0, 0, 32, 32), colour);
            let _ = watcher.watch(Duration::ZERO).unwrap();
        }
        app.fill_without_waiting(rect(0, 0, 32, 32), colours[round % 2]);
        let tiles = all_visible(&mut watcher, quiet);
        assert_eq!(tiles.first().map(|tile| (tile.index, tile.hash)), Some((0, expected[round % 2])), "round {round}");
    }
}

#[test]
fn a_compositor_that_goes_away_ends_a_wait_at_once() {
    let Some((server, mut screen)) = set_up() else { return };
    let (send, receive) = mpsc::channel();
    let waiting = std::thread::spawn(move || {
        settle(&mut screen);
        send.send(()).unwrap();
        let error = loop {
            if let Err(error) = screen.changes(LONG * 10) {
                break error;
            }
        };
        (Instant::now(), error, screen)
    });
    receive.recv_timeout(LONG).unwrap();
    let killed = Instant::now();
    rustix::process::kill_process(Pid::from_raw(server.pid().cast_signed()).unwrap(), Signal::KILL).unwrap();
    let (ended, error, mut screen) = waiting.join().unwrap();
    assert!(matches!(&error, Error::Lost { .. }), "{error}");
    assert!(ended.duration_since(killed) < LONG);
    for lost in [
        screen.changes(LONG).err(),
        screen.windows().err(),
        screen.picture(rect(0, 0, 9, 9)).err(),
        screen.send(&Input::Key("a".into())).err(),
    ] {
        assert!(matches!(lost, Some(Error::Lost { .. })), "{lost:?}");
    }
    let socket = server.socket().to_owned();
    drop(server);
    assert!(!socket.parent().unwrap().exists());
}

#[test]
fn a_display_that_is_not_there_is_named() {
    let error = Wayland::connect(Some("/nowhere/wayland-1")).err().unwrap().to_string();
    assert!(error.contains("no display server answers at /nowhere/wayland-1"), "{error}");
}
