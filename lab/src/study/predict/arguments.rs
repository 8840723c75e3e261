//! Arguments of `brisk predict`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use brisk_command::output::Outputs;

const AFTER_HELP: &str = "\
Examples:
  brisk predict eval usage.csv.gz                                     # adaptive and published predictor, and two \
  baselines
  brisk predict eval usage.csv --context context.csv --user u2 --utc-offset u2=+01:00 --html prediction.html
  brisk predict eval usage.csv.gz --mode adaptive,lru --join u5 --json=prediction.json

A usage trace is a table (CSV or tabs, also as .gz; - is standard input): user_id, timestamp (s), app, duration_s; a \
line for each app that came to the front. For each user, from a cold start, the likeliest apps are named before each \
launch, which is a hit where the launched app is among them; then it is learned. Uncollapsed, each line is a launch; \
collapsed, a line of the app in front is none, and that app is never named. Logs that have one visit in several lines \
need --join. Exit codes: 0 done, 2 not possible, 130 stopped by Ctrl-C.";

/// Arguments of `brisk predict`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    /// The subcommand.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Score the predictor of next apps on a usage trace: hits, calibration, time of an update, size of what is stored
    Eval(Eval),
}

/// Arguments of `brisk predict eval`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Eval {
    /// The usage trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// Context events: a table (CSV or tabs, also as .gz; - is standard input) of user_id, timestamp (s), event,
    /// detail; unlocks and notifications are used
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,
    /// Predictors to score
    #[arg(
        long,
        value_enum,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "adaptive,paper,lru,frequency"
    )]
    pub(crate) mode: Vec<PredictorName>,
    /// User of the trace to take; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Vec<String>,
    /// Local time less UTC, of a user or of all others; a user without one is taken to live by UTC
    #[arg(
        long,
        value_name = "[USER=]+HH:MM",
        value_delimiter = ',',
        allow_hyphen_values = true,
        value_parser = offset
    )]
    pub(crate) utc_offset: Vec<(Option<String>, i32)>,
    /// Users whose lines of one app are joined where they follow each other within 30 s: of logs that have one visit in
    /// several lines
    #[arg(long, value_name = "USERS", value_delimiter = ',')]
    pub(crate) join: Vec<String>,
    /// Where the results go.
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// What is scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PredictorName {
    /// A mixture of experts whose weights are learned from each launch, as the daemon uses it
    Adaptive,
    /// Prediction by partial matching, as published
    Paper,
    /// Baseline: the most recently used apps
    Lru,
    /// Baseline: the most often used apps
    Frequency,
}

/// Reads an offset in minutes, and whose it is.
fn offset(text: &str) -> Result<(Option<String>, i32), String> {
    let wrong = || format!("'{text}' is no offset from UTC: write +05:30, -03:00, or USER=+05:30");
    let (user, offset) = match text.rsplit_once('=') {
        Some((user, offset)) if !user.is_empty() => (Some(user.to_owned()), offset),
        Some(_) => return Err(wrong()),
        None => (None, text),
    };
    let (sign, digits) = match offset.split_at_checked(1) {
        Some(("+", digits)) => (1, digits),
        Some(("-", digits)) => (-1, digits),
        _ => return Err(wrong()),
    };
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<i32>().ok()).flatten();
    let parts = digits.split_once(':').and_then(|(hours, minutes)| Some((number(hours)?, number(minutes)?)));
    match parts {
        Some((hours @ 0..=14, minutes @ 0..=59)) => Ok((user, sign * (hours * 60 + minutes))),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_has_a_sign_and_may_have_a_user() {
        assert_eq!(offset("+05:30"), Ok((None, 330)));
        assert_eq!(offset("u1=-03:00"), Ok((Some("u1".to_owned()), -180)));
        assert_eq!(offset("a=b=+00:00"), Ok((Some("a=b".to_owned()), 0)));
        for wrong in ["", "5", "+5", "05:30", "+15:00", "+05:60", "=+01:00", "+-1:00", "+1:+2", "é05:30"] {
            assert!(offset(wrong).expect_err(wrong).contains("write +05:30"), "{wrong}");
        }
    }
}
