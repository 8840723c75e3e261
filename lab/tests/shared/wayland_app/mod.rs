//! A Wayland app: one window that is filled with colours, and the events that it receives from keyboard and pointer.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

use std::collections::VecDeque;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::LONG;
use brisk_lab::screen::Rect;
use rustix::event::{PollFd, PollFlags, Timespec};
use wayland_client::protocol::{
    wl_buffer::WlBuffer, wl_callback::WlCallback, wl_compositor::WlCompositor, wl_keyboard, wl_keyboard::WlKeyboard,
    wl_pointer, wl_pointer::WlPointer, wl_registry, wl_registry::WlRegistry, wl_seat::WlSeat, wl_shm, wl_shm::WlShm,
    wl_shm_pool::WlShmPool, wl_surface::WlSurface,
};
use wayland_client::{Connection, Dispatch, EventQueue, Proxy, QueueHandle, WEnum, delegate_noop};
use wayland_protocols::xdg::shell::client::{
    xdg_surface, xdg_surface::XdgSurface, xdg_toplevel, xdg_toplevel::XdgToplevel, xdg_wm_base, xdg_wm_base::XdgWmBase,
};

/// Events that the compositor sent to the app.
#[derive(Default)]
struct Received {
    globals: Vec<(u32, String, u32)>,
    /// Size that the window is to have; zero until the compositor sends it.
    size: (i32, i32),
    configured: Option<u32>,
    synced: bool,
    shown: bool,
    modifiers: u32,
    place: (i32, i32),
    inputs: VecDeque<String>,
    focused: bool,
}

pub(crate) struct App {
    queue: EventQueue<Received>,
    conn: Connection,
    received: Received,
    registry: WlRegistry,
    shm: WlShm,
    window: Option<(WlSurface, XdgSurface, XdgToplevel)>,
    size: (i32, i32),
    pixels: Vec<u8>,
}

impl App {
    pub(crate) fn connect(socket: &Path) -> Self {
        let conn = Connection::from_socket(UnixStream::connect(socket).unwrap()).unwrap();
        let queue = conn.new_event_queue();
        let handle: QueueHandle<Received> = queue.handle();
        let registry = conn.display().get_registry(&handle, ());
        let mut received = Received::default();
        conn.display().sync(&handle, ());
        let mut queue = queue;
        while !received.synced {
            queue.blocking_dispatch(&mut received).unwrap();
        }
        let bind = |received: &Received, name: &str| {
            let (number, _, version) = received.globals.iter().find(|(_, interface, _)| interface == name).unwrap();
            (*number, *version)
        };
        let (number, _) = bind(&received, "wl_shm");
        let shm = registry.bind(number, 1, &handle, ());
        let app = Self { queue, conn, received, registry, shm, window: None, size: (0, 0), pixels: Vec::new() };
        let seat: WlSeat = app.bind("wl_seat", 5);
        seat.get_keyboard(&handle, ());
        seat.get_pointer(&handle, ());
        app
    }

    fn bind<I: Proxy + 'static>(&self, name: &str, version: u32) -> I
    where
        Received: Dispatch<I, ()>,
    {
        let (number, _, _) = self.received.globals.iter().find(|(_, interface, _)| interface == name).unwrap();
        self.registry.bind(*number, version, &self.queue.handle(), ())
    }

    fn wait(&mut self, limit: Duration, what: &str, enough: impl Fn(&Received) -> bool) {
        let begin = Instant::now();
        while !enough(&self.received) {
            assert!(begin.elapsed() < limit, "waited in vain for {what}");
            self.conn.flush().unwrap();
            if self.queue.dispatch_pending(&mut self.received).unwrap() > 0 {
                continue;
            }
            let Some(guard) = self.queue.prepare_read() else { continue };
            let second = Timespec { tv_sec: 1, tv_nsec: 0 };
            let fd = guard.connection_fd().as_fd().try_clone_to_owned().unwrap();
            if rustix::event::poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&second)).unwrap() > 0 {
                let _ = guard.read();
            }
        }
    }

    /// Opens the window, filled with one colour, and waits until it is on the screen.
    pub(crate) fn open(&mut self, app_id: &str, title: &str, colour: u32) {
        let handle = self.queue.handle();
        let compositor: WlCompositor = self.bind("wl_compositor", 4);
        let shell: XdgWmBase = self.bind("xdg_wm_base", 1);
        let surface = compositor.create_surface(&handle, ());
        let xdg = shell.get_xdg_surface(&surface, &handle, ());
        let toplevel = xdg.get_toplevel(&handle, ());
        toplevel.set_app_id(app_id.into());
        toplevel.set_title(title.into());
        surface.commit();
        self.window = Some((surface, xdg, toplevel));
        self.wait(LONG, "leave to draw", |received| received.configured.is_some());
        // Some compositors say the size at first, some once there is a window.
        if self.received.size.0 == 0 {
            self.draw_whole((8, 8), colour);
            self.wait(LONG, "a size", |received| received.configured.is_some() && received.size.0 > 0);
        }
        self.draw_whole(self.received.size, colour);
    }

    fn draw_whole(&mut self, size: (i32, i32), colour: u32) {
        self.size = size;
        self.pixels = vec![0; (size.0 * size.1 * 4) as usize];
        self.fill(Rect { x: 0, y: 0, width: size.0 as u32, height: size.1 as u32 }, colour);
    }

    /// Fills a part, and waits until the frame is on the screen.
    pub(crate) fn fill(&mut self, at: Rect, colour: u32) {
        self.fill_without_waiting(at, colour);
        self.wait(LONG, "a frame", |received| received.shown);
    }

    pub(crate) fn fill_without_waiting(&mut self, at: Rect, colour: u32) {
        for y in at.y..at.y + at.height as i32 {
            for x in at.x..at.x + at.width as i32 {
                let begin = ((y * self.size.0 + x) * 4) as usize;
                self.pixels[begin..begin + 4].copy_from_slice(&colour.to_le_bytes());
            }
        }
        let handle = self.queue.handle();
        let fd = rustix::fs::memfd_create("app", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&fd, self.pixels.len() as u64).unwrap();
        assert_eq!(rustix::io::pwrite(&fd, &self.pixels, 0).unwrap(), self.pixels.len());
        let pool = self.shm.create_pool(fd.as_fd(), self.pixels.len() as i32, &handle, ());
        let (width, height) = self.size;
        let buffer = pool.create_buffer(0, width, height, width * 4, wl_shm::Format::Xrgb8888, &handle, ());
        pool.destroy();
        let (surface, xdg, _) = self.window.as_ref().unwrap();
        if let Some(serial) = self.received.configured.take() {
            xdg.ack_configure(serial);
        }
        self.received.shown = false;
        surface.frame(&handle, ());
        surface.attach(Some(&buffer), 0, 0);
        surface.damage_buffer(at.x, at.y, at.width as i32, at.height as i32);
        surface.commit();
        self.conn.flush().unwrap();
    }

    pub(crate) fn rename(&self, title: &str) {
        self.window.as_ref().unwrap().2.set_title(title.into());
        self.conn.flush().unwrap();
    }

    pub(crate) fn close(&mut self) {
        let (surface, xdg, toplevel) = self.window.take().unwrap();
        toplevel.destroy();
        xdg.destroy();
        surface.destroy();
        self.conn.flush().unwrap();
    }

    /// Waits until the window has the keys.
    pub(crate) fn wait_for_focus(&mut self) {
        self.wait(LONG, "the focus", |received| received.focused);
    }

    /// The next thing that a person did to the window.
    pub(crate) fn next_input(&mut self) -> String {
        self.wait(LONG, "an input", |received| !received.inputs.is_empty());
        self.received.inputs.pop_front().unwrap()
    }
}

impl Dispatch<WlRegistry, ()> for Received {
    fn event(
        received: &mut Self,
        _: &WlRegistry,
        event: wl_registry::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let wl_registry::Event::Global { name, interface, version } = event {
            received.globals.push((name, interface, version));
        }
    }
}

impl Dispatch<WlCallback, ()> for Received {
    fn event(
        received: &mut Self,
        _: &WlCallback,
        _: <WlCallback as Proxy>::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        // The first is of the registry, all others of frames.
        received.shown = received.synced;
        received.synced = true;
    }
}

impl Dispatch<XdgWmBase, ()> for Received {
    fn event(
        _: &mut Self,
        shell: &XdgWmBase,
        event: xdg_wm_base::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let xdg_wm_base::Event::Ping { serial } = event {
            shell.pong(serial);
        }
    }
}

impl Dispatch<XdgSurface, ()> for Received {
    fn event(
        received: &mut Self,
        _: &XdgSurface,
        event: xdg_surface::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let xdg_surface::Event::Configure { serial } = event {
            received.configured = Some(serial);
        }
    }
}

impl Dispatch<XdgToplevel, ()> for Received {
    fn event(
        received: &mut Self,
        _: &XdgToplevel,
        event: xdg_toplevel::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let xdg_toplevel::Event::Configure { width, height, .. } = event {
            received.size = (width, height);
        }
    }
}

impl Dispatch<WlKeyboard, ()> for Received {
    fn event(
        received: &mut Self,
        _: &WlKeyboard,
        event: wl_keyboard::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        match event {
            wl_keyboard::Event::Key { key, state: WEnum::Value(wl_keyboard::KeyState::Pressed), .. } => {
                received.inputs.push_back(format!("key {key} with {}", received.modifiers));
            }
            wl_keyboard::Event::Modifiers { mods_depressed, .. } => received.modifiers = mods_depressed,
            wl_keyboard::Event::Enter { .. } => received.focused = true,
            _ => {}
        }
    }
}

impl Dispatch<WlPointer, ()> for Received {
    fn event(
        received: &mut Self,
        _: &WlPointer,
        event: wl_pointer::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        use wl_pointer::{ButtonState, Event};
        match event {
            Event::Enter { surface_x: x, surface_y: y, .. } => received.place = (x as i32, y as i32),
            Event::Motion { surface_x: x, surface_y: y, .. } => {
                received.place = (x as i32, y as i32);
                received.inputs.push_back(format!("move to {},{}", x as i32, y as i32));
            }
            Event::Button { button, state, .. } => {
                let (x, y) = received.place;
                let what = if state == WEnum::Value(ButtonState::Pressed) { "press" } else { "release" };
                received.inputs.push_back(format!("{what} {button} at {x},{y}"));
            }
            Event::AxisDiscrete { discrete, .. } => received.inputs.push_back(format!("wheel {discrete}")),
            _ => {}
        }
    }
}

delegate_noop!(Received: ignore WlShm);
delegate_noop!(Received: ignore WlShmPool);
delegate_noop!(Received: ignore WlBuffer);
delegate_noop!(Received: ignore WlCompositor);
delegate_noop!(Received: ignore WlSurface);
delegate_noop!(Received: ignore WlSeat);
