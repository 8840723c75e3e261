//! The X11 side against a real server: a second connection draws, maps and listens, as an app would.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

use crate::common;
use crate::painter;

use std::sync::mpsc;
use std::time::{Duration, Instant};

use brisk_lab::screen::{Change, Error, Input, Kind, Screen as _, VirtualX, WindowInfo, X11, monotonic_ns};
use brisk_requires::{Capability::Program, available, requires};
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{ConnectionExt as _, GrabMode};

use common::{LONG, SIZE, changes_until, damage, shown};
use painter::{Painter, rect};

/// A server with a watcher and an app, or a skip.
fn set_up() -> Option<(VirtualX, X11, Painter)> {
    available(&[Program("Xvfb")])?;
    let server = VirtualX::start(SIZE, 24).unwrap();
    let screen = X11::connect(Some(server.display())).unwrap();
    let painter = Painter::connect(server.display());
    Some((server, screen, painter))
}

/// Takes in what is under way; then nothing more comes.
fn settle(screen: &mut X11, painter: &Painter) {
    painter.sync();
    while !screen.changes(Duration::from_millis(100)).unwrap().is_empty() {}
}

#[test]
fn what_an_app_draws_is_reported_where_it_draws() {
    let Some((_server, mut screen, painter)) = set_up() else { return };
    assert_eq!((screen.protocol(), screen.size()), ("x11", SIZE));
    let window = painter.window(rect(100, 50, 200, 100), false);
    settle(&mut screen, &painter);
    let before_ns = monotonic_ns();
    painter.fill(window, rect(10, 20, 30, 40), 0xff_0000);
    let changes = changes_until(&mut screen, |changes| !damage(changes).is_empty());
    assert_eq!(damage(&changes), [rect(110, 70, 30, 40)]);
    assert!(changes.iter().all(|change| (before_ns..=monotonic_ns()).contains(&change.at_ns)));
}

#[test]
fn the_same_drawing_again_is_reported_again() {
    let Some((_server, mut screen, painter)) = set_up() else { return };
    let window = painter.window(rect(0, 0, 200, 100), false);
    settle(&mut screen, &painter);
    for _ in 0..3 {
        painter.fill(window, rect(0, 0, 8, 8), 0xff_0000);
        let changes = changes_until(&mut screen, |changes| !damage(changes).is_empty());
        assert_eq!(damage(&changes), [rect(0, 0, 8, 8)]);
        // A drawing that comes before the last one is acknowledged makes no report of its own.
        screen.picture(rect(0, 0, 1, 1)).unwrap();
    }
}

#[test]
fn nothing_is_reported_when_nothing_happens() {
    let Some((_server, mut screen, _painter)) = set_up() else { return };
    let begin = Instant::now();
    assert_eq!(screen.changes(Duration::from_millis(150)).unwrap(), []);
    assert!(begin.elapsed() >= Duration::from_millis(150));
}

#[test]
fn a_window_comes_up_is_renamed_and_goes() {
    let Some((_server, mut screen, painter)) = set_up() else { return };
    let window = painter.unmapped(rect(10, 20, 200, 100), false);
    painter.class(window, b"editor\0Editor\0");
    painter.title(window, b"no\xe9l \x1b[1m\n");
    painter.map(window);
    let changes = changes_until(&mut screen, |changes| shown(changes).is_some());
    let expected = WindowInfo {
        id: window.into(),
        title: "noél \u{1b}[1m\n".into(),
        app_id: "Editor".into(),
        pid: Some(std::process::id()),
        rect: Some(rect(10, 20, 200, 100)),
    };
    assert_eq!(shown(&changes), Some(&expected));
    assert_eq!(screen.windows().unwrap(), std::slice::from_ref(&expected));

    painter.net_title(window, "ночь \u{fffd}".as_bytes());
    let renamed = WindowInfo { title: "ночь \u{fffd}".into(), ..expected };
    let is = |change: &Change| change.kind == Kind::WindowChanged(renamed.clone());
    changes_until(&mut screen, |changes| changes.iter().any(is));

    painter.unmap(window);
    let gone = Kind::WindowGone { id: window.into() };
    changes_until(&mut screen, |changes| changes.iter().any(|change| change.kind == gone));
    assert_eq!(screen.windows().unwrap(), []);

    painter.map(window);
    changes_until(&mut screen, |changes| shown(changes).is_some());
    painter.destroy(window);
    changes_until(&mut screen, |changes| changes.iter().any(|change| change.kind == gone));
}

#[test]
fn a_menu_is_no_window_but_its_drawing_counts() {
    let Some((_server, mut screen, painter)) = set_up() else { return };
    let menu = painter.window(rect(30, 30, 50, 60), true);
    painter.fill(menu, rect(0, 0, 50, 60), 0x00ff00);
    let window = painter.window(rect(300, 300, 50, 60), false);
    let changes = changes_until(&mut screen, |changes| shown(changes).is_some());
    let windows = changes.iter().filter(|change| matches!(change.kind, Kind::WindowShown(_))).count();
    assert_eq!((windows, shown(&changes).map(|info| info.id)), (1, Some(window.into())));
    assert!(damage(&changes).iter().any(|at| at.x == 30 && at.y == 30));
}

#[test]
fn windows_from_before_are_known_and_not_reported() {
    let Some((server, _screen, painter)) = set_up() else { return };
    let window = painter.window(rect(1, 2, 30, 40), false);
    painter.sync();
    let mut late = X11::connect(Some(server.display())).unwrap();
    assert_eq!(late.changes(Duration::from_millis(50)).unwrap(), []);
    let known: Vec<_> = late.windows().unwrap().into_iter().map(|info| info.id).collect();
    assert_eq!(known, [u64::from(window)]);
}

#[test]
fn a_picture_has_the_pixels_that_were_drawn() {
    let Some((_server, mut screen, painter)) = set_up() else { return };
    let window = painter.window(rect(600, 400, 40, 80), false);
    painter.fill(window, rect(0, 0, 40, 80), 0x10_2030);
    painter.fill(window, rect(10, 10, 1, 1), 0xff_fefd);
    painter.sync();
    let picture = screen.picture(rect(609, 409, 3, 3)).unwrap();
    let mut expected = [0x30, 0x20, 0x10, 0].repeat(9);
    expected[16..20].copy_from_slice(&[0xfd, 0xfe, 0xff, 0]);
    assert_eq!(picture.bgrx, expected);

    let corner = screen.picture(rect(630, 470, 100, 100)).unwrap();
    assert_eq!((corner.rect, corner.bgrx), (rect(630, 470, 10, 10), [0x30, 0x20, 0x10, 0].repeat(100)));
    let nothing = screen.picture(rect(5000, 0, 10, 10)).unwrap();
    assert_eq!((nothing.rect.area(), nothing.bgrx.len()), (0, 0));
    let whole = screen.picture(rect(i32::MIN, -5, u32::MAX, u32::MAX)).unwrap();
    assert_eq!(whole.rect, rect(0, 0, 640, 480));
    assert_eq!(screen.picture(rect(0, 0, 9999, 9999)).unwrap().bgrx.len(), 640 * 480 * 4);
}

/// The keys that arrive, as the app sees them.
fn keys_of(painter: &mut Painter, count: usize) -> Vec<String> {
    (0..count).map(|_| painter.next_key(LONG)).collect()
}

#[test]
fn keys_arrive_with_their_modifiers() {
    let Some((_server, mut screen, mut painter)) = set_up() else { return };
    painter.window(rect(0, 0, 200, 100), false);
    settle(&mut screen, &painter);
    for (key, seen) in [
        ("a", vec!["a"]),
        ("A", vec!["Shift_L", "shift+A"]),
        ("Return", vec!["Return"]),
        ("ctrl+o", vec!["Control_L", "ctrl+o"]),
        ("alt+F4", vec!["Alt_L", "alt+F4"]),
        ("ctrl+shift+Home", vec!["Control_L", "ctrl+Shift_L", "ctrl+shift+Home"]),
        ("XF86AudioMute", vec!["XF86AudioMute"]),
        ("字", vec!["字"]),
    ] {
        let before_ns = monotonic_ns();
        let at_ns = screen.send(&Input::Key(key.into())).unwrap();
        assert!((before_ns..=monotonic_ns()).contains(&at_ns));
        assert_eq!(keys_of(&mut painter, seen.len()), seen, "{key}");
    }
    let error = screen.send(&Input::Key("Retrun".into())).unwrap_err();
    assert!(error.to_string().contains("'Retrun' is not the name of a key"), "{error}");
}

#[test]
fn text_arrives_letter_by_letter_those_without_a_key_included() {
    let Some((_server, mut screen, mut painter)) = set_up() else { return };
    painter.window(rect(0, 0, 200, 100), false);
    settle(&mut screen, &painter);
    let text = "Zoë costs 5€, 字!\n";
    screen.send(&Input::Text(text.into())).unwrap();
    let mut typed = String::new();
    while typed.chars().count() < text.chars().count() {
        let key = painter.next_key(LONG);
        match key.trim_start_matches("shift+") {
            "Shift_L" => {}
            "Return" => typed.push('\n'),
            "space" => typed.push(' '),
            letter => typed.push_str(letter),
        }
    }
    assert_eq!(typed, text);
}

#[test]
fn lent_keys_are_given_back() {
    let Some((_server, mut screen, painter)) = set_up() else { return };
    let before = painter.keyboard();
    screen.send(&Input::Text("字話".into())).unwrap();
    screen.windows().unwrap();
    let lent = painter.keyboard();
    assert_eq!(before.iter().zip(&lent).filter(|(before, lent)| before != lent).count(), 2);
    drop(screen);
    assert_eq!(painter.keyboard(), before);
}

#[test]
fn the_newest_window_has_the_keys_without_a_window_manager() {
    let Some((_server, mut screen, mut painter)) = set_up() else { return };
    let first = painter.window(rect(0, 0, 200, 100), false);
    screen.send(&Input::Key("a".into())).unwrap();
    assert_eq!((painter.next_key(LONG), painter.focus()), ("a".into(), first));
    let dialog = painter.window(rect(300, 0, 200, 100), false);
    screen.send(&Input::Key("b".into())).unwrap();
    assert_eq!((painter.next_key(LONG), painter.focus()), ("b".into(), dialog));
    // An app that moves the focus itself is let be.
    painter.set_focus(first);
    screen.send(&Input::Key("c".into())).unwrap();
    assert_eq!((painter.next_key(LONG), painter.focus()), ("c".into(), first));
}

#[test]
fn without_a_window_manager_an_activated_window_is_above_and_has_the_keys() {
    let Some((_server, mut screen, painter)) = set_up() else { return };
    let below = painter.window(rect(0, 0, 200, 100), false);
    painter.fill(below, rect(0, 0, 200, 100), 0xff_0000);
    let above = painter.window(rect(0, 0, 200, 100), false);
    painter.fill(above, rect(0, 0, 200, 100), 0x00_00ff);
    painter.sync();
    assert_eq!(screen.windows().unwrap().len(), 2);
    screen.activate(below.into()).unwrap();
    // An answer on the same connection: the request is through.
    screen.windows().unwrap();
    assert_eq!(painter.focus(), below);
    let tree = painter.conn.query_tree(painter.root).unwrap().reply().unwrap();
    assert_eq!(tree.children.last(), Some(&below));
    painter.sync();
}

#[test]
fn clicks_wheel_and_drags_arrive() {
    let Some((_server, mut screen, mut painter)) = set_up() else { return };
    painter.window(rect(100, 100, 200, 200), false);
    settle(&mut screen, &painter);
    screen.send(&Input::Move { x: 150, y: 160 }).unwrap();
    screen.send(&Input::Click { button: 3 }).unwrap();
    assert_eq!(painter.next_pointer(LONG), "press 3 at 50,60");
    assert_eq!(painter.next_pointer(LONG), "release 3 at 50,60");
    screen.send(&Input::Scroll { clicks: 2 }).unwrap();
    screen.send(&Input::Scroll { clicks: -1 }).unwrap();
    let wheel: Vec<_> = (0..6).map(|_| painter.next_pointer(LONG)).filter(|seen| seen.starts_with("press")).collect();
    assert_eq!(wheel, ["press 5 at 50,60", "press 5 at 50,60", "press 4 at 50,60"]);
    screen.send(&Input::Drag { from: (110, 110), to: (190, 150) }).unwrap();
    assert_eq!(painter.next_pointer(LONG), "press 1 at 10,10");
    let mut moves = 0;
    let end = loop {
        match painter.next_pointer(LONG) {
            seen if seen.starts_with("move") => moves += 1,
            seen => break seen,
        }
    };
    assert_eq!(end, "release 1 at 90,50");
    assert!(moves >= 4, "{moves} moves");
}

#[test]
fn inputs_that_cannot_be_are_refused() {
    let Some((_server, mut screen, _painter)) = set_up() else { return };
    for (input, word) in [
        (Input::Move { x: 640, y: 0 }, "640 x 480"),
        (Input::Move { x: -1, y: 0 }, "640 x 480"),
        (Input::Drag { from: (0, 0), to: (0, 480) }, "640 x 480"),
        (Input::Click { button: 0 }, "button 0"),
        (Input::Click { button: 4 }, "button 4"),
        (Input::Text("\u{fffe}".into()), "no key gives"),
    ] {
        let error = screen.send(&input).unwrap_err().to_string();
        assert!(error.contains(word), "{input:?}: {error}");
    }
}

#[test]
fn a_server_that_goes_away_ends_a_wait_at_once() {
    let Some((server, mut screen, painter)) = set_up() else { return };
    let (send, receive) = mpsc::channel();
    let waiting = std::thread::spawn(move || {
        settle(&mut screen, &painter);
        send.send(()).unwrap();
        let error = screen.changes(LONG * 10).unwrap_err();
        (Instant::now(), error, screen)
    });
    receive.recv_timeout(LONG).unwrap();
    let killed = Instant::now();
    painter::kill(server.pid());
    let (ended, error, mut screen) = waiting.join().unwrap();
    assert!(matches!(&error, Error::Lost { display } if display == server.display()), "{error}");
    assert!(ended.duration_since(killed) < LONG);
    for lost in [
        screen.changes(LONG).err(),
        screen.windows().err(),
        screen.picture(rect(0, 0, 9, 9)).err(),
        screen.send(&Input::Key("a".into())).err(),
    ] {
        assert!(matches!(lost, Some(Error::Lost { .. })), "{lost:?}");
    }
    let (lock, pid) = (format!("/tmp/.X{}-lock", &server.display()[1..]), server.pid());
    drop(server);
    // The number may have a new owner by now.
    let owner = std::fs::read_to_string(&lock).unwrap_or_default();
    assert_ne!(owner.trim(), pid.to_string(), "{lock} was left");
}

#[test]
fn an_app_that_grabs_keyboard_and_pointer_holds_nothing_up() {
    let Some((_server, mut screen, mut painter)) = set_up() else { return };
    let window = painter.window(rect(0, 0, 200, 100), false);
    settle(&mut screen, &painter);
    let keyboard = painter.conn.grab_keyboard(true, window, 0u32, GrabMode::ASYNC, GrabMode::ASYNC).unwrap();
    keyboard.reply().unwrap();
    painter.fill(window, rect(0, 0, 10, 10), 0x123456);
    painter.sync();
    assert_eq!(screen.picture(rect(0, 0, 1, 1)).unwrap().bgrx, [0x56, 0x34, 0x12, 0]);
    screen.send(&Input::Key("x".into())).unwrap();
    assert_eq!(painter.next_key(LONG), "x");
}

#[test]
fn a_grab_of_the_server_ends_in_an_error_that_says_so_and_the_connection_lives_on() {
    let Some((_server, mut screen, painter)) = set_up() else { return };
    painter.conn.grab_server().unwrap();
    painter.sync();
    let error = screen.picture(rect(0, 0, 10, 10)).unwrap_err().to_string();
    assert!(error.contains("grab of the whole server"), "{error}");
    painter.conn.ungrab_server().unwrap();
    painter.sync();
    assert_eq!(screen.picture(rect(0, 0, 10, 10)).unwrap().bgrx.len(), 400);
}

#[test]
fn a_display_that_is_not_there_is_named() {
    let error = X11::connect(Some(":4095")).err().unwrap().to_string();
    assert!(error.contains("no display server answers at :4095"), "{error}");
    let error = X11::connect(Some("what is this")).err().unwrap().to_string();
    assert!(error.contains("what is this"), "{error}");
}

#[test]
fn a_screen_with_few_colours_is_refused() {
    let Some(_) = set_up() else { return };
    let server = VirtualX::start(SIZE, 16).unwrap();
    let error = X11::connect(Some(server.display())).err().unwrap().to_string();
    assert!(error.contains("start it with depth 24 (it has depth 16)"), "{error}");
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let Some(_) = set_up() else { return };
    let error = VirtualX::start(SIZE, 99).err().unwrap().to_string();
    assert!(error.contains("last words") && error.contains("Couldn't add screen"), "{error}");
    let error = VirtualX::start((0, 40_000), 24).err().unwrap().to_string();
    assert!(error.contains("not 0 x 40000"), "{error}");
}

#[test]
fn under_a_window_manager_the_clients_are_the_windows() {
    requires!(Program("openbox"));
    let Some((server, mut screen, painter)) = set_up() else { return };
    let _manager = painter::Program::start("openbox", &["--sm-disable"], server.display()).unwrap();
    painter.wait_for_manager(LONG);
    settle(&mut screen, &painter);
    assert_eq!(screen.windows().unwrap(), []);
    let window = painter.unmapped(rect(10, 20, 200, 100), false);
    painter.title(window, b"managed");
    painter.map(window);
    let changes = changes_until(&mut screen, |changes| shown(changes).is_some());
    let info = shown(&changes).unwrap();
    assert_eq!((info.id, info.title.as_str()), (window.into(), "managed"));
    // The frame is around it, so it is not where it wanted to be, and there is no second window.
    let windows = screen.windows().unwrap();
    assert_eq!(windows.len(), 1);
    assert!(windows[0].rect.unwrap().y > 20, "{windows:?}");
    painter.unmap(window);
    let gone = Kind::WindowGone { id: window.into() };
    changes_until(&mut screen, |changes| changes.iter().any(|change| change.kind == gone));
}

/// As [`set_up`], with the window manager of a phone.
fn set_up_as_phone() -> Option<(VirtualX, X11, Painter)> {
    available(&[Program("Xvfb"), Program("matchbox-window-manager")])?;
    let server = VirtualX::start_as_phone(SIZE, 24).unwrap();
    let (screen, painter) = (X11::connect(Some(server.display())).unwrap(), Painter::connect(server.display()));
    Some((server, screen, painter))
}

#[test]
fn on_a_phone_a_window_fills_the_screen_and_the_newest_has_the_keys() {
    let Some((_server, mut screen, mut painter)) = set_up_as_phone() else { return };
    assert_eq!(screen.windows().unwrap(), []);
    let app = |name: &[u8]| {
        // Larger than the screen and partly outside of it.
        let window = painter.unmapped(rect(300, 200, 900, 700), false);
        painter.class(window, b"app\0App\0");
        painter.title(window, name);
        painter.map(window);
        window
    };
    let first = app(b"first");
    let changes = changes_until(&mut screen, |changes| shown(changes).is_some());
    let info = shown(&changes).unwrap();
    assert_eq!((info.id, info.title.as_str(), info.app_id.as_str()), (first.into(), "first", "App"));
    let second = app(b"second");
    changes_until(&mut screen, |changes| shown(changes).is_some());
    // As on a screen that is not touched: over no window until it is moved.
    let pointer = || painter.conn.query_pointer(painter.root).unwrap().reply().unwrap();
    assert!(!pointer().same_screen);
    screen.send(&Input::Move { x: 30, y: 40 }).unwrap();
    // An answer on the same connection: the move is through.
    screen.windows().unwrap();
    assert_eq!((pointer().same_screen, pointer().root_x, pointer().root_y), (true, 30, 40));
    let full = Some(rect(0, 0, SIZE.0, SIZE.1));
    let begin = Instant::now();
    // It is shown in its own size and then laid out.
    while screen.windows().unwrap().iter().any(|window| window.rect != full) {
        assert!(begin.elapsed() < LONG, "{:?}", screen.windows());
        screen.changes(Duration::from_millis(100)).unwrap();
    }
    while painter.focus() != second {
        assert!(begin.elapsed() < LONG, "the keys go to {} and not to {second}", painter.focus());
        std::thread::yield_now();
    }
    // A key that matchbox would take for itself reaches the app.
    screen.send(&Input::Key("alt+F4".into())).unwrap();
    assert_eq!(painter.next_key(LONG), "Alt_L");
    assert_eq!(painter.next_key(LONG), "alt+F4");
    assert_eq!(screen.windows().unwrap().len(), 2);
    // The first comes back, as a person would choose it from a list.
    let before_ns = monotonic_ns();
    let at_ns = screen.activate(first.into()).unwrap();
    assert!((before_ns..=monotonic_ns()).contains(&at_ns));
    while painter.focus() != first {
        assert!(begin.elapsed() < LONG, "the keys go to {} and not to {first}", painter.focus());
        std::thread::yield_now();
    }
    let error = screen.activate(u64::MAX).unwrap_err().to_string();
    assert!(error.contains("no such window"), "{error}");
}

#[test]
fn the_window_manager_of_a_phone_ends_with_its_screen() {
    let Some((server, _screen, _painter)) = set_up_as_phone() else { return };
    let manager = server.manager_pid().unwrap();
    drop(server);
    assert!(!std::path::Path::new(&format!("/proc/{manager}")).exists());
}

#[test]
fn pixels_come_through_the_connection_when_the_server_shares_no_memory() {
    let Some(_) = set_up() else { return };
    let server = painter::Program::xvfb_without_shared_memory(SIZE);
    let mut screen = X11::connect(Some(&server.display)).unwrap();
    let painter = Painter::connect(&server.display);
    let window = painter.window(rect(0, 0, 50, 50), false);
    painter.fill(window, rect(0, 0, 50, 50), 0x010203);
    painter.sync();
    assert_eq!(screen.picture(rect(1, 1, 7, 3)).unwrap().bgrx, [3, 2, 1, 0].repeat(21));
}

#[test]
fn events_that_an_app_does_not_ask_for_reach_it_all_the_same_as_before() {
    let Some((_server, mut screen, painter)) = set_up() else { return };
    let window = painter.window(rect(0, 0, 50, 50), false);
    settle(&mut screen, &painter);
    // Watching selects events for itself alone.
    let mask = painter.conn.get_window_attributes(window).unwrap().reply().unwrap().your_event_mask;
    assert_eq!(mask, painter::event_mask());
    assert!(!matches!(painter.conn.poll_for_event().unwrap(), Some(Event::Error(_))));
}
