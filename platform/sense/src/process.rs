//! What one process is, has used and has mapped: /proc/PID/stat, maps, cgroup and cmdline (proc_pid_stat(5) and its
//! neighbours).
//!
//! Names that people chose are bytes here: a process may call itself `a) R 1\n(b`, and a file may have any name. The
//! name in `stat` therefore ends at the *last* parenthesis, and nothing here is cut at a newline that a name may hold.
//!
//! A process ends when it likes, so every reader gives `None` for one that is not there (any more).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::Sense;
use crate::block::DeviceNumber;
use crate::error::{ParseError, Result};
use crate::fields::{self, Words, lines};

/// The fields of /proc/PID/stat that brisk uses. Times are in ticks of USER_HZ, of which a second has 100 on every Linux.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStat {
    /// Its id.
    pub pid: u32,
    /// Its name: at most 15 bytes of any value, for kernel threads more.
    pub comm: OsString,
    /// `R` runs, `S` sleeps, `D` waits for storage, `Z` has ended, ... (proc_pid_stat(5)).
    pub state: char,
    /// Who started it, or who adopted it; 0 for the first process.
    pub parent: u32,
    /// Its process group.
    pub process_group: i32,
    /// Its session.
    pub session: i32,
    /// Faults that needed no storage.
    pub minor_faults: u64,
    /// Faults that had to wait for storage.
    pub major_faults: u64,
    /// Time in the program, all threads, those that ended included.
    pub user_ticks: u64,
    /// Time in the kernel for it.
    pub system_ticks: u64,
    /// How much it gives way to others for a processor: 19 the most, -20 the least.
    pub nice: i8,
    /// Threads.
    pub threads: u64,
    /// When it started, after boot. With the pid it names a process for ever.
    pub start_ticks: u64,
    /// Pages that it has in memory, shared ones included; may lag behind by some pages for each thread.
    pub resident_pages: u64,
    /// Time in which its threads waited for storage; 0 where delay accounting is off (`kernel.task_delayacct`).
    pub block_io_delay_ticks: Option<u64>,
}

/// A file of which a process has a part in its memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedFile {
    /// The device as the mapping names it: on btrfs and overlayfs not the `st_dev` of stat(2).
    pub device: DeviceNumber,
    /// The number of the file there.
    pub inode: u64,
    /// Its path as seen from the process's root. A name that really ends in ` (deleted)` counts as deleted.
    pub path: PathBuf,
    /// Whether the path is gone: the file lives on until its last user lets go.
    pub deleted: bool,
    /// How much of it is mapped, over all mappings.
    pub mapped_bytes: u64,
}

/// The place of a process in one hierarchy of control groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessCgroup {
    /// 0 for the second version.
    pub hierarchy: u32,
    /// The controllers or the name of a hierarchy of the first version; empty for the second version.
    pub controllers: Vec<String>,
    /// Its group, from the root of the hierarchy as this process sees it.
    pub path: PathBuf,
    /// Whether the group was removed and only this process, which has ended, is left of it.
    pub deleted: bool,
}

/// Reads the text of /proc/PID/stat.
///
/// # Errors
/// When there is no name in parentheses, or a field up to `rss` is missing or not of its type.
pub fn parse_process_stat(bytes: &[u8]) -> std::result::Result<ProcessStat, ParseError> {
    let missing = |field| ParseError::MissingField { line: 1, field };
    let open = bytes.iter().position(|&byte| byte == b'(').ok_or(missing("comm"))?;
    let close = bytes.iter().rposition(|&byte| byte == b')').filter(|&at| at > open).ok_or(missing("comm"))?;
    let pid = fields::number(1, "pid", bytes[..open].trim_ascii())?;
    let comm = OsString::from_vec(bytes[open + 1..close].to_vec());
    let mut words = Words { line: 1, rest: bytes[close + 1..].trim_ascii_end() };
    let state = match words.word("state")? {
        [letter] if letter.is_ascii_alphabetic() => char::from(*letter),
        word => return Err(ParseError::BadField { line: 1, field: "state", text: fields::text(word) }),
    };
    // The names are those of proc_pid_stat(5), in its order.
    let parent = words.number("ppid")?;
    let process_group = words.number("pgrp")?;
    let session = words.number("session")?;
    skip(&mut words, &["tty_nr", "tpgid", "flags"])?;
    let minor_faults = words.number("minflt")?;
    skip(&mut words, &["cminflt"])?;
    let major_faults = words.number("majflt")?;
    skip(&mut words, &["cmajflt"])?;
    let user_ticks = words.number("utime")?;
    let system_ticks = words.number("stime")?;
    skip(&mut words, &["cutime", "cstime", "priority"])?;
    let nice = words.number("nice")?;
    let threads = words.number("num_threads")?;
    skip(&mut words, &["itrealvalue"])?;
    let start_ticks = words.number("starttime")?;
    skip(&mut words, &["vsize"])?;
    let resident_pages = words.number("rss")?;
    // From rsslim, the 25th field, to policy, the 41st.
    let block_io_delay_ticks = match (25..=41).try_for_each(|_| words.next_word().map(drop)) {
        None => None,
        Some(()) => words.optional_number("delayacct_blkio_ticks")?,
    };
    Ok(ProcessStat {
        pid,
        comm,
        state,
        parent,
        process_group,
        session,
        minor_faults,
        major_faults,
        user_ticks,
        system_ticks,
        nice,
        threads,
        start_ticks,
        resident_pages,
        block_io_delay_ticks,
    })
}

fn skip(words: &mut Words<'_>, names: &[&'static str]) -> std::result::Result<(), ParseError> {
    names.iter().try_for_each(|name| words.word(name).map(drop))
}

/// Reads the text of /proc/PID/maps: every file once, in the order of its first mapping. Memory without a file and the
/// kernel's own areas (`[heap]`, `[vdso]`) are left out.
///
/// # Errors
/// When a line lacks a field or a field is not of its type.
pub fn parse_mapped_files(bytes: &[u8]) -> std::result::Result<Vec<MappedFile>, ParseError> {
    let mut files: Vec<MappedFile> = Vec::new();
    for mut words in lines(bytes) {
        let line = words.line;
        let range = words.word("address")?;
        let bad = |field, word| ParseError::BadField { line, field, text: fields::text(word) };
        let length_bytes = range_bytes(range).ok_or_else(|| bad("address", range))?;
        skip(&mut words, &["perms", "offset"])?;
        let device = words.word("dev")?;
        let device = device_number(device).ok_or_else(|| bad("dev", device))?;
        let inode: u64 = words.number("inode")?;
        // The kernel pads to a column and then writes the rest of the line as it is, blanks included.
        let path = words.rest.trim_ascii_start();
        if inode == 0 || path.is_empty() {
            continue;
        }
        let known = files.iter_mut().rev().find(|file| (file.device, file.inode) == (device, inode));
        if let Some(known) = known {
            known.mapped_bytes = known.mapped_bytes.saturating_add(length_bytes);
            continue;
        }
        let (path, deleted) = split_deleted(path);
        let path = OsString::from_vec(unescape_newlines(path)).into();
        files.push(MappedFile { device, inode, path, deleted, mapped_bytes: length_bytes });
    }
    Ok(files)
}

/// The length of `start-end` in hexadecimal.
fn range_bytes(word: &[u8]) -> Option<u64> {
    let (start, end) = std::str::from_utf8(word).ok()?.split_once('-')?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    end.checked_sub(start)
}

/// `major:minor` in hexadecimal.
fn device_number(word: &[u8]) -> Option<DeviceNumber> {
    let (major, minor) = std::str::from_utf8(word).ok()?.split_once(':')?;
    Some(DeviceNumber { major: u32::from_str_radix(major, 16).ok()?, minor: u32::from_str_radix(minor, 16).ok()? })
}

fn split_deleted(path: &[u8]) -> (&[u8], bool) {
    match path.strip_suffix(b" (deleted)") {
        Some(path) => (path, true),
        None => (path, false),
    }
}

/// In `maps` the kernel escapes newlines and nothing else (fs/proc/task_mmu.c, `seq_path` with "\n"): all other
/// backslashes are part of the name.
fn unescape_newlines(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&first, after)) = rest.split_first() {
        match rest.strip_prefix(br"\012") {
            Some(tail) => {
                out.push(b'\n');
                rest = tail;
            }
            None => {
                out.push(first);
                rest = after;
            }
        }
    }
    out
}

/// Reads the text of /proc/PID/cgroup.
///
/// # Errors
/// When a line is not `number:controllers:path`.
pub fn parse_process_cgroups(bytes: &[u8]) -> std::result::Result<Vec<ProcessCgroup>, ParseError> {
    let mut groups = Vec::new();
    for words in lines(bytes) {
        let line = words.line;
        let mut parts = words.rest.splitn(3, |&byte| byte == b':');
        let hierarchy = fields::number(line, "hierarchy", parts.next().unwrap_or_default())?;
        let controllers = parts.next().ok_or(ParseError::MissingField { line, field: "controllers" })?;
        let path = parts.next().ok_or(ParseError::MissingField { line, field: "path" })?;
        let (path, deleted) = split_deleted(path);
        let names = controllers.split(|&byte| byte == b',').filter(|name| !name.is_empty());
        groups.push(ProcessCgroup {
            hierarchy,
            controllers: names.map(fields::text).collect(),
            path: OsString::from_vec(path.to_vec()).into(),
            deleted,
        });
    }
    Ok(groups)
}

/// Cuts the bytes of /proc/PID/cmdline into arguments. Empty for kernel threads and processes that have ended; one
/// argument for a program that wrote a title of its own there.
#[must_use]
pub fn parse_command_line(bytes: &[u8]) -> Vec<OsString> {
    let Some(bytes) = bytes.strip_suffix(b"\0").or((!bytes.is_empty()).then_some(bytes)) else { return Vec::new() };
    bytes.split(|&byte| byte == 0).map(|argument| OsString::from_vec(argument.to_vec())).collect()
}

impl Sense {
    /// The ids of all processes that /proc shows, in ascending order.
    ///
    /// # Errors
    /// When /proc is missing or not readable.
    pub fn process_ids(&self) -> Result<Vec<u32>> {
        let path = self.path("/proc");
        if !path.is_dir() {
            return Err(crate::Error::Missing { path });
        }
        let mut pids: Vec<u32> = self.names_in("/proc")?.iter().filter_map(|name| name.parse().ok()).collect();
        pids.sort_unstable();
        Ok(pids)
    }

    /// What process `pid` is and has used, from /proc/PID/stat; `None` when there is no such process.
    ///
    /// # Errors
    /// When the file is not readable or not understood.
    pub fn process_stat(&self, pid: u32) -> Result<Option<ProcessStat>> {
        self.parse_optional(format!("/proc/{pid}/stat"), parse_process_stat)
    }

    /// The files that process `pid` has mapped, from /proc/PID/maps; `None` when there is no such process, empty for
    /// kernel threads and processes that have ended.
    ///
    /// # Errors
    /// When the file is not readable (that of another user's process) or not understood.
    pub fn mapped_files(&self, pid: u32) -> Result<Option<Vec<MappedFile>>> {
        self.parse_optional(format!("/proc/{pid}/maps"), parse_mapped_files)
    }

    /// The control groups of process `pid`, one for each hierarchy, from /proc/PID/cgroup; `None` when there is no such
    /// process.
    ///
    /// # Errors
    /// When the file is not readable or not understood.
    pub fn process_cgroups(&self, pid: u32) -> Result<Option<Vec<ProcessCgroup>>> {
        self.parse_optional(format!("/proc/{pid}/cgroup"), parse_process_cgroups)
    }

    /// The arguments of process `pid`, from /proc/PID/cmdline; `None` when there is no such process.
    ///
    /// # Errors
    /// When the file is not readable.
    pub fn command_line(&self, pid: u32) -> Result<Option<Vec<OsString>>> {
        Ok(self.read_optional(format!("/proc/{pid}/cmdline"))?.map(|bytes| parse_command_line(&bytes)))
    }
}

#[cfg(test)]
mod tests;
