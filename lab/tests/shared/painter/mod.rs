//! A second connection that draws and listens, as an app does.

#![allow(dead_code, reason = "each test program uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use brisk_lab::screen::Rect;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal};
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::randr::{ConnectionExt as _, Rotation, SetConfig};
use x11rb::protocol::xproto::{
    AtomEnum, ChangeGCAux, ConnectionExt as _, CreateGCAux, CreateWindowAux, EventMask, GcontextWrapper, InputFocus,
    KeyButMask, PropMode, Rectangle, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;
use xkeysym::Keysym;

pub(crate) fn rect(x: i32, y: i32, width: u32, height: u32) -> Rect {
    Rect { x, y, width, height }
}

pub(crate) fn event_mask() -> EventMask {
    EventMask::KEY_PRESS | EventMask::BUTTON_PRESS | EventMask::BUTTON_RELEASE | EventMask::BUTTON_MOTION
}

/// Ends a process at once.
pub(crate) fn kill(pid: u32) {
    rustix::process::kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
}

pub(crate) struct Painter {
    pub(crate) conn: RustConnection,
    pub(crate) root: Window,
    gc: u32,
}

impl Painter {
    pub(crate) fn connect(display: &str) -> Self {
        let (conn, screen) = x11rb::connect(Some(display)).unwrap();
        let root = conn.setup().roots[screen].root;
        let gc = GcontextWrapper::create_gc(&conn, root, &CreateGCAux::new()).unwrap().into_gcontext();
        Self { conn, root, gc }
    }

    /// All that was asked for is done.
    pub(crate) fn sync(&self) {
        self.conn.sync().unwrap();
    }

    pub(crate) fn unmapped(&self, at: Rect, menu: bool) -> Window {
        let window = self.conn.generate_id().unwrap();
        let options = CreateWindowAux::new()
            .background_pixel(0x808080)
            .override_redirect(u32::from(menu))
            .event_mask(event_mask());
        let (x, y) = (at.x as i16, at.y as i16);
        let (width, height) = (at.width as u16, at.height as u16);
        let class = WindowClass::INPUT_OUTPUT;
        self.conn.create_window(0, window, self.root, x, y, width, height, 0, class, 0, &options).unwrap();
        window
    }

    pub(crate) fn window(&self, at: Rect, menu: bool) -> Window {
        let window = self.unmapped(at, menu);
        self.map(window);
        self.sync();
        window
    }

    pub(crate) fn map(&self, window: Window) {
        self.conn.map_window(window).unwrap();
        self.conn.flush().unwrap();
    }

    pub(crate) fn unmap(&self, window: Window) {
        self.conn.unmap_window(window).unwrap();
        self.conn.flush().unwrap();
    }

    pub(crate) fn destroy(&self, window: Window) {
        self.conn.destroy_window(window).unwrap();
        self.conn.flush().unwrap();
    }

    pub(crate) fn class(&self, window: Window, class: &[u8]) {
        self.property(window, AtomEnum::WM_CLASS.into(), AtomEnum::STRING.into(), class);
    }

    pub(crate) fn title(&self, window: Window, title: &[u8]) {
        self.property(window, AtomEnum::WM_NAME.into(), AtomEnum::STRING.into(), title);
    }

    pub(crate) fn net_title(&self, window: Window, title: &[u8]) {
        self.property(window, self.atom("_NET_WM_NAME"), self.atom("UTF8_STRING"), title);
    }

    fn atom(&self, name: &str) -> u32 {
        self.conn.intern_atom(false, name.as_bytes()).unwrap().reply().unwrap().atom
    }

    fn property(&self, window: Window, name: u32, kind: u32, value: &[u8]) {
        self.conn.change_property8(PropMode::REPLACE, window, name, kind, value).unwrap();
        self.conn.flush().unwrap();
    }

    /// Fills a part of a window, and sends it off.
    pub(crate) fn fill(&self, window: Window, at: Rect, colour: u32) {
        self.conn.change_gc(self.gc, &ChangeGCAux::new().foreground(colour)).unwrap();
        let part = Rectangle { x: at.x as i16, y: at.y as i16, width: at.width as u16, height: at.height as u16 };
        self.conn.poly_fill_rectangle(window, self.gc, &[part]).unwrap();
        self.conn.flush().unwrap();
    }

    pub(crate) fn focus(&self) -> Window {
        self.conn.get_input_focus().unwrap().reply().unwrap().focus
    }

    pub(crate) fn set_focus(&self, window: Window) {
        self.conn.set_input_focus(InputFocus::POINTER_ROOT, window, x11rb::CURRENT_TIME).unwrap();
        self.sync();
    }

    /// Gives the screen another size.
    pub(crate) fn resize(&self, width: u16, height: u16) {
        // The server speaks the oldest version until it is asked for its own.
        self.conn.randr_query_version(1, 5).unwrap().reply().unwrap();
        let resources = self.conn.randr_get_screen_resources(self.root).unwrap().reply().unwrap();
        // A monitor would have to fit, so there is none from now on.
        for crtc in resources.crtcs {
            let (now, config) = (x11rb::CURRENT_TIME, resources.config_timestamp);
            let off = self.conn.randr_set_crtc_config(crtc, now, config, 0, 0, 0, Rotation::ROTATE0, &[]).unwrap();
            assert_eq!(off.reply().unwrap().status, SetConfig::SUCCESS);
        }
        self.conn.randr_set_screen_size(self.root, width, height, 100, 100).unwrap().check().unwrap();
    }

    /// Symbols of all keys.
    pub(crate) fn keyboard(&self) -> Vec<Vec<u32>> {
        let setup = self.conn.setup();
        let count = setup.max_keycode - setup.min_keycode + 1;
        let reply = self.conn.get_keyboard_mapping(setup.min_keycode, count).unwrap().reply().unwrap();
        // The number of columns may differ; empty ones say nothing.
        let symbols = reply.keysyms.chunks(reply.keysyms_per_keycode.into());
        symbols.map(|key| key.iter().copied().filter(|symbol| *symbol != 0).collect()).collect()
    }

    fn next(&self, limit: Duration) -> Event {
        let begin = Instant::now();
        loop {
            if let Some(event) = self.conn.poll_for_event().unwrap() {
                return event;
            }
            assert!(begin.elapsed() < limit, "no event came");
            wait_readable(self.conn.stream().as_fd());
        }
    }

    /// The next key that is pressed, with the modifiers that are down, read as an app does: by the map of keys now.
    pub(crate) fn next_key(&mut self, limit: Duration) -> String {
        loop {
            let Event::KeyPress(event) = self.next(limit) else { continue };
            let map = self.conn.get_keyboard_mapping(event.detail, 1).unwrap().reply().unwrap();
            let shift = event.state.contains(KeyButMask::SHIFT);
            let symbol = Keysym::new(map.keysyms[usize::from(shift)]);
            let plain = Keysym::new(map.keysyms[0]);
            let symbol = if symbol == Keysym::NoSymbol { plain } else { symbol };
            let mut name = String::new();
            for (mask, word) in
                [(KeyButMask::CONTROL, "ctrl+"), (KeyButMask::MOD1, "alt+"), (KeyButMask::SHIFT, "shift+")]
            {
                if event.state.contains(mask) {
                    name.push_str(word);
                }
            }
            match symbol.key_char().filter(|character| !character.is_control() && *character != ' ') {
                Some(character) => name.push(character),
                None => name.push_str(&symbol.name().unwrap().replace("XK_", "")),
            }
            return name;
        }
    }

    /// The next press, release or move of the pointer.
    pub(crate) fn next_pointer(&mut self, limit: Duration) -> String {
        loop {
            match self.next(limit) {
                Event::ButtonPress(at) => return format!("press {} at {},{}", at.detail, at.event_x, at.event_y),
                Event::ButtonRelease(at) => return format!("release {} at {},{}", at.detail, at.event_x, at.event_y),
                Event::MotionNotify(at) => return format!("move at {},{}", at.event_x, at.event_y),
                _ => {}
            }
        }
    }

    /// Waits until a window manager lists its clients.
    pub(crate) fn wait_for_manager(&self, limit: Duration) {
        let (check, list) = (self.atom("_NET_SUPPORTING_WM_CHECK"), self.atom("_NET_CLIENT_LIST"));
        let begin = Instant::now();
        let has = |name| {
            let property = self.conn.get_property(false, self.root, name, AtomEnum::ANY, 0, 1).unwrap();
            property.reply().unwrap().type_ != 0
        };
        while !(has(check) && has(list)) {
            assert!(begin.elapsed() < limit, "the window manager does not come up");
            std::thread::yield_now();
        }
    }
}

fn wait_readable(fd: BorrowedFd<'_>) {
    let second = Timespec { tv_sec: 1, tv_nsec: 0 };
    rustix::event::poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&second)).unwrap();
}

/// A program that ends with this value.
pub(crate) struct Program {
    child: Child,
    pub(crate) display: String,
}

impl Program {
    pub(crate) fn start(name: &str, arguments: &[&str], display: &str) -> std::io::Result<Self> {
        let mut command = Command::new(name);
        command.args(arguments).env("DISPLAY", display).stdin(Stdio::null());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Self { child, display: display.to_owned() })
    }

    pub(crate) fn xvfb_without_shared_memory(size: (u32, u32)) -> Self {
        use std::io::{BufRead as _, BufReader};
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-noreset", "-extension", "MIT-SHM", "-nolisten", "tcp"]);
        command.args(["-screen", "0", &format!("{}x{}x24", size.0, size.1)]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, display: format!(":{}", line.trim()) }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).unwrap();
        let _ = rustix::process::kill_process(pid, Signal::TERM);
        let _ = self.child.wait();
    }
}
