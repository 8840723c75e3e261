//! Messages of the process connector (drivers/connector/cn_proc.c): processes that begin a session, run a program or
//! end.

/// Group and value of the process connector (CN_IDX_PROC, CN_VAL_PROC).
pub const CN_PROC: u32 = 1;
/// Ask for messages (PROC_CN_MCAST_LISTEN).
const LISTEN: u32 = 1;
/// A process runs another program: a kind of message (linux/cn_proc.h).
pub const EXEC: u32 = 0x2;
/// A process made a session.
pub const SID: u32 = 0x80;
/// A process or thread ended.
pub const EXIT: u32 = 0x8000_0000;
/// Where the head of the connector begins, behind that of netlink.
const CONNECTOR_AT: usize = 16;
pub const EVENT_AT: usize = CONNECTOR_AT + 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessMessage {
    /// A process made a session.
    Sid(u32),
    /// A process runs another program.
    Exec(u32),
    Exit(u32),
}

/// Reads one message; `None` for kinds that mean nothing here, and for threads that end.
#[must_use]
pub fn parse_process_message(bytes: &[u8]) -> Option<ProcessMessage> {
    let number = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if (number(CONNECTOR_AT)?, number(CONNECTOR_AT + 4)?) != (CN_PROC, CN_PROC) {
        return None;
    }
    // Kind, processor, time of eight bytes; then thread and process.
    let (thread, process) = (number(EVENT_AT + 16)?, number(EVENT_AT + 20)?);
    match number(EVENT_AT)? {
        SID => Some(ProcessMessage::Sid(process)),
        EXEC => Some(ProcessMessage::Exec(process)),
        EXIT if thread == process => Some(ProcessMessage::Exit(process)),
        _ => None,
    }
}

/// The request for messages, of these kinds alone where the kernel can filter them.
#[must_use]
pub fn listen_request(filters: bool, own_pid: u32) -> Vec<u8> {
    let mut data = LISTEN.to_ne_bytes().to_vec();
    if filters {
        data.extend((SID | EXEC | EXIT).to_ne_bytes());
    }
    let data_bytes = data.len() as u16;
    let all_bytes = (EVENT_AT + data.len()) as u32;
    const NLMSG_DONE: u16 = 3;
    let mut bytes = Vec::with_capacity(64);
    bytes.extend(all_bytes.to_ne_bytes());
    bytes.extend(NLMSG_DONE.to_ne_bytes());
    bytes.extend(0u16.to_ne_bytes());
    bytes.extend([0, own_pid, CN_PROC, CN_PROC, 0, 0].into_iter().flat_map(u32::to_ne_bytes));
    bytes.extend(data_bytes.to_ne_bytes());
    bytes.extend(0u16.to_ne_bytes());
    bytes.extend(data);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u32, thread: u32, process: u32) -> Vec<u8> {
        let head = [76, 3, 0, 0, CN_PROC, CN_PROC, 7, 0, 40];
        let event = [kind, 0, 1, 2, thread, process];
        head.into_iter().chain(event).flat_map(u32::to_ne_bytes).collect()
    }

    #[test]
    fn messages_are_told_apart() {
        assert_eq!(parse_process_message(&message(SID, 7, 7)), Some(ProcessMessage::Sid(7)));
        assert_eq!(parse_process_message(&message(EXEC, 8, 7)), Some(ProcessMessage::Exec(7)));
        assert_eq!(parse_process_message(&message(EXIT, 7, 7)), Some(ProcessMessage::Exit(7)));
        // A thread that ends, and a fork.
        assert_eq!(parse_process_message(&message(EXIT, 8, 7)), None);
        assert_eq!(parse_process_message(&message(1, 7, 7)), None);
        assert_eq!(parse_process_message(&message(SID, 7, 7)[..40]), None);
    }

    #[test]
    fn the_request_is_as_long_as_it_says() {
        for (filters, length) in [(false, 40), (true, 44)] {
            let request = listen_request(filters, 1);
            assert_eq!((request.len(), request[0]), (length, length as u8));
            assert_eq!(usize::from(request[32]), length - EVENT_AT);
        }
    }
}
