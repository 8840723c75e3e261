//! User-perceived latency: the time from each input to the next stable state of the screen (user-perceived latency
//! paper, section 2).
//!
//! The app is launched once for each repetition, without measuring its launch. Each step of a script starts when the
//! previous one has been answered.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::results::{Ending, HciLimit, LatencyRun, LatencyStep, RuntimeDelay, Split, Warning};
use crate::screen::{Input, Rect, Screen};
use brisk_core::stats::Summary;

use crate::launch::app::App;
use crate::launch::clock::now_ns;
use crate::launch::compare::Progress;
use crate::launch::error::{Error, Result};
use crate::launch::launcher::{Launcher, Running};
use crate::launch::monkey;
use crate::launch::observation::Observation;
use crate::launch::script::{Action, Script};
use crate::launch::series::median_split;
use crate::launch::view::View;
use crate::launch::watch::Watch;

/// Interval between two events of the monkey; the queue of a slow app grows.
const MONKEY_PACE_NS: u64 = 20_000_000;

/// Result of a script or a monkey.
#[derive(Debug, Clone)]
pub struct Answers {
    /// Measured steps, in order.
    pub steps: Vec<LatencyStep>,
    /// Result of a monkey.
    pub runtime_delay: Option<RuntimeDelay>,
    /// Warnings, one of each kind.
    pub warnings: Vec<Warning>,
}

impl Launcher<'_> {
    /// Runs `script` `rounds` times, each time in a newly launched `app`; drops all caches before, if the settings
    /// require it.
    ///
    /// # Errors
    /// When the app cannot be started, ends or shows no window, an assertion fails, or the display is lost.
    pub fn follow(
        &self,
        app: &App,
        script: &Script,
        rounds: usize,
        screen: &mut dyn Screen,
        progress: Progress<'_>,
    ) -> Result<Answers> {
        let mut found: Vec<Vec<LatencyRun>> = Vec::new();
        let mut warnings = Vec::new();
        let all = rounds * script.steps.len();
        for round in 0..rounds {
            let mut open = self.open(app, script.window.as_deref(), screen)?;
            let mut seen = Vec::new();
            for (number, step) in script.steps.iter().enumerate() {
                let name = step.name.clone().unwrap_or_else(|| step.action.words());
                progress(round * script.steps.len() + number, all, &name);
                match &step.action {
                    Action::AssertWindow(text) => open.assert_window(text, true)?,
                    Action::AssertNoWindow(text) => open.assert_window(text, false)?,
                    Action::WaitSettled => {
                        self.answer(&mut open, &[])?;
                    }
                    action => {
                        let inputs = open.inputs(action)?;
                        let watch = self.answer(&mut open, &inputs)?;
                        if step.measure {
                            seen.push(watch);
                        }
                    }
                }
            }
            let runs = self.close(open, seen, &mut warnings)?;
            found.push(runs);
        }
        let measured = script.steps.iter().filter(|step| step.measure && step.action.is_input());
        let steps = measured.enumerate().map(|(number, step)| {
            let runs: Vec<LatencyRun> = found.iter().filter_map(|round| round.get(number).cloned()).collect();
            let input = step.action.words();
            summarise(step.name.clone().unwrap_or_else(|| input.clone()), input, runs)
        });
        Ok(Answers { steps: steps.collect(), runtime_delay: None, warnings })
    }

    /// Sends `events` pseudo-random events of `seed` to a newly launched `app`, `rounds` times.
    ///
    /// # Errors
    /// As [`Launcher::follow`].
    pub fn monkey(
        &self,
        app: &App,
        (seed, events): (u64, u64),
        rounds: usize,
        screen: &mut dyn Screen,
        progress: Progress<'_>,
    ) -> Result<Answers> {
        let mut runs = Vec::new();
        let mut warnings = Vec::new();
        for round in 0..rounds {
            progress(round, rounds, "pseudo-random events");
            let mut open = self.open(app, None, screen)?;
            let inputs = monkey::events(seed, events, open.rect()?);
            let watch = self.stream(&mut open, &inputs)?;
            runs.extend(self.close(open, vec![watch], &mut warnings)?);
        }
        let times: Vec<f64> = runs.iter().map(|run| run.latency_ms).collect();
        let splits: Vec<&Split> = runs.iter().filter_map(|run| run.split.as_ref()).collect();
        let runtime_delay =
            Summary::of(&times).map(|total_ms| RuntimeDelay { events, seed, total_ms, split: median_split(&splits) });
        Ok(Answers { steps: Vec::new(), runtime_delay, warnings })
    }

    /// Launches the app and waits until it is settled.
    fn open<'s>(&self, app: &App, wanted: Option<&str>, screen: &'s mut dyn Screen) -> Result<Open<'s>> {
        if self.settings.drop_caches {
            self.evict(&BTreeSet::new())?;
        }
        let mut view = View::open(screen)?;
        let mut running = self.start(app)?;
        let mut watch = Watch::begin(self.subject(&running), running.begin_ns, false)?;
        let ending = watch.until_over(Some(&mut view), Some(&mut running.child), running.trace.as_ref())?;
        let failed = |reason: String| Error::Program { program: app.id.clone(), reason };
        match ending {
            Ending::Settled | Ending::StillWorking | Ending::Animating => {}
            Ending::Exited { .. } => {
                let printed = running.printed();
                return Err(failed(format!("it ended before the first input{}", quoted(&printed))));
            }
            Ending::DisplayLost => {
                return Err(Error::Screen(crate::screen::Error::Lost { display: view.display().to_owned() }));
            }
            Ending::NoWindow | Ending::Headless => return Err(failed("it shows no window".to_owned())),
        }
        let mut open = Open { view, running };
        if let Some(wanted) = wanted {
            open.assert_window(wanted, true)?;
        }
        Ok(open)
    }

    /// Sends `inputs` and watches until the screen is stable.
    fn answer(&self, open: &mut Open<'_>, inputs: &[Input]) -> Result<Answer> {
        let mut begin_ns = None;
        for input in inputs {
            let sent_ns = open.view.send(input)?;
            // Moving the pointer to the place is not yet the input, unless it is the only one.
            if !matches!(input, Input::Move { .. }) {
                begin_ns.get_or_insert(sent_ns);
            }
        }
        self.watch(open, begin_ns.unwrap_or_else(now_ns))
    }

    /// Sends a stream of events at its pace and watches until the last is answered.
    fn stream(&self, open: &mut Open<'_>, events: &[Vec<Input>]) -> Result<Answer> {
        let begin_ns = now_ns();
        for (number, event) in events.iter().enumerate() {
            if self.stop.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            crate::launch::clock::wait_until(begin_ns + number as u64 * MONKEY_PACE_NS);
            for input in event {
                open.view.send(input)?;
            }
        }
        self.watch(open, begin_ns)
    }

    fn watch(&self, open: &mut Open<'_>, begin_ns: u64) -> Result<Answer> {
        let Open { view, running } = open;
        let mut watch = Watch::begin(self.subject(running), begin_ns, true)?;
        let ending = {
            let Running { child, trace, .. } = running;
            watch.until_over(Some(&mut *view), Some(child), trace.as_ref())?
        };
        Ok(watch.finish(ending, None, view.tiles(), None, 0))
    }

    /// Ends the app, and evaluates the observations.
    fn close(&self, mut open: Open<'_>, seen: Vec<Answer>, warnings: &mut Vec<Warning>) -> Result<Vec<LatencyRun>> {
        let (traced, _) = self.traced(&mut open.running);
        open.running.scope.close()?;
        let _ = open.running.child.wait();
        let method = self.method(&open.running);
        for warning in open.running.warnings {
            if warnings.iter().all(|known: &Warning| known.code != warning.code) {
                warnings.push(warning);
            }
        }
        let judged = seen.into_iter().map(|answer| Observation { traced: traced.as_ref().map(Arc::clone), ..answer });
        Ok(judged.map(|answer| answer.latency_run(method)).collect())
    }
}

/// An answer; the kernel's events are recorded for the whole repetition instead.
type Answer = Observation;

/// A running app and its screen.
struct Open<'s> {
    view: View<'s>,
    running: Running,
}

impl Open<'_> {
    /// Place of the newest window; the whole screen when the display does not report it.
    fn rect(&mut self) -> Result<Rect> {
        let (width, height) = self.view.size();
        let newest = self.view.newest_window().map(|window| window.id);
        // Queried again: the window may have been moved or resized.
        let found = self.view.all_windows()?.into_iter().find(|window| Some(window.id) == newest);
        Ok(found.and_then(|window| window.rect).unwrap_or(Rect { x: 0, y: 0, width, height }))
    }

    /// Fails unless a window contains `text`, or none does, as `wanted` says.
    fn assert_window(&mut self, text: &str, wanted: bool) -> Result<()> {
        let windows = self.view.all_windows()?;
        let text = text.to_lowercase();
        let holds = |of: &str| of.to_lowercase().contains(&text);
        if windows.iter().any(|window| holds(&window.title) || holds(&window.app_id)) == wanted {
            return Ok(());
        }
        let titles: Vec<String> = windows.iter().map(|window| format!("\"{}\"", window.title.escape_debug())).collect();
        let there =
            if titles.is_empty() { "there is none".to_owned() } else { format!("there are {}", titles.join(", ")) };
        let which = if wanted { "no" } else { "a" };
        Err(Error::Script {
            place: "the script".to_owned(),
            reason: format!("{which} window holds \"{text}\": {there}"),
        })
    }

    fn inputs(&mut self, action: &Action) -> Result<Vec<Input>> {
        let rect = self.rect()?;
        let to = |(x, y): (f64, f64)| Input::Move {
            x: rect.x + (f64::from(rect.width) * x) as i32,
            y: rect.y + (f64::from(rect.height) * y) as i32,
        };
        Ok(match action {
            Action::Key(key) => vec![Input::Key(key.clone())],
            Action::Text(text) => vec![Input::Text(text.clone())],
            Action::Click(click) => vec![to(click.at), Input::Click { button: click.button }],
            Action::Scroll(clicks) => vec![to((0.5, 0.5)), Input::Scroll { clicks: *clicks }],
            Action::WaitSettled | Action::AssertWindow(_) | Action::AssertNoWindow(_) => Vec::new(),
        })
    }
}

fn quoted(printed: &str) -> String {
    let last: Vec<&str> = printed.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
    if last.is_empty() {
        String::new()
    } else {
        format!("; it said: {}", last.into_iter().rev().collect::<Vec<_>>().join(" / "))
    }
}

/// Summary of the repetitions of one step.
pub(crate) fn summarise(name: String, input: String, runs: Vec<LatencyRun>) -> LatencyStep {
    let times: Vec<f64> =
        runs.iter().filter(|run| run.ending != Ending::DisplayLost).map(|run| run.latency_ms).collect();
    let latency_ms = Summary::of(&times);
    let splits: Vec<&Split> = runs.iter().filter_map(|run| run.split.as_ref()).collect();
    LatencyStep {
        name,
        input,
        split: median_split(&splits),
        limit: latency_ms.map(|summary| HciLimit::of_ms(summary.median)),
        latency_ms,
        runs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_classed_by_its_median() {
        let run = |latency_ms| LatencyRun {
            ending: Ending::Settled,
            first_change_ms: Some(1.0),
            latency_ms,
            split: None,
            storage: None,
        };
        let step = summarise("a".to_owned(), "key a".to_owned(), vec![run(90.0), run(110.0), run(1_200.0)]);
        assert_eq!((step.latency_ms.map(|s| s.median), step.limit), (Some(110.0), Some(HciLimit::Flow)));
        assert_eq!(summarise(String::new(), String::new(), Vec::new()).limit, None);
    }

    #[test]
    fn the_last_output_of_an_app_is_quoted() {
        assert_eq!(quoted("\n \n"), "");
        assert_eq!(quoted("a\nb\n\nc\nd\n"), "; it said: b / c / d");
    }
}
