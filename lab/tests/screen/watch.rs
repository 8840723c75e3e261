//! The watcher against a real server: what can be seen, and what only claims to be drawn.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

use crate::common;
use crate::painter;

use std::time::{Duration, Instant};

use brisk_lab::screen::{Change, Error, Input, Kind, Seen, TILE_SIDE, VirtualX, Visible, Watcher, X11, monotonic_ns};
use brisk_requires::{Capability::Program, available};
use x11rb::protocol::xproto::ConnectionExt as _;

use common::{LONG, SIZE};
use painter::{Painter, rect};

/// A server with a connection for the watcher and an app, or a skip.
fn set_up() -> Option<(VirtualX, X11, Painter)> {
    available(&[Program("Xvfb")])?;
    let server = VirtualX::start(SIZE, 24).unwrap();
    let screen = X11::connect(Some(server.display())).unwrap();
    let painter = Painter::connect(server.display());
    Some((server, screen, painter))
}

fn next_visible(watcher: &mut Watcher<'_>) -> Visible {
    let begin = Instant::now();
    loop {
        let seen = watcher.watch(Duration::from_millis(500)).unwrap();
        let mut visible =
            seen.into_iter().filter_map(|seen| if let Seen::Visible(seen) = seen { Some(seen) } else { None });
        if let Some(visible) = visible.next() {
            return visible;
        }
        assert!(begin.elapsed() < LONG, "nothing was seen");
    }
}

/// Everything that was seen until all damage up to now was processed.
fn all_visible(watcher: &mut Watcher<'_>) -> Vec<Visible> {
    let begin = Instant::now();
    let until_ns = monotonic_ns();
    let mut all = Vec::new();
    loop {
        // At least once: damage that is under way comes in.
        let seen = watcher.watch(Duration::from_millis(50)).unwrap();
        all.extend(seen.into_iter().filter_map(|seen| if let Seen::Visible(seen) = seen { Some(seen) } else { None }));
        if watcher.sure_until_ns() >= until_ns {
            return all;
        }
        assert!(begin.elapsed() < LONG, "it was never sure");
    }
}

/// A 64 x 64 window at the corner, that is on the screen for the watcher that comes now.
fn window(painter: &Painter) -> u32 {
    let window = painter.window(rect(0, 0, 64, 64), false);
    painter.fill(window, rect(0, 0, 64, 64), 0x11_1111);
    painter.sync();
    window
}

#[test]
fn damage_that_changed_no_pixel_is_no_visible_change() {
    let Some((_server, mut screen, painter)) = set_up() else { return };
    let window = window(&painter);
    let mut watcher = Watcher::new(&mut screen).unwrap();
    painter.fill(window, rect(0, 0, 64, 64), 0x11_1111);
    painter.sync();
    let before = watcher.looks();
    assert_eq!(all_visible(&mut watcher), []);
    assert!(watcher.looks() > before, "it took no sample");
}

#[test]
fn only_the_tiles_that_changed_are_seen() {
    let Some((_server, mut screen, painter)) = set_up() else { return };
    let window = window(&painter);
    let mut watcher = Watcher::new(&mut screen).unwrap();
    assert_eq!(watcher.tiles(), 20 * 15);
    let before_ns = monotonic_ns();
    // Damage of four tiles, and other pixels in one: the clip of the second drawing is inside of tile 1.
    painter.fill(window, rect(0, 0, 64, 64), 0x11_1111);
    painter.fill(window, rect(40, 10, 3, 3), 0xff_0000);
    let visible = next_visible(&mut watcher);
    let after_ns = monotonic_ns();
    assert_eq!(visible.tiles.len(), 1, "{visible:?}");
    let tile = visible.tiles[0];
    assert_eq!((tile.index, tile.rect), (1, rect(32, 0, TILE_SIDE, TILE_SIDE)));
    assert!(before_ns <= tile.first_ns && tile.first_ns <= tile.at_ns && tile.at_ns <= after_ns);
    assert!(visible.verified());
}

#[test]
fn a_caret_shows_the_same_two_hashes_in_turn() {
    let Some((_server, mut screen, painter)) = set_up() else { return };
    let window = window(&painter);
    let mut watcher = Watcher::new(&mut screen).unwrap();
    let mut hashes = Vec::new();
    for blink in 0..6 {
        painter.fill(window, rect(5, 5, 2, 14), if blink % 2 == 0 { 0xff_ffff } else { 0x11_1111 });
        let visible = next_visible(&mut watcher);
        assert_eq!(visible.tiles.len(), 1);
        hashes.push(visible.tiles[0].hash.unwrap());
    }
    assert_ne!(hashes[0], hashes[1]);
    assert!(hashes.windows(3).all(|three| three[0] == three[2]), "{hashes:?}");
}

#[test]
fn a_change_is_dated_by_its_damage_not_by_its_comparison() {
    let Some((_server, mut screen, painter)) = set_up() else { return };
    let window = window(&painter);
    let mut watcher = Watcher::new(&mut screen).unwrap();
    painter.fill(window, rect(0, 0, 8, 8), 0xff_ffff);
    let visible = next_visible(&mut watcher);
    // Drawing of one frame is sampled together, so the sample comes 16 ms after the damage.
    assert!(monotonic_ns() - visible.at_ns >= 16_000_000);
}

#[test]
fn the_last_state_of_the_screen_is_always_compared() {
    let Some((_server, mut screen, painter)) = set_up() else { return };
    let window = window(&painter);
    let mut watcher = Watcher::new(&mut screen).unwrap();
    let colours = [0xab_cdef, 0xfe_dcba];
    let expected = colours.map(|colour| {
        painter.fill(window, rect(0, 0, 32, 32), colour);
        next_visible(&mut watcher).tiles[0].hash
    });
    for round in 0..6 {
        // An app that draws as fast as it can for a while, and ends with a colour that is known.
        let drawing = std::thread::scope(|scope| {
            let app = scope.spawn(|| {
                for colour in 0..20_000u32 {
                    painter.fill(window, rect(0, 0, 32, 32), colour * 37);
                }
                painter.fill(window, rect(0, 0, 32, 32), colours[round % 2]);
                painter.sync();
            });
            let mut seen = Vec::new();
            while !app.is_finished() {
                seen.extend(all_visible(&mut watcher));
            }
            app.join().unwrap();
            seen.extend(all_visible(&mut watcher));
            seen
        });
        let last = drawing.last().expect("the drawing was seen").tiles[0];
        assert_eq!((last.index, last.hash), (0, expected[round % 2]), "round {round}");
        assert!(drawing.windows(2).all(|two| two[0].at_ns <= two[1].first_ns));
    }
}

#[test]
fn a_look_at_once_leaves_nothing_to_look_at() {
    let Some((_server, mut screen, painter)) = set_up() else { return };
    let window = window(&painter);
    let mut watcher = Watcher::new(&mut screen).unwrap();
    painter.fill(window, rect(0, 0, 8, 8), 0xff_ffff);
    painter.sync();
    let begin = Instant::now();
    let mut seen = watcher.look().unwrap();
    while seen.is_empty() {
        assert!(begin.elapsed() < LONG);
        seen = watcher.look().unwrap();
    }
    assert!(matches!(&seen[..], [Seen::Visible(visible)] if visible.tiles.len() == 1), "{seen:?}");
    assert_eq!(watcher.watch(Duration::from_millis(50)).unwrap(), []);
}

#[test]
fn windows_and_inputs_pass_through() {
    let Some((_server, mut screen, mut painter)) = set_up() else { return };
    let mut watcher = Watcher::new(&mut screen).unwrap();
    let window = painter.window(rect(0, 0, 64, 64), false);
    let begin = Instant::now();
    let mut seen = Vec::new();
    let is_it = |seen: &Seen| {
        matches!(seen, Seen::Window(Change { kind: Kind::WindowShown(info),
        .. }) if info.id == u64::from(window))
    };
    while !seen.iter().any(is_it) {
        assert!(begin.elapsed() < LONG, "{seen:?}");
        seen.extend(watcher.watch(Duration::from_millis(100)).unwrap());
    }
    watcher.send(&Input::Key("a".into())).unwrap();
    assert_eq!(painter.next_key(LONG), "a");
    assert_eq!(watcher.windows().unwrap().len(), 1);
    assert!(watcher.own_cpu_ns() > 0);
}

#[test]
fn what_the_server_refuses_to_show_is_said_to_be_unverified() {
    let Some((_server, mut screen, painter)) = set_up() else { return };
    let window = window(&painter);
    let mut watcher = Watcher::new(&mut screen).unwrap();
    painter.fill(window, rect(0, 0, 8, 8), 0xff_ffff);
    painter.conn.grab_server().unwrap();
    painter.sync();
    let visible = next_visible(&mut watcher);
    assert!(!visible.verified());
    assert_eq!((visible.tiles.len(), visible.tiles[0].hash), (1, None));
    painter.conn.ungrab_server().unwrap();
    painter.fill(window, rect(0, 0, 8, 8), 0x11_1111);
    // It comes with the pixels once they are shown, though the last drawing did not differ from the one before.
    assert!(next_visible(&mut watcher).verified());
}

#[test]
fn a_screen_of_another_size_is_seen_anew() {
    let Some((_server, mut screen, painter)) = set_up() else { return };
    let mut watcher = Watcher::new(&mut screen).unwrap();
    painter.resize(500, 300);
    let tiles = 500u32.div_ceil(TILE_SIDE) * 300u32.div_ceil(TILE_SIDE);
    let visible = next_visible(&mut watcher);
    assert_eq!((watcher.tiles(), visible.tiles.len()), (tiles, tiles as usize));
    assert!(visible.verified());
    assert_eq!(watcher.picture(rect(0, 0, 9999, 9999)).unwrap().rect, rect(0, 0, 500, 300));
}

#[test]
fn a_server_that_goes_away_ends_the_watch() {
    let Some((server, mut screen, _painter)) = set_up() else { return };
    let mut watcher = Watcher::new(&mut screen).unwrap();
    painter::kill(server.pid());
    let begin = Instant::now();
    let error = loop {
        assert!(begin.elapsed() < LONG);
        if let Err(error) = watcher.watch(LONG) {
            break error;
        }
    };
    assert!(matches!(error, Error::Lost { .. }), "{error}");
}
