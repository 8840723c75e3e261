//! The I/O schedulers of a block device: `queue/scheduler` in its directory of /sys
//! (Documentation/ABI/stable/sysfs-block).

use serde::{Deserialize, Serialize};

use crate::ParseError;
use crate::fields;

/// The I/O schedulers of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedulers {
    /// The one in use; `None` when the kernel marks none, as for devices that have no queue to schedule.
    pub current: Option<String>,
    /// Those that can be chosen, the one in use among them. Modules that are not loaded do not show.
    pub available: Vec<String>,
}

/// Reads the list of schedulers: `none [mq-deadline] kyber`, or a lone `none` without brackets.
///
/// # Errors
/// When a bracket is not closed.
pub fn parse_schedulers(bytes: &[u8]) -> Result<Schedulers, ParseError> {
    let mut schedulers = Schedulers::default();
    let Some(mut words) = fields::lines(bytes).next() else { return Ok(schedulers) };
    while let Some(word) = words.next_word() {
        let bad = || ParseError::BadField { line: words.line, field: "scheduler", text: fields::text(word) };
        let name = match word.strip_prefix(b"[") {
            None => fields::text(word),
            Some(marked) => {
                let name = fields::text(marked.strip_suffix(b"]").ok_or_else(bad)?);
                schedulers.current = Some(name.clone());
                name
            }
        };
        schedulers.available.push(name);
    }
    if schedulers.current.is_none() && schedulers.available == ["none"] {
        schedulers.current = Some("none".to_owned());
    }
    Ok(schedulers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_scheduler_in_use_stands_in_brackets() {
        let read = |text: &str| parse_schedulers(text.as_bytes()).expect("a list");
        let list = read("none [mq-deadline] kyber bfq \n");
        assert_eq!(list.current.as_deref(), Some("mq-deadline"));
        assert_eq!(list.available, ["none", "mq-deadline", "kyber", "bfq"]);
        // Linux before 4.13 and devices without a queue have no brackets.
        assert_eq!(read("none\n").current.as_deref(), Some("none"));
        assert_eq!(read("\n"), Schedulers::default());
        assert_eq!(read("noop deadline\n").current, None);
        assert!(parse_schedulers(b"[none kyber\n").is_err());
    }

    proptest! {
        #[test]
        fn what_the_kernel_renders_is_read_back(
            available in prop::collection::vec("[a-z][a-z-]{0,15}", 1..6),
            choice in any::<prop::sample::Index>(),
        ) {
            let chosen = choice.index(available.len());
            let text: String = available
                .iter()
                .enumerate()
                .map(|(i, name)| if i == chosen { format!("[{name}] ") } else { format!("{name} ") })
                .collect();
            let current = Some(available[chosen].clone());
            prop_assert_eq!(parse_schedulers(text.as_bytes()), Ok(Schedulers { current, available }));
        }
    }
}
