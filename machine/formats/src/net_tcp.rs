//! Whose TCP connections are: /proc/net/tcp and /proc/net/tcp6 (Documentation/networking/proc_net_tcp.rst).

use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};

use crate::ParseError;
use crate::fields::lines;

/// The user whose established connection goes from `local` to `remote`; `None` where there is none.
///
/// # Errors
/// When the line of the connection has no user.
pub fn parse_tcp_owner(bytes: &[u8], local: SocketAddr, remote: SocketAddr) -> Result<Option<u32>, ParseError> {
    const ESTABLISHED: &[u8] = b"01";
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
