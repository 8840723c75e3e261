//! The active window of an X11 server: EWMH's `_NET_ACTIVE_WINDOW`, or `GAMESCOPE_FOCUSED_WINDOW`. No damage is taken.

use std::os::fd::AsFd as _;
use std::time::Duration;

use anyhow::Context as _;
use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::errors::{ConnectionError, ReplyError};
use x11rb::protocol::Event;
use x11rb::protocol::res::{self, ClientIdMask, ClientIdSpec, ConnectionExt as _};
use x11rb::protocol::xproto::{AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, EventMask, Window};
use x11rb::rust_connection::RustConnection;

use crate::front::{Display, Front, Lost, readable};

/// Properties of the root window that name the window in front; the first that is there counts.
const FRONT: [&str; 2] = ["_NET_ACTIVE_WINDOW", "GAMESCOPE_FOCUSED_WINDOW"];

pub(crate) struct X11 {
    conn: RustConnection,
    root: Window,
    front: [u32; 2],
    pid: u32,
    /// The server knows the processes of its clients (X-Resource 1.2); else apps tell them.
    knows_pids: bool,
}

impl X11 {
    /// # Errors
    /// When no server answers at `display`.
    pub(crate) fn connect(display: &str) -> anyhow::Result<Self> {
        let (conn, screen) = x11rb::connect(Some(display)).with_context(|| format!("cannot watch {display}"))?;
        let root = conn.setup().roots[screen].root;
        let listen = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        conn.change_window_attributes(root, &listen)?.check().context("the server refuses to tell of windows")?;
        let atom = |name: &str| -> anyhow::Result<u32> { Ok(conn.intern_atom(false, name.as_bytes())?.reply()?.atom) };
        let (front, pid) = ([atom(FRONT[0])?, atom(FRONT[1])?], atom("_NET_WM_PID")?);
        let knows_pids = conn.extension_information(res::X11_EXTENSION_NAME)?.is_some() && {
            let version = conn.res_query_version(1, 2)?.reply()?;
            (version.server_major, version.server_minor) >= (1, 2)
        };
        Ok(Self { conn, root, front, pid, knows_pids })
    }

    /// The first number of a property; `None` where there is none, or the window is gone.
    fn number(&self, window: Window, property: u32) -> Result<Option<u32>, ConnectionError> {
        let reply = self.conn.get_property(false, window, property, AtomEnum::ANY, 0, 1)?.reply();
        let value = there(reply)?.and_then(|reply| reply.value32()?.next());
        Ok(value.filter(|value| *value != 0))
    }

    fn pid_of(&self, window: Window) -> Result<Option<u32>, ConnectionError> {
        if self.knows_pids {
            let spec = ClientIdSpec { client: window, mask: ClientIdMask::LOCAL_CLIENT_PID };
            let ids = there(self.conn.res_query_client_ids(&[spec])?.reply())?;
            return Ok(ids.and_then(|ids| ids.ids.first()?.value.first().copied()).filter(|pid| *pid != 0));
        }
        self.number(window, self.pid)
    }

    fn front_window(&self) -> Result<Front, ConnectionError> {
        for property in self.front {
            if let Some(window) = self.number(self.root, property)? {
                let pid = self.pid_of(window)?;
                return Ok(Front::Window { id: window.into(), pid, app_id: String::new() });
            }
        }
        Ok(Front::Nothing)
    }
}

/// A reply; `None` where the server refuses, since what was asked about may be gone.
fn there<T>(reply: Result<T, ReplyError>) -> Result<Option<T>, ConnectionError> {
    match reply {
        Ok(reply) => Ok(Some(reply)),
        Err(ReplyError::X11Error(_)) => Ok(None),
        Err(ReplyError::ConnectionError(error)) => Err(error),
    }
}

impl Display for X11 {
    fn front(&mut self) -> Result<Front, Lost> {
        self.front_window().map_err(|_| Lost)
    }

    fn wait(&mut self, at_most: Duration) -> Result<(), Lost> {
        loop {
            while let Some(event) = self.conn.poll_for_event().map_err(|_| Lost)? {
                if matches!(event, Event::PropertyNotify(change) if self.front.contains(&change.atom)) {
                    return Ok(());
                }
            }
            self.conn.flush().map_err(|_| Lost)?;
            // A change of another property begins the time anew: it is a limit, not a clock.
            if !readable(self.conn.stream().as_fd(), at_most)? {
                return Ok(());
            }
        }
    }
}
