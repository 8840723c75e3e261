//! Streams of pseudo-random user events, as of Android's Monkey (dissertation 4.5.4, run-time delay).
//!
//! The same seed gives the same events in any window: places are relative to it. The mix of kinds is about Monkey's own
//! default (touches and gestures before keys), without keys that leave the app.

use crate::screen::{Input, Rect};
use brisk_core::random::Random;

/// The paper's number of events.
pub const PAPER_EVENTS: u64 = 500;
pub const PAPER_SEED: u64 = 10;

const KEYS: [&str; 12] =
    ["Tab", "Down", "Up", "Left", "Right", "Page_Down", "Page_Up", "Home", "End", "Return", "space", "BackSpace"];
const LETTERS: &[u8] = b"etaoinshrdlu 0123456789";

/// One event, independent of the window's size.
#[derive(Debug, Clone, PartialEq)]
enum Event {
    Click((f64, f64)),
    Drag((f64, f64), (f64, f64)),
    Scroll(i32),
    Key(&'static str),
    Letter(char),
}

/// The first `count` events of `seed`, for a window at `rect`; each is one or two inputs.
#[must_use]
pub fn events(seed: u64, count: u64, rect: Rect) -> Vec<Vec<Input>> {
    let mut rng = Random(seed);
    (0..count).map(|_| inputs(&event(&mut rng), rect)).collect()
}

fn event(rng: &mut Random) -> Event {
    // Not at the frame: its buttons close the window.
    let mut place = || (0.05 + 0.9 * rng.unit(), 0.12 + 0.83 * rng.unit());
    let (first, second) = (place(), place());
    match rng.below(100) {
        0..40 => Event::Click(first),
        40..55 => Event::Drag(first, second),
        55..70 => Event::Scroll(if rng.below(10) < 6 { 3 } else { -3 }),
        70..85 => Event::Key(KEYS[rng.place(KEYS.len())]),
        _ => Event::Letter(char::from(LETTERS[rng.place(LETTERS.len())])),
    }
}

fn inputs(event: &Event, rect: Rect) -> Vec<Input> {
    let at = |(x, y): (f64, f64)| {
        (rect.x + (f64::from(rect.width) * x) as i32, rect.y + (f64::from(rect.height) * y) as i32)
    };
    let to = |place| {
        let (x, y) = at(place);
        Input::Move { x, y }
    };
    match event {
        Event::Click(place) => vec![to(*place), Input::Click { button: 1 }],
        Event::Drag(from, until) => vec![Input::Drag { from: at(*from), to: at(*until) }],
        Event::Scroll(clicks) => vec![to((0.5, 0.5)), Input::Scroll { clicks: *clicks }],
        Event::Key(key) => vec![Input::Key((*key).to_owned())],
        Event::Letter(letter) => vec![Input::Text(letter.to_string())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECT: Rect = Rect { x: 100, y: 50, width: 400, height: 300 };

    #[test]
    fn the_same_seed_gives_the_same_events() {
        let first = events(PAPER_SEED, PAPER_EVENTS, RECT);
        assert_eq!(first.len() as u64, PAPER_EVENTS);
        assert_eq!(first, events(PAPER_SEED, PAPER_EVENTS, RECT));
        assert_ne!(first, events(11, PAPER_EVENTS, RECT));
        // A longer stream has a shorter one as its prefix.
        assert_eq!(first[..100], events(PAPER_SEED, 100, RECT));
    }

    #[test]
    fn every_event_stays_inside_of_the_window() {
        let inside = |x: i32, y: i32| (100..500).contains(&x) && (50..350).contains(&y);
        for input in events(1, 2_000, RECT).iter().flatten() {
            match input {
                Input::Move { x, y } => assert!(inside(*x, *y)),
                Input::Drag { from, to } => assert!(inside(from.0, from.1) && inside(to.0, to.1)),
                _ => {}
            }
        }
    }

    #[test]
    fn all_kinds_occur() {
        let found = events(1, 500, RECT);
        let count = |kind: fn(&Input) -> bool| found.iter().flatten().filter(|input| kind(input)).count();
        assert!(count(|i| matches!(i, Input::Click { .. })) > 150);
        assert!(count(|i| matches!(i, Input::Drag { .. })) > 40);
        assert!(count(|i| matches!(i, Input::Scroll { .. })) > 40);
        assert!(count(|i| matches!(i, Input::Key(_))) > 40);
        assert!(count(|i| matches!(i, Input::Text(_))) > 40);
    }
}
