//! Tables of memory over time, and what of them is the need of an app.
//!
//! Three forms are read, told apart by the columns of the first line; further columns do not matter:
//!
//! | form | columns | app, run | need |
//! |---|---|---|---|
//! | growth | app, run, time_ms, anonymous_bytes, swapped_bytes | as named | anonymous pages, in memory and in swap |
//! | dumpsys | run, process, uptime_s, total_heap_alloc (kB) | process; each run of the table | heap in use |
//! | rss | run, time_s, pid, process, rss_kb | process; each process of a run | pages in memory |
//!
//! The launch of a run is its first line. Processes that are there from the first moment of an rss table on were launched before.

use std::collections::HashMap;

use thiserror::Error;

/// Times above this are no seconds since a launch or a boot: the year 5138 in Unix time.
const SECONDS_MAX: f64 = 1e11;

/// What the columns of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `brisk study memory --traces`.
    Growth,
    /// Heaps of Android's `dumpsys meminfo`.
    Dumpsys,
    /// Resident memory by process.
    Rss,
}

impl Form {
    const ALL: [Self; 3] = [Self::Growth, Self::Dumpsys, Self::Rss];

    /// Its name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Growth => "growth",
            Self::Dumpsys => "dumpsys",
            Self::Rss => "rss",
        }
    }

    /// Columns: app, run, what else tells runs apart, time, and the parts of the need.
    fn columns(self) -> Columns {
        match self {
            Self::Growth => Columns {
                names: &["app", "run", "time_ms", "anonymous_bytes", "swapped_bytes"],
                second: 1e-3,
                unit_bytes: 1.0,
            },
            Self::Dumpsys => {
                Columns { names: &["process", "run", "uptime_s", "total_heap_alloc"], second: 1.0, unit_bytes: 1024.0 }
            }
            Self::Rss => {
                Columns { names: &["process", "run", "time_s", "rss_kb", "pid"], second: 1.0, unit_bytes: 1024.0 }
            }
        }
    }
}

struct Columns {
    /// App, run, time, need; then another part of the need, or of the run.
    names: &'static [&'static str],
    /// Unit of time in seconds.
    second: f64,
    /// Unit of the need.
    unit_bytes: f64,
}

/// Why a text is no such table.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TableError {
    /// The columns are other ones.
    #[error("line 1 has the columns '{found}'; what can be read has {known}")]
    Columns {
        /// The first line, shortened.
        found: String,
        /// The columns of each form.
        known: String,
    },
    /// A line that cannot be read.
    #[error("line {line}: {reason}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// No line but the first.
    #[error("it has no samples: line 1 names the columns, and nothing follows")]
    Empty,
}

/// One run of an app.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// The app.
    pub app: String,
    /// Whether its first sample is that of its launch.
    pub from_launch: bool,
    /// Seconds since the first sample, ascending, and need in bytes.
    pub samples: Vec<(f64, u64)>,
}

/// All runs of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What its columns are.
    pub form: Form,
    /// In the order of their first lines.
    pub traces: Vec<Trace>,
}

impl Table {
    /// Reads a table. Lines of one run need not be in the order of time.
    ///
    /// # Errors
    /// With the number of the line, when the text is no such table.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
        let mut record = csv::StringRecord::new();
        let mut line = 0;
        let mut next = |record: &mut csv::StringRecord| {
            line = reader.position().line();
            let read = reader.read_record(record);
            read.map(|there| there.then_some(line))
                .map_err(|error| TableError::Line { line, reason: error.to_string() })
        };
        next(&mut record)?;
        let names: Vec<String> = record.iter().map(|name| name.trim().to_owned()).collect();
        let (form, at) = form_of(&names).ok_or_else(|| unknown(&names))?;
        let (mut traces, mut known) = (Vec::<(String, Trace)>::new(), HashMap::new());
        while let Some(line) = next(&mut record)? {
            let sample = sample_of(form, &at, &record).map_err(|reason| TableError::Line { line, reason })?;
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
            trace.from_launch = form != Form::Rss || first_s.get(&run).is_some_and(|first_s| begin_s > *first_s);
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

/// The form with these columns, and where they are.
fn form_of(names: &[String]) -> Option<(Form, Vec<usize>)> {
    Form::ALL.into_iter().find_map(|form| {
        let place = |wanted: &&str| names.iter().position(|name| name == wanted);
        Some((form, form.columns().names.iter().map(place).collect::<Option<Vec<usize>>>()?))
    })
}

fn unknown(names: &[String]) -> TableError {
    let found: String = names.join(",").chars().filter(|c| !c.is_control()).take(80).collect();
    let known = Form::ALL.map(|form| form.columns().names.join(",")).join(", or ");
    TableError::Columns { found, known }
}

struct Sample {
    app: String,
    /// What tells this run from others of the table.
    run: (String, String, String),
    table_run: String,
    at_s: f64,
    need_bytes: u64,
}

fn sample_of(form: Form, at: &[usize], record: &csv::StringRecord) -> Result<Sample, String> {
    let Columns { names, second, unit_bytes } = form.columns();
    let text = |n: usize| {
        let text =
            record.get(at[n]).ok_or_else(|| format!("it has {} fields: {} is missing", record.len(), names[n]))?;
        Ok::<&str, String>(text.trim())
    };
    let number = |n: usize, most: f64| {
        let text = text(n)?;
        let number = text.parse::<f64>().ok().filter(|number| (0.0..=most).contains(number));
        number.ok_or_else(|| format!("{} is '{text}', which is no number from 0 to {most:e}", names[n]))
    };
    let named = |n: usize| match text(n)? {
        "" => Err(format!("{} is empty", names[n])),
        name => Ok(name.to_owned()),
    };
    let at_s = number(2, SECONDS_MAX / second)? * second;
    let bytes = |n: usize| Ok::<f64, String>(number(n, 1e18 / unit_bytes)? * unit_bytes);
    let need = bytes(3)? + if form == Form::Growth { bytes(4)? } else { 0.0 };
    let (app, table_run) = (named(0)?, named(1)?);
    let process = if form == Form::Rss { named(4)? } else { String::new() };
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
                   m,1654692443.4,10,ui,9,1\nm,1654692445.4,10,ui,9,2\nm,1654692445.4,11,mail,9,3\nm,1654692447.4,12,mail,9,4\n";
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
            ("", "line 1 has the columns ''; what can be read has app,run,time_ms"),
            ("a,b\n1,2\n", "'a,b'"),
            (head, "it has no samples"),
            (&format!("{head}evince,1,0,5\n"), "line 2: it has 4 fields: swapped_bytes is missing"),
            (&format!("{head}evince,1,0,5,0\nevince,1,-4,5,0\n"), "line 3: time_ms is '-4', which is no number from 0"),
            (&format!("{head}evince,1,0,NaN,0\n"), "line 2: anonymous_bytes is 'NaN'"),
            (&format!("{head}evince,1,0,1e300,0\n"), "line 2: anonymous_bytes is '1e300'"),
            (&format!("{head},1,0,5,0\n"), "line 2: app is empty"),
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
