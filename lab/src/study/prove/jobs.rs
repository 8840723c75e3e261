//! The storage part of a proof: readers concurrent with writers, with brisk and without.

use crate::results::{BothWays, Direction, ProveJobs, ProveReport, ProveStorage};
use brisk_core::stats::Summary;
use brisk_core::units::format_bytes;

use super::columns::*;
use brisk_report::declare::*;
use brisk_report::format;
use brisk_report::papers::{Published, SlowdownRatio, Topic};
use brisk_report::ratio::{Judgement, judge};

/// Microjoules.
const ENERGY: Unit = unit::of("uj", energy, format::tick);

/// One quantity of the jobs.
struct Quantity<'a> {
    /// Its name, in a table and a sentence.
    name: &'static str,
    both: &'a BothWays,
    unit: Unit,
    /// Whether more of it is better.
    more_is_better: bool,
}

impl Quantity<'_> {
    /// Longer is a regression here: more time or energy, or less throughput.
    fn judge(&self) -> Judgement {
        match (judge(&self.both.ratio), self.more_is_better) {
            (Judgement::Longer, true) => Judgement::Shorter,
            (Judgement::Shorter, true) => Judgement::Longer,
            (judgement, _) => judgement,
        }
    }

    fn row(&self) -> Row {
        let effect = self.judge().effect();
        Row::at(QUANTITY, self.name)
            .look(effect.look())
            .put_in(WITHOUT, self.unit, self.both.without)
            .put_in(WITH_BRISK, self.unit, self.both.with)
            .put(WITH_OVER_WITHOUT, self.both.ratio)
            .judge(EFFECT, effect, effect.words())
    }
}

/// The quantities, those that are judged first, most important first of them.
fn quantities<'a>(storage: &ProveStorage, jobs: &'a ProveJobs) -> [Quantity<'a>; 6] {
    let modelled = storage.meter.name == "modelled";
    let of = |name, both, unit, more_is_better| Quantity { name, both, unit, more_is_better };
    [
        of("read latency", &jobs.read_us, unit::US, false),
        of("write latency", &jobs.write_us, unit::US, false),
        of("throughput", &jobs.bytes_per_s, unit::BANDWIDTH, true),
        of(if modelled { "modelled energy" } else { "energy" }, &jobs.energy_uj, ENERGY, false),
        of("read throughput", &jobs.read_bytes_per_s, unit::BANDWIDTH, true),
        of("write throughput", &jobs.write_bytes_per_s, unit::BANDWIDTH, true),
    ]
}

/// How many of [`quantities`] are judged.
const JUDGED: usize = 4;

fn energy(uj: f64) -> String {
    if uj.abs() >= 1e6 { format!("{} J", format::number(uj / 1e6)) } else { format!("{} mJ", format::number(uj / 1e3)) }
}

fn load(jobs: &ProveJobs) -> String {
    format!("{} {1} + {1}", format::pattern(jobs.pattern), jobs.streams)
}

/// A sentence for the verdict of the whole proof: regressions, then improvements, then what did not change, over all
/// jobs.
pub(super) fn verdict(storage: &ProveStorage) -> Option<String> {
    let streams = u64::from(storage.jobs.first()?.streams);
    let all: Vec<(&ProveJobs, [Quantity<'_>; 6])> =
        storage.jobs.iter().map(|jobs| (jobs, quantities(storage, jobs))).collect();
    let part = |(words, judgements): (&str, &[Judgement])| {
        let of = |i: usize| -> Option<String> {
            let found = all.iter().filter(|(_, all)| judgements.contains(&all[i].judge()));
            let of_all = all.iter().all(|(_, all)| all[i].judge() == Judgement::NoDifference);
            if of_all && judgements.contains(&Judgement::NoDifference) {
                return Some(all[0].1[i].name.to_owned());
            }
            let found: Vec<String> = found
                .map(|(jobs, all)| {
                    let told = !matches!(all[i].judge(), Judgement::NoDifference);
                    let median =
                        if told { format!("{} ", format::number(all[i].both.ratio.median)) } else { String::new() };
                    format!("{median}({})", format::pattern(jobs.pattern))
                })
                .collect();
            (!found.is_empty()).then(|| format!("{} {}", all[0].1[i].name, format::list(&found)))
        };
        let found: Vec<String> = (0..JUDGED).filter_map(of).collect();
        (!found.is_empty()).then(|| format!("{words} {}", found.join(", ")))
    };
    let effects: [(&str, &[Judgement]); 4] = [
        ("regressed:", &[Judgement::Longer]),
        ("improved:", &[Judgement::Shorter]),
        ("no significant difference:", &[Judgement::NoDifference]),
        ("too few runs to judge:", &[Judgement::OnePair, Judgement::Nothing]),
    ];
    let parts: Vec<String> = effects.into_iter().filter_map(part).collect();
    Some(format!(
        "{} concurrent with {}, with brisk as multiples of the same without: {}.",
        format::sentence(&format::plural(streams, "reader")),
        format::plural(streams, "writer"),
        parts.join("; ")
    ))
}

fn published_slowdown(
    storage: &ProveStorage,
    jobs: &ProveJobs,
    direction: Direction,
    paper: Option<&'static Published>,
) -> Option<&'static SlowdownRatio> {
    paper?.slowdown(jobs.pattern, direction, jobs.streams, storage.block_bytes)
}

/// Readers and writers as dots, and all numbers.
pub(super) fn figure(report: &ProveReport) -> Figure {
    let Some(storage) = &report.storage else { return Figure::default() };
    let figure = Figure::new(
        "Readers concurrent with writers",
        format!(
            "A foreground app that reads, and background jobs that write, {} each a request, past the page cache. \
             Finite jobs, as fio runs them: they begin together, each moves the same bytes and ends, so the work is \
             the same with brisk and without. Left of 1 brisk saves, right of it brisk costs; for throughput it is the \
             other way round. Energy is {}; {}.",
            format_bytes(storage.block_bytes),
            storage.meter.what,
            storage.meter.uncertainty
        ),
    )
    .open();
    let figure = storage.jobs.iter().fold(figure, |figure, jobs| {
        let quantities = quantities(storage, jobs);
        let rows: Vec<Row> = quantities.iter().map(Quantity::row).collect();
        let judged = quantities.iter().take(JUDGED).filter(|one| judge(&one.both.ratio) != Judgement::Nothing);
        let judged: Vec<Row> = judged.map(Quantity::row).collect();
        let dots = Dots {
            name: QUANTITY.into(),
            value: WITH_OVER_WITHOUT.into(),
            below: EFFECT.into(),
            levels: level(1.0, "no change"),
            holds: span(&judged, WITH_OVER_WITHOUT, Law::Window),
            ..Dots::default()
        };
        let streams = u64::from(jobs.streams);
        let title = format!(
            "{}: {} and {} of {} each",
            format::sentence(format::pattern(jobs.pattern)),
            format::plural(streams, "reader"),
            format::plural(streams, "writer"),
            format_bytes(jobs.stream_bytes)
        );
        let columns = columns![QUANTITY, WITHOUT, WITH_BRISK, WITH_OVER_WITHOUT, WITH_OVER_WITHOUT.interval(), EFFECT];
        let load = format::sentence(&load(jobs));
        let effects = quantities.iter().map(|one| one.judge().effect());
        let x = Axis::new("with brisk over without", Law::Window, format::tick);
        figure
            .effects(effects)
            .chart(load.clone(), dots.draw(format!("{load}: with brisk over without"), x, &judged))
            .table(Table::of(title, &rows, columns))
    });
    figure.table(slowdown_table(storage, published(&report.header)))
}

fn slowdown_table(storage: &ProveStorage, paper: Option<&'static Published>) -> Table {
    let row = |jobs: &ProveJobs, direction, alone: Summary, both: &BothWays| {
        let known = published_slowdown(storage, jobs, direction, paper);
        Row::at(JOBS, load(jobs))
            .by(OF, format!("{}s", format::direction(direction)))
            .put(ALONE, alone)
            .put(WITHOUT_BRISK, both.without)
            .put(WITH_BRISK, both.with)
            .put(PAPER, known.map(|known| known.stock))
            .put(PAPERS_SMARTIO, known.and_then(|known| known.smartio))
    };
    let both = |jobs: &ProveJobs| {
        [
            row(jobs, Direction::Read, jobs.read_alone_us, &jobs.read_slowdown),
            row(jobs, Direction::Write, jobs.write_alone_us, &jobs.write_slowdown),
        ]
    };
    let rows: Vec<Row> = storage.jobs.iter().flat_map(both).collect();
    let paper = paper.filter(|_| rows.iter().any(|row| row.number(PAPER).is_some()));
    let columns = columns![JOBS, OF, ALONE, WITHOUT_BRISK, WITH_BRISK, PAPER, PAPERS_SMARTIO];
    let note = paper.map(|paper| paper.note(Some(Topic::Slowdown))).unwrap_or_default();
    Table::of("Slowdown in mixed load", &rows, columns).dispensable(columns![ALONE]).noted(note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Pattern, ProfileMeter};

    fn both(without: f64, ratios: &[f64]) -> BothWays {
        let of = |values: &[f64]| Summary::of(values).expect("finite");
        let with: Vec<f64> = ratios.iter().map(|ratio| ratio * without).collect();
        BothWays { without: of(&vec![without; ratios.len()]), with: of(&with), ratio: of(ratios) }
    }

    fn storage(read: &[f64], write: &[f64], bytes: &[f64], energy: &[f64]) -> ProveStorage {
        let one = Summary::of(&[100.0]).expect("finite");
        let jobs = ProveJobs {
            pattern: Pattern::Random,
            streams: 4,
            stream_bytes: 1 << 20,
            read_alone_us: one,
            write_alone_us: one,
            read_us: both(1_000.0, read),
            write_us: both(1_000.0, write),
            read_slowdown: both(10.0, read),
            write_slowdown: both(10.0, write),
            read_bytes_per_s: both(1e6, bytes),
            write_bytes_per_s: both(1e6, bytes),
            bytes_per_s: both(1e6, bytes),
            energy_uj: both(1e5, energy),
        };
        let meter = ProfileMeter { name: "modelled".into(), what: "a model".into(), uncertainty: "large".into() };
        ProveStorage { block_bytes: 4096, meter, jobs: vec![jobs] }
    }

    #[test]
    fn regressions_are_reported_first_and_less_throughput_is_one() {
        let (less, same, more) = ([0.4, 0.5].as_slice(), [0.9, 1.1].as_slice(), [1.2, 1.3].as_slice());
        let text_of = |storage: &ProveStorage| verdict(storage).expect("jobs");
        let text = text_of(&storage(less, same, less, more));
        let order =
            ["regressed: throughput 0.450", "modelled energy 1.25", "improved: read latency 0.450", "no significant"];
        let places: Vec<usize> = order.iter().map(|words| text.find(words).expect(words)).collect();
        assert!(places.is_sorted(), "{text}");
        let text = text_of(&storage(less, same, more, less));
        assert!(!text.contains("regressed") && text.contains("improved: read latency"), "{text}");
        let text = text_of(&storage(&[0.5], same, same, same));
        assert!(text.contains("too few runs to judge: read latency"), "{text}");
    }

    #[test]
    fn energy_by_a_model_is_called_modelled() {
        let modelled = storage(&[0.5, 0.6], &[1.0, 1.0], &[1.0, 1.0], &[1.0, 1.0]);
        assert!(quantities(&modelled, &modelled.jobs[0]).iter().any(|one| one.name == "modelled energy"));
        let mut measured = modelled;
        measured.meter.name = "rapl".into();
        assert!(quantities(&measured, &measured.jobs[0]).iter().all(|one| !one.name.contains("modelled")));
    }
}
