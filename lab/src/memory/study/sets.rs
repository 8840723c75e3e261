//! What of an app is in memory, what a second of a return uses, and what a return brings back from swap (MARS figure
//! 14).
//!
//! A round launches all apps; they stay, frozen in the background, so that each comes back from behind another one.
//! There are two returns to each: with all of it in memory, where the kernel's referenced bits show what the first
//! second accesses (clear_refs and smaps of Documentation/filesystems/proc.rst, as in working set estimation), and
//! after all of it was evicted, where page tables show what came back.

use std::fs;
use std::time::{Duration, Instant};

use crate::launch::Resident;
use crate::phone::{App, MemoryGroup, SwapKind};
use crate::results::{AppSets, Ending, MemoryPart, RelaunchRun};
use crate::screen::Input;
use brisk_core::stats::Summary;
use brisk_sense::{Sense, SmapsRollup};

use super::sampling::after;
use super::{Bed, processes};
use crate::memory::answers::Answer;
use crate::memory::error::{Error, Result, io as failed};

/// The time of a return that the working set counts.
const WORKING: Duration = Duration::from_secs(1);
/// From the end of an eviction until a return begins: its requests end.
const SETTLE: Duration = Duration::from_millis(300);

#[derive(Debug, Clone, Copy)]
pub struct SetOptions {
    /// Rounds: all apps are launched anew, and come back twice.
    pub runs: u32,
}

struct Stay {
    /// Its place among all apps.
    place: usize,
    app: &'static App,
    group: MemoryGroup,
    answer: Answer,
    turns: u64,
    resident: Resident,
    /// Its memory when it was settled.
    settled: SmapsRollup,
    working_bytes: Option<u64>,
}

/// One round of an app.
#[derive(Debug, Clone)]
struct Found {
    settled: SmapsRollup,
    working_bytes: u64,
    evicted: RelaunchRun,
}

/// Does it.
///
/// # Errors
/// When the phone has no swap on its flash, the phone or the display fails, or the user stops it.
pub fn sets(bed: &mut Bed<'_>, options: &SetOptions) -> Result<Vec<AppSets>> {
    if !bed.phone.memory().is_some_and(|memory| memory.swap == SwapKind::Flash) {
        return Err(Error::NoSwap(bed.phone.id()));
    }
    let apps = bed.apps.clone();
    let mut found: Vec<Vec<Found>> = vec![Vec::new(); apps.len()];
    let mut failed = vec![false; apps.len()];
    for nth in 0..options.runs {
        let show = |bed: &mut Bed<'_>, step: usize, doing: &str| {
            let done = nth as usize * 3 + step;
            let share = done as f64 / (options.runs as usize * 3) as f64;
            (bed.progress)(share, &format!("sets: {doing} ({}/{})", nth + 1, options.runs));
        };
        show(bed, 0, "launching");
        let mut stays = launch_all(bed, &mut failed)?;
        show(bed, 1, "returns from memory");
        go_through(bed, &mut stays, &mut failed, return_hot)?;
        show(bed, 2, "returns from swap");
        go_through(bed, &mut stays, &mut failed, |bed, stay| {
            let evicted = return_evicted(bed, stay)?;
            let (settled, place) = (stay.settled, stay.place);
            found[place].extend(stay.working_bytes.map(|working_bytes| Found { settled, working_bytes, evicted }));
            Ok(())
        })?;
    }
    Ok(apps.iter().zip(&found).filter_map(|(app, found)| summed_up(&app.name, found)).collect())
}

/// Launches all apps that can be, with device time off; each is frozen when the next one comes.
fn launch_all(bed: &mut Bed<'_>, failed: &mut [bool]) -> Result<Vec<Stay>> {
    bed.clear()?;
    bed.phone.set_timed(false)?;
    let mut stays = Vec::new();
    for (place, app) in bed.apps.clone().into_iter().enumerate() {
        if failed[place] {
            continue;
        }
        let (group, answer) = (bed.group_of(app)?, Answer::of(&app.name)?);
        match bed.launch(app) {
            Ok((mut resident, _)) => {
                let settled = rollup(bed.sense(), &bed.group, &app.name)?;
                resident.freeze()?;
                stays.push(Stay { place, app, group, answer, turns: 0, resident, settled, working_bytes: None });
            }
            Err(error) => {
                failed[place] = true;
                bed.note(MemoryPart::Sets, app, error)?;
            }
        }
    }
    Ok(stays)
}

/// Does something with each app in turn; one that fails is left out from then on.
fn go_through<'a>(
    bed: &mut Bed<'a>,
    stays: &mut Vec<Stay>,
    failed: &mut [bool],
    mut visit: impl FnMut(&mut Bed<'a>, &mut Stay) -> Result<()>,
) -> Result<()> {
    for mut stay in std::mem::take(stays) {
        match visit(bed, &mut stay) {
            Ok(()) => stays.push(stay),
            Err(error) => {
                failed[stay.place] = true;
                bed.note(MemoryPart::Sets, stay.app, error)?;
            }
        }
    }
    Ok(())
}

/// A return with everything in memory: what its first second accesses.
fn return_hot(bed: &mut Bed<'_>, stay: &mut Stay) -> Result<()> {
    let sense = bed.sense().clone();
    let (group, app) = (bed.group.clone(), stay.app);
    for pid in processes(&group, &stay.app.name)? {
        clear_referenced(pid)?;
    }
    let look = || Ok(rollup(&sense, &group, &app.name)?.referenced_bytes);
    let (working_bytes, _) = after(WORKING, look, || go_to(bed, stay))?;
    stay.working_bytes = Some(working_bytes);
    Ok(())
}

/// A return after eviction, with device time.
fn return_evicted(bed: &mut Bed<'_>, stay: &mut Stay) -> Result<RelaunchRun> {
    bed.phone.set_timed(false)?;
    stay.group.reclaim_all()?;
    bed.phone.set_timed(true)?;
    bed.rest_until(Instant::now() + SETTLE)?;
    go_to(bed, stay)
}

/// Goes to an app that stays, which answers a key; it is frozen in the end.
fn go_to(bed: &mut Bed<'_>, stay: &mut Stay) -> Result<RelaunchRun> {
    let key = Input::Key(stay.answer.key(stay.turns).to_owned());
    stay.turns += 1;
    let run = bed.launcher.relaunch(&mut stay.resident, &mut *bed.screen, &key)?.run;
    if matches!(run.ending, Ending::Exited { .. }) {
        return Err(Error::NotRunning(stay.app.name.clone()));
    }
    if let Some(undo) = stay.answer.undo {
        bed.screen.send(&Input::Key(undo.to_owned())).map_err(crate::launch::Error::from)?;
        bed.rest_until(Instant::now() + SETTLE)?;
    }
    stay.resident.freeze()?;
    Ok(run)
}

/// Sum over the processes of an app.
fn rollup(sense: &Sense, group: &MemoryGroup, app: &str) -> Result<SmapsRollup> {
    let mut sum = SmapsRollup::default();
    for pid in processes(group, app)? {
        if let Some(one) = sense.smaps_rollup(pid)? {
            sum.resident_bytes = sum.resident_bytes.saturating_add(one.resident_bytes);
            sum.proportional_bytes = sum.proportional_bytes.saturating_add(one.proportional_bytes);
            sum.referenced_bytes = sum.referenced_bytes.saturating_add(one.referenced_bytes);
            sum.swapped_bytes = sum.swapped_bytes.saturating_add(one.swapped_bytes);
        }
    }
    Ok(sum)
}

/// Clears the referenced bits of a process; one that has ended has none. The kernel leaves the processor the
/// translations that it holds, and their use marks no page: up to about 1,500 pages may count as not accessed until the
/// processor replaces them.
fn clear_referenced(pid: u32) -> Result<()> {
    match fs::write(format!("/proc/{pid}/clear_refs"), "1") {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH) => {
            Ok(())
        }
        done => done.map_err(failed(format!("clear the referenced bits of process {pid}"))),
    }
}

/// Medians over the rounds; `None` without any.
fn summed_up(app: &str, found: &[Found]) -> Option<AppSets> {
    let over = |of: &dyn Fn(&Found) -> Option<u64>| {
        Summary::of(&found.iter().filter_map(of).map(|bytes| bytes as f64).collect::<Vec<_>>())
    };
    Some(AppSets {
        app: app.to_owned(),
        resident_bytes: over(&|one| Some(one.settled.resident_bytes))?,
        proportional_bytes: over(&|one| Some(one.settled.proportional_bytes))?,
        working_bytes: over(&|one| Some(one.working_bytes))?,
        swapped_touched_bytes: over(&|one| Some(one.evicted.touched?.swapped_bytes))?,
        file_touched_bytes: over(&|one| Some(one.evicted.touched?.file_bytes))?,
        swapped_bytes: over(&|one| Some(one.evicted.before?.swapped_bytes))?,
        return_ms: Summary::of(&found.iter().map(|one| one.evicted.end_ms).collect::<Vec<_>>())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap};

    #[test]
    fn pages_that_were_not_accessed_since_are_not_referenced() {
        let page_bytes = rustix::param::page_size();
        let length = 4096 * page_bytes;
        let (rights, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new anonymous mapping at an address that the kernel chooses overlaps nothing.
        let begin = unsafe { mmap_anonymous(std::ptr::null_mut(), length, rights, flags) }.expect("mapped");
        // SAFETY: the advice changes the size of pages alone, of the mapping above.
        let _ = unsafe { madvise(begin, length, Advice::LinuxNoHugepage) };
        // SAFETY: the mapping has that length and is zeroed; nothing else refers to it before it is unmapped.
        let memory = unsafe { std::slice::from_raw_parts_mut(begin.cast::<u8>(), length) };
        memory.iter_mut().step_by(page_bytes).for_each(|byte| *byte = 1);
        clear_referenced(std::process::id()).expect("cleared");
        // A change of rights ends the translations that the processor holds from before, whose use marks no page.
        for rights in [MprotectFlags::READ, MprotectFlags::READ | MprotectFlags::WRITE] {
            // SAFETY: the rights are of the mapping above, which nothing accesses in between.
            unsafe { mprotect(begin, length, rights) }.expect("changed");
        }
        let before = referenced(begin.addr(), length);
        memory[..1024 * page_bytes].iter_mut().step_by(page_bytes).for_each(|byte| *byte = 2);
        let grown = referenced(begin.addr(), length).checked_sub(before);
        assert_eq!(grown, Some((1024 * page_bytes) as u64), "{before} bytes were referenced at first");
        // SAFETY: the mapping above, which is not used any more.
        unsafe { munmap(begin, length) }.expect("unmapped");
    }

    /// Referenced bytes of the mapping of `length` bytes at address `begin`. Other tests map and access pages of their
    /// own meanwhile, so the sum over this process says nothing.
    fn referenced(begin: usize, length: usize) -> u64 {
        let maps = fs::read_to_string("/proc/self/smaps").expect("readable");
        let head = format!("{begin:x}-{:x} ", begin + length);
        let of_mapping =
            maps.split_once(&head).expect("a mapping of its own, whose advice differs from its neighbours").1;
        let line = of_mapping.lines().find_map(|line| line.strip_prefix("Referenced:")).expect("a line of its own");
        let kib: u64 = line.trim().strip_suffix(" kB").expect("kB").parse().expect("a number");
        kib * 1024
    }
}
