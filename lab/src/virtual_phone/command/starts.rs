//! Starts of phones that are compared: without brisk and with it, with different seeds, side by side.

use std::sync::atomic::{AtomicUsize, Ordering};

use brisk_command::session::Session;
use serde_json::{Map, Value, json};

use super::arguments::{Compared, Phone};
use super::{Ready, ready};
use crate::virtual_phone::image::Images;
use crate::virtual_phone::measure::{self, Brisk, Conditions};
use crate::virtual_phone::plan::{Surroundings, Task};
use crate::virtual_phone::port::{Output, Port};
use crate::vm::sources::Source;
use crate::vm::{Error, Watch, worker_pool};

/// Reads what a task printed; `None` for one that does not count, or else why it is of no use.
type Read<'a, T> = &'a (dyn Fn(&Output) -> Result<Option<T>, String> + Sync);

/// What a start is to do and to say.
pub(super) struct Study<'a, T> {
    /// Of the command, for the names of logs.
    pub(super) name: &'a str,
    pub(super) phone: &'a Phone,
    pub(super) compared: &'a Compared,
    pub(super) around: Surroundings,
    pub(super) tasks: &'a (dyn Fn(&Brisk, u64) -> Vec<Task> + Sync),
    pub(super) read: Read<'a, T>,
}

/// A start of a phone, and what it measured.
#[derive(Debug, serde::Serialize)]
pub(super) struct Start<T> {
    pub(super) brisk: String,
    seed: u64,
    /// What the phone told about itself at its end.
    facts: Map<String, Value>,
    pub(super) results: Vec<T>,
    /// What `brisk trial --json` told at its end.
    trials: Option<Value>,
}

/// All starts, and the facts that they share.
type Measured<T> = (Vec<Start<T>>, Map<String, Value>);

/// The task that tells what brisk's trials have found.
const TRIALS: &str = "trials";

impl<T: Send> Study<'_, T> {
    /// Starts phones; gives their results, and the facts that they share.
    pub(super) fn measure(&self, source: &Source, session: &Session) -> anyhow::Result<Measured<T>> {
        let (phone, compared) = (self.phone, self.compared);
        let flash = phone.flash(&source.path("kernel/scenarios/devices"))?;
        let Ready { kernel, made } = ready(source, session, &phone.image)?;
        let images = Images { source, architecture: phone.image.arch, kernel: &kernel };
        let seeds = (0..u64::from(compared.seeds)).map(|n| compared.seed + n);
        let starts: Vec<(u64, &Brisk)> =
            seeds.flat_map(|seed| compared.brisk.iter().map(move |brisk| (seed, brisk))).collect();
        let planned: usize = starts.iter().map(|(seed, brisk)| self.all_tasks(brisk, *seed).len()).sum();
        let begun = AtomicUsize::new(0);
        let stop = session.stop_flag();
        let measured = worker_pool::each(
            &starts,
            crate::study::kernel::machines(compared.jobs),
            |_, &(seed, brisk), tell: &dyn Fn(String)| {
                let conditions = Conditions {
                    flash: flash.clone(),
                    memory_mib: phone.memory_mib(),
                    around: self.around,
                    brisk: brisk.clone(),
                    seed,
                    shift: phone.shift,
                };
                let name = format!("{}-{}-{}-{seed}.log", self.name, phone.image.arch.name(), brisk.name());
                let log = source.phones().join(name);
                let progress = |_: f64, doing: &str| tell(format!("{}, seed {seed}: {doing}", brisk.name()));
                let watch = Watch { stop, progress: &progress };
                let tasks = self.all_tasks(brisk, seed);
                let port = measure::run(&images, &made, &conditions, &tasks, &log, phone.time_limit, watch)?;
                self.start(brisk, seed, port).map_err(|why| Error::Refused { why, log })
            },
            |_, doing| {
                let before = begun.fetch_add(1, Ordering::Relaxed);
                session.show((before as f64 / planned as f64).min(1.0), &doing);
            },
        )?;
        session.clear();
        let Value::Object(facts) = json!({
            "architecture": phone.image.arch,
            "kernel": made.about.kernel,
            "image": made.about.content,
            "preset": flash.preset,
            "changed": flash.changed,
            "memory_mib": phone.memory_mib(),
            "around": self.around,
            "ns_per_instruction": 1_u32 << phone.shift,
        }) else {
            unreachable!("an object is written above");
        };
        Ok((measured, facts))
    }

    fn all_tasks(&self, brisk: &Brisk, seed: u64) -> Vec<Task> {
        let mut tasks = (self.tasks)(brisk, seed);
        if *brisk != Brisk::Off {
            let command = ["brisk", "trial", "--json"].map(str::to_owned).to_vec();
            tasks.push(Task { name: TRIALS.to_owned(), command });
        }
        tasks
    }

    /// The results of a start; or why there are none.
    fn start(&self, brisk: &Brisk, seed: u64, port: Port) -> Result<Start<T>, String> {
        let (mut results, mut trials) = (Vec::new(), None);
        for output in &port.outputs {
            let trouble = |why: String| format!("{} ({:?}): {why} {}", output.name, output.code, output.errors.trim());
            if output.name == TRIALS {
                trials = Some(serde_json::from_str(&output.text).map_err(|error| trouble(error.to_string()))?);
            } else {
                results.extend((self.read)(output).map_err(trouble)?);
            }
        }
        Ok(Start { brisk: brisk.name(), seed, facts: port.facts, results, trials })
    }
}

/// A document's text of T, or why it is none.
pub(super) fn read<T: serde::de::DeserializeOwned>(output: &Output) -> Result<T, String> {
    serde_json::from_str(&output.text).map_err(|error| format!("no document: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_without_a_document_is_a_trouble_that_cites_it() {
        let output =
            Output { name: "evince".to_owned(), code: Some(2), text: String::new(), errors: "no display\n".to_owned() };
        assert!(read::<Value>(&output).is_err());
        let line = crate::virtual_phone::command::launches::tests::args(&[]);
        let study = Study::<Value> {
            name: "launch",
            phone: &line.phone,
            compared: &line.compared,
            around: line.phone.surroundings(None),
            tasks: &|_, _| Vec::new(),
            read: &|output| read(output).map(Some),
        };
        let port = Port { outputs: vec![output], ..Port::default() };
        let why = study.start(&Brisk::Off, 1, port).expect_err("no document");
        assert!(why.contains("evince") && why.contains("no display"), "{why}");
        assert!(study.all_tasks(&Brisk::Off, 1).is_empty(), "nothing is tried");
        assert_eq!(study.all_tasks(&Brisk::Default, 1)[0].name, "trials");
    }
}
