//! `brisk apps`: what the memory engine makes of each app, and which would be taken from first.

mod choose;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::ExitCode;

use brisk_api::{AppMemory, Apps, Trials};
use brisk_command::json::{Document, Json};
use brisk_command::terminal::{caution, faint, good, heading};
use brisk_core::app::EndOrder;
use brisk_core::group::{self, is_meant};
use brisk_core::text::one_line;
use brisk_core::units::{format_bytes, three_digits};
use brisk_daemon::config::Choice;
use brisk_program::users;
use clap::Subcommand;

use crate::status::Socket;
use crate::trial;

const AFTER_HELP: &str = "\
Memory is taken from the first app first: caches, then other memory, and, as the last step, the app is ended. The \
order is that of the expected cost: the chance that the app is the next one, times the time of its relaunch, for each \
MiB. Nothing is taken from an app that is in front, plays or records, holds an inhibitor, is likely next, or is \
protected by the configuration.

Examples:
  brisk apps
  brisk apps --all
  brisk apps --json
  brisk apps protect org.gnome.Evince          # as root: nothing is taken from it any more
  brisk apps protect org.gnome.Evince --undo
  brisk apps end-first org.chromium.Chromium

Exit codes: 0 shown, 2 the daemon does not run, or does not answer.";

/// Arguments of `brisk apps`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    socket: Socket,
    /// Show services and other groups of processes too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    json: Json,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Have nothing taken from an app when memory is short
    Protect(choose::Args),
    /// Have an app ended before others, where any is ended
    EndFirst(choose::Args),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.what {
        Some(What::Protect(args)) => return choose::run(args, Choice::Protect),
        Some(What::EndFirst(args)) => return choose::run(args, Choice::EndFirst),
        None => {}
    }
    let mut client = args.socket.connect()?;
    let apps: Apps = client.call("GetApps", &[], "apps")?;
    let trials: Trials = client.call("GetTrials", &[], "trials")?;
    let idle = trial::why_idle(&trials, "iram");
    args.json.show(&Document::new("apps", &apps), || text(&apps, args.all, idle))?;
    Ok(ExitCode::SUCCESS)
}

/// The lines of one app, for `brisk explain`; `None` when none has that id or group.
pub(crate) fn explain(apps: &Apps, name: &str) -> Option<String> {
    let of_name = |(_, row): &(usize, &AppMemory)| row.id == name || is_meant(&row.group, name);
    let found: Vec<(usize, &AppMemory)> = apps.survey.apps.iter().enumerate().filter(of_name).collect();
    let shared = apps.survey.shared_ids();
    let mut text = String::new();
    for (place, row) in &found {
        let called = called(row, &shared);
        let (id, group) = (one_line(&called), one_line(group::name(&row.group)));
        let _ = writeln!(text, "{id} ({group}) is {}: {}", row.importance.name(), row.reason);
        let memory = row.memory_bytes.map_or_else(|| "an unknown amount".to_owned(), format_bytes);
        let swap = row.swap_bytes.map_or_else(String::new, |bytes| format!(", and {} in swap", format_bytes(bytes)));
        let _ = writeln!(text, "  it has {memory} of memory{swap}");
        if let Some(bytes) = row.threshold_bytes {
            let _ = writeln!(text, "  it is expected to need {} at the most", format_bytes(bytes));
        }
        let _ = writeln!(
            text,
            "  with a chance of {} % it is the next app; its relaunch takes {} s",
            percent(row.chance),
            three_digits(row.relaunch_s)
        );
        let _ = match (&row.protected, row.steps.is_empty()) {
            (Some(reason), _) => writeln!(text, "  nothing is taken from it: {reason}"),
            (None, true) => writeln!(text, "  nothing can be taken from it: {}", lacks(row)),
            (None, false) => writeln!(text, "  it is number {} from which memory is taken: {}", place + 1, steps(row)),
        };
        if row.frozen {
            text += "  it is frozen\n";
        }
        if let Some(first) = &row.ends_first {
            let (memory, growth) = (format_bytes(first.memory_bytes), format_bytes(first.growth_bytes));
            let _ = writeln!(
                text,
                "  of it, process {} ({}) would be ended first, with what it started: {memory}, {growth} more than \
                 half a minute ago; shell and terminal stay",
                first.pid,
                one_line(&first.name)
            );
        }
        let of_first = row.ends_first.as_ref().and_then(|first| first.preference.as_ref());
        for preference in of_first.into_iter().chain(&row.preference) {
            let when = match preference.order {
                EndOrder::First => "it is ended before others",
                EndOrder::Last => "it is ended after all others",
                EndOrder::Never => "it is never ended",
            };
            let _ = writeln!(text, "  {when}: {}", one_line(&preference.by));
        }
    }
    (!found.is_empty()).then_some(text)
}

/// All for people; `idle` says why nothing of it is applied at present. Values in, text out.
fn text(apps: &Apps, all: bool, idle: Option<&str>) -> String {
    let mut text = String::new();
    if !apps.active {
        let why = format!(
            "the memory engine does not run, so nothing is taken and nothing is learned: add \"iram\" to [engines] \
             order in {}, then 'brisk config reload'. It would do this:",
            brisk_api::dirs::config().display()
        );
        let _ = writeln!(text, "{}", caution(&why));
    } else if let Some(idle) = idle {
        let _ =
            writeln!(text, "{}", caution(&format!("nothing is taken at present: {idle} ('brisk trial'). Otherwise:")));
    }
    let survey = &apps.survey;
    let state = match survey.short_bytes {
        0 => good("enough"),
        short_bytes => caution(&format!("{} are to be freed", format_bytes(short_bytes))),
    };
    let (available, wanted) = (format_bytes(survey.available_bytes), format_bytes(survey.wanted_bytes));
    let _ = writeln!(text, "memory: {available} available, {wanted} wanted: {state}");
    let (shown, others): (Vec<&AppMemory>, Vec<&AppMemory>) = survey.apps.iter().partition(|row| is_shown(row, all));
    if shown.is_empty() {
        text += "no app runs in a control group of its own\n";
    } else {
        let shared = survey.shared_ids();
        let _ = writeln!(text, "{}", columns());
        shown.iter().enumerate().for_each(|(place, row)| {
            let _ = writeln!(text, "{}", line(place, row, &called(row, &shared)));
        });
    }
    if !others.is_empty() {
        let more =
            format!("and {} services and other groups, from which nothing is taken (--all shows them)", others.len());
        let _ = writeln!(text, "{}", faint(&more));
    }
    text
}

/// Whether a row is shown: apps whose memory is known, or all.
fn is_shown(row: &AppMemory, all: bool) -> bool {
    all || row.memory_bytes.is_some()
}

fn columns() -> String {
    heading(&format!(
        "{:<32} {:<11} {:>9} {:>9} {:>6}  {:<9} {}",
        "APP", "IMPORTANCE", "MEMORY", "SWAP", "NEXT %", "TAKEN", "WHY"
    ))
}

/// The id, and the user's name where another user has an app of that id.
fn called(row: &AppMemory, shared: &BTreeSet<&str>) -> String {
    let user = row.user.filter(|_| shared.contains(row.id.as_str()));
    user.map_or_else(|| row.id.clone(), |user| format!("{} ({})", row.id, users::called(user)))
}

fn line(place: usize, row: &AppMemory, name: &str) -> String {
    let bytes = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), format_bytes);
    let (taken, why) = match &row.protected {
        Some(reason) => ("never".to_owned(), reason.to_string()),
        None if row.steps.is_empty() => ("-".to_owned(), lacks(row)),
        None => {
            let cost = three_digits(row.cost_s_per_mib * 100.0);
            ((place + 1).to_string(), format!("{}; expected cost {cost} s for 100 MiB", steps(row)))
        }
    };
    format!(
        "{:<32} {:<11} {:>9} {:>9} {:>6}  {taken:<9} {why}{}",
        one_line(name),
        row.importance.name(),
        bytes(row.memory_bytes),
        bytes(row.swap_bytes),
        percent(row.chance),
        if row.frozen { "; frozen" } else { "" }
    )
}

fn percent(chance: f64) -> String {
    format!("{:.1}", chance * 100.0)
}

fn steps(row: &AppMemory) -> String {
    row.steps.iter().map(|step| step.name().replace('_', " ")).collect::<Vec<_>>().join(", ")
}

/// Why nothing can be done to it.
fn lacks(row: &AppMemory) -> String {
    let why = if row.memory_bytes.is_none() { "its memory is unknown" } else { "its importance allows nothing" };
    why.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_command::terminal::plain;
    use serde_json::json;

    fn row(id: &str, more: serde_json::Value) -> serde_json::Value {
        let mut row = json!({
            "group": format!("app-{id}-1.scope"),
            "id": id,
            "importance": "background",
            "reason": { "rule": "not_in_front" },
            "memory_bytes": 104_857_600,
            "swap_bytes": 1_048_576,
            "threshold_bytes": 209_715_200,
            "chance": 0.125,
            "relaunch_s": 2.0,
            "cost_s_per_mib": 0.0025,
            "protected": null,
            "steps": ["reclaim", "end"],
            "frozen": false,
        });
        let (row_map, more) = (row.as_object_mut().expect("a map"), more.as_object().expect("a map"));
        row_map.extend(more.clone());
        row
    }

    fn apps(active: bool) -> Apps {
        let rows = [
            row("game", json!({})),
            row(
                "front",
                json!({
                    "importance": "foreground", "protected": { "rule": "focused" }, "steps": [], "swap_bytes": null,
                }),
            ),
            row("dbus", json!({ "importance": "persistent", "memory_bytes": null, "steps": [] })),
        ];
        let apps = json!({
            "active": active, "available_bytes": 52_428_800, "wanted_bytes": 104_857_600, "short_bytes": 52_428_800,
            "apps": rows,
        });
        serde_json::from_value(apps).expect("apps")
    }

    #[test]
    fn apps_are_shown_in_the_order_in_which_memory_is_taken() {
        let text = plain(&text(&apps(true), false, None));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "memory: 50 MiB available, 100 MiB wanted: 50 MiB are to be freed");
        assert!(lines[1].starts_with("APP"), "{text}");
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = "game background 100 MiB 1 MiB 12.5 1 reclaim, end; expected cost 0.250 s for 100 MiB";
        assert_eq!(words(lines[2]), expected);
        assert_eq!(words(lines[3]), "front foreground 100 MiB - 12.5 never focused");
        assert_eq!(lines[4], "and 1 services and other groups, from which nothing is taken (--all shows them)");
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn apps_of_one_id_have_the_names_of_their_users() {
        let mut apps = apps(true);
        apps.survey.apps.iter_mut().take(2).for_each(|row| row.id = "game".to_owned());
        (apps.survey.apps[0].user, apps.survey.apps[1].user) = (Some(0), Some(4_294_000_000));
        let text = plain(&super::text(&apps, false, None));
        let names: Vec<&str> = text.lines().skip(2).take(2).filter_map(|line| line.split("  ").next()).collect();
        assert_eq!(names, ["game (root)", "game (4294000000)"]);
        let text = explain(&apps, "game").expect("two apps");
        assert!(text.contains("game (root) (app-game-1.scope) is") && text.contains("game (4294000000) ("), "{text}");
        // One user's alone need no name.
        apps.survey.apps[1].user = Some(0);
        assert!(!plain(&super::text(&apps, false, None)).contains("root"));
    }

    #[test]
    fn while_nothing_is_applied_it_says_why() {
        let text = plain(&text(&apps(true), false, Some("the engine only observes so far")));
        assert!(
            text.starts_with("nothing is taken at present: the engine only observes so far ('brisk trial')"),
            "{text}"
        );
    }

    #[test]
    fn without_the_engine_it_says_how_to_have_it() {
        let text = plain(&text(&apps(false), true, None));
        assert!(text.starts_with("the memory engine does not run"), "{text}");
        assert!(text.contains("add \"iram\" to [engines] order"), "{text}");
        assert!(text.contains("dbus") && !text.contains("--all"), "{text}");
    }

    #[test]
    fn an_app_is_explained_by_id_and_by_group() {
        let text = explain(&apps(true), "game").expect("an app");
        let expected = "game (app-game-1.scope) is background: not in front\n  it has 100 MiB of memory, and 1 MiB in \
                        swap\n  it is expected to need 200 MiB at the most\n  with a chance of 12.5 % it is the next \
                        app; its relaunch takes 2.00 s\n  it is number 1 from which memory is taken: reclaim, end\n";
        assert_eq!(text, expected);
        assert!(
            explain(&apps(true), "app-front-1.scope").expect("an app").contains("nothing is taken from it: focused")
        );
        assert_eq!(explain(&apps(true), "xterm"), None);
    }
}
