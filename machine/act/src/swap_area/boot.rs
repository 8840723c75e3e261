//! What switches the areas on after a restart: a unit of systemd, or a line of fstab, which knows no compressed memory.
//! Where the directory of either cannot be written, as on systems with an immutable /etc, nothing does, and the areas
//! are on until the next restart.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use brisk_formats::{add_fstab_swap, fstab_swaps, remove_fstab_swap};
use brisk_program::files::Replacement;
use serde::{Deserialize, Serialize};

use super::record::Record;
use super::{FLASH_PRIORITY, FlashArea, Result, SwapAreaError, SwapPlaces, failed, parent, record, remove, takes_file};

const UNIT: &str = "brisk-swap.service";
/// The first line of the unit, by which it is known.
const MARK: &str = "# Made by 'brisk swap setup'; 'brisk swap undo' removes it.";

/// What switches the areas on after a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum AtBoot {
    Unit {
        file: PathBuf,
        /// Directories that were made for it, the outer ones first.
        #[serde(default)]
        made_dirs: Vec<PathBuf>,
    },
    Fstab {
        file: PathBuf,
        /// Why it is written in place, and not replaced as a whole.
        in_place: Option<String>,
        #[serde(default)]
        is_new: bool,
        /// Whether its last line had no end.
        #[serde(default)]
        ended_last_line: bool,
    },
    /// A line that fstab has already, which stays as it is.
    LineOfOthers {
        file: PathBuf,
    },
    Nothing {
        why: String,
    },
}

/// Finds out, by trying, what can switch them on. `tried` lets what this user may not examine pass.
pub(super) fn choose(
    places: &SwapPlaces,
    area: &FlashArea,
    tried: &mut impl FnMut(&Path, Result<()>) -> Result<()>,
) -> Result<AtBoot> {
    let nothing = |error: &SwapAreaError| AtBoot::Nothing { why: error.whole() };
    if places.has_systemd {
        let (unit, link) = unit(places);
        if fs::symlink_metadata(&unit).is_ok() && !is_ours(&unit) {
            return Err(SwapAreaError::OthersUnit { path: unit });
        }
        let writable = takes_file(&unit).and_then(|()| takes_file(&link));
        return Ok(match tried(&unit, writable) {
            Ok(()) => AtBoot::Unit { file: unit, made_dirs: Vec::new() },
            Err(error) => nothing(&error),
        });
    }
    let file = places.fstab.clone();
    if let Some(line) = fstab_swaps(&fstab(&file)?).into_iter().find(|swap| is_for(&swap.spec, area)) {
        let is_skipped = line.options.split(',').any(|option| option == "noauto");
        let why = || format!("{} has a line for the area already, with the option noauto", file.display());
        return Ok(if is_skipped { AtBoot::Nothing { why: why() } } else { AtBoot::LineOfOthers { file } });
    }
    let mut in_place = None;
    let begun = Replacement::begin(&file).map(|begun| in_place = begun.in_place().map(|why| why.to_string()));
    Ok(match tried(&file, begun.map_err(failed("write", &file))) {
        Ok(()) => AtBoot::Fstab { file, in_place, is_new: false, ended_last_line: false },
        Err(error) => nothing(&error),
    })
}

/// Adds it, after what is needed to remove it is on disk.
pub(super) fn add(places: &SwapPlaces, record: &mut Record) -> Result<()> {
    let (spec, place) = (record.area.as_ref().map(|area| spec(area, &record.uuid)), &places.record);
    match (&mut record.at_boot, spec) {
        (Some(AtBoot::Unit { file, made_dirs }), _) => {
            let (unit, link) = (file.clone(), unit(places).1);
            let missing = parent(&link).ancestors().take_while(|dir| !dir.exists()).map(Path::to_owned);
            *made_dirs = missing.collect::<Vec<_>>().into_iter().rev().collect();
            record::save(place, record)?;
            let wants = parent(&link);
            fs::create_dir_all(wants).map_err(failed("make", wants))?;
            brisk_program::files::replace(&unit, text(places, record).as_bytes()).map_err(failed("write", &unit))?;
            remove(&link)?;
            std::os::unix::fs::symlink(&unit, &link).map_err(failed("make", &link))
        }
        (Some(AtBoot::Fstab { file, is_new, ended_last_line, .. }), Some(spec)) => {
            let file = file.clone();
            let earlier = fstab(&file)?;
            let added = add_fstab_swap(&earlier, &spec, &format!("sw,nofail,pri={FLASH_PRIORITY}"));
            (*is_new, *ended_last_line) = (!file.exists(), added.ended_last_line);
            record::save(place, record)?;
            let write = || {
                let mut new = Replacement::begin(&file)?;
                new.write_all(&added.text)?;
                new.finish()
            };
            write().map_err(failed("write", &file))
        }
        _ => Ok(()),
    }
}

/// Removes it, if it is there.
pub(super) fn remove_all(places: &SwapPlaces, record: &Record) -> Result<()> {
    match &record.at_boot {
        Some(AtBoot::Unit { file, made_dirs }) => {
            let link = unit(places).1;
            if fs::read_link(&link).is_ok_and(|target| target == *file) {
                remove(&link)?;
            }
            // One that the administrator put there meanwhile stays.
            if is_ours(file) {
                remove(file)?;
            }
            for dir in made_dirs.iter().rev() {
                // Others may have put something in.
                let _ = fs::remove_dir(dir);
            }
            Ok(())
        }
        Some(AtBoot::Fstab { file, is_new, ended_last_line, .. }) => {
            let Some(area) = &record.area else { return Ok(()) };
            match remove_fstab_swap(&fstab(file)?, &spec(area, &record.uuid), *ended_last_line) {
                None => Ok(()),
                Some(rest) if rest.is_empty() && *is_new => {
                    let file = fs::canonicalize(file).unwrap_or_else(|_| file.clone());
                    remove(&file)
                }
                Some(rest) => brisk_program::files::replace(file, &rest).map_err(failed("write", file)),
            }
        }
        Some(AtBoot::LineOfOthers { .. } | AtBoot::Nothing { .. }) | None => Ok(()),
    }
}

/// What is left when [`remove_all`] fails, and how it is removed by hand.
pub(super) fn by_hand(places: &SwapPlaces, record: &Record) -> (String, String) {
    match &record.at_boot {
        Some(AtBoot::Fstab { file, .. }) => {
            let spec = record.area.as_ref().map(|area| spec(area, &record.uuid)).unwrap_or_default();
            let spec = String::from_utf8_lossy(&spec).into_owned();
            (
                format!("the line of {spec} in {}", file.display()),
                format!("make {} writable, and remove that line", file.display()),
            )
        }
        _ => {
            let (unit, link) = unit(places);
            let files = format!("{} {}", link.display(), unit.display());
            (
                format!("the unit {}", unit.display()),
                format!("make {} writable, then 'rm {files}'", places.units.display()),
            )
        }
    }
}

fn unit(places: &SwapPlaces) -> (PathBuf, PathBuf) {
    (places.units.join(UNIT), places.units.join("multi-user.target.wants").join(UNIT))
}

/// Whether a unit was made here: not a link, such as that of a masked unit, and not the administrator's.
fn is_ours(unit: &Path) -> bool {
    let is_file = fs::symlink_metadata(unit).is_ok_and(|found| found.is_file());
    is_file && fs::read(unit).is_ok_and(|bytes| bytes.starts_with(MARK.as_bytes()))
}

fn text(places: &SwapPlaces, record: &Record) -> String {
    let program = quoted(&places.program).replace('$', "$$");
    let needs = match &record.area {
        Some(FlashArea::File { path, .. }) => format!("RequiresMountsFor={}\n", quoted(path)),
        Some(FlashArea::Partition { .. }) => {
            // systemd-escape(1): the name of the device's unit.
            let device = format!("dev-disk-by\\x2duuid-{}.device", record.uuid.replace('-', "\\x2d"));
            format!("# What=/dev/disk/by-uuid/{}\nWants={device}\nAfter={device}\n", record.uuid)
        }
        None => String::new(),
    };
    format!(
        "{MARK}\n[Unit]\nDescription=brisk: swap areas of 'brisk swap setup'\nDocumentation=man:brisk-swap(1)\n\
         After=local-fs.target\n{needs}\n[Service]\nType=oneshot\nRemainAfterExit=yes\n\
         ExecStart={program} swap start\n\n[Install]\nWantedBy=multi-user.target\n"
    )
}

/// A path in a unit (systemd.syntax(7)): in quotes, and without specifiers.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{path}\"")
}

fn fstab(file: &Path) -> Result<Vec<u8>> {
    match fs::read(file) {
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        text => text.map_err(failed("read", file)),
    }
}

/// What names the area in fstab: its UUID, which stays when kernel names move; a file has its path.
fn spec(area: &FlashArea, uuid: &str) -> Vec<u8> {
    match area {
        FlashArea::File { path, .. } => path.as_os_str().as_encoded_bytes().to_vec(),
        FlashArea::Partition { .. } => format!("UUID={uuid}").into_bytes(),
    }
}

/// Whether an entry of fstab names the area by something that stays when it is made.
fn is_for(spec: &[u8], area: &FlashArea) -> bool {
    let spec = String::from_utf8_lossy(spec).into_owned();
    let named = match spec.split_once('=') {
        Some(("PARTUUID", id)) => Path::new("/dev/disk/by-partuuid").join(id.trim_matches('"')),
        Some(("PARTLABEL", label)) => Path::new("/dev/disk/by-partlabel").join(label.trim_matches('"')),
        // The area gets another UUID and label.
        Some(("UUID" | "LABEL", _)) => return false,
        _ => PathBuf::from(spec),
    };
    let device = |path: &Path| fs::metadata(path).ok().map(|found| found.rdev()).filter(|number| *number != 0);
    named == area.path() || device(&named).is_some_and(|number| device(area.path()) == Some(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_a_unit_has_no_special_signs() {
        assert_eq!(quoted(Path::new("/opt/100 %/\"a\"\\b")), "\"/opt/100 %%/\\\"a\\\"\\\\b\"");
    }

    #[test]
    fn a_line_for_the_same_file_or_device_is_found() {
        let file = FlashArea::File { path: "/swap file".into(), size_bytes: 1 };
        assert!(is_for(b"/swap file", &file) && !is_for(b"/swap", &file) && !is_for(b"UUID=/swap file", &file));
        let device = FlashArea::Partition { path: "/dev/null".into() };
        assert!(is_for(b"/dev/../dev/null", &device) && !is_for(b"/dev/zero", &device));
    }
}
