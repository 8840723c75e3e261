//! Sizes, durations and rates as people write and read them.
//!
//! Bare numbers inside brisk carry their unit as the last word of their name (`size_bytes`, `latency_ns`). This module
//! is the border to people: it parses `4k`, `128MiB`, `1.5 GiB` and prints `4 KiB`, `187 us`, `62.5 MB/s`. A size or
//! rate in MB is one of 10^6 bytes, in MiB one of 2^20, wherever it is read or printed.
//!
//! Properties: what [`format_bytes`] prints exactly, [`parse_bytes`] reads back; no input makes either panic.

use thiserror::Error;

/// One kibibyte in bytes.
pub const KIB: u64 = 1 << 10;
/// One mebibyte in bytes.
pub const MIB: u64 = 1 << 20;
/// One gibibyte in bytes.
pub const GIB: u64 = 1 << 30;

/// Why a text is not a size.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseBytesError {
    /// The text has no digits in front.
    #[error("'{0}' is not a size: write a number and a unit, such as 4k, 512MiB or 2G")]
    NotANumber(String),
    /// The unit is not one that brisk knows.
    #[error(
        "'{unit}' in '{text}' is not a unit of size: use K, M, G or T, or KiB, MiB, ... (powers of 1024), or kB, MB, \
         ... (powers of 1000)"
    )]
    UnknownUnit {
        /// The whole text.
        text: String,
        /// What stands behind the number.
        unit: String,
    },
    /// The size is beyond 2^64 - 1 bytes.
    #[error("'{0}' is larger than any device")]
    TooLarge(String),
}

/// Reads a size in bytes: `4096`, `4k`, `4 KiB`, `1.5G`, `64 MB`. `K`, `M`, `G`, `T` and `KiB`, `MiB`, ... are powers
/// of 1024, `kB`, `MB`, ... powers of 1000, in any case: as coreutils reads them (`dd bs=`), and as brisk prints them.
///
/// # Errors
/// When there is no number, the unit is unknown, or the size does not fit 64 bits.
pub fn parse_bytes(text: &str) -> Result<u64, ParseBytesError> {
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let unit = unit.trim();
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => KIB,
        "m" | "mib" => MIB,
        "g" | "gib" => GIB,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ if number.is_empty() => return Err(ParseBytesError::NotANumber(text.to_owned())),
        _ => {
            return Err(ParseBytesError::UnknownUnit { text: text.to_owned(), unit: unit.to_owned() });
        }
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(|| ParseBytesError::TooLarge(text.to_owned()));
    }
    let fraction: f64 = number.parse().map_err(|_| ParseBytesError::NotANumber(text.to_owned()))?;
    let bytes = fraction * factor as f64;
    if bytes.is_finite() && bytes < u64::MAX as f64 {
        Ok(bytes.round() as u64)
    } else {
        Err(ParseBytesError::TooLarge(text.to_owned()))
    }
}

/// A size for people: the largest binary unit that leaves a number of at least one, with at most two decimals.
#[must_use]
pub fn format_bytes(size_bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1 << 40, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")];
    for (factor, unit) in UNITS {
        if size_bytes >= factor {
            return format!("{} {unit}", trim_decimals(size_bytes as f64 / factor as f64));
        }
    }
    format!("{size_bytes} B")
}

/// A duration for people: `850 ns`, `187 us`, `4.11 ms`, `2.5 s`, `3 min 20 s`.
#[must_use]
pub fn format_duration_ns(duration_ns: u64) -> String {
    let ns = duration_ns as f64;
    match duration_ns {
        0..1_000 => format!("{duration_ns} ns"),
        1_000..1_000_000 => format!("{} us", three_digits(ns / 1e3)),
        1_000_000..1_000_000_000 => format!("{} ms", three_digits(ns / 1e6)),
        1_000_000_000..60_000_000_000 => format!("{} s", three_digits(ns / 1e9)),
        _ => format!("{} min {} s", duration_ns / 60_000_000_000, duration_ns / 1_000_000_000 % 60),
    }
}

/// A rate for people in MB/s (10^6 bytes, as storage is sold and as the papers give it).
#[must_use]
pub fn format_bandwidth(bytes_per_s: f64) -> String {
    format!("{} MB/s", three_digits(bytes_per_s / 1e6))
}

/// A number with about three digits: `0.072`, `1.13`, `28`, `2497`.
#[must_use]
pub fn three_digits(value: f64) -> String {
    let magnitude = value.abs();
    if !value.is_finite() {
        "-".to_owned()
    } else if magnitude >= 99.95 || magnitude == 0.0 {
        format!("{value:.0}")
    } else if magnitude >= 9.995 {
        format!("{value:.1}")
    } else if magnitude >= 0.9995 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

/// A large number without decimals, thousands set apart: `25,431`; of less than 1,000 its three digits.
#[must_use]
pub fn grouped(value: f64) -> String {
    if !value.is_finite() || value.abs() < 1_000.0 {
        return three_digits(value);
    }
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if value < 0.0 { format!("-{out}") } else { out }
}

fn trim_decimals(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_read_as_they_are_printed() {
        for (text, bytes) in [
            ("4096", 4096),
            ("4k", 4096),
            ("4 KiB", 4096),
            ("1.5G", 1_610_612_736),
            ("128M", 134_217_728),
            ("128MiB", 134_217_728),
            ("128MB", 128_000_000),
            ("35 kB", 35_000),
            ("0", 0),
            ("2t", 2_199_023_255_552),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_size_is_named() {
        assert!(matches!(parse_bytes("big"), Err(ParseBytesError::NotANumber(_))));
        assert!(matches!(parse_bytes(""), Err(ParseBytesError::NotANumber(_))));
        assert!(matches!(parse_bytes("-4k"), Err(ParseBytesError::NotANumber(_))));
        assert!(matches!(parse_bytes("1.2.3k"), Err(ParseBytesError::NotANumber(_))));
        assert!(matches!(parse_bytes("4 parsecs"), Err(ParseBytesError::UnknownUnit { .. })));
        assert!(matches!(parse_bytes("99999999999T"), Err(ParseBytesError::TooLarge(_))));
    }

    #[test]
    fn durations_and_rates_read_well() {
        assert_eq!(format_duration_ns(850), "850 ns");
        assert_eq!(format_duration_ns(187_000), "187 us");
        assert_eq!(format_duration_ns(4_110_000), "4.11 ms");
        assert_eq!(format_duration_ns(200_000_000_000), "3 min 20 s");
        assert_eq!(format_bandwidth(62.5e6), "62.5 MB/s");
        assert_eq!(format_bytes(4096), "4 KiB");
        assert_eq!(format_bytes(1_610_612_736), "1.5 GiB");
        assert_eq!(three_digits(f64::NAN), "-");
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".*") {
            let _ = parse_bytes(&text);
        }

        #[test]
        fn whole_kibibytes_survive_the_round_trip(kib in 0u64..1023) {
            let bytes = kib * KIB;
            prop_assert_eq!(parse_bytes(&format_bytes(bytes)), Ok(bytes));
        }
    }
}
