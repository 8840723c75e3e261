//! Its page.

use crate::results::conditions::{IDLE, IDLE_BRISK, WRITERS, WRITERS_BRISK};
use crate::results::{Gain, ProveReport, SuiteApp, Temperature};
use brisk_core::stats::Summary;

use super::columns::*;
use crate::study::shown::{apps, opening};
use crate::study::shown::{facts, sets, starts};
use brisk_report::declare::*;
use brisk_report::format;
use brisk_report::ratio;

/// Published for SmartIO: cold launches of 40 apps got shorter by so many percent on average, and at the most
/// (dissertation 4.5.4, which names no concurrent load).
const PUBLISHED_PERCENT: (f64, f64) = (20.5, 37.8);

/// Launches with the writers over those without load that are below this are no chance of a quiet machine.
const FASTER_THAN_ALONE: f64 = 0.95;

pub(super) fn section(report: &ProveReport) -> Section {
    let facts = apps::facts(&report.phone, &report.apps);
    let question = "What does brisk change for app launches on this device, with background load and without?";
    Section::new("Proof", question, verdict(report))
        .cautions(facts::virtual_time(&report.phone))
        .cautions(apps::short_writers(&report.conditions))
        .cautions(faster_with_load(report))
        .cautions(apps::doubts(&report.apps))
        .picture(picture(report))
        .facts(facts)
        .on(Some(facts::phone_name(&report.phone)))
        .figures([
            ratios(report),
            alone(report),
            apps::by_cause(&report.apps, "Where launches spend their time", false),
            apps::table(&report.apps, IDLE, apps::ADDED),
            apps::conditions(&report.conditions),
            apps::failures(&report.apps),
            starts::figure(&report.phone),
        ])
}

/// One app in seconds, all apps, and what idle launches cost.
fn verdict(report: &ProveReport) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    let idle = facts::idle_words(&report.phone);
    let lead = |before, after, when: &str| {
        opening::lead(&opening::openings(&report.apps, before, after), when, ["without brisk", "with it"])
    };
    said.extend(lead(WRITERS, WRITERS_BRISK, while_written(report)).or_else(|| lead(IDLE, IDLE_BRISK, &idle)));
    said.extend(overall(report, &format::sentence(while_written(report)), true));
    said.extend(overall(report, &format::sentence(&idle), false));
    if said.is_empty() {
        said.push("Nothing was compared: no app has launches both with and without brisk.".to_owned());
    }
    said
}

/// What goes on while apps are opened: `while an app is installed`.
fn while_written(report: &ProveReport) -> &'static str {
    opening::load_words(&report.conditions, WRITERS)
}

/// Apps with the writers, without brisk and with it.
fn picture(report: &ProveReport) -> Figure {
    let openings = opening::openings(&report.apps, WRITERS, WRITERS_BRISK);
    let verdict = |app: &SuiteApp| report.gains.iter().find(|gain| gain.app == app.name).map(words);
    let title = format!("Opening apps {}", while_written(report));
    opening::picture(&openings, IDLE, &title, [OPENED_WITHOUT, OPENED_WITH], verdict)
}

fn ratio_of(gain: &Gain, loaded: bool) -> Option<&Summary> {
    if loaded { gain.loaded_ratio.as_ref() } else { gain.idle_ratio.as_ref() }
}

/// All apps together, and the apps that are slower: stated as plainly as those that are faster.
fn overall(report: &ProveReport, word: &str, loaded: bool) -> Option<String> {
    let found: Vec<(&Gain, _)> = report.gains.iter().filter_map(|gain| Some((gain, ratio_of(gain, loaded)?))).collect();
    let (mean, count) = ratio::geometric_mean(found.iter().map(|(_, r)| r.median))?;
    let change = if mean <= 1.0 {
        format!("{} less", format::share(1.0 - mean, 1.0))
    } else {
        format!("{} more", format::share(mean - 1.0, 1.0))
    };
    let sentence_of = |judgement: ratio::Judgement, word: &str| {
        let of = found.iter().filter(|(_, r)| ratio::judge(r) == judgement);
        let names: Vec<String> = of.map(|(gain, _)| name(gain)).collect();
        match names.len() {
            0 => format!("none {word}"),
            n if n == found.len() && n > 2 => format!("all {n} {word}"),
            n => format!("{n} {word} ({})", format::list(&names)),
        }
    };
    let removed = loaded.then(|| removed(report)).flatten().unwrap_or_default();
    Some(format!(
        "{word}, launches take {change} time with brisk (geometric mean of {}): {}, {}{removed}.",
        format::plural(count, "app"),
        sentence_of(ratio::Judgement::Shorter, "improved"),
        sentence_of(ratio::Judgement::Longer, "regressed"),
    ))
}

/// The share of the latency added by the writer that brisk removes.
fn removed(report: &ProveReport) -> Option<String> {
    let of = |gain: &Gain| gain.gone_percent.filter(|percent| percent.is_finite()).map(|p| (p, name(gain)));
    let mut found: Vec<(f64, String)> = report.gains.iter().filter_map(of).collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ((least, last), (most, first)) = (found.first()?, found.last()?);
    // An app that opens faster than without load has lost all of it.
    let share = |percent: f64| if percent >= 100.0 { "all".to_owned() } else { format::share(percent, 100.0) };
    Some(if found.len() == 1 {
        format!("; {} of the added latency is removed", share(*most))
    } else {
        format!("; between {} ({last}) and {} ({first}) of the added latency is removed", share(*least), share(*most))
    })
}

/// The share of the added latency that is removed, in a table.
fn shown_removed(percent: f64) -> String {
    if percent > 100.0 { "> 100 %".to_owned() } else { format::share(percent, 100.0) }
}

/// Apps that opened faster with the writers than without load: writers cannot speed them up.
fn faster_with_load(report: &ProveReport) -> Option<String> {
    let openings = opening::openings(&report.apps, IDLE, WRITERS);
    let faster: Vec<String> = openings.iter().filter_map(|one| one.shorter(FASTER_THAN_ALONE)).collect();
    (!faster.is_empty()).then(|| {
        format!(
            "Apps opened faster {} than without load: {}. Writes cannot speed them up, so something else disturbed \
             this run, and differences of that size may be chance.",
            while_written(report),
            format::list(&faster)
        )
    })
}

fn name(gain: &Gain) -> String {
    apps::shown(&gain.app)
}

/// The verdict of one app in a word or two; regressions go first.
fn words(gain: &Gain) -> (Effect, &'static str) {
    use ratio::Judgement::{Longer, NoDifference, Shorter};
    let judged = |loaded| ratio_of(gain, loaded).map(ratio::judge);
    match (judged(true), judged(false)) {
        (Some(Longer), _) => (Effect::Regressed, "regressed with writes"),
        (_, Some(Longer)) => (Effect::Regressed, "regressed without load"),
        (Some(Shorter), _) => (Effect::Improved, "improved"),
        (_, Some(Shorter)) => (Effect::Improved, "improved without load"),
        (Some(NoDifference), _) | (_, Some(NoDifference)) => (Effect::Unclear, "no significant difference"),
        _ => (Effect::NotJudged, "too few runs"),
    }
}

/// Apps as dots: time with brisk over time without; and each app's verdict.
fn ratios(report: &ProveReport) -> Figure {
    let row = |gain: &Gain| {
        let warm = gain.temperature == Temperature::Warm;
        let dot = if warm { format!("{}, warm", name(gain)) } else { name(gain) };
        Row::at(APP, name(gain))
            .by(START, sets::temperature(gain.temperature))
            .by(DOT, dot)
            .put(ADDED_LATENCY, gain.added_ms)
            .figure(REMOVED, gain.gone_percent.map_or_else(|| "-".to_owned(), shown_removed))
            .put(WITH_WRITES, gain.loaded_ratio)
            .put(WITHOUT_LOAD, gain.idle_ratio)
            .judge(VERDICT, words(gain).0, words(gain).1)
    };
    let rows: Vec<Row> = report.gains.iter().map(row).collect();
    let (mean_percent, most_percent) = PUBLISHED_PERCENT;
    let published = format!(
        "Ratios are of time with brisk over time without. Published for SmartIO: launches take {mean_percent} % less \
         on average, {most_percent} % at the most."
    );
    let columns =
        columns![APP, START, ADDED_LATENCY, REMOVED, WITH_WRITES, WITH_WRITES.interval(), WITHOUT_LOAD, VERDICT];
    let figure = Figure::new(
        "With brisk over without",
        "Pair by pair of interleaved launches. Left of 1 brisk saves time, right of it brisk costs time; an interval \
         that includes 1 shows no significant difference.",
    )
    .table(Table::of("App by app", &rows, columns).dispensable(columns![WITH_WRITES.interval()]).noted(published))
    .open();
    [(true, WITH_WRITES, "With background writes"), (false, WITHOUT_LOAD, "Without load")].into_iter().fold(
        figure,
        |figure, (loaded, value, title)| {
            let usable =
                |gain: &&Gain| ratio_of(gain, loaded).is_some_and(|r| ratio::judge(r) != ratio::Judgement::Nothing);
            let judged = |gain: &Gain| ratio_of(gain, loaded).map_or(ratio::Judgement::Nothing, ratio::judge);
            let of = |gain: &Gain| {
                let effect = judged(gain).effect();
                row(gain).look(effect.look()).judge(EFFECT, effect, judged(gain).words())
            };
            let gains: Vec<&Gain> = report.gains.iter().filter(usable).collect();
            let rows: Vec<Row> = gains.iter().map(|gain| of(gain)).collect();
            let figure = figure.effects(gains.iter().map(|gain| judged(gain).effect()));
            let holds = span(&rows, value, Law::Window);
            let dots = Dots {
                name: DOT.into(),
                value: value.into(),
                below: EFFECT.into(),
                levels: level(1.0, "no change"),
                holds,
                ..Dots::default()
            };
            let x = Axis::new("time with brisk over time without", Law::Window, format::tick);
            figure.chart(title, dots.draw(format!("{title}: time with brisk over time without"), x, &rows))
        },
    )
}

/// Names of the engines that were at work alone, in their order.
fn engines(report: &ProveReport) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for of in report.gains.iter().flat_map(|gain| &gain.engines) {
        if !names.contains(&of.engine.as_str()) {
            names.push(&of.engine);
        }
    }
    names
}

/// What each engine contributes, over all apps: `prefetch 0.71 times without load and 0.93 times with writes`.
fn alone_in_words(report: &ProveReport) -> Option<String> {
    let mean = |engine: &str, loaded: bool| {
        let of = report.gains.iter().flat_map(|gain| &gain.engines).filter(|of| of.engine == engine);
        let ratios = of.filter_map(|of| if loaded { of.loaded_ratio.as_ref() } else { of.idle_ratio.as_ref() });
        ratio::geometric_mean(ratios.map(|ratio| ratio.median)).map(|(mean, _)| mean)
    };
    let words = |engine: &str| {
        let of_load = |loaded, load| mean(engine, loaded).map(|mean| format!("{} times {load}", format::number(mean)));
        let both: Vec<String> =
            of_load(false, "without load").into_iter().chain(of_load(true, "with writes")).collect();
        (!both.is_empty()).then(|| format!("{engine} {}", both.join(" and ")))
    };
    let each: Vec<String> = engines(report).into_iter().filter_map(words).collect();
    (!each.is_empty()).then(|| format!("Geometric means: {}.", each.join("; ")))
}

/// Each engine alone, app by app.
fn alone(report: &ProveReport) -> Figure {
    let rows: Vec<Row> = report
        .gains
        .iter()
        .flat_map(|gain| gain.engines.iter().map(move |of| (gain, of)))
        .map(|(gain, of)| {
            Row::at(APP, name(gain))
                .by(ENGINE, of.engine.as_str())
                .put(WITH_WRITES, of.loaded_ratio)
                .put(WITHOUT_LOAD, of.idle_ratio)
                .put(ALL_WITH_WRITES, gain.loaded_ratio.map(|ratio| ratio.median))
                .put(ALL_WITHOUT_LOAD, gain.idle_ratio.map(|ratio| ratio.median))
        })
        .collect();
    Figure::new(
        "Each engine alone",
        "Time of launches with one engine at work over that without brisk, pair by pair of interleaved launches; \
         beside it all of the named engines together.",
    )
    .table(
        Table::of(
            "Engine by engine",
            &rows,
            columns![
                APP,
                ENGINE,
                WITH_WRITES,
                WITH_WRITES.interval(),
                WITHOUT_LOAD,
                WITHOUT_LOAD.interval(),
                ALL_WITH_WRITES,
                ALL_WITHOUT_LOAD,
            ],
        )
        .noted(alone_in_words(report).unwrap_or_default()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(loaded: &[f64], idle: &[f64]) -> Gain {
        Gain {
            app: "x".to_owned(),
            temperature: Temperature::Cold,
            loaded_ratio: Summary::of(loaded),
            idle_ratio: Summary::of(idle),
            added_ms: Some(100.0),
            gone_percent: Some(60.0),
            engines: Vec::new(),
        }
    }

    #[test]
    fn regressions_are_reported_before_improvements() {
        let (less, same, more) = (&[0.5, 0.6][..], &[0.9, 1.1][..], &[1.2, 1.3][..]);
        for (loaded, idle, verdict) in [
            (less, same, "improved"),
            (less, more, "regressed without load"),
            (more, less, "regressed with writes"),
            (same, same, "no significant difference"),
            (same, less, "improved without load"),
            (&[0.5][..], &[0.5][..], "too few runs"),
            (&[][..], &[][..], "too few runs"),
        ] {
            assert_eq!(words(&gain(loaded, idle)).1, verdict, "{loaded:?} {idle:?}");
        }
    }
}
