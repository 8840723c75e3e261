//! Block devices that come, go and change: the kernel's uevents (Documentation/ABI/stable/sysfs-uevent,
//! lib/kobject_uevent.c).

/// What became of a whole block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockChange {
    Came(String),
    Gone(String),
    /// It changed: another medium, another file behind a loop device, read-only by now.
    Changed(String),
    Unknown,
}

/// Reads one message: parts that end with a zero byte, the first a summary, the others `KEY=value`. `None` when it is
/// not of a whole block device.
#[must_use]
pub fn parse_uevent(bytes: &[u8]) -> Option<BlockChange> {
    let (mut action, mut subsystem, mut kind, mut path) = (None, None, None, None);
    for part in bytes.split(|&byte| byte == 0).skip(1) {
        let Some(at) = part.iter().position(|&byte| byte == b'=') else { continue };
        let value = std::str::from_utf8(&part[at + 1..]).ok();
        match &part[..at] {
            b"ACTION" => action = value,
            b"SUBSYSTEM" => subsystem = value,
            b"DEVTYPE" => kind = value,
            b"DEVPATH" => path = value,
            _ => {}
        }
    }
    if (subsystem?, kind?) != ("block", "disk") {
        return None;
    }
    // As in /sys/block, where '!' stands for '/'.
    let name = path?.rsplit('/').next().filter(|name| !name.is_empty())?.to_owned();
    match action? {
        "add" => Some(BlockChange::Came(name)),
        "remove" => Some(BlockChange::Gone(name)),
        "change" | "online" | "offline" | "move" => Some(BlockChange::Changed(name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(action: &str, path: &str, kind: &str) -> Vec<u8> {
        let text =
            format!("{action}@{path}\0ACTION={action}\0DEVPATH={path}\0SUBSYSTEM=block\0DEVTYPE={kind}\0SEQNUM=7\0");
        text.into_bytes()
    }

    #[test]
    fn whole_disks_are_told_from_their_partitions() {
        let card = "/devices/platform/mmc/mmc1/mmc1:aaaa/block/mmcblk1";
        assert_eq!(parse_uevent(&message("add", card, "disk")), Some(BlockChange::Came("mmcblk1".to_owned())));
        assert_eq!(parse_uevent(&message("remove", card, "disk")), Some(BlockChange::Gone("mmcblk1".to_owned())));
        assert_eq!(parse_uevent(&message("change", card, "disk")), Some(BlockChange::Changed("mmcblk1".to_owned())));
        assert_eq!(parse_uevent(&message("add", &format!("{card}/mmcblk1p1"), "partition")), None);
        assert_eq!(parse_uevent(&message("bind", card, "disk")), None);
        assert_eq!(parse_uevent(b"add@/x\0ACTION=add\0DEVPATH=/x\0SUBSYSTEM=net\0"), None);
    }
}
