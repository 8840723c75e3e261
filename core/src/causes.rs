//! An error and what led to it, in one line.
//!
//! An error of these crates has its cause either in its text or in its source, never in both. A reason or a log line
//! shows the error alone, so it needs both.

use std::error::Error;

/// `error` and all its sources, outermost first: `cannot make a device: cannot open /dev/fuse: permission denied`.
#[must_use]
pub fn in_one_line(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Failure {
        text: &'static str,
        source: Option<Box<Failure>>,
    }

    #[test]
    fn causes_follow_what_they_caused() {
        let inner = Failure { text: "c", source: None };
        assert_eq!(in_one_line(&inner), "c");
        let outer = Failure { text: "a", source: Some(Box::new(Failure { text: "b", source: Some(Box::new(inner)) })) };
        assert_eq!(in_one_line(&outer), "a: b: c");
    }
}
