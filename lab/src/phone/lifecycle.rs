//! The phones of this machine: create, find, take down, repair.

use std::fs::File;
use std::sync::atomic::AtomicBool;

use brisk_core::causes::in_one_line;
use brisk_sense::Sense;

use crate::phone::error::{Error, Result, io as failed};
use crate::phone::phones::{Condition, NewPhone, Phones};
use crate::phone::running::Phone;
use crate::phone::state::{Record, SCHEMA_VERSION, StateDir};
use crate::phone::teardown;
use crate::phone::variant::Variant;

impl Phones {
    /// Creates a phone. Returns messages on leftovers that were removed.
    ///
    /// # Errors
    /// When a check fails, a part cannot be created, or `stop` is set; the phone is then removed.
    pub fn up(
        &self,
        new: &NewPhone,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Phone, Vec<String>)> {
        self.check(new)?;
        let repaired = self.repair()?;
        brisk_act::make_run_dir(&self.run_dir).map_err(failed(format!("make {}", self.run_dir.display())))?;
        let (dir, lock) = StateDir::create(&self.run_dir)?;
        let record = Record {
            schema_version: SCHEMA_VERSION,
            image: new.image.clone(),
            apps: new.apps.clone(),
            preset: new.preset.clone(),
            size_bytes: new.size_bytes,
            mark: fresh_mark(),
            device: None,
            group: None,
            memory: None,
            buses: Vec::new(),
            variant: Variant::Baseline,
            keep: new.keep,
            ready: false,
        };
        let mut phone = Phone::unfinished(self.clone(), dir, record, Some(lock));
        phone.make(new, stop, progress)?;
        if new.keep {
            phone.keep();
        }
        Ok((phone, repaired))
    }

    /// Finds a phone by number; without one, the only phone.
    ///
    /// # Errors
    /// When there is none, more than one, or it is unusable.
    pub fn find(&self, id: Option<&str>) -> Result<Phone> {
        let dir = self.dir(id)?;
        let record = dir.load();
        if let Some(trouble) = self.condition(&dir, record.as_ref())?.trouble() {
            return Err(Error::Trouble { id: dir.id, trouble });
        }
        let record = record.ok_or_else(|| Error::NoSuchPhone(dir.id.to_string()))?;
        Ok(Phone::unfinished(self.clone(), dir, record, None))
    }

    /// Takes a phone down: ends its processes, unmounts, removes its flash. Returns messages on obstacles.
    ///
    /// # Errors
    /// When there is none, processes outside use its files and `force` is not set, or a part cannot be removed.
    pub fn down(&self, id: &str, force: bool) -> Result<Vec<String>> {
        teardown::take_down(self, &self.dir(Some(id))?, force)
    }

    /// Takes down unusable phones: incomplete, without their owner, without their flash.
    ///
    /// # Errors
    /// When one cannot be stopped.
    pub fn repair(&self) -> Result<Vec<String>> {
        let mut words = Vec::new();
        for dir in StateDir::all(&self.run_dir)? {
            if let Condition::Broken(trouble) = self.condition(&dir, dir.load().as_ref())? {
                words.push(format!("phone {} was removed: {trouble}", dir.id));
                match teardown::take_down(self, &dir, true) {
                    // Nothing is left that a repetition could remove.
                    Err(stays @ Error::SwapStays { .. }) => words.push(in_one_line(&stays)),
                    done => words.extend(done?),
                }
            }
        }
        words.extend(self.lab.repair(&mut |_: &str| {})?.leftovers);
        // Groups of apps, frozen ones among them, of killed processes; without groups there are none.
        let ended = crate::launch::scope::end_leftovers(&Sense::default()).unwrap_or_default();
        words.extend(ended.iter().map(|name| format!("the group {name} of a killed launch was removed")));
        Ok(words)
    }
}

/// A unique number of a phone.
fn fresh_mark() -> u64 {
    let mut bytes = [0; 8];
    // Linux fills a buffer of this size completely once its generator is initialised.
    let filled = File::open("/dev/urandom").and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes));
    match filled {
        Ok(()) => u64::from_ne_bytes(bytes),
        Err(_) => {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
            u64::from(std::process::id()) << 32 | now.tv_nsec.unsigned_abs()
        }
    }
}
