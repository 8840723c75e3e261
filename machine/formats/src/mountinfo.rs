//! What is mounted where: /proc/self/mountinfo (proc_pid_mountinfo(5)).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::DeviceNumber;
use crate::ParseError;
use crate::fields::{self, Words, lines};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    pub id: u32,
    /// Number of the mount that it lies on.
    pub parent: u32,
    /// The device of the files below it: their `st_dev`. Major 0 where no single block device stands behind it.
    pub device: DeviceNumber,
    /// The directory of the file system that shows at the mount point: `/` but for bind mounts and subvolumes.
    pub root: PathBuf,
    pub mount_point: PathBuf,
    /// Options of this mount: `rw`, `relatime`, ...
    pub options: Vec<String>,
    /// File system type, such as `ext4` or `fuse.sshfs`.
    pub fs_type: String,
    /// What was mounted: a device, a server, or a word without meaning.
    pub source: PathBuf,
    /// Options of the file system itself, for all its mounts.
    pub super_options: Vec<String>,
}

impl Mount {
    /// Whether writing is not allowed, through this mount or at all.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.options.iter().chain(&self.super_options).any(|option| option == "ro")
    }
}

/// Reads the text of /proc/self/mountinfo, in the kernel's order: a later mount hides an earlier one on the same point.
///
/// # Errors
/// When a line lacks a field or the separator before the file system type.
pub fn parse_mounts(bytes: &[u8]) -> Result<Vec<Mount>, ParseError> {
    lines(bytes).map(mount).collect()
}

fn mount(mut words: Words<'_>) -> Result<Mount, ParseError> {
    let id = words.number("mount ID")?;
    let parent = words.number("parent ID")?;
    let device = words.number("major:minor")?;
    let root = path(words.word("root")?);
    let mount_point = path(words.word("mount point")?);
    let options = options(words.word("mount options")?);
    // Any number of optional fields (shared:N, master:N, ...) up to a lone hyphen.
    while words.word("separator")? != b"-" {}
    Ok(Mount {
        id,
        parent,
        device,
        root,
        mount_point,
        options,
        fs_type: fields::text(&fields::unescape_octal(words.word("file system type")?)),
        // An empty source is rendered as nothing between two spaces.
        source: match words.rest {
            [b' ', b' ', ..] => PathBuf::new(),
            _ => path(words.word("source")?),
        },
        super_options: self::options(words.word("super options")?),
    })
}

fn path(word: &[u8]) -> PathBuf {
    OsString::from_vec(fields::unescape_octal(word)).into()
}

fn options(word: &[u8]) -> Vec<String> {
    word.split(|&byte| byte == b',')
        .map(|option| String::from_utf8_lossy(&fields::unescape_octal(option)).into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    #[test]
    fn optional_fields_and_escapes_are_understood() {
        let text =
            br"36 35 98:0 /mnt1 /mnt/my\040disk rw,noatime shared:1 master:2 - fuse.sshfs host\134x rw,errors=continue
42 24 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
";
        let mounts = parse_mounts(text).expect("two mounts");
        assert_eq!(mounts[0].device, DeviceNumber { major: 98, minor: 0 });
        assert_eq!(mounts[0].root, Path::new("/mnt1"));
        assert_eq!(mounts[0].mount_point, Path::new("/mnt/my disk"));
        assert_eq!(mounts[0].options, ["rw", "noatime"]);
        assert_eq!((mounts[0].fs_type.as_str(), mounts[0].source.as_path()), ("fuse.sshfs", Path::new(r"host\x")));
        assert_eq!(mounts[1].super_options, ["rw", "name=systemd"]);
        assert!(!mounts[1].is_read_only());
    }

    #[test]
    fn an_empty_source_is_no_source() {
        let mounts = parse_mounts(b"36 35 0:9 / /m ro - tmpfs  rw,size=4k\n").expect("one");
        assert_eq!(mounts[0].source, Path::new(""));
        assert_eq!(mounts[0].super_options, ["rw", "size=4k"]);
        assert!(mounts[0].is_read_only());
    }

    #[test]
    fn a_line_without_its_separator_is_an_error() {
        assert_eq!(
            parse_mounts(b"36 35 98:0 / /mnt rw shared:1 ext4 /dev/root rw\n"),
            Err(ParseError::MissingField { line: 1, field: "separator" })
        );
        assert!(parse_mounts(b"36 35 98 / /mnt rw - ext4 /dev/root rw\n").is_err());
    }

    proptest! {
        #[test]
        fn odd_mount_points_come_back(name in prop::collection::vec(1u8..=255, 1..40)) {
            let mut escaped = b"/".to_vec();
            for &byte in &name {
                if b" \t\n\\".contains(&byte) {
                    escaped.extend(format!("\\{byte:03o}").bytes());
                } else {
                    escaped.push(byte);
                }
            }
            let mut line = b"1 2 3:4 / ".to_vec();
            line.extend(&escaped);
            line.extend(b" rw - ext4 /dev/sda rw\n");
            let mounts = parse_mounts(&line).expect("one mount");
            prop_assert_eq!(&mounts[0].mount_point.as_os_str().as_bytes()[1..], &name[..]);
        }
    }
}
