//! Tables of memory over time, and what of them is the need of an app.
//!
//! Three forms of tables (`brisk_program::files::table`) are read, told apart by their columns; further columns do not
//! matter:
//!
//! | form | columns | app, run | need |
//! |---|---|---|---|
//! | growth | app, run, time_ms, anonymous_bytes, swapped_bytes | as named | anonymous pages, in memory and in swap |
//! | dumpsys | run, process, uptime_s, total_heap_alloc (kB) | process; each run of the table | heap in use |
//! | rss | run, time_s, pid, process, rss_kb | process; each process of a run | pages in memory |
//!
//! The launch of a run is its first line. Processes that are there from the first moment of an rss table on were
//! launched before.

use std::collections::HashMap;

use brisk_program::files::table::{Layout, Row, Table as Reader};
use thiserror::Error;

/// Times above this are no seconds since a launch or a boot: the year 5138 in Unix time.
const SECONDS_MAX: f64 = 1e11;

/// What the columns of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Anonymous memory of processes, also in swap.
    Growth,
    /// Heaps of Android's `dumpsys meminfo`.
    Dumpsys,
    /// Resident memory by process.
    Rss,
}

impl Form {
    const ALL: [Self; 3] = [Self::Growth, Self::Dumpsys, Self::Rss];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Growth => "growth",
            Self::Dumpsys => "dumpsys",
            Self::Rss => "rss",
        }
    }

    /// Columns: app, run, time, need; then another part of the need, or of the run.
    const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Growth => &["app", "run", "time_ms", "anonymous_bytes", "swapped_bytes"],
            Self::Dumpsys => &["process", "run", "uptime_s", "total_heap_alloc"],
            Self::Rss => &["process", "run", "time_s", "rss_kb", "pid"],
        }
    }

    /// Unit of time in seconds, and of the need in bytes.
    fn units(self) -> (f64, f64) {
        if self == Self::Growth { (1e-3, 1.0) } else { (1.0, 1024.0) }
    }

    const fn layout(self) -> Layout {
        Layout { needed: self.columns(), optional: &[] }
    }
}

/// Why a text is no such table.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TableError {
    #[error(transparent)]
    Table(#[from] brisk_program::files::table::TableError),
    #[error("it has no samples")]
    Empty,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    pub app: String,
    /// Whether its first sample is that of its launch.
    pub from_launch: bool,
    /// Seconds since the first sample, ascending, and need in bytes.
    pub samples: Vec<(f64, u64)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub form: Form,
    /// In the order of their first lines.
    pub traces: Vec<Trace>,
}

impl Table {
    pub const LAYOUTS: [Layout; 3] = [Form::ALL[0].layout(), Form::ALL[1].layout(), Form::ALL[2].layout()];

    /// Reads a table. Lines of one run need not be in the order of time.
    ///
    /// # Errors
    /// With line and column, when the text is neither.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let (form, samples, is_launched) = of_rows(text)?;
        let (mut traces, mut known) = (Vec::<(String, Trace)>::new(), HashMap::new());
        for sample in samples {
            let place = *known.entry(sample.run.clone()).or_insert_with(|| {
                let trace = Trace { app: sample.app, from_launch: true, samples: Vec::new() };
                traces.push((sample.table_run, trace));
                traces.len() - 1
            });
            traces[place].1.samples.push((sample.at_s, sample.need_bytes));
        }
        if traces.is_empty() {
            return Err(TableError::Empty);
        }
        let mut first_s: HashMap<String, f64> = HashMap::new();
        for (run, trace) in &mut traces {
            trace.samples.sort_by(|a, b| a.0.total_cmp(&b.0));
            let begin_s = trace.samples[0].0;
            let first = first_s.entry(run.clone()).or_insert(begin_s);
            *first = first.min(begin_s);
        }
        let traces = traces.into_iter().map(|(run, mut trace)| {
            let begin_s = trace.samples[0].0;
            trace.from_launch = is_launched || first_s.get(&run).is_some_and(|first_s| begin_s > *first_s);
            trace.samples.iter_mut().for_each(|(at_s, _)| *at_s -= begin_s);
            trace
        });
        Ok(Self { form, traces: traces.collect() })
    }

    /// Median time between two samples of a run; `None` when no run has two.
    #[must_use]
    pub fn sampled_s(&self) -> Option<f64> {
        let gaps = self.traces.iter().flat_map(|trace| trace.samples.windows(2).map(|pair| pair[1].0 - pair[0].0));
        brisk_core::stats::median(&gaps.filter(|gap| *gap > 0.0).collect::<Vec<_>>())
    }
}

struct Sample {
    app: String,
    /// What tells this run from others of the table.
    run: (String, String, String),
    table_run: String,
    at_s: f64,
    need_bytes: u64,
}

/// Form and samples of a table, and whether each run begins with its launch.
type Samples = (Form, Vec<Sample>, bool);

fn of_rows(text: &str) -> Result<Samples, TableError> {
    let (mut table, form) = Reader::begin(text, &Table::LAYOUTS)?;
    let form = Form::ALL[form];
    let mut samples = Vec::new();
    while let Some(row) = table.next_row()? {
        samples.push(sample_of(form, &row)?);
    }
    Ok((form, samples, form != Form::Rss))
}

fn sample_of(form: Form, row: &Row<'_>) -> Result<Sample, brisk_program::files::table::TableError> {
    let (columns, (second, unit_bytes)) = (form.columns(), form.units());
    let at_s = row.number(columns[2], 0.0..=SECONDS_MAX / second)? * second;
    let bytes = |column| {
        Ok::<f64, brisk_program::files::table::TableError>(row.number(column, 0.0..=1e18 / unit_bytes)? * unit_bytes)
    };
    let need = bytes(columns[3])? + if form == Form::Growth { bytes(columns[4])? } else { 0.0 };
    let (app, table_run) = (row.filled(columns[0])?.to_owned(), row.filled(columns[1])?.to_owned());
    let process = if form == Form::Rss { row.filled(columns[4])?.to_owned() } else { String::new() };
    Ok(Sample { run: (app.clone(), table_run.clone(), process), app, table_run, at_s, need_bytes: need as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_form_is_known_by_its_columns() {
        let growth = "app,run,time_ms,anonymous_bytes,file_bytes,swapped_bytes\n\
                      evince,1,0,0,0,0\nevince,1,250,4096,9,4\nevince,2,0,7,0,0\n";
        let table = Table::parse(growth).expect("read");
        assert_eq!((table.form, table.traces.len(), table.sampled_s()), (Form::Growth, 2, Some(0.25)));
        assert_eq!(table.traces[0].samples, [(0.0, 0), (0.25, 4100)]);

        let dumpsys = "run,fps,process,idx,uptime_s,total_heap_alloc\n\
                       a,30,base,1,111.5,2\na,30,base,0,106.0,1\na,30,media,0,106.0,5\nb,30,base,0,90,3\n";
        let table = Table::parse(dumpsys).expect("read");
        let apps: Vec<&str> = table.traces.iter().map(|trace| trace.app.as_str()).collect();
        assert_eq!((table.form, apps), (Form::Dumpsys, vec!["base", "media", "base"]));
        assert_eq!(table.traces[0].samples, [(0.0, 1024), (5.5, 2048)], "in the order of time");

        let rss = "run,time_s,pid,process,vsz_kb,rss_kb\n\
                   m,1654692443.4,10,ui,9,1\nm,1654692445.4,10,ui,9,2\n\
                   m,1654692445.4,11,mail,9,3\nm,1654692447.4,12,mail,9,4\n";
        let table = Table::parse(rss).expect("read");
        let found: Vec<(&str, bool)> = table.traces.iter().map(|one| (one.app.as_str(), one.from_launch)).collect();
        assert_eq!(
            found,
            [("ui", false), ("mail", true), ("mail", true)],
            "what is there at first was launched before"
        );
    }

    #[test]
    fn what_is_no_such_table_is_refused_with_the_line_and_the_reason() {
        let head = "app,run,time_ms,anonymous_bytes,swapped_bytes\n";
        let cases = [
            ("", "it is empty: line 1 is to name the columns app, run, time_ms"),
            (
                "a,b\n1,2\n",
                "it has a, b; expected are app, run, time_ms, anonymous_bytes, swapped_bytes; or process, run",
            ),
            (head, "it has no samples"),
            (&format!("{head}evince,1,0,5\n"), "line 2, column swapped_bytes: '' is no number"),
            (&format!("{head}evince,1,0,5,0\nevince,1,-4,5,0\n"), "line 3, column time_ms: '-4' is no number from 0"),
            (&format!("{head}evince,1,0,NaN,0\n"), "line 2, column anonymous_bytes: 'NaN'"),
            (&format!("{head}evince,1,0,1e300,0\n"), "line 2, column anonymous_bytes: '1e300'"),
            (&format!("{head},1,0,5,0\n"), "line 2, column app: it is empty"),
        ];
        for (text, words) in cases {
            let said = Table::parse(text).expect_err("refused").to_string();
            assert!(said.contains(words), "{text:?}: {said}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(rows in prop::collection::vec(any::<String>(), 0..8), text in any::<String>()) {
            let head = "app,run,time_ms,anonymous_bytes,swapped_bytes";
            let _ = Table::parse(&text);
            let _ = Table::parse(&format!("{head}\n{}", rows.join("\n")));
        }

        #[test]
        fn samples_ascend_from_zero(
            rows in prop::collection::vec((0u8..3, 0u8..3, 0u32..100_000, any::<u32>()), 1..60),
        ) {
            let mut text = "app,run,time_ms,anonymous_bytes,swapped_bytes\n".to_owned();
            for (app, run, at, need) in &rows {
                text.push_str(&format!("a{app},{run},{at},{need},1\n"));
            }
            let table = Table::parse(&text).expect("read");
            let count: usize = table.traces.iter().map(|trace| trace.samples.len()).sum();
            prop_assert_eq!(count, rows.len());
            for trace in &table.traces {
                prop_assert!(trace.samples[0].0 == 0.0 && trace.samples.is_sorted_by(|a, b| a.0 <= b.0));
            }
        }
    }
}
