//! `brisk replay`: a recorded session once more, with the engines of this brisk.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use brisk_command::json::{Document, Json};
use brisk_daemon::config::Config;
use brisk_daemon::replay::{Choice, Difference, Replay, Replayed};

use crate::status::moment;

const AFTER_HELP: &str = "\
Examples:
  brisk replay /var/lib/brisk/daemon.brisk
  brisk replay day.brisk --config new.toml
  brisk replay day.brisk --json

Engines see what was seen then, and nothing is changed. What they would have caused to happen is not in the record: \
after the first difference a real device might have gone another way. Exit codes: 0 all is decided as it was, 1 \
something differs, 2 not possible.";

/// Differences that are shown to people.
const SHOWN_MAX: usize = 50;

/// Arguments of `brisk replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The record of a daemon
    file: PathBuf,
    /// Decide under this configuration instead of the recorded one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.json.check(std::slice::from_ref(&args.file))?;
    let instead = args.config.as_ref().map(|path| Config::load(path, false)).transpose()?;
    let mut replay = Replay::new(instead.map(|(config, _)| config));
    let lost = brisk_record::read_with_older_part(&args.file, |item| {
        replay.take(item);
        Ok::<(), brisk_record::Error>(())
    })?;
    if lost.is_damage() {
        brisk_program::warn!("brisk: a part of {} is lost; what is left is replayed", args.file.display());
    }
    let found = replay.end();
    args.json.show(&Document::new("replay", &found), || text(&found))?;
    Ok(if found.differing_rounds == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn text(found: &Replayed) -> String {
    let mut text = String::new();
    for complaint in &found.complaints {
        let _ = writeln!(text, "!! {complaint}");
    }
    if found.cut_sessions > 0 {
        let _ = writeln!(
            text,
            "!! the beginning of {} sessions is not in the record: engines began with nothing seen there",
            found.cut_sessions
        );
    }
    for Difference { wall_unix_ms, knob, recorded, replayed } in found.differences.iter().take(SHOWN_MAX) {
        let when = moment(*wall_unix_ms);
        let line = if recorded == replayed {
            format!("{when} {knob}: {} again, as it was", choice(replayed.as_ref()))
        } else {
            format!("{when} {knob}: {}, was {}", choice(replayed.as_ref()), choice(recorded.as_ref()))
        };
        let _ = writeln!(text, "{line}");
    }
    if let Some(more) = found.differences.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0) {
        let _ = writeln!(text, "and {more} more (--json has all)");
    }
    let _ = writeln!(
        text,
        "{} sessions, {} decisions, {} of them different",
        found.sessions, found.rounds, found.differing_rounds
    );
    text
}

fn choice(choice: Option<&Choice>) -> String {
    choice.map_or_else(
        || "nothing requested".to_owned(),
        |choice| format!("{} ({}: {})", choice.value, choice.engine, choice.reason.replace('_', " ")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::arbiter::Rule;

    #[test]
    fn differences_read_as_what_is_and_what_was() {
        let choice = |value: &str| {
            Some(Choice {
                value: value.into(),
                engine: "smartio".into(),
                rule: Rule::OnlyRequest,
                reason: "reads_wait".into(),
            })
        };
        let difference =
            |recorded, replayed| Difference { wall_unix_ms: 0, knob: "queue/a/scheduler".into(), recorded, replayed };
        let differences = vec![difference(choice("bfq"), None), difference(choice("bfq"), choice("bfq"))];
        let text = text(&Replayed { sessions: 1, rounds: 9, differing_rounds: 3, differences, ..Replayed::default() });
        assert!(text.contains("queue/a/scheduler: nothing requested, was bfq (smartio: reads wait)\n"), "{text}");
        assert!(text.contains("queue/a/scheduler: bfq (smartio: reads wait) again, as it was\n"), "{text}");
        assert!(text.ends_with("1 sessions, 9 decisions, 3 of them different\n"), "{text}");
    }
}
