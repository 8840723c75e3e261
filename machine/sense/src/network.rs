//! Whether processes use the network: their connections that leave the machine, from /proc/PID/fd and the tables of
//! their network namespace (/proc/PID/net, Documentation/networking/proc_net_tcp.rst).
//!
//! The tables tell no time of the last byte, so that a connection that is open counts as used.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use brisk_formats::parse_connections;

use crate::error::{Absent as _, Error, Result};
use crate::machine::Sense;

/// Tables of a namespace.
const TABLES: [&str; 4] = ["tcp", "tcp6", "udp", "udp6"];
/// Descriptors that are read at most, of all processes together.
const FILES_MAX: usize = 8192;

impl Sense {
    /// Whether one of these processes has a connection to another machine; `None` where they have more descriptors than
    /// are read. Processes that ended have none.
    ///
    /// # Errors
    /// When the kernel does not show descriptors or tables to this process.
    pub fn has_connection(&self, pids: &[u32]) -> Result<Option<bool>> {
        let mut rest = FILES_MAX;
        let mut tables: BTreeMap<PathBuf, BTreeSet<u64>> = BTreeMap::new();
        for pid in pids {
            let Some(sockets) = self.sockets(*pid, &mut rest)? else { continue };
            if !sockets.is_empty() {
                let space = std::fs::read_link(self.path(format!("/proc/{pid}/ns/net"))).unwrap_or_default();
                if !tables.contains_key(&space) {
                    tables.insert(space.clone(), self.connections(*pid)?);
                }
                if tables.get(&space).is_some_and(|table| !table.is_disjoint(&sockets)) {
                    return Ok(Some(true));
                }
            }
            if rest == 0 {
                return Ok(None);
            }
        }
        Ok(Some(false))
    }

    /// Inodes of the sockets that a process has open; `None` when it has ended.
    fn sockets(&self, pid: u32, rest: &mut usize) -> Result<Option<BTreeSet<u64>>> {
        let path = self.path(format!("/proc/{pid}/fd"));
        let entries = std::fs::read_dir(&path).map_err(|source| Error::reading(path, source)).or_absent()?;
        let Some(entries) = entries else { return Ok(None) };
        let mut sockets = BTreeSet::new();
        for entry in entries.flatten().take(*rest) {
            *rest -= 1;
            // A descriptor may be closed meanwhile.
            let Ok(target) = std::fs::read_link(entry.path()) else { continue };
            let target = target.to_string_lossy();
            let inode = target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
            sockets.extend(inode.and_then(|inode| inode.parse::<u64>().ok()));
        }
        Ok(Some(sockets))
    }

    /// Inodes of the connections to other machines in the network namespace of a process.
    fn connections(&self, pid: u32) -> Result<BTreeSet<u64>> {
        let mut connections = BTreeSet::new();
        for table in TABLES {
            // A kernel without version 6 has no such table.
            let found = self.parse_optional(format!("/proc/{pid}/net/{table}"), parse_connections)?;
            connections.extend(found.into_iter().flatten());
        }
        Ok(connections)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn a_connection_to_another_machine_is_found() {
        let root = tempfile::tempdir().expect("a directory");
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
        let row = |remote: &str, state: &str, inode: u32| {
            let rest = "00000000:00000000 00:00000000 00000000  1000        0";
            format!("   0: 0100007F:9C40 {remote}:01BB {state} {rest} {inode} 1\n")
        };
        let of = |pid: u32, sockets: &[u32], table: &str| {
            let dir = root.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(dir.join("fd")).expect("made");
            std::fs::create_dir_all(dir.join("net")).expect("made");
            std::fs::write(dir.join("net/tcp"), format!("{head}{table}")).expect("written");
            std::os::unix::fs::symlink("/dev/null", dir.join("fd/0")).expect("made");
            for (fd, inode) in (1..).zip(sockets) {
                std::os::unix::fs::symlink(format!("socket:[{inode}]"), dir.join(format!("fd/{fd}"))).expect("made");
            }
        };
        let table = row("0A01A8C0", "01", 70) + &row("0100007F", "01", 71) + &row("0A01A8C0", "06", 72);
        of(7, &[5, 70], &table);
        of(8, &[71, 72], &table);
        let sense = Sense::new(root.path());
        let connected = |pids: &[u32]| sense.has_connection(pids).expect("readable");
        assert_eq!(connected(&[7]), Some(true));
        assert_eq!((connected(&[8]), connected(&[9]), connected(&[])), (Some(false), Some(false), Some(false)));
        assert_eq!(connected(&[8, 7]), Some(true));
    }

    #[test]
    fn a_real_connection_of_this_process_to_itself_is_none() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("bound");
        let _client = std::net::TcpStream::connect(address).expect("connects");
        let sense = Sense::default();
        let own = sense.sockets(std::process::id(), &mut 4096).expect("readable").expect("it runs");
        assert!(!own.is_empty() && sense.connections(std::process::id()).expect("readable").is_disjoint(&own));
    }
}
