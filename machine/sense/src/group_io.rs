//! Bytes that the tasks of a control group have read and written: from its `io.stat` where it has the io controller,
//! otherwise the sum over its processes (/proc/PID/io), which costs three calls for each. Therefore processes are read
//! only when tasks of the group have waited for storage since the last time: a group that has not has met no device
//! that matters to it.
//!
//! The sums only grow: what a process read that has ended stays part of them. A group with groups below it has no sum
//! of processes.

use std::collections::BTreeMap;
use std::path::Path;

use brisk_formats::BytesMoved;

use crate::error::{Error, Result};
use crate::machine::Sense;

/// What is known of one group.
#[derive(Debug, Default)]
pub(crate) struct GroupIo {
    sum: Option<BytesMoved>,
    processes: BTreeMap<u32, BytesMoved>,
    waited_us: Option<u64>,
}

impl GroupIo {
    /// The sum by now of the group at `dir`, whose tasks have waited for storage for `waited_us`; `None` where it is
    /// not shown.
    pub(crate) fn read(&mut self, sense: &Sense, dir: &Path, waited_us: Option<u64>) -> Result<Option<BytesMoved>> {
        if let Some(devices) = sense.cgroup_io(dir)? {
            return Ok(Some(devices.into_iter().fold(BytesMoved::default(), |sum, (_, moved)| plus(sum, moved))));
        }
        let is_first = self.sum.is_none();
        if waited_us.is_some() && waited_us == self.waited_us && !is_first {
            return Ok(self.sum);
        }
        if sense.has_groups_below(dir) {
            return Ok(None);
        }
        self.waited_us = waited_us;
        let mut now = BTreeMap::new();
        for pid in sense.cgroup_processes(dir)?.into_iter().flatten() {
            match sense.process_io(pid) {
                Ok(moved) => now.extend(moved.map(|moved| (pid, moved))),
                Err(Error::Denied { .. }) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        if now.is_empty() && is_first {
            return Ok(None);
        }
        let grown = now.iter().fold(BytesMoved::default(), |sum, (pid, moved)| {
            let before = self.processes.get(pid).copied().unwrap_or_default();
            plus(
                sum,
                BytesMoved {
                    read_bytes: moved.read_bytes.saturating_sub(before.read_bytes),
                    write_bytes: moved.write_bytes.saturating_sub(before.write_bytes),
                },
            )
        });
        self.sum = Some(plus(self.sum.unwrap_or_default(), grown));
        self.processes = now;
        Ok(self.sum)
    }
}

fn plus(a: BytesMoved, b: BytesMoved) -> BytesMoved {
    BytesMoved {
        read_bytes: a.read_bytes.saturating_add(b.read_bytes),
        write_bytes: a.write_bytes.saturating_add(b.write_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    fn moved(root: &Path, pid: u32, read_bytes: u64, write_bytes: u64) {
        write(root, &format!("proc/{pid}/io"), &format!("read_bytes: {read_bytes}\nwrite_bytes: {write_bytes}\n"));
    }

    #[test]
    fn the_sum_only_grows_and_processes_are_read_after_a_wait_only() {
        let root = tempfile::tempdir().expect("a directory");
        let (sense, dir, mut io) = (Sense::new(root.path()), Path::new("/c/app-x.scope"), GroupIo::default());
        let sum = |io: &mut GroupIo, waited_us| {
            let sum = io.read(&sense, dir, waited_us).expect("readable");
            sum.map(|sum| (sum.read_bytes, sum.write_bytes))
        };
        assert_eq!(sum(&mut io, Some(0)), None);
        write(root.path(), "c/app-x.scope/cgroup.procs", "7\n8\n");
        moved(root.path(), 7, 100, 10);
        moved(root.path(), 8, 1000, 0);
        assert_eq!(sum(&mut io, Some(0)), Some((1100, 10)));
        moved(root.path(), 7, 150, 30);
        assert_eq!(sum(&mut io, Some(0)), Some((1100, 10)));
        // One ends, another one comes.
        std::fs::remove_dir_all(root.path().join("proc/8")).expect("removed");
        write(root.path(), "c/app-x.scope/cgroup.procs", "7\n9\n");
        moved(root.path(), 9, 1, 2);
        assert_eq!(sum(&mut io, Some(5)), Some((1151, 32)));
        // Without a counter of waits all are read each time.
        moved(root.path(), 9, 2, 2);
        assert_eq!((sum(&mut io, None), sum(&mut io, None)), (Some((1152, 32)), Some((1152, 32))));
        // Its own counters go before those of its processes.
        write(root.path(), "c/app-x.scope/io.stat", "8:0 rbytes=5 wbytes=1 rios=1 wios=1\n8:16 rbytes=5\n");
        assert_eq!(sum(&mut io, None), Some((10, 1)));
    }
}
