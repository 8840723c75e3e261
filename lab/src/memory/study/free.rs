//! Free memory while apps are launched one after another and put in the background (dissertation 5.2.1, figure 5.1).

use std::time::{Duration, Instant};

use crate::launch::Resident;
use crate::phone::App;
use crate::results::{FreeMemory, FreeSample, FreeStep, MemoryPart};
use crate::screen::Input;

use super::Bed;
use super::sampling::sampled;
use crate::memory::answers::Answer;
use crate::memory::error::Result;

/// Time before the first launch, for the level without apps.
const BEFORE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy)]
pub struct FreeOptions {
    /// How long each app is in front.
    pub dwell: Duration,
    /// How often each app is visited: the first time it is launched.
    pub rounds: u32,
    /// Between two samples.
    pub interval: Duration,
}

/// Does it. An app that the kernel has ended is launched again when its turn comes; apps are not frozen in the
/// background.
///
/// # Errors
/// When the phone or the display fails, or the user stops it.
pub fn free(bed: &mut Bed<'_>, options: &FreeOptions) -> Result<FreeMemory> {
    bed.clear()?;
    let (group, limit_bytes, apps) = (bed.group.clone(), bed.limit_bytes, bed.apps.clone());
    let kills_before = bed.oom_kills()?;
    let mut samples = Vec::new();
    let sample = |at: Duration| {
        samples.push(levels(at, limit_bytes, group.usage_bytes()?, group.file_bytes()?));
        Ok(())
    };
    let mut steps = Vec::new();
    let mut stay: Vec<Option<Resident>> = apps.iter().map(|_| None).collect();
    sampled(options.interval, sample, |begin| {
        bed.rest_until(begin + BEFORE)?;
        for round in 1..=options.rounds {
            for (nth, app) in apps.iter().enumerate() {
                let done = (round - 1) as usize * apps.len() + nth;
                let share = done as f64 / (options.rounds as usize * apps.len()) as f64;
                (bed.progress)(share, &format!("free memory: {} ({round}/{})", app.name, options.rounds));
                let at_s = begin.elapsed().as_secs_f64();
                let launched = visit(bed, app, &mut stay[nth], options)?;
                steps.push(FreeStep { at_s, app: app.name.clone(), round, launched });
            }
        }
        Ok(())
    })?;
    let mut alive = Vec::new();
    for (app, resident) in apps.iter().zip(&stay) {
        if resident.as_ref().is_some_and(|resident| resident.is_alive().unwrap_or(false)) {
            alive.push(app.name.clone());
        }
    }
    Ok(FreeMemory {
        interval_ms: options.interval.as_secs_f64() * 1e3,
        dwell_s: options.dwell.as_secs_f64(),
        samples,
        steps,
        alive,
        oom_kills: bed.oom_kills()?.saturating_sub(kills_before),
    })
}

/// Brings an app to the front, or launches it, and uses it; gives whether it was launched.
fn visit(bed: &mut Bed<'_>, app: &App, stay: &mut Option<Resident>, options: &FreeOptions) -> Result<bool> {
    let answer = Answer::of(&app.name)?;
    let until = Instant::now() + options.dwell;
    let mut launched = false;
    if !stay.as_ref().is_some_and(|resident| resident.is_alive().unwrap_or(false)) {
        launched = true;
        // What is left of it ends with the value.
        *stay = None;
        match bed.launch(app) {
            Ok((resident, _)) => *stay = Some(resident),
            Err(error) => bed.note(MemoryPart::Free, app, error)?,
        }
    } else if let Some(resident) = stay {
        let key = Input::Key(answer.key(1).to_owned());
        if let Err(error) = bed.launcher.relaunch(resident, &mut *bed.screen, &key) {
            bed.note(MemoryPart::Free, app, error.into())?;
        }
    }
    match stay {
        Some(resident) => bed.use_until(resident, answer, until).map(drop)?,
        None => bed.rest_until(until)?,
    }
    Ok(launched)
}

/// Free and available memory of a group with a limit. What the kernel keeps of files can be freed, as in MemAvailable
/// (mm/show_mem.c, `si_mem_available`, without watermarks, which a group has not).
fn levels(at: Duration, limit_bytes: u64, usage_bytes: u64, file_bytes: u64) -> FreeSample {
    let free_bytes = limit_bytes.saturating_sub(usage_bytes);
    let available_bytes = free_bytes.saturating_add(file_bytes).min(limit_bytes);
    FreeSample { at_s: at.as_secs_f64(), free_bytes, available_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_can_be_freed_are_available() {
        let sample = levels(Duration::from_millis(1500), 100, 80, 30);
        assert_eq!(sample, FreeSample { at_s: 1.5, free_bytes: 20, available_bytes: 50 });
        // Counters are read one after the other, and the limit may have been lowered.
        let sample = levels(Duration::ZERO, 100, 120, 300);
        assert_eq!((sample.free_bytes, sample.available_bytes), (0, 100));
    }
}
