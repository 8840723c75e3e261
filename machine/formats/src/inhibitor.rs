//! An inhibitor lock of logind, as it keeps it in /run/systemd/inhibit: one assignment a line (systemd:
//! src/login/logind-inhibit.c, `inhibitor_save`).
//!
//! The file calls itself private; its fields are the same since systemd 187, and elogind writes them too.
//! `ListInhibitors` of logind says the same over D-Bus, for which a device would need a library.

use crate::ParseError;
use crate::fields::{self, number};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inhibitor {
    /// What it inhibits: `shutdown`, `sleep`, `idle`, `handle-lid-switch`, ...
    pub what: Vec<String>,
    /// Whether it blocks, rather than delays for some seconds.
    pub blocks: bool,
    /// The process that took it; `None` when logind does not say.
    pub pid: Option<u32>,
    /// What it calls itself; escaped as in C.
    pub who: String,
}

impl Inhibitor {
    /// Whether the machine is to stay as it is for as long as someone works: not end, sleep or count as idle. Locks of
    /// keys and the lid say nothing of that, and delays are taken by every service that wants to hear of a suspend.
    #[must_use]
    pub fn is_of_work(&self) -> bool {
        self.blocks && self.what.iter().any(|what| matches!(what.as_str(), "shutdown" | "sleep" | "idle"))
    }
}

/// Reads the text of such a file. Fields that later versions add are skipped.
///
/// # Errors
/// When what is inhibited or the mode is missing, or the process is not a number.
pub fn parse_inhibitor(bytes: &[u8]) -> Result<Inhibitor, ParseError> {
    let (mut what, mut mode, mut inhibitor) = (None, None, Inhibitor::default());
    for (line, text) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        let Some(equals) = text.iter().position(|byte| *byte == b'=').filter(|_| !text.starts_with(b"#")) else {
            continue;
        };
        let value = &text[equals + 1..];
        let value = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value);
        match &text[..equals] {
            b"WHAT" => what = Some(fields::text(value).split(':').map(str::to_owned).collect()),
            b"MODE" => mode = Some(fields::text(value)),
            b"PID" => inhibitor.pid = Some(number(line, "PID", value)?),
            b"WHO" => inhibitor.who = fields::text(value),
            _ => {}
        }
    }
    inhibitor.what = what.ok_or(ParseError::MissingLine("WHAT"))?;
    // block-weak (systemd 257) blocks too, unless root asks.
    inhibitor.blocks = mode.ok_or(ParseError::MissingLine("MODE"))?.starts_with("block");
    Ok(inhibitor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# This is private data. Do not parse.\nWHAT=shutdown:sleep\nMODE=block\nUID=1000\nPID=4711\n\
                        PIDFDID=99\nWHO=\"GIMP 2.10\"\nWHY=there\\x20are changes=unsaved\n\
                        FIFO=/run/systemd/inhibit/7.ref\n";

    #[test]
    fn a_lock_is_read_as_logind_writes_it() {
        let what = vec!["shutdown".to_owned(), "sleep".to_owned()];
        let expected = Inhibitor { what, blocks: true, pid: Some(4711), who: "GIMP 2.10".to_owned() };
        assert_eq!(parse_inhibitor(TEXT.as_bytes()), Ok(expected));
        let weak = TEXT.replace("MODE=block", "MODE=block-weak");
        assert!(parse_inhibitor(weak.as_bytes()).expect("a lock").is_of_work());
    }

    #[test]
    fn delays_and_locks_of_keys_are_no_work() {
        for (what, mode, is_of_work) in [
            ("shutdown", "block", true),
            ("idle", "block", true),
            ("sleep", "delay", false),
            ("handle-power-key:handle-lid-switch", "block", false),
            ("handle-power-key:sleep", "block", true),
        ] {
            let text = format!("WHAT={what}\nMODE={mode}\n");
            assert_eq!(parse_inhibitor(text.as_bytes()).expect("a lock").is_of_work(), is_of_work, "{what} {mode}");
        }
    }

    #[test]
    fn half_a_lock_is_none() {
        assert_eq!(parse_inhibitor(b"MODE=block\n"), Err(ParseError::MissingLine("WHAT")));
        assert_eq!(parse_inhibitor(b"WHAT=idle\n"), Err(ParseError::MissingLine("MODE")));
        assert!(parse_inhibitor(b"WHAT=idle\nMODE=block\nPID=x\n").is_err());
    }
}
