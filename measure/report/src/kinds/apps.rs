//! What the suite and what-if share: many apps, each launched under several conditions.

use brisk_results::{Condition, LaunchComparison, LaunchSet, SuiteApp, Temperature};

use crate::section::{Figure, Panel};
use crate::svg::stacks::StackGroup;
use crate::table::{Cell, Kind, Table};
use crate::{causes, endings, facts, format, ratio, sets};

/// Cold launches come first everywhere.
pub(super) const TEMPERATURES: [Temperature; 2] = [Temperature::Cold, Temperature::Warm];

/// The name of an app.
pub(super) fn name(app: &SuiteApp) -> String {
    facts::shorten(app.name.trim(), 32)
}

/// The same with its group.
fn named(app: &SuiteApp) -> String {
    match facts::shorten(app.group.trim(), 20).as_str() {
        "" => name(app),
        group => format!("{} ({group})", name(app)),
    }
}

/// The set of a condition at a temperature.
pub(super) fn set<'a>(app: &'a SuiteApp, condition: &str, temperature: Temperature) -> Option<&'a LaunchSet> {
    app.sets.iter().find(|s| s.label == condition && s.temperature == temperature)
}

/// What a condition does to an app, against the first.
pub(super) fn comparison<'a>(
    app: &'a SuiteApp,
    condition: &str,
    temperature: Temperature,
) -> Option<&'a LaunchComparison> {
    app.comparisons.iter().find(|c| c.label == condition && c.temperature == temperature)
}

/// An app's sets, cold before warm, conditions in their order.
fn ordered(app: &SuiteApp) -> impl Iterator<Item = &LaunchSet> {
    TEMPERATURES.into_iter().flat_map(|t| app.sets.iter().filter(move |s| s.temperature == t))
}

/// Where the time goes: bars of parts by app and condition, cold and warm side by side.
pub(super) fn stacks(apps: &[SuiteApp], title: &str) -> Option<Figure> {
    let panels = TEMPERATURES
        .into_iter()
        .filter_map(|temperature| {
            let word = sets::temperature(temperature);
            let groups = apps.iter().map(|app| bars(app, temperature, name(app)));
            stack_panel(format!("{} launches", format::sentence(word)), format!("{title}, {word}"), groups)
        })
        .collect();
    stack_figure(apps, title, panels)
}

/// The same with a chart for each app: where conditions are many.
pub(super) fn stacks_by_app(apps: &[SuiteApp], title: &str) -> Option<Figure> {
    let panels = apps
        .iter()
        .filter_map(|app| {
            let both = TEMPERATURES.iter().all(|t| app.sets.iter().any(|s| s.temperature == *t));
            let groups = TEMPERATURES.into_iter().map(|temperature| {
                let word = if both { sets::temperature(temperature) } else { "" };
                bars(app, temperature, word.to_owned())
            });
            let heading = match app.sets.first() {
                Some(set) if !both => format!("{}, {}", name(app), sets::temperature(set.temperature)),
                _ => name(app),
            };
            stack_panel(heading, format!("{title}, {}", name(app)), groups)
        })
        .collect();
    stack_figure(apps, title, panels)
}

/// The bars of one app at one temperature.
fn bars(app: &SuiteApp, temperature: Temperature, name: String) -> StackGroup {
    let rows = app
        .sets
        .iter()
        .filter(|s| s.temperature == temperature)
        .filter_map(|s| Some(causes::row(sets::label_words(&s.label), s.split.as_ref(), sets::end(s)?.1)))
        .collect();
    StackGroup { name, rows }
}

fn stack_panel(heading: String, title: String, groups: impl Iterator<Item = StackGroup>) -> Option<Panel> {
    let groups: Vec<StackGroup> = groups.filter(|group| !group.rows.is_empty()).collect();
    (!groups.is_empty()).then(|| Panel { title: heading, chart: causes::chart(title, "time until settled", groups) })
}

fn stack_figure(apps: &[SuiteApp], title: &str, panels: Vec<Panel>) -> Option<Figure> {
    let shown = || apps.iter().flat_map(|app| ordered(app).filter_map(move |s| Some((app, s, sets::end(s)?))));
    shown().next()?;
    let splits: Vec<_> = shown().filter_map(|(_, set, _)| set.split.as_ref()).collect();
    let caused = causes::present(splits.iter().copied());
    let mut letters = Table::new(
        title,
        &[("app", Kind::Words), ("launch", Kind::Words), ("", Kind::Bars), ("settled", Kind::Numbers)],
    );
    let mut rows = Vec::new();
    for (app, set, (_, at)) in shown() {
        let named = [Cell::Text(name(app)), sets::name(set, &app.sets).into()];
        if let Some(split) = &set.split {
            rows.push((named.to_vec(), split));
        }
        let mut row = named.to_vec();
        // An app's own longest launch fills the line: beside a browser nothing else could be seen.
        let longest = app.sets.iter().filter_map(sets::end).map(|(_, at)| at.median).fold(0.0, f64::max);
        row.extend([causes::letters(set.split.as_ref(), longest), Cell::measure(at, format::ms)]);
        letters.rows.push(row);
    }
    Some(Figure {
        title: title.to_owned(),
        caption: "The time until the screen is settled by what it went to: medians, with the interval of the whole as a whisker. \
                  Each chart has an axis of its own; dotted are the limits of patience (0.1 s feels immediate, 1 s keeps \
                  the flow of thought, 10 s holds attention)."
            .to_owned(),
        keys: causes::keys(&caused),
        panels,
        tables: vec![
            letters
                .with_note(
                    causes::letters_note(&caused).map(|note| format!("{note} Bars are as long as the app's longest.")),
                )
                .terminal_only(),
            causes::table("Time until settled by cause", &["app", "launch"], &rows).page_only(),
        ],
        tables_open: false,
    })
}

/// All launches by app, temperature and condition. `effect` names the column of what a condition does, and gives it.
pub(super) fn table(
    apps: &[SuiteApp],
    base: &str,
    (effect, effect_of): (&str, fn(&LaunchComparison) -> Cell),
) -> Option<Figure> {
    let mut table = Table::new(
        "Launches",
        &[
            ("app", Kind::Words),
            ("start", Kind::Words),
            ("condition", Kind::Words),
            ("settled", Kind::Numbers),
            ("interval", Kind::Numbers),
            ("spread", Kind::Numbers),
            ("less CPU wait", Kind::Numbers),
            ("storage", Kind::Numbers),
            (effect, Kind::Numbers),
            ("runs", Kind::Numbers),
        ],
    )
    .dispensable(&[4, 9]);
    for app in apps {
        for set in ordered(app) {
            let end = sets::end(set);
            let less = set.settled_less_cpu_wait_ms.as_ref();
            let effect = comparison(app, &set.label, set.temperature).filter(|_| set.label != base);
            table.rows.push(vec![
                named(app).into(),
                sets::temperature(set.temperature).into(),
                sets::label_words(&set.label).into(),
                end.map_or_else(|| "-".into(), |(_, at)| Cell::measure(at, format::ms)),
                end.map_or(Cell::Empty, |(_, at)| format::interval(at, format::ms).into()),
                end.map_or(Cell::Empty, |(_, at)| format::variation(at).into()),
                less.map_or(Cell::Empty, |s| Cell::Measure(format::ms(s.median), format::variation(s))),
                causes::storage_cell(set.split.as_ref()),
                effect.map_or(Cell::Empty, effect_of),
                end.map_or_else(|| set.runs.len().to_string(), |(stage, _)| sets::reached(set, stage)).into(),
            ]);
        }
    }
    let note = format::interval_note(apps.iter().flat_map(|a| &a.sets).filter_map(sets::end).map(|(_, at)| at)).map(|note| {
        format!(
            "{note} Spread is the standard deviation over the mean; it stands, too, beside the time less that in which the \
             app waited for a processor. Storage is the share of the time in which the app waited for it."
        )
    });
    (!table.rows.is_empty()).then(|| Figure {
        title: "All launches".to_owned(),
        caption: "From the launch until the screen is settled.".to_owned(),
        keys: Vec::new(),
        panels: Vec::new(),
        tables: vec![table.with_note(note)],
        tables_open: true,
    })
}

/// What each condition was, and what its writer reached.
pub(super) fn conditions(conditions: &[Condition]) -> Option<Figure> {
    let mut table = Table::new(
        "Conditions",
        &[
            ("condition", Kind::Words),
            ("what it is", Kind::Words),
            ("writes", Kind::Words),
            ("aim", Kind::Numbers),
            ("reached", Kind::Numbers),
            ("syncs/s", Kind::Numbers),
        ],
    )
    .dispensable(&[5]);
    for condition in conditions {
        let writer = condition.writer.as_ref();
        table.rows.push(vec![
            sets::label_words(&condition.name).into(),
            condition.text.trim().into(),
            writer.map_or(Cell::Empty, |w| w.text.trim().into()),
            writer.map_or(Cell::Empty, |w| format::bandwidth(w.target_bytes_per_s).into()),
            writer
                .and_then(|w| w.reached_bytes_per_s.as_ref())
                .map_or(Cell::Empty, |s| Cell::measure(s, format::bandwidth)),
            writer.and_then(|w| w.syncs_per_s.as_ref()).map_or(Cell::Empty, |s| Cell::measure(s, format::number)),
        ]);
    }
    (!table.rows.is_empty()).then(|| Figure {
        title: "Conditions".to_owned(),
        caption: "What each condition was, and what its background load reached while apps launched.".to_owned(),
        keys: Vec::new(),
        panels: Vec::new(),
        tables: vec![table],
        tables_open: true,
    })
}

/// What a writer reached, against what it set out to write.
pub(super) fn writers(conditions: &[Condition]) -> Vec<String> {
    conditions
        .iter()
        .filter_map(|condition| {
            let writer = condition.writer.as_ref()?;
            let name = format::sentence(&sets::label_words(&condition.name));
            let Some(reached) = &writer.reached_bytes_per_s else {
                return Some(format!("{name}: nothing says what the background load reached."));
            };
            let syncs = writer
                .syncs_per_s
                .as_ref()
                .map_or_else(String::new, |s| format!(", {} fsyncs/s", format::number(s.median)));
            let held = if reached.median >= 0.9 * writer.target_bytes_per_s { "" } else { " only" };
            Some(format!(
                "{name} ({}) wrote{held} {} of the {} aimed at{syncs}.",
                facts::shorten(writer.text.trim(), 60),
                format::bandwidth(reached.median),
                format::bandwidth(writer.target_bytes_per_s)
            ))
        })
        .collect()
}

/// Apps that could not be measured, and launches that did not settle.
pub(super) fn doubts(apps: &[SuiteApp]) -> Vec<String> {
    let mut said: Vec<String> = apps
        .iter()
        .filter_map(|app| {
            let reason = app.failure.as_ref()?;
            let reason = facts::shorten(reason.trim().trim_end_matches('.'), 200);
            Some(format!("{} could not be measured: {reason}.", name(app)))
        })
        .collect();
    for app in apps {
        let endings = app.sets.iter().flat_map(|set| set.runs.iter().map(|run| &run.ending));
        said.extend(endings::sentences("launch", &format!("of {}", name(app)), endings));
    }
    let runs = || apps.iter().flat_map(|a| &a.sets).flat_map(|s| &s.runs);
    let far = runs().filter(|run| run.outlier).count();
    if far > 0 {
        said.push(format!(
            "{far} of {} launches {} far from the others of the same set: part of all figures.",
            runs().count(),
            if far == 1 { "lies" } else { "lie" }
        ));
    }
    let mut methods: Vec<String> =
        apps.iter().flat_map(|a| &a.sets).filter_map(|s| s.split.as_ref()).filter_map(causes::lost).collect();
    // Each app loses a number of its own; the method's words are the same for all.
    let lossy = methods.iter().filter(|m| m.contains("events were lost")).count();
    methods.retain(|m| !m.contains("events were lost"));
    methods.sort_unstable();
    methods.dedup();
    if lossy > 0 {
        methods.push(format!(
            "Kernel events were lost in {lossy} sets of launches: their parts of the time are estimates."
        ));
    }
    said.extend(methods);
    said
}

/// Apps that failed, with what was run.
pub(super) fn failures(apps: &[SuiteApp]) -> Option<Figure> {
    let mut table = Table::new("Not measured", &[("app", Kind::Words), ("command", Kind::Words), ("why", Kind::Words)]);
    for app in apps {
        let Some(reason) = &app.failure else { continue };
        table.rows.push(vec![
            named(app).into(),
            facts::shorten(&app.command.join(" "), 60).into(),
            facts::shorten(reason.trim(), 200).into(),
        ]);
    }
    (!table.rows.is_empty()).then(|| Figure {
        title: "Not measured".to_owned(),
        caption: "Apps of the suite without figures.".to_owned(),
        keys: Vec::new(),
        panels: Vec::new(),
        tables: vec![table],
        tables_open: true,
    })
}

/// Settled time of an app in a condition, as far as it is a number.
pub(super) fn settled_ms(app: &SuiteApp, condition: &str, temperature: Temperature) -> Option<f64> {
    let (_, at) = sets::end(set(app, condition, temperature)?)?;
    Some(at.median).filter(|ms| ms.is_finite() && *ms >= 0.0)
}

/// A column of ratios.
pub(super) fn slowdown_cell(comparison: &LaunchComparison) -> Cell {
    Cell::measure(&comparison.settled_ratio, format::times)
}

/// A column of savings in percent: the median, and whether it can be told from none.
pub(super) fn saved_cell(comparison: &LaunchComparison) -> Cell {
    let saved = ratio::saved_percent(&comparison.settled_ratio);
    match ratio::judge(&comparison.settled_ratio) {
        ratio::Judgement::Nothing => Cell::Text("-".to_owned()),
        ratio::Judgement::NoDifference | ratio::Judgement::OnePair => {
            Cell::Text(format!("({})", format::share(saved.median, 100.0)))
        }
        _ => Cell::Text(format::share(saved.median, 100.0)),
    }
}
