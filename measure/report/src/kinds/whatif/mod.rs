//! What if: the same launches with parts of the storage taken out of the way (Revisiting Storage, figure 13; user-perceived
//! latency paper, figures 2 and 3). What such a change saves is the most that any better storage could.

mod sqlite;

use brisk_core::stats::{self, Summary};
use brisk_results::{SuiteApp, Temperature, WhatIfReport};

use super::apps::{self, TEMPERATURES};
use crate::papers::apps::{GAIN_REMARKS, GAINS, Gain, LAUNCH_REMARK};
use crate::ratio::Judgement;
use crate::section::{Chart, Figure, Glyph, Key, Panel, Section};
use crate::svg::dots::{DotChart, Row, Run};
use crate::svg::frame::Axis;
use crate::svg::scale::Law;
use crate::svg::{Marker, Tone};
use crate::table::{Kind, Table};
use crate::{format, ratio, sets};

/// The section of this document.
pub(crate) fn section(report: &WhatIfReport) -> Section {
    let figures = [
        gains(report),
        apps::stacks_by_app(&report.apps, "Where launches spend their time under each condition"),
        sqlite::figure(report),
        apps::table(&report.apps, base(report), ("saved", apps::saved_cell)),
        apps::conditions(&report.conditions),
        paper(report),
        apps::failures(&report.apps),
    ];
    Section {
        title: "What if".to_owned(),
        question: "How much of the time that people wait could other storage ever give back?".to_owned(),
        verdict: verdict(report),
        figures: figures.into_iter().flatten().collect(),
    }
}

/// The condition that others are compared with.
fn base(report: &WhatIfReport) -> &str {
    report.conditions.first().map_or("", |condition| condition.name.as_str())
}

/// What a condition saves, over all apps that have pairs.
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

    fn extreme(&self, largest: bool) -> Option<&(&SuiteApp, Summary, Judgement)> {
        let by = |a: &&(&SuiteApp, Summary, Judgement), b: &&(&SuiteApp, Summary, Judgement)| {
            a.1.median.total_cmp(&b.1.median)
        };
        if largest { self.apps.iter().max_by(by) } else { self.apps.iter().min_by(by) }
    }

    /// What the condition could give, in words that claim no more than the intervals do.
    fn sentence(&self) -> Option<String> {
        let (start, what) = (format::sentence(sets::temperature(self.temperature)), sets::label_words(self.condition));
        let (count, shorter) = (self.apps.len(), self.apps.iter().filter(|a| a.2 == Judgement::Shorter).count());
        let (least, most) = (self.extreme(false)?, self.extreme(true)?);
        let over = format::plural(count as u64, "app");
        if self.apps.iter().all(|a| a.2 == Judgement::OnePair) {
            let of = if count == 1 { format!("of {}", apps::name(most.0)) } else { format!("at the median of {over}") };
            let (share, word) = match self.median_percent() {
                gain if gain >= 0.0 => (gain, "less"),
                loss => (-loss, "more"),
            };
            return Some(format!(
                "{start}, {what} took {} {word} time {of}, from one pair of runs each, which cannot tell a gain from noise.",
                format::share(share, 100.0)
            ));
        }
        if shorter == 0 {
            let bound = self.apps.iter().map(|a| a.1.high).filter(|v| v.is_finite()).fold(0.0, f64::max);
            return Some(format!(
                "{start}, {what}: no gain can be seen in any of {over}; if there is one, it is below {} of the time.",
                format::share(bound, 100.0)
            ));
        }
        if count == 1 {
            return Some(format!(
                "{start}, {what} could give at most {} of the time of {} ({}).",
                format::share(most.1.median, 100.0),
                apps::name(most.0),
                interval(&most.1)
            ));
        }
        Some(format!(
            "{start}, {what} could give at most {} of the time at the median of {over}, from {} ({}) to {} ({}); {shorter} of \
             {count} show a gain.",
            format::share(self.median_percent(), 100.0),
            format::share(least.1.median, 100.0),
            apps::name(least.0),
            format::share(most.1.median, 100.0),
            apps::name(most.0)
        ))
    }
}

fn interval(saved: &Summary) -> String {
    format::interval(saved, |percent| format::share(percent, 100.0))
}

/// Effects with any app, in the order of the conditions, cold before warm.
fn effects(report: &WhatIfReport) -> Vec<Effect<'_>> {
    let mut found = Vec::new();
    for temperature in TEMPERATURES {
        for condition in report.conditions.iter().skip(1).map(|c| c.name.as_str()) {
            let apps: Vec<_> = report
                .apps
                .iter()
                .filter_map(|app| {
                    let settled = &apps::comparison(app, condition, temperature)?.settled_ratio;
                    let judgement = ratio::judge(settled);
                    (judgement != Judgement::Nothing).then(|| (app, ratio::saved_percent(settled), judgement))
                })
                .collect();
            if !apps.is_empty() {
                found.push(Effect { condition, temperature, apps });
            }
        }
    }
    found
}

fn verdict(report: &WhatIfReport) -> Vec<String> {
    let mut effects = effects(report);
    // The largest gain is the answer; it is stable, so equals stay in the order of the conditions.
    effects.sort_by(|a, b| b.median_percent().total_cmp(&a.median_percent()));
    let mut said: Vec<String> = effects.iter().filter_map(Effect::sentence).collect();
    if said.is_empty() {
        said.push("Nothing was compared: no app has pairs of launches under two conditions.".to_owned());
    }
    said.extend(sqlite::sentences(report));
    said.extend(apps::doubts(&report.apps));
    said
}

/// What each condition saves: one line, its dots are the apps.
fn gains(report: &WhatIfReport) -> Option<Figure> {
    let effects = effects(report);
    let all: Vec<f64> = effects.iter().flat_map(|e| e.apps.iter().map(|a| a.1.median)).collect();
    let mut table = Table::new(
        "Time that each condition could give at most",
        &[
            ("app", Kind::Words),
            ("start", Kind::Words),
            ("condition", Kind::Words),
            ("saved", Kind::Numbers),
            ("interval", Kind::Numbers),
            ("in words", Kind::Words),
        ],
    )
    .dispensable(&[4]);
    let mut panels = Vec::new();
    for temperature in TEMPERATURES {
        let start = sets::temperature(temperature);
        let rows: Vec<Row> = effects
            .iter()
            .filter(|e| e.temperature == temperature)
            .map(|effect| {
                let median = effect.median_percent();
                Row {
                    name: sets::label_words(effect.condition),
                    value: median,
                    range: None,
                    label: format::share(median, 100.0),
                    below: match effect.extreme(true) {
                        Some(most) if effect.apps.len() > 1 => {
                            format!("most {}, {}", format::share(most.1.median, 100.0), apps::name(most.0))
                        }
                        _ => String::new(),
                    },
                    tone: Tone::Nth(0),
                    marker: Marker::Circle,
                    published: Vec::new(),
                    strokes: Vec::new(),
                    runs: effect.apps.iter().map(|a| Run { value: a.1.median, outlier: false }).collect(),
                }
            })
            .collect();
        for effect in effects.iter().filter(|e| e.temperature == temperature) {
            for (app, saved, judgement) in &effect.apps {
                table.rows.push(vec![
                    apps::name(app).into(),
                    start.into(),
                    sets::label_words(effect.condition).into(),
                    format::share(saved.median, 100.0).into(),
                    interval(saved).into(),
                    match judgement {
                        Judgement::Shorter => format!("at most {}", format::share(saved.high, 100.0)),
                        Judgement::Longer => "it takes longer".to_owned(),
                        Judgement::NoDifference => {
                            format!("none seen, below {}", format::share(saved.high.max(0.0), 100.0))
                        }
                        Judgement::OnePair | Judgement::Nothing => "one pair proves nothing".to_owned(),
                    }
                    .into(),
                ]);
            }
        }
        if !rows.is_empty() {
            panels.push(Panel {
                title: format!("{} launches", format::sentence(start)),
                chart: Chart::Dots(DotChart {
                    title: format!("Share of the time that each condition saves, {start}"),
                    description: rows
                        .iter()
                        .map(|r| format!("{}: {}; {}.", format::sentence(&r.name), r.label, r.below))
                        .collect::<Vec<_>>()
                        .join(" "),
                    x: Axis::new("time saved, %", Law::Linear, format::tick),
                    levels: vec![(0.0, "nothing".to_owned())],
                    holds: all.clone(),
                    rows,
                }),
            });
        }
    }
    let note = format::interval_note(effects.iter().flat_map(|e| &e.apps).map(|a| &a.1));
    (!panels.is_empty()).then(|| Figure {
        title: "What each condition could give at most".to_owned(),
        caption:
            "Share of the time until settled that goes away, against the unchanged phone, pair by pair of interleaved \
                  launches. The mark is the median of the apps."
                .to_owned(),
        keys: [(Glyph::Point(Marker::Circle), "median of the apps"), (Glyph::Run, "one app")]
            .map(|(glyph, words)| Key { tone: Tone::Nth(0), glyph, words: words.to_owned() })
            .into(),
        panels,
        tables: vec![table.with_note(note)],
        tables_open: false,
    })
}

/// What the papers say of such changes.
fn paper(report: &WhatIfReport) -> Option<Figure> {
    let mut table = Table::new(
        "Published gains",
        &[
            ("change", Kind::Words),
            ("here", Kind::Words),
            ("phone", Kind::Words),
            ("app", Kind::Words),
            ("printed", Kind::Numbers),
            ("time saved", Kind::Numbers),
        ],
    )
    .page_only();
    let known = |condition: Option<&str>| condition.is_none_or(|c| report.conditions.iter().any(|ours| ours.name == c));
    for gain in GAINS.iter().filter(|g| known(g.condition)) {
        let printed = match gain.gain {
            Gain::Percent(percent) => format!("{percent} %"),
            Gain::Factor(factor) => format!("{factor} times as fast"),
        };
        table.rows.push(vec![
            gain.change.into(),
            gain.condition.map_or_else(|| "-".to_owned(), sets::label_words).into(),
            gain.device.into(),
            gain.app.into(),
            printed.into(),
            format::percent(gain.gain.saved_percent()).into(),
        ]);
    }
    if report.conditions.len() < 2 || report.apps.is_empty() || table.rows.is_empty() {
        return None;
    }
    let mut sources: Vec<&str> = GAINS.iter().filter(|g| known(g.condition)).map(|g| g.source).collect();
    sources.dedup();
    let note = format!("Published in {}. {} {}", sources.join(", and in "), GAIN_REMARKS.join(" "), LAUNCH_REMARK);
    Some(Figure {
        title: "What was published".to_owned(),
        caption: "Gains in the time that people wait, of other tasks on other phones: for the order of magnitude."
            .to_owned(),
        keys: Vec::new(),
        panels: Vec::new(),
        tables: vec![table.with_note(Some(note))],
        tables_open: true,
    })
}
