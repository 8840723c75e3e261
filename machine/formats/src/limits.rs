//! What this process may take: /proc/self/limits (proc_pid_limits(5)).

use serde::{Deserialize, Serialize};

use crate::ParseError;
use crate::fields;

/// A limit of setrlimit(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    Unlimited,
    /// At most so much, in the limit's unit.
    At(u64),
}

impl Limit {
    /// Whether `amount` is allowed.
    #[must_use]
    pub fn allows(self, amount: u64) -> bool {
        match self {
            Self::Unlimited => true,
            Self::At(most) => amount <= most,
        }
    }
}

/// The soft limits that matter to brisk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory that may be locked, in bytes.
    pub locked_memory_bytes: Limit,
    /// Highest real-time priority.
    pub realtime_priority: Limit,
    pub open_files: Limit,
}

/// Reads the text of /proc/self/limits: a table whose names hold spaces.
///
/// # Errors
/// When one of the lines is missing or its value is neither a number nor `unlimited`.
pub fn parse_limits(bytes: &[u8]) -> Result<Limits, ParseError> {
    let soft = |name: &'static str| {
        for mut words in fields::lines(bytes) {
            if let Some(rest) = words.rest.strip_prefix(name.as_bytes()) {
                words.rest = rest;
                return match words.word("soft limit")? {
                    b"unlimited" => Ok(Limit::Unlimited),
                    word => fields::number(words.line, "soft limit", word).map(Limit::At),
                };
            }
        }
        Err(ParseError::MissingLine(name))
    };
    Ok(Limits {
        locked_memory_bytes: soft("Max locked memory")?,
        realtime_priority: soft("Max realtime priority")?,
        open_files: soft("Max open files")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(memory: &str, priority: &str) -> String {
        format!(
            "Limit                     Soft Limit           Hard Limit           Units     \n\
             Max open files            1024                 1048576              files     \n\
             Max locked memory         {memory:20} {memory:20} bytes     \n\
             Max realtime priority     {priority:20} {priority:20} \n"
        )
    }

    #[test]
    fn names_with_spaces_are_found() {
        let limits = parse_limits(table("8388608", "0").as_bytes()).expect("a table");
        assert_eq!(limits.locked_memory_bytes, Limit::At(8 << 20));
        assert!(limits.locked_memory_bytes.allows(8 << 20) && !limits.locked_memory_bytes.allows((8 << 20) + 1));
        assert_eq!(limits.realtime_priority, Limit::At(0));
        assert_eq!(limits.open_files, Limit::At(1024));
        let free = parse_limits(table("unlimited", "99").as_bytes()).expect("a table");
        assert!(free.locked_memory_bytes.allows(u64::MAX));
        assert!(parse_limits(table("lots", "0").as_bytes()).is_err());
        assert_eq!(parse_limits(b""), Err(ParseError::MissingLine("Max locked memory")));
    }

    proptest! {
        #[test]
        fn what_the_kernel_renders_is_read_back(memory in any::<u64>(), priority in 0u64..100) {
            let limits = parse_limits(table(&memory.to_string(), &priority.to_string()).as_bytes());
            let read = limits.map(|l| (l.locked_memory_bytes, l.realtime_priority));
            prop_assert_eq!(read, Ok((Limit::At(memory), Limit::At(priority))));
        }
    }
}
