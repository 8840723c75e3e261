//! Phone, screen, monitoring and virtual machine, as values of facts.

use brisk_core::stats::Summary;
use brisk_core::units::format_bytes;
use brisk_report::format::{self, shorten};
use brisk_report::papers;

use crate::results::{KernelFidelity, LaunchSet, PhoneFacts, ScreenFacts};

/// The screen that was watched.
pub(crate) fn screen(screen: &ScreenFacts) -> String {
    let (width, height) = screen.size_px;
    let size = if width == 0 || height == 0 { String::new() } else { format!("{width} x {height}") };
    let parts = [screen.protocol.clone(), shorten(&screen.display, 40), size];
    parts.into_iter().filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join(", ")
}

/// The emulated phone that apps ran on.
pub(crate) fn phone(phone: &PhoneFacts) -> String {
    let preset = match papers::for_preset(&phone.preset) {
        Some(published) => format!("{}, emulated after {}", phone.preset, published.device),
        None => format!("{}, emulated", shorten(&phone.preset, 60)),
    };
    let parts = [
        Some(preset),
        phone.virtual_time.as_ref().map(|of| {
            let memory = format_bytes(of.memory_bytes);
            format!("a whole device in virtual time, {memory} of memory, swaps to {}", shorten(of.swap.trim(), 80))
        }),
        Some(shorten(&phone.device, 60)),
        Some(format_bytes(phone.size_bytes)),
        Some(shorten(&phone.file_system, 80)),
        phone.scheduler.clone(),
        phone.driver_tags.map(|tags| format!("{} at once", format::plural(tags.into(), "request"))),
    ];
    parts.into_iter().flatten().filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join(", ")
}

/// What a phone in virtual time hides, and how brisk ran in it.
pub(crate) fn virtual_time(phone: &PhoneFacts) -> Option<String> {
    let of = phone.virtual_time.as_ref()?;
    let per_us = format::number(1e3 / f64::from(of.instruction_ns.max(1)));
    let brisk = match shorten(of.brisk.trim(), 200) {
        words if words.is_empty() => String::new(),
        words => format!(" brisk ran {words}."),
    };
    Some(format!(
        "This is an emulated device in virtual time: its clock counts instructions, so that a repeat gives the same \
         figures, and one processor of {per_us} instructions a microsecond does the work of app, screen and \
         background.{brisk}"
    ))
}

/// When apps were launched that nothing else disturbed: `60 s after a start`, or `without load`.
pub(crate) fn idle_words(phone: &PhoneFacts) -> String {
    let after_start_s = phone.virtual_time.as_ref().and_then(|of| of.after_start_s).filter(|s| s.is_finite());
    after_start_s.map_or_else(|| "without load".to_owned(), |s| format!("{s} s after a start"))
}

/// A preset as people know it: `Samsung Galaxy S5 of 2014`.
pub(crate) fn phone_of_year(preset: &str) -> String {
    match papers::for_preset(preset) {
        Some(known) => {
            let year = known.year.map_or_else(String::new, |year| format!(" of {year}"));
            format!("{}{year}", known.name())
        }
        None => shorten(preset.trim(), 40),
    }
}

/// Processor time of brisk itself over all launches.
pub(crate) fn watching<'a>(sets: impl Iterator<Item = &'a LaunchSet>) -> Option<(&'static str, String)> {
    let percents: Vec<f64> = sets.flat_map(|s| &s.runs).map(|r| r.watch_cpu_percent).collect();
    let all = Summary::of(&percents)?;
    let most = if all.count > 1 { format!(", at most {}", format::percent(all.max)) } else { String::new() };
    Some(("Monitoring", format!("{} of one core{most}", format::percent(all.median))))
}

/// The phone in a few words: for headings.
pub(crate) fn phone_name(phone: &PhoneFacts) -> String {
    format!("{} (emulated)", shorten(phone.preset.trim(), 60))
}

/// How far figures of the kernel lab can be believed.
pub(crate) fn fidelity(of: &KernelFidelity) -> String {
    let reused = if of.kept == 0 { String::new() } else { format!(", {} of which are from an earlier run", of.kept) };
    format!(
        "The device's timer was {} late on average at most ({} allowed), a case and its repeat differed by {} of all \
         requests ({} allowed) and by {} of those of equal jobs, in {} of {}{reused}.",
        format::us(of.lateness_ns_mean / 1e3),
        format::us(of.lateness_ns_bound / 1e3),
        format::percent(of.repeat_percent),
        format::percent(of.repeat_percent_bound),
        format::percent(of.repeat_percent_of_jobs),
        format::plural(of.boots.into(), "boot"),
        format::plural(of.cases.into(), "case"),
    )
}
