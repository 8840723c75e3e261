//! Counters that came after format 1 of keys and deltas, in a frame before the snapshot that they belong to; older
//! readers skip it.
//!
//! The frame comes where one of them differs from the snapshot before, and lists them all: the id of a counter in the
//! table of counters, which part of the snapshot has it (the first disk is 0), and its value. A reader leaves out ids
//! that it does not know.

use brisk_core::snapshot::{Counted, Snapshot};

use crate::error::Result;
use crate::frame::{self, Kind};

/// Values by counter and part.
pub(crate) type Later = Vec<((u8, u16), Option<u64>)>;

/// The frame before `snapshot`, which has this number, when a reader that knows `last` would not expect its values.
/// `last` is the snapshot that a delta follows; a key follows none.
pub(crate) fn frame_before(number: u16, last: Option<&Snapshot>, snapshot: &Snapshot) -> Result<Vec<u8>> {
    let known = |snapshot: &Snapshot| {
        let mut values = Later::new();
        snapshot.clone().each_later(0, &mut |place, value| values.push((place, *value)));
        values
    };
    let list = known(snapshot);
    let is_expected = last.map_or_else(|| list.iter().all(|(_, value)| value.is_none()), |last| known(last) == list);
    if is_expected {
        return Ok(Vec::new());
    }
    let list = postcard::to_stdvec(&list).expect("a list in memory has a form in postcard");
    frame::encode(Kind::Later as u8, &[&number.to_le_bytes(), &list[..]].concat())
}

/// What such a frame holds: the number of the snapshot that follows, and the list; `None` when it is damaged.
pub(crate) fn decode(payload: &[u8]) -> Option<(u16, Later)> {
    let (number, list) = payload.split_first_chunk()?;
    Some((u16::from_le_bytes(*number), postcard::from_bytes(list).ok()?))
}

/// Completes a snapshot of this number by the frame before it.
pub(crate) fn complete(snapshot: &mut Snapshot, number: u16, before: Option<(u16, Later)>) {
    let Some((of, mut values)) = before else { return };
    if of == number {
        values.sort_unstable_by_key(|(place, _)| *place);
        snapshot.each_later(0, &mut |place, value| {
            if let Ok(at) = values.binary_search_by_key(&place, |(place, _)| *place) {
                *value = values[at].1;
            }
        });
    }
}

/// Takes away what a lost frame may have changed: it is unknown until the next such frame.
pub(crate) fn forget(snapshot: &mut Snapshot) {
    snapshot.each_later(0, &mut |_, value| *value = None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::snapshot::DiskTotals;
    use proptest::prelude::*;

    fn snapshot(merges: &[Option<(u64, u64)>]) -> Snapshot {
        let disk = |merged: &Option<(u64, u64)>| DiskTotals {
            merged_reads: merged.map(|(reads, _)| reads),
            merged_writes: merged.map(|(_, writes)| writes),
            ..DiskTotals::default()
        };
        Snapshot { disks: merges.iter().map(disk).collect(), ..Snapshot::default() }
    }

    #[test]
    fn what_a_reader_expects_is_not_written() {
        let (none, some) = (snapshot(&[None, None]), snapshot(&[Some((1, 2)), None]));
        let is_written = |last, now| !frame_before(7, last, now).expect("small").is_empty();
        assert!(!is_written(None, &none) && is_written(None, &some));
        assert!(!is_written(Some(&some), &some) && is_written(Some(&none), &some) && is_written(Some(&some), &none));
    }

    #[test]
    fn a_list_of_another_snapshot_and_unknown_ids_are_left_out() {
        let known = ((1, 0), Some(7));
        for (number, list, read) in [(8, vec![known], None), (7, vec![known, ((250, 0), Some(9))], Some(7))] {
            let mut one = snapshot(&[None]);
            complete(&mut one, 7, Some((number, list)));
            assert_eq!(one.disks[0].merged_reads, read);
        }
    }

    proptest! {
        #[test]
        fn they_come_back(
            then in prop::collection::vec(prop::option::of(any::<(u64, u64)>()), 3),
            now in prop::collection::vec(prop::option::of(any::<(u64, u64)>()), 3),
            is_key: bool,
            number: u16,
        ) {
            let (then, now) = (snapshot(&then), snapshot(&now));
            let (last, mut read) = if is_key { (None, snapshot(&[None; 3])) } else { (Some(&then), then.clone()) };
            let frame = frame_before(number, last, &now).expect("small");
            if let Some(chunk) = frame.strip_suffix(&[0]) {
                let (kind, payload) = frame::decode(chunk).expect("whole");
                prop_assert_eq!(kind, Kind::Later as u8);
                complete(&mut read, number, decode(&payload));
            }
            prop_assert_eq!(read, now);
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = decode(&bytes);
        }
    }
}
