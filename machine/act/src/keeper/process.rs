//! What runs in the keeper: waits for the end of brisk, and thaws.
//!
//! It sleeps in one recvmsg(2), holds a descriptor for each frozen group, and costs little memory: what its start has
//! touched of the program's files is let go before the loop, which brings a few pages of it back.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::process::ExitCode;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mm::{Advice, madvise};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send};
use rustix::stdio::stdin;

use super::Key;
use super::message::{self, Message, READY};

/// How often a group that the kernel refuses to thaw is tried, and the time in between.
const TRIES: u32 = 100;
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// What is read at once of the list of its own mappings.
const SMAPS_BYTES: usize = 1 << 10;

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
        let_go_of_files();
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

/// Takes what the start has used of the program's files out of memory. What runs next is read again, mostly from the
/// page cache, since brisk runs the same program.
fn let_go_of_files() {
    let Ok(file) = File::open("/proc/self/smaps") else { return };
    for (start, end) in unchanged_files(BufReader::with_capacity(SMAPS_BYTES, file)) {
        // SAFETY: the mapping cannot be written and has no page of its own, so its contents are the file's, which the
        // kernel brings back at the next access.
        let _ = unsafe { madvise(std::ptr::without_provenance_mut(start), end - start, Advice::LinuxDontNeed) };
    }
}

/// The addresses of mappings that hold what their files hold and cannot be written, from the text of /proc/PID/smaps
/// (proc_pid_smaps(5)). A part that the loader has written and then protected has pages of its own (`Anonymous`).
fn unchanged_files(smaps: impl BufRead) -> Vec<(usize, usize)> {
    let number = |hex: &str| usize::from_str_radix(hex, 16).ok();
    let head = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let range = (number(start)?, number(end)?);
        let is_fixed = words.next()?.starts_with("r-") && words.nth(3).is_some_and(|path| path.starts_with('/'));
        Some(is_fixed.then_some(range))
    };
    let (mut current, mut found) = (None, Vec::new());
    for line in smaps.lines().map_while(Result::ok) {
        if let Some(range) = head(&line) {
            current = range;
        } else if line.strip_prefix("Anonymous:").is_some_and(|size| size.trim() == "0 kB") {
            found.extend(current.take());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_as_on_disk_are_let_go_and_nothing_else() {
        let mapping = |head: &str, anonymous: u32| {
            format!("{head}\nSize:    8 kB\nRss:     8 kB\nAnonymous:   {anonymous} kB\nVmFlags: rd mr mw me\n")
        };
        let text = [
            mapping("55a0-55b0 r-xp 00001000 fd:00 42                   /usr/sbin/briskd", 0),
            // Written by the loader and protected since.
            mapping("55b0-55c0 r--p 00001000 fd:00 42                   /usr/sbin/briskd", 8),
            mapping("55c0-55d0 rw-p 00001000 fd:00 42                   /usr/sbin/briskd", 0),
            mapping("55d0-55e0 r--p 00001000 fd:00 42                   /usr/lib/a b-c.so", 0),
            mapping("7ffd-7fff r-xp 00000000 00:00 0                    [vdso]", 0),
            mapping("7fff-8000 r--p 00000000 00:00 0", 0),
        ];
        assert_eq!(unchanged_files(text.concat().as_bytes()), [(0x55a0, 0x55b0), (0x55d0, 0x55e0)]);
        assert_eq!(unchanged_files(&b"x-y r-xp\nAnonymous: 0 kB\n\xff\n"[..]), []);
    }
}
