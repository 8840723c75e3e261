//! Merged requests of a snapshot's disks, in a frame of their own.
//!
//! They came after the layout of keys and deltas was settled, so they stand before the snapshot that they belong to; older
//! readers pass over them.

use brisk_core::snapshot::{MergeTotals, Snapshot};

use crate::error::Result;
use crate::frame::{self, Kind};

/// For each disk of a snapshot in its order.
pub(crate) type Merges = Vec<Option<(u64, u64)>>;

fn of(snapshot: &Snapshot) -> Merges {
    snapshot.disks.iter().map(|disk| disk.merged.map(|merged| (merged.reads, merged.writes))).collect()
}

/// The frame before `snapshot`, which has this number, when a reader that knows `last` would not guess what it says. `last`
/// is the snapshot that a delta follows; a key follows none.
pub(crate) fn frame_before(number: u16, last: Option<&Snapshot>, snapshot: &Snapshot) -> Result<Vec<u8>> {
    let merges = of(snapshot);
    let guessed = last.map_or_else(|| vec![None; merges.len()], of);
    if merges == guessed {
        return Ok(Vec::new());
    }
    let list = postcard::to_stdvec(&merges).expect("a list in memory has a form in postcard");
    frame::encode(Kind::Merges as u8, &[&number.to_le_bytes(), &list[..]].concat())
}

/// What such a frame holds: the number of the snapshot that follows, and the list; `None` when it is damaged.
pub(crate) fn decode(payload: &[u8]) -> Option<(u16, Merges)> {
    let (number, list) = payload.split_first_chunk()?;
    Some((u16::from_le_bytes(*number), postcard::from_bytes(list).ok()?))
}

/// Completes a snapshot of this number by the frame before it.
pub(crate) fn complete(snapshot: &mut Snapshot, number: u16, before: Option<(u16, Merges)>) {
    let Some((of, merges)) = before else { return };
    if of == number && merges.len() == snapshot.disks.len() {
        for (disk, merged) in snapshot.disks.iter_mut().zip(merges) {
            disk.merged = merged.map(|(reads, writes)| MergeTotals { reads, writes });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::snapshot::DiskTotals;
    use proptest::prelude::*;

    fn snapshot(merges: &[Option<(u64, u64)>]) -> Snapshot {
        let disk = |merged: &Option<(u64, u64)>| DiskTotals {
            merged: merged.map(|(reads, writes)| MergeTotals { reads, writes }),
            ..DiskTotals::default()
        };
        Snapshot { disks: merges.iter().map(disk).collect(), ..Snapshot::default() }
    }

    #[test]
    fn what_a_reader_guesses_is_not_written() {
        let (none, some) = (snapshot(&[None, None]), snapshot(&[Some((1, 2)), None]));
        let is_written = |last, now| !frame_before(7, last, now).expect("small").is_empty();
        assert!(!is_written(None, &none) && is_written(None, &some));
        assert!(!is_written(Some(&some), &some) && is_written(Some(&none), &some) && is_written(Some(&some), &none));
    }

    #[test]
    fn a_list_of_another_snapshot_is_passed_over() {
        for (number, merges) in [(8, vec![Some((1, 2))]), (7, vec![Some((1, 2)), None])] {
            let mut one = snapshot(&[None]);
            complete(&mut one, 7, Some((number, merges)));
            assert_eq!(one, snapshot(&[None]));
        }
    }

    proptest! {
        #[test]
        fn they_come_back(merges in prop::collection::vec(prop::option::of(any::<(u64, u64)>()), 1..5), number: u16) {
            let now = snapshot(&merges);
            let frame = frame_before(number, None, &now).expect("small");
            prop_assume!(!frame.is_empty());
            let (kind, payload) = frame::decode(&frame[..frame.len() - 1]).expect("whole");
            prop_assert_eq!(kind, Kind::Merges as u8);
            let mut read = snapshot(&vec![None; merges.len()]);
            complete(&mut read, number, decode(&payload));
            prop_assert_eq!(read, now);
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = decode(&bytes);
        }
    }
}
