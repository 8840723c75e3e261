//! What the tests of both protocols ask of a screen.

#![allow(dead_code, reason = "each test program uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

use std::time::{Duration, Instant};

use brisk_lab::screen::{Change, Kind, Rect, Screen, WindowInfo};

pub(crate) const SIZE: (u32, u32) = (640, 480);
/// A guard against hanging; nothing takes so long that works.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// Waits until the changes so far fulfil `enough`, and gives them.
pub(crate) fn changes_until(screen: &mut impl Screen, enough: impl Fn(&[Change]) -> bool) -> Vec<Change> {
    let begin = Instant::now();
    let mut all = Vec::new();
    while !enough(&all) {
        assert!(begin.elapsed() < LONG, "waited in vain; there were {all:?}");
        all.extend(screen.changes(Duration::from_millis(200)).unwrap());
    }
    all
}

pub(crate) fn damage(changes: &[Change]) -> Vec<Rect> {
    changes.iter().filter_map(|change| if let Kind::Damage(rect) = change.kind { Some(rect) } else { None }).collect()
}

pub(crate) fn shown(changes: &[Change]) -> Option<&WindowInfo> {
    changes.iter().find_map(|change| if let Kind::WindowShown(info) = &change.kind { Some(info) } else { None })
}
