//! Events in words.

use brisk_core::event::EventKind;

/// What happened, in a sentence.
#[must_use]
pub fn sentence(kind: &EventKind) -> String {
    match kind {
        EventKind::LaunchBegan { group } => format!("{group} is being launched"),
        EventKind::LaunchEnded { group } => format!("{group} has come to rest"),
        EventKind::AppGone { group } => format!("{group} is gone"),
        EventKind::Focused { group } => format!("{group} has the focus"),
        EventKind::DeviceCame { device } => format!("{device} is managed from now on"),
        EventKind::DeviceGone { device } => format!("{device} is not managed any more"),
        EventKind::TakenOver { knob, found } => {
            format!("somebody else set {knob} to {found}; it is theirs from now on")
        }
        EventKind::Refused { knob, why } => format!("{knob} is refused: {why}"),
        EventKind::Pressure { resource } => format!("tasks stood still for want of {resource}"),
        EventKind::Resumed { gap_ms } => format!("the machine was away or its clock was set: {gap_ms} ms"),
        EventKind::Configured => "the configuration is read".to_owned(),
        other => format!("{other:?}"),
    }
}
