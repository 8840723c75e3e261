//! Where browsers connect: loopback addresses and Unix sockets, and the check of whose process is at the other end.
//!
//! The kernel says whose a connection is, of a Unix socket by its credentials, of TCP by its table of connections. So a
//! port of 127.0.0.1, which every user of the machine can reach, is as private as a socket file.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use brisk_command::web::Address;
use brisk_sense::Sense;
use rustix::net::sockopt::socket_peercred;

#[derive(Debug)]
pub(crate) enum Door {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Door {
    pub(crate) fn open(address: &Address) -> anyhow::Result<Self> {
        match address {
            Address::Tcp(address) => {
                let listener = TcpListener::bind(address).with_context(|| format!("cannot listen at {address}"))?;
                Ok(Self::Tcp(listener))
            }
            Address::Unix(path) => {
                let listener = bind(path).with_context(|| format!("cannot listen at {}", path.display()))?;
                Ok(Self::Unix(listener))
            }
        }
    }

    /// The sockets that the service manager has opened for this process.
    pub(crate) fn given() -> anyhow::Result<Vec<Self>> {
        let given = sd_notify::listen_fds().context("cannot take the sockets of the service manager")?;
        let door = |fd| {
            // SAFETY: the service manager gave this descriptor to this process, and nothing else has taken it.
            let fd = unsafe { OwnedFd::from_raw_fd(fd) };
            match rustix::net::sockopt::socket_domain(&fd)? {
                rustix::net::AddressFamily::UNIX => Ok(Self::Unix(fd.into())),
                _ => {
                    let listener = TcpListener::from(fd);
                    match listener.local_addr()? {
                        address if address.ip().is_loopback() => Ok(Self::Tcp(listener)),
                        address => bail!("the socket of the unit is at {address}, which other machines reach"),
                    }
                }
            }
        };
        given.map(door).collect()
    }

    /// Where browsers find it; `None` of a Unix socket, which browsers do not open.
    pub(crate) fn url(&self) -> Option<String> {
        match self {
            Self::Tcp(listener) => Some(format!("http://{}", listener.local_addr().ok()?)),
            Self::Unix(_) => None,
        }
    }

    /// Connection that waits; an error where it is of another user.
    pub(crate) fn accept(&self, sense: &Sense) -> io::Result<Stream> {
        let own = rustix::process::geteuid().as_raw();
        let (stream, owner) = match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept()?;
                // A reply goes out at once, not with the next one.
                stream.set_nodelay(true)?;
                let owner = sense.tcp_owner(peer, stream.local_addr()?).map_err(io::Error::other)?;
                (Stream::Tcp(stream), owner)
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                let owner = socket_peercred(&stream)?.uid.as_raw();
                (Stream::Unix(stream), Some(owner))
            }
        };
        match owner {
            Some(user) if user == own || user == 0 => Ok(stream),
            Some(user) => {
                Err(io::Error::other(format!("refused a connection of user {user}: the page is of user {own}")))
            }
            // It is gone already.
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

/// A socket for its owner alone; one of this user that a killed process left is replaced, and nothing else.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let is_own_socket =
        |found: std::fs::Metadata| found.file_type().is_socket() && found.uid() == rustix::process::geteuid().as_raw();
    // Also what is no socket refuses a connection.
    if std::fs::symlink_metadata(path).is_ok_and(is_own_socket)
        && UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener) => listener.as_fd(),
        }
    }
}

impl Stream {
    pub(crate) fn is_unix(&self) -> bool {
        matches!(self, Self::Unix(_))
    }

    /// How long one read, and one write, may take.
    pub(crate) fn limit(&self, read: Duration, write: Duration) -> io::Result<()> {
        let (read, write) = (Some(read), Some(write));
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(read).and_then(|()| stream.set_write_timeout(write)),
            Self::Unix(stream) => stream.set_read_timeout(read).and_then(|()| stream.set_write_timeout(write)),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.flush(),
            Self::Unix(stream) => stream.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_this_user_are_let_in_by_tcp_and_by_socket() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("socket");
        let door = Door::open(&Address::Unix(path.clone())).expect("a socket");
        let _client = UnixStream::connect(&path).expect("connected");
        assert!(door.accept(&Sense::default()).expect("let in").is_unix());
        let door = Door::open(&Address::Tcp("127.0.0.1:0".parse().expect("an address"))).expect("a port");
        let address = door.url().expect("a URL").replace("http://", "");
        let _client = TcpStream::connect(address).expect("connected");
        assert!(!door.accept(&Sense::default()).expect("let in").is_unix());
    }

    #[test]
    fn the_socket_of_a_killed_process_is_replaced_and_of_a_running_one_not() {
        let dir = tempfile::tempdir().expect("a directory");
        let address = Address::Unix(dir.path().join("socket"));
        drop(Door::open(&address).expect("a socket"));
        let _running = Door::open(&address).expect("replaced");
        assert!(Door::open(&address).is_err());
    }

    #[test]
    fn what_is_no_socket_is_not_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        let (file, link) = (dir.path().join("thesis.odt"), dir.path().join("link"));
        drop(Door::open(&Address::Unix(dir.path().join("socket"))).expect("a socket"));
        std::fs::write(&file, "precious").expect("written");
        std::os::unix::fs::symlink(dir.path().join("socket"), &link).expect("a link");
        for path in [&file, &link] {
            assert!(Door::open(&Address::Unix(path.clone())).is_err());
            assert!(path.symlink_metadata().is_ok(), "{} is there", path.display());
        }
        assert_eq!(std::fs::read_to_string(file).expect("there"), "precious");
    }
}
