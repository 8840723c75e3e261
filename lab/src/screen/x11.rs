//! X11: drawing, windows, pixels, and input.
//!
//! *Damage* comes from one DAMAGE object on the root, which covers all windows. The server reports an area once until
//! the report is acknowledged (`DamageSubtract`), so an app that draws continuously costs one report for each call of
//! [`Screen::changes`] and not one for each operation. An area is acknowledged before the next picture is requested, so
//! drawing is either in the picture or reported after it.
//!
//! *Input* uses XTEST. Keys go to the window with the focus. Without a window manager to set it, the newest window gets
//! the focus before a key is sent, once; later changes of the focus by the app are respected.
//!
//! This module takes no grabs. An app's grab of keyboard or pointer does not block it; a grab of the whole server does,
//! and calls then fail after 5 s with an error that names it.

mod keyboard;
mod link;
mod pixels;
mod stream;
mod windows;

use std::time::Duration;

use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::Event;
use x11rb::protocol::damage::{self, ConnectionExt as _, ReportLevel};
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ConfigureWindowAux, ConnectionExt as _, EventMask, InputFocus,
    KEY_PRESS_EVENT, KEY_RELEASE_EVENT, MOTION_NOTIFY_EVENT, StackMode, Window,
};
use x11rb::protocol::xtest::{self, ConnectionExt as _};
use xkeysym::Keysym;

use self::keyboard::{Key, Keyboard};
use self::link::Link;
use self::pixels::Pixels;
use self::windows::Windows;
use crate::screen::clock::monotonic_ns;
use crate::screen::interface::{Change, Error, Input, Kind, Picture, Rect, Result, Screen, WindowInfo};
use crate::screen::keys;

/// Steps of the pointer while it drags.
const DRAG_STEPS: i32 = 8;
const DRAG_STEP_MS: u32 = 8;
/// Time in which an activated window gets the keys, and how often that is checked.
const FOCUS_NS_MAX: u64 = 1_000_000_000;
const FOCUS_POLL_NS: u64 = 1_000_000;
/// Depth of a window that has the focus below its top-level window, such as the focus proxy of a toolkit.
const FOCUS_LEVELS_MAX: usize = 8;

/// A connection to an X11 server.
#[derive(Debug)]
pub struct X11 {
    link: Link,
    root: Window,
    damage: damage::Damage,
    size: (u32, u32),
    windows: Windows,
    pixels: Pixels,
    keyboard: Keyboard,
    /// Events received while waiting for a reply.
    pending: Vec<Change>,
    /// The window that got the focus from here.
    focused: Option<Window>,
}

impl X11 {
    /// Connects to `display`, such as `:99`, or to the one that `DISPLAY` names.
    ///
    /// # Errors
    /// When no server answers, it lacks DAMAGE or XTEST, or its screen does not have 24 bits of colour.
    pub fn connect(display: Option<&str>) -> Result<Self> {
        let link = Link::connect(display)?;
        for (name, extension) in [("DAMAGE", damage::X11_EXTENSION_NAME), ("XTEST", xtest::X11_EXTENSION_NAME)] {
            if link.sent(name, link.conn.extension_information(extension))?.is_none() {
                return Err(Error::Lacks {
                    display: link.display.clone(),
                    what: format!("the {name} extension"),
                    remedy: "switch it on in the server's configuration; Xvfb and Xorg have it by default".into(),
                });
            }
        }
        let pixels = Pixels::new(&link)?;
        let windows = Windows::new(&link)?;
        let (root, size) = (link.screen().root, (link.screen().width_in_pixels, link.screen().height_in_pixels));
        let damage = link.new_id()?;
        let version = link.sent("DAMAGE", link.conn.damage_query_version(1, 1))?;
        link.answer("DAMAGE", version.reply())?;
        let created = link.sent("DAMAGE", link.conn.damage_create(damage, root, ReportLevel::DELTA_RECTANGLES))?;
        link.answer("damage of the screen", created.check())?;
        let mut x11 = Self {
            link,
            root,
            damage,
            size: (size.0.into(), size.1.into()),
            windows,
            pixels,
            keyboard: Keyboard::default(),
            pending: Vec::new(),
            focused: None,
        };
        // A new damage object first reports the whole screen, which is no change.
        x11.collect()?;
        x11.pending.retain(|change| !matches!(change.kind, Kind::Damage(_)));
        Ok(x11)
    }

    /// Waits at most `timeout` for a window manager; returns whether one answers.
    pub(crate) fn is_managed_within(&mut self, timeout: Duration) -> Result<bool> {
        let until_ns = monotonic_ns().saturating_add(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX));
        loop {
            self.link.begin();
            self.collect()?;
            let left_ns = until_ns.saturating_sub(monotonic_ns());
            if self.windows.managed() || left_ns == 0 {
                return Ok(self.windows.managed());
            }
            self.link.conn.stream().wait_readable(left_ns).map_err(|error| self.link.io_error("events", error))?;
        }
    }

    /// Moves the pointer to the display's second screen, if there is one, where it is over no window.
    pub(crate) fn put_pointer_away(&self) -> Result<()> {
        let Some(other) = self.link.conn.setup().roots.get(1) else { return Ok(()) };
        self.warp(other.root, (0, 0))
    }

    /// Moves the pointer back from another screen of the display, which XTEST does not.
    fn fetch_pointer(&self, place: (i16, i16)) -> Result<()> {
        if self.link.conn.setup().roots.len() > 1 {
            let what = "the pointer's place";
            let asked = self.link.sent(what, self.link.conn.query_pointer(self.root))?;
            if !self.link.answer(what, asked.reply())?.same_screen {
                self.warp(self.root, place)?;
            }
        }
        Ok(())
    }

    fn warp(&self, root: Window, (x, y): (i16, i16)) -> Result<()> {
        let what = "the pointer's place";
        let moved = self.link.conn.warp_pointer(x11rb::NONE, root, 0, 0, 0, 0, x, y);
        self.link.answer(what, self.link.sent(what, moved)?.check())
    }

    /// Receives pending events without waiting.
    fn collect(&mut self) -> Result<()> {
        loop {
            let at_ns = monotonic_ns();
            self.take_events(at_ns)?;
            if !self.windows.due() {
                break;
            }
            // Events may arrive while waiting for replies, so they are received again.
            let found = self.windows.changes(&self.link)?;
            self.pending.extend(found.into_iter().map(|kind| Change { at_ns, kind }));
        }
        self.link.sent("requests", self.link.conn.flush())
    }

    fn take_events(&mut self, at_ns: u64) -> Result<()> {
        let mut damaged = false;
        while let Some(event) = self.link.sent("events", self.link.conn.poll_for_event())? {
            match event {
                Event::DamageNotify(event) if event.damage == self.damage => {
                    damaged = true;
                    let area = event.area;
                    let rect = Rect {
                        x: area.x.into(),
                        y: area.y.into(),
                        width: area.width.into(),
                        height: area.height.into(),
                    };
                    self.pending.push(Change { at_ns, kind: Kind::Damage(rect) });
                }
                Event::ConfigureNotify(event) if event.window == self.root => {
                    self.size = (event.width.into(), event.height.into());
                }
                Event::MappingNotify(_) => self.keyboard.outdated(),
                event => self.windows.note(&event),
            }
        }
        if damaged {
            let forget = self.link.conn.damage_subtract(self.damage, x11rb::NONE, x11rb::NONE);
            self.link.sent("damage of the screen", forget)?.ignore_error();
        }
        Ok(())
    }

    /// Ensures that a window has the focus.
    fn focus(&mut self) -> Result<()> {
        let what = "the focus";
        let now = self.link.answer(what, self.link.sent(what, self.link.conn.get_input_focus())?.reply())?;
        let nowhere = [x11rb::NONE, InputFocus::POINTER_ROOT.into(), self.root].contains(&now.focus);
        let Some(newest) = self.windows.newest() else { return Ok(()) };
        if nowhere || !self.windows.managed() && self.focused != Some(newest) {
            let set = self.link.conn.set_input_focus(InputFocus::POINTER_ROOT, newest, x11rb::CURRENT_TIME);
            // The window may have been closed.
            self.link.answer_if_there(what, self.link.sent(what, set)?.check())?;
            self.focused = Some(newest);
        }
        Ok(())
    }

    /// Whether a window or one of its descendants has the keyboard focus.
    fn has_keys(&self, window: Window) -> Result<bool> {
        let what = "the focus";
        let focus = self.link.answer(what, self.link.sent(what, self.link.conn.get_input_focus())?.reply())?;
        let mut at = focus.focus;
        for _ in 0..FOCUS_LEVELS_MAX {
            if at == window {
                return Ok(true);
            }
            if [x11rb::NONE, InputFocus::POINTER_ROOT.into(), self.root].contains(&at) {
                return Ok(false);
            }
            let tree = self.link.sent(what, self.link.conn.query_tree(at))?.reply();
            let Some(tree) = self.link.answer_if_there(what, tree)? else { return Ok(false) };
            at = tree.parent;
        }
        Ok(false)
    }

    fn fake(&self, kind: u8, detail: u8, place: (i16, i16), delay_ms: u32) -> Result<()> {
        let sent = self.link.conn.xtest_fake_input(kind, detail, delay_ms, self.root, place.0, place.1, 0);
        self.link.sent("an input", sent)?.ignore_error();
        Ok(())
    }

    /// Presses and releases `key` while `held` are pressed.
    fn press(&self, held: &[Key], key: Key) -> Result<()> {
        held.iter().try_for_each(|key| self.fake(KEY_PRESS_EVENT, key.keycode, (0, 0), 0))?;
        self.fake(KEY_PRESS_EVENT, key.keycode, (0, 0), 0)?;
        self.fake(KEY_RELEASE_EVENT, key.keycode, (0, 0), 0)?;
        held.iter().rev().try_for_each(|key| self.fake(KEY_RELEASE_EVENT, key.keycode, (0, 0), 0))
    }

    fn click(&self, button: u8) -> Result<()> {
        self.fake(BUTTON_PRESS_EVENT, button, (0, 0), 0)?;
        self.fake(BUTTON_RELEASE_EVENT, button, (0, 0), 0)
    }

    fn send_key(&mut self, text: &str) -> Result<u64> {
        let chord = keys::chord(text)?;
        self.focus()?;
        let key = self.keyboard.keys(&self.link, &[chord.keysym])?[0];
        let mut held: Vec<Keysym> = chord.modifiers.iter().map(|modifier| modifier.keysym()).collect();
        if key.shift && !held.contains(&Keysym::Shift_L) {
            held.push(Keysym::Shift_L);
        }
        let held = self.keyboard.keys(&self.link, &held)?;
        let at_ns = monotonic_ns();
        self.press(&held, key)?;
        Ok(at_ns)
    }

    fn send_text(&mut self, text: &str) -> Result<u64> {
        let keysyms = keys::typed(text)?;
        self.focus()?;
        let shift = self.keyboard.keys(&self.link, &[Keysym::Shift_L])?;
        let mut first_ns = None;
        // Key by key: a spare key may be reassigned within a long text.
        for keysym in keysyms {
            let key = self.keyboard.keys(&self.link, &[keysym])?[0];
            first_ns.get_or_insert_with(monotonic_ns);
            self.press(if key.shift { &shift } else { &[] }, key)?;
        }
        Ok(first_ns.unwrap_or_else(monotonic_ns))
    }

    fn send_drag(&self, from: (i32, i32), to: (i32, i32)) -> Result<u64> {
        let (start, end) = (self.place(from)?, self.place(to)?);
        let at_ns = monotonic_ns();
        self.fetch_pointer(start)?;
        self.fake(MOTION_NOTIFY_EVENT, 0, start, 0)?;
        self.fake(BUTTON_PRESS_EVENT, 1, (0, 0), 0)?;
        for step in 1..=DRAG_STEPS {
            let between = |start: i16, end: i16| {
                let way = i32::from(end) - i32::from(start);
                // Between two i16.
                (i32::from(start) + way * step / DRAG_STEPS) as i16
            };
            let place = (between(start.0, end.0), between(start.1, end.1));
            self.fake(MOTION_NOTIFY_EVENT, 0, place, DRAG_STEP_MS)?;
        }
        self.fake(BUTTON_RELEASE_EVENT, 1, (0, 0), DRAG_STEP_MS)?;
        Ok(at_ns)
    }

    /// A place of the screen in the protocol's type.
    fn place(&self, (x, y): (i32, i32)) -> Result<(i16, i16)> {
        let inside = |at: i32, size: u32| i16::try_from(at).ok().filter(|_| at >= 0 && at.unsigned_abs() < size);
        inside(x, self.size.0).zip(inside(y, self.size.1)).ok_or_else(|| Error::Input {
            input: format!("the pointer at {x},{y}"),
            reason: format!("the screen has {} x {} pixels", self.size.0, self.size.1),
        })
    }
}

impl Screen for X11 {
    fn protocol(&self) -> &'static str {
        "x11"
    }

    fn display(&self) -> &str {
        &self.link.display
    }

    fn size(&self) -> (u32, u32) {
        self.size
    }

    fn changes(&mut self, timeout: Duration) -> Result<Vec<Change>> {
        let until_ns = monotonic_ns().saturating_add(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX));
        loop {
            self.link.begin();
            self.collect()?;
            if !self.pending.is_empty() {
                return Ok(std::mem::take(&mut self.pending));
            }
            let left_ns = until_ns.saturating_sub(monotonic_ns());
            let waited = self.link.conn.stream().wait_readable(left_ns);
            if !waited.map_err(|error| self.link.io_error("events", error))? {
                return Ok(Vec::new());
            }
        }
    }

    fn windows(&mut self) -> Result<Vec<WindowInfo>> {
        self.link.begin();
        self.collect()?;
        let found = self.windows.refresh(&self.link)?;
        let at_ns = monotonic_ns();
        self.pending.extend(found.into_iter().map(|kind| Change { at_ns, kind }));
        Ok(self.windows.known().cloned().collect())
    }

    fn picture(&mut self, rect: Rect) -> Result<Picture> {
        self.link.begin();
        let inside = rect.clipped_to(self.size);
        self.pixels.picture(&self.link, inside, self.size)
    }

    fn activate(&mut self, window: u64) -> Result<u64> {
        self.link.begin();
        self.collect()?;
        let found = self.windows.known().find(|known| known.id == window).map(|known| known.id);
        let id = found.and_then(|id| Window::try_from(id).ok()).ok_or_else(|| Error::Refused {
            what: format!("window {window} in front"),
            reason: "there is no such window".to_owned(),
        })?;
        let what = "a window in front";
        let at_ns = monotonic_ns();
        if self.windows.managed() {
            let mask = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
            let sent = self.link.conn.send_event(false, self.root, mask, self.windows.activation(id));
            self.link.sent(what, sent)?.ignore_error();
        } else {
            let above = ConfigureWindowAux::new().stack_mode(StackMode::ABOVE);
            self.link.sent(what, self.link.conn.configure_window(id, &above))?.ignore_error();
            let focus = self.link.conn.set_input_focus(InputFocus::POINTER_ROOT, id, x11rb::CURRENT_TIME);
            self.link.sent(what, focus)?.ignore_error();
            // The newest window has had its turn.
            self.focused = self.windows.newest();
        }
        while !self.has_keys(id)? && monotonic_ns() < at_ns + FOCUS_NS_MAX {
            // No event tells when another client's window gets the focus.
            let waited = self.link.conn.stream().wait_readable(FOCUS_POLL_NS);
            waited.map_err(|error| self.link.io_error(what, error))?;
            self.collect()?;
        }
        Ok(at_ns)
    }

    fn send(&mut self, input: &Input) -> Result<u64> {
        self.link.begin();
        // Includes new windows and keymaps.
        self.collect()?;
        let at_ns = match input {
            Input::Key(text) => self.send_key(text)?,
            Input::Text(text) => self.send_text(text)?,
            Input::Move { x, y } => {
                let place = self.place((*x, *y))?;
                let at_ns = monotonic_ns();
                self.fetch_pointer(place)?;
                self.fake(MOTION_NOTIFY_EVENT, 0, place, 0)?;
                at_ns
            }
            Input::Click { button: button @ 1..=3 } => {
                let at_ns = monotonic_ns();
                self.click(*button)?;
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
                // Buttons 4 and 5 are the wheel, up and down.
                let button = if *clicks < 0 { 4 } else { 5 };
                (0..clicks.unsigned_abs()).try_for_each(|_| self.click(button))?;
                at_ns
            }
            Input::Drag { from, to } => self.send_drag(*from, *to)?,
        };
        self.link.sent("an input", self.link.conn.flush())?;
        Ok(at_ns)
    }
}

impl Drop for X11 {
    fn drop(&mut self) {
        self.link.begin();
        // A lost server has no keymap to restore.
        let _ = self.keyboard.restore(&self.link);
    }
}
