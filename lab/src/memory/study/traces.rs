//! The runs of apps as a table, for the heap predictor and for other programs.

use crate::results::AppGrowth;

use crate::memory::error::{Result, io as failed};

const COLUMNS: [&str; 6] = ["app", "run", "time_ms", "anonymous_bytes", "file_bytes", "swapped_bytes"];

/// All samples as CSV: `app,run,time_ms,anonymous_bytes,file_bytes,swapped_bytes`, by app and run (from 1), ascending
/// times.
///
/// # Errors
/// When the table cannot be written to memory.
pub fn traces(growth: &[AppGrowth]) -> Result<String> {
    let mut table = csv::Writer::from_writer(Vec::new());
    let written = |table: &mut csv::Writer<Vec<u8>>| -> csv::Result<()> {
        table.write_record(COLUMNS)?;
        for app in growth {
            for (nth, run) in app.runs.iter().enumerate() {
                for sample in &run.samples {
                    let numbers = [sample.anonymous_bytes, sample.file_bytes, sample.swapped_bytes];
                    let fields = [app.app.clone(), (nth + 1).to_string(), format!("{:.0}", sample.at_ms)];
                    table.write_record(fields.into_iter().chain(numbers.map(|bytes| bytes.to_string())))?;
                }
            }
        }
        table.flush()?;
        Ok(())
    };
    written(&mut table).map_err(std::io::Error::from).map_err(failed("write the traces"))?;
    let bytes = table.into_inner().map_err(|error| error.into_error()).map_err(failed("write the traces"))?;
    String::from_utf8(bytes)
        .map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error))
        .map_err(failed("write the traces"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{GrowthRun, GrowthSample};
    use brisk_core::stats::Summary;

    #[test]
    fn a_reader_gets_every_sample_back() {
        let sample = |n: u64| GrowthSample {
            at_ms: 250.0 * n as f64 + 0.3,
            anonymous_bytes: n * 4096,
            file_bytes: n * 8192,
            swapped_bytes: n,
        };
        let run = |length: u64| GrowthRun { samples: (0..length).map(sample).collect(), ..GrowthRun::default() };
        let app = |name: &str| AppGrowth {
            app: name.to_owned(),
            runs: vec![run(3), run(2)],
            heap_bytes_max: Summary::of(&[1.0]).expect("one"),
            correlation: None,
        };
        let text = traces(&[app("evince"), app("a, \"b\"")]).expect("written");
        assert!(
            text.starts_with("app,run,time_ms,anonymous_bytes,file_bytes,swapped_bytes\nevince,1,0,0,0,0\n"),
            "{text}"
        );
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let rows: Vec<(String, u32, f64, u64, u64, u64)> =
            reader.deserialize().map(|row| row.expect("a row")).collect();
        assert_eq!(rows.len(), 10);
        assert_eq!(rows[4], ("evince".to_owned(), 2, 250.0, 4096, 8192, 1));
        assert_eq!(rows[9].0, "a, \"b\"");
        assert_eq!(traces(&[]).expect("written").lines().count(), 1);
    }
}
