//! How phones look on a terminal. Values in, text out.

use brisk_core::units::format_bytes;
use brisk_phone::{Catalogue, Image, Listed};

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
    format!("phone {}, {} of {} on {device}{apps}\n", listed.id, format_bytes(listed.size_bytes), listed.preset)
}

/// `brisk lab phone list`.
pub(super) fn list(phones: &[Listed]) -> String {
    if phones.is_empty() {
        return "no phones; bring one up with: brisk lab phone up\n".to_owned();
    }
    let mut table = table(&["id", "root", "device", "preset", "size", "apps", "variant", "running", "state"]);
    for phone in phones {
        let device = phone.device.as_ref().map_or_else(|| "-".to_owned(), |node| node.display().to_string());
        table.add_row([
            &phone.id.to_string(),
            &phone.root.display().to_string(),
            &device,
            &phone.preset,
            &format_bytes(phone.size_bytes),
            &phone.apps.len().to_string(),
            phone.variant.name(),
            &phone.processes.to_string(),
            phone.trouble.as_deref().unwrap_or("up"),
        ]);
    }
    lines(&table)
}
