//! Order and values of the writes that bring one block queue to its requested settings.
//!
//! Driver tags and scheduler are written first, since they reset the rest; then each other setting gets the first of:
//! its external value, its requested value, its original value. A setting of a scheduler (`nr_requests`, tunables) has
//! an original value only under the original scheduler; under others it is restored to the value that the scheduler
//! starts with. A value that the kernel derives from a requested setting stays as derived.

use std::collections::{BTreeMap, BTreeSet};

use brisk_core::knob::{Knob, QueueSetting};
use brisk_core::outcome::Outcome;

use super::{Actuator, ExternalChange, Fresh, InForce, identity, refused};
use crate::queue::{at_least_min, follows, settle};
use crate::{BlockQueue, Error};

type Outcomes = BTreeMap<QueueSetting, Outcome>;
type Values = BTreeMap<QueueSetting, String>;

impl Actuator {
    /// Gives the outcomes of all requested and of all released settings.
    pub(super) fn apply_queue(&mut self, device: &str, requested: &Values) -> Outcomes {
        let queue = self.queue(device);
        let outcomes = if queue.is_empty() {
            // A loop device keeps its settings for the next file, a reader for the next card.
            self.journal.as_mut().map_or(Ok(()), |journal| journal.restore_device(&queue)).map(|()| Outcomes::new())
        } else if queue.exists() {
            let now = identity(&queue);
            match self.identities.get(device) {
                // Another file behind the same queue: its settings are still ours, unless they were changed externally.
                Some(then) if *then != now && then.0.is_some() && then.0 == now.0 => {
                    self.forget_in_force(device);
                    if let Some(journal) = &mut self.journal {
                        journal.vouch_for(&queue);
                        journal.forget_driver_tags(&queue);
                    }
                }
                Some(then) if *then != now => self.forget(device, &queue),
                _ => {}
            }
            self.identities.insert(device.to_owned(), now);
            self.notice(device, &queue);
            self.reach(device, &queue, requested)
        } else {
            Ok(Outcomes::new())
        };
        if !queue.exists() || queue.is_empty() {
            self.forget(device, &queue);
            return requested.keys().map(|setting| (setting.clone(), Outcome::Gone)).collect();
        }
        // The journal could not be written, so nothing more was done.
        outcomes.unwrap_or_else(|error| requested.keys().map(|setting| (setting.clone(), refused(&error))).collect())
    }

    fn forget_in_force(&mut self, device: &str) {
        let other = |knob: &Knob| knob.device() != Some(device);
        self.in_force.retain(|knob, _| other(knob));
        self.changed_externally.retain(|knob, _| other(knob));
        self.fresh.remove(device);
        self.identities.remove(device);
    }

    pub(super) fn forget(&mut self, device: &str, queue: &BlockQueue) {
        self.forget_in_force(device);
        if let Some(journal) = self.journal.as_mut().filter(|_| !queue.is_empty()) {
            // A journal that names a device which is gone does no harm: undo passes over it.
            let _ = journal.forget(queue);
        }
    }

    /// Finds settings that were changed externally.
    pub(super) fn notice(&mut self, device: &str, queue: &BlockQueue) {
        let Some(journal) = &self.journal else { return };
        let mut written: Values =
            journal.entries(queue).filter_map(|entry| Some((entry.setting.clone(), entry.ours.clone()?))).collect();
        for (knob, in_force) in &self.in_force {
            if let Some((_, setting)) = knob.queue_setting().filter(|(of, _)| *of == device) {
                written.insert(setting.clone(), in_force.value.clone());
            }
        }
        written.remove(&QueueSetting::DriverTags);
        for (setting, written) in written {
            let Ok(found) = queue.get(&setting) else { continue };
            let knob = Knob::queue(device, setting);
            match self.changed_externally.get_mut(&knob) {
                Some(change) => change.found = found,
                None if found != written => {
                    self.changed_externally.insert(knob, ExternalChange { written, found, reported: false });
                }
                None => {}
            }
        }
    }

    fn reach(&mut self, device: &str, queue: &BlockQueue, requested: &Values) -> Result<Outcomes, Error> {
        let mut outcomes = Outcomes::new();
        let external: Values = self.external_of(device);
        let in_force: BTreeMap<QueueSetting, InForce> = self.in_force_of(device);
        let mut requested = requested.clone();
        requested.retain(|setting, _| match external.get(setting) {
            Some(found) => {
                outcomes.insert(setting.clone(), Outcome::Left { found: found.clone() });
                false
            }
            None => true,
        });
        let roots = self.roots(queue, &mut requested, &external, &mut outcomes);
        let before: Values =
            requested.keys().filter_map(|setting| Some((setting.clone(), queue.get(setting).ok()?))).collect();
        // Also what is requested to be something that cannot be.
        let released: BTreeSet<&QueueSetting> =
            in_force.keys().filter(|setting| !requested.contains_key(*setting)).collect();
        if self.journal.is_none() {
            plan(queue, &requested, &roots, &mut outcomes);
            return Ok(outcomes);
        }
        let mut results: BTreeMap<QueueSetting, Result<String, Error>> = BTreeMap::new();
        self.write_roots(device, queue, &roots, &mut results)?;
        self.write_rest(device, queue, &requested, &external, &roots, &in_force, &mut results)?;

        for (setting, value) in &requested {
            let from = match setting {
                QueueSetting::DriverTags => roots.tags_now.clone(),
                _ => before.get(setting).cloned(),
            };
            let outcome = match results.remove(setting) {
                Some(Ok(to)) => {
                    let knob = Knob::queue(device, setting.clone());
                    self.in_force.insert(knob, InForce { requested: value.clone(), value: to.clone() });
                    match from {
                        Some(from) if from == to => Outcome::Unchanged,
                        from => Outcome::Written { from: from.unwrap_or_default(), to },
                    }
                }
                Some(Err(error)) => refused(&error),
                // Nothing was tried because it could not be read.
                None => queue.get(setting).err().map_or(Outcome::Unchanged, |error| refused(&error)),
            };
            if matches!(outcome, Outcome::Refused { .. } | Outcome::Pending { .. }) {
                self.in_force.remove(&Knob::queue(device, setting.clone()));
            }
            outcomes.insert(setting.clone(), outcome);
        }
        for setting in released {
            self.in_force.remove(&Knob::queue(device, setting.clone()));
            let outcome = match results.remove(setting) {
                _ if external.contains_key(setting) => None,
                // The scheduler of this setting was removed.
                Some(Err(Error::NotInForce { .. })) => None,
                Some(Err(error)) => Some(refused(&error)),
                Some(Ok(to)) if in_force.get(setting).is_some_and(|in_force| in_force.value != to) => {
                    Some(Outcome::Restored { to })
                }
                _ => None,
            };
            if let Some(outcome) = outcome {
                outcomes.entry(setting.clone()).or_insert(outcome);
            }
        }
        self.close(device, queue)?;
        Ok(outcomes)
    }

    /// Requested scheduler and driver tags. Removes impossible values from `requested`.
    fn roots(&self, queue: &BlockQueue, requested: &mut Values, external: &Values, outcomes: &mut Outcomes) -> Roots {
        let original = |setting: &QueueSetting| {
            self.journal.as_ref().and_then(|journal| journal.entry(queue, setting)).map(|entry| entry.original.clone())
        };
        let scheduler_now = queue.scheduler().ok();
        let scheduler = match external.get(&QueueSetting::Scheduler) {
            Some(_) => scheduler_now.clone(),
            None => requested
                .get(&QueueSetting::Scheduler)
                .cloned()
                .or_else(|| original(&QueueSetting::Scheduler))
                .or_else(|| scheduler_now.clone()),
        };
        let under_none = scheduler.as_deref() == Some("none");
        let tags_now = self.driver_tags_now(queue);
        let mut tags = original(&QueueSetting::DriverTags);
        // Under `none`, `nr_requests` is the driver tags by another name.
        let mut names = vec![QueueSetting::DriverTags];
        names.extend(under_none.then_some(QueueSetting::NrRequests));
        let mut chosen: Option<String> = None;
        for name in names {
            let Some(value) = requested.get(&name).cloned() else { continue };
            let valid = match &chosen {
                Some(tags) => match number(&value) {
                    Ok(number) if at_least_min(number).to_string() == *tags => Ok(tags.clone()),
                    _ => Err(Error::SetByDriverTags { tags: tags.clone() }),
                },
                None => number(&value).and_then(|number| checked_tags(queue, number)).map(|tags| tags.to_string()),
            };
            match valid {
                Ok(tags) => chosen = Some(tags),
                Err(error) => {
                    requested.remove(&name);
                    outcomes.insert(name, refused(&error));
                }
            }
        }
        if chosen.is_some() {
            tags = chosen;
        }
        Roots { tags_now, tags, scheduler_now, scheduler, under_none }
    }

    /// Requests that the driver accepts now, as far as the journal or the queue shows.
    fn driver_tags_now(&self, queue: &BlockQueue) -> Option<String> {
        let journal = self.journal.as_ref();
        let written = journal.and_then(|journal| journal.entry(queue, &QueueSetting::DriverTags));
        match written {
            Some(entry) => entry.ours.clone(),
            None => journal
                .and_then(|journal| journal.driver_tags_of_others(queue))
                .or_else(|| queue.driver_tags_shown().ok().map(|tags| tags.to_string())),
        }
    }

    fn write_roots(
        &mut self,
        device: &str,
        queue: &BlockQueue,
        roots: &Roots,
        results: &mut BTreeMap<QueueSetting, Result<String, Error>>,
    ) -> Result<(), Error> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let mut goals: Vec<(QueueSetting, String)> = Vec::new();
        if let (Some(tags), true) = (&roots.tags, roots.tags != roots.tags_now) {
            goals.push((QueueSetting::DriverTags, tags.clone()));
        }
        if let (Some(scheduler), true) = (&roots.scheduler, !goals.is_empty() || roots.scheduler != roots.scheduler_now)
        {
            goals.push((QueueSetting::Scheduler, scheduler.clone()));
        }
        if let Some((first, _)) = goals.first() {
            journal.begin(queue, &queue.disturbed_by(first))?;
            let settled = settle(queue, &goals);
            for ((setting, _), found) in goals.into_iter().zip(settled) {
                if setting == QueueSetting::DriverTags {
                    let tags = match &found {
                        Ok(tags) => Some(tags),
                        Err(Error::TagsKept(_)) => roots.tags_now.as_ref(),
                        Err(_) => None,
                    };
                    journal.note_driver_tags(queue, tags.and_then(|tags| tags.parse().ok()))?;
                }
                results.insert(setting, found);
            }
            self.fresh.insert(device.to_owned(), Fresh { nr_requests: queue.get(&QueueSetting::NrRequests).ok() });
        }
        if let (None, Some(tags)) = (results.get(&QueueSetting::DriverTags), &roots.tags) {
            results.insert(QueueSetting::DriverTags, Ok(tags.clone()));
        }
        results.entry(QueueSetting::Scheduler).or_insert_with(|| queue.scheduler());
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "one step of `reach`, whose values these are")]
    fn write_rest(
        &mut self,
        device: &str,
        queue: &BlockQueue,
        requested: &Values,
        external: &Values,
        roots: &Roots,
        in_force: &BTreeMap<QueueSetting, InForce>,
        results: &mut BTreeMap<QueueSetting, Result<String, Error>>,
    ) -> Result<(), Error> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let scheduler = queue.scheduler().ok();
        let first = journal.entry(queue, &QueueSetting::Scheduler).map(|entry| &entry.original).or(scheduler.as_ref());
        let at_home = first == scheduler.as_ref();
        let is_none = scheduler.as_deref() == Some("none");
        let tags_rule = is_none && roots.tags.is_some();
        let journaled: Values =
            journal.entries(queue).map(|entry| (entry.setting.clone(), entry.original.clone())).collect();
        let all: BTreeSet<&QueueSetting> = requested.keys().chain(external.keys()).chain(journaled.keys()).collect();
        let mut goals: Vec<(QueueSetting, String)> = Vec::new();
        for setting in all {
            let now = queue.get(setting);
            let goal = match setting {
                QueueSetting::DriverTags | QueueSetting::Scheduler => continue,
                // Meant for a scheduler that was refused: here it would resize the driver tags.
                QueueSetting::NrRequests if is_none && !roots.under_none => {
                    let (scheduler, in_force) = (roots.scheduler.clone().unwrap_or_default(), "none".to_owned());
                    let error = Error::NotInForce { scheduler, in_force, name: setting.to_string() };
                    results.insert(setting.clone(), Err(error));
                    continue;
                }
                QueueSetting::NrRequests if tags_rule => {
                    // It is what the tags are.
                    let refused = matches!(results.get(&QueueSetting::DriverTags), Some(Err(_)));
                    let refusal = (refused && !requested.contains_key(&QueueSetting::DriverTags))
                        .then(|| results.remove(&QueueSetting::DriverTags));
                    results.insert(setting.clone(), refusal.flatten().unwrap_or(now));
                    continue;
                }
                _ => match (external.get(setting), requested.get(setting), journaled.get(setting), &now) {
                    (Some(found), ..) => found,
                    (_, Some(value), ..) => match in_force.get(setting) {
                        // The kernel had made something else of it, and that is in force.
                        Some(in_force)
                            if in_force.requested == *value && now.as_ref().is_ok_and(|now| *now == in_force.value) =>
                        {
                            &in_force.value
                        }
                        _ => value,
                    },
                    (.., Some(_), _)
                        if !in_force.contains_key(setting) && requested.keys().any(|w| follows(setting, w)) =>
                    {
                        continue;
                    }
                    // The scheduler in force does without.
                    (.., Some(_), Ok(now)) if *setting == QueueSetting::WbtLatUsec && !at_home && now == "0" => {
                        continue;
                    }
                    (.., Some(original), _) if *setting == QueueSetting::NrRequests && !at_home => {
                        self.fresh.get(device).and_then(|fresh| fresh.nr_requests.as_ref()).unwrap_or(original)
                    }
                    (.., Some(original), _) => original,
                    (.., None, _) => continue,
                },
            };
            match now {
                Ok(now) if now == *goal => {
                    results.insert(setting.clone(), Ok(now));
                    // Others may disturb it.
                    goals.push((setting.clone(), goal.clone()));
                }
                Ok(_) => goals.push((setting.clone(), goal.clone())),
                Err(error) => {
                    results.insert(setting.clone(), Err(error));
                }
            }
        }
        let changes = |(setting, value): &&(QueueSetting, String)| queue.get(setting).is_ok_and(|now| now != *value);
        let changing: BTreeSet<QueueSetting> =
            goals.iter().filter(changes).flat_map(|(setting, _)| queue.disturbed_by(setting)).collect();
        if changing.is_empty() {
            return Ok(());
        }
        // A setting that is disturbed and not named stays as it is, unless it follows from a named one.
        for setting in &changing {
            let named = goals.iter().any(|(goal, _)| goal == setting);
            let follows = requested.keys().any(|cause| follows(setting, cause));
            if let (false, false, Ok(now)) = (named, follows, queue.get(setting)) {
                goals.push((setting.clone(), now));
            }
        }
        goals.sort();
        journal.begin(queue, &changing.into_iter().collect::<Vec<_>>())?;
        let settled = settle(queue, &goals);
        results.extend(goals.into_iter().map(|(setting, _)| setting).zip(settled));
        Ok(())
    }

    /// Journals the values in force, and drops entries of settings that have their original value.
    fn close(&mut self, device: &str, queue: &BlockQueue) -> Result<(), Error> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        if journal.entries(queue).next().is_none() {
            return Ok(());
        }
        journal.note(queue);
        let in_force = |setting: &QueueSetting| self.in_force.contains_key(&Knob::queue(device, setting.clone()));
        journal.prune(queue, in_force);
        journal.save()
    }

    fn external_of(&self, device: &str) -> Values {
        let of = |(knob, change): (&Knob, &ExternalChange)| {
            let (_, setting) = knob.queue_setting().filter(|(of, _)| *of == device)?;
            Some((setting.clone(), change.found.clone()))
        };
        self.changed_externally.iter().filter_map(of).collect()
    }

    fn in_force_of(&self, device: &str) -> BTreeMap<QueueSetting, InForce> {
        let of = |(knob, in_force): (&Knob, &InForce)| {
            let (_, setting) = knob.queue_setting().filter(|(of, _)| *of == device)?;
            Some((setting.clone(), in_force.clone()))
        };
        self.in_force.iter().filter_map(of).collect()
    }
}

/// The settings that reset the rest: their present and their requested values. `None` where unknown or not requested.
struct Roots {
    tags_now: Option<String>,
    tags: Option<String>,
    scheduler_now: Option<String>,
    scheduler: Option<String>,
    under_none: bool,
}

/// The outcomes of a dry run.
fn plan(queue: &BlockQueue, requested: &Values, roots: &Roots, outcomes: &mut Outcomes) {
    for (setting, value) in requested {
        let coming = |scheduler: &String| roots.scheduler.as_ref() == Some(scheduler);
        let from = match setting {
            QueueSetting::DriverTags => Ok(roots.tags_now.clone()),
            QueueSetting::Scheduler => queue.schedulers().and_then(|offered| {
                let in_force = queue.scheduler()?;
                if offered.contains(value) {
                    Ok(Some(in_force))
                } else {
                    Err(Error::NoScheduler { name: value.clone(), offered })
                }
            }),
            QueueSetting::NrRequests if roots.under_none => {
                queue.get(setting).map(|now| (roots.scheduler_now == roots.scheduler).then_some(now))
            }
            QueueSetting::Tunable { scheduler, .. } if coming(scheduler) && roots.scheduler != roots.scheduler_now => {
                Ok(None)
            }
            _ => queue.get(setting).map(Some),
        };
        let outcome = match from {
            Ok(from) if from.as_ref() == Some(value) => Outcome::Unchanged,
            Ok(from) => Outcome::Planned { from, to: Some(value.clone()) },
            Err(error) => refused(&error),
        };
        outcomes.insert(setting.clone(), outcome);
    }
}

fn number(value: &str) -> Result<u32, Error> {
    value.parse().map_err(|_| Error::NotANumber { value: value.to_owned() })
}

/// The number of driver tags that the kernel would set, if it accepts the number and the original can be restored.
fn checked_tags(queue: &BlockQueue, requested_requests: u32) -> Result<u32, Error> {
    match queue.driver_tags_full() {
        Ok(full_requests) if requested_requests > full_requests => {
            Err(Error::TooManyTags { requested_requests, full_requests })
        }
        Err(_) => queue.driver_tags_shown().map(|_| at_least_min(requested_requests)),
        Ok(_) => Ok(at_least_min(requested_requests)),
    }
}
