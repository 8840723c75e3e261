//! All clients, and the listeners: the control socket, and that of sessions, where the user of the active session of a
//! seat tells which app is in front, and no more.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use brisk_api::{Method, Reply, understand};
use brisk_core::token_bucket::TokenBucket;
use brisk_sense::Sense;
use rustix::event::PollFlags;
use rustix::fs::{Mode, chmod, chown};
use rustix::net::sockopt::socket_peercred;
use rustix::process::Gid;

use super::connection::{Connection, Disconnected, Peer, SOUND_MAX, Subscription};

const CLIENTS_MAX: usize = 16;
/// Of these, the ones that are not root.
const STRANGERS_MAX: usize = 12;
/// Of one user who is not root.
const OF_ONE_USER_MAX: usize = 4;
/// Connections that are taken from a door for one token: those that are closed, as their user has no more share, delay
/// others by no more than that.
const ACCEPTED_MAX: usize = 256;
/// Tokens of each bucket that are spent at once, and a second in the long run.
const BURST: u64 = 40;
const PER_S: u64 = 20;

/// A socket that clients connect to.
#[derive(Debug)]
struct Door {
    path: PathBuf,
    listener: UnixListener,
    /// For sessions: where to read whose is active.
    sessions: Option<Sense>,
    /// Whether it was polled last, and no client connects.
    is_quiet: bool,
}

/// Serves the sockets, one turn at a time.
#[derive(Debug)]
pub struct Server {
    /// The control socket, then that of sessions, where there is one.
    doors: Vec<Door>,
    connections: Vec<Option<Connection>>,
    budgets: Budgets,
    own_uid: u32,
    /// Connection or door that is served first; it rotates for fairness.
    first: usize,
    /// Whether the listeners were polled last.
    polls_doors: bool,
}

/// What is served. Calls of root have tokens of their own, so that no other user delays them.
#[derive(Debug)]
struct Budgets {
    /// Up to [`ACCEPTED_MAX`] connections are accepted for a token.
    doors: TokenBucket,
    calls_of_root: TokenBucket,
    calls_of_others: TokenBucket,
}

impl Budgets {
    fn new() -> Self {
        let full = || TokenBucket::new(BURST, 1_000_000_000 / PER_S);
        Self { doors: full(), calls_of_root: full(), calls_of_others: full() }
    }

    fn calls_of(&mut self, peer: Peer) -> &mut TokenBucket {
        if peer.uid == 0 { &mut self.calls_of_root } else { &mut self.calls_of_others }
    }

    /// Whether a call of this peer may be served now.
    fn may_ask(&self, peer: Peer, now_ns: u64) -> bool {
        let bucket = if peer.uid == 0 { &self.calls_of_root } else { &self.calls_of_others };
        bucket.next_ns(now_ns).is_none()
    }
}

#[derive(Debug)]
pub struct ClientCall {
    client: usize,
    oneway: bool,
    pub method: Method,
    pub peer: Peer,
    /// It came by the socket of sessions.
    pub is_of_session: bool,
}

/// Why there is no control socket.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("cannot make the control socket {}", .path.display())]
    Make { path: PathBuf, source: io::Error },
}

impl Door {
    fn open(path: &Path, sessions: Option<Sense>) -> io::Result<Self> {
        remove_socket(path)?;
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(Self { path: path.to_owned(), listener, sessions, is_quiet: false })
    }

    /// Whether this user may come in, beside what the mode of the socket says.
    fn admits(&self, peer: Peer) -> bool {
        let Some(sense) = &self.sessions else { return true };
        peer.uid == 0 || sense.users_of_active_sessions().is_ok_and(|users| users.contains(&peer.uid))
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // One that stays is replaced by the next daemon.
        let _ = remove_socket(&self.path);
    }
}

/// Removes a socket that a daemon has left; nothing else is removed.
fn remove_socket(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => std::fs::remove_file(path),
        Ok(_) => Err(io::Error::new(ErrorKind::AlreadyExists, "what is there is no socket: move it away")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

impl Server {
    /// Opens the socket at `path`, for root and, if there is such a group, for users of the group with number `group`.
    /// What a daemon that is no more left there is replaced: who calls this holds the lock of the only one.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub fn open(path: &Path, group: Option<u32>) -> Result<Self, ServerError> {
        let failed = |source: io::Error| ServerError::Make { path: path.to_owned(), source };
        let open = || {
            let server = Self {
                doors: vec![Door::open(path, None)?],
                connections: (0..CLIENTS_MAX).map(|_| None).collect(),
                budgets: Budgets::new(),
                own_uid: rustix::process::geteuid().as_raw(),
                first: 0,
                polls_doors: false,
            };
            server.let_in(group)?;
            Ok(server)
        };
        open().map_err(failed)
    }

    /// Opens the socket of sessions too.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open_for_sessions(&mut self, path: &Path, sense: &Sense) -> Result<(), ServerError> {
        let open = || {
            let door = Door::open(path, Some(sense.clone()))?;
            // Who may tell is decided at each connection.
            chmod(path, Mode::from_raw_mode(0o666))?;
            io::Result::Ok(door)
        };
        self.doors.push(open().map_err(|source| ServerError::Make { path: path.to_owned(), source })?);
        Ok(())
    }

    /// Lets users of this group connect, or root alone.
    ///
    /// # Errors
    /// When the socket's owner cannot be changed.
    pub fn let_in(&self, group: Option<u32>) -> io::Result<()> {
        // Closed first, so that it is never open to a wrong group.
        let path = &self.doors[0].path;
        chmod(path, Mode::from_raw_mode(0o600))?;
        if let Some(group) = group {
            chown(path, None, Some(Gid::from_raw(group)))?;
            chmod(path, Mode::from_raw_mode(0o660))?;
        }
        Ok(())
    }

    /// Who may connect, as bits of a file's mode.
    ///
    /// # Errors
    /// When the socket is gone.
    pub fn mode(&self) -> io::Result<u32> {
        Ok(std::fs::metadata(&self.doors[0].path)?.permissions().mode() & 0o777)
    }

    /// Events to poll for, for [`Self::turn`].
    pub fn interests(&mut self, now_ns: u64) -> Vec<(BorrowedFd<'_>, PollFlags)> {
        let has_space = self.connections.iter().any(Option::is_none);
        self.polls_doors = has_space && self.budgets.doors.next_ns(now_ns).is_none();
        let flags = if self.polls_doors { PollFlags::IN } else { PollFlags::empty() };
        let mut interests: Vec<_> = self.doors.iter().map(|door| (door.listener.as_fd(), flags)).collect();
        let interest = |one: &Connection| one.interest(self.budgets.may_ask(one.peer, now_ns));
        interests.extend(self.connections.iter().flatten().map(|one| (one.as_fd(), interest(one))));
        interests
    }

    /// When a turn is due without an event.
    pub fn next_ns(&mut self, now_ns: u64) -> Option<u64> {
        let patience = self.connections.iter().flatten().filter_map(Connection::deadline_ns).min();
        let doors = self.budgets.doors.next_ns(now_ns);
        // A connection that waits for its budget causes no wake-up before.
        let budgets = &mut self.budgets;
        let of_calls = self.connections.iter().flatten().filter_map(|one| {
            let budget = budgets.calls_of(one.peer).next_ns(now_ns).filter(|_| one.may_ask());
            budget.or(one.wants_something().then_some(now_ns))
        });
        of_calls.chain(doors).chain(patience).min()
    }

    /// Does what can be done without waiting; `happened` is what poll said of [`Self::interests`], in that order. Gives
    /// what the clients ask, each of which gets one answer.
    pub fn turn(&mut self, now_ns: u64, happened: &[PollFlags]) -> Vec<ClientCall> {
        let mut said = happened.iter();
        // A door is served in its turn, unless it was polled and no client connects.
        for door in &mut self.doors {
            let is_quiet = said.next().is_some_and(|flags| !flags.intersects(PollFlags::IN));
            door.is_quiet = self.polls_doors && is_quiet;
        }
        for place in &mut self.connections {
            let Some(connection) = place else { continue };
            let flags = said.next().copied().unwrap_or(PollFlags::empty());
            let outcome = (|| {
                if flags.intersects(PollFlags::OUT) {
                    connection.send(now_ns)?;
                }
                // With its budget used up a connection was not polled; now all are served, before one uses it up.
                let may_ask = self.budgets.may_ask(connection.peer, now_ns);
                if flags.intersects(PollFlags::IN) || (may_ask && connection.may_ask()) {
                    connection.receive()?;
                }
                // Who hung up takes no answer any more.
                let hung_up = flags.intersects(PollFlags::HUP | PollFlags::ERR) && !flags.intersects(PollFlags::IN);
                let late = connection.deadline_ns().is_some_and(|deadline_ns| now_ns >= deadline_ns);
                if hung_up || late { Err(Disconnected) } else { Ok(()) }
            })();
            if outcome.is_err() {
                *place = None;
            }
        }
        self.serve(now_ns)
    }

    /// Serves the listeners and the clients in turn, as far as their budgets go; the first one that is left begins the
    /// next time.
    fn serve(&mut self, now_ns: u64) -> Vec<ClientCall> {
        let places = CLIENTS_MAX + self.doors.len();
        let mut calls = Vec::new();
        let (first, mut left) = (self.first, None);
        for step in 0..places {
            let place = (first + step) % places;
            let is_served = match place.checked_sub(CLIENTS_MAX) {
                Some(door) if self.doors[door].is_quiet => true,
                Some(door) => self.accept(door, now_ns),
                None => self.serve_client(place, now_ns, &mut calls),
            };
            left = left.or((!is_served).then_some(place));
        }
        self.first = left.unwrap_or(first);
        calls
    }

    /// Takes the call of one client, if it has one; false where its budget is used up.
    fn serve_client(&mut self, client: usize, now_ns: u64, calls: &mut Vec<ClientCall>) -> bool {
        let Some(connection) = self.connections[client].as_mut().filter(|one| one.wants_something()) else {
            return true;
        };
        if !self.budgets.calls_of(connection.peer).take(now_ns) {
            return false;
        }
        let outcome = connection.take_call(now_ns).and_then(|call| {
            let oneway = call.oneway == Some(true);
            match understand(&call) {
                Ok(method) => {
                    let Connection { peer, is_of_session, .. } = *connection;
                    calls.push(ClientCall { client, oneway, method, peer, is_of_session });
                }
                Err(reply) if !oneway => connection.answer(&reply, now_ns)?,
                Err(_) => {}
            }
            Ok(())
        });
        if outcome.is_err() {
            self.connections[client] = None;
        }
        true
    }

    /// Accepts pending connections, up to [`ACCEPTED_MAX`] for a token, while the table has space; false where the
    /// budget is used up. Those of users who may not come in, or beyond the share of their user, are closed at once.
    fn accept(&mut self, door: usize, now_ns: u64) -> bool {
        if self.budgets.doors.next_ns(now_ns).is_some() {
            return false;
        }
        for accepted in 0..ACCEPTED_MAX {
            let Some(place) = self.connections.iter().position(Option::is_none) else { break };
            // The mode of the socket decides about the right to connect.
            let Ok((stream, _)) = self.doors[door].listener.accept() else { break };
            if accepted == 0 {
                self.budgets.doors.take(now_ns);
            }
            let may_stay = |peer: &Peer| self.has_room_for(*peer) && self.doors[door].admits(*peer);
            let peer = peer_of(&stream).ok().filter(may_stay);
            if let Some(peer) = peer.filter(|_| stream.set_nonblocking(true).is_ok()) {
                let is_of_session = self.doors[door].sessions.is_some();
                self.connections[place] = Some(Connection::new(stream, peer, is_of_session, now_ns));
            }
        }
        true
    }

    fn has_room_for(&self, peer: Peer) -> bool {
        let count = |of: &dyn Fn(Peer) -> bool| self.connections.iter().flatten().filter(|one| of(one.peer)).count();
        let privileged = |peer: Peer| peer.uid == 0;
        privileged(peer)
            || (count(&|one| !privileged(one)) < STRANGERS_MAX && count(&|one| one == peer) < OF_ONE_USER_MAX)
    }

    /// Whether this peer may change something.
    #[must_use]
    pub fn may_change(&self, peer: Peer) -> bool {
        peer.uid == 0 || peer.uid == self.own_uid
    }

    pub fn answer(&mut self, call: &ClientCall, reply: &Reply, now_ns: u64) {
        let Some(place) = self.connections.get_mut(call.client) else { return };
        let Some(connection) = place else { return };
        connection.subscription = match call.method {
            _ if reply.error.is_some() => None,
            Method::Monitor => Some(Subscription::Events),
            Method::WatchLosses => Some(Subscription::Losses),
            _ => None,
        };
        if let Method::SetSound(pids) = &call.method
            && reply.error.is_none()
        {
            // More than are counted: one of those that are left is of no app.
            let of = pids.iter().copied().take(SOUND_MAX).chain((pids.len() > SOUND_MAX).then_some(0));
            connection.sound = Some(of.collect());
        }
        if !call.oneway && connection.answer(reply, now_ns).is_err() {
            *place = None;
        }
    }

    /// The processes that play or record by the sound servers of users, as connected sessions of these users tell.
    #[must_use]
    pub fn sound(&self) -> BTreeMap<u32, Vec<u32>> {
        let mut sound: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for connection in self.connections.iter().flatten() {
            if let Some(pids) = &connection.sound {
                sound.entry(connection.peer.uid).or_default().extend(pids);
            }
        }
        sound
    }

    /// Whether a client is subscribed to events.
    #[must_use]
    pub fn is_monitored(&self) -> bool {
        self.connections.iter().flatten().any(|one| one.subscription == Some(Subscription::Events))
    }

    /// Sends an event to all subscribers; one that does not read is dropped.
    pub fn tell(&mut self, reply: &Reply, now_ns: u64) {
        self.send(reply, now_ns, |one| one.subscription == Some(Subscription::Events));
    }

    /// Sends the loss of an app to those who hear of losses: root, and the user whose app it was, where that is known.
    pub fn tell_loss(&mut self, reply: &Reply, owner: Option<u32>, now_ns: u64) {
        let is_theirs = |peer: Peer| peer.uid == 0 || Some(peer.uid) == owner;
        self.send(reply, now_ns, |one| one.subscription == Some(Subscription::Losses) && is_theirs(one.peer));
    }

    fn send(&mut self, reply: &Reply, now_ns: u64, is_meant: impl Fn(&Connection) -> bool) {
        let reply = Reply { continues: Some(true), ..reply.clone() };
        for place in &mut self.connections {
            if let Some(connection) = place
                && is_meant(connection)
                && connection.answer(&reply, now_ns).is_err()
            {
                *place = None;
            }
        }
    }
}

fn peer_of(stream: &UnixStream) -> io::Result<Peer> {
    Ok(Peer { uid: socket_peercred(stream)?.uid.as_raw() })
}

#[cfg(test)]
mod tests;
