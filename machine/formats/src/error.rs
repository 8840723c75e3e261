//! Why a text of the kernel was not understood.

use thiserror::Error;

/// Where a text of the kernel is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseError {
    #[error("line {line} has no field '{field}'")]
    MissingField { line: usize, field: &'static str },
    #[error("line {line}: '{text}' is not a value of the field '{field}'")]
    BadField { line: usize, field: &'static str, text: String },
    #[error("there is no line '{0}'")]
    MissingLine(&'static str),
}
