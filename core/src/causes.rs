//! An error and what led to it, in one line.
//!
//! Errors here tell either in their text or in their source what caused them, never in both; who shows an error in a place of
//! its own, as a reason or in a log, needs both.

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
    struct Told {
        text: &'static str,
        source: Option<Box<Told>>,
    }

    #[test]
    fn causes_follow_what_they_caused() {
        let inner = Told { text: "c", source: None };
        assert_eq!(in_one_line(&inner), "c");
        let outer = Told { text: "a", source: Some(Box::new(Told { text: "b", source: Some(Box::new(inner)) })) };
        assert_eq!(in_one_line(&outer), "a: b: c");
    }
}
