//! One client: bytes in, bytes out, both bounded, never waiting.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::event::PollFlags;

use brisk_api::{CALL_BYTES_MAX, Call, Reply};

/// Maximum of bytes that wait for a client to read them.
const OUT_BYTES_MAX: usize = 512 << 10;
/// How long a client may leave something unread.
const UNREAD_NS_MAX: u64 = 10_000_000_000;
/// How long a client may stay without asking anything.
const IDLE_NS_MAX: u64 = 30_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    pub uid: u32,
}

/// The client is gone, or is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Disconnected;

/// What a client hears of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subscription {
    /// All that happens.
    Events,
    /// Apps of its user that are lost; of root, all.
    Losses,
}

/// Processes of a user's streams of sound that a connection may tell of.
pub(super) const SOUND_MAX: usize = 256;

#[derive(Debug)]
pub(super) struct Connection {
    stream: UnixStream,
    pub(super) peer: Peer,
    /// It came by the socket of sessions.
    pub(super) is_of_session: bool,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    sent_bytes: usize,
    /// What it is subscribed to; it makes no other calls then.
    pub(super) subscription: Option<Subscription>,
    /// The processes that play or record, as it told last: that holds for as long as it is connected.
    pub(super) sound: Option<Vec<u32>>,
    /// The last time it asked something or read something.
    used_ns: u64,
}

impl Connection {
    /// Serves a stream that does not block.
    pub(super) fn new(stream: UnixStream, peer: Peer, is_of_session: bool, now_ns: u64) -> Self {
        let (inbox, outbox) = (Vec::new(), Vec::new());
        Self {
            stream,
            peer,
            is_of_session,
            inbox,
            outbox,
            sent_bytes: 0,
            subscription: None,
            sound: None,
            used_ns: now_ns,
        }
    }

    /// Events to poll for; calls of a client that does not read its answers are not read.
    pub(super) fn interest(&self, may_ask: bool) -> PollFlags {
        let mut flags = PollFlags::empty();
        if self.has_unread() {
            flags |= PollFlags::OUT;
        } else if may_ask && self.may_ask() {
            flags |= PollFlags::IN;
        }
        flags
    }

    /// Whether it may say something now: it has read its answer, and does not only listen.
    pub(super) fn may_ask(&self) -> bool {
        !self.has_unread() && self.subscription.is_none()
    }

    /// When it has to go if nothing changes.
    pub(super) fn deadline_ns(&self) -> Option<u64> {
        if self.has_unread() {
            Some(self.used_ns.saturating_add(UNREAD_NS_MAX))
        } else {
            let waits = self.subscription.is_some() || self.sound.is_some();
            (!waits).then(|| self.used_ns.saturating_add(IDLE_NS_MAX))
        }
    }

    fn has_unread(&self) -> bool {
        self.sent_bytes < self.outbox.len()
    }

    /// Takes in what is there, at most a call's length.
    pub(super) fn receive(&mut self) -> Result<(), Disconnected> {
        let mut buffer = [0; 4096];
        let mut received = false;
        while self.inbox.len() <= CALL_BYTES_MAX {
            match self.stream.read(&mut buffer) {
                // Calls that it sent before it left are read.
                Ok(0) if received => break,
                Ok(0) => return Err(Disconnected),
                Ok(bytes) => {
                    received = true;
                    self.inbox.extend(&buffer[..bytes]);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Disconnected),
            }
        }
        Ok(())
    }

    /// Whether a whole call waits, or one that is too long to be any, and the answer to the one before is read.
    pub(super) fn wants_something(&self) -> bool {
        self.may_ask() && (self.inbox.contains(&0) || self.inbox.len() > CALL_BYTES_MAX)
    }

    pub(super) fn take_call(&mut self, now_ns: u64) -> Result<Call, Disconnected> {
        let end =
            self.inbox.iter().position(|&byte| byte == 0).filter(|&end| end <= CALL_BYTES_MAX).ok_or(Disconnected)?;
        let call = serde_json::from_slice(&self.inbox[..end]).map_err(|_| Disconnected)?;
        self.inbox.drain(..=end);
        self.used_ns = now_ns;
        Ok(call)
    }

    /// Adds a reply and sends what the client takes.
    pub(super) fn answer(&mut self, reply: &Reply, now_ns: u64) -> Result<(), Disconnected> {
        serde_json::to_writer(&mut self.outbox, reply).map_err(|_| Disconnected)?;
        self.outbox.push(0);
        self.send(now_ns)?;
        if self.outbox.len() - self.sent_bytes > OUT_BYTES_MAX { Err(Disconnected) } else { Ok(()) }
    }

    /// Sends what the client takes.
    pub(super) fn send(&mut self, now_ns: u64) -> Result<(), Disconnected> {
        while self.has_unread() {
            match self.stream.write(&self.outbox[self.sent_bytes..]) {
                Ok(0) => return Err(Disconnected),
                Ok(bytes) => {
                    self.sent_bytes += bytes;
                    self.used_ns = now_ns;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Disconnected),
            }
        }
        // A large answer is not kept for ever.
        (self.outbox, self.sent_bytes) = (Vec::new(), 0);
        Ok(())
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
