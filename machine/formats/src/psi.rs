//! How long work stood still for want of a resource: /proc/pressure (Documentation/accounting/psi.rst).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ParseError;
use crate::fields::{self, Words, lines};

/// What work can wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    Cpu,
    Io,
    /// Memory: reclaim, refaults, swapping in.
    Memory,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Io => "io",
            Self::Memory => "memory",
        })
    }
}

/// Share of time in which tasks stood still, and its sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// Over the last 10 s, 0 to 100.
    #[serde(rename = "percent_avg10")]
    pub avg10_percent: f64,
    /// Over the last minute.
    #[serde(rename = "percent_avg60")]
    pub avg60_percent: f64,
    /// Over the last five minutes.
    #[serde(rename = "percent_avg300")]
    pub avg300_percent: f64,
    /// Since boot.
    pub total_us: u64,
}

/// The pressure on one resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// At least one task stood still.
    pub some: Stall,
    /// All tasks that had work stood still; `None` for processors before Linux 5.13.
    pub full: Option<Stall>,
}

/// Reads the text of a pressure file, of the machine or of a cgroup.
///
/// # Errors
/// When there is no line `some` or a value is not a number.
pub fn parse_pressure(bytes: &[u8]) -> Result<Pressure, ParseError> {
    let (mut some, mut full) = (None, None);
    for mut words in lines(bytes) {
        match words.next_word() {
            Some(b"some") => some = Some(stall(words)?),
            Some(b"full") => full = Some(stall(words)?),
            _ => {}
        }
    }
    Ok(Pressure { some: some.ok_or(ParseError::MissingLine("some"))?, full })
}

fn stall(mut words: Words<'_>) -> Result<Stall, ParseError> {
    let line = words.line;
    let mut value = |prefix: &'static str| {
        let word = words.word(prefix)?;
        let value = word.strip_prefix(prefix.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        value.ok_or_else(|| ParseError::BadField { line, field: prefix, text: fields::text(word) })
    };
    let share = |field: &'static str, word: &[u8]| {
        let share: f64 = fields::number(line, field, word)?;
        // Rust reads "inf" and "nan" as numbers; the kernel never writes them.
        if share.is_finite() && share >= 0.0 {
            Ok(share)
        } else {
            Err(ParseError::BadField { line, field, text: fields::text(word) })
        }
    };
    Ok(Stall {
        avg10_percent: share("avg10", value("avg10")?)?,
        avg60_percent: share("avg60", value("avg60")?)?,
        avg300_percent: share("avg300", value("avg300")?)?,
        total_us: fields::number(line, "total", value("total")?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kernels_with_and_without_full_are_read() {
        let text =
            b"some avg10=1.03 avg60=0.76 avg300=1.52 total=15498874\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        let pressure = parse_pressure(text).expect("6.18");
        assert_eq!(
            pressure.some,
            Stall { avg10_percent: 1.03, avg60_percent: 0.76, avg300_percent: 1.52, total_us: 15_498_874 }
        );
        assert_eq!(pressure.full, Some(Stall::default()));
        assert_eq!(parse_pressure(&text[..50]).expect("4.20").full, None);
    }

    #[test]
    fn what_is_no_pressure_is_refused() {
        for bad in [
            "",
            "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
            "some avg10=0.00 avg60=0.00 total=0\n",
            "some avg10=nan avg60=0.00 avg300=0.00 total=0\n",
            "some avg10=-1 avg60=0.00 avg300=0.00 total=0\n",
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=-5\n",
        ] {
            assert!(parse_pressure(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    fn hundredths() -> impl Strategy<Value = f64> {
        (0u32..=10_000).prop_map(|value| f64::from(value) / 100.0)
    }

    proptest! {
        #[test]
        fn what_the_kernel_renders_is_read_back(
            (a, b, c) in (hundredths(), hundredths(), hundredths()),
            total_us in any::<u64>(),
        ) {
            let line = format!("avg10={a:.2} avg60={b:.2} avg300={c:.2} total={total_us}");
            let stall = Stall { avg10_percent: a, avg60_percent: b, avg300_percent: c, total_us };
            let read = parse_pressure(format!("some {line}\nfull {line}\n").as_bytes());
            prop_assert_eq!(read, Ok(Pressure { some: stall, full: Some(stall) }));
        }
    }
}
