//! What the suite, what-if and the proof share: many apps, each launched under several conditions.

use crate::results::{Condition, LaunchComparison, LaunchSet, PhoneFacts, SuiteApp, Temperature};

use crate::phone::Catalogue;
use crate::study::shown::{endings, facts, sets};
use brisk_report::declare::*;
use brisk_report::format::{self, shorten};
use brisk_report::{causes, measures};

/// Cold launches come first everywhere.
pub(crate) const TEMPERATURES: [Temperature; 2] = [Temperature::Cold, Temperature::Warm];

/// What the time until settled was less that in which the app waited for a processor.
const LESS_CPU_WAIT: Measure = measures::shown("less CPU wait", unit::MS);

/// What leaves the device of an app's name.
pub(crate) const SUBMITTED: &str =
    "One of the apps of the emulated phone; `other` for any other program, whose name stays on the device.";

/// The name of an app as it may leave the device.
pub(crate) fn submitted(name: &str) -> &str {
    if Catalogue::builtin().app(name).is_ok() { name } else { "other" }
}

/// A column of what a condition did.
pub(crate) type Shown = (Measure, fn(&LaunchComparison) -> Value);

/// The name of an app.
pub(crate) fn name(app: &SuiteApp) -> String {
    shown(&app.name)
}

/// The name of an app as it is shown: whole, unless it is no name any more.
pub(crate) fn shown(name: &str) -> String {
    shorten(name.trim(), 48)
}

/// The same with its group.
fn named(app: &SuiteApp) -> String {
    match shorten(app.group.trim(), 20).as_str() {
        "" => name(app),
        group if format::has_words(&name(app), group) => name(app),
        group => format!("{} ({group})", name(app)),
    }
}

/// The phone, and what monitoring cost.
pub(crate) fn facts(phone: &PhoneFacts, apps: &[SuiteApp]) -> Facts {
    let watching = facts::watching(apps.iter().flat_map(|app| &app.sets));
    [("Phone", facts::phone(phone))].into_iter().chain(watching).collect()
}

/// The set of a condition at a temperature.
pub(crate) fn set<'a>(app: &'a SuiteApp, condition: &str, temperature: Temperature) -> Option<&'a LaunchSet> {
    app.sets.iter().find(|s| s.label == condition && s.temperature == temperature)
}

/// A condition against the first.
pub(crate) fn comparison<'a>(
    app: &'a SuiteApp,
    condition: &str,
    temperature: Temperature,
) -> Option<&'a LaunchComparison> {
    app.comparisons.iter().find(|c| c.label == condition && c.temperature == temperature)
}

/// A row for each app and set, cold before warm, with what `more` adds.
fn rows(apps: &[SuiteApp], more: impl Fn(Row, &SuiteApp, &LaunchSet) -> Row) -> Vec<Row> {
    let of = |app: &SuiteApp, set: &LaunchSet| {
        // An app's own longest launch fills the line: next to a browser nothing else would be visible.
        let longest = app.sets.iter().filter_map(sets::end).map(|(_, at)| at.median).fold(0.0, f64::max);
        let end = sets::end(set);
        let less = set.settled_less_cpu_wait_ms.as_ref();
        let row = Row::at(APP, name(app))
            .by(APP_GROUP, named(app))
            .by(START, sets::temperature(set.temperature))
            .by(CONDITION, sets::label_words(&set.label))
            .by(LAUNCH, sets::name(set, &app.sets))
            .put(SETTLED, end.map(|(_, at)| at))
            .put(LESS_CPU_WAIT, less.map(|s| Value::Shown(format::ms(s.median), format::variation(s))))
            .figure(STORAGE, causes::storage_share(set.split.as_ref()))
            .figure(RUNS, end.map_or_else(|| set.runs.len().to_string(), |(stage, _)| sets::reached(set, stage)));
        let whole_ms = end.map_or(f64::NAN, |(_, at)| at.median);
        more(causes::put(row, set.split.as_ref(), whole_ms, longest), app, set)
    };
    let ordered = |app: &SuiteApp| -> Vec<Row> {
        let sets = TEMPERATURES.into_iter().flat_map(|t| app.sets.iter().filter(move |s| s.temperature == t));
        sets.map(|set| of(app, set)).collect()
    };
    apps.iter().flat_map(ordered).collect()
}

/// Launch time by cause: bars by app and condition. A chart for cold and one for warm launches, or one for each app
/// where conditions are many.
pub(crate) fn by_cause(apps: &[SuiteApp], title: &str, each_app: bool) -> Figure {
    let rows: Vec<Row> = rows(apps, |row, _, _| row).into_iter().filter(|row| row.summary(SETTLED).is_some()).collect();
    let split: Vec<Row> = rows.iter().filter(|row| row.get(SPLIT).is_some()).cloned().collect();
    let figure = Figure::new(
        title,
        "The time until the screen is settled by cause: medians, with the interval of the whole as a whisker. Each \
         chart has an axis of its own; dotted are the limits of an immediate answer (0.1 s), of the flow of thought (1 \
         s) and of attention (10 s).",
    )
    .causes(&causes::present(&rows))
    .table(
        Table::of(title, &rows, columns![APP, LAUNCH, SPLIT, SETTLED])
            .noted(format!("{} Bars are as long as the app's longest.", causes::letters_note(&rows)))
            .terminal_only(),
    )
    .table(if split.is_empty() {
        Table::of("Time until settled", &rows, columns![APP, LAUNCH, SETTLED]).page_only()
    } else {
        let columns = [columns![APP, LAUNCH, WHOLE], causes::columns(&split).as_slice()].concat();
        Table::of("Time until settled by cause", &split, &columns).page_only()
    });
    let (panel, group) = if each_app { (APP, START) } else { (START, APP) };
    places(&rows, panel).into_iter().fold(figure, |figure, place| {
        let of = only(&rows, panel, &place);
        let heading = match (each_app, places(&of, START).as_slice()) {
            (false, _) => format!("{} launches", format::sentence(&place)),
            (true, [only]) => format!("{place}, {only}"),
            (true, _) => place.clone(),
        };
        let group = if each_app && places(&of, START).len() < 2 { Column::Absent } else { group.into() };
        let chart = stacks(format!("{title}, {place}"), &of, group, CONDITION, [SETTLED, SPLIT]);
        figure.chart(heading, chart)
    })
}

/// All launches by app, temperature and condition. `effect` names the column of a condition's effect, and gives it.
pub(crate) fn table(apps: &[SuiteApp], base: &str, (effect, effect_of): Shown) -> Figure {
    let rows = rows(apps, |row, app, set| {
        let found = comparison(app, &set.label, set.temperature).filter(|_| set.label != base);
        row.put(effect, found.map(effect_of))
    });
    let (interval, spread) = (SETTLED.interval(), SETTLED.spread());
    let columns =
        columns![APP_GROUP, START, CONDITION, SETTLED, interval, spread, LESS_CPU_WAIT, STORAGE, effect, RUNS];
    Figure::new("All launches", "From the launch until the screen is settled.")
        .table(Table::of("Launches", &rows, columns).dispensable(columns![interval, RUNS]).noted(
            "Spread is the standard deviation over the mean; it also follows the time less that in which the \
             app waited for a processor. Storage is the share of the time in which the app waited for it.",
        ))
        .open()
}

/// The conditions, and what their writers reached.
pub(crate) fn conditions(conditions: &[Condition]) -> Figure {
    let row = |condition: &Condition| {
        let writer = condition.writer.as_ref();
        Row::at(CONDITION, sets::label_words(&condition.name))
            .by(DESCRIPTION, condition.text.trim())
            .put(WRITES, writer.map(|w| w.text.trim()))
            .put(TARGET, writer.map(|w| w.target_bytes_per_s))
            .put(REACHED, writer.and_then(|w| w.reached_bytes_per_s))
            .put(SYNCS_PER_S, writer.and_then(|w| w.syncs_per_s))
    };
    let rows: Vec<Row> = conditions.iter().map(row).collect();
    let table = Table::of("Conditions", &rows, columns![CONDITION, DESCRIPTION, WRITES, TARGET, REACHED, SYNCS_PER_S]);
    Figure::new("Conditions", "Each condition, and what its background load reached while apps launched.")
        .table(table.dispensable(columns![SYNCS_PER_S]))
        .open()
}

/// Background loads that fell short of their target, or whose throughput is unknown: what reached its target stands in
/// the table of conditions.
pub(crate) fn short_writers(conditions: &[Condition]) -> Option<String> {
    let short = |condition: &Condition| {
        let writer = condition.writer.as_ref()?;
        let name = sets::label_words(&condition.name);
        let target = format::bandwidth(writer.target_bytes_per_s);
        match &writer.reached_bytes_per_s {
            None => Some(format!("the throughput of {name} is unknown")),
            Some(reached) if reached.median >= 0.9 * writer.target_bytes_per_s => None,
            Some(reached) => Some(format!("{name} reached {} of {target}", format::bandwidth(reached.median))),
        }
    };
    let found: Vec<String> = conditions.iter().filter_map(short).collect();
    (!found.is_empty()).then(|| format!("The background load fell short of its target: {}.", format::list(&found)))
}

/// Apps that could not be measured, and launches that did not settle.
pub(crate) fn doubts(apps: &[SuiteApp]) -> Vec<String> {
    let failed = |app: &SuiteApp| {
        let reason = shorten(app.failure.as_ref()?.trim().trim_end_matches('.'), 200);
        Some(format!("{} could not be measured: {reason}.", name(app)))
    };
    let mut said: Vec<String> = apps.iter().filter_map(failed).collect();
    for app in apps {
        let endings = app.sets.iter().flat_map(|set| set.runs.iter().map(|run| &run.ending));
        said.extend(endings::sentences("launch", &format!("of {}", name(app)), endings));
    }
    let sets = || apps.iter().flat_map(|a| &a.sets);
    let (all, far) = (sets().flat_map(|s| &s.runs).count(), sets().flat_map(|s| &s.runs).filter(|r| r.outlier).count());
    if far > 0 {
        let are = if far == 1 { "is an outlier" } else { "are outliers" };
        said.push(format!("{far} of {all} launches {are}: part of all figures."));
    }
    // Each app loses a number of its own; the method's words are the same for all.
    said.extend(causes::all_lost(sets().filter_map(|s| s.split.as_ref()), "sets of launches"));
    said
}

/// Apps that failed, with what was run.
pub(crate) fn failures(apps: &[SuiteApp]) -> Figure {
    let row = |app: &SuiteApp| {
        let reason = app.failure.as_ref()?;
        let row = Row::at(APP, named(app)).by(COMMAND, shorten(&app.command.join(" "), 60));
        Some(row.by(REASON, shorten(reason.trim(), 200)))
    };
    let rows: Vec<Row> = apps.iter().filter_map(row).collect();
    let table = Table::of("Not measured", &rows, columns![APP, COMMAND, REASON]);
    Figure::new("Not measured", "Apps of the suite without figures.").table(table).open()
}

/// Settled time of an app in a condition, as far as it is a number.
pub(crate) fn settled_ms(app: &SuiteApp, condition: &str, temperature: Temperature) -> Option<f64> {
    let (_, at) = sets::end(set(app, condition, temperature)?)?;
    Some(at.median).filter(|ms| ms.is_finite() && *ms >= 0.0)
}

/// A column of ratios.
pub(crate) const ADDED: Shown = (SLOWDOWN, |comparison| Value::Summary(comparison.settled_ratio));
