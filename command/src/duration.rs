//! Durations on the command line. All options take the same form: numbers with units, such as `500ms`, `10s` or
//! `1h30m`.
//!
//! A bare number counts seconds, as for sleep(1) and timeout(1), where the option has always counted seconds; other
//! options refuse it, and name the forms that they take.

use std::time::Duration;

use jiff::SignedDuration;

/// Name of the value in help texts.
pub const VALUE: &str = "TIME";

/// The longest duration that any option takes: a leap year.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// A parser for clap: durations from `least` to `most`; a bare number counts seconds.
pub fn between(least: Duration, most: Duration) -> impl Fn(&str) -> Result<Duration, String> + Clone + Send + Sync {
    move |text| bounded(text, parse(text)?, least, most)
}

/// The same, without bare numbers: for options which once counted in another unit, so that an old `14` is not read as
/// 14 s.
pub fn between_with_unit(
    least: Duration,
    most: Duration,
) -> impl Fn(&str) -> Result<Duration, String> + Clone + Send + Sync {
    move |text| {
        if text.trim().parse::<f64>().is_ok() {
            return Err(format!("{text} has no unit: write {text}ms, {text}s or {text}m"));
        }
        bounded(text, parse(text)?, least, most)
    }
}

/// Reads a duration: `500ms`, `1.5s`, `2m`, `1h30m`, or a number of seconds.
///
/// # Errors
/// When it is none, zero, negative or longer than a leap year, in words for clap.
pub fn parse(text: &str) -> Result<Duration, String> {
    let trimmed = text.trim();
    let seconds = trimmed.parse::<f64>().ok().filter(|seconds| seconds.is_finite());
    let signed = match seconds {
        Some(seconds) => SignedDuration::try_from_secs_f64(seconds).ok(),
        None => trimmed.parse::<SignedDuration>().ok(),
    };
    let signed = signed
        .ok_or_else(|| format!("'{text}' is not a duration: write numbers with units, such as 500ms, 10s or 1h30m"))?;
    match Duration::try_from(signed) {
        Ok(duration) if duration.is_zero() => Err("the duration is zero: give more, such as 1s".to_owned()),
        Ok(duration) if duration > LONGEST => Err(format!("{text} is more than a year: give less")),
        Ok(duration) => Ok(duration),
        Err(_) => Err("a duration cannot be negative: give one such as 1s".to_owned()),
    }
}

fn bounded(text: &str, duration: Duration, least: Duration, most: Duration) -> Result<Duration, String> {
    if (least..=most).contains(&duration) {
        Ok(duration)
    } else {
        Err(format!("{text} is out of range: give {} to {}", written(least), written(most)))
    }
}

/// A duration as the options take it: `500ms`, `1h30m`. Nothing below a millisecond is written.
#[must_use]
pub fn written(duration: Duration) -> String {
    let total_ms = duration.as_millis();
    let units = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
    let mut rest_ms = total_ms;
    let mut text = String::new();
    for (unit, unit_ms) in units {
        let count = rest_ms / unit_ms;
        rest_ms %= unit_ms;
        if count > 0 {
            text += &format!("{count}{unit}");
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn durations_are_numbers_with_units_or_seconds() {
        for (text, ms) in [
            ("500ms", 500),
            ("10s", 10_000),
            ("1.5s", 1_500),
            ("2m", 120_000),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
            (" 90 ", 90_000),
            ("0.4", 400),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for (text, why) in [
            ("", "is not a duration"),
            ("soon", "such as 500ms, 10s or 1h30m"),
            ("10 parsecs", "is not a duration"),
            ("0", "is zero"),
            ("0ms", "is zero"),
            ("-1s", "cannot be negative"),
            ("-1", "cannot be negative"),
            ("9000h", "more than a year"),
            ("nan", "is not a duration"),
            ("1e300", "is not a duration"),
            ("99999999999999999999s", "is not a duration"),
        ] {
            let said = parse(text).expect_err(text);
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    #[test]
    fn limits_are_named_in_the_form_that_is_taken() {
        let parser = between(SECOND, 86_400 * SECOND);
        assert_eq!(parser("24h"), Ok(86_400 * SECOND));
        assert_eq!(parser("25h"), Err("25h is out of range: give 1s to 24h".to_owned()));
        assert!(parser("999ms").is_err());
    }

    #[test]
    fn an_option_with_an_old_unit_refuses_bare_numbers() {
        let parser = between_with_unit(SECOND, 86_400 * SECOND);
        assert_eq!(parser("14m"), Ok(14 * 60 * SECOND));
        assert_eq!(parser("14"), Err("14 has no unit: write 14ms, 14s or 14m".to_owned()));
    }

    #[test]
    fn what_is_written_is_read_again() {
        for (ms, text) in [(500, "500ms"), (5_400_000, "1h30m"), (90_061_001, "25h1m1s1ms"), (840_000, "14m")] {
            assert_eq!(written(Duration::from_millis(ms)), text);
            assert_eq!(parse(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        assert_eq!(written(Duration::ZERO), "0s");
    }
}
