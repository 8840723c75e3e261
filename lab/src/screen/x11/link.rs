//! Connection to the server, and its errors.

use std::io::ErrorKind;

use x11rb::errors::{ConnectError, ConnectionError, ReplyError, ReplyOrIdError};
use x11rb::protocol::xproto::Screen;
use x11rb::reexports::x11rb_protocol::parse_display::parse_display;
use x11rb::reexports::x11rb_protocol::xauth::get_auth;
use x11rb::rust_connection::{DefaultStream, RustConnection};

use super::stream::TimedStream;
use crate::screen::interface::{Error, Result};

const ANSWER_NS: u64 = 5_000_000_000;

/// A connection, its name and its screen.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) conn: RustConnection<TimedStream>,
    pub(super) display: String,
    screen: usize,
}

impl Link {
    /// Connects to `display`, or to the environment's.
    pub(super) fn connect(display: Option<&str>) -> Result<Self> {
        let name = match display {
            Some(name) => name.to_owned(),
            None => std::env::var("DISPLAY").unwrap_or_default(),
        };
        let refuse = |reason: String| Error::NoServer { display: name.clone(), reason };
        if name.is_empty() {
            return Err(refuse("DISPLAY is not set, and no display was named".into()));
        }
        let parsed = parse_display(Some(&name)).map_err(|error| refuse(error.to_string()))?;
        let mut reason = String::from("its name leads to no address");
        for address in parsed.connect_instruction() {
            let (stream, (family, peer)) = match DefaultStream::connect(&address) {
                Ok(connected) => connected,
                Err(error) => {
                    reason = error.to_string();
                    continue;
                }
            };
            // A server that requires a cookie reports it below; many accept the same user without one.
            let (auth_name, auth_data) = get_auth(family, &peer, parsed.display).ok().flatten().unwrap_or_default();
            let screen = usize::from(parsed.screen);
            let stream = TimedStream::new(stream, ANSWER_NS);
            let conn = RustConnection::connect_to_stream_with_auth_info(stream, screen, auth_name, auth_data)
                .map_err(|error| refuse(why_not_connected(&error)))?;
            return Ok(Self { conn, display: name, screen });
        }
        Err(refuse(reason))
    }

    /// The screen in the display's name, usually the first.
    pub(super) fn screen(&self) -> &Screen {
        &x11rb::connection::Connection::setup(&self.conn).roots[self.screen]
    }

    /// Begins a call, with a time limit for all its replies.
    pub(super) fn begin(&self) {
        self.conn.stream().limit(ANSWER_NS);
    }

    /// Result of sending `what`.
    pub(super) fn sent<T>(&self, what: &str, outcome: std::result::Result<T, ConnectionError>) -> Result<T> {
        outcome.map_err(|error| self.error(what, error))
    }

    /// Result of waiting for the reply to `what`.
    pub(super) fn answer<T>(&self, what: &str, outcome: std::result::Result<T, ReplyError>) -> Result<T> {
        outcome.map_err(|error| match error {
            ReplyError::ConnectionError(error) => self.error(what, error),
            ReplyError::X11Error(error) => {
                Error::Refused { what: what.to_owned(), reason: format!("{:?}", error.error_kind) }
            }
        })
    }

    /// As [`Link::answer`], for a window that may have been closed: then `None`.
    pub(super) fn answer_if_there<T>(
        &self,
        what: &str,
        outcome: std::result::Result<T, ReplyError>,
    ) -> Result<Option<T>> {
        match outcome {
            Err(ReplyError::X11Error(_)) => Ok(None),
            outcome => self.answer(what, outcome).map(Some),
        }
    }

    pub(super) fn new_id(&self) -> Result<u32> {
        x11rb::connection::Connection::generate_id(&self.conn).map_err(|error| match error {
            ReplyOrIdError::ConnectionError(error) => self.error("a new identity", error),
            other => Error::Refused { what: "a new identity".into(), reason: other.to_string() },
        })
    }

    /// The error of a failed wait in the socket.
    pub(super) fn io_error(&self, what: &str, error: std::io::Error) -> Error {
        match error.kind() {
            ErrorKind::TimedOut => Error::Refused {
                what: what.to_owned(),
                reason: format!(
                    "no answer within {} s; an app may hold a grab of the whole server",
                    ANSWER_NS / 1_000_000_000
                ),
            },
            _ => Error::Lost { display: self.display.clone() },
        }
    }

    fn error(&self, what: &str, error: ConnectionError) -> Error {
        match error {
            ConnectionError::IoError(error) => self.io_error(what, error),
            ConnectionError::UnknownError => Error::Lost { display: self.display.clone() },
            other => Error::Refused { what: what.to_owned(), reason: other.to_string() },
        }
    }
}

fn why_not_connected(error: &ConnectError) -> String {
    match error {
        ConnectError::IoError(error) if error.kind() == ErrorKind::TimedOut => {
            format!("no answer within {} s", ANSWER_NS / 1_000_000_000)
        }
        ConnectError::SetupFailed(failed) => String::from_utf8_lossy(&failed.reason).trim_end().to_owned(),
        ConnectError::SetupAuthenticate(asked) => String::from_utf8_lossy(&asked.reason).trim_end().to_owned(),
        other => other.to_string(),
    }
}
