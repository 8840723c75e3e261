//! Whose connections are: /proc/net/tcp, udp, and the same of version 6 (Documentation/networking/proc_net_tcp.rst).

use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};

use crate::ParseError;
use crate::fields::lines;

/// An established connection; of UDP, a socket that has a peer.
const ESTABLISHED: &[u8] = b"01";

/// Inodes of the sockets with an established connection that leaves the machine.
///
/// # Errors
/// When the line of such a connection has no inode.
pub fn parse_connections(bytes: &[u8]) -> Result<Vec<u64>, ParseError> {
    let mut inodes = Vec::new();
    for mut words in lines(bytes) {
        let mut next = || words.next_word().unwrap_or_default();
        let (_number, _from, to, state) = (next(), next(), next(), next());
        if state == ESTABLISHED && !is_loopback(to) {
            for field in ["queues", "timer", "retransmits", "uid", "timeout"] {
                words.word(field)?;
            }
            inodes.push(words.number("inode")?);
        }
    }
    Ok(inodes)
}

/// Whether an address, as the kernel lists it, is of this machine itself: 127.x, ::1, or 127.x mapped.
fn is_loopback(listed: &[u8]) -> bool {
    let hex = listed.split(|byte| *byte == b':').next().unwrap_or_default();
    let word = |digits: &[u8]| std::str::from_utf8(digits).ok().and_then(|of| u32::from_str_radix(of, 16).ok());
    let octets: Vec<u8> = hex.chunks(8).filter_map(word).flat_map(u32::to_ne_bytes).collect();
    if let Ok(ip) = <[u8; 4]>::try_from(octets.as_slice()) {
        return std::net::Ipv4Addr::from(ip).is_loopback();
    }
    <[u8; 16]>::try_from(octets.as_slice()).is_ok_and(|ip| {
        let ip = std::net::Ipv6Addr::from(ip);
        ip.to_ipv4_mapped().map_or(ip.is_loopback(), |mapped| mapped.is_loopback())
    })
}

/// The user whose established connection goes from `local` to `remote`; `None` where there is none.
///
/// # Errors
/// When the line of the connection has no user.
pub fn parse_tcp_owner(bytes: &[u8], local: SocketAddr, remote: SocketAddr) -> Result<Option<u32>, ParseError> {
    let (local, remote) = (as_listed(local), as_listed(remote));
    for mut words in lines(bytes) {
        let mut next = || words.next_word().unwrap_or_default();
        let (_number, from, to, state) = (next(), next(), next(), next());
        if from == local.as_bytes() && to == remote.as_bytes() && state == ESTABLISHED {
            for field in ["queues", "timer", "retransmits"] {
                words.word(field)?;
            }
            return words.number("uid").map(Some);
        }
    }
    Ok(None)
}

/// An address as the kernel lists it: words of 32 bits as numbers of this machine, and the port.
fn as_listed(address: SocketAddr) -> String {
    let octets = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let mut text = String::new();
    for word in octets.chunks_exact(4) {
        let _ = write!(text, "{:08X}", u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
    }
    let _ = write!(text, ":{:04X}", address.port());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";

    #[test]
    #[cfg(target_endian = "little")]
    fn connections_that_leave_the_machine_are_told_from_others() {
        let row = |remote: &str, state: &str, inode: u64| {
            format!("  0: 0100007F:2046 {remote}:01BB {state} 0:0 00:0 0  1000        0 {inode} 1 0\n")
        };
        let v6 = |words: [&str; 4]| words.concat();
        let mapped = |ip: &str| v6(["00000000", "00000000", "FFFF0000", ip]);
        let text = [
            format!("{HEAD}\n"),
            row("0A01A8C0", "01", 1),
            row("0100007F", "01", 2),
            row("0200017F", "01", 3),
            row("00000000", "0A", 4),
            row("0A01A8C0", "06", 5),
            row(&v6(["B80D0120", "00000000", "00000000", "01000000"]), "01", 6),
            row(&v6(["00000000", "00000000", "00000000", "01000000"]), "01", 7),
            row(&mapped("0100007F"), "01", 8),
            row(&mapped("0A01A8C0"), "01", 9),
        ];
        assert_eq!(parse_connections(text.concat().as_bytes()), Ok(vec![1, 6, 9]));
        assert!(parse_connections(b"  0: 0100007F:2046 0A01A8C0:01BB 01 0:0").is_err());
        assert_eq!(parse_connections(b""), Ok(vec![]));
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_established_connection_of_both_addresses_has_the_user() {
        let text = format!(
            "{HEAD}\n   0: 0100007F:2046 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1\n   \
             1: 0100007F:9C40 0100007F:2046 06 00000000:00000000 00:00000000 00000000  0        0 2\n   \
             2: 0100007F:9C40 0100007F:2046 01 00000000:00000000 02:00000E9B 00000000  1001        0 3\n"
        );
        let address = |text: &str| -> SocketAddr { text.parse().expect("an address") };
        let owner = |from, to| parse_tcp_owner(text.as_bytes(), address(from), address(to)).expect("a table");
        assert_eq!(owner("127.0.0.1:40000", "127.0.0.1:8262"), Some(1001));
        assert_eq!(owner("127.0.0.1:8262", "127.0.0.1:40000"), None);
        let v6 = b"  1: 00000000000000000000000001000000:9C40 00000000000000000000000001000000:2046 01 0:0 0:0 0 7 0 3";
        assert_eq!(parse_tcp_owner(v6, address("[::1]:40000"), address("[::1]:8262")), Ok(Some(7)));
        let cut = b"  1: 0100007F:9C40 0100007F:2046 01 0:0";
        assert!(parse_tcp_owner(cut, address("127.0.0.1:40000"), address("127.0.0.1:8262")).is_err());
    }
}
