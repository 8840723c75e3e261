//! How trials look. Values in, text out.

use std::fmt::Write as _;

use brisk_api::{Effect, EngineTrial, Figure, Ladder, Phase, SubjectTrial, Trials};
use brisk_command::terminal::{bad, caution, good, heading};
use brisk_core::text::one_line;
use brisk_core::trial::{Arm, REST_DAYS};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

const DAY_MS: u64 = 86_400_000;
/// Columns of names of engines in a status.
const NAME_COLUMNS: usize = 13;

/// Whether an engine acts although it certainly makes things worse: a person, or the configuration, wants it on.
pub(super) fn is_worse(of: &EngineTrial) -> bool {
    of.phase == Phase::Acting && of.ladder != Ladder::Off && of.effect.is_some_and(|effect| effect.low > 1.0)
}

/// A line for each engine, its name first.
pub(crate) fn engine_lines(trials: &Trials, now_unix_ms: u64) -> Vec<String> {
    let line = |of: &EngineTrial| format!("{:<NAME_COLUMNS$}{}", of.engine, engine(of, trials.on, now_unix_ms));
    trials.engines.iter().map(line).collect()
}

/// A line for each engine that runs only when it is named, where the configuration names none.
pub(crate) fn unnamed_lines(trials: &Trials) -> Vec<String> {
    let runs = |name: &str| trials.engines.iter().any(|of| of.engine == name);
    let by_default = brisk_daemon::engines::by_default();
    if !by_default.iter().all(|name| runs(name)) {
        return Vec::new();
    }
    let others = brisk_daemon::engines::NAMES.iter().filter(|name| !by_default.contains(name) && !runs(name));
    let why = "does not run: no gain was measured on a whole device yet; [engines] order may name it";
    others.map(|name| format!("{name:<NAME_COLUMNS$}{why}")).collect()
}

/// State, since when, why, and what it gains.
pub(super) fn engine(of: &EngineTrial, is_on: bool, now_unix_ms: u64) -> String {
    if of.ladder == Ladder::Off {
        return caution("off: switched off ('brisk trial NAME auto' has its evidence decide)");
    }
    if !is_on {
        return "acting; not tried, so that its gain is unknown ([engines] trial = false)".to_owned();
    }
    if !of.tried {
        return "acting as its paper says (mode = \"paper\"), so that it is not tried".to_owned();
    }
    let Some(since_unix_ms) = of.since_unix_ms else {
        return match of.ladder {
            Ladder::Auto => "observing: it had nothing to do yet".to_owned(),
            _ => "acting: it had nothing to do yet".to_owned(),
        };
    };
    let since = since(since_unix_ms, now_unix_ms);
    let state = match of.phase {
        Phase::Acting => good("acting"),
        Phase::Resting => caution("resting"),
        other => other.words().to_owned(),
    };
    let gain = of.figure.map_or_else(String::new, |figure| effect(figure, of.effect.as_ref()));
    format!("{state} since {since}, {}: {gain}{}", of.why.words(), counts(of))
}

/// How many subjects are in each phase, where there are several.
fn counts(of: &EngineTrial) -> String {
    let all = [(of.acting, "acting"), (of.on_trial, "on trial"), (of.observing, "observing"), (of.resting, "resting")];
    if all.iter().map(|(count, _)| count).sum::<u64>() < 2 {
        return String::new();
    }
    let some: Vec<String> =
        all.iter().filter(|(count, _)| *count > 0).map(|(count, phase)| format!("{count} {phase}")).collect();
    format!("; {}", some.join(", "))
}

/// The effect in words: worse is called so.
fn effect(figure: Figure, effect: Option<&Effect>) -> String {
    let Some(effect) = effect else { return "what it gains is not known yet".to_owned() };
    let Effect { ratio, low, high, pairs } = effect;
    let words = format!("{} {ratio:.2} times as long ({low:.2} to {high:.2}; {pairs} pairs)", figure.words());
    match () {
        () if *low > 1.0 => bad(&format!("worse: {words}")),
        () if *high < 1.0 => words,
        () => format!("no difference is certain: {words}"),
    }
}

/// Everything.
pub(super) fn text(trials: &Trials, now_unix_ms: u64) -> String {
    let mut text = String::new();
    if trials.engines.is_empty() {
        let config = brisk_api::dirs::config();
        return format!("no engine runs: [engines] order in {} names none\n", config.display());
    }
    for (of, line) in trials.engines.iter().zip(engine_lines(trials, now_unix_ms)) {
        let _ = writeln!(text, "{line}");
        if of.subjects.is_empty() {
            continue;
        }
        let columns = ["SUBJECT", "PHASE", "SINCE", "PAIRS", "TIMES AS LONG", "ACTING", "HELD OUT", "WHY"];
        let _ = writeln!(text, "  {}", heading(&row(&columns.map(str::to_owned))));
        for subject in &of.subjects {
            let _ = writeln!(text, "  {}", row(&cells(of.figure, subject, now_unix_ms)));
        }
    }
    for line in unnamed_lines(trials) {
        let _ = writeln!(text, "{line}");
    }
    let _ = writeln!(
        text,
        "ACTING and HELD OUT: episodes, and what waits in each; an engine that rests is tried again after {REST_DAYS} \
         days or a change of package, kernel or device"
    );
    text
}

fn row(cells: &[String; 8]) -> String {
    let [subject, phase, since, pairs, ratio, acted, held_out, why] = cells;
    format!("{subject:<34} {phase:<10} {since:<11} {pairs:>5}  {ratio:<27} {acted:<13} {held_out:<13} {why}")
        .trim_end()
        .to_owned()
}

fn cells(figure: Option<Figure>, of: &SubjectTrial, now_unix_ms: u64) -> [String; 8] {
    let arm = |sums: &brisk_api::Sums| {
        let each = |sum_s: f64| sum_s / sums.episodes.max(1) as f64;
        match (sums.episodes, figure) {
            (0, _) => "-".to_owned(),
            (episodes, Some(Figure::StorageWait)) => format!("{episodes}, {:.2} s", each(sums.storage_s)),
            (episodes, _) if sums.length_s > 0.0 => {
                format!("{episodes}, {:.1} %", (sums.storage_s + sums.memory_s) * 100.0 / sums.length_s)
            }
            (episodes, _) => episodes.to_string(),
        }
    };
    let ratio = of.effect.map_or_else(
        || "-".to_owned(),
        |effect| {
            let worse = if effect.low > 1.0 { "worse: " } else { "" };
            format!("{worse}{:.2} ({:.2} to {:.2})", effect.ratio, effect.low, effect.high)
        },
    );
    [
        one_line(&of.subject).into_owned(),
        of.phase.words().to_owned(),
        since(of.since_unix_ms, now_unix_ms),
        of.effect.map_or(of.pairs, |effect| of.pairs.max(u64::from(effect.pairs))).to_string(),
        ratio,
        arm(&of.acted),
        arm(&of.held_out),
        of.why.words().to_owned(),
    ]
}

/// Why nothing of what an engine requests for the machine is applied at present; `None` where it is, or may be.
pub(crate) fn why_idle(trials: &Trials, engine: &str) -> Option<&'static str> {
    let of = trials.engines.iter().find(|of| of.engine == engine)?;
    match of.phase {
        _ if of.ladder == Ladder::Off => Some(Arm::Off.words()),
        _ if !of.tried || !trials.on => None,
        Phase::Observing if of.ladder == Ladder::Auto => Some(Arm::Observing.words()),
        Phase::Resting => Some(Arm::Resting.words()),
        _ => None,
    }
}

/// What trials tell of an app, by its id: a line for each engine that is tried on it by itself.
pub(crate) fn of_app(trials: &Trials, id: &str, now_unix_ms: u64) -> String {
    let name = format!("app {id}");
    let mut text = String::new();
    for of in trials.engines.iter().filter(|of| of.ladder != Ladder::Off) {
        let Some((figure, subject)) = of.figure.zip(of.subjects.iter().find(|subject| subject.subject == name)) else {
            continue;
        };
        let what = match subject.phase {
            Phase::Observing => "is not applied yet",
            Phase::OnTrial => "is applied in every second launch, for comparison",
            Phase::Acting => "is applied in nine of ten launches",
            Phase::Resting => "is not applied",
        };
        let _ = writeln!(
            text,
            "  what {} requests for it {what} since {}: {}; {}",
            of.engine,
            since(subject.since_unix_ms, now_unix_ms),
            subject.why.words(),
            effect(figure, subject.effect.as_ref())
        );
    }
    text
}

/// A moment in few words: the time of today, a day of this week, or the date.
pub(super) fn since(unix_ms: u64, now_unix_ms: u64) -> String {
    let at = |ms: u64| -> Option<Zoned> {
        let timestamp = Timestamp::from_millisecond(i64::try_from(ms).ok()?).ok()?;
        Some(timestamp.to_zoned(TimeZone::system()))
    };
    let Some((then, now)) = at(unix_ms).zip(at(now_unix_ms)) else { return "-".to_owned() };
    let format = match () {
        () if then.date() == now.date() => "%H:%M",
        () if now_unix_ms.saturating_sub(unix_ms) < 6 * DAY_MS => "%A",
        () => "%F",
    };
    then.strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_api::Sums;
    use brisk_command::terminal::plain;
    use brisk_core::trial::Why;

    const NOW_MS: u64 = 1_795_000_000_000;

    fn prefetch() -> EngineTrial {
        let effect = Effect { ratio: 0.617, low: 0.551, high: 0.702, pairs: 34 };
        let sums = |episodes, storage_s| Sums { episodes, storage_s, length_s: 60.0, ..Sums::default() };
        let subject = SubjectTrial {
            subject: "app org.gnome.Evince".to_owned(),
            phase: Phase::Acting,
            since_unix_ms: NOW_MS - 40 * DAY_MS,
            why: Why::Gains,
            pairs: 34,
            effect: Some(effect),
            acted: sums(60, 30.0),
            held_out: sums(34, 27.2),
            ..SubjectTrial::default()
        };
        EngineTrial {
            engine: "prefetch".to_owned(),
            tried: true,
            phase: Phase::Acting,
            since_unix_ms: Some(NOW_MS - 40 * DAY_MS),
            why: Why::Gains,
            figure: Some(Figure::StorageWait),
            effect: Some(effect),
            acting: 1,
            subjects: vec![subject],
            ..EngineTrial::default()
        }
    }

    fn lines(of: EngineTrial) -> String {
        plain(&engine_lines(&Trials { on: true, engines: vec![of] }, NOW_MS).join("\n"))
    }

    #[test]
    fn an_engine_is_one_line_with_state_time_reason_and_gain() {
        let line = lines(prefetch());
        let day = since(NOW_MS - 40 * DAY_MS, NOW_MS);
        let expected = format!(
            "prefetch     acting since {day}, it gains: launches wait for storage 0.62 times as long (0.55 to 0.70; 34 \
             pairs)"
        );
        assert_eq!(line, expected);
        assert!(lines(EngineTrial { acting: 3, resting: 1, ..prefetch() }).ends_with("; 3 acting, 1 resting"));
        let off = EngineTrial { ladder: Ladder::Off, ..prefetch() };
        assert!(lines(off).starts_with("prefetch     off: switched off"));
        let new = EngineTrial { since_unix_ms: None, ..prefetch() };
        assert_eq!(lines(new), "prefetch     observing: it had nothing to do yet");
        let young = EngineTrial { effect: None, ..prefetch() };
        assert!(lines(young).ends_with("it gains: what it gains is not known yet"));
        assert!(lines(EngineTrial { tried: false, ..prefetch() }).contains("as its paper says"));
        let untried = engine_lines(&Trials { on: false, engines: vec![prefetch()] }, NOW_MS).remove(0);
        assert!(untried.contains("trial = false"), "{untried}");
    }

    #[test]
    fn what_is_worse_is_called_worse() {
        let effect = Some(Effect { ratio: 1.2, low: 1.08, high: 1.33, pairs: 20 });
        let worse = EngineTrial { effect, ladder: Ladder::On, ..prefetch() };
        assert!(is_worse(&worse) && !is_worse(&prefetch()));
        assert!(lines(worse.clone()).contains(": worse: launches wait for storage 1.20 times as long"));
        let subjects = vec![SubjectTrial { effect, ..worse.subjects[0].clone() }];
        let text = plain(&text(&Trials { on: true, engines: vec![EngineTrial { subjects, ..worse }] }, NOW_MS));
        assert!(text.contains("worse: 1.20 (1.08 to 1.33)"), "{text}");
        let unsure = EngineTrial { effect: Some(Effect { ratio: 0.97, low: 0.9, high: 1.1, pairs: 9 }), ..prefetch() };
        assert!(lines(unsure).contains("no difference is certain: launches"));
    }

    #[test]
    fn all_of_it_is_a_table() {
        let text = plain(&text(&Trials { on: true, engines: vec![prefetch()] }, NOW_MS));
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let rows: Vec<String> = text.lines().map(words).collect();
        let day = since(NOW_MS - 40 * DAY_MS, NOW_MS);
        assert_eq!(rows[1], "SUBJECT PHASE SINCE PAIRS TIMES AS LONG ACTING HELD OUT WHY");
        let expected =
            format!("app org.gnome.Evince acting {day} 34 0.62 (0.55 to 0.70) 60, 0.50 s 34, 0.80 s it gains");
        assert_eq!(rows[2], expected);
        assert!(super::text(&Trials::default(), NOW_MS).starts_with("no engine runs"));
    }

    #[test]
    fn an_app_is_explained_by_its_own_trial() {
        let trials = Trials { on: true, engines: vec![prefetch()] };
        let text = plain(&of_app(&trials, "org.gnome.Evince", NOW_MS));
        assert!(
            text.starts_with("  what prefetch requests for it is applied in nine of ten launches since "),
            "{text}"
        );
        assert!(text.ends_with("(0.55 to 0.70; 34 pairs)\n"), "{text}");
        assert_eq!(of_app(&trials, "mpv", NOW_MS), "");
    }

    #[test]
    fn an_engine_that_changes_nothing_says_why() {
        let why = |of: EngineTrial| why_idle(&Trials { on: true, engines: vec![of] }, "prefetch");
        assert_eq!(why(prefetch()), None);
        assert_eq!(why(EngineTrial { phase: Phase::Resting, ..prefetch() }), Some(Arm::Resting.words()));
        assert_eq!(why(EngineTrial { phase: Phase::Observing, ..prefetch() }), Some(Arm::Observing.words()));
        assert_eq!(why(EngineTrial { tried: false, phase: Phase::Observing, ..prefetch() }), None);
        assert_eq!(why(EngineTrial { ladder: Ladder::Off, ..prefetch() }), Some(Arm::Off.words()));
        assert_eq!(why_idle(&Trials::default(), "prefetch"), None);
    }

    #[test]
    fn moments_are_short() {
        assert_eq!(since(NOW_MS - 40 * DAY_MS, NOW_MS).len(), 10);
        assert!(since(NOW_MS - 2 * DAY_MS, NOW_MS).ends_with("day"));
        assert_eq!(since(NOW_MS, NOW_MS).len(), 5);
        assert_eq!(since(u64::MAX, NOW_MS), "-");
    }
}
