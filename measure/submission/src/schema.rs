//! Enums of `brisk_report::results` as the schema has them: that crate does not know of schemas. A test holds both
//! against each other.
#![allow(dead_code, reason = "their names are what counts")]

use schemars::JsonSchema;

/// Order of addresses.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Pattern {
    Sequential,
    Random,
}

/// What a request does.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Direction {
    Read,
    Write,
}

/// Whose figures these are: of the storage (`direct`, `evicted`), or of a cache.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CacheVerdict {
    Direct,
    Evicted,
    Memory,
    Lying,
    Unverified,
}

/// Whether the pages of an app were in memory.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Temperature {
    Cold,
    Warm,
}
