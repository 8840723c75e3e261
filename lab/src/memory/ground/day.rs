//! What a day of use needs of the ground: a beginning without apps, and steps with device time on throughout.

use std::time::Duration;

use crate::phone::App;
use crate::results::{AppVisit, EndedApp, EndedBy};

use super::Ground;
use crate::memory::error::Result;
use crate::memory::policy::Policy;

impl Ground<'_> {
    /// Begins anew under `policy`: no app runs, the page cache has no file of apps that ran, swap areas are empty, and
    /// the limit is whole. Device time is off meanwhile, and on from then on.
    ///
    /// # Errors
    /// As [`Ground::apply`], and when an app does not end.
    pub fn begin_anew(&mut self, policy: &'static Policy) -> Result<()> {
        self.watch = None;
        self.empty();
        self.phone.set_timed(false)?;
        self.close_all()?;
        for name in self.turns.keys() {
            self.group.child(name)?.reclaim_all()?;
        }
        // Areas are made anew: slots of an earlier run would place the pages of this one.
        self.phone.change_swap(policy.swap)?;
        self.apply(policy)?;
        self.ended.clear();
        self.phone.set_timed(true)?;
        Ok(())
    }

    /// Goes to `app` as [`Ground::go_to`], without a change of device time.
    ///
    /// # Errors
    /// As [`Ground::go_to`].
    pub fn switch_to(&mut self, app: &App) -> Result<AppVisit> {
        // What is compressed grows all day; where it cannot be deducted now, it is at the next switch.
        let _ = self.charge();
        self.visit(app, 0)
    }

    /// Name of the display that apps are watched on.
    #[must_use]
    pub fn display(&self) -> &str {
        self.screen.display()
    }

    /// Leaves the app in front alone for `time`; gives the apps that were ended meanwhile.
    ///
    /// # Errors
    /// When the user stops.
    pub fn stay(&mut self, time: Duration) -> Result<Vec<EndedApp>> {
        self.wait(time)?;
        self.reap()?;
        Ok(std::mem::take(&mut self.ended))
    }

    /// Processes of `app` that the kernel has ended so far since memory had run out.
    ///
    /// # Errors
    /// When the kernel's file cannot be read.
    pub fn oom_kills(&self, app: &str) -> Result<u64> {
        Ok(self.group.child(app)?.oom_kills()?)
    }

    /// Who ended `app` while it was launched: a killer, or the kernel, which had ended `oom_kills_before` of its
    /// processes before.
    ///
    /// # Errors
    /// When the kernel's file cannot be read.
    pub fn launch_ended_by(&mut self, app: &str, oom_kills_before: u64) -> Result<Option<EndedBy>> {
        let blamed = self.roster.remove(app);
        let by_kernel = self.oom_kills(app)? > oom_kills_before;
        Ok(blamed.or(by_kernel.then_some(EndedBy::Kernel)))
    }

    /// Processor time that the processes of an app that runs have used so far, in us.
    ///
    /// # Errors
    /// When the kernel's file cannot be read.
    pub fn cpu_us(&self, name: &str) -> Result<Option<u64>> {
        let Some(stay) = self.apps.get(name) else { return Ok(None) };
        Ok(self.launcher.sense.cgroup_cpu(stay.resident.group())?.map(|cpu| cpu.usage_us))
    }

    /// Pages read from and written to swap by all of this machine so far: on a phone that swaps, its own areas are the
    /// only ones. Zero without swap, where other areas may be in use.
    ///
    /// # Errors
    /// When the kernel's file cannot be read.
    pub fn swap_pages(&self) -> Result<(u64, u64)> {
        if !self.policy.has_swap() {
            return Ok((0, 0));
        }
        let paging = self.launcher.sense.paging()?;
        Ok((paging.swap_in_pages, paging.swap_out_pages))
    }
}
