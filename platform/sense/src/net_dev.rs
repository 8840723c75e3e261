//! What network interfaces have moved since they came up: /proc/net/dev, of this process's network namespace.

use serde::{Deserialize, Serialize};

use crate::Sense;
use crate::error::{ParseError, Result};
use crate::fields::{self, Words, lines};

/// IFF_LOOPBACK of netdevice(7).
const LOOPBACK: u32 = 0x8;

/// Traffic of one direction since the interface was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetCounters {
    /// Bytes moved.
    pub bytes: u64,
    /// Packets moved.
    pub packets: u64,
    /// Packets that went wrong.
    pub errors: u64,
    /// Packets that were thrown away.
    pub dropped: u64,
}

/// One network interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetDevice {
    /// Its name, such as `wlan0`.
    pub name: String,
    /// Received.
    pub receive: NetCounters,
    /// Sent.
    pub transmit: NetCounters,
}

/// Reads the text of /proc/net/dev.
///
/// # Errors
/// When a line behind the two of the heading has no name with a colon, or a field is missing or not a number.
pub fn parse_net_devices(bytes: &[u8]) -> std::result::Result<Vec<NetDevice>, ParseError> {
    lines(bytes).skip_while(|words| words.rest.contains(&b'|')).map(device).collect()
}

fn device(words: Words<'_>) -> std::result::Result<NetDevice, ParseError> {
    let line = words.line;
    // Old kernels pad nothing: `eth0:1322623496`. Names of aliases may hold a colon, numbers never do.
    let colon = words.rest.iter().rposition(|&byte| byte == b':');
    let colon = colon.ok_or(ParseError::MissingField { line, field: "name" })?;
    let mut counts = Words { line, rest: &words.rest[colon + 1..] };
    let receive = counters(&mut counts)?;
    for name in ["fifo", "frame", "compressed", "multicast"] {
        counts.word(name)?;
    }
    Ok(NetDevice { name: fields::text(&words.rest[..colon]), receive, transmit: counters(&mut counts)? })
}

fn counters(words: &mut Words<'_>) -> std::result::Result<NetCounters, ParseError> {
    Ok(NetCounters {
        bytes: words.number("bytes")?,
        packets: words.number("packets")?,
        errors: words.number("errs")?,
        dropped: words.number("drop")?,
    })
}

impl Sense {
    /// All network interfaces of this network namespace, the loopback one included.
    ///
    /// # Errors
    /// When /proc/net/dev is missing, not readable or not understood.
    pub fn net_devices(&self) -> Result<Vec<NetDevice>> {
        self.parse("/proc/net/dev", parse_net_devices)
    }

    /// Whether the interface `name` only leads back to this machine, by its flags in /sys/class/net; `None` when there
    /// is no such interface.
    ///
    /// # Errors
    /// When the file is not readable or not understood.
    pub fn is_loopback(&self, name: &str) -> Result<Option<bool>> {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
            return Ok(None);
        }
        let flags = |bytes: &[u8]| fields::only_hex(1, "flags", bytes);
        Ok(self.parse_optional(format!("/sys/class/net/{name}/flags"), flags)?.map(|flags| flags & LOOPBACK != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADING: &str = "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n";

    #[test]
    fn padded_and_unpadded_lines_are_read() {
        let text = format!(
            "{HEADING}    lo:    6386      58    0    0    0     0          0         0     6386      58    0    0    0     0       0          0\n\
             rmnet_data0:1322623496 43951 1 2 0 0 0 0 2648297 28851 3 4 0 0 0 0\n"
        );
        let devices = parse_net_devices(text.as_bytes()).expect("two");
        assert_eq!((devices[0].name.as_str(), devices[0].receive.packets), ("lo", 58));
        let counters = |bytes, packets, errors, dropped| NetCounters { bytes, packets, errors, dropped };
        assert_eq!(
            devices[1],
            NetDevice {
                name: "rmnet_data0".into(),
                receive: counters(1_322_623_496, 43_951, 1, 2),
                transmit: counters(2_648_297, 28_851, 3, 4),
            }
        );
        assert_eq!(parse_net_devices(HEADING.as_bytes()), Ok(vec![]));
    }

    #[test]
    fn a_line_without_name_or_cut_short_is_an_error() {
        assert_eq!(parse_net_devices(b"eth0 1 2\n"), Err(ParseError::MissingField { line: 1, field: "name" }));
        assert!(parse_net_devices(b"eth0: 1 2 3 4 5 6 7 8 9\n").is_err());
        assert!(parse_net_devices(b"eth0: 1 2 3 4 5 6 7 8 9 10 11 -1\n").is_err());
    }

    #[test]
    fn the_loopback_interface_is_known_by_its_flag() {
        let sense = Sense::default();
        assert_eq!(sense.is_loopback("../../etc").expect("no error"), None);
        brisk_requires::requires!(Loopback);
        let devices = sense.net_devices().expect("every Linux has /proc/net/dev");
        assert!(devices.iter().any(|device| device.name == "lo"), "{devices:?}");
        assert_eq!(sense.is_loopback("lo").expect("readable"), Some(true));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_net_devices(&bytes);
            let mut with_name = b"eth0:".to_vec();
            with_name.extend(&bytes);
            let _ = parse_net_devices(&with_name);
        }

        #[test]
        fn what_the_kernel_renders_is_read_back(name in "[a-z][a-z0-9@.-]{0,14}", counts in any::<[u64; 16]>()) {
            let [rb, rp, re, rd, f, g, h, i, tb, tp, te, td, j, k, l, m] = counts;
            let text = format!("{HEADING}{name:>6}: {rb:7} {rp:7} {re:4} {rd:4} {f:4} {g:5} {h:10} {i:9} {tb:8} {tp:7} {te:4} {td:4} {j:4} {k:5} {l:7} {m:10}\n");
            let receive = NetCounters { bytes: rb, packets: rp, errors: re, dropped: rd };
            let transmit = NetCounters { bytes: tb, packets: tp, errors: te, dropped: td };
            prop_assert_eq!(parse_net_devices(text.as_bytes()), Ok(vec![NetDevice { name, receive, transmit }]));
        }
    }
}
