//! Desktop entries that start an app under its policy (Desktop Entry Specification 1.5), pure.
//!
//! The changed copy stands in the user's own directory, where it hides the entry of the system; without it all is as before.

/// Marks an entry that was made here.
const MARK: &str = "X-Brisk-Sync=true";

/// Whether an entry was made by [`wrapped`].
#[must_use]
pub fn is_ours(entry: &str) -> bool {
    entry.lines().any(|line| line == MARK)
}

/// The entry, with each command started by `starter` (a program and its arguments, quoted as the specification has it). `None` when it
/// starts no command. An app that is activated by D-Bus is started by its command instead.
#[must_use]
pub fn wrapped(entry: &str, starter: &str) -> Option<String> {
    let mut text = String::new();
    let mut has_command = false;
    for line in entry.lines() {
        if let Some(command) = value_of(line, "Exec") {
            text += &format!("Exec={starter} {command}\n");
            has_command = true;
        } else if value_of(line, "DBusActivatable").is_some() {
            text += "DBusActivatable=false\n";
        } else {
            text += &format!("{line}\n");
            if line.trim_end() == "[Desktop Entry]" {
                text += &format!("{MARK}\n");
            }
        }
    }
    (has_command && is_ours(&text)).then_some(text)
}

fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    Some(line.strip_prefix(key)?.trim_start().strip_prefix('=')?.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_started_under_the_policy() {
        let entry = "[Desktop Entry]\nName=Reader\nExec=reader %U\nDBusActivatable=true\n\n[Desktop Action new]\nExec = reader --new\n";
        let ours = wrapped(entry, "brisk sync run reader --").expect("an entry");
        assert_eq!(
            ours,
            "[Desktop Entry]\nX-Brisk-Sync=true\nName=Reader\nExec=brisk sync run reader -- reader %U\nDBusActivatable=false\n\n\
             [Desktop Action new]\nExec=brisk sync run reader -- reader --new\n"
        );
        assert!(is_ours(&ours) && !is_ours(entry));
    }

    #[test]
    fn an_entry_without_a_command_is_left_alone() {
        for entry in ["[Desktop Entry]\nType=Link\nURL=x\n", "", "Exec=reader\n", "[Desktop Entry]\nTryExec=reader\n"] {
            assert_eq!(wrapped(entry, "x"), None, "{entry}");
        }
    }
}
