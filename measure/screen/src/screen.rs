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
