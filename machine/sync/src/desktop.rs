//! Desktop entries that start an app under its policy (Desktop Entry Specification 1.5), pure.
//!
//! The changed copy stands in the user's own directory, where it hides the entry of the system; without it all is as
//! before.

/// Marks an entry that was made here.
const MARK: &[u8] = b"X-Brisk-Sync=true";

/// Whether an entry was made by [`wrapped`].
#[must_use]
pub fn is_ours(entry: &[u8]) -> bool {
    entry.split(|byte| *byte == b'\n').any(|line| line.trim_ascii_end() == MARK)
}

/// The entry, with each command started by `starter` (a program and its arguments, quoted as the specification has it).
/// `None` when it starts no command. An app that is activated by D-Bus is started by its command instead. The entry is
/// bytes: names and comments may have any encoding.
#[must_use]
pub fn wrapped(entry: &[u8], starter: &str) -> Option<Vec<u8>> {
    let mut new = Vec::new();
    let mut has_command = false;
    for line in entry.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if let Some(command) = value_of(line, b"Exec") {
            new.extend([b"Exec=", starter.as_bytes(), b" ", command].concat());
            has_command = true;
        } else if value_of(line, b"DBusActivatable").is_some() {
            new.extend(b"DBusActivatable=false");
        } else {
            new.extend(line);
            if line.trim_ascii_end() == b"[Desktop Entry]" {
                new.push(b'\n');
                new.extend(MARK);
            }
        }
        new.push(b'\n');
    }
    (has_command && is_ours(&new)).then_some(new)
}

fn value_of<'a>(line: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    Some(line.strip_prefix(key)?.trim_ascii_start().strip_prefix(b"=")?.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_started_under_the_policy() {
        let entry = b"[Desktop Entry]\nName=Reader\nExec=reader %U\nDBusActivatable=true\n\n[Desktop Action new]\n\
                      Exec = reader --new\n";
        let ours = wrapped(entry, "brisk sync run reader --").expect("an entry");
        assert_eq!(
            String::from_utf8_lossy(&ours),
            "[Desktop Entry]\nX-Brisk-Sync=true\nName=Reader\nExec=brisk sync run reader -- reader %U\n\
             DBusActivatable=false\n\n[Desktop Action new]\nExec=brisk sync run reader -- reader --new\n"
        );
        assert!(is_ours(&ours) && !is_ours(entry));
    }

    #[test]
    fn an_entry_of_any_bytes_keeps_them() {
        let ours = wrapped(b"[Desktop Entry]\r\n# caf\xe9\r\nName=\xff\0\r\nExec=reader\r\nEncoding=Legacy-Mixed", "x");
        let expected =
            b"[Desktop Entry]\r\nX-Brisk-Sync=true\n# caf\xe9\r\nName=\xff\0\r\nExec=x reader\nEncoding=Legacy-Mixed\n";
        assert_eq!(ours.as_deref(), Some(expected.as_slice()));
    }

    #[test]
    fn an_entry_without_a_command_is_left_alone() {
        for entry in ["[Desktop Entry]\nType=Link\nURL=x\n", "", "Exec=reader\n", "[Desktop Entry]\nTryExec=reader\n"] {
            assert_eq!(wrapped(entry.as_bytes(), "x"), None, "{entry}");
        }
    }
}
