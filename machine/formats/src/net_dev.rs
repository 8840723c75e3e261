//! What network interfaces have moved since they came up: /proc/net/dev, of this process's network namespace.

use brisk_core::snapshot::NetTotals;

use crate::ParseError;
use crate::fields::{self, Words, lines};

/// Reads the text of /proc/net/dev.
///
/// # Errors
/// When there is no heading, a line behind the two of the heading has no name with a colon, or a field is missing or
/// not a number.
pub fn parse_net_devices(bytes: &[u8]) -> Result<Vec<NetTotals>, ParseError> {
    let devices = lines(bytes).skip_while(|words| words.rest.contains(&b'|')).map(device).collect::<Result<_, _>>()?;
    if bytes.contains(&b'|') { Ok(devices) } else { Err(ParseError::MissingLine("Inter-|")) }
}

fn device(words: Words<'_>) -> Result<NetTotals, ParseError> {
    let line = words.line;
    // Old kernels pad nothing: `eth0:1322623496`. Names of aliases may hold a colon, numbers never do.
    let colon = words.rest.iter().rposition(|&byte| byte == b':');
    let colon = colon.ok_or(ParseError::MissingField { line, field: "name" })?;
    let mut counts = Words { line, rest: &words.rest[colon + 1..] };
    let (receive_bytes, receive_packets) = (counts.number("bytes")?, counts.number("packets")?);
    for name in ["errs", "drop", "fifo", "frame", "compressed", "multicast"] {
        counts.word(name)?;
    }
    let (transmit_bytes, transmit_packets) = (counts.number("bytes")?, counts.number("packets")?);
    let name = fields::text(&words.rest[..colon]);
    Ok(NetTotals { name, receive_bytes, receive_packets, transmit_bytes, transmit_packets })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADING: &str = concat!(
        "Inter-|   Receive                                                |  Transmit\n",
        " face |bytes    packets errs drop fifo frame compressed multicast",
        "|bytes    packets errs drop fifo colls carrier compressed\n",
    );

    fn net(name: &str, [receive_bytes, receive_packets, transmit_bytes, transmit_packets]: [u64; 4]) -> NetTotals {
        NetTotals { name: name.to_owned(), receive_bytes, receive_packets, transmit_bytes, transmit_packets }
    }

    #[test]
    fn padded_and_unpadded_lines_are_read() {
        let text = format!(
            "{HEADING}    lo:    6386      58    0    0    0     0          0         0     \
             6386      58    0    0    0     0       0          0\n\
             rmnet_data0:1322623496 43951 1 2 0 0 0 0 2648297 28851 3 4 0 0 0 0\n"
        );
        let expected =
            [net("lo", [6386, 58, 6386, 58]), net("rmnet_data0", [1_322_623_496, 43_951, 2_648_297, 28_851])];
        assert_eq!(parse_net_devices(text.as_bytes()), Ok(expected.into()));
        assert_eq!(parse_net_devices(HEADING.as_bytes()), Ok(vec![]));
    }

    #[test]
    fn a_line_without_name_or_cut_short_is_an_error() {
        assert_eq!(parse_net_devices(b"eth0 1 2\n"), Err(ParseError::MissingField { line: 1, field: "name" }));
        assert!(parse_net_devices(b"eth0: 1 2 3 4 5 6 7 8 9\n").is_err());
        assert!(parse_net_devices(b"eth0: 1 2 3 4 5 6 7 8 9 -1\n").is_err());
    }

    proptest! {
        #[test]
        fn what_the_kernel_renders_is_read_back(name in "[a-z][a-z0-9@.-]{0,14}", counts in any::<[u64; 16]>()) {
            let rendered = counts.map(|count| format!("{count:7}")).join(" ");
            let read = parse_net_devices(format!("{HEADING}{name:>6}: {rendered}\n").as_bytes());
            prop_assert_eq!(read, Ok(vec![net(&name, [counts[0], counts[1], counts[8], counts[9]])]));
        }
    }
}
