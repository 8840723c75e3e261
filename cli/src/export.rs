//! Values for other programs: tables (CSV), traces (Perfetto) and metrics (OpenMetrics), for records and for the state
//! of the daemon alike.
//!
//! A value has the name that brisk uses for it everywhere, whose last word is the unit; [`names`] is the one place that
//! knows what each format makes of it. The writers know formats, and neither records nor the daemon.

pub(crate) mod metric;
pub(crate) mod names;
pub(crate) mod openmetrics;
pub(crate) mod perfetto;
pub(crate) mod table;

use metric::Metric;

/// What happened between two samples.
pub(crate) struct Row {
    /// Which session of the record, the first is 1; a clock that was set back begins another, as times of one ascend.
    pub(crate) session: u64,
    /// When the interval began: since 1970, by the wall clock at its end and its length.
    pub(crate) start_unix_ns: u64,
    pub(crate) end_unix_ns: u64,
    pub(crate) metrics: Vec<Metric>,
}

/// Gives each interval to a function, as often as a writer asks for it.
pub(crate) type Rows<'a> = dyn Fn(&mut dyn FnMut(Row) -> anyhow::Result<()>) -> anyhow::Result<()> + 'a;
