//! Interface between display servers and their users.

use std::time::Duration;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum Error {
    #[error("no display server answers at {display}: {reason}")]
    NoServer {
        /// Such as `:99`.
        display: String,
        reason: String,
    },
    #[error("the virtual screen {display} gets no window manager: {reason}")]
    NoManager {
        /// Such as `:99`.
        display: String,
        reason: String,
    },
    #[error("the display server at {display} went away")]
    Lost {
        /// Such as `:99`.
        display: String,
    },
    #[error("the display server at {display} lacks {what}; {remedy}")]
    Lacks {
        /// Such as `:99`.
        display: String,
        what: String,
        remedy: String,
    },
    #[error("cannot send {input}: {reason}")]
    Input { input: String, reason: String },
    #[error("the display server refused {what}: {reason}")]
    Refused { what: String, reason: String },
}

pub type Result<T> = std::result::Result<T, Error>;

/// A rectangle of the screen, in pixels from its upper left corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rect {
    /// Left edge.
    pub x: i32,
    /// Upper edge.
    pub y: i32,
    pub width: u32,
    pub height: u32,
}

impl Rect {
    /// The part on a screen of `size`; empty when there is none.
    #[must_use]
    pub fn clipped_to(self, size: (u32, u32)) -> Self {
        let span = |start: i32, length: u32, limit: u32| {
            let end = (i64::from(start) + i64::from(length)).clamp(0, limit.into());
            let start = i64::from(start).clamp(0, limit.into());
            (start, (end - start).max(0))
        };
        let (x, width) = span(self.x, self.width, size.0.min(i32::MAX as u32));
        let (y, height) = span(self.y, self.height, size.1.min(i32::MAX as u32));
        // All values are within 0 and the limits.
        Self { x: x as i32, y: y as i32, width: width as u32, height: height as u32 }
    }

    #[must_use]
    pub fn area(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

/// An event of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its arrival, CLOCK_MONOTONIC.
    pub at_ns: u64,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Something was drawn here; the pixels may be unchanged.
    Damage(Rect),
    /// A window of an app appeared (top level, not a tooltip or menu).
    WindowShown(WindowInfo),
    WindowGone {
        /// As in [`WindowInfo::id`].
        id: u64,
    },
    /// A window changed its title or class; both are often set after it appeared.
    WindowChanged(WindowInfo),
}

/// A top-level window.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WindowInfo {
    /// Its id in the display server.
    pub id: u64,
    /// Title, including control characters.
    pub title: String,
    pub app_id: String,
    /// Process of its owner, if known.
    pub pid: Option<u32>,
    /// Its place, if known.
    pub rect: Option<Rect>,
}

/// Pixels of a rectangle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub rect: Rect,
    /// Four bytes a pixel in the order blue, green, red, unused (zeroed); rows from above, without padding.
    pub bgrx: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A key with modifiers, by names of X keysyms: `Return`, `ctrl+o`, `alt+F4`, `shift+Tab`, `a`.
    Key(String),
    /// Text, typed key by key.
    Text(String),
    Move {
        x: i32,
        y: i32,
    },
    /// Clicks a button at the pointer.
    Click {
        /// 1 left, 2 middle, 3 right.
        button: u8,
    },
    /// Turns the wheel; positive is down.
    Scroll {
        clicks: i32,
    },
    /// Drags with button 1.
    Drag {
        from: (i32, i32),
        to: (i32, i32),
    },
}

pub trait Screen: Send {
    /// `x11` or `wayland`.
    fn protocol(&self) -> &'static str;

    /// Such as `:99`.
    fn display(&self) -> &str;

    /// Width and height in pixels.
    fn size(&self) -> (u32, u32);

    /// Returns all pending changes, oldest first; waits at most `timeout` for the first one.
    ///
    /// # Errors
    /// When the connection to the server is lost.
    fn changes(&mut self, timeout: Duration) -> Result<Vec<Change>>;

    /// The current top-level windows, in no order.
    ///
    /// # Errors
    /// When the connection to the server is lost.
    fn windows(&mut self) -> Result<Vec<WindowInfo>>;

    /// The current pixels of `rect`, clipped to the screen.
    ///
    /// # Errors
    /// When the connection to the server is lost or the server refuses.
    fn picture(&mut self, rect: Rect) -> Result<Picture>;

    /// Brings the window with this [`WindowInfo::id`] to the front and gives it the keys; returns the CLOCK_MONOTONIC
    /// time (ns) of the request. It waits until the window has the keys, for a second at most: some apps take them only
    /// when they run.
    ///
    /// # Errors
    /// When there is no such window, the server cannot do it, or the connection to it is lost.
    fn activate(&mut self, window: u64) -> Result<u64>;

    /// Sends an input; returns the CLOCK_MONOTONIC time (ns) at which its first event was sent.
    ///
    /// # Errors
    /// When the input cannot be expressed, or the connection to the server is lost.
    fn send(&mut self, input: &Input) -> Result<u64>;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rect(x: i32, y: i32, width: u32, height: u32) -> Rect {
        Rect { x, y, width, height }
    }

    #[test]
    fn what_is_outside_of_the_screen_is_cut_off() {
        for (given, inside) in [
            (rect(0, 0, 10, 10), rect(0, 0, 10, 10)),
            (rect(-5, -5, 10, 10), rect(0, 0, 5, 5)),
            (rect(95, 45, 10, 10), rect(95, 45, 5, 5)),
            (rect(100, 0, 10, 10), rect(100, 0, 0, 10)),
            (rect(-20, 0, 10, 10), rect(0, 0, 0, 10)),
            (rect(i32::MIN, i32::MIN, u32::MAX, u32::MAX), rect(0, 0, 100, 50)),
        ] {
            assert_eq!(given.clipped_to((100, 50)), inside, "{given:?}");
        }
    }

    proptest! {
        #[test]
        fn a_clipped_rectangle_stays_on_the_screen(x: i32, y: i32, width: u32, height: u32, size: (u32, u32)) {
            let inside = rect(x, y, width, height).clipped_to(size);
            prop_assert!(inside.x >= 0 && inside.y >= 0);
            prop_assert!(u64::from(inside.x.unsigned_abs()) + u64::from(inside.width) <= size.0.into());
            prop_assert!(u64::from(inside.y.unsigned_abs()) + u64::from(inside.height) <= size.1.into());
            prop_assert_eq!(inside.clipped_to(size), inside);
        }
    }
}
