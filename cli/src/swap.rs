//! `brisk swap setup`, `start` and `undo`: swap areas for a device. Traces of swapping (`brisk swap record` and its
//! neighbours) are the laboratory's; a user sees one command.

mod arguments;
mod facts;
mod plan;

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use brisk_act::{AtBoot, FLASH_PRIORITY, Prepared, SwapAreas, SwapPlaces, Undone, ZRAM_PRIORITY};
use brisk_command::confirm::agrees;
use brisk_command::json::Document;
use brisk_command::terminal::remark;
use brisk_core::units::format_bytes;
use brisk_sense::{Capability, Sense};
use serde_json::json;

use arguments::{Command, Setup, Start, Undo};
use facts::Facts;
use plan::{Wishes, plan};

pub(crate) use arguments::Args;

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Setup(args) => set_up(args),
        Command::Start(args) => start(args),
        Command::Undo(args) => undo(args),
    }
}

/// Runs `brisk swap setup`. A dry run ends where the other begins to make something.
fn set_up(args: &Setup) -> anyhow::Result<ExitCode> {
    args.json.check(&[])?;
    let areas = areas()?;
    // Before what depends on sizes: areas that are on are one's own.
    areas.check_none()?;
    let sense = Sense::default();
    let facts = Facts::read(&sense, args.path.as_deref())?;
    let wishes =
        Wishes { size_bytes: args.size, zram_bytes: args.zram, destroy_data: args.destroy_data, dry_run: args.dry_run };
    let prepared = areas.check(plan(&facts, &wishes)?)?;
    if !args.dry_run {
        if !args.yes {
            brisk_program::notice!("{}", text(&facts, &prepared, "planned").trim_end());
            if !agrees("Make it?").context("nothing was made")? {
                remark("nothing was made");
                return Ok(ExitCode::from(1));
            }
        }
        areas.set_up(&prepared, args.later)?;
    }
    let state = match (args.dry_run, args.later) {
        (true, _) => "planned",
        (false, true) => "made",
        (false, false) => "on",
    };
    let plan = prepared.plan();
    let document = json!({
        "state": state, "area": plan.area, "size_bytes": facts.size_bytes(plan), "priority": FLASH_PRIORITY,
        "content_lost": facts.lost(plan),
        "zram_bytes": plan.zram_bytes, "zram_priority": plan.zram_bytes.map(|_| ZRAM_PRIORITY),
        "at_boot": prepared.at_boot(), "written_bytes_per_day": facts.written_bytes_per_day(),
    });
    args.json.show(&Document::new("swap_setup", document), || text(&facts, &prepared, state))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `brisk swap start`.
fn start(args: &Start) -> anyhow::Result<ExitCode> {
    must_be_root("switching swap areas on")?;
    let areas = areas()?;
    areas.start()?;
    let plan = areas.made()?;
    args.json.show(&Document::new("swap_start", json!({ "on": plan })), || "all areas are on\n".to_owned())?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `brisk swap undo`.
fn undo(args: &Undo) -> anyhow::Result<ExitCode> {
    must_be_root("removing swap areas")?;
    let undone = areas()?.undo()?;
    let left =
        undone.left.iter().map(|left| json!({ "what": left.what, "why": left.why.whole(), "by_hand": left.by_hand }));
    let document = json!({ "removed": undone.plan, "left": left.collect::<Vec<_>>() });
    args.json.show(&Document::new("swap_undo", document), || removed(&undone))?;
    if undone.left.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    for left in &undone.left {
        brisk_program::warn!("brisk: left: {left}");
    }
    bail!("the rest is removed; when the cause is gone, 'brisk swap undo' goes on with what is left");
}

fn removed(undone: &Undone) -> String {
    if !undone.left.is_empty() {
        return String::new();
    }
    let Some(plan) = &undone.plan else { return "what was left is removed\n".to_owned() };
    let zram = plan.zram_bytes.map_or("", |_| " and its compressed memory");
    format!("{}{zram} is off and removed; nothing is switched on after a restart\n", plan.area.path().display())
}

fn areas() -> anyhow::Result<SwapAreas> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    Ok(SwapAreas::new(SwapPlaces::of_this_machine(program)))
}

fn must_be_root(what: &'static str) -> anyhow::Result<()> {
    Ok(Sense::default().require_rights(what, &[Capability::SysAdmin])?)
}

fn text(facts: &Facts, prepared: &Prepared, state: &str) -> String {
    let mut text = String::new();
    let plan = prepared.plan();
    let does = match state {
        "planned" => "would be made",
        "made" => "is made, and on after the next restart",
        _ => "is on",
    };
    let size = format_bytes(facts.size_bytes(plan));
    let _ = writeln!(text, "{}: a swap area of {size}, priority {FLASH_PRIORITY}, {does}", plan.area.path().display());
    if let Some(content) = facts.lost(plan).filter(|_| state == "planned") {
        let _ = writeln!(text, "What is on {} would be lost: {content}", plan.area.path().display());
    }
    match plan.zram_bytes {
        Some(size_bytes) => {
            let size = format_bytes(size_bytes);
            let _ = writeln!(text, "zram: {size} of compressed memory, priority {ZRAM_PRIORITY}, filled first, {does}");
        }
        None => text += "zram: none\n",
    }
    let _ = writeln!(text, "After a restart: {}", after_restart(prepared.at_boot(), plan.zram_bytes.is_some()));
    for path in prepared.unchecked() {
        let _ = writeln!(text, "Not checked, as that takes root: whether {} can be used", path.display());
    }
    text += &match facts.written_bytes_per_day() {
        Some(bytes) => format!(
            "Wear: this machine swapped out {} a day since its start; what goes to flash is written there once each \
             time.\n",
            format_bytes(bytes)
        ),
        None => "Wear: unknown, as nothing was swapped out since the start of this machine. Every byte that goes to \
                 flash is written once each time: 'brisk monitor' shows how much that is.\n"
            .to_owned(),
    };
    text
}

fn after_restart(at_boot: &AtBoot, has_zram: bool) -> String {
    let zram = if has_zram { ", and 'brisk swap start' the compressed memory" } else { "" };
    match at_boot {
        AtBoot::Unit { file, .. } => {
            format!("the unit {} switches {} on", file.display(), if has_zram { "both" } else { "it" })
        }
        AtBoot::Fstab { file, in_place, .. } => {
            let how = in_place.as_ref().map_or_else(String::new, |why| format!(" (written in place, as {why})"));
            format!("a line of {}{how} switches the area on{zram}", file.display())
        }
        AtBoot::LineOfOthers { file } => {
            format!("a line that {} has already, and that stays, switches the area on{zram}", file.display())
        }
        AtBoot::Nothing { why } => {
            format!(
                "nothing switches it on, only 'brisk swap start' by hand: what would do so cannot be installed ({why})"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_act::{FlashArea, SwapPlan};

    #[test]
    fn a_plan_says_what_is_made_and_what_it_costs() {
        let dir = tempfile::tempdir().expect("a directory");
        let fstab = dir.path().join("fstab");
        let places = SwapPlaces {
            record: dir.path().join("swap.json"),
            units: dir.path().join("units"),
            fstab: fstab.clone(),
            has_systemd: false,
            program: "/usr/bin/brisk".into(),
        };
        let file = dir.path().join("swapfile");
        let area = FlashArea::File { path: file.clone(), size_bytes: 1 << 30 };
        let checked = |zram_bytes| SwapAreas::new(places.clone()).check(SwapPlan { area: area.clone(), zram_bytes });
        let facts = Facts { swapped_out_bytes: 3 << 30, up_s: 43_200.0, ..facts::tests::phone() };
        assert_eq!(
            text(&facts, &checked(Some(256 << 20)).expect("possible"), "planned"),
            format!(
                "{}: a swap area of 1 GiB, priority 10, would be made\nzram: 256 MiB of compressed memory, priority \
                 100, filled first, would be made\nAfter a restart: a line of {} switches the area on, and 'brisk swap \
                 start' the compressed memory\n\
                 Wear: this machine swapped out 6 GiB a day since its start; what goes to flash is written there once \
                 each time.\n",
                file.display(),
                fstab.display()
            )
        );
        let fresh = Facts { swapped_out_bytes: 0, ..facts };
        let on = text(&fresh, &checked(None).expect("possible"), "on");
        assert!(on.contains("zram: none\nAfter a restart: a line") && on.contains("\nWear: unknown"), "{on}");
        assert!(!fstab.exists(), "a check makes nothing");
    }

    #[test]
    fn where_nothing_can_be_installed_the_reason_is_said() {
        let why = "cannot make a file in /etc: Read-only file system".to_owned();
        let text = after_restart(&AtBoot::Nothing { why }, true);
        assert!(text.starts_with("nothing switches it on") && text.contains("Read-only file system"), "{text}");
    }
}
