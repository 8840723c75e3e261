//! Its page.

use crate::results::{SuiteApp, Temperature, WhatIfReport};
use brisk_core::stats::{self, Summary};

use super::columns::*;
use super::sqlite;
use crate::study::shown::apps::{self, TEMPERATURES};
use crate::study::shown::{facts, sets};
use brisk_report::declare::*;
use brisk_report::papers::apps::{GAIN_REMARKS, GAINS, Gain, LAUNCH_REMARK};
use brisk_report::ratio::Judgement;
use brisk_report::{format, ratio};

pub(super) fn section(report: &WhatIfReport) -> Section {
    let question = "How much of the launch time could better storage save at most?";
    Section::new("What if", question, verdict(report))
        .cautions(apps::doubts(&report.apps))
        .facts(apps::facts(&report.phone, &report.apps))
        .on(Some(facts::phone_name(&report.phone)))
        .figures([
            gains(report),
            apps::by_cause(&report.apps, "Where launches spend their time under each condition", true),
            sqlite::figure(report),
            apps::table(&report.apps, apps::base(&report.conditions), apps::SPARED),
            apps::conditions(&report.conditions),
            paper(report),
            apps::failures(&report.apps),
        ])
}

/// The saving of a condition, over all apps that have pairs.
struct Effect<'a> {
    condition: &'a str,
    temperature: Temperature,
    /// Apps with the percent of the time that the condition saves.
    apps: Vec<(&'a SuiteApp, Summary, Judgement)>,
}

impl Effect<'_> {
    fn median_percent(&self) -> f64 {
        stats::median(&self.apps.iter().map(|a| a.1.median).collect::<Vec<_>>()).unwrap_or(0.0)
    }

    fn extreme(&self, largest: bool) -> Option<(f64, String)> {
        let all = self.apps.iter().map(|(app, saved, _)| (saved.median, apps::name(app)));
        let by = |a: &(f64, String), b: &(f64, String)| a.0.total_cmp(&b.0);
        if largest { all.max_by(by) } else { all.min_by(by) }
    }

    /// The bound of the saving, in words that claim what the intervals show.
    fn sentence(&self) -> Option<String> {
        let (start, what) = (format::sentence(sets::temperature(self.temperature)), sets::label_words(self.condition));
        let (count, shorter) = (self.apps.len(), self.apps.iter().filter(|a| a.2 == Judgement::Shorter).count());
        let ((least, least_app), (most, most_app)) = (self.extreme(false)?, self.extreme(true)?);
        let (over, median) = (format::plural(count as u64, "app"), self.median_percent());
        let share = |percent| format::share(percent, 100.0);
        Some(if self.apps.iter().all(|a| a.2 == Judgement::OnePair) {
            let of = if count == 1 { format!("of {most_app}") } else { format!("at the median of {over}") };
            let word = if median >= 0.0 { "less" } else { "more" };
            format!(
                "{start}, {what} took {} {word} time {of}, from one pair of runs each: no interval.",
                share(median.abs())
            )
        } else if shorter == 0 {
            let bound = self.apps.iter().map(|a| a.1.high).filter(|v| v.is_finite()).fold(0.0, f64::max);
            format!(
                "{start}, {what}: no significant gain in any of {over}; a gain is below {} of the time.",
                share(bound)
            )
        } else if count == 1 {
            format!("{start}, {what} could save at most {} of the time of {most_app}.", share(most))
        } else {
            format!(
                "{start}, {what} could save at most {} of the time at the median of {over}, from {} ({least_app}) to \
                 {} ({most_app}); {shorter} of {count} show a gain.",
                share(median),
                share(least),
                share(most)
            )
        })
    }
}

/// Effects with any app, in the order of the conditions, cold before warm.
fn effects(report: &WhatIfReport) -> Vec<Effect<'_>> {
    let conditions = || report.conditions.iter().skip(1).map(|c| c.name.as_str());
    let pairs = TEMPERATURES.into_iter().flat_map(|t| conditions().map(move |condition| (condition, t)));
    let effect = |(condition, temperature)| {
        let of = |app| {
            let settled = &apps::comparison(app, condition, temperature)?.settled_ratio;
            let judgement = ratio::judge(settled);
            (judgement != Judgement::Nothing).then(|| (app, ratio::saved_percent(settled), judgement))
        };
        Effect { condition, temperature, apps: report.apps.iter().filter_map(of).collect() }
    };
    pairs.map(effect).filter(|effect| !effect.apps.is_empty()).collect()
}

fn verdict(report: &WhatIfReport) -> Vec<String> {
    let mut effects = effects(report);
    // The largest gain is the answer; the sort is stable, so equals stay in the order of the conditions.
    effects.sort_by(|a, b| b.median_percent().total_cmp(&a.median_percent()));
    let mut said: Vec<String> = effects.iter().filter_map(Effect::sentence).collect();
    if said.is_empty() {
        said.push("Nothing was compared: no app has pairs of launches under two conditions.".to_owned());
    }
    said.extend(sqlite::sentences(report));
    said
}

/// The saving of each condition: one line, its dots are the apps.
fn gains(report: &WhatIfReport) -> Figure {
    let effects = effects(report);
    let row = |effect: &Effect<'_>| {
        let condition = sets::label_words(effect.condition);
        Row::at(START, sets::temperature(effect.temperature)).by(CONDITION, condition).look(Look::nth(0))
    };
    let all = effects.iter().flat_map(|effect| effect.apps.iter().map(move |app| (effect, app)));
    let all: Vec<Row> = all
        .map(|(effect, (app, saved, judgement))| {
            let bound = match judgement {
                Judgement::Shorter => format!("at most {}", format::share(saved.high, 100.0)),
                Judgement::NoDifference => {
                    format!("not significant, below {}", format::share(saved.high.max(0.0), 100.0))
                }
                other => other.words().to_owned(),
            };
            row(effect)
                .by(APP, apps::name(app))
                .figure(SAVED, format::share(saved.median, 100.0))
                .figure(INTERVAL, format::interval(saved, unit::SHARE.show))
                .judge(BOUND_MEASURE, judgement.effect(), &bound)
        })
        .collect();
    let medians = effects.iter().map(|effect| {
        let most = effect.extreme(true).filter(|_| effect.apps.len() > 1);
        row(effect)
            .put(MEDIAN, effect.median_percent())
            .put(APPS, runs(effect.apps.iter().map(|a| a.1.median)))
            .put(MOST, most.map(|(most, app)| format!("most {}, {app}", format::share(most, 100.0))))
    });
    let medians: Vec<Row> = medians.collect();
    let table = Table::of(
        "Upper bound of the time that each condition saves",
        &all,
        columns![APP, START, CONDITION, SAVED, INTERVAL, BOUND_MEASURE],
    );
    let figure = Figure::new(
        "Upper bound of each condition's saving",
        "Share of the time until settled that is saved against the unchanged phone, pair by pair of interleaved \
         launches. The mark is the median of the apps.",
    )
    .key(Tone::Nth(0), Glyph::Point(Marker::Circle), "median of the apps")
    .key(Tone::Nth(0), Glyph::Run, "one app")
    .table(table.dispensable(columns![INTERVAL]));
    TEMPERATURES.into_iter().map(sets::temperature).fold(figure, |figure, start| {
        let dots = Dots {
            name: CONDITION.into(),
            value: MEDIAN.into(),
            below: MOST.into(),
            runs: APPS.into(),
            levels: level(0.0, "nothing"),
            holds: medians.iter().flat_map(|row| row.numbers(APPS)).collect(),
            ..Dots::default()
        };
        let x = Axis::new("time saved, %", Law::Linear, format::tick);
        let title = format!("Share of the time that each condition saves, {start}");
        figure
            .chart(format!("{} launches", format::sentence(start)), dots.draw(title, x, &only(&medians, START, start)))
    })
}

/// Published gains of such changes.
fn paper(report: &WhatIfReport) -> Figure {
    let known = |condition: Option<&str>| condition.is_none_or(|c| report.conditions.iter().any(|ours| ours.name == c));
    let gains: Vec<_> = GAINS.iter().filter(|g| known(g.condition)).collect();
    let row = |gain: &&brisk_report::papers::apps::AppGain| {
        let printed = match gain.gain {
            Gain::Percent(percent) => format!("{percent} %"),
            Gain::Factor(factor) => format!("{factor} times as fast"),
        };
        Row::at(CHANGE_PLACE, gain.change)
            .by(HERE, gain.condition.map_or_else(|| "-".to_owned(), sets::label_words))
            .by(PHONE, gain.device)
            .by(APP, gain.app)
            .put(PRINTED_MEASURE, printed)
            .put(TIME_SAVED, gain.gain.saved_percent())
    };
    let figure = Figure::new(
        "Published gains",
        "Gains in the response time of other tasks on other phones: for the order of magnitude.",
    );
    if report.conditions.len() < 2 || report.apps.is_empty() {
        return figure;
    }
    let mut sources: Vec<&str> = gains.iter().map(|g| g.source).collect();
    sources.dedup();
    let rows: Vec<Row> = gains.iter().map(row).collect();
    let note = format!("Published in {}. {} {LAUNCH_REMARK}", sources.join(", and in "), GAIN_REMARKS.join(" "));
    let table =
        Table::of("Published gains", &rows, columns![CHANGE_PLACE, HERE, PHONE, APP, PRINTED_MEASURE, TIME_SAVED]);
    figure.table(table.page_only().noted(note)).open()
}
