//! Messages between brisk and its keeper: packets of one size, as both are of one program.

use super::Key;
use crate::once::freezer::Freezer;

/// Size of each packet.
pub(super) const BYTES: usize = 10;

/// The first packet of the keeper: its program runs.
pub(super) const READY: [u8; BYTES] = *b"briskkeep1";

const HOLD: u8 = 1;
const RELEASE: u8 = 2;
const HELD: u8 = 3;

/// What brisk tells the keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    /// This group will be frozen; a descriptor of its directory comes along.
    Hold(Key),
    /// It is not frozen any more.
    Release(Key),
}

impl Message {
    pub(super) fn encode(self) -> [u8; BYTES] {
        match self {
            Self::Hold(key) => packet(HOLD, key),
            Self::Release(key) => packet(RELEASE, key),
        }
    }

    /// `None` for what no brisk of this version sends.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&kind, rest) = bytes.split_first()?;
        let (&freezer, inode) = rest.split_first()?;
        let freezer = [Freezer::Unified, Freezer::Old].into_iter().find(|known| *known as u8 == freezer)?;
        let key = (freezer, u64::from_le_bytes(inode.try_into().ok()?));
        match kind {
            HOLD => Some(Self::Hold(key)),
            RELEASE => Some(Self::Release(key)),
            _ => None,
        }
    }
}

/// What the keeper says when it holds a group.
pub(super) fn confirmation(key: Key) -> [u8; BYTES] {
    packet(HELD, key)
}

fn packet(kind: u8, (freezer, inode): Key) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    (bytes[0], bytes[1]) = (kind, freezer as u8);
    bytes[2..].copy_from_slice(&inode.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_message_is_read_back(is_old in any::<bool>(), inode in any::<u64>(), holds in any::<bool>()) {
            let key = (if is_old { Freezer::Old } else { Freezer::Unified }, inode);
            let message = if holds { Message::Hold(key) } else { Message::Release(key) };
            prop_assert_eq!(Message::decode(&message.encode()), Some(message));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            let _ = Message::decode(&bytes);
        }
    }
}
