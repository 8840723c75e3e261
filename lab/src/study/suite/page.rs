//! Its page.

use crate::results::{SuiteApp, SuiteReport, Temperature};
use brisk_core::stats::{self, Summary};

use super::columns::*;
use crate::study::shown::apps::{self, TEMPERATURES};
use crate::study::shown::opening;
use crate::study::shown::{facts, sets};
use brisk_report::declare::*;
use brisk_report::format::{self, shorten};
use brisk_report::papers::apps as published;
use brisk_report::{causes, ratio};

/// Settled times that spread by at most so much count as repeatable.
const STEADY: f64 = 0.10;
/// Runs from which on a spread says anything.
const FEWEST_RUNS: usize = 3;
/// Ratios beyond this need logarithms.
const LARGEST_EVEN: f64 = 5.0;

pub(super) fn section(report: &SuiteReport) -> Section {
    let question = "How long until the screens of everyday apps are final, and what does background load add?";
    Section::new("App suite", question, verdict(report))
        .cautions(apps::short_writers(&report.conditions))
        .cautions(apps::doubts(&report.apps))
        .facts(apps::facts(&report.phone, &report.apps))
        .on(Some(facts::phone_name(&report.phone)))
        .figures([
            ratios(report),
            apps::by_cause(&report.apps, "Where launches spend their time", false),
            apps::table(&report.apps, base(report), apps::ADDED),
            apps::conditions(&report.conditions),
            apps::failures(&report.apps),
        ])
}

fn base(report: &SuiteReport) -> &str {
    apps::base(&report.conditions)
}

/// Conditions other than the base, at each temperature.
fn loaded(report: &SuiteReport) -> impl Iterator<Item = (&str, Temperature)> {
    report
        .conditions
        .iter()
        .skip(1)
        .flat_map(|condition| TEMPERATURES.into_iter().map(move |temperature| (condition.name.as_str(), temperature)))
}

/// Usable ratios of a condition.
fn ratios_of<'a>(
    report: &'a SuiteReport,
    condition: &str,
    temperature: Temperature,
) -> Vec<(&'a SuiteApp, &'a Summary)> {
    report
        .apps
        .iter()
        .filter_map(|app| Some((app, &apps::comparison(app, condition, temperature)?.settled_ratio)))
        .filter(|(_, ratio)| ratio::judge(ratio) != ratio::Judgement::Nothing)
        .collect()
}

fn verdict(report: &SuiteReport) -> Vec<String> {
    let mut said: Vec<String> = opening(report).into_iter().collect();
    said.extend(loaded(report).filter_map(|(c, t)| slowdown(report, c, t)));
    said.extend(TEMPERATURES.into_iter().filter_map(|t| times(report, t)));
    if said.is_empty() {
        said.push(match report.apps.len() {
            0 => "Nothing was measured: the document has no apps.".to_owned(),
            n => format!("Nothing was measured: none of {} has a launch with a time.", format::plural(n as u64, "app")),
        });
    }
    said.extend(warm(report));
    said.extend(steady(report));
    said.extend(checked(report));
    said
}

/// Opening one app without load and with the first of the loads.
fn opening(report: &SuiteReport) -> Option<String> {
    let load = report.conditions.get(1)?;
    let openings = opening::openings(&report.apps, base(report), &load.name);
    opening::lead(&openings, "", ["without load", opening::load_words(&report.conditions, &load.name)])
}

/// What a condition adds, over all apps.
fn slowdown(report: &SuiteReport, condition: &str, temperature: Temperature) -> Option<String> {
    let found: Vec<_> =
        ratios_of(report, condition, temperature).into_iter().map(|(app, r)| (apps::name(app), r)).collect();
    slowdown_sentence(
        sets::temperature(temperature),
        &sets::label_words(condition),
        &sets::label_words(base(report)),
        &found,
    )
}

/// `start` launches with `name` against those with `base`, in words that claim what the ratios' intervals show.
fn slowdown_sentence(start: &str, name: &str, base: &str, found: &[(String, &Summary)]) -> Option<String> {
    let (mean, count) = ratio::geometric_mean(found.iter().map(|(_, r)| r.median))?;
    let middle = stats::median(&found.iter().map(|(_, r)| r.median).collect::<Vec<_>>())?;
    let (worst, most) = found.iter().max_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
    let judged = |wanted| found.iter().filter(|(_, r)| ratio::judge(r) == wanted).count();
    let (slower, faster) = (judged(ratio::Judgement::Longer), judged(ratio::Judgement::Shorter));
    let (start, mean, over) = (format::sentence(start), format::number(mean), format::plural(count, "app"));
    if judged(ratio::Judgement::OnePair) == found.len() {
        let of = if count == 1 { worst.clone() } else { format!("geometric mean of {over}") };
        return Some(format!(
            "{start} launches took {mean} times as long with {name} as {base} ({of}), from one pair of runs each: no \
             interval."
        ));
    }
    if let [(app, only)] = found {
        return Some(format!("{}.", ratio::sentence(&format!("{start} launch of {app} with {name}"), base, only)));
    }
    if slower + faster == 0 {
        return Some(format!(
            "{start} launches with {name} show no significant difference to {base} in any of {over}: {mean} times as \
             long (geometric mean)."
        ));
    }
    let word = "the interval excludes 1:";
    let mut said = format!(
        "{start} launches take {mean} times as long with {name} as {base}: geometric mean of {over}, median {}. ",
        format::number(middle)
    );
    if slower > 0 {
        said.push_str(&format!("Worst is {worst} with {}; in {slower} of {count} {word} slower", ratio::words(most)));
        if faster > 0 {
            said.push_str(&format!(", in {faster} faster"));
        }
    } else {
        said.push_str(&format!("In {faster} of {count} {word} faster, in none slower"));
    }
    said.push('.');
    Some(said)
}

/// How far apart the two counts of the storage's time may be.
const AGREE: f64 = 0.05;
/// A device that was busy for less says nothing: one late reply weighs too much.
const BUSY_AT_LEAST_MS: f64 = 20.0;

/// Whether the time at the device is what the device counted itself, over launches that had it to themselves.
fn checked(report: &SuiteReport) -> Option<String> {
    let alone = |name: &str| report.conditions.iter().any(|c| c.name == name && c.writer.is_none());
    let sets = report.apps.iter().flat_map(|app| &app.sets).filter(|set| alone(&set.label));
    let times = sets.flat_map(|set| &set.runs).filter_map(|run| run.device.as_ref());
    let ratios: Vec<f64> = times
        .filter(|time| time.busy_ms >= BUSY_AT_LEAST_MS && time.in_flight_ms.is_finite())
        .map(|time| time.in_flight_ms / time.busy_ms)
        .collect();
    let ratio = Summary::of(&ratios)?;
    let agree = (1.0 - AGREE..=1.0 + AGREE).contains(&ratio.median);
    Some(format!(
        "{}: over {} of apps without load, requests were at the device for {:.3} times as long as the emulated device \
         counted itself (from {:.3} to {:.3}).",
        if agree { "The storage time is verified" } else { "The storage time is in doubt" },
        format::plural(ratio.count as u64, "start"),
        ratio.median,
        ratio.min,
        ratio.max
    ))
}

/// How long launches take in the base condition, and how much of it is the storage's.
fn times(report: &SuiteReport, temperature: Temperature) -> Option<String> {
    let mut found: Vec<(&SuiteApp, f64)> =
        report.apps.iter().filter_map(|app| Some((app, apps::settled_ms(app, base(report), temperature)?))).collect();
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    let ((first, quick), (last, slow)) = (*found.first()?, *found.last()?);
    let start = format::sentence(sets::temperature(temperature));
    let shares: Vec<f64> = report
        .apps
        .iter()
        .filter_map(|app| apps::set(app, base(report), temperature)?.split.as_ref())
        .filter_map(|split| Some(causes::storage_ms(split)? / split.wall_ms))
        .collect();
    let storage = stats::median(&shares).map_or_else(String::new, |share| {
        format!("; the median app waits for storage {} of it", format::share(share, 1.0))
    });
    if found.len() == 1 {
        return Some(format!("{start}, {} settles after {}{storage}.", apps::name(first), format::ms(slow)));
    }
    let middle = stats::median(&found.iter().map(|f| f.1).collect::<Vec<_>>())?;
    Some(format!(
        "{start}, {} apps settle after {} at the median, from {} ({}) to {} ({}){storage}.",
        found.len(),
        format::ms(middle),
        format::ms(quick),
        apps::name(first),
        format::ms(slow),
        apps::name(last)
    ))
}

/// Time that warm launches save, with the published figure.
fn warm(report: &SuiteReport) -> Option<String> {
    let saved: Vec<f64> = report
        .apps
        .iter()
        .filter_map(|app| {
            let of = |temperature| apps::settled_ms(app, base(report), temperature);
            Some(1.0 - of(Temperature::Warm)? / of(Temperature::Cold)?)
        })
        .filter(|share| share.is_finite())
        .collect();
    let middle = stats::median(&saved)?;
    let paper = if report.phone.preset == published::WARM_PRESET {
        format!(" (published for 40 Android apps on this phone: {} %)", format::number(published::WARM_SAVES_PERCENT))
    } else {
        String::new()
    };
    let (share, word) = if middle >= 0.0 { (middle, "less") } else { (-middle, "more") };
    Some(format!(
        "Warm launches take {} {word} time than cold ones, median of {}{paper}.",
        format::share(share, 1.0),
        format::plural(saved.len() as u64, "app")
    ))
}

/// For how many apps the times repeat.
fn steady(report: &SuiteReport) -> Option<String> {
    let spreads: Vec<f64> = report
        .apps
        .iter()
        .filter_map(|app| {
            let set = apps::set(app, base(report), Temperature::Cold).or_else(|| app.sets.first())?;
            set.settled_less_cpu_wait_ms.as_ref()
        })
        .filter(|s| s.count >= FEWEST_RUNS && s.variation.is_finite())
        .map(|s| s.variation)
        .collect();
    let few = spreads.iter().filter(|v| **v <= STEADY).count();
    (!spreads.is_empty()).then(|| {
        format!(
            "Less the wait for a processor, settled times spread by at most {} in {few} of {}.",
            format::share(STEADY, 1.0),
            format::plural(spreads.len() as u64, "app")
        )
    })
}

/// One chart for each condition and temperature: apps against the base.
fn ratios(report: &SuiteReport) -> Figure {
    let base = sets::label_words(base(report));
    let row = |(app, condition, temperature): (&SuiteApp, &str, Temperature), settled: &Summary| {
        let less = apps::comparison(app, condition, temperature).and_then(|c| c.settled_less_cpu_wait_ratio);
        Row::at(APP, apps::name(app))
            .by(LAUNCH, format!("{}, {}", sets::temperature(temperature), sets::label_words(condition)))
            .look(ratio::judge(settled).effect().look())
            .put(SLOWDOWN, settled)
            .judge(EFFECT, ratio::judge(settled).effect(), ratio::judge(settled).words())
            .put(LESS_CPU_WAIT, less)
            .put(PAIRS, settled.count as f64)
    };
    let of = |(condition, temperature): (&str, Temperature)| -> Vec<Row> {
        let found = ratios_of(report, condition, temperature).into_iter();
        found.map(|(app, settled)| row((app, condition, temperature), settled)).collect()
    };
    let all: Vec<Row> = loaded(report).flat_map(of).collect();
    let found: Vec<_> = loaded(report).flat_map(|(condition, start)| ratios_of(report, condition, start)).collect();
    let largest = all.iter().filter_map(|row| row.number(SLOWDOWN)).fold(0.0, f64::max);
    let law = if largest > LARGEST_EVEN { Law::Log10 } else { Law::Window };
    let holds = span(&all, SLOWDOWN, law);
    let short = shorten(&base, 20);
    Figure::new(
        "Latency added by background load",
        "Time until settled over that of the base condition, pair by pair of interleaved launches; an interval that \
         includes 1 shows no significant difference.",
    )
    .effects(found.iter().map(|(_, settled)| ratio::judge(settled).effect()))
    .table(
        Table::of("Slowdown", &all, columns![APP, LAUNCH, SLOWDOWN, SLOWDOWN.interval(), EFFECT, LESS_CPU_WAIT, PAIRS])
            .page_only(),
    )
    .charts(&all, LAUNCH, |launch, rows| {
        let dots = Dots {
            name: APP.into(),
            value: SLOWDOWN.into(),
            below: EFFECT.into(),
            levels: level(1.0, format!("as {short}")),
            holds: holds.clone(),
            ..Dots::default()
        };
        let x = Axis::new(format!("time over that of {short}"), law, format::tick);
        dots.draw(format!("Time over {base}, {launch}"), x, rows)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(found: &[(&str, &[f64])]) -> String {
        let summaries: Vec<Summary> = found.iter().map(|(_, v)| Summary::of(v).expect("finite")).collect();
        let found: Vec<_> = found.iter().zip(&summaries).map(|((name, _), s)| ((*name).to_owned(), s)).collect();
        slowdown_sentence("cold", "writers", "idle", &found).expect("ratios")
    }

    const SLOWER: &[f64] = &[1.9, 1.95, 2.0, 2.0, 2.05, 2.1];
    const SAME: &[f64] = &[0.9, 0.95, 1.0, 1.0, 1.05, 1.1];
    const FASTER: &[f64] = &[0.4, 0.45, 0.5, 0.5, 0.55, 0.6];

    #[test]
    fn one_run_shows_neither_a_difference_nor_none() {
        assert_eq!(
            said(&[("a", &[4.0]), ("b", &[9.0])]),
            "Cold launches took 6.00 times as long with writers as idle (geometric mean of 2 apps), from one pair of \
             runs each: no interval."
        );
        assert!(said(&[("a", &[4.0])]).contains("4.00 times as long with writers as idle (a), from one pair"));
    }

    #[test]
    fn a_sentence_claims_what_the_intervals_show() {
        for (found, words) in [
            (
                &[("a", SLOWER), ("b", SLOWER)][..],
                "take 2.00 times as long with writers as idle: geometric mean of 2 apps",
            ),
            (&[("a", SLOWER), ("b", SAME)], "in 1 of 2 the interval excludes 1: slower."),
            (&[("a", SLOWER), ("b", FASTER)], "Worst is a with 2.00 times; in 1 of 2"),
            (&[("a", SLOWER), ("b", FASTER)], "excludes 1: slower, in 1 faster."),
            (&[("a", FASTER), ("b", SAME)], "In 1 of 2 the interval excludes 1: faster, in none slower."),
            (&[("a", SAME), ("b", SAME)], "no significant difference to idle in any of 2 apps: 1.00 times"),
            (&[("a", &[2.0, 2.1]), ("b", SLOWER)], "take 2.02 times"),
            (&[("a", &[2.0, 2.1]), ("b", SLOWER)], "in 2 of 2 the interval excludes 1: slower."),
            (&[("a", SLOWER)], "Cold launch of a with writers takes 2.00 times as long as idle."),
            (&[("a", SAME)], "Cold launch of a with writers against idle: no significant difference, 1.00 times"),
        ] {
            let sentence = said(found);
            assert!(sentence.contains(words), "{words} is missing in {sentence}");
        }
        assert_eq!(slowdown_sentence("cold", "writers", "idle", &[]), None);
    }
}
