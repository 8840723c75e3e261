//! The time of a return or launch: what would be in the way of its reads is held, and comes after it.
//!
//! Reads concurrent with writes get half of the bandwidth of flash (MARS, table 2). While an app returns,
//! - this engine writes nothing out, lays nothing anew, and the actuator drops what it was writing;
//! - periodic write-back is off (`vm/dirty_writeback_centisecs` 0) where dirty pages wait;
//! - the kernel takes clean files rather than swap (`vm/swappiness` 1) where less is available than the return needs;
//! - a kernel with the patch of `kernel/mars` holds reclaim of other groups (`memory.swap.launch` of the app's group).
//!
//! All are levels: as soon as they are no longer requested, the values from before are back. The window ends with the
//! return, when another app comes to the foreground, and after `window_max_s` in any case. How the device's queue
//! treats reads and writes meanwhile is the matter of the engine for storage.
//!
//! Properties: `an_idle_return_changes_no_setting`; `settings_of_a_return_end_with_it`;
//! `a_refused_setting_is_not_requested_again`.

use std::collections::BTreeSet;

use brisk_core::app::App;
use brisk_core::decision::{Objective, Request};
use brisk_core::knob::{GroupSetting, Knob, VmSetting};
use brisk_core::reason::Reason;
use brisk_core::snapshot::MemoryLevels;
use serde::{Deserialize, Serialize};

use crate::mars::config::Config;
use crate::mars::{S_NS, pressure};

/// Dirty pages that are worth a setting: a quarter of a second of writing.
const DIRTY_BYTES_MIN: u64 = 4 << 20;

/// A return that goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub group: String,
    pub opened_ns: u64,
    /// Whether it was decided what is read back.
    pub is_read: bool,
}

impl Window {
    /// Whether it is over, whatever the return does.
    #[must_use]
    pub fn is_over(&self, config: &Config, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.opened_ns) >= config.window_max_s.saturating_mul(S_NS)
    }
}

/// Levels while the window is open. `need_bytes`: what the return needs.
pub(crate) fn requests(
    window: &Window,
    app: Option<&App>,
    memory: &MemoryLevels,
    need_bytes: u64,
    refused: &BTreeSet<Knob>,
) -> Vec<Request> {
    let mut requests = Vec::new();
    let mut set = |knob: Knob, value: &str, reason: Reason| {
        if !refused.contains(&knob) {
            requests.push(Request::set(knob, value, Objective::Delay, reason.word("group", &window.group)));
        }
    };
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let dirty_bytes = memory.dirty_bytes.saturating_add(memory.writeback_bytes);
    if dirty_bytes >= DIRTY_BYTES_MIN {
        let reason = Reason::rule("return_without_writes").number("dirty_mib", mib(dirty_bytes));
        set(Knob::Vm { setting: VmSetting::DirtyWritebackCentisecs }, "0", reason);
    }
    let available_bytes = pressure::available_bytes(memory);
    if available_bytes < need_bytes {
        let reason = Reason::rule("return_without_swap_out")
            .number("available_mib", mib(available_bytes))
            .number("need_mib", mib(need_bytes));
        set(Knob::Vm { setting: VmSetting::Swappiness }, "1", reason);
    }
    if app.is_some_and(|app| app.offers.contains(&GroupSetting::MemorySwapLaunch)) {
        let knob = Knob::Group { group: window.group.clone(), setting: GroupSetting::MemorySwapLaunch };
        set(knob, "1", Reason::rule("return_of_the_group"));
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mars::tests::{MIB, Machine, app, focused, memory};

    fn knobs(requests: &[Request]) -> Vec<String> {
        requests.iter().filter_map(Request::setting).map(|set| format!("{} {}", set.knob, set.value)).collect()
    }

    #[test]
    fn an_idle_return_changes_no_setting() {
        let window = Window { group: "app-a.scope".to_owned(), ..Window::default() };
        let of = |memory: &MemoryLevels, app: Option<&App>| {
            knobs(&requests(&window, app, memory, 50 * MIB, &BTreeSet::new()))
        };
        assert_eq!(of(&memory(400), None), [""; 0]);
        assert_eq!(of(&memory(400), Some(&app("a", |_| ()))), [""; 0]);
        let dirty = MemoryLevels { dirty_bytes: 3 * MIB, writeback_bytes: MIB, ..memory(49) };
        assert_eq!(of(&dirty, None), ["vm/dirty_writeback_centisecs 0", "vm/swappiness 1"]);
        let patched = App { offers: vec![GroupSetting::MemorySwapLaunch], ..app("a", |_| ()) };
        assert_eq!(of(&memory(400), Some(&patched)), ["memory.swap.launch/app-a.scope 1"]);
    }

    #[test]
    fn settings_of_a_return_end_with_it() {
        let mut machine = Machine::new(Config::default(), &["a", "b", "c"]);
        machine.now.memory.dirty_bytes = 64 * MIB;
        let held = ["vm/dirty_writeback_centisecs 0"];
        let settings = |machine: &mut Machine, ms, events: &[_]| knobs(&machine.after(ms, 400, events).requests);
        assert_eq!(settings(&mut machine, 1_000, &[focused("a")]), held);
        assert_eq!(settings(&mut machine, 1_000, &[]), held);
        let ended = brisk_core::event::EventKind::LaunchEnded { group: "app-a.scope".to_owned() };
        assert_eq!(settings(&mut machine, 1_000, &[ended]), [""; 0]);
        // Another return takes its place, and ends at its cap.
        settings(&mut machine, 1_000, &[focused("b")]);
        let of_c = machine.after(1_000, 400, &[focused("c")]);
        assert_eq!(knobs(&of_c.requests), held);
        assert_eq!(of_c.state.window.as_ref().map(|window| window.group.as_str()), Some("app-c.scope"));
        assert_eq!(settings(&mut machine, 9_000, &[]), held);
        assert_eq!(settings(&mut machine, 1_000, &[]), [""; 0]);
        // The app ends.
        settings(&mut machine, 1_000, &[focused("a")]);
        let gone = machine.gone("a");
        assert_eq!(settings(&mut machine, 1_000, &[gone]), [""; 0]);
    }

    #[test]
    fn a_refused_setting_is_not_requested_again() {
        let mut machine = Machine::new(Config::default(), &["a"]);
        machine.now.memory.dirty_bytes = 64 * MIB;
        assert_eq!(machine.step(400, &[focused("a")]).settings().count(), 1);
        let knob = Knob::Vm { setting: VmSetting::DirtyWritebackCentisecs };
        let refused = brisk_core::event::EventKind::Refused { knob, why: "read-only".to_owned() };
        assert_eq!(machine.step(400, &[refused]).settings().count(), 0);
        assert_eq!(machine.step(400, &[brisk_core::event::EventKind::Configured]).settings().count(), 1);
    }
}
