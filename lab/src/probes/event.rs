//! Events of threads.

/// One event of a watched thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub at_ns: u64,
    /// The thread (kernel's pid, in the first pid namespace) that the event is about.
    pub tid: u32,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A new thread; it may be the first of a new process. It is runnable only when [`Kind::Runnable`] says so.
    ///
    /// Also the first thread of a process that came into the group from another; its further threads appear with their
    /// first event.
    Born {
        pid: u32,
        /// The thread that made it.
        parent_tid: u32,
    },
    /// The process runs a new program.
    Exec {
        /// First 15 bytes of its name, as the kernel keeps them; may hold any byte but NUL.
        name: Vec<u8>,
    },
    /// The thread ended, and left the processor for the last time; or it left the group.
    Died,
    /// It became runnable: woken, or preempted. May be reported twice.
    Runnable,
    Running,
    /// It stopped running, to wait.
    Waiting(Wait),
    ReclaimBegan,
    ReclaimEnded,
    /// It sent bytes to, or requested a connection with, another machine or socket over IP.
    Network(Connection),
    /// It submitted a request to the block layer. Requests derived by stacking drivers (dm, md) are not reported.
    Submitted(Request),
    /// A request of [`Kind::Submitted`] completed. `tid` is the submitter's, which may have died. For a split request,
    /// the completion of the part with the highest sectors.
    Completed {
        /// Device number, as the kernel encodes it ([`major_minor`]).
        device: u32,
        /// First sector of 512 bytes.
        sector: u64,
    },
}

/// Wait of a thread: the kernel's state when it stopped running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Counted as waiting for I/O by the scheduler (`in_iowait`). Waiting for a journal (fsync) is not.
    pub io: bool,
    /// Sleep that no signal ends (state D).
    pub uninterruptible: bool,
    /// Number of the system call it is in, `None` in a page fault, in the kernel's own threads, in those of io_uring,
    /// and in 32-bit programs on a 64-bit kernel, whose calls have other numbers.
    pub system_call: Option<u32>,
}

/// Event of an IP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// A connection was requested; `socket` distinguishes sockets. TCP only; a UDP socket begins with
    /// [`Connection::Sent`].
    Opening {
        /// Kernel's identity of the socket, opaque.
        socket: u64,
    },
    /// The connection was established, failed or closed: the wait for it is over. `tid` is that of the requester. A UDP
    /// socket only fails: no listener or no route.
    Opened {
        /// Kernel's identity of the socket, opaque.
        socket: u64,
    },
    Sent {
        /// Kernel's identity of the socket, opaque.
        socket: u64,
        bytes: u64,
        /// Whether the other end is this machine; unknown, hence false, for UDP without a connection.
        loopback: bool,
    },
    Received {
        /// Kernel's identity of the socket, opaque.
        socket: u64,
        /// How many; none when the other end has closed.
        bytes: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Reads a file, or a file system's own blocks.
    Read,
    /// Reads a page back from swap.
    SwapIn,
    Write,
    /// Writes a page to swap.
    SwapOut,
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
    pub bytes: u32,
    pub operation: Operation,
    /// A synchronous write (REQ_SYNC), as opposed to writeback. Reads may lack the flag.
    pub sync: bool,
    /// From read-ahead (REQ_RAHEAD). Current kernels mark nearly all reads of cached files so, including those that a
    /// thread waits for.
    pub read_ahead: bool,
    /// The file it is for, and the place in it in bytes; `None` for metadata and direct I/O.
    pub file: Option<(Inode, u64)>,
}

/// Identity of a file in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inode {
    /// Device number of its file system, as the kernel encodes it ([`major_minor`]); as in mountinfo, and on btrfs not
    /// as in stat.
    pub device: u32,
    pub number: u64,
}

/// The numbers in a device number as the kernel encodes it (include/linux/kdev_t.h), which is not how stat does.
#[must_use]
pub const fn major_minor(device: u32) -> (u32, u32) {
    (device >> 20, device & 0xf_ffff)
}
