//! Parses records, the structures of `bpf/record.h`; both must be changed together.

use crate::probes::event::{Connection, Event, Inode, Kind, Operation, Request, Wait};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    Event(Event),
    /// An event that happened unseen at an earlier time.
    Late(Event),
    /// A new thread, with the name it inherits.
    Born {
        at_ns: u64,
        tid: u32,
        pid: u32,
        parent_tid: u32,
        name: Vec<u8>,
    },
    /// An existing process moved into the group.
    MovedIn {
        at_ns: u64,
        tid: u32,
        pid: u32,
        parent_tid: u32,
        name: Vec<u8>,
        running: bool,
    },
    /// A process, or one of its threads, moved to an unwatched group; it may have been in one before.
    MovedOut {
        at_ns: u64,
        tid: u32,
        pid: u32,
        whole: bool,
    },
    /// A new program; the thread had the id `old_tid` before.
    Exec {
        at_ns: u64,
        tid: u32,
        old_tid: u32,
        name: Vec<u8>,
    },
    /// A thread changed its name.
    Renamed {
        tid: u32,
        name: Vec<u8>,
    },
    /// The name of a file or directory in its directory.
    FileName {
        inode: Inode,
        parent: u64,
        name: Vec<u8>,
    },
}

/// Reads fields of a record in order, in native byte order.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (field, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(field)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_ne_bytes(self.take(2)?.try_into().ok()?))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.take(8)?.try_into().ok()?))
    }

    /// A name of a thread: up to the first NUL.
    fn name(&mut self) -> Option<Vec<u8>> {
        let field = self.take(16)?;
        Some(field.split(|&byte| byte == 0).next().unwrap_or_default().to_vec())
    }
}

/// Parses `bytes`; `None` when they are not a record.
pub(crate) fn parse(bytes: &[u8]) -> Option<Record> {
    let mut fields = Fields(bytes);
    let at_ns = fields.u64()?;
    let tid = fields.u32()?;
    let kind = fields.u16()?;
    let flags = fields.u16()?;
    let event = |kind| Some(Record::Event(Event { at_ns, tid, kind }));
    match kind {
        1 | 16 => {
            let (pid, parent_tid, name) = (fields.u32()?, fields.u32()?, fields.name()?);
            Some(match kind {
                1 => Record::Born { at_ns, tid, pid, parent_tid, name },
                _ => Record::MovedIn { at_ns, tid, pid, parent_tid, name, running: flags & 1 != 0 },
            })
        }
        2 | 15 => {
            let old_tid = fields.u32()?;
            fields.u32()?;
            let name = fields.name()?;
            Some(match kind {
                2 => Record::Exec { at_ns, tid, old_tid, name },
                _ => Record::Renamed { tid, name },
            })
        }
        3 => event(Kind::Died),
        4 => event(Kind::Runnable),
        5 => event(Kind::Running),
        6 => {
            let call = fields.u32()?;
            event(Kind::Waiting(Wait {
                io: flags & 1 != 0,
                uninterruptible: flags & 2 != 0,
                system_call: (flags & 4 != 0).then_some(call),
            }))
        }
        7 => event(Kind::ReclaimBegan),
        8 => event(Kind::ReclaimEnded),
        9..=12 => {
            let (socket, bytes) = (fields.u64()?, fields.u64()?);
            event(Kind::Network(match kind {
                9 => Connection::Opening { socket },
                10 => Connection::Opened { socket },
                11 => Connection::Sent { socket, bytes, loopback: flags & 1 != 0 },
                _ => Connection::Received { socket, bytes },
            }))
        }
        13 => event(Kind::Submitted(request(&mut fields, flags)?)),
        14 => {
            let sector = fields.u64()?;
            let event = Event { at_ns, tid, kind: Kind::Completed { device: fields.u32()?, sector } };
            Some(if flags & 1 != 0 { Record::Late(event) } else { Record::Event(event) })
        }
        17 => {
            let pid = fields.u32()?;
            Some(Record::MovedOut { at_ns, tid, pid, whole: fields.u32()? != 0 })
        }
        18 => {
            let (number, parent, device) = (fields.u64()?, fields.u64()?, fields.u32()?);
            let length = usize::try_from(fields.u32()?).ok()?;
            let name = fields.take(length)?.to_vec();
            Some(Record::FileName { inode: Inode { device, number }, parent, name })
        }
        _ => None,
    }
}

fn request(fields: &mut Fields, flags: u16) -> Option<Request> {
    let sector = fields.u64()?;
    let (device, bytes) = (fields.u32()?, fields.u32()?);
    let (number, offset_bytes, file_device) = (fields.u64()?, fields.u64()?, fields.u32()?);
    Some(Request {
        device,
        sector,
        bytes,
        operation: match flags & 0x0f {
            0 => Operation::Read,
            1 => Operation::SwapIn,
            2 => Operation::Write,
            3 => Operation::SwapOut,
            4 => Operation::Flush,
            5 => Operation::Discard,
            _ => return None,
        },
        sync: flags & 0x10 != 0,
        read_ahead: flags & 0x20 != 0,
        file: (flags & 0x40 != 0).then_some((Inode { device: file_device, number }, offset_bytes)),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(kind: u16, flags: u16, rest: &[&[u8]]) -> Vec<u8> {
        let head: [&[u8]; 4] = [&77u64.to_ne_bytes(), &42u32.to_ne_bytes(), &kind.to_ne_bytes(), &flags.to_ne_bytes()];
        [&head[..], rest].concat().concat()
    }

    fn event(kind: Kind) -> Option<Record> {
        Some(Record::Event(Event { at_ns: 77, tid: 42, kind }))
    }

    #[test]
    fn each_kind_of_record_is_parsed() {
        let n = |number: u32| number.to_ne_bytes();
        let w = |number: u64| number.to_ne_bytes();
        let wait = |io, uninterruptible, system_call| Kind::Waiting(Wait { io, uninterruptible, system_call });
        for (record, wanted) in [
            (bytes(3, 0, &[]), event(Kind::Died)),
            (bytes(4, 0, &[]), event(Kind::Runnable)),
            (bytes(5, 0, &[]), event(Kind::Running)),
            (bytes(6, 7, &[&n(230), &n(0)]), event(wait(true, true, Some(230)))),
            (bytes(6, 4, &[&n(0), &n(0)]), event(wait(false, false, Some(0)))),
            (bytes(6, 3, &[&n(u32::MAX), &n(0)]), event(wait(true, true, None))),
            (bytes(7, 0, &[]), event(Kind::ReclaimBegan)),
            (bytes(8, 0, &[]), event(Kind::ReclaimEnded)),
            (bytes(9, 0, &[&w(5), &w(0)]), event(Kind::Network(Connection::Opening { socket: 5 }))),
            (bytes(10, 0, &[&w(5), &w(0)]), event(Kind::Network(Connection::Opened { socket: 5 }))),
            (
                bytes(11, 1, &[&w(5), &w(9)]),
                event(Kind::Network(Connection::Sent { socket: 5, bytes: 9, loopback: true })),
            ),
            (bytes(12, 0, &[&w(5), &w(9)]), event(Kind::Network(Connection::Received { socket: 5, bytes: 9 }))),
            (bytes(14, 0, &[&w(8), &n(3), &n(0)]), event(Kind::Completed { device: 3, sector: 8 })),
            (
                bytes(14, 1, &[&w(8), &n(3), &n(0)]),
                Some(Record::Late(Event { at_ns: 77, tid: 42, kind: Kind::Completed { device: 3, sector: 8 } })),
            ),
            (
                bytes(1, 0, &[&n(7), &n(6), b"a b\0old rubbish."]),
                Some(Record::Born { at_ns: 77, tid: 42, pid: 7, parent_tid: 6, name: b"a b".to_vec() }),
            ),
            (
                bytes(2, 0, &[&n(41), &n(0), b"fifteen bytes!!\0"]),
                Some(Record::Exec { at_ns: 77, tid: 42, old_tid: 41, name: b"fifteen bytes!!".to_vec() }),
            ),
            (
                bytes(15, 0, &[&n(42), &n(0), b"\xff)\n(\0           "]),
                Some(Record::Renamed { tid: 42, name: b"\xff)\n(".to_vec() }),
            ),
            (bytes(17, 0, &[&n(7), &n(1)]), Some(Record::MovedOut { at_ns: 77, tid: 42, pid: 7, whole: true })),
            (
                bytes(18, 0, &[&w(12), &w(2), &n(3), &n(4), b"name and what was there before"]),
                Some(Record::FileName { inode: Inode { device: 3, number: 12 }, parent: 2, name: b"name".to_vec() }),
            ),
        ] {
            assert_eq!(parse(&record), wanted, "{record:?}");
        }
    }

    #[test]
    fn a_request_has_a_file_only_when_flagged() {
        let rest: &[&[u8]] = &[
            &2048u64.to_ne_bytes(),
            &3u32.to_ne_bytes(),
            &4096u32.to_ne_bytes(),
            &12u64.to_ne_bytes(),
            &8192u64.to_ne_bytes(),
            &5u32.to_ne_bytes(),
            &0u32.to_ne_bytes(),
        ];
        let mut request = Request {
            device: 3,
            sector: 2048,
            bytes: 4096,
            operation: Operation::Read,
            sync: false,
            read_ahead: true,
            file: Some((Inode { device: 5, number: 12 }, 8192)),
        };
        assert_eq!(parse(&bytes(13, 0x60, rest)), event(Kind::Submitted(request)));
        request = Request { operation: Operation::Write, sync: true, read_ahead: false, file: None, ..request };
        assert_eq!(parse(&bytes(13, 0x12, rest)), event(Kind::Submitted(request)));
        assert_eq!(parse(&bytes(13, 0x0e, rest)), None, "no such operation");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(kind in 0u16..20, flags: u16, rest in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes(kind, flags, &[&rest]));
            let _ = parse(&rest);
        }
    }
}
