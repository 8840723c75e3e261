//! Which messages of the process connector are passed on to a socket: a program for the kernel's socket filter
//! (Documentation/networking/filter.rst), so that the others cause no wake-up. A compiler ends threads by the hundred a
//! second, and kernels before 6.6 send forks, names and users too, whatever they are asked for.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// One instruction: code, where to go on when true and when false, and a number.
pub(super) type Instruction = (u32, u8, u8, u32);

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const IS_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const IS_EQUAL_TO_X: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_X;
const TO_X: u32 = libc::BPF_MISC | libc::BPF_TAX;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// Passes the first two kinds, and the third for whole processes, of messages whose event begins at `event_at` bytes:
/// there is the kind, and 16 and 20 bytes behind it thread and process.
pub(super) fn program(event_at: u32, [one, other, of_processes]: [u32; 3]) -> [Instruction; 10] {
    // The filter loads words as of the network.
    let loaded = u32::to_be;
    [
        (LOAD, 0, 0, event_at),
        (IS_EQUAL, 6, 0, loaded(one)),
        (IS_EQUAL, 5, 0, loaded(other)),
        (IS_EQUAL, 0, 5, loaded(of_processes)),
        (LOAD, 0, 0, event_at + 16),
        (TO_X, 0, 0, 0),
        (LOAD, 0, 0, event_at + 20),
        (IS_EQUAL_TO_X, 0, 1, 0),
        (RETURN, 0, 0, u32::MAX),
        (RETURN, 0, 0, 0),
    ]
}

/// Has the kernel run a program on what comes to a socket.
///
/// # Errors
/// When the kernel refuses it.
pub(super) fn attach(socket: &impl AsFd, program: &[Instruction]) -> io::Result<()> {
    let mut code: Vec<libc::sock_filter> =
        program.iter().map(|&(code, jt, jf, k)| libc::sock_filter { code: code as u16, jt, jf, k }).collect();
    let program = libc::sock_fprog { len: code.len() as u16, filter: code.as_mut_ptr() };
    // SAFETY: the kernel copies the program, whose length is that of `code`, which lives until then.
    let failed = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;

    #[test]
    fn the_kernel_passes_what_means_something_and_nothing_else() {
        let (from, to) = UnixDatagram::pair().expect("a pair of sockets");
        to.set_nonblocking(true).expect("a socket");
        attach(&to, &program(36, [0x80, 0x2, 0x8000_0000])).expect("a kernel with socket filters");
        let message = |kind: u32, thread: u32, process: u32| {
            let mut bytes = vec![0; 36];
            bytes.extend([kind, 0, 0, 0, thread, process].into_iter().flat_map(u32::to_ne_bytes));
            bytes
        };
        for (kind, thread, process, passes) in [
            (0x80, 7, 7, true),
            (0x80, 8, 7, true),
            (0x2, 7, 7, true),
            (0x8000_0000, 7, 7, true),
            (0x8000_0000, 8, 7, false),
            // A fork, another name, an answer.
            (0x1, 7, 7, false),
            (0x200, 7, 7, false),
            (0, 0, 0, false),
        ] {
            let sent = message(kind, thread, process);
            from.send(&sent).expect("sent");
            let mut received = [0; 256];
            let passed = to.recv(&mut received).is_ok_and(|length| received[..length] == sent);
            assert_eq!(passed, passes, "{kind:#x} of {thread} in {process}");
        }
        from.send(b"short").expect("sent");
        assert!(to.recv(&mut [0; 256]).is_err());
    }
}
