//! How phones look on a terminal. Values in, text out.

use crate::phone::{Catalogue, Image, Listed, MemorySpec, SwapKind};
use brisk_core::units::format_bytes;

use super::view::{lines, table};

/// `brisk lab phone apps`.
pub(super) fn apps(catalogue: &Catalogue) -> String {
    let mut table = table(&["app", "group", "reads when cold", "packages", "command"]);
    for app in &catalogue.apps {
        let reads = format!("{} MB", app.reads_mb);
        let command: String = app.command.join(" ").chars().take(60).collect();
        table.add_row([&app.name, &app.group, &reads, &app.packages.join(" "), &command]);
    }
    lines(&table)
}

/// What `build` prints.
pub(super) fn built(image: &Image) -> String {
    let about = &image.about;
    format!(
        "{}\n{} of {} in use, {} packages, built in {:.0} s; apps: {}\n",
        image.path.display(),
        format_bytes(about.used_bytes),
        format_bytes(about.size_bytes),
        about.packages.len(),
        about.build_s,
        about.apps.join(", "),
    )
}

/// What `up` prints in addition to the path.
pub(super) fn made(listed: &Listed) -> String {
    let device = listed.device.as_ref().map_or_else(String::new, |device| device.display().to_string());
    let apps = if listed.apps.is_empty() { String::new() } else { format!("; apps: {}", listed.apps.join(", ")) };
    let mut text =
        format!("phone {}, {} of {} on {device}{apps}\n", listed.id, format_bytes(listed.size_bytes), listed.preset);
    if let Some(spec) = &listed.memory {
        text += &format!(
            "{} of memory, {}; unlike on a device, processes reclaim at the limit themselves (no kswapd), and the \
             kernel's own memory is outside of it\n",
            format_bytes(spec.limit_bytes),
            swap(spec)
        );
    }
    text
}

/// Swap of a phone in words.
fn swap(spec: &MemorySpec) -> String {
    let bytes = format_bytes(spec.swap_bytes);
    match spec.swap {
        SwapKind::None => "no swap".to_owned(),
        SwapKind::Flash => format!("{bytes} of swap on its flash"),
        SwapKind::Zram => format!("{bytes} of compressed swap (zram)"),
        SwapKind::ZramFlash => format!("{bytes} of compressed swap (zram) before {bytes} on its flash"),
    }
}

/// `brisk lab phone list`.
pub(super) fn list(phones: &[Listed]) -> String {
    if phones.is_empty() {
        return "no phones; bring one up with: brisk lab phone up\n".to_owned();
    }
    let mut table = table(&["id", "root", "device", "preset", "size", "memory", "apps", "variant", "running", "state"]);
    for phone in phones {
        let device = phone.device.as_ref().map_or_else(|| "-".to_owned(), |node| node.display().to_string());
        table.add_row([
            &phone.id.to_string(),
            &phone.root.display().to_string(),
            &device,
            &phone.preset,
            &format_bytes(phone.size_bytes),
            &phone.memory.map_or_else(|| "-".to_owned(), |spec| format_bytes(spec.limit_bytes)),
            &phone.apps.len().to_string(),
            phone.variant.name(),
            &phone.processes.to_string(),
            phone.trouble.as_deref().unwrap_or("up"),
        ]);
    }
    lines(&table)
}
