//! How much other storage could ever give.

use brisk_core::stats::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::results::{Condition, Header, PhoneFacts, SuiteApp};

/// SQLite transactions under one condition (user-perceived latency paper, figure 2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SqliteResult {
    /// The condition's name.
    pub condition: String,
    /// Transactions of one insert.
    pub insert_per_s: Summary,
    /// Transactions of one update.
    pub update_per_s: Summary,
    /// Transactions of one delete.
    pub delete_per_s: Summary,
}

/// A task of an app under what-if conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIfReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// The phone.
    pub phone: PhoneFacts,
    /// `baseline` first, then `cache_in_ram`, `databases_in_ram`, `all_in_ram`, `sync_off`, `no_journal`.
    pub conditions: Vec<Condition>,
    /// The apps.
    pub apps: Vec<SuiteApp>,
    /// Throughput of SQLite by condition.
    pub sqlite: Vec<SqliteResult>,
}
