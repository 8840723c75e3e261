//! Storage benchmark and studies.
