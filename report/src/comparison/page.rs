//! Its page.

use crate::results::{
    Better, ChangeVerdict, ComparedCondition, ComparedMeasure, ComparedValue, ComparisonReport, UnmatchedMeasure,
};
use brisk_core::stats::Summary;

use super::columns::*;
use crate::compare::words;
use crate::declare::*;
use crate::format::{self, shorten};

/// Lines of the picture: more are not looked at.
const DRAWN: usize = 24;
/// Factor from its ratio at which a whisker is cut.
const WHISKER: f64 = 3.0;
/// Rows that a terminal shows of what changed, and of what only one condition has.
const CHANGED_IN_TERMINAL: usize = 40;
const UNMATCHED_IN_TERMINAL: usize = 10;

/// Verdicts in the order in which they are told.
const VERDICTS: [ChangeVerdict; 7] = [
    ChangeVerdict::Regressed,
    ChangeVerdict::Improved,
    ChangeVerdict::NoChange,
    ChangeVerdict::TooFewRuns,
    ChangeVerdict::OneRun,
    ChangeVerdict::NotJudged,
    ChangeVerdict::NoRatio,
];

/// A comparison, ready to be shown. `all`: a terminal lists the measures without a change too.
pub(crate) fn section(report: &ComparisonReport, all: bool) -> Section {
    let question = match report.conditions.as_slice() {
        [_, _] => "What has changed between the two conditions?",
        _ => "What has changed between the baseline and each other condition?",
    };
    Section {
        // Machine and device of each condition are among what differs.
        machine: Some(Facts::new()),
        ..Section::new("Comparison", question, verdict(report))
    }
    .on(Some(title(report)))
    .facts(conditions(report))
    .figures([picture(report, all), differences(report), unmatched(report)])
}

fn title(report: &ComparisonReport) -> String {
    let name = |condition: &ComparedCondition| shorten(&condition.name, 40);
    match report.conditions.as_slice() {
        [baseline, one] => format!("{} against {}", name(one), name(baseline)),
        [baseline, others @ ..] => format!("{} conditions against {}", others.len(), name(baseline)),
        [] => "nothing".to_owned(),
    }
}

fn conditions(report: &ComparisonReport) -> Facts {
    let files = |condition: &ComparedCondition| {
        let files: Vec<&str> = condition.documents.iter().map(|document| document.file.as_str()).collect();
        let runs = format::plural(files.len() as u64, "document");
        format!("{}: {} ({runs})", shorten(&condition.name, 60), shorten(&files.join(", "), 200))
    };
    let word = |i| if i == 0 { "Baseline" } else { "Compared" };
    report.conditions.iter().enumerate().map(|(i, condition)| (word(i), files(condition))).collect()
}

/// The verdict of one measure in words.
fn verdict_words(verdict: ChangeVerdict) -> &'static str {
    match verdict {
        ChangeVerdict::Regressed => "regressed",
        ChangeVerdict::Improved => "improved",
        ChangeVerdict::NoChange => "no change",
        ChangeVerdict::TooFewRuns => "too few runs",
        ChangeVerdict::OneRun => "one run",
        ChangeVerdict::NotJudged => "not judged",
        ChangeVerdict::NoRatio => "no ratio",
    }
}

fn effect(verdict: ChangeVerdict) -> Effect {
    match verdict {
        ChangeVerdict::Regressed => Effect::Regressed,
        ChangeVerdict::Improved => Effect::Improved,
        ChangeVerdict::NoChange => Effect::Unclear,
        ChangeVerdict::TooFewRuns | ChangeVerdict::OneRun | ChangeVerdict::NotJudged | ChangeVerdict::NoRatio => {
            Effect::NotJudged
        }
    }
}

fn of<'a>(
    measures: impl Iterator<Item = &'a ComparedMeasure>,
    verdict: ChangeVerdict,
) -> impl Iterator<Item = &'a ComparedMeasure> {
    measures.filter(move |one| one.verdict == verdict)
}

/// A sentence for each condition, with the largest certain change; then what would make it fail, and how they differ.
fn verdict(report: &ComparisonReport) -> Vec<String> {
    let mut said: Vec<String> = report.conditions.iter().skip(1).map(|condition| changes(report, condition)).collect();
    if said.is_empty() {
        said.push("Nothing was compared: the document has no conditions.".to_owned());
    }
    if let Some(percent) = report.fail_on_regression_percent {
        let limit = format!("{} %", format::tick(percent));
        said.push(match report.regressions_beyond(percent).count() {
            0 => format!("No regression is larger than {limit}."),
            count => format!("Failed: {} larger than {limit}.", plural_is(count, "regression")),
        });
    }
    if !report.differences.is_empty() {
        let difference = |one: &crate::results::ConditionDifference| {
            let of =
                if report.conditions.len() > 2 { format!(" ({})", shorten(&one.condition, 30)) } else { String::new() };
            let [before, after] = [&one.baseline, &one.compared].map(|value| shorten(value, 40));
            format!("{} {before}, now {after}{of}", shorten(&one.what, 40))
        };
        let first: Vec<String> = report.differences.iter().take(4).map(difference).collect();
        let more = report.differences.len() - first.len();
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        said.push(format!("The conditions differ: {}{more}.", first.join("; ")));
    }
    said
}

fn plural_is(count: usize, one: &str) -> String {
    let is = if count == 1 { "is" } else { "are" };
    format!("{} {is}", format::plural(count as u64, one))
}

/// What changed under one condition.
fn changes(report: &ComparisonReport, condition: &ComparedCondition) -> String {
    let name = shorten(&condition.name, 40);
    let all = || report.measures.iter().filter(|one| one.condition == condition.name);
    let judged = all().filter(|one| one.p_value.is_some() && one.better != Better::Neither).count();
    let count = |verdict| of(all(), verdict).count();
    if judged == 0 {
        return format!(
            "{name}: no measure has the runs for a verdict. Compare documents with more runs, or pool three documents \
             of each condition."
        );
    }
    let measures = format::plural(judged as u64, "measure");
    let example = |verdict| of(all(), verdict).next().map_or_else(String::new, |one| format!(" ({})", change(one)));
    let (regressed, improved) = (ChangeVerdict::Regressed, ChangeVerdict::Improved);
    match (count(regressed), count(improved)) {
        (0, 0) if judged == 1 => format!("{name}: no change in the one measure{}.", unseen(all(), "it")),
        (0, 0) => format!("{name}: no change in any of {measures}{}.", unseen(all(), "half of them")),
        (0, better) => format!("{name}: {better} of {measures} improved, none regressed{}.", example(improved)),
        (worse, 0) => format!("{name}: {worse} of {measures} regressed, none improved{}.", example(regressed)),
        (worse, better) => format!(
            "{name}: {worse} of {measures} regressed{} and {better} improved{}.",
            example(regressed),
            example(improved)
        ),
    }
}

/// What `no change` is worth: a change that half of the measures would not have shown.
fn unseen<'a>(measures: impl Iterator<Item = &'a ComparedMeasure>, which: &str) -> String {
    let judged = of(measures, ChangeVerdict::NoChange);
    let widths: Vec<f64> = judged.filter_map(|one| Some(one.ratio_high? / one.ratio?)).collect();
    match brisk_core::stats::median(&widths) {
        Some(width) => format!("; {which} would not show one of less than {} times", format::number(width)),
        None => String::new(),
    }
}

/// `evince, cold, writers: settled 1.42 times, 1.31 to 1.55`.
fn change(one: &ComparedMeasure) -> String {
    let ratio = one.ratio.map_or_else(String::new, |ratio| format!(" {} times", format::number(ratio)));
    let interval = interval(one).map_or_else(String::new, |interval| format!(", {interval}"));
    format!("{}{ratio}{interval}", named(one))
}

fn named(one: &ComparedMeasure) -> String {
    shorten(&words(&one.place, &one.measure), 110)
}

fn interval(one: &ComparedMeasure) -> Option<String> {
    let (low, high) = one.ratio_low.zip(one.ratio_high)?;
    Some(format!("{} to {}", format::number(low), format::number(high)))
}

/// A value with the runs and documents behind it.
fn value(of: &ComparedValue, show: fn(f64) -> String) -> Value {
    let documents = if of.documents > 1 { format!(" in {}", of.documents) } else { String::new() };
    Value::Shown(show(of.centre), format!("({}{documents})", of.runs))
}

fn row(report: &ComparisonReport, one: &ComparedMeasure) -> Row {
    named_row(report, one, named(one))
}

/// The same under another name.
fn named_row(report: &ComparisonReport, one: &ComparedMeasure, name: String) -> Row {
    let show = unit::named(&one.unit).show;
    // Columns that would say the same in each line are left out.
    let mut row = Row::default().judge(VERDICT, effect(one.verdict), verdict_words(one.verdict));
    if report.conditions.len() > 2 {
        row = row.by(CONDITION, shorten(&one.condition, 30));
    }
    if report.measures.iter().any(|other| other.kind != one.kind) {
        row = row.by(KIND, one.kind.clone());
    }
    row.by(MEASURE, name)
        .look(effect(one.verdict).look())
        .put(BASELINE, value(&one.baseline, show))
        .put(COMPARED, value(&one.compared, show))
        .figure(RATIO, one.ratio.map(format::times))
        .figure(INTERVAL, interval(one))
        .put(
            BETTER,
            match one.better {
                Better::Lower => "lower",
                Better::Higher => "higher",
                Better::Neither => "",
            },
        )
        .put(LOG_RATIO, log_ratio(one))
}

/// The logarithm of the ratio with its interval, for the picture: equal factors are equally far apart. A whisker ends
/// at [`WHISKER`] from its ratio, as few noisy measures would leave no room to all others.
fn log_ratio(one: &ComparedMeasure) -> Option<Summary> {
    let (ratio, low, high) = (one.ratio?, one.ratio_low?, one.ratio_high?);
    let log = |value: f64| if value > 0.0 { value.ln() } else { f64::NAN };
    let median = log(ratio);
    let (low, high) = (log(low).max(median - WHISKER.ln()), log(high).min(median + WHISKER.ln()));
    let finite = [median, low, high].into_iter().all(f64::is_finite);
    let summary = Summary { count: 2, median, low, high, confidence: 0.95, min: low, max: high, variation: 0.0 };
    finite.then_some(summary)
}

/// Ratios with their intervals, what changed first, and all numbers.
fn picture(report: &ComparisonReport, all: bool) -> Figure {
    let rows: Vec<Row> = report.measures.iter().map(|one| row(report, one)).collect();
    let is_changed = |one: &&ComparedMeasure| matches!(one.verdict, ChangeVerdict::Regressed | ChangeVerdict::Improved);
    let changed: Vec<Row> = report.measures.iter().filter(is_changed).map(|one| row(report, one)).collect();
    let columns = columns![VERDICT, CONDITION, KIND, MEASURE, BASELINE, COMPARED, RATIO, INTERVAL];
    let narrow = columns![KIND, BASELINE, COMPARED];
    let mut of_changed = Table::of("Changed", &changed, columns).dispensable(narrow).noted(note(report));
    of_changed = of_changed.first_in_terminal(CHANGED_IN_TERMINAL);
    let mut of_all = Table::of("All measures", &rows, &[columns, columns![BETTER]].concat());
    of_all = of_all.dispensable(&[columns![BETTER], narrow].concat()).noted(note(report));
    of_all.in_terminal = all;
    of_changed.in_terminal = !all;
    of_changed.in_page = false;
    let (title, drawn, left_out) = drawn(report);
    let more = if left_out > 0 { format!(" {left_out} with smaller changes are in the table.") } else { String::new() };
    let is_cut =
        |one: &ComparedMeasure| one.ratio.zip(one.ratio_high).is_some_and(|(ratio, high)| high > ratio * WHISKER);
    let cut = if report.measures.iter().take(DRAWN).any(is_cut) {
        format!(" Whiskers are cut at {} times their ratio; the table has their ends.", format::tick(WHISKER))
    } else {
        String::new()
    };
    let caption = format!("Compared over baseline: 1 is no change. Whiskers are {}.{cut}{more}", level(report));
    let dots = Dots {
        name: MEASURE.into(),
        value: LOG_RATIO.into(),
        label: RATIO.into(),
        below: STATE.into(),
        ..Dots::default()
    };
    let dots = Dots { levels: crate::declare::level(0.0, "no change"), ..dots };
    let axis = Axis::new("compared over baseline, log scale", Law::Window, |log| format::tick(log.exp()));
    Figure::new("What changed", if report.measures.is_empty() { String::new() } else { caption })
        .effects(
            report.measures.iter().filter(|one| log_ratio(one).is_some()).take(DRAWN).map(|one| effect(one.verdict)),
        )
        .chart(title, dots.draw("Ratio of each measure, compared over baseline", axis, &drawn))
        .table(of_changed)
        .table(of_all)
        .table(sums(report, all))
}

/// What the values and intervals in a table are.
fn note(report: &ComparisonReport) -> String {
    let several = report.measures.iter().any(|one| one.baseline.documents.min(one.compared.documents) > 1);
    let within = if several {
        ""
    } else {
        " What varies from one measurement to the next is not in these intervals: pool three documents of each \
         condition for that."
    };
    format!(
        "Values with (runs in documents): geometric means of the runs, or medians where a document has no single runs. \
         Ratios with {}: of the verdicts improved and regressed at most {} % are expected to be false.{within}",
        level(report),
        format::tick(report.false_discovery_percent)
    )
}

/// The rows of the picture under its title, and how many are left out. What all names would repeat stands in the title.
fn drawn(report: &ComparisonReport) -> (String, Vec<Row>, usize) {
    let with_interval = || report.measures.iter().filter(|one| log_ratio(one).is_some());
    let shown: Vec<&ComparedMeasure> = with_interval().take(DRAWN).collect();
    let is_common = |part: &(String, String)| shown.len() > 1 && shown.iter().all(|one| one.place.contains(part));
    let measure = |one: &ComparedMeasure| one.measure.clone();
    let same_measure = shown.len() > 1 && shown.windows(2).all(|pair| pair[0].measure == pair[1].measure);
    let parts = |one: &ComparedMeasure, common: bool| {
        // A name leaves out what all of its kind have; the title has what all have.
        let of_kind = || shown.iter().filter(|other| other.kind == one.kind);
        let in_kind = |part: &(String, String)| of_kind().count() > 1 && of_kind().all(|one| one.place.contains(part));
        let kept = |part: &&(String, String)| if common { is_common(part) } else { !in_kind(part) };
        let place = one.place.iter().filter(kept).cloned().collect::<Vec<_>>();
        match (place.is_empty(), same_measure == common) {
            (true, true) => measure(one),
            (true, false) => String::new(),
            (false, true) => words(&place, &one.measure),
            (false, false) => words(&place, "").trim_end_matches(": ").to_owned(),
        }
    };
    let title = match shown.first().map(|one| parts(one, true)).filter(|common| !common.is_empty()) {
        Some(common) => format!("Ratios of {}", shorten(&common, 60)),
        None => "Ratios".to_owned(),
    };
    let rows = shown.iter().map(|one| {
        let name = parts(one, false);
        let of = if report.conditions.len() > 2 { format!("{}: ", shorten(&one.condition, 20)) } else { String::new() };
        named_row(report, one, shorten(&name, 80))
            .put(STATE, format!("{of}{}", effect(one.verdict).signed(verdict_words(one.verdict))))
    });
    (title, rows.collect(), with_interval().count() - shown.len())
}

/// `95 % intervals, adjusted for the number of measures (98.5 % each)`.
fn level(report: &ComparisonReport) -> String {
    let (all, each) = (100.0 - report.false_discovery_percent, report.interval_percent);
    // The more nines, the more digits.
    let digits = if each > 99.9 { 3 } else { 1 };
    let whole = format!("{} % intervals", format::tick(all));
    match (each - all).abs() < 0.05 || !(0.0..=100.0).contains(&each) {
        true => whole,
        false => format!("{whole}, adjusted for the number of measures ({each:.digits$} % each)"),
    }
}

/// How many measures have each verdict, and the range of their ratios.
fn sums(report: &ComparisonReport, all: bool) -> Table {
    let row = |verdict: &ChangeVerdict| {
        let measures: Vec<&ComparedMeasure> = of(report.measures.iter(), *verdict).collect();
        let ratios = || measures.iter().filter_map(|one| one.ratio).filter(|ratio| ratio.is_finite());
        let (least, largest) = (ratios().min_by(f64::total_cmp), ratios().max_by(f64::total_cmp));
        (!measures.is_empty()).then(|| {
            Row::default()
                .judge(VERDICT, effect(*verdict), verdict_words(*verdict))
                .put(MEASURES, measures.len() as u64)
                .put(LEAST_RATIO, least)
                .put(LARGEST_RATIO, largest)
                .put(WHY, why(*verdict))
        })
    };
    let rows: Vec<Row> = VERDICTS.iter().filter_map(row).collect();
    let note = if all { "" } else { "--all lists every measure." };
    Table::of("Verdicts", &rows, columns![VERDICT, MEASURES, LEAST_RATIO, LARGEST_RATIO, WHY]).noted(note)
}

fn why(verdict: ChangeVerdict) -> &'static str {
    match verdict {
        ChangeVerdict::Regressed | ChangeVerdict::Improved => "the interval excludes 1",
        ChangeVerdict::NoChange => "the interval includes 1",
        ChangeVerdict::TooFewRuns => "fewer than three runs on one side",
        ChangeVerdict::OneRun => "a document has one value of it: pool three documents of each condition",
        ChangeVerdict::NotJudged => "no direction is better",
        ChangeVerdict::NoRatio => "zero on one side",
    }
}

fn differences(report: &ComparisonReport) -> Figure {
    let row = |one: &crate::results::ConditionDifference| {
        let mut row = Row::at(WHAT, shorten(&one.what, 60));
        if report.conditions.len() > 2 {
            row = row.by(CONDITION, shorten(&one.condition, 30));
        }
        row.by(BASELINE_PLACE, shorten(&one.baseline, 100)).by(COMPARED_PLACE, shorten(&one.compared, 100))
    };
    let rows: Vec<Row> = report.differences.iter().map(row).collect();
    Figure::new("Differences of condition", "What differs besides the figures: a change may have any of these causes.")
        .table(Table::of("Differences of condition", &rows, columns![WHAT, CONDITION, BASELINE_PLACE, COMPARED_PLACE]))
        .open()
}

fn unmatched(report: &ComparisonReport) -> Figure {
    let row = |one: &UnmatchedMeasure| {
        Row::at(ONLY_IN, shorten(&one.only_in, 40))
            .by(NOT_IN, shorten(&one.not_in, 40))
            .by(KIND, one.kind.clone())
            .by(MEASURE, shorten(&words(&one.place, &one.measure), 110))
    };
    let rows: Vec<Row> = report.unmatched.iter().map(row).collect();
    let title = "Only in one of two conditions";
    Figure::new(title, "These places were not measured under both conditions, so they have no ratio.").table(
        Table::of(title, &rows, columns![ONLY_IN, NOT_IN, KIND, MEASURE]).first_in_terminal(UNMATCHED_IN_TERMINAL),
    )
}
