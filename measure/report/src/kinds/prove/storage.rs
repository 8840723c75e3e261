//! The storage part of a proof: readers beside writers, with brisk and without.

use brisk_core::stats::Summary;
use brisk_core::units::format_bytes;
use brisk_results::{BothWays, Direction, Header, ProveJobs, ProveReport, ProveStorage};

use crate::papers::{Published, SlowdownRatio, Topic};
use crate::ratio::{Judgement, judge};
use crate::section::{Chart, Figure, Panel, published, range};
use crate::svg::dots::{DotChart, Row};
use crate::svg::frame::Axis;
use crate::svg::scale::Law;
use crate::svg::{Marker, Tone};
use crate::table::{Cell, Kind, Table};
use crate::{format, ratio};

/// One quantity of the jobs.
struct Quantity<'a> {
    /// In a sentence, as in `a read takes 0.3 times as long`.
    words: &'static str,
    /// In a table.
    name: &'static str,
    both: &'a BothWays,
    show: fn(f64) -> String,
    /// Whether more of it is better.
    more_is_better: bool,
    tone: Tone,
}

/// What a quantity lets one say of brisk; worse goes first everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    Worse,
    Better,
    None,
    Unknown,
}

impl Quantity<'_> {
    fn effect(&self) -> Effect {
        match (judge(&self.both.ratio), self.more_is_better) {
            (Judgement::Longer, false) | (Judgement::Shorter, true) => Effect::Worse,
            (Judgement::Shorter, false) | (Judgement::Longer, true) => Effect::Better,
            (Judgement::NoDifference, _) => Effect::None,
            (Judgement::OnePair | Judgement::Nothing, _) => Effect::Unknown,
        }
    }

    fn effect_words(&self) -> &'static str {
        let sure = format::sure(&self.both.ratio);
        match self.effect() {
            Effect::Worse if sure => "worse",
            Effect::Worse => "seems worse",
            Effect::Better if sure => "better",
            Effect::Better => "seems better",
            Effect::None => "no different",
            Effect::Unknown => "too few runs",
        }
    }
}

/// What is judged, most important first.
fn quantities<'a>(storage: &ProveStorage, jobs: &'a ProveJobs) -> [Quantity<'a>; 4] {
    let modelled = storage.meter.name == "modelled";
    let of = |words, name, both, show, more_is_better, tone| Quantity { words, name, both, show, more_is_better, tone };
    [
        of("the time of a read", "time of a read", &jobs.read_us, format::us, false, Tone::Read),
        of("the time of a write", "time of a write", &jobs.write_us, format::us, false, Tone::Write),
        of("throughput", "moved a second in all", &jobs.bytes_per_s, format::bandwidth, true, Tone::Plain),
        of(
            if modelled { "modelled energy" } else { "energy" },
            if modelled { "energy (modelled)" } else { "energy" },
            &jobs.energy_uj,
            energy,
            false,
            Tone::Plain,
        ),
    ]
}

fn energy(uj: f64) -> String {
    if uj.abs() >= 1e6 { format!("{} J", format::number(uj / 1e6)) } else { format!("{} mJ", format::number(uj / 1e3)) }
}

fn load(jobs: &ProveJobs) -> String {
    format!("{} {1} + {1}", format::pattern(jobs.pattern), jobs.streams)
}

/// Sentences for the verdict of the whole proof.
pub(super) fn verdict(report: &ProveReport) -> Vec<String> {
    let Some(storage) = &report.storage else { return Vec::new() };
    let paper = published(&report.header);
    let mut said: Vec<String> = Vec::new();
    for jobs in &storage.jobs {
        said.push(effects(storage, jobs));
        said.push(slowdowns(storage, jobs, paper));
    }
    if !storage.jobs.is_empty() {
        said.push(format!("Energy is {}; {}.", storage.meter.what, storage.meter.uncertainty));
    }
    said
}

/// What got worse, then what got better, then what did not change.
fn effects(storage: &ProveStorage, jobs: &ProveJobs) -> String {
    let all = quantities(storage, jobs);
    let of = |effect: Effect| -> Vec<String> {
        let with = |one: &Quantity<'_>| format!("{} {}", one.words, ratio::words(&one.both.ratio));
        all.iter().filter(|one| one.effect() == effect).map(with).collect()
    };
    let parts: Vec<String> = [
        (Effect::Worse, "worse"),
        (Effect::Better, "better"),
        (Effect::None, "no difference to be seen in"),
        (Effect::Unknown, "too few runs to judge"),
    ]
    .into_iter()
    .map(|(effect, words)| (of(effect), words))
    .filter(|(found, _)| !found.is_empty())
    .map(|(found, words)| {
        let colon = if words.ends_with("in") { "" } else { ":" };
        format!("{words}{colon} {}", format::list(&found))
    })
    .collect();
    format!("Readers beside writers ({}), with brisk over without: {}.", load(jobs), parts.join("; "))
}

/// Each side over alone, without and with, and what was published.
fn slowdowns(storage: &ProveStorage, jobs: &ProveJobs, paper: Option<&'static Published>) -> String {
    let side = |both: &BothWays, direction| {
        let known = published_slowdown(storage, jobs, direction, paper);
        let paper = known.map_or_else(String::new, |known| {
            let smartio =
                known.smartio.map_or_else(String::new, |v| format!(" and {} with SmartIO", format::printed(v)));
            format!(" (published: {}{smartio})", format::printed(known.stock))
        });
        let times = |summary: &Summary| format::times(summary.median);
        format!(
            "a {} takes {} without brisk and {} with it{paper}",
            format::direction(direction),
            times(&both.without),
            times(&both.with)
        )
    };
    format!(
        "Over its time alone ({}) {}, {}.",
        load(jobs),
        side(&jobs.read_slowdown, Direction::Read),
        side(&jobs.write_slowdown, Direction::Write)
    )
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
pub(super) fn figure(report: &ProveReport) -> Option<Figure> {
    let storage = report.storage.as_ref().filter(|storage| !storage.jobs.is_empty())?;
    let panels = storage.jobs.iter().filter_map(|jobs| panel(storage, jobs)).collect();
    let mut tables: Vec<Table> = storage.jobs.iter().map(|jobs| table(storage, jobs)).collect();
    tables.push(slowdown_table(storage, &report.header));
    Some(Figure {
        title: "Readers beside writers".to_owned(),
        caption: format!(
            "An app in front that reads, and background jobs that write, {} each a request, past the page cache. Finite \
             jobs, as fio runs them: they begin together, each moves the same bytes and ends, so that who is served first \
             ends first, and the work is the same with brisk and without. Left of 1 brisk saves, right of it brisk costs; for \
             what is moved a second it is the other way round.",
            format_bytes(storage.block_bytes)
        ),
        keys: Vec::new(),
        panels,
        tables,
        tables_open: true,
    })
}

fn panel(storage: &ProveStorage, jobs: &ProveJobs) -> Option<Panel> {
    let all = quantities(storage, jobs);
    let rows: Vec<Row> = all
        .iter()
        .filter(|one| judge(&one.both.ratio) != Judgement::Nothing)
        .map(|one| Row {
            name: one.name.to_owned(),
            value: one.both.ratio.median,
            range: range(&one.both.ratio),
            label: format!("{} {}", format::times(one.both.ratio.median), format::spread(&one.both.ratio)),
            below: one.effect_words().to_owned(),
            tone: one.tone,
            marker: if one.more_is_better { Marker::Square } else { Marker::Circle },
            published: Vec::new(),
            strokes: Vec::new(),
            runs: Vec::new(),
        })
        .collect();
    let title = format::sentence(&load(jobs));
    (!rows.is_empty()).then(|| Panel {
        title: title.clone(),
        chart: Chart::Dots(DotChart {
            title: format!("{title}: with brisk over without"),
            description: rows
                .iter()
                .map(|row| format!("{}: {}, {}.", format::sentence(&row.name), row.label, row.below))
                .collect::<Vec<_>>()
                .join(" "),
            x: Axis::new("with brisk over without", Law::Window, format::tick),
            levels: vec![(1.0, "no change".to_owned())],
            holds: all
                .iter()
                .flat_map(|one| [one.both.ratio.median, one.both.ratio.low, one.both.ratio.high])
                .chain([1.0])
                .collect(),
            rows,
        }),
    })
}

fn table(storage: &ProveStorage, jobs: &ProveJobs) -> Table {
    let streams = u64::from(jobs.streams);
    let title = format!(
        "{}: {} and {} of {} each",
        format::sentence(format::pattern(jobs.pattern)),
        format::plural(streams, "reader"),
        format::plural(streams, "writer"),
        format_bytes(jobs.stream_bytes)
    );
    let mut table = Table::new(
        title,
        &[
            ("what", Kind::Words),
            ("without", Kind::Numbers),
            ("with brisk", Kind::Numbers),
            ("with / without", Kind::Numbers),
            ("interval", Kind::Numbers),
            ("with brisk it is", Kind::Words),
        ],
    );
    let [read, write, all, energy] = quantities(storage, jobs);
    let rate =
        |name, both, tone| Quantity { words: name, name, both, show: format::bandwidth, more_is_better: true, tone };
    let reads = rate("read a second", &jobs.read_bytes_per_s, Tone::Read);
    let writes = rate("written a second", &jobs.write_bytes_per_s, Tone::Write);
    let rows = [read, write, reads, writes, all, energy];
    for one in &rows {
        table.rows.push(vec![
            one.name.into(),
            Cell::measure(&one.both.without, one.show),
            Cell::measure(&one.both.with, one.show),
            format::times(one.both.ratio.median).into(),
            format::interval(&one.both.ratio, format::number).into(),
            one.effect_words().into(),
        ]);
    }
    table.with_note(format::interval_note(rows.iter().map(|one| &one.both.ratio)))
}

fn slowdown_table(storage: &ProveStorage, header: &Header) -> Table {
    let paper = published(header);
    let mut table = Table::new(
        "Slowdown by the other kind",
        &[
            ("jobs", Kind::Words),
            ("of", Kind::Words),
            ("alone", Kind::Numbers),
            ("without brisk", Kind::Numbers),
            ("with brisk", Kind::Numbers),
            ("paper", Kind::Numbers),
            ("paper's SmartIO", Kind::Numbers),
        ],
    )
    .dispensable(&[2]);
    let mut with_paper = false;
    for jobs in &storage.jobs {
        for (direction, alone, both) in [
            (Direction::Read, &jobs.read_alone_us, &jobs.read_slowdown),
            (Direction::Write, &jobs.write_alone_us, &jobs.write_slowdown),
        ] {
            let known = published_slowdown(storage, jobs, direction, paper);
            with_paper |= known.is_some();
            table.rows.push(vec![
                load(jobs).into(),
                format!("{}s", format::direction(direction)).into(),
                Cell::measure(alone, format::us),
                Cell::measure(&both.without, format::times),
                Cell::measure(&both.with, format::times),
                known.map_or(Cell::Empty, |known| format::printed(known.stock).into()),
                known.and_then(|known| known.smartio).map_or(Cell::Empty, |v| format::printed(v).into()),
            ]);
        }
    }
    table.with_note(paper.filter(|_| with_paper).map(|paper| paper.note(Some(Topic::Slowdown))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_results::{Pattern, ProfileMeter};

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
    fn what_is_worse_is_told_first_and_less_throughput_is_worse() {
        let (less, same, more) = ([0.4, 0.5].as_slice(), [0.9, 1.1].as_slice(), [1.2, 1.3].as_slice());
        let told = |storage: &ProveStorage| effects(storage, &storage.jobs[0]);
        let text = told(&storage(less, same, less, more));
        let order =
            ["worse: throughput 0.450", "modelled energy 1.25", "better: the time of a read 0.450", "no difference"];
        let places: Vec<usize> = order.iter().map(|words| text.find(words).expect(words)).collect();
        assert!(places.is_sorted(), "{text}");
        let text = told(&storage(less, same, more, less));
        assert!(!text.contains("worse") && text.contains("better: the time of a read"), "{text}");
        let text = told(&storage(&[0.5], same, same, same));
        assert!(text.contains("too few runs to judge: the time of a read"), "{text}");
    }

    #[test]
    fn energy_by_a_model_is_called_modelled() {
        let modelled = storage(&[0.5, 0.6], &[1.0, 1.0], &[1.0, 1.0], &[1.0, 1.0]);
        assert!(quantities(&modelled, &modelled.jobs[0]).iter().any(|one| one.name == "energy (modelled)"));
        let mut measured = modelled;
        measured.meter.name = "rapl".into();
        assert!(quantities(&measured, &measured.jobs[0]).iter().all(|one| !one.name.contains("modelled")));
    }
}
