//! The messages of the FUSE protocol (kernel: include/uapi/linux/fuse.h, protocol 7.x) for a file system with one file.
//!
//! Pure parsing of bytes to values; short, long and unknown messages are distinguished and never cause a panic
//! (`arbitrary_bytes_never_panic_the_parser`). Numbers are in native byte order, as the kernel writes them.

use crate::device::bytes::Bytes;

/// Node of the root directory (fixed by the protocol).
pub(crate) const ROOT: u64 = 1;
pub(crate) const FILE: u64 = 2;
/// Largest write payload and read that the server takes.
pub(crate) const MAX_IO_BYTES: usize = 1 << 20;
/// Bytes before a write's payload.
const WRITE_HEAD_BYTES: usize = IN_HEADER_BYTES + 40;
/// A buffer for any message: payload and headers.
pub(crate) const MESSAGE_BYTES_MAX: usize = MAX_IO_BYTES + WRITE_HEAD_BYTES + 4096;

const IN_HEADER_BYTES: usize = 40;
const OUT_HEADER_BYTES: usize = 16;
const PROTOCOL_MAJOR: u32 = 7;
/// Newest minor version of the protocol that the replies below follow.
const PROTOCOL_MINOR: u32 = 38;

const ASYNC_READ: u32 = 1 << 0;
const BIG_WRITES: u32 = 1 << 5;
const ASYNC_DIO: u32 = 1 << 15;
const PARALLEL_DIROPS: u32 = 1 << 18;
const MAX_PAGES: u32 = 1 << 22;
/// Without asynchronous direct I/O only one request at a time would reach the model.
const FLAGS_NEEDED: u32 = ASYNC_DIO | MAX_PAGES;
const FLAGS_WANTED: u32 = ASYNC_READ | BIG_WRITES | PARALLEL_DIROPS | FLAGS_NEEDED;

/// Most background requests of the kernel; its default of 12 would limit the queue depth.
const MAX_BACKGROUND: u16 = 1024;

const FOPEN_DIRECT_IO: u32 = 1 << 0;
const FOPEN_PARALLEL_DIRECT_WRITES: u32 = 1 << 6;

const FALLOC_KEEP_SIZE: u32 = 0x01;
const FALLOC_PUNCH_HOLE: u32 = 0x02;
const FALLOC_ZERO_RANGE: u32 = 0x10;

/// One message from the kernel.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    /// Number that the reply carries.
    pub(crate) unique: u64,
    pub(crate) node: u64,
    pub(crate) call: Call<'a>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Call<'a> {
    Init {
        major: u32,
        minor: u32,
        max_readahead: u32,
        flags: u32,
    },
    Lookup {
        name: &'a [u8],
    },
    GetAttr,
    Open,
    Read {
        offset_bytes: u64,
        len_bytes: u32,
    },
    Write {
        offset_bytes: u64,
        data: &'a [u8],
    },
    Fsync,
    /// Close of a descriptor: no effect.
    Flush,
    Release,
    /// A punched hole or zeroed range without change of size: loop's form of a discard.
    Discard {
        offset_bytes: u64,
        len_bytes: u64,
    },
    StatFs,
    Destroy,
    /// Messages without a reply: forget and interrupt.
    Silent,
    Unknown,
}

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Malformed {
    NoHeader,
    /// The header is complete, the rest is not; an error reply is possible.
    Body {
        unique: u64,
    },
}

/// Parses numbers from the front of a slice.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk::<N>()?;
        self.0 = tail;
        Some(*head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_ne_bytes)
    }

    fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// Parses a message of `/dev/fuse`.
pub(crate) fn parse(bytes: &[u8]) -> Result<Message<'_>, Malformed> {
    let mut head = Fields(bytes);
    let header = (|| {
        let (len, opcode, unique, node) = (head.u32()?, head.u32()?, head.u64()?, head.u64()?);
        head.take::<16>()?;
        Some((len, opcode, unique, node))
    })();
    let (len, opcode, unique, node) = header.ok_or(Malformed::NoHeader)?;
    let body = head.rest();
    if len as usize != bytes.len() {
        return Err(Malformed::Body { unique });
    }
    let call = parse_call(opcode, body).ok_or(Malformed::Body { unique })?;
    Ok(Message { unique, node, call })
}

fn parse_call(opcode: u32, body: &[u8]) -> Option<Call<'_>> {
    let mut fields = Fields(body);
    Some(match opcode {
        1 => Call::Lookup { name: body.strip_suffix(&[0])? },
        2 | 36 | 42 => Call::Silent,
        3 => Call::GetAttr,
        14 => Call::Open,
        15 => {
            fields.u64()?;
            Call::Read { offset_bytes: fields.u64()?, len_bytes: fields.u32()? }
        }
        16 => {
            fields.u64()?;
            let (offset_bytes, len) = (fields.u64()?, fields.u32()?);
            fields.take::<20>()?;
            let data = fields.rest();
            if data.len() != len as usize {
                return None;
            }
            Call::Write { offset_bytes, data }
        }
        17 => Call::StatFs,
        18 => Call::Release,
        20 => Call::Fsync,
        25 => Call::Flush,
        26 => Call::Init {
            major: fields.u32()?,
            minor: fields.u32()?,
            max_readahead: fields.u32()?,
            flags: fields.u32()?,
        },
        38 => Call::Destroy,
        43 => {
            fields.u64()?;
            let (offset_bytes, len_bytes, mode) = (fields.u64()?, fields.u64()?, fields.u32()?);
            let frees = mode & !FALLOC_KEEP_SIZE;
            if mode & FALLOC_KEEP_SIZE != 0 && (frees == FALLOC_PUNCH_HOLE || frees == FALLOC_ZERO_RANGE) {
                Call::Discard { offset_bytes, len_bytes }
            } else {
                Call::Unknown
            }
        }
        _ => Call::Unknown,
    })
}

impl Bytes {
    /// `struct fuse_attr`.
    fn attr(self, node: u64, size_bytes: u64) -> Self {
        let (mode, links, size) = if node == ROOT { (0o040_500, 2, 0) } else { (0o100_600, 1, size_bytes) };
        self.u64(node)
            .u64(size)
            .u64(size / 512)
            .u64(0) // access, modification and change times
            .u64(0)
            .u64(0)
            .u32(0)
            .u32(0)
            .u32(0)
            .u32(mode)
            .u32(links)
            .u32(0) // owner, group, device
            .u32(0)
            .u32(0)
            .u32(4096)
            .u32(0)
    }
}

/// How long the kernel may cache attributes: they never change.
const VALID_S: u64 = u32::MAX as u64;

/// The head of each reply; `error` is a positive errno or zero.
pub(crate) fn out_header(unique: u64, error: i32, body_bytes: usize) -> [u8; OUT_HEADER_BYTES] {
    let len = u32::try_from(OUT_HEADER_BYTES + body_bytes).unwrap_or(u32::MAX);
    let mut head = [0; OUT_HEADER_BYTES];
    head[..4].copy_from_slice(&len.to_ne_bytes());
    head[4..8].copy_from_slice(&(-error).to_ne_bytes());
    head[8..].copy_from_slice(&unique.to_ne_bytes());
    head
}

/// Body of the reply to [`Call::Init`]; `None` when the kernel lacks what the lab needs.
pub(crate) fn init_reply(major: u32, minor: u32, max_readahead: u32, flags: u32) -> Option<Vec<u8>> {
    if major != PROTOCOL_MAJOR || flags & FLAGS_NEEDED != FLAGS_NEEDED {
        return None;
    }
    let body = Bytes::default()
        .u32(PROTOCOL_MAJOR)
        .u32(minor.min(PROTOCOL_MINOR))
        .u32(max_readahead)
        .u32(flags & FLAGS_WANTED)
        .u16(MAX_BACKGROUND)
        .u16(MAX_BACKGROUND)
        .u32(MAX_IO_BYTES as u32)
        .u32(1)
        .u16((MAX_IO_BYTES / 4096) as u16)
        .u16(0)
        .u32(0);
    Some((0..7).fold(body, |body, _| body.u32(0)).0)
}

/// Body of the reply to [`Call::Lookup`]: `struct fuse_entry_out`.
pub(crate) fn entry_reply(size_bytes: u64) -> Vec<u8> {
    Bytes::default().u64(FILE).u64(0).u64(VALID_S).u64(VALID_S).u32(0).u32(0).attr(FILE, size_bytes).0
}

/// Body of the reply to [`Call::GetAttr`]: `struct fuse_attr_out`.
pub(crate) fn attr_reply(node: u64, size_bytes: u64) -> Vec<u8> {
    Bytes::default().u64(VALID_S).u32(0).u32(0).attr(node, size_bytes).0
}

/// Body of the reply to [`Call::Open`]: no page cache below the loop device, parallel writes.
pub(crate) fn open_reply() -> Vec<u8> {
    Bytes::default().u64(0).u32(FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES).u32(0).0
}

/// Body of the reply to [`Call::Write`].
pub(crate) fn write_reply(len_bytes: u32) -> [u8; 8] {
    let mut body = [0; 8];
    body[..4].copy_from_slice(&len_bytes.to_ne_bytes());
    body
}

/// Body of the reply to [`Call::StatFs`]: loop derives its discard granularity from this block size.
pub(crate) fn statfs_reply(size_bytes: u64) -> Vec<u8> {
    let counts = Bytes::default().u64(size_bytes / 4096).u64(0).u64(0).u64(1).u64(0);
    (0..6).fold(counts.u32(4096).u32(255).u32(4096).u32(0), |body, _| body.u32(0)).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(opcode: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes =
            Bytes::default().u32((IN_HEADER_BYTES + body.len()) as u32).u32(opcode).u64(77).u64(FILE).u64(0).u64(0).0;
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn a_write_carries_its_payload() {
        let body = Bytes::default().u64(0).u64(8192).u32(3).u32(0).u64(0).u32(0).u32(0).0;
        let mut bytes = message(16, &body);
        bytes.extend(b"abc");
        let len = bytes.len() as u32;
        bytes[..4].copy_from_slice(&len.to_ne_bytes());
        let wanted = Message { unique: 77, node: FILE, call: Call::Write { offset_bytes: 8192, data: b"abc" } };
        assert_eq!(parse(&bytes), Ok(wanted));
    }

    #[test]
    fn a_payload_shorter_than_it_says_is_malformed() {
        let body = Bytes::default().u64(0).u64(0).u32(4096).u32(0).u64(0).u32(0).u32(0).0;
        assert_eq!(parse(&message(16, &body)), Err(Malformed::Body { unique: 77 }));
        assert_eq!(parse(b"short"), Err(Malformed::NoHeader));
    }

    #[test]
    fn holes_and_zeroes_are_discards_and_growth_is_refused() {
        for (mode, call) in [
            (3, Call::Discard { offset_bytes: 4096, len_bytes: 8192 }),
            (0x11, Call::Discard { offset_bytes: 4096, len_bytes: 8192 }),
            (0, Call::Unknown),
            (2, Call::Unknown),
            (0x09, Call::Unknown),
        ] {
            let body = Bytes::default().u64(0).u64(4096).u64(8192).u32(mode).u32(0).0;
            assert_eq!(parse(&message(43, &body)).map(|m| m.call), Ok(call), "mode {mode}");
        }
    }

    #[test]
    fn replies_have_the_sizes_that_the_kernel_demands() {
        let flags = FLAGS_WANTED | 1 << 30;
        assert_eq!(init_reply(7, 45, 1 << 17, flags).map(|b| b.len()), Some(64));
        assert_eq!(init_reply(7, 45, 1 << 17, flags & !ASYNC_DIO), None);
        assert_eq!(entry_reply(1 << 24).len(), 128);
        assert_eq!(attr_reply(FILE, 1 << 24).len(), 104);
        assert_eq!(open_reply().len(), 16);
        assert_eq!(statfs_reply(1 << 24).len(), 80);
    }

    #[test]
    fn an_errno_is_negative_on_the_wire() {
        let head = out_header(9, 5, 8);
        assert_eq!(head[..4], 24u32.to_ne_bytes());
        assert_eq!(head[4..8], (-5i32).to_ne_bytes());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic_the_parser(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn arbitrary_bodies_never_panic_the_parser(
            opcode in 0u32..60, body in prop::collection::vec(any::<u8>(), 0..128)
        ) {
            let bytes = message(opcode, &body);
            if let Ok(Message { call: Call::Write { data, .. }, .. }) = parse(&bytes) {
                prop_assert!(data.len() <= body.len());
            }
        }
    }
}
