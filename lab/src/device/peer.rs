//! Server side of a control connection: non-blocking, and closed after an invalid command.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use brisk_profile::lab_client::control::ServerReply;

/// Longest line of a command.
const LINE_BYTES_MAX: usize = 1 << 16;

/// A client of the server.
#[derive(Debug)]
pub(crate) struct Peer {
    stream: UnixStream,
    line: Vec<u8>,
    /// Whether this is `up`, which sets the device up.
    pub(crate) sets_up: bool,
}

impl Peer {
    /// A client on a non-blocking socket.
    pub(crate) fn new(stream: UnixStream, sets_up: bool) -> Self {
        Self { stream, line: Vec::new(), sets_up }
    }

    /// Receives data; false when the client has disconnected.
    pub(crate) fn fill(&mut self) -> bool {
        let mut chunk = [0; 4096];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return false,
                Ok(len) if self.line.len() + len <= LINE_BYTES_MAX => self.line.extend_from_slice(&chunk[..len]),
                Ok(_) => return false,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }

    pub(crate) fn next_line(&mut self) -> Option<Vec<u8>> {
        let end = self.line.iter().position(|&byte| byte == b'\n')?;
        Some(self.line.drain(..=end).collect())
    }

    /// Replies. Replies beyond the socket's buffer are lost if the client does not read them.
    pub(crate) fn say(&mut self, answer: &ServerReply) {
        let mut line = serde_json::to_vec(answer).unwrap_or_default();
        line.push(b'\n');
        let _ = self.stream.write_all(&line);
    }
}

impl AsFd for Peer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
