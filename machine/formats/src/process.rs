//! What one process is, has used and has mapped: /proc/PID/stat, maps and cmdline (proc_pid_stat(5) and its
//! neighbours).
//!
//! Names that people chose are bytes here: a process may call itself `a) R 1\n(b`, and a file may have any name. The
//! name in `stat` therefore ends at the *last* parenthesis, and nothing here is cut at a newline that a name may hold.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::ParseError;
use crate::block::DeviceNumber;
use crate::fields::{self, Words, lines, split_deleted};

/// The fields of /proc/PID/stat that brisk uses. Times are in ticks of USER_HZ, of which a second has 100 on every
/// Linux.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStat {
    pub pid: u32,
    /// Its name: at most 15 bytes of any value, for kernel threads more.
    pub comm: OsString,
    /// `R` runs, `S` sleeps, `D` waits for storage, `Z` has ended, ... (proc_pid_stat(5)).
    pub state: char,
    /// The process that started or adopted it; 0 for the first process.
    pub parent: u32,
    pub session: i32,
    /// Its controlling terminal, as a device number; 0 for none.
    pub terminal: i32,
    /// Flags of the kernel (PF_ in include/linux/sched.h).
    pub flags: u32,
    /// Faults for which a page was read from storage, all threads.
    pub major_faults: u64,
    /// Time in the program, all threads, those that ended included.
    pub user_ticks: u64,
    /// Time in the kernel for it.
    pub system_ticks: u64,
    /// Its nice value: 19 is the lowest priority for a processor, -20 the highest.
    pub nice: i8,
    /// When it started, after boot. With the pid it names a process for ever.
    pub start_ticks: u64,
    /// Pages that it has in memory, shared ones included; may lag behind by some pages for each thread.
    pub resident_pages: u64,
}

/// PF_FORKNOEXEC: forked, and has not executed a program since.
const FORK_NO_EXEC: u32 = 0x40;

/// Bytes moved from and to storage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BytesMoved {
    /// Read from storage; what the page cache held is not part of it.
    pub read_bytes: u64,
    /// Written: by a process when it changed the page cache, by a control group when it reached the device.
    pub write_bytes: u64,
}

impl ProcessStat {
    /// Whether it still runs the program of the process that forked it: its own program is not known yet.
    #[must_use]
    pub fn is_before_exec(&self) -> bool {
        self.flags & FORK_NO_EXEC != 0
    }

    /// Whether it has ended, and only its parent has not noticed.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
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
    /// Whether the path is gone: the file lives on until its last user closes it.
    pub deleted: bool,
    /// How much of it is mapped, over all mappings.
    pub mapped_bytes: u64,
}

/// Reads the text of /proc/PID/stat.
///
/// # Errors
/// When there is no name in parentheses, or a field up to `rss` is missing or not of its type.
pub fn parse_process_stat(bytes: &[u8]) -> Result<ProcessStat, ParseError> {
    let (pid, comm, mut words) = behind_name(bytes)?;
    let state = match words.word("state")? {
        [letter] if letter.is_ascii_alphabetic() => char::from(*letter),
        word => return Err(ParseError::BadField { line: 1, field: "state", text: fields::text(word) }),
    };
    // The names are those of proc_pid_stat(5), in its order.
    let parent = words.number("ppid")?;
    skip(&mut words, &["pgrp"])?;
    let session = words.number("session")?;
    let terminal = words.number("tty_nr")?;
    skip(&mut words, &["tpgid"])?;
    let flags = words.number("flags")?;
    skip(&mut words, &["minflt", "cminflt"])?;
    let major_faults = words.number("majflt")?;
    skip(&mut words, &["cmajflt"])?;
    let (user_ticks, system_ticks) = (words.number("utime")?, words.number("stime")?);
    skip(&mut words, &["cutime", "cstime", "priority"])?;
    let nice = words.number("nice")?;
    skip(&mut words, &["num_threads", "itrealvalue"])?;
    let start_ticks = words.number("starttime")?;
    skip(&mut words, &["vsize"])?;
    let resident_pages = words.number("rss")?;
    let (pid, comm) = (fields::number(1, "pid", pid)?, OsString::from_vec(comm.to_vec()));
    Ok(ProcessStat {
        pid,
        comm,
        state,
        parent,
        session,
        terminal,
        flags,
        major_faults,
        user_ticks,
        system_ticks,
        nice,
        start_ticks,
        resident_pages,
    })
}

/// Reads the text of /proc/PID/io (Documentation/filesystems/proc.rst, 3.3). Unknown lines are skipped.
///
/// # Errors
/// When `read_bytes` or `write_bytes` is missing or not a number.
pub fn parse_process_io(bytes: &[u8]) -> Result<BytesMoved, ParseError> {
    let (mut read, mut write) = (None, None);
    for mut words in lines(bytes) {
        let slot = match words.next_word() {
            Some(b"read_bytes:") => &mut read,
            Some(b"write_bytes:") => &mut write,
            _ => continue,
        };
        *slot = Some(words.number("bytes")?);
    }
    Ok(BytesMoved {
        read_bytes: read.ok_or(ParseError::MissingLine("read_bytes"))?,
        write_bytes: write.ok_or(ParseError::MissingLine("write_bytes"))?,
    })
}

/// Reads the session from the text of /proc/PID/stat, of which the first 256 bytes are enough: for callers who ask all
/// processes.
///
/// # Errors
/// When there is no name in parentheses, or no session behind it.
pub fn parse_process_session(bytes: &[u8]) -> Result<i32, ParseError> {
    let (_, _, mut words) = behind_name(bytes)?;
    skip(&mut words, &["state", "ppid", "pgrp"])?;
    words.number("session")
}

/// The id, the name, and the words behind it.
fn behind_name(bytes: &[u8]) -> Result<(&[u8], &[u8], Words<'_>), ParseError> {
    let missing = ParseError::MissingField { line: 1, field: "comm" };
    let open = bytes.iter().position(|&byte| byte == b'(').ok_or(missing.clone())?;
    let close = bytes.iter().rposition(|&byte| byte == b')').filter(|&at| at > open).ok_or(missing)?;
    let words = Words { line: 1, rest: bytes[close + 1..].trim_ascii_end() };
    Ok((bytes[..open].trim_ascii(), &bytes[open + 1..close], words))
}

fn skip(words: &mut Words<'_>, names: &[&'static str]) -> Result<(), ParseError> {
    names.iter().try_for_each(|name| words.word(name).map(drop))
}

/// Reads the text of /proc/PID/maps: every file once, in the order of its first mapping. Memory without a file and the
/// kernel's own areas (`[heap]`, `[vdso]`) are left out.
///
/// # Errors
/// When a line lacks a field or a field is not of its type.
pub fn parse_mapped_files(bytes: &[u8]) -> Result<Vec<MappedFile>, ParseError> {
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
pub(crate) fn device_number(word: &[u8]) -> Option<DeviceNumber> {
    let (major, minor) = std::str::from_utf8(word).ok()?.split_once(':')?;
    Some(DeviceNumber { major: u32::from_str_radix(major, 16).ok()?, minor: u32::from_str_radix(minor, 16).ok()? })
}

/// In `maps` the kernel escapes newlines and nothing else (fs/proc/task_mmu.c, `seq_path` with "\n"): all other
/// backslashes are part of the name.
pub(crate) fn unescape_newlines(path: &[u8]) -> Vec<u8> {
    fields::unescape(path, |escape| (escape == "012").then_some(b'\n'))
}

/// Cuts the bytes of /proc/PID/cmdline into arguments. Empty for kernel threads and processes that have ended; one
/// argument for a program that wrote a title of its own there.
#[must_use]
pub fn parse_command_line(bytes: &[u8]) -> Vec<OsString> {
    let Some(bytes) = bytes.strip_suffix(b"\0").or((!bytes.is_empty()).then_some(bytes)) else { return Vec::new() };
    bytes.split(|&byte| byte == 0).map(|argument| OsString::from_vec(argument.to_vec())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TAIL: &str = "S 1 7 8 0 -1 4194304 99 5 3 0 12 34 0 0 20 0 2 0 1166638 3133440 413 18446744073709551615 1 1 \
                        0 0 0 0 0 0 0 0 0 0 17 1 0 0 9 0 0 1 1 1 1 1 1 1 0\n";

    #[test]
    fn the_name_ends_at_the_last_parenthesis() {
        for name in ["cat", "a b", "(sd-pam)", "a) R 1 (b", "x\ny", ")", "", "tail\\"] {
            let stat = parse_process_stat(format!("7 ({name}) {TAIL}").as_bytes()).expect(name);
            assert_eq!((stat.pid, stat.comm.to_str(), stat.state), (7, Some(name), 'S'));
            assert_eq!((stat.parent, stat.session, stat.user_ticks, stat.system_ticks), (1, 8, 12, 34));
            assert_eq!(parse_process_session(format!("7 ({name}) {TAIL}").as_bytes()), Ok(8));
            assert_eq!((stat.start_ticks, stat.resident_pages), (1_166_638, 413));
            assert!(!stat.has_ended() && !stat.is_before_exec());
            let forked = format!("7 ({name}) {}", TAIL.replacen("4194304", "4194368", 1));
            assert!(parse_process_stat(forked.as_bytes()).expect(name).is_before_exec());
        }
    }

    #[test]
    fn a_process_has_moved_what_its_two_lines_say() {
        let text =
            b"rchar: 9\nwchar: 8\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 12288\ncancelled_write_bytes: 7\n";
        assert_eq!(parse_process_io(text), Ok(BytesMoved { read_bytes: 4096, write_bytes: 12_288 }));
        assert_eq!(parse_process_io(b"read_bytes: 1\n"), Err(ParseError::MissingLine("write_bytes")));
    }

    #[test]
    fn a_line_that_is_cut_short_is_an_error() {
        let words: Vec<&str> = TAIL.split_ascii_whitespace().collect();
        let cut = format!("7 (init) {}\n", words[..21].join(" "));
        assert_eq!(parse_process_stat(cut.as_bytes()), Err(ParseError::MissingField { line: 1, field: "rss" }));
    }

    #[test]
    fn what_is_no_stat_is_refused() {
        for bad in ["", "7", "7 (init", "7 )init( S", "x (init) S 1", "7 (init) SS 1", "7 (init) 5 1"] {
            assert!(parse_process_stat(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_file_is_listed_once_and_its_parts_are_summed() {
        let text = b"55e0-66f0 r--p 00000000 fe:01 131 /usr/lib/a b.so\n\
            66f0-66f8 r-xp 00001000 fe:01 131                        /usr/lib/a b.so\n\
            7000-7010 rw-p 00000000 00:00 0 \n\
            7010-7020 rw-p 00000000 00:00 0                          [heap]\n\
            8000-8001 rw-s 00000000 00:01 1028                       /memfd:x (deleted)\n\
            9000-9004 r--p 00000000 b3:0102 9                        /data/new\\012line\\040\n";
        let files = parse_mapped_files(text).expect("five");
        let file = |major, minor, inode, path: &str, deleted, mapped_bytes| MappedFile {
            device: DeviceNumber { major, minor },
            inode,
            path: path.into(),
            deleted,
            mapped_bytes,
        };
        assert_eq!(
            files,
            [
                file(254, 1, 131, "/usr/lib/a b.so", false, 0x1118),
                file(0, 1, 1028, "/memfd:x", true, 1),
                file(0xb3, 0x102, 9, "/data/new\nline\\040", false, 4),
            ]
        );
        assert!(parse_mapped_files(b"66f0-55e0 r--p 0 fe:01 1 /a\n").is_err());
        assert!(parse_mapped_files(b"55e0-66f0 r--p 0 fe01 1 /a\n").is_err());
        assert!(parse_mapped_files(b"55e0-66f0 r--p 0 fe:01\n").is_err());
    }

    #[test]
    fn arguments_may_be_empty_and_titles_have_no_end() {
        let line = |bytes: &[u8]| -> Vec<String> {
            parse_command_line(bytes).into_iter().map(|one| one.to_string_lossy().into_owned()).collect()
        };
        assert_eq!(line(b"sh\0-c\0\0"), ["sh", "-c", ""]);
        assert_eq!(line(b"nginx: master"), ["nginx: master"]);
        assert_eq!(line(b"\0"), [""]);
        assert!(line(b"").is_empty());
    }

    proptest! {
        #[test]
        fn any_name_comes_back(name in prop::collection::vec(1u8..=255, 0..16), pid in any::<u32>()) {
            let mut text = format!("{pid} (").into_bytes();
            text.extend(&name);
            text.extend(b") ");
            text.extend(TAIL.as_bytes());
            let stat = parse_process_stat(&text).expect("rendered");
            prop_assert_eq!((stat.pid, stat.comm.into_vec(), stat.parent), (pid, name, 1));
        }

        #[test]
        fn odd_paths_come_back(tail in prop::collection::vec(1u8..=255, 0..30)) {
            let mut name = b"/".to_vec();
            name.extend(tail);
            // What the kernel writes alike for two different names.
            let windows = |pattern: &[u8]| name.windows(pattern.len()).any(|window| window == pattern);
            prop_assume!(!windows(br"\012") && !name.ends_with(b" (deleted)"));
            let mut line = b"10-20 r--p 00000000 08:01 5                  ".to_vec();
            for &byte in &name {
                if byte == b'\n' { line.extend(br"\012") } else { line.push(byte) }
            }
            line.push(b'\n');
            let files = parse_mapped_files(&line).expect("rendered");
            prop_assert_eq!(files[0].path.as_os_str().as_encoded_bytes(), &name[..]);
        }
    }
}
