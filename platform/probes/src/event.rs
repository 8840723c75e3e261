//! What the kernel said of a thread, in order of time.

/// One event of a watched thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// The thread (kernel's pid, in the first pid namespace) that the event is about.
    pub tid: u32,
    /// What happened.
    pub kind: Kind,
}

/// What happened to a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A new thread; it may be the first of a new process. It is runnable only when [`Kind::Runnable`] says so.
    ///
    /// Also the first thread of a process that came into the group from another; its further threads appear with their
    /// first event.
    Born {
        /// Its process.
        pid: u32,
        /// The thread that made it.
        parent_tid: u32,
    },
    /// The process runs a new program.
    Exec {
        /// First 15 bytes of its name, as the kernel keeps them; may hold any byte but NUL.
        name: Vec<u8>,
    },
    /// The thread ended, and has left the processor for the last time; or it left the group.
    Died,
    /// It could run: woken, or put off the processor while it still wanted to run. May be said twice.
    Runnable,
    /// It got a processor.
    Running,
    /// It left the processor to wait.
    Waiting(Wait),
    /// It began to free memory for itself (direct reclaim).
    ReclaimBegan,
    /// It ended that.
    ReclaimEnded,
    /// It sent bytes to, or asked for a connection with, another machine or socket over IP.
    Network(Connection),
    /// It handed a request to the block layer. What drivers that stack on others (dm, md) make of it is not said again.
    Submitted(Request),
    /// A request that was handed in as [`Kind::Submitted`] is done. `tid` is the submitter's, which may have died. Of one
    /// that was cut to what the device takes, the end of the part with the highest sectors.
    Completed {
        /// Device number, as the kernel encodes it ([`major_minor`]).
        device: u32,
        /// First sector of 512 bytes.
        sector: u64,
    },
}

/// Why a thread waits: what the kernel was doing for it when it left the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Counted as waiting for I/O by the scheduler (`in_iowait`). Who waits for a journal (fsync) is not.
    pub io: bool,
    /// Sleep that no signal ends (state D).
    pub uninterruptible: bool,
    /// Number of the system call it is in, `None` in a page fault, in the kernel's own threads, in those of io_uring, and
    /// in 32-bit programs on a 64-bit kernel, whose calls have other numbers.
    pub system_call: Option<u32>,
}

/// Something about a socket of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// A connection was asked for; `socket` tells sockets apart. TCP only; a UDP socket begins with [`Connection::Sent`].
    Opening {
        /// Kernel's identity of the socket, opaque.
        socket: u64,
    },
    /// It stands, or failed, or was closed: nothing is awaited from it any more. `tid` is that of who asked for it. A socket
    /// of UDP only fails: nobody listens there, or no way leads there.
    Opened {
        /// Kernel's identity of the socket, opaque.
        socket: u64,
    },
    /// Bytes went out.
    Sent {
        /// Kernel's identity of the socket, opaque.
        socket: u64,
        /// How many.
        bytes: u64,
        /// Whether the other end is this machine itself; not known, hence false, for UDP without a connection.
        loopback: bool,
    },
    /// Bytes came in and were taken.
    Received {
        /// Kernel's identity of the socket, opaque.
        socket: u64,
        /// How many; none when the other end has closed.
        bytes: u64,
    },
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Reads a file, or a file system's own blocks.
    Read,
    /// Reads a page back from swap.
    SwapIn,
    /// Writes.
    Write,
    /// Writes a page to swap.
    SwapOut,
    /// Flush.
    Flush,
    /// Discard or write of zeroes.
    Discard,
}

/// A request at the block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Device number of the whole disk, as the kernel encodes it ([`major_minor`]).
    pub device: u32,
    /// First sector of 512 bytes, counted on the whole disk. A flush has none: 0.
    pub sector: u64,
    /// Length.
    pub bytes: u32,
    /// What it does.
    pub operation: Operation,
    /// A write that somebody waits for (REQ_SYNC), as opposed to writeback. Reads need not say so.
    pub sync: bool,
    /// Comes from the read-ahead (REQ_RAHEAD). Kernels of today send nearly all reads of cached files that way, also what
    /// was asked for and is waited for.
    pub read_ahead: bool,
    /// The file it is for, and the place in it in bytes; `None` for metadata and direct I/O.
    pub file: Option<(Inode, u64)>,
}

/// A file, by the numbers that the kernel knows it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inode {
    /// Device number of its file system, as the kernel encodes it ([`major_minor`]); as in mountinfo, and on btrfs not as
    /// in stat.
    pub device: u32,
    /// Inode number.
    pub number: u64,
}

/// The numbers in a device number as the kernel encodes it (include/linux/kdev_t.h), which is not how stat does.
#[must_use]
pub const fn major_minor(device: u32) -> (u32, u32) {
    (device >> 20, device & 0xf_ffff)
}
