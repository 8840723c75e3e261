//! Many apps under several conditions on an emulated phone, and how much other storage could ever give.

use brisk_core::stats::Summary;
use serde::{Deserialize, Serialize};

use crate::Header;
use crate::launch::{LaunchComparison, LaunchSet};

/// The emulated phone that a suite ran on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhoneFacts {
    /// Preset of its flash.
    pub preset: String,
    /// Its block device, such as `/dev/loop3`.
    pub device: String,
    /// I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Requests that the device accepts at once.
    pub driver_tags: Option<u32>,
    /// Size of its file system.
    pub size_bytes: u64,
    /// File system and mount options, such as `ext4 rw,relatime`.
    pub file_system: String,
}

/// Load in the background of a condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WriterLoad {
    /// What it stands for, such as `app install and mail sync`.
    pub text: String,
    /// What it set out to write.
    pub target_bytes_per_s: f64,
    /// What it wrote while apps launched, over the launches.
    pub reached_bytes_per_s: Option<Summary>,
    /// Its fsyncs, over the launches.
    pub syncs_per_s: Option<Summary>,
}

/// One condition of a suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// `idle`, `writers`, or a variant of what-if such as `all_in_ram`.
    pub name: String,
    /// In a sentence.
    pub text: String,
    /// Background load.
    pub writer: Option<WriterLoad>,
}

/// One app of a suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuiteApp {
    /// Short name, such as `evince`.
    pub name: String,
    /// Its group, such as `reader`.
    pub group: String,
    /// Program and arguments inside the phone.
    pub command: Vec<String>,
    /// One for each condition (the set's label) and temperature.
    pub sets: Vec<LaunchSet>,
    /// Each condition against the first, by temperature.
    pub comparisons: Vec<LaunchComparison>,
    /// Why there is nothing, when it could not be measured.
    pub failure: Option<String>,
}

/// `brisk suite run`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuiteReport {
    /// Common head.
    #[serde(flatten)]
    pub header: Header,
    /// The phone.
    pub phone: PhoneFacts,
    /// Conditions, the base first.
    pub conditions: Vec<Condition>,
    /// The apps.
    pub apps: Vec<SuiteApp>,
}

/// SQLite transactions under one condition (user-perceived latency paper, figure 2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
