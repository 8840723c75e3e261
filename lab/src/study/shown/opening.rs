//! Opening an app, in seconds: the sentence and the picture that a proof and a suite lead with.
//!
//! Of several apps the sentence has the one in the middle, so that it promises neither the best nor the worst; the
//! picture has all of them.

use crate::results::{Condition, SuiteApp, Temperature};

use super::apps::{self, TEMPERATURES};
use brisk_report::declare::*;
use brisk_report::format;

/// How the times without load are named.
const WITHOUT_LOAD: Measure = brisk_report::measures::shown("without load", unit::MS);

/// One app under two conditions.
pub(crate) struct Opening<'a> {
    app: &'a SuiteApp,
    before_ms: f64,
    after_ms: f64,
}

impl Opening<'_> {
    /// Name and times, where the second time is less than `share` of the first.
    pub(crate) fn shorter(&self, share: f64) -> Option<String> {
        (self.after_ms < share * self.before_ms).then(|| {
            format!(
                "{} ({}, without load {})",
                apps::name(self.app),
                format::ms(self.after_ms),
                format::ms(self.before_ms)
            )
        })
    }
}

/// All apps with a time under both conditions: of their cold launches, of warm ones where there are no cold.
pub(crate) fn openings<'a>(apps: &'a [SuiteApp], before: &str, after: &str) -> Vec<Opening<'a>> {
    let of = |temperature: Temperature| -> Vec<Opening<'a>> {
        let both = |app| {
            let (before_ms, after_ms) =
                (apps::settled_ms(app, before, temperature)?, apps::settled_ms(app, after, temperature)?);
            Some(Opening { app, before_ms, after_ms })
        };
        apps.iter().filter_map(both).collect()
    };
    TEMPERATURES.into_iter().map(of).find(|found| !found.is_empty()).unwrap_or_default()
}

/// The app in the middle by its ratio; of two in the middle that with the larger one.
fn middle<'a, 'b>(openings: &'b [Opening<'a>]) -> Option<&'b Opening<'a>> {
    let mut sorted: Vec<&Opening<'_>> = openings.iter().collect();
    let ratio = |one: &Opening<'_>| one.after_ms / one.before_ms;
    sorted.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    sorted.get(sorted.len() / 2).copied()
}

/// `Opening the text editor (mousepad) WHILE: 1.17 s BEFORE, 862 ms AFTER`, and which of several apps that is.
pub(crate) fn lead(openings: &[Opening<'_>], of: &str, [before, after]: [&str; 2]) -> Option<String> {
    let one = middle(openings)?;
    let among = match openings.len() {
        1 => String::new(),
        2 => " (of 2 apps the less favourable one)".to_owned(),
        n => format!(" (the middle one of {n} apps)"),
    };
    let of = if of.is_empty() { String::new() } else { format!(" {of}") };
    Some(format!(
        "Opening {}{of}: {} {before}, {} {after}{among}.",
        in_words(one.app),
        format::ms(one.before_ms),
        format::ms(one.after_ms)
    ))
}

/// An app as its user would call it, with its name.
fn in_words(app: &SuiteApp) -> String {
    let name = apps::name(app);
    let kind = match app.group.trim() {
        _ if name == "galculator" => "calculator",
        "browser" => "browser",
        "office" => "office program",
        "reader" => "document reader",
        "editor" => "text editor",
        "creative" => "picture editor",
        "messaging" => "messenger",
        "media" => "media player",
        "game" => "game",
        "terminal" => "terminal",
        _ => return name,
    };
    // An app that is called what it is, such as a terminal.
    if format::has_words(kind, &name) { format!("the {kind}") } else { format!("the {kind} ({name})") }
}

/// What goes on under a condition, from the words of its writer.
pub(crate) fn load_words(conditions: &[Condition], name: &str) -> &'static str {
    match conditions.iter().find(|condition| condition.name == name).and_then(|condition| condition.writer.as_ref()) {
        Some(writer) if writer.text.contains("install") => "while an app is installed",
        Some(_) => "with background writes",
        None => "without load",
    }
}

/// All apps before and after: a hollow mark, a line and a full mark for each, and a stroke for the time without load.
pub(crate) fn picture(
    openings: &[Opening<'_>],
    idle: &str,
    title: &str,
    [before, after]: [Measure; 2],
    verdict: impl Fn(&SuiteApp) -> Option<(Effect, &'static str)>,
) -> Figure {
    let row = |one: &Opening<'_>| {
        let idle_ms = TEMPERATURES.into_iter().find_map(|t| apps::settled_ms(one.app, idle, t));
        let label = format!("{} to {}", format::ms(one.before_ms), format::ms(one.after_ms));
        let row = Row::at(APP, apps::name(one.app)).look(Look::nth(0));
        let row = match verdict(one.app) {
            Some((effect, words)) => row.look(effect.look()).judge(VERDICT, effect, words),
            None => row,
        };
        row.put(before, one.before_ms)
            .put(after, one.after_ms)
            .put(WITHOUT_LOAD, idle_ms)
            .put(CHANGE, Value::Shown(label, String::new()))
    };
    let rows: Vec<Row> = openings.iter().map(row).collect();
    let dots = Dots {
        name: APP.into(),
        value: after.into(),
        label: CHANGE.into(),
        from: before.into(),
        below: VERDICT.into(),
        strokes: &[WITHOUT_LOAD],
        ..Dots::default()
    };
    let law = law_for(rows.iter().flat_map(|row| [row.number(before), row.number(after)]).flatten());
    let effects: Vec<Effect> = openings.iter().filter_map(|one| verdict(one.app)).map(|(effect, _)| effect).collect();
    // Marks have the colour of their verdict, where they are judged.
    let tone = if effects.is_empty() { Tone::Nth(0) } else { Tone::Plain };
    let figure = Figure::new(title, "Time from the start until the screen is settled: medians, shorter is better.")
        .key(tone, Glyph::Before, before.name)
        .key(tone, Glyph::Point(Marker::Circle), after.name);
    let figure = if rows.iter().any(|row| row.number(WITHOUT_LOAD).is_some()) {
        figure.key(tone, Glyph::Stroke, WITHOUT_LOAD.name)
    } else {
        figure
    };
    let figure = figure.effects(effects);
    let drawn = dots.draw(title, Axis::new("time until settled", law, format::ms_tick), &rows);
    let columns = columns![APP, WITHOUT_LOAD, before, after, VERDICT];
    let figure = figure.table(Table::of("Time until settled, medians", &rows, columns).page_only());
    if rows.is_empty() { figure } else { figure.chart("", drawn) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(name: &str, group: &str) -> SuiteApp {
        let (name, group) = (name.to_owned(), group.to_owned());
        SuiteApp { name, group, command: Vec::new(), sets: Vec::new(), comparisons: Vec::new(), failure: None }
    }

    #[test]
    fn the_sentence_has_the_app_in_the_middle_in_seconds() {
        let apps = [app("galculator", "tool"), app("mousepad", "editor"), app("own", "unheard of")];
        let times = [(12_500.0, 3_100.0), (1_000.0, 990.0), (900.0, 90.0)];
        let opening = |(app, (before_ms, after_ms))| Opening { app, before_ms, after_ms };
        let all: Vec<Opening<'_>> = apps.iter().zip(times).map(opening).collect();
        let words = ["without brisk", "with it"];
        assert_eq!(
            lead(&all, "while an app is installed", words).as_deref(),
            Some(
                "Opening the calculator (galculator) while an app is installed: 12.5 s without brisk, 3.10 s with it \
                 (the middle one of 3 apps)."
            )
        );
        // Of two the one that gains less.
        assert!(lead(&all[..2], "", words).is_some_and(|said| said.ends_with("(of 2 apps the less favourable one).")));
        assert!(
            lead(&all[..2], "", words).is_some_and(|said| said.starts_with("Opening the text editor (mousepad): 1."))
        );
        assert_eq!(lead(&all[2..], "", words).as_deref(), Some("Opening own: 900 ms without brisk, 90.0 ms with it."));
        assert_eq!(lead(&[], "", words), None);
    }
}
