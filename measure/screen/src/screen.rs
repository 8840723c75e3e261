//! The border between display servers and those who watch or use them.

use std::time::Duration;

use thiserror::Error;

/// What goes wrong with a display.
#[derive(Debug, Error)]
pub enum Error {
    /// No server answers there.
    #[error("no display server answers at {display}: {reason}")]
    NoServer {
        /// Such as `:99`.
        display: String,
        /// Why.
        reason: String,
    },
    /// A virtual screen stays without the window manager that it was to have.
    #[error("the virtual screen {display} gets no window manager: {reason}")]
    NoManager {
        /// Such as `:99`.
        display: String,
        /// Why.
        reason: String,
    },
    /// The server went away.
    #[error("the display server at {display} went away")]
    Lost {
        /// Such as `:99`.
        display: String,
    },
    /// The server lacks something.
    #[error("the display server at {display} lacks {what}; {remedy}")]
    Lacks {
        /// Such as `:99`.
        display: String,
        /// Such as `the DAMAGE extension`.
        what: String,
        /// What the person can do.
        remedy: String,
    },
    /// An input that cannot be sent, such as an unknown key.
    #[error("cannot send {input}: {reason}")]
    Input {
        /// What was to be sent.
        input: String,
        /// Why not.
        reason: String,
    },
    /// The server refused a request.
    #[error("the display server refused {what}: {reason}")]
    Refused {
        /// The request.
        what: String,
        /// The server's word.
        reason: String,
    },
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A rectangle of the screen, in pixels from its upper left corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rect {
    /// Left edge.
    pub x: i32,
    /// Upper edge.
    pub y: i32,
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
}

impl Rect {
    /// The part of it on a screen of `size`; without pixels when there is none.
    #[must_use]
    pub fn clipped_to(self, size: (u32, u32)) -> Self {
        let span = |start: i32, length: u32, limit: u32| {
            let end = (i64::from(start) + i64::from(length)).clamp(0, limit.into());
            let start = i64::from(start).clamp(0, limit.into());
            (start, (end - start).max(0))
        };
        let (x, width) = span(self.x, self.width, size.0.min(i32::MAX as u32));
        let (y, height) = span(self.y, self.height, size.1.min(i32::MAX as u32));
        // All within 0 and the limits, which fit.
        Self { x: x as i32, y: y as i32, width: width as u32, height: height as u32 }
    }

    /// Its pixels.
    #[must_use]
    pub fn area(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

/// Something that happened on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// CLOCK_MONOTONIC when it came in here.
    pub at_ns: u64,
    /// What.
    pub kind: Kind,
}

/// What happened on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Something was drawn here; the pixels may be as before.
    Damage(Rect),
    /// A window of an app came up (top level, not a tooltip or menu).
    WindowShown(WindowInfo),
    /// A window went away.
    WindowGone {
        /// As in [`WindowInfo::id`].
        id: u64,
    },
    /// A window has another title or class now; both are often set after it came up.
    WindowChanged(WindowInfo),
}

/// A top-level window.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WindowInfo {
    /// Display server's identity of it.
    pub id: u64,
    /// Title, control characters as they are.
    pub title: String,
    /// Class or app id.
    pub app_id: String,
    /// Process that owns it, where the client said so or the server knows.
    pub pid: Option<u32>,
    /// Where it is, where the server says so.
    pub rect: Option<Rect>,
}

/// Pixels of a rectangle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Which rectangle.
    pub rect: Rect,
    /// Four bytes a pixel in the order blue, green, red, unused (zeroed); rows from above, without padding.
    pub bgrx: Vec<u8>,
}

/// An input, as a person would make it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A key with modifiers, in the words of X keysyms: `Return`, `ctrl+o`, `alt+F4`, `shift+Tab`, `a`.
    Key(String),
    /// Text, typed key by key.
    Text(String),
    /// The pointer goes here.
    Move {
        /// From the left.
        x: i32,
        /// From above.
        y: i32,
    },
    /// Button 1 to 3 is pressed and released where the pointer is.
    Click {
        /// 1 left, 2 middle, 3 right.
        button: u8,
    },
    /// The wheel turns by so many clicks; positive is down.
    Scroll {
        /// Clicks.
        clicks: i32,
    },
    /// Button 1 is held from here to there.
    Drag {
        /// Where it is pressed.
        from: (i32, i32),
        /// Where it is released.
        to: (i32, i32),
    },
}

/// A display that is watched and used.
pub trait Screen: Send {
    /// `x11` or `wayland`.
    fn protocol(&self) -> &'static str;

    /// Such as `:99`.
    fn display(&self) -> &str;

    /// Width and height in pixels.
    fn size(&self) -> (u32, u32);

    /// Waits at most `timeout` for changes, and gives all that came in, oldest first. Gives early when one came.
    ///
    /// # Errors
    /// When the server went away.
    fn changes(&mut self, timeout: Duration) -> Result<Vec<Change>>;

    /// Top-level windows now, in no order.
    ///
    /// # Errors
    /// When the server went away.
    fn windows(&mut self) -> Result<Vec<WindowInfo>>;

    /// The pixels of `rect` now; what is outside of the screen is cut off.
    ///
    /// # Errors
    /// When the server went away or refuses.
    fn picture(&mut self, rect: Rect) -> Result<Picture>;

    /// Sends an input; gives the CLOCK_MONOTONIC time (ns) at which the first event of it left.
    ///
    /// # Errors
    /// When the input cannot be expressed, or the server went away.
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
