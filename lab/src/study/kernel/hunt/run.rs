//! `brisk kernel hunt`: loads drawn and searched in turns, the worst ones shrunk, their scenario files written.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use crate::results::{Document, HuntFound, HuntReport};
use crate::study::kernel::arguments::HuntArgs as Args;
use crate::vm::hunt::score::Bound;
use crate::vm::hunt::{Found, Hunt, Options, fidelity};
use crate::vm::lab::{Lab, Seen};
use crate::vm::sources::Source;
use crate::vm::{Error, Watch};
use anyhow::Context as _;
use brisk_command::output::replace;
use brisk_command::session::Session;

use crate::study::kernel::measure::header;

/// Loads of a batch for each virtual machine: a boot of about two minutes of the guest.
const BATCH: usize = 8;
/// The search makes one load for so many drawn ones.
const DRAWN_FOR_EACH: u32 = 3;

pub(crate) fn run(source: &Source, args: &Args) -> anyhow::Result<ExitCode> {
    args.guests.outputs.check(&source.scenarios())?;
    if let Some(word) = args.bound.iter().find(|word| Bound::ALL.iter().all(|bound| bound.word() != word.as_str())) {
        let known: Vec<&str> = Bound::ALL.iter().map(|bound| bound.word()).collect();
        anyhow::bail!("there is no bound '{word}': there are {}", known.join(", "));
    }
    let session = Session::begin()?;
    let outcome = hunted(&session, source, args);
    session.clear();
    match outcome {
        Ok(report) => {
            args.guests.outputs.write(&Document::from(report))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) if matches!(error.downcast_ref(), Some(Error::Stopped)) => Ok(session.was_stopped()),
        Err(error) => Err(error),
    }
}

/// What is left to measure.
struct Budget {
    begun: Instant,
    args_drawn: u32,
    args_searched: u32,
    limit_s: Option<f64>,
}

#[derive(Debug, PartialEq, Eq)]
enum Batch {
    Draw(usize),
    Search(usize),
}

impl Budget {
    fn of(args: &Args) -> Self {
        Self {
            begun: Instant::now(),
            args_drawn: args.loads,
            args_searched: args.changed.unwrap_or(args.loads / DRAWN_FOR_EACH),
            limit_s: args.duration.map(|limit| limit.as_secs_f64()),
        }
    }

    /// The next batch of at most `most` loads, after so many drawn and searched ones; `None` at the end. With a time
    /// limit both kinds take turns; otherwise all loads are drawn before the search.
    fn next(&self, drawn: u32, searched: u32, elapsed_s: f64, most: usize) -> Option<Batch> {
        if let Some(limit_s) = self.limit_s {
            let turn = if searched < drawn / DRAWN_FOR_EACH { Batch::Search(most) } else { Batch::Draw(most) };
            return (drawn == 0 || elapsed_s < limit_s).then_some(turn);
        }
        let left = |of: u32, done: u32| (of.saturating_sub(done) as usize).min(most);
        match (left(self.args_drawn, drawn), left(self.args_searched, searched)) {
            (0, 0) => None,
            (0, searched) => Some(Batch::Search(searched)),
            (drawn, _) => Some(Batch::Draw(drawn)),
        }
    }

    /// How far it is, 0 to 1.
    fn done(&self, drawn: u32, searched: u32) -> f64 {
        match self.limit_s {
            Some(limit_s) => (self.begun.elapsed().as_secs_f64() / limit_s).min(1.0),
            None => f64::from(drawn + searched) / f64::from((self.args_drawn + self.args_searched).max(1)),
        }
    }
}

/// Share of the progress bar for drawing and searching; the rest is for shrinking.
const FIRST_SHARE: f64 = 0.7;

fn hunted(session: &Session, source: &Source, args: &Args) -> anyhow::Result<HuntReport> {
    let prepare = |_: f64, doing: &str| session.show(0.0, doing);
    let mut lab = Lab::prepare(source, &args.guests.kernel, Watch { stop: session.stop_flag(), progress: &prepare })?;
    lab.time_limit = args.guests.time_limit;
    lab.jobs = crate::study::kernel::machines(args.guests.jobs);
    lab.remember(args.guests.again)?;
    let options = Options {
        scheduler: args.scheduler.clone(),
        rivals: args.rivals,
        seed: args.seed.into(),
        seeds: (1..=args.seeds.into()).collect(),
        kinds: args.kinds.clone(),
        devices: source.scenarios().join("devices"),
    };
    let mut hunt = Hunt::new(&lab, options.clone())?;
    let mut report = HuntReport {
        header: header(&lab, options.seed),
        series: args.guests.kernel.clone(),
        scheduler: options.scheduler.clone(),
        peers: hunt.peers(),
        seeds: options.seeds.clone(),
        hold: 0,
        bounds: Vec::new(),
        loads: Vec::new(),
        found: Vec::new(),
        fidelity: fidelity(&Seen::default()),
    };
    let budget = Budget::of(args);
    let (mut drawn, mut searched) = (0, 0);
    let most = BATCH * lab.jobs;
    while let Some(batch) = budget.next(drawn, searched, budget.begun.elapsed().as_secs_f64(), most) {
        let (Batch::Draw(count) | Batch::Search(count)) = batch;
        let of_batch = count as f64 / f64::from((args.loads + budget.args_searched).max(1));
        let from = budget.done(drawn, searched);
        let progress = |done: f64, doing: &str| {
            let done = if budget.limit_s.is_some() { from } else { from + done * of_batch };
            session.show(done.min(1.0) * FIRST_SHARE, &format!("{} loads: {doing}", drawn + searched));
        };
        let watch = Watch { stop: session.stop_flag(), progress: &progress };
        let count_u32 = u32::try_from(count).unwrap_or(u32::MAX);
        match batch {
            Batch::Draw(_) => {
                hunt.draw(&mut lab, count, watch)?;
                drawn += count_u32;
            }
            Batch::Search(_) => {
                hunt.search(&mut lab, count, watch)?;
                searched += count_u32;
            }
        }
        fill(&mut report, &hunt, &lab, &budget);
        args.guests.outputs.keep(&Document::from(report.clone()))?;
    }
    let mut missed = hunt.missed();
    missed.retain(|(bound, ..)| args.bound.is_empty() || args.bound.iter().any(|word| word == bound.word()));
    let count = if args.rivals { 0 } else { usize::from(args.shrink).min(missed.len()) };
    for (place, (bound, load, _)) in missed.iter().take(count).enumerate() {
        let progress = |done: f64, doing: &str| {
            let of_shrinking = (place as f64 + done) / count as f64;
            session.show(FIRST_SHARE + of_shrinking * (1.0 - FIRST_SHARE), doing);
        };
        let watch = Watch { stop: session.stop_flag(), progress: &progress };
        let found = hunt.shrink(&mut lab, *bound, *load, watch)?;
        if let Some(found) = found {
            report.found.push(kept(source, args, found)?);
        }
        fill(&mut report, &hunt, &lab, &budget);
        args.guests.outputs.keep(&Document::from(report.clone()))?;
    }
    Ok(report)
}

/// The results so far.
fn fill(report: &mut HuntReport, hunt: &Hunt, lab: &Lab, budget: &Budget) {
    (report.bounds, report.hold) = hunt.bounds();
    report.loads = hunt.loads();
    report.fidelity = fidelity(&lab.seen());
    report.header.duration_s = budget.begun.elapsed().as_secs_f64();
}

/// Writes the scenario file of a confirmed worst case.
fn kept(source: &Source, args: &Args, found: Found) -> anyhow::Result<HuntFound> {
    let Found { mut found, name, text } = found;
    if !found.confirmed {
        return Ok(found);
    }
    let folder = if args.save { source.scenarios().join("hunted") } else { source.work().join("hunted") };
    let file: PathBuf = folder.join(format!("{name}.toml"));
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    replace(&file, text.as_bytes())?;
    let shown = file.strip_prefix(source.path("")).unwrap_or(&file);
    found.file = Some(shown.to_string_lossy().into_owned());
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The batches of a budget, each of which takes ten seconds.
    fn batches(budget: &Budget) -> Vec<Batch> {
        let (mut drawn, mut searched, mut all) = (0, 0, Vec::new());
        while let Some(batch) = budget.next(drawn, searched, 10.0 * all.len() as f64, 16) {
            match &batch {
                Batch::Draw(count) => drawn += *count as u32,
                Batch::Search(count) => searched += *count as u32,
            }
            all.push(batch);
        }
        all
    }

    fn budget(drawn: u32, searched: u32, limit_s: Option<f64>) -> Budget {
        Budget { begun: Instant::now(), args_drawn: drawn, args_searched: searched, limit_s }
    }

    #[test]
    fn a_number_of_loads_is_drawn_and_then_searched_exactly() {
        let all = batches(&budget(40, 10, None));
        assert_eq!(all, [Batch::Draw(16), Batch::Draw(16), Batch::Draw(8), Batch::Search(10)]);
        assert_eq!(batches(&budget(1, 0, None)), [Batch::Draw(1)]);
    }

    #[test]
    fn a_time_limit_gives_turns_and_at_least_one_batch() {
        let all = batches(&budget(60, 20, Some(75.0)));
        assert_eq!(all.len(), 8);
        assert_eq!(all.iter().filter(|batch| matches!(batch, Batch::Search(_))).count(), 2);
        assert_eq!(batches(&budget(60, 20, Some(0.001))), [Batch::Draw(16)]);
    }
}
