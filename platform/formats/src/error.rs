//! Why a text of the kernel was not understood.

use thiserror::Error;

/// Where a text of the kernel is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseError {
    /// A line ends before a field that every kernel writes.
    #[error("line {line} has no field '{field}'")]
    MissingField {
        /// Line, the first is 1.
        line: usize,
        /// Name of the field.
        field: &'static str,
    },
    /// A field is not of its type, or beyond its range.
    #[error("line {line}: '{text}' is not a value of the field '{field}'")]
    BadField {
        /// Line, the first is 1.
        line: usize,
        /// Name of the field.
        field: &'static str,
        /// What stands there, odd bytes replaced.
        text: String,
    },
    /// A line that every kernel writes is not there.
    #[error("there is no line '{0}'")]
    MissingLine(&'static str),
}
