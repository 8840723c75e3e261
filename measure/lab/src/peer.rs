//! One who gives orders, from the server's side: never waited for, and cut off when what it sends is no order.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use brisk_lab_client::control::Answer;

/// An order is a line; longer ones are not orders.
const LINE_BYTES_MAX: usize = 1 << 16;

/// The other side of a control connection.
#[derive(Debug)]
pub(crate) struct Peer {
    stream: UnixStream,
    line: Vec<u8>,
    /// Whether this is `up`, without which the device does not come to stand.
    pub(crate) sets_up: bool,
}

impl Peer {
    /// A side at the other end of a socket that does not block.
    pub(crate) fn new(stream: UnixStream, sets_up: bool) -> Self {
        Self { stream, line: Vec::new(), sets_up }
    }

    /// Takes what the other side sent; false when it is gone.
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

    /// Answers. A side that does not read its answers within the socket's buffer loses them.
    pub(crate) fn say(&mut self, answer: &Answer) {
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
