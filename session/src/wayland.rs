//! The activated window of a Wayland compositor: of KWin by org_kde_plasma_window_management, which tells the process
//! too, of others by zwlr_foreign_toplevel_management. No frames are taken; a window that changes its title wakes.
//!
//! KWin offers its protocol to programs whose desktop file asks for it (`X-KDE-Wayland-Interfaces`).

use std::collections::HashMap;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use wayland_client::backend::{ObjectId, WaylandError};
use wayland_client::protocol::wl_registry::{self, WlRegistry};
use wayland_client::{Connection, Dispatch, EventQueue, Proxy as _, QueueHandle, event_created_child};
use wayland_protocols_plasma::plasma_window_management::client::org_kde_plasma_window::{self, OrgKdePlasmaWindow};
use wayland_protocols_plasma::plasma_window_management::client::org_kde_plasma_window_management::{
    self, OrgKdePlasmaWindowManagement,
};
use wayland_protocols_wlr::foreign_toplevel::v1::client::{
    zwlr_foreign_toplevel_handle_v1::{self, ZwlrForeignToplevelHandleV1},
    zwlr_foreign_toplevel_manager_v1::{self, ZwlrForeignToplevelManagerV1},
};

use crate::front::{Display, Front, Lost, readable};

/// The states of both protocols that mean that a window has the keys.
const WLR_ACTIVATED: u32 = 2;
const PLASMA_ACTIVE: u32 = 1;

pub(crate) struct Wayland {
    conn: Connection,
    queue: EventQueue<Windows>,
    windows: Windows,
}

#[derive(Debug, Default)]
struct Window {
    id: u64,
    pid: Option<u32>,
    app_id: String,
    /// Number of its activation among all, while it is activated.
    activation: Option<u64>,
}

#[derive(Default)]
struct Windows {
    plasma: Option<OrgKdePlasmaWindowManagement>,
    wlr: Option<ZwlrForeignToplevelManagerV1>,
    /// Name and version of the manager of wlroots, which is bound where there is none of Plasma.
    wlr_global: Option<(u32, u32)>,
    windows: HashMap<ObjectId, Window>,
    windows_so_far: u64,
    activations_so_far: u64,
    /// The compositor tells of windows no more.
    is_finished: bool,
}

impl Windows {
    fn add(&mut self, id: ObjectId) {
        self.windows_so_far += 1;
        self.windows.insert(id, Window { id: self.windows_so_far, ..Window::default() });
    }

    fn activate(&mut self, id: &ObjectId, is_active: bool) {
        let Some(window) = self.windows.get_mut(id) else { return };
        // It is told again with other words.
        if is_active && window.activation.is_none() {
            self.activations_so_far += 1;
        }
        window.activation = is_active.then(|| window.activation.unwrap_or(self.activations_so_far));
    }

    /// Of several that are activated, as with several seats, the one that was activated last.
    fn front(&self) -> Front {
        let activated = self.windows.values().filter(|window| window.activation.is_some());
        match activated.max_by_key(|window| window.activation) {
            Some(Window { id, pid, app_id, .. }) if pid.is_some() || !app_id.is_empty() => {
                Front::Window { id: *id, pid: *pid, app_id: app_id.clone() }
            }
            _ => Front::Nothing,
        }
    }
}

impl Wayland {
    /// # Errors
    /// When no compositor answers at `display`, a name in XDG_RUNTIME_DIR or the path of a socket, or when it tells no
    /// program which window is in front.
    pub(crate) fn connect(display: &str) -> anyhow::Result<Self> {
        let dir = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).unwrap_or_default();
        let stream = UnixStream::connect(dir.join(display)).with_context(|| format!("cannot watch {display}"))?;
        let conn = Connection::from_socket(stream).with_context(|| format!("cannot watch {display}"))?;
        let mut queue = conn.new_event_queue();
        let registry = conn.display().get_registry(&queue.handle(), ());
        let mut windows = Windows::default();
        queue.roundtrip(&mut windows).with_context(|| format!("{display} does not answer"))?;
        if let (None, Some((name, version))) = (&windows.plasma, windows.wlr_global) {
            windows.wlr = Some(registry.bind(name, version.min(3), &queue.handle(), ()));
        }
        if windows.plasma.is_none() && windows.wlr.is_none() {
            anyhow::bail!(
                "the compositor of {display} tells no program which window is in front: on GNOME the extension \
                 brisk-session@brisk tells instead (gnome-extensions enable brisk-session@brisk), elsewhere call \
                 'brisk front PID'"
            );
        }
        queue.roundtrip(&mut windows).with_context(|| format!("{display} does not answer"))?;
        Ok(Self { conn, queue, windows })
    }
}

impl Display for Wayland {
    fn front(&mut self) -> Result<Front, Lost> {
        // One window is deactivated before the next is activated, and a new one has its process last: by the answer all
        // of that has happened.
        self.queue.roundtrip(&mut self.windows).map_err(|_| Lost)?;
        if self.windows.is_finished { Err(Lost) } else { Ok(self.windows.front()) }
    }

    fn wait(&mut self, at_most: Duration) -> Result<(), Lost> {
        let before = self.windows.front();
        loop {
            self.queue.dispatch_pending(&mut self.windows).map_err(|_| Lost)?;
            if self.windows.is_finished {
                return Err(Lost);
            }
            if self.windows.front() != before {
                return Ok(());
            }
            self.conn.flush().map_err(|_| Lost)?;
            let Some(guard) = self.queue.prepare_read() else { continue };
            // What changes a title begins the time anew: it is a limit, not a clock.
            if !readable(guard.connection_fd().as_fd(), at_most)? {
                return Ok(());
            }
            match guard.read() {
                Ok(_) => {}
                Err(WaylandError::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return Err(Lost),
            }
        }
    }
}

impl Dispatch<WlRegistry, ()> for Windows {
    fn event(
        state: &mut Self,
        registry: &WlRegistry,
        event: wl_registry::Event,
        (): &(),
        _: &Connection,
        queue: &QueueHandle<Self>,
    ) {
        let wl_registry::Event::Global { name, interface, version } = event else { return };
        if interface == OrgKdePlasmaWindowManagement::interface().name {
            state.plasma = Some(registry.bind(name, version.min(16), queue, ()));
        } else if interface == ZwlrForeignToplevelManagerV1::interface().name {
            state.wlr_global = Some((name, version));
        }
    }
}

impl Dispatch<OrgKdePlasmaWindowManagement, ()> for Windows {
    fn event(
        state: &mut Self,
        manager: &OrgKdePlasmaWindowManagement,
        event: org_kde_plasma_window_management::Event,
        (): &(),
        _: &Connection,
        queue: &QueueHandle<Self>,
    ) {
        let window = match event {
            org_kde_plasma_window_management::Event::Window { id } => manager.get_window(id, queue, ()),
            org_kde_plasma_window_management::Event::WindowWithUuid { uuid, .. } => {
                manager.get_window_by_uuid(uuid, queue, ())
            }
            _ => return,
        };
        state.add(window.id());
    }
}

impl Dispatch<OrgKdePlasmaWindow, ()> for Windows {
    fn event(
        state: &mut Self,
        proxy: &OrgKdePlasmaWindow,
        event: org_kde_plasma_window::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        use org_kde_plasma_window::Event;
        let id = proxy.id();
        let window = state.windows.get_mut(&id);
        match (event, window) {
            (Event::AppIdChanged { app_id }, Some(window)) => window.app_id = app_id,
            (Event::PidChanged { pid }, Some(window)) => window.pid = Some(pid).filter(|pid| *pid != 0),
            (Event::StateChanged { flags }, Some(_)) => state.activate(&id, flags & PLASMA_ACTIVE != 0),
            (Event::Unmapped, Some(_)) => {
                state.windows.remove(&id);
                if proxy.version() >= 4 {
                    proxy.destroy();
                }
            }
            _ => {}
        }
    }
}

impl Dispatch<ZwlrForeignToplevelManagerV1, ()> for Windows {
    fn event(
        state: &mut Self,
        _: &ZwlrForeignToplevelManagerV1,
        event: zwlr_foreign_toplevel_manager_v1::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        match event {
            zwlr_foreign_toplevel_manager_v1::Event::Toplevel { toplevel } => state.add(toplevel.id()),
            zwlr_foreign_toplevel_manager_v1::Event::Finished => state.is_finished = true,
            _ => {}
        }
    }

    event_created_child!(Windows, ZwlrForeignToplevelManagerV1, [
        zwlr_foreign_toplevel_manager_v1::EVT_TOPLEVEL_OPCODE => (ZwlrForeignToplevelHandleV1, ())
    ]);
}

impl Dispatch<ZwlrForeignToplevelHandleV1, ()> for Windows {
    fn event(
        state: &mut Self,
        proxy: &ZwlrForeignToplevelHandleV1,
        event: zwlr_foreign_toplevel_handle_v1::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        use zwlr_foreign_toplevel_handle_v1::Event;
        let id = proxy.id();
        match event {
            Event::AppId { app_id } => {
                if let Some(window) = state.windows.get_mut(&id) {
                    window.app_id = app_id;
                }
            }
            // Four bytes each, in the order of this machine.
            Event::State { state: words } => {
                state.activate(&id, words.chunks_exact(4).any(|word| word == WLR_ACTIVATED.to_ne_bytes()));
            }
            Event::Closed => {
                state.windows.remove(&id);
                proxy.destroy();
            }
            _ => {}
        }
    }
}
