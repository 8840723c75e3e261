//! Frames: where one ends, and whether it is whole. What is long is compressed: lists of apps and of files, which are
//! most of a record and which its flash would wear by, become a fifth.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use crate::error::{Error, Result};
use crate::format::{FORMAT, MAGIC};

/// The largest payload of a frame, and the largest chunk that a reader holds in memory.
pub(crate) const FRAME_BYTES_MAX: usize = 1 << 20;

const CRC_BYTES: usize = 4;

/// Set in the kind of a frame with a compressed payload.
const COMPRESSED: u8 = 0x80;
/// Shorter payloads gain too little.
const COMPRESSED_BYTES_MIN: usize = 512;

/// What a frame holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Session = 1,
    Key = 2,
    Delta = 3,
    End = 4,
    Event = 5,
    Configuration = 6,
    Scene = 7,
    Decided = 8,
}

impl Kind {
    pub(crate) fn of(byte: u8) -> Option<Self> {
        use Kind::{Configuration, Decided, Delta, End, Event, Key, Scene, Session};
        let all = [Session, Key, Delta, End, Event, Configuration, Scene, Decided];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// The first bytes of a file.
pub(crate) fn head() -> Vec<u8> {
    let mut head = MAGIC.to_vec();
    head.extend(FORMAT.to_string().bytes());
    head.push(0);
    head
}

/// The version that the first chunk of a file names; `None` when that is no head.
pub(crate) fn format_of(chunk: &[u8]) -> Option<u32> {
    std::str::from_utf8(chunk.strip_prefix(MAGIC)?).ok()?.parse().ok()
}

/// A frame with its zero byte.
pub(crate) fn encode(kind: u8, payload: &[u8]) -> Result<Vec<u8>> {
    if cobs::max_encoding_length(1 + payload.len() + CRC_BYTES) >= FRAME_BYTES_MAX {
        return Err(Error::TooLarge { size_bytes: payload.len() });
    }
    let packed = (payload.len() >= COMPRESSED_BYTES_MIN).then(|| compressed(payload));
    let packed = packed.as_deref().filter(|packed| packed.len() < payload.len());
    let (kind, payload) = packed.map_or((kind, payload), |packed| (kind | COMPRESSED, packed));
    let mut plain = Vec::with_capacity(1 + payload.len() + CRC_BYTES);
    plain.push(kind);
    plain.extend(payload);
    plain.extend(crc32fast::hash(&plain).to_le_bytes());
    let mut frame = cobs::encode_vec(&plain);
    frame.push(0);
    Ok(frame)
}

/// The kind and payload of a chunk without its zero byte; `None` when it is damaged.
pub(crate) fn decode(chunk: &[u8]) -> Option<(u8, Vec<u8>)> {
    let mut plain = cobs::decode_vec(chunk).ok()?;
    let crc = plain.split_off(plain.len().checked_sub(CRC_BYTES)?);
    if crc != crc32fast::hash(&plain).to_le_bytes() || plain.is_empty() {
        return None;
    }
    let kind = plain.remove(0);
    if kind & COMPRESSED == 0 {
        return Some((kind, plain));
    }
    let mut payload = Vec::new();
    let read = DeflateDecoder::new(plain.as_slice()).take(FRAME_BYTES_MAX as u64).read_to_end(&mut payload).ok()?;
    (read < FRAME_BYTES_MAX).then_some((kind & !COMPRESSED, payload))
}

fn compressed(payload: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(payload).and_then(|()| encoder.finish()).expect("a vector takes all that is written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_head_names_the_format() {
        let head = head();
        assert_eq!(head, b"brisk record 1\0");
        assert_eq!(format_of(&head[..head.len() - 1]), Some(FORMAT));
        assert_eq!(format_of(b"brisk record 12"), Some(12));
        assert_eq!(format_of(b"brisk record "), None);
        assert_eq!(format_of(b"brisk"), None);
    }

    #[test]
    fn what_is_too_large_for_a_reader_is_not_written() {
        assert!(matches!(encode(2, &vec![1; FRAME_BYTES_MAX]), Err(Error::TooLarge { .. })));
        let most = encode(2, &vec![1; FRAME_BYTES_MAX - 8192]).expect("fits");
        assert!(most.len() <= FRAME_BYTES_MAX);
    }

    #[test]
    fn what_is_long_and_repeats_is_small() {
        let payload = r#"{"group":"app-org.example.Reader-1.scope","tolerance":"background"},"#.repeat(40);
        let frame = encode(7, payload.as_bytes()).expect("small");
        assert!(frame.len() * 6 < payload.len(), "{} bytes", frame.len());
        assert_eq!(decode(&frame[..frame.len() - 1]), Some((7, payload.into_bytes())));
    }

    #[test]
    fn what_would_become_too_large_is_refused() {
        let packed = compressed(&vec![1; FRAME_BYTES_MAX]);
        let mut plain = vec![7 | COMPRESSED];
        plain.extend(packed);
        plain.extend(crc32fast::hash(&plain).to_le_bytes());
        assert_eq!(decode(&cobs::encode_vec(&plain)), None);
    }

    proptest! {
        #[test]
        fn frames_come_back_and_hold_no_zero(
            kind in 0..COMPRESSED,
            payload in prop::collection::vec(any::<u8>(), 0..2000),
        ) {
            let frame = encode(kind, &payload).expect("small");
            let (last, chunk) = frame.split_last().expect("not empty");
            prop_assert_eq!(*last, 0);
            prop_assert!(!chunk.contains(&0));
            prop_assert_eq!(decode(chunk), Some((kind, payload)));
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(chunk in prop::collection::vec(any::<u8>(), 0..600)) {
            let _ = decode(&chunk);
        }

        #[test]
        fn one_bit_is_enough_to_refuse(
            payload in prop::collection::vec(any::<u8>(), 0..100),
            place in any::<prop::sample::Index>(),
            bit in 0u32..8,
        ) {
            let mut frame = encode(3, &payload).expect("small");
            frame.pop();
            let at = place.index(frame.len());
            frame[at] ^= 1 << bit;
            prop_assert_eq!(decode(&frame), None);
        }
    }
}
