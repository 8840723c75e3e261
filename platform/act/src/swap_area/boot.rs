//! What switches the areas on after a restart: a unit of systemd, or a line of fstab, which knows no compressed memory.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::{FLASH_PRIORITY, FlashArea, Result, SwapPlaces, failed, remove, write_whole};

const UNIT: &str = "brisk-swap.service";

/// Adds it. What is there already is replaced.
pub(super) fn add(places: &SwapPlaces, area: &FlashArea) -> Result<()> {
    if !places.has_systemd {
        let (mut text, line) = (fstab(places)?, line(area));
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        return write_whole(&places.fstab, &(text + &line + "\n"));
    }
    let (unit, link) = unit(places);
    let wants = link.parent().map_or_else(|| places.units.clone(), PathBuf::from);
    fs::create_dir_all(&wants).map_err(failed("make", &wants))?;
    let text = format!(
        "[Unit]\nDescription=brisk: swap areas of 'brisk swap setup'\nDocumentation=man:brisk-swap(1)\nAfter=local-fs.target\n\n\
         [Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=\"{}\" swap start\n\n[Install]\nWantedBy=multi-user.target\n",
        places.program.display()
    );
    write_whole(&unit, &text)?;
    remove(&link)?;
    std::os::unix::fs::symlink(&unit, &link).map_err(failed("make", &link))
}

/// Removes it, if it is there.
pub(super) fn remove_all(places: &SwapPlaces, area: &FlashArea) -> Result<()> {
    let (unit, link) = unit(places);
    remove(&link)?;
    remove(&unit)?;
    remove_line(places, area)
}

/// Removes the line of the area; others stay as they are.
fn remove_line(places: &SwapPlaces, area: &FlashArea) -> Result<()> {
    let (text, line) = (fstab(places)?, line(area));
    if !text.lines().any(|found| found == line) {
        return Ok(());
    }
    let kept: String = text.split_inclusive('\n').filter(|found| found.trim_end_matches('\n') != line).collect();
    write_whole(&places.fstab, &kept)
}

fn unit(places: &SwapPlaces) -> (PathBuf, PathBuf) {
    (places.units.join(UNIT), places.units.join("multi-user.target.wants").join(UNIT))
}

fn fstab(places: &SwapPlaces) -> Result<String> {
    match fs::read_to_string(&places.fstab) {
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        text => text.map_err(failed("read", &places.fstab)),
    }
}

/// The line of the area (fstab(5)): blanks of a path are written as octal numbers.
fn line(area: &FlashArea) -> String {
    let escape = |byte: &u8| match byte {
        b' ' | b'\t' | b'\n' | b'\\' | b'#' => format!("\\{byte:03o}"),
        _ => String::from_utf8_lossy(&[*byte]).into_owned(),
    };
    let path = area.path();
    let path = match path.to_str() {
        Some(text) => text.chars().map(|c| if c.is_ascii() { escape(&(c as u8)) } else { c.to_string() }).collect(),
        None => path.as_os_str().as_bytes().iter().map(escape).collect::<String>(),
    };
    format!("{path} none swap sw,nofail,pri={FLASH_PRIORITY} 0 0")
}
