//! Connection to the compositor, with a deadline for each wait.

use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::event::PollFlags;
use wayland_client::backend::WaylandError;
use wayland_client::protocol::wl_registry::WlRegistry;
use wayland_client::{Connection, Dispatch, DispatchError, EventQueue, Proxy, QueueHandle};

use super::state::State;
use crate::screen::clock::monotonic_ns;
use crate::screen::interface::{Error, Result};
use crate::screen::wait::wait;

pub(super) const ANSWER_NS: u64 = 5_000_000_000;

/// A connection, its name, and its state.
#[derive(Debug)]
pub(super) struct Link {
    conn: Connection,
    queue: EventQueue<State>,
    registry: WlRegistry,
    pub(super) state: State,
    pub(super) display: String,
}

impl Link {
    /// Connects to `display`, a name in XDG_RUNTIME_DIR or an absolute path, or to the environment's.
    pub(super) fn connect(display: Option<&str>) -> Result<Self> {
        let name = match display {
            Some(name) => name.to_owned(),
            None => std::env::var("WAYLAND_DISPLAY").unwrap_or_default(),
        };
        let refuse = |reason: String| Error::NoServer { display: name.clone(), reason };
        if name.is_empty() {
            return Err(refuse("WAYLAND_DISPLAY is not set, and no display was named".into()));
        }
        let mut path = PathBuf::from(&name);
        if !path.is_absolute() {
            let dir = std::env::var_os("XDG_RUNTIME_DIR")
                .ok_or_else(|| refuse("XDG_RUNTIME_DIR is not set; name the socket by its absolute path".into()))?;
            path = PathBuf::from(dir).join(path);
        }
        let stream = UnixStream::connect(&path).map_err(|error| refuse(error.to_string()))?;
        let conn = Connection::from_socket(stream).map_err(|error| refuse(error.to_string()))?;
        let queue = conn.new_event_queue();
        let registry = conn.display().get_registry(&queue.handle(), ());
        let mut link = Self { conn, queue, registry, state: State::default(), display: name };
        link.round_trip("what there is")?;
        Ok(link)
    }

    pub(super) fn handle(&self) -> QueueHandle<State> {
        self.queue.handle()
    }

    /// Binds the first global of an interface; `None` without one.
    pub(super) fn global<I>(&self, version_max: u32) -> Option<I>
    where
        I: Proxy + 'static,
        State: Dispatch<I, ()>,
    {
        let global = self.state.globals.iter().find(|global| global.interface == I::interface().name)?;
        Some(self.registry.bind(global.name, global.version.min(version_max), &self.handle(), ()))
    }

    /// As [`Link::global`], with an error for a missing one.
    pub(super) fn needed<I>(&self, version_max: u32) -> Result<I>
    where
        I: Proxy + 'static,
        State: Dispatch<I, ()>,
    {
        self.global(version_max).ok_or_else(|| Error::Lacks {
            display: self.display.clone(),
            what: format!("the protocol {}", I::interface().name),
            remedy: "use a compositor built on wlroots, such as sway or labwc, or X11".into(),
        })
    }

    /// Receives events, waiting for the first; returns false when `until_ns` passed before.
    pub(super) fn pump(&mut self, until_ns: u64) -> Result<bool> {
        loop {
            let dispatched = self.queue.dispatch_pending(&mut self.state);
            if dispatched.map_err(|error| self.dispatch_error(error))? > 0 {
                return Ok(true);
            }
            self.flush()?;
            let Some(guard) = self.queue.prepare_read() else { continue };
            let ready = wait(guard.connection_fd(), PollFlags::IN, until_ns);
            if !ready.map_err(|_| self.lost())? {
                return Ok(false);
            }
            match guard.read() {
                Ok(_) => {}
                Err(WaylandError::Io(error)) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(self.error(error)),
            }
        }
    }

    /// Waits until the compositor has processed all requests.
    pub(super) fn round_trip(&mut self, what: &str) -> Result<()> {
        self.state.synced = false;
        self.conn.display().sync(&self.handle(), ());
        let until_ns = monotonic_ns() + ANSWER_NS;
        while !self.state.synced {
            if !self.pump(until_ns)? {
                return Err(self.silent(what));
            }
        }
        Ok(())
    }

    /// Sends pending requests.
    pub(super) fn flush(&self) -> Result<()> {
        let until_ns = monotonic_ns() + ANSWER_NS;
        loop {
            match self.conn.flush() {
                Ok(()) => return Ok(()),
                Err(WaylandError::Io(error)) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(self.error(error)),
            }
            let backend = self.conn.backend();
            if !wait(backend.poll_fd().as_fd(), PollFlags::OUT, until_ns).map_err(|_| self.lost())? {
                return Err(self.silent("requests"));
            }
        }
    }

    /// The error for a compositor that does not answer.
    pub(super) fn silent(&self, what: &str) -> Error {
        let reason = format!("no answer within {} s; the compositor may hang", ANSWER_NS / 1_000_000_000);
        Error::Refused { what: what.to_owned(), reason }
    }

    fn lost(&self) -> Error {
        Error::Lost { display: self.display.clone() }
    }

    fn dispatch_error(&self, error: DispatchError) -> Error {
        match error {
            DispatchError::Backend(error) => self.error(error),
            DispatchError::BadMessage { .. } => {
                Error::Refused { what: "an event".into(), reason: format!("it cannot be read: {error}") }
            }
        }
    }

    fn error(&self, error: WaylandError) -> Error {
        match error {
            WaylandError::Protocol(error) => {
                let what = format!("a request to {}", error.object_interface);
                Error::Refused { what, reason: format!("error {}: {}", error.code, error.message) }
            }
            WaylandError::Io(_) => self.lost(),
        }
    }
}
