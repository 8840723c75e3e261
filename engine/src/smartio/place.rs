//! I/O class and weight of an app.
//!
//! A control group's own class (`io.prio.class`) reaches what the kernel writes back for it later, and threads that it
//! will make; the priority of threads reaches neither, and is what there is without the io controller. The file knows
//! no levels but the fourth of `realtime` (kernel: Documentation/admin-guide/cgroup-v2.rst, "IO Priority"), so other
//! priorities go to threads.

use brisk_core::app::App;
use brisk_core::decision::Objective;
use brisk_core::knob::{GroupSetting, Knob};
use brisk_core::reason::Reason;

use crate::smartio::requests::Requests;

/// The largest weight under bfq.
const BFQ_WEIGHT_MAX: u32 = 1_000;

impl Requests<'_> {
    /// Puts an app where `priority` (as ionice(1) takes it) and `weight` say; a weight of 0 is not requested.
    pub(crate) fn place(&mut self, app: &App, priority: &str, weight: u32, reason: &Reason) {
        let of_group = |setting| Knob::Group { group: app.group.clone(), setting };
        let class = of_group(GroupSetting::IoPrioClass);
        match class_of(priority).filter(|_| app.offers.contains(&GroupSetting::IoPrioClass) && !self.is_refused(&class))
        {
            Some(value) => self.add(class, value, Objective::Delay, reason),
            None => self.add(Knob::IoPriority { group: app.group.clone() }, priority, Objective::Delay, reason),
        }
        for (setting, weight) in
            [(GroupSetting::IoWeight, weight), (GroupSetting::IoBfqWeight, weight.min(BFQ_WEIGHT_MAX))]
        {
            if weight > 0 && app.offers.contains(&setting) {
                self.add(of_group(setting), weight.to_string(), Objective::Delay, reason);
            }
        }
    }
}

/// What the file of a group calls a priority, if it knows it.
fn class_of(priority: &str) -> Option<&'static str> {
    let words: Vec<&str> = priority.split_ascii_whitespace().collect();
    match words.as_slice() {
        ["realtime", "4"] => Some("promote-to-rt"),
        ["idle"] => Some("idle"),
        _ => None,
    }
}
