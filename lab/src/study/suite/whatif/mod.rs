//! What if: the same launches with parts of the storage bypassed (Revisiting Storage, figure 13; user-perceived latency
//! paper, figures 2 and 3). What such a change saves is an upper bound for any better storage.

mod columns;
mod page;
pub(crate) mod result;
mod sqlite;

use self::columns::*;
use self::result::*;
use crate::study::shown::{launches, sets};
use brisk_report::declare::*;

impl Kind for WhatIfReport {
    const RANK: Rank = Rank::App;

    fn section(&self) -> Section {
        page::section(self)
    }

    fn rows(&self) -> Vec<Row> {
        let sqlite = self.sqlite.iter().flat_map(|result| {
            let operations =
                [("insert", result.insert_per_s), ("update", result.update_per_s), ("delete", result.delete_per_s)];
            operations.map(|(operation, rate)| {
                Row::at(DATABASE, "SQLite")
                    .by(OPERATION, operation)
                    .by(CONDITION, sets::label_words(&result.condition))
                    .put(TRANSACTIONS_PER_S, rate)
            })
        });
        launches::suite(&self.apps).chain(sqlite).chain(launches::writers(&self.conditions)).collect()
    }

    fn mode(&self) -> Facts {
        vec![launches::background_load(&self.conditions)]
    }

    fn setting(&self) -> Facts {
        launches::phone(&self.phone)
    }
}
