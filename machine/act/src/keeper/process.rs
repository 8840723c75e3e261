//! What runs in the keeper: waits for the end of brisk, and thaws.
//!
//! It sleeps in one recvmsg(2), holds a descriptor for each frozen group, and costs little memory: what its start has
//! touched of the program's files is let go before the loop, which brings a few pages of it back.

use std::fs::File;
use std::io::{self, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::process::ExitCode;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send};
use rustix::stdio::stdin;

use super::Key;
use super::message::{self, Message, READY};

/// How often a group that the kernel refuses to thaw is tried, and the time in between.
const TRIES: u32 = 100;
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// Holds what brisk gives it by the socket at standard input, and thaws all of it when brisk has ended. For the hidden
/// mode of brisk's program.
#[must_use]
pub fn keep() -> ExitCode {
    // Only a name: without it the keeper is called as its program.
    let _ = rustix::thread::set_name(c"briskd-keeper");
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE] {
        // SAFETY: no handler runs; the disposition of this process is all that changes, and it has one thread.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    brisk_program::log::serve();
    let mut held = Vec::new();
    let outcome = send(stdin(), &READY, SendFlags::NOSIGNAL).map_err(io::Error::from).and_then(|_| {
        brisk_program::memory::let_go_of_files();
        serve(stdin(), &mut held)
    });
    let is_of_brisk = !matches!(&outcome, Err(error) if error.raw_os_error() == Some(libc::ENOTSOCK));
    if !is_of_brisk {
        brisk_program::error!("briskd-keeper: briskd starts this program, with a socket as its standard input");
        return ExitCode::from(2);
    }
    let frozen = held.len();
    let refused = held.iter().filter(|(key, dir)| !thaw(*key, dir)).count();
    if frozen > 0 {
        brisk_program::warn!(
            "briskd-keeper: briskd has ended; thawed {} of {frozen} groups that it had frozen",
            frozen - refused
        );
    }
    if refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Takes messages until brisk has ended.
fn serve(socket: BorrowedFd<'_>, held: &mut Vec<(Key, OwnedFd)>) -> io::Result<()> {
    loop {
        let mut bytes = [0; message::BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received =
            match recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                Err(Errno::INTR) => continue,
                received => received?,
            };
        if received.bytes == 0 {
            return Ok(());
        }
        let mut dir = None;
        for part in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(dirs) = part {
                dir = dirs.last();
            }
        }
        match (Message::decode(&bytes[..received.bytes]), dir) {
            (Some(Message::Hold(key)), Some(dir)) => {
                held.retain(|(known, _)| *known != key);
                held.push((key, dir));
                send(socket, &message::confirmation(key), SendFlags::NOSIGNAL)?;
            }
            (Some(Message::Release(key)), _) => held.retain(|(known, _)| *known != key),
            // Out of step with brisk: to end is what it notices.
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Thaws a group; `false` when the kernel refuses. One that is gone needs nothing.
fn thaw((freezer, _): Key, dir: &OwnedFd) -> bool {
    let write = || -> io::Result<()> {
        let file = openat(dir, freezer.file(), OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        File::from(file).write_all(freezer.thawed().as_bytes())
    };
    for _ in 0..TRIES {
        match write().map_err(|error| error.raw_os_error()) {
            Ok(()) | Err(Some(libc::ENOENT | libc::ENODEV)) => return true,
            Err(_) => std::thread::sleep(TRY_AGAIN),
        }
    }
    false
}
