//! `brisk swap setup`, `start` and `undo`: swap areas for a device. Traces of swapping (`brisk swap record` and its neighbours) are the
//! laboratory's; a user sees one command.

mod facts;
mod plan;

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use brisk_act::{FLASH_PRIORITY, SwapAreas, SwapPlaces, SwapPlan, ZRAM_PRIORITY};
use brisk_command::json::Document;
use brisk_command::swap_setup::{Setup, Start, Undo};
use brisk_core::units::format_bytes;
use brisk_sense::{Capability, Sense};
use serde_json::json;

use facts::Facts;
use plan::{Wishes, plan};

/// Runs `brisk swap setup`.
pub(crate) fn set_up(args: &Setup) -> anyhow::Result<ExitCode> {
    args.json.check(&[])?;
    let sense = Sense::default();
    let facts = Facts::read(&sense, &args.path)?;
    let wishes =
        Wishes { size_bytes: args.size, zram_bytes: args.zram, destroy_data: args.destroy_data, dry_run: args.dry_run };
    let plan = plan(&facts, &wishes)?;
    let areas = areas()?;
    if !args.dry_run {
        areas.set_up(&plan, args.later)?;
    } else if areas.made()?.is_some() {
        bail!("swap is set up already: 'brisk swap undo' removes that first");
    }
    let state = match (args.dry_run, args.later) {
        (true, _) => "planned",
        (false, true) => "made",
        (false, false) => "on",
    };
    let written = facts.written_bytes_per_day();
    let document = json!({
        "state": state, "area": plan.area, "size_bytes": facts.size_bytes(&plan), "priority": FLASH_PRIORITY,
        "zram_bytes": plan.zram_bytes, "zram_priority": plan.zram_bytes.map(|_| ZRAM_PRIORITY),
        "written_bytes_per_day": written,
    });
    args.json.show(&Document::new("swap_setup", document), || text(&facts, &plan, state))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `brisk swap start`.
pub(crate) fn start(args: &Start) -> anyhow::Result<ExitCode> {
    let areas = areas()?;
    areas.start()?;
    let plan = areas.made()?;
    args.json.show(&Document::new("swap_start", json!({ "on": plan })), || "all areas are on\n".to_owned())?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `brisk swap undo`.
pub(crate) fn undo(args: &Undo) -> anyhow::Result<ExitCode> {
    must_be_root("removing swap areas")?;
    let plan = areas()?.undo()?;
    let text = || {
        let zram = plan.zram_bytes.map_or("", |_| " and its compressed memory");
        format!("{}{zram} is off and removed; nothing is switched on after a restart\n", plan.area.path().display())
    };
    args.json.show(&Document::new("swap_undo", json!({ "removed": plan })), text)?;
    Ok(ExitCode::SUCCESS)
}

fn areas() -> anyhow::Result<SwapAreas> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    Ok(SwapAreas::new(SwapPlaces::of_this_machine(program)))
}

fn must_be_root(what: &'static str) -> anyhow::Result<()> {
    Ok(Sense::default().require_rights(what, &[Capability::SysAdmin])?)
}

fn text(facts: &Facts, plan: &SwapPlan, state: &str) -> String {
    let mut text = String::new();
    let does = match state {
        "planned" => "would be made",
        "made" => "is made, and on after the next restart",
        _ => "is on",
    };
    let size = format_bytes(facts.size_bytes(plan));
    let _ = writeln!(text, "{}: a swap area of {size}, priority {FLASH_PRIORITY}, {does}", plan.area.path().display());
    match plan.zram_bytes {
        Some(size_bytes) => {
            let size = format_bytes(size_bytes);
            let _ = writeln!(text, "zram: {size} of compressed memory, priority {ZRAM_PRIORITY}, filled first, {does}");
        }
        None => text += "zram: none\n",
    }
    text += &match facts.written_bytes_per_day() {
        Some(bytes) => format!(
            "Wear: this machine swapped out {} a day since its start; what goes to flash is written there once each time.\n",
            format_bytes(bytes)
        ),
        None => "Wear: unknown, as nothing was swapped out since the start of this machine. Every byte that goes to flash is written once \
                 each time: 'brisk monitor' shows how much that is.\n"
            .to_owned(),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_act::FlashArea;

    #[test]
    fn a_plan_says_what_is_made_and_what_it_costs() {
        let area = FlashArea::File { path: "/swapfile".into(), size_bytes: 1 << 30 };
        let plan = SwapPlan { area, zram_bytes: Some(256 << 20) };
        let facts = Facts { swapped_out_bytes: 3 << 30, up_s: 43_200.0, ..facts::tests::phone() };
        assert_eq!(
            text(&facts, &plan, "planned"),
            "/swapfile: a swap area of 1 GiB, priority 10, would be made\nzram: 256 MiB of compressed memory, priority 100, filled \
             first, would be made\nWear: this machine swapped out 6 GiB a day since its start; what goes to flash is written there once \
             each time.\n"
        );
        let fresh = Facts { swapped_out_bytes: 0, ..facts };
        assert!(text(&fresh, &SwapPlan { zram_bytes: None, ..plan }, "on").contains("zram: none\nWear: unknown"));
    }
}
