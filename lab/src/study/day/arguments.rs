//! What of a usage trace is replayed: arguments of `brisk phone day`.

use std::path::PathBuf;
use std::time::Duration;

use brisk_command::duration;

/// Limits of times in a trace.
const SECOND: Duration = Duration::from_secs(1);
const YEAR: Duration = Duration::from_secs(366 * 86_400);
/// Limits of a dwell in the replay.
const DWELL_LEAST: Duration = Duration::from_millis(100);
const DWELL_MOST: Duration = Duration::from_secs(3_600);
/// Limits of --speed.
const SPEED: std::ops::RangeInclusive<f64> = 0.1..=10_000.0;

/// Part of a usage trace, and its times in the replay.
#[derive(Debug, clap::Args)]
pub(crate) struct Replayed {
    /// The usage trace [default: a synthetic one]
    #[arg(value_name = "TRACE")]
    pub(crate) trace: Option<PathBuf>,
    /// Seed of a synthetic trace instead of a file: the same seed gives the same trace [default: 1]
    #[arg(long, value_name = "SEED", conflicts_with = "trace")]
    pub(crate) synthetic: Option<u64>,
    /// User of the trace, where it has several
    #[arg(long, value_name = "NAME", requires = "trace")]
    pub(crate) user: Option<String>,
    /// Where in the user's trace the day begins
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = from)]
    pub(crate) from: Duration,
    /// How much time of the trace is taken [default: all that follows]
    #[arg(long, value_name = "TIME", value_parser = duration::between(SECOND, YEAR))]
    pub(crate) span: Option<Duration>,
    /// At most so many switches are replayed
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) switches: u32,
    /// Apps of the trace with the phone's app that stands for each; the others are mapped by rank
    #[arg(long, value_name = "APP=PHONEAPP", value_delimiter = ',', value_parser = pair)]
    pub(crate) map: Vec<(String, String)>,
    /// By what the time in front is divided
    #[arg(long, value_name = "FACTOR", default_value = "20", value_parser = speed)]
    pub(crate) speed: f64,
    /// Least time in front in the replay: pages are written out meanwhile, as in a longer time
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration::between(DWELL_LEAST, DWELL_MOST))]
    pub(crate) dwell_min: Duration,
    /// Longest time in front in the replay
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = duration::between(DWELL_LEAST, DWELL_MOST))]
    pub(crate) dwell_max: Duration,
}

/// A duration that may be none.
fn from(text: &str) -> Result<Duration, String> {
    let is_zero = |text: &str| text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse() == Ok(0.0);
    if is_zero(text.trim()) { Ok(Duration::ZERO) } else { duration::parse(text) }
}

fn pair(text: &str) -> Result<(String, String), String> {
    // Names of apps in traces may have the sign, those of the phone have not.
    match text.rsplit_once('=').map(|(app, phone_app)| (app.trim(), phone_app.trim())) {
        Some((app, phone_app)) if !app.is_empty() && !phone_app.is_empty() => {
            Ok((app.to_owned(), phone_app.to_owned()))
        }
        _ => Err(format!("'{text}' is no pair: write APP=PHONEAPP, such as WhatsApp=dino")),
    }
}

fn speed(text: &str) -> Result<f64, String> {
    let found = text.trim().parse::<f64>().ok().filter(|speed| SPEED.contains(speed));
    found.ok_or_else(|| format!("{text} is no factor: give {} to {}", SPEED.start(), SPEED.end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_may_begin_at_zero() {
        assert_eq!(from("0"), Ok(Duration::ZERO));
        assert_eq!(from("0s"), Ok(Duration::ZERO));
        assert_eq!(from("2h"), Ok(Duration::from_secs(7_200)));
        assert!(from("-1s").is_err() && from("soon").is_err() && from("").is_err());
    }

    #[test]
    fn pairs_and_factors_are_read_and_others_refused() {
        assert_eq!(pair("a=b=evince"), Ok(("a=b".to_owned(), "evince".to_owned())));
        for text in ["", "evince", "=evince", "chat="] {
            assert!(pair(text).expect_err(text).contains("APP=PHONEAPP"), "{text}");
        }
        assert_eq!(speed("2.5"), Ok(2.5));
        for text in ["0", "nan", "inf", "-1", "fast"] {
            assert!(speed(text).is_err(), "{text}");
        }
    }
}
