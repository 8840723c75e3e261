//! The file of a journal: one line for each thing that was changed, each with its own checksum.
//!
//! ```text
//! {"schema_version":1,"lines":[
//! {"crc32":"1f3a0c77","journal":{"version":1,"name":"briskd","owner":{...},"lines":2}},
//! {"crc32":"90ab12cd","entry":{"device":"/sys/block/sda","knob":"scheduler","original":"none",...}},
//! {"crc32":"77e0d1f0","priority":{"group":"4711/user.slice/app-x-1.scope",...}},
//! {"crc32":"1f3a0c77","journal":{...}}
//! ]}
//! ```
//!
//! The checksum (CRC-32, as of gzip) covers the bytes from behind its comma to before the last brace. A line whose
//! checksum does not hold is *lost*: nothing is done by it, and it is counted, because the heads (the first and the
//! last line, of which one is enough) say how many there are.
//!
//! Properties: `no_damage_to_a_journal_restores_a_wrong_value`; `a_journal_names_knobs_and_no_other_file`; a file is
//! replaced in one step.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use serde::{Deserialize, Serialize};

use super::places::Places;
use super::{Record, SCHEMA_VERSION};
use crate::Paths;
use crate::owner::Owner;

const EXTENSION: &str = "json";
/// More was not written by brisk.
const BYTES_MAX: u64 = 64 << 20;
/// Extension of a journal that is being written.
const FRESH: &str = "new";
/// What is appended to the name of a damaged journal, once what can be read of it is undone.
const DAMAGED: &str = "damaged";

/// What a file holds.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) record: Record,
    /// Lines that cannot be read.
    pub(crate) lost: usize,
}

/// Whose journal it is, and how much it holds.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    version: u32,
    name: String,
    owner: Owner,
    lines: usize,
}

fn encode(record: &Record) -> io::Result<Vec<u8>> {
    let (name, owner) = (record.name.clone(), record.owner.clone());
    let head = line("journal", &Head { version: SCHEMA_VERSION, name, owner, lines: record.len() })?;
    let mut lines = vec![head.clone()];
    for entry in &record.entries {
        lines.push(line("entry", entry)?);
    }
    for priority in &record.priorities {
        lines.push(line("priority", priority)?);
    }
    for file in &record.files {
        lines.push(line("file", file)?);
    }
    lines.push(head);
    Ok(format!("{{\"schema_version\":{SCHEMA_VERSION},\"lines\":[\n{}\n]}}\n", lines.join(",\n")).into_bytes())
}

fn line<T: Serialize>(kind: &str, value: &T) -> io::Result<String> {
    let body = format!("\"{kind}\":{}", serde_json::to_string(value)?);
    Ok(format!("{{\"crc32\":\"{:08x}\",{body}}}", crc32fast::hash(body.as_bytes())))
}

/// What the bytes of a file hold; `None` when they are no journal, one of a later brisk, or too damaged to tell whose.
pub(crate) fn decode(bytes: &[u8]) -> Option<Loaded> {
    let whole: Vec<(&str, &str)> = bytes.split(|&byte| byte == b'\n').filter_map(checked).collect();
    let of =
        |requested: &'static str| whole.iter().filter(move |(kind, _)| *kind == requested).map(|(_, value)| *value);
    let head: Head = of("journal").find_map(|value| serde_json::from_str(value).ok())?;
    if head.version != SCHEMA_VERSION {
        return None;
    }
    let mut record = Record::of(head.name, head.owner);
    record.entries.extend(of("entry").filter_map(|value| serde_json::from_str(value).ok()));
    record.priorities.extend(of("priority").filter_map(|value| serde_json::from_str(value).ok()));
    record.files.extend(of("file").filter_map(|value| serde_json::from_str(value).ok()));
    let lost = head.lines.saturating_sub(record.len());
    Some(Loaded { record, lost })
}

/// Kind and value of a line whose checksum holds.
fn checked(line: &[u8]) -> Option<(&str, &str)> {
    let line = std::str::from_utf8(line).ok()?;
    let (crc, body) = line.strip_prefix("{\"crc32\":\"")?.split_once("\",")?;
    let body = &body[..body.rfind('}')?];
    if u32::from_str_radix(crc, 16).ok()? != crc32fast::hash(body.as_bytes()) {
        return None;
    }
    let (kind, value) = body.strip_prefix('"')?.split_once("\":")?;
    Some((kind, value))
}

/// The journals in a directory, and files that look like such.
pub(crate) fn journals(dir: &Path) -> impl Iterator<Item = PathBuf> {
    files(dir, EXTENSION)
}

/// Damaged journals in a directory of which all is undone that can be read.
pub(crate) fn damaged(dir: &Path) -> impl Iterator<Item = PathBuf> {
    files(dir, DAMAGED)
}

fn files(dir: &Path, extension: &str) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|ext| ext == extension)).collect();
    files.sort();
    files.into_iter()
}

/// What a journal holds; `None` as for [`decode`], and when it is gone or not this user's alone. Lines that name
/// something that is no knob count as lost.
pub(crate) fn load(file: &Path, paths: &Paths) -> Option<Loaded> {
    let mut loaded = decode(&read(file).ok()?)?;
    loaded.lost += Places::of(paths).drop_others(&mut loaded.record);
    Some(loaded)
}

/// Reads a regular file of this user's, which is the only one who may write it. Nothing else is waited for or followed.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = File::from(open(file, flags, Mode::empty())?);
    let found = opened.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    is_own(&found)?;
    let mut bytes = Vec::new();
    opened.take(BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Refuses a folder of journals that another user has, or may write: what is in it is done as root. None is fine.
pub(crate) fn check_dir(dir: &Path) -> io::Result<()> {
    match fs::symlink_metadata(dir) {
        Ok(found) if found.is_dir() => is_own(&found),
        Ok(_) => Err(io::ErrorKind::NotADirectory.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn is_own(found: &Metadata) -> io::Result<()> {
    let (owner, user) = (found.uid(), rustix::process::geteuid().as_raw());
    let why = match found.mode() & 0o022 {
        _ if owner != user => format!("it is of user {owner}, not of {user}: remove it, or use another run directory"),
        0 => return Ok(()),
        _ => "others may write it: remove it".to_owned(),
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// Sets a damaged journal aside as it is, for people to read.
pub(crate) fn set_aside(file: &Path) -> io::Result<()> {
    fs::rename(file, file.with_extension(format!("{EXTENSION}.{DAMAGED}")))
}

/// Replaces the file in one step; removes it when nothing is changed any more.
pub(crate) fn save(file: &Path, record: &Record) -> io::Result<()> {
    let fresh = file.with_extension(FRESH);
    if record.is_empty() {
        // Who was killed in the middle of saving has left the fresh one.
        return remove(file).and_then(|()| remove(&fresh));
    }
    // Whatever is there is not opened.
    remove(&fresh)?;
    let mut out = File::options().write(true).create_new(true).mode(0o600).open(&fresh)?;
    out.write_all(&encode(record)?)?;
    out.sync_all()?;
    fs::rename(&fresh, file)?;
    if let Some(dir) = file.parent() {
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes half-written journals of dead processes: what they were about to journal was not changed yet.
pub(crate) fn remove_unfinished(paths: &Paths) {
    for file in files(&paths.journal, FRESH) {
        let pid = file.file_stem().map(Path::new).and_then(Path::extension).and_then(|pid| pid.to_str());
        if pid.is_some_and(|pid| pid.parse::<u32>().is_ok() && !paths.proc.join(pid).exists()) {
            // Another brisk may do the same at the same time.
            let _ = remove(&file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Entry, PriorityEntry};
    use crate::setting_file::{By, FileEntry, Identity};
    use brisk_core::knob::QueueSetting;
    use proptest::prelude::*;

    fn record() -> impl Strategy<Value = Record> {
        let entry = ("[a-z]{1,4}", ".{0,12}", prop::option::of(".{0,12}")).prop_map(|(device, original, ours)| Entry {
            device: PathBuf::from("/sys/block").join(device),
            backing_file: None,
            instance: Some(7),
            setting: QueueSetting::Scheduler,
            original,
            ours,
        });
        let priority = ("[a-z.]{1,8}", prop::collection::vec(any::<u32>(), 0..3)).prop_map(|(group, not_ours)| {
            PriorityEntry { group, since_ticks: 7, values: vec!["idle".to_owned()], not_ours }
        });
        let identity = any::<(bool, u64)>().prop_map(|(is_group, number)| match is_group {
            true => Identity::Inode(number),
            false => Identity::Kernel,
        });
        let by = ("[a-z.]{1,8}", any::<bool>()).prop_map(|(group, is_knob)| match is_knob {
            true => By::Knob(format!("io.weight/{group}").parse().expect("a knob")),
            false => By::Group(group),
        });
        let file = (by, identity, ".{0,8}", prop::option::of(".{0,8}"))
            .prop_map(|(by, of, original, ours)| FileEntry { file: "/proc/7/x".into(), by, of, original, ours });
        let some = |n| 0..n;
        let all = (
            prop::collection::vec(entry, some(4)),
            prop::collection::vec(priority, some(2)),
            prop::collection::vec(file, some(5)),
        );
        all.prop_map(|(entries, priorities, files)| {
            let owner = Owner { pid: 7, start_ticks: 9, boot_id: "b".to_owned() };
            Record { entries, priorities, files, ..Record::of("briskd".to_owned(), owner) }
        })
    }

    fn is_of<T: PartialEq>(found: &[T], all: &[T]) -> bool {
        found.iter().all(|one| all.contains(one))
    }

    proptest! {
        #[test]
        fn what_is_saved_is_read_back_and_is_json(record in record()) {
            let bytes = encode(&record).expect("in memory");
            let loaded = decode(&bytes).expect("whole");
            prop_assert_eq!((&loaded.record, loaded.lost), (&record, 0));
            let json: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
            prop_assert_eq!(json["lines"].as_array().map(Vec::len), Some(record.len() + 2));
        }

        #[test]
        fn what_is_damaged_is_counted_and_the_rest_is_as_it_was(
            record in record(), place in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
        ) {
            // Of nothing there is no file.
            prop_assume!(!record.is_empty());
            let mut bytes = encode(&record).expect("in memory");
            let place = place.index(bytes.len());
            // What parts two lines makes one of them when it is another byte.
            let lost_max = if bytes[place] == b'\n' { 2 } else { 1 };
            if cut { bytes.truncate(place) } else { bytes[place] = byte }
            match decode(&bytes) {
                Some(Loaded { record: found, lost }) => {
                    prop_assert_eq!((&found.name, &found.owner), (&record.name, &record.owner));
                    prop_assert_eq!(found.len() + lost, record.len());
                    prop_assert!(cut || lost <= lost_max);
                    prop_assert!(is_of(&found.entries, &record.entries));
                    prop_assert!(is_of(&found.priorities, &record.priorities));
                    prop_assert!(is_of(&found.files, &record.files));
                }
                // Then even the first of the heads is cut.
                None => {
                    let newlines = bytes.iter().filter(|byte| **byte == b'\n').count();
                    prop_assert!(cut && newlines < 2, "{} bytes, {newlines} lines", bytes.len());
                }
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn a_journal_of_a_later_brisk_is_not_guessed_at() {
        let owner = Owner { pid: 7, start_ticks: 9, boot_id: "b".to_owned() };
        let head = line("journal", &Head { version: SCHEMA_VERSION + 1, name: "x".to_owned(), owner, lines: 0 })
            .expect("in memory");
        assert!(decode(format!("{head}\n{head}\n").as_bytes()).is_none());
    }
}
