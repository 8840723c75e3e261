//! The keeper of what is frozen, the limit of what is ended, and the worker for what takes time.

use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;

use brisk_core::action::Ends;
use brisk_core::causes::in_one_line;

use super::Actuator;
use crate::keeper::{Keeper, Tended};
use crate::once::stops::Limit;
use crate::worker::Worker;
use crate::{Error, once};

impl Actuator {
    /// Has `keeper` hold each group before it is frozen; without one, a killed brisk leaves frozen groups to the next.
    /// A dry run has none.
    #[must_use]
    pub fn guarded_by(mut self, keeper: Keeper) -> Self {
        self.keeper = (!self.is_dry_run()).then_some(keeper);
        self
    }

    /// The keeper, if there is one.
    #[must_use]
    pub fn keeper(&self) -> Option<&Keeper> {
        self.keeper.as_ref()
    }

    /// Starts the keeper, so that the first freeze does not wait for it.
    ///
    /// # Errors
    /// When it cannot be started: nothing will be frozen until it can.
    pub fn start_keeper(&mut self) -> Result<(), Error> {
        self.keeper.as_mut().map_or(Ok(()), Keeper::start)
    }

    /// Replaces a keeper that has ended, or thaws everything where that fails; to be called when its descriptor is
    /// readable, and otherwise now and then. `None` when all that is frozen is held.
    pub fn tend_keeper(&mut self) -> Option<Tended> {
        let (Some(keeper), Some(journal)) = (&mut self.keeper, &mut self.journal) else { return None };
        let frozen = once::frozen(journal);
        if !keeper.has_died() && (keeper.pid().is_some() || frozen.is_empty()) {
            return None;
        }
        match keeper.replace(&frozen) {
            Ok(()) => Some(Tended::Replaced { pid: keeper.pid().unwrap_or_default(), groups: frozen.len() }),
            Err(error) => {
                keeper.bury();
                let (groups, failed) = once::thaw_all(&self.paths, journal);
                let why = std::iter::once(&error).chain(&failed).map(|error| in_one_line(error)).collect::<Vec<_>>();
                Some(Tended::Thawed { groups, why: why.join("; ") })
            }
        }
    }

    /// Groups that are frozen by this actuator.
    pub fn frozen_groups(&mut self) -> BTreeSet<String> {
        self.journal.as_mut().map(once::frozen_groups).unwrap_or_default()
    }

    /// Has threads do what takes time, page-out, page-in, read-ahead and reclaim: [`Self::perform`] gives `Begun` then,
    /// and [`Self::advance`] the final outcome. `name` is that of the journal. A dry run needs none.
    ///
    /// # Errors
    /// When they cannot be made: the caller waits for such actions as before.
    pub fn start_worker(&mut self, name: &str) -> Result<(), Error> {
        if self.worker.is_none() && !self.is_dry_run() {
            self.worker = Some(Worker::start(name, &self.paths)?);
        }
        Ok(())
    }

    /// Can be read when the worker has ended an action: call [`Self::advance`] then.
    #[must_use]
    pub fn worker_fd(&self) -> Option<BorrowedFd<'_>> {
        self.worker.as_ref().map(Worker::as_fd)
    }

    /// An app returns: what is being written out ends, so that no read of the app waits behind it.
    pub fn app_returns(&self) {
        if let Some(worker) = &self.worker {
            worker.cancel_page_outs();
        }
    }

    /// Another app is in front, or none is: what is read back for one that was left again ends.
    pub fn in_front(&self, group: Option<&str>) {
        if let Some(worker) = &self.worker {
            worker.end_read_backs(group);
        }
    }

    /// Anyone may want the device: what is read to make apps ready ends.
    pub fn end_ready(&self) {
        if let Some(worker) = &self.worker {
            worker.end_ready();
        }
    }

    /// Whether apps are ended, and how many in a minute at most; a change begins a new minute.
    pub fn limit_ends(&mut self, ends: Ends, per_minute_max: u32) {
        self.limit = Limit::new(ends, per_minute_max);
    }

    /// Has the keeper forget what is not frozen any more.
    pub(super) fn release_thawed(&mut self) {
        if let (Some(keeper), Some(journal)) = (&mut self.keeper, &mut self.journal) {
            keeper.keep_only(once::frozen(journal).iter());
        }
    }
}
