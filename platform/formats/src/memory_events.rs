//! What has happened to a memory group: memory.oom_control of control groups of version 1
//! (Documentation/admin-guide/cgroup-v1/memory.rst), memory.events of version 2 (cgroup-v2.rst).

use crate::ParseError;
use crate::fields::lines;

/// Reads from either how many processes of the group the kernel has ended for lack of memory.
///
/// # Errors
/// When the line `oom_kill` is missing (before Linux 4.13) or not understood.
pub fn parse_oom_kills(bytes: &[u8]) -> Result<u64, ParseError> {
    for mut words in lines(bytes) {
        if words.next_word() == Some(b"oom_kill") {
            return words.number("processes");
        }
    }
    Err(ParseError::MissingLine("oom_kill"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_have_a_line_of_their_own() {
        assert_eq!(parse_oom_kills(b"oom_kill_disable 1\nunder_oom 0\noom_kill 3\n"), Ok(3));
        assert_eq!(parse_oom_kills(b"low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n"), Ok(1));
        assert_eq!(parse_oom_kills(b"oom_kill_disable 1\nunder_oom 0\n"), Err(ParseError::MissingLine("oom_kill")));
        assert!(parse_oom_kills(b"oom_kill many\n").is_err());
    }
}
