//! One folder for each kind of document: `columns.rs` (its dimensions and measures), `result.rs` (its struct, the
//! public JSON), `page.rs` (charts, tables, sentences), and `mod.rs` with its [`Kind`]: what compares, and what has to
//! be alike for that. A new kind is a folder, its line among the modules and its line in [`Document`].

pub(crate) mod bench;
pub(crate) mod comparison;
mod concurrency;
mod cures;
mod day;
mod footprint;
mod frontier;
mod heap_study;
mod hunt;
mod kernel;
mod latency;
mod launch;
mod memory_study;
mod prediction;
mod profile;
mod prove;
mod relaunch;
mod schedulers;
mod slowdown;
mod suite;
mod swap;
mod whatif;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::results::Header;
use crate::section::Kind;

/// The one list of kinds of documents: folder, variant, report and name in JSON. Reading, heads and what shows them
/// derive from it.
macro_rules! documents {
    ($($(#[$doc:meta])* $module:ident: $kind:ident($report:ident) = $name:literal,)+) => {
        $(pub use $module::*;)+

        /// Any document that brisk writes.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum Document {
            $($(#[$doc])* #[serde(rename = $name)] $kind(Box<$report>),)+
        }

        impl Document {
            /// The names of all kinds, as they stand in the field `kind`.
            pub const KINDS: &'static [&'static str] = &[$($name),+];

            /// The document of this `kind` in `input`; `None` when the kind is unknown. Unlike the general
            /// deserialization, which has to keep everything that stands before the kind, it takes no memory beyond the
            /// document's own.
            ///
            /// # Errors
            /// When `input` is not a report of that kind.
            pub fn of_kind<'de, D: serde::Deserializer<'de>>(kind: &str, input: D) -> Result<Option<Self>, D::Error> {
                match kind {
                    $($name => $report::deserialize(input).map(|report| Some(Self::$kind(Box::new(report)))),)+
                    _ => Ok(None),
                }
            }

            /// The head that all documents have.
            #[must_use]
            pub fn header(&self) -> &Header {
                match self { $(Self::$kind(report) => &report.header,)+ }
            }

            /// The same, to be completed by a caller that knows more of the machine.
            pub fn header_mut(&mut self) -> &mut Header {
                match self { $(Self::$kind(report) => &mut report.header,)+ }
            }

            /// What all kinds have.
            pub(crate) fn of(&self) -> &dyn Kind {
                match self { $(Self::$kind(report) => report.as_ref(),)+ }
            }

            /// Its name among [`Self::KINDS`].
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$kind(_) => $name,)+ }
            }
        }
    };
}

documents! {
    /// `brisk bench`.
    bench: Bench(BenchReport) = "bench",
    /// `brisk study slowdown`.
    slowdown: Slowdown(SlowdownReport) = "slowdown",
    /// `brisk study concurrency`.
    concurrency: Concurrency(ConcurrencyReport) = "concurrency",
    /// `brisk study schedulers`.
    schedulers: Schedulers(SchedulersReport) = "schedulers",
    /// `brisk study footprint`.
    footprint: Footprint(FootprintReport) = "footprint",
    /// `brisk study frontier`.
    frontier: Frontier(FrontierReport) = "frontier",
    /// `brisk study memory`.
    memory_study: MemoryStudy(MemoryStudyReport) = "memory_study",
    /// `brisk study heap`.
    heap_study: HeapStudy(HeapStudyReport) = "heap_study",
    /// `brisk launch`.
    launch: Launch(LaunchReport) = "launch",
    /// `brisk latency`.
    latency: Latency(LatencyReport) = "latency",
    /// `brisk suite run`.
    suite: Suite(SuiteReport) = "suite",
    /// `brisk suite whatif`.
    whatif: WhatIf(WhatIfReport) = "what_if",
    /// `brisk prove`.
    prove: Prove(ProveReport) = "prove",
    /// `brisk profile`.
    profile: Profile(ProfileReport) = "profile",
    /// `brisk compare`.
    comparison: Comparison(ComparisonReport) = "comparison",
    /// `brisk kernel`.
    kernel: Kernel(KernelReport) = "kernel",
    /// `brisk kernel hunt`.
    hunt: Hunt(HuntReport) = "kernel_hunt",
    /// `brisk suite relaunch`.
    relaunch: Relaunch(RelaunchReport) = "relaunch",
    /// `brisk swap show` and `brisk swap replay`.
    swap: Swap(SwapReport) = "swap",
    /// `brisk suite day`.
    day: Day(DayReport) = "day",
    /// `brisk predict eval`.
    prediction: Prediction(PredictionReport) = "prediction",
    /// `brisk suite cures`.
    cures: Cures(CuresReport) = "cures",
}
