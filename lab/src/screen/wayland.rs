//! Wayland: drawing, windows, pixels, and input, by the protocols of wlroots.
//!
//! *Damage* and *pixels* come from frames of the first output (zwlr_screencopy, as in the output's buffer: a rotated
//! screen stays rotated), *windows* from zwlr_foreign_toplevel_management (without process and place), *input* goes
//! through a virtual pointer and keyboard. Compositors that are not based on wlroots lack these protocols.
//!
//! The time of a change is the compositor's time of the frame that contains it. During continuous drawing, one frame in
//! 40 ms is requested, because each costs the compositor a copy of the screen.

mod frames;
mod keymap;
mod link;
mod state;

use std::os::fd::AsFd as _;
use std::time::Duration;

use wayland_client::Proxy as _;
use wayland_client::protocol::wl_output::WlOutput;
use wayland_client::protocol::wl_pointer::{Axis, AxisSource, ButtonState};
use wayland_client::protocol::wl_seat::WlSeat;
use wayland_protocols_misc::zwp_virtual_keyboard_v1::client::{
    zwp_virtual_keyboard_manager_v1::ZwpVirtualKeyboardManagerV1, zwp_virtual_keyboard_v1::ZwpVirtualKeyboardV1,
};
use wayland_protocols_wlr::foreign_toplevel::v1::client::zwlr_foreign_toplevel_manager_v1::ZwlrForeignToplevelManagerV1;
use wayland_protocols_wlr::virtual_pointer::v1::client::{
    zwlr_virtual_pointer_manager_v1::ZwlrVirtualPointerManagerV1, zwlr_virtual_pointer_v1::ZwlrVirtualPointerV1,
};
use xkeysym::Keysym;

use self::frames::Frames;
use self::keymap::{Key, Keymap, mask};
use self::link::Link;
use crate::screen::clock::monotonic_ns;
use crate::screen::interface::{Change, Error, Input, Picture, Rect, Result, Screen, WindowInfo};
use crate::screen::keys::{self, Modifier};

/// Buttons of a mouse (input-event-codes.h): left, middle, right.
const BUTTONS: [u32; 3] = [0x110, 0x112, 0x111];
/// Scroll distance of one click of a wheel, as in libinput.
const WHEEL_CLICK: f64 = 15.0;
/// Steps of the pointer while it drags.
const DRAG_STEPS: i64 = 8;
const DRAG_STEP_NS: u64 = 8_000_000;
/// Time in which an activated window gets the keys.
const ACTIVATED_NS_MAX: u64 = 1_000_000_000;
/// wl_keyboard: keymap_format xkb_v1.
const XKB_V1: u32 = 1;

/// A connection to a Wayland compositor.
#[derive(Debug)]
pub struct Wayland {
    link: Link,
    frames: Frames,
    pointer: ZwlrVirtualPointerV1,
    keyboard: ZwpVirtualKeyboardV1,
    keymap: Keymap,
    seat: WlSeat,
    /// The manager of windows, which must stay bound.
    _windows: ZwlrForeignToplevelManagerV1,
}

impl Wayland {
    /// Connects to `display`, a name in XDG_RUNTIME_DIR such as `wayland-1` or the absolute path of a socket, or to the
    /// one that `WAYLAND_DISPLAY` names.
    ///
    /// # Errors
    /// When no compositor answers, or it lacks one of the protocols of wlroots that are needed.
    pub fn connect(display: Option<&str>) -> Result<Self> {
        let mut link = Link::connect(display)?;
        let handle = link.handle();
        let windows = link.needed(3)?;
        let seat: WlSeat = link.needed(1)?;
        let pointers: ZwlrVirtualPointerManagerV1 = link.needed(2)?;
        let output: WlOutput = link.needed(1)?;
        // A pointer bound to an output uses its pixels instead of those of all outputs together.
        let pointer = match pointers.version() {
            2.. => pointers.create_virtual_pointer_with_output(Some(&seat), Some(&output), &handle, ()),
            _ => pointers.create_virtual_pointer(Some(&seat), &handle, ()),
        };
        let keyboards: ZwpVirtualKeyboardManagerV1 = link.needed(1)?;
        let keyboard = keyboards.create_virtual_keyboard(&seat, &handle, ());
        let keymap = Keymap::new();
        set_keymap(&keyboard, &keymap)?;
        let frames = Frames::new(&mut link)?;
        let mut wayland = Self { link, frames, pointer, keyboard, keymap, seat, _windows: windows };
        wayland.link.round_trip("the windows")?;
        // Existing windows are no change.
        wayland.link.state.changes.clear();
        Ok(wayland)
    }

    /// Receives pending events without waiting.
    fn collect(&mut self) -> Result<()> {
        loop {
            self.frames.advance(&mut self.link)?;
            if !self.link.pump(0)? {
                return Ok(());
            }
        }
    }

    /// Assigns spare keys to those of `keysyms` that have no key.
    fn assign(&mut self, keysyms: &[Keysym]) -> Result<()> {
        let mut lent = false;
        for keysym in keysyms {
            if self.keymap.spare() > 0 && self.keymap.find(*keysym).is_none() {
                self.keymap.assign(*keysym);
                lent = true;
            }
        }
        if lent { set_keymap(&self.keyboard, &self.keymap) } else { Ok(()) }
    }

    fn key(&mut self, keysym: Keysym) -> Result<Key> {
        match self.keymap.find(keysym) {
            Some(key) => Ok(key),
            None => {
                let key = self.keymap.assign(keysym);
                set_keymap(&self.keyboard, &self.keymap)?;
                Ok(key)
            }
        }
    }

    /// Presses and releases `key` while `held` are pressed.
    fn press(&mut self, held: &[Modifier], key: Key) -> Result<()> {
        let mut held = held.to_vec();
        if key.shift && !held.contains(&Modifier::Shift) {
            held.push(Modifier::Shift);
        }
        let mut state = 0;
        for modifier in &held {
            let code = self.key(modifier.keysym())?.code;
            self.keyboard.key(now_ms(), code, 1);
            state |= mask(*modifier);
            self.keyboard.modifiers(state, 0, 0, 0);
        }
        self.keyboard.key(now_ms(), key.code, 1);
        self.keyboard.key(now_ms(), key.code, 0);
        for modifier in held.iter().rev() {
            let code = self.key(modifier.keysym())?.code;
            self.keyboard.key(now_ms(), code, 0);
            state &= !mask(*modifier);
            self.keyboard.modifiers(state, 0, 0, 0);
        }
        self.link.flush()
    }

    fn button(&self, button: u32, state: ButtonState) {
        self.pointer.button(now_ms(), button, state);
        self.pointer.frame();
    }

    fn move_to(&self, (x, y): (u32, u32)) {
        let (width, height) = self.frames.size();
        // The middle of the pixel, so that rounding keeps it.
        self.pointer.motion_absolute(now_ms(), 2 * x + 1, 2 * y + 1, 2 * width, 2 * height);
        self.pointer.frame();
    }

    /// Checks a place of the screen.
    fn place(&self, (x, y): (i32, i32)) -> Result<(u32, u32)> {
        let size = self.frames.size();
        let inside = |at: i32, size: u32| u32::try_from(at).ok().filter(|at| *at < size);
        inside(x, size.0).zip(inside(y, size.1)).ok_or_else(|| Error::Input {
            input: format!("the pointer at {x},{y}"),
            reason: format!("the screen has {} x {} pixels", size.0, size.1),
        })
    }

    fn send_text(&mut self, text: &str) -> Result<u64> {
        let keysyms = keys::typed(text)?;
        self.assign(&keysyms)?;
        let mut first_ns = None;
        for keysym in keysyms {
            let key = self.key(keysym)?;
            first_ns.get_or_insert_with(monotonic_ns);
            self.press(&[], key)?;
        }
        Ok(first_ns.unwrap_or_else(monotonic_ns))
    }

    fn send_drag(&mut self, from: (i32, i32), to: (i32, i32)) -> Result<u64> {
        let (start, end) = (self.place(from)?, self.place(to)?);
        let at_ns = monotonic_ns();
        self.move_to(start);
        self.button(BUTTONS[0], ButtonState::Pressed);
        for step in 1..=DRAG_STEPS {
            self.pass(at_ns + DRAG_STEP_NS * step.unsigned_abs())?;
            let between = |start: u32, end: u32| {
                let (start, end) = (i64::from(start), i64::from(end));
                // Between two places of the screen.
                (start + (end - start) * step / DRAG_STEPS) as u32
            };
            self.move_to((between(start.0, end.0), between(start.1, end.1)));
        }
        self.button(BUTTONS[0], ButtonState::Released);
        Ok(at_ns)
    }

    /// Receives events until `until_ns`.
    fn pass(&mut self, until_ns: u64) -> Result<()> {
        loop {
            self.frames.advance(&mut self.link)?;
            if !self.link.pump(until_ns)? {
                return Ok(());
            }
        }
    }
}

/// Sets the keymap of a keyboard.
fn set_keymap(keyboard: &ZwpVirtualKeyboardV1, keymap: &Keymap) -> Result<()> {
    let text = keymap.text();
    let refuse = |errno: rustix::io::Errno| Error::Refused {
        what: "a map of keys".into(),
        reason: format!("no memory file for it: {errno}"),
    };
    let fd = rustix::fs::memfd_create("brisk-keymap", rustix::fs::MemfdFlags::CLOEXEC).map_err(refuse)?;
    // libxkbcommon reads zero-terminated text.
    let bytes = [text.as_bytes(), b"\0"].concat();
    let mut at = 0;
    while at < bytes.len() {
        at += rustix::io::write(&fd, &bytes[at..]).map_err(refuse)?;
    }
    keyboard.keymap(XKB_V1, fd.as_fd(), u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    Ok(())
}

/// Time of an event in milliseconds, which wraps around.
fn now_ms() -> u32 {
    (monotonic_ns() / 1_000_000) as u32
}

impl Screen for Wayland {
    fn protocol(&self) -> &'static str {
        "wayland"
    }

    fn display(&self) -> &str {
        &self.link.display
    }

    fn size(&self) -> (u32, u32) {
        self.frames.size()
    }

    fn changes(&mut self, timeout: Duration) -> Result<Vec<Change>> {
        let until_ns = monotonic_ns().saturating_add(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX));
        loop {
            self.collect()?;
            if !self.link.state.changes.is_empty() {
                return Ok(std::mem::take(&mut self.link.state.changes));
            }
            let wait_until_ns = self.frames.due_ns().unwrap_or(u64::MAX).min(until_ns);
            if !self.link.pump(wait_until_ns)? && monotonic_ns() >= until_ns {
                return Ok(Vec::new());
            }
        }
    }

    fn windows(&mut self) -> Result<Vec<WindowInfo>> {
        self.link.round_trip("the windows")?;
        Ok(self.link.state.windows())
    }

    fn picture(&mut self, rect: Rect) -> Result<Picture> {
        self.collect()?;
        self.frames.picture(rect)
    }

    fn activate(&mut self, window: u64) -> Result<u64> {
        self.collect()?;
        let handle = self.link.state.handle(window).ok_or_else(|| Error::Refused {
            what: format!("window {window} in front"),
            reason: "there is no such window".to_owned(),
        })?;
        let at_ns = monotonic_ns();
        handle.activate(&self.seat);
        self.link.flush()?;
        while !self.link.state.is_activated(window) && monotonic_ns() < at_ns + ACTIVATED_NS_MAX {
            self.link.pump(at_ns + ACTIVATED_NS_MAX)?;
        }
        Ok(at_ns)
    }

    fn send(&mut self, input: &Input) -> Result<u64> {
        let at_ns = match input {
            Input::Key(text) => {
                let chord = keys::chord(text)?;
                let key = self.key(chord.keysym)?;
                let at_ns = monotonic_ns();
                self.press(&chord.modifiers, key)?;
                at_ns
            }
            Input::Text(text) => self.send_text(text)?,
            Input::Move { x, y } => {
                let place = self.place((*x, *y))?;
                let at_ns = monotonic_ns();
                self.move_to(place);
                at_ns
            }
            Input::Click { button: button @ 1..=3 } => {
                let at_ns = monotonic_ns();
                let code = BUTTONS[usize::from(*button) - 1];
                self.button(code, ButtonState::Pressed);
                self.button(code, ButtonState::Released);
                at_ns
            }
            Input::Click { button } => {
                return Err(Error::Input {
                    input: format!("a click of button {button}"),
                    reason: "there are 1 (left), 2 (middle) and 3 (right)".into(),
                });
            }
            Input::Scroll { clicks } => {
                let at_ns = monotonic_ns();
                for _ in 0..clicks.unsigned_abs() {
                    let way = clicks.signum();
                    self.pointer.axis_source(AxisSource::Wheel);
                    let value = WHEEL_CLICK * f64::from(way);
                    self.pointer.axis_discrete(now_ms(), Axis::VerticalScroll, value, way);
                    self.pointer.frame();
                }
                at_ns
            }
            Input::Drag { from, to } => self.send_drag(*from, *to)?,
        };
        self.link.flush()?;
        Ok(at_ns)
    }
}
