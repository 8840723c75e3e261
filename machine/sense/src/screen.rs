//! What shows a picture: connectors of graphics cards (kernel: Documentation/gpu/drm-kms.rst;
//! drivers/gpu/drm/drm_sysfs.c) and lights behind panels (Documentation/ABI/stable/sysfs-class-backlight).

use std::path::Path;

use brisk_formats::fields;

use crate::error::{Absent as _, Result};
use crate::machine::Sense;

/// A connector of a graphics card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connector {
    /// Its name, such as `card0-eDP-1`.
    pub name: String,
    /// Whether a display is there; always so for a panel that is built in.
    pub is_connected: bool,
    /// Whether a picture goes to it: a display controller feeds it, and it is not in a saving state (DPMS).
    pub is_on: bool,
}

impl Connector {
    /// Whether it leads to a panel of the device itself that is dark without its light. Panels on DPI may be
    /// reflective, as electronic paper.
    #[must_use]
    pub fn needs_light(&self) -> bool {
        let kind = self.name.split_once('-').map_or("", |(_, kind)| kind);
        ["eDP", "LVDS", "DSI"].iter().any(|panel| kind.starts_with(panel))
    }
}

/// A light behind a panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backlight {
    /// Its name, such as `intel_backlight`.
    pub name: String,
    /// Whether it has power; `None` when it does not say. A light at brightness 0 has: the dimmest step of a panel may
    /// be seen, and a reflective display is read without its front light.
    pub is_on: Option<bool>,
}

impl Sense {
    /// All connectors of graphics cards; empty without such a card.
    ///
    /// # Errors
    /// When a file is not readable.
    pub fn connectors(&self) -> Result<Vec<Connector>> {
        let root = Path::new("/sys/class/drm");
        let mut connectors = Vec::new();
        for name in self.names_in(root).or_hidden()?.unwrap_or_default() {
            let dir = root.join(&name);
            // A card itself has none of these.
            let Some(status) = self.text_optional(dir.join("status"))? else { continue };
            let is = |file: &str, value: &str| -> Result<bool> {
                Ok(self.text_optional(dir.join(file))?.is_none_or(|text| text == value))
            };
            let is_on = is("enabled", "enabled")? && is("dpms", "On")?;
            connectors.push(Connector { is_connected: status == "connected", is_on, name });
        }
        Ok(connectors)
    }

    /// All lights behind panels; on Android, where no connector tells, those that older devices have among their lamps.
    ///
    /// # Errors
    /// When a file is not readable or not understood.
    pub fn backlights(&self) -> Result<Vec<Backlight>> {
        let number = |path: &Path| self.parse_optional(path, |bytes| fields::only_number::<u64>("brightness", bytes));
        let mut lights = Vec::new();
        let root = Path::new("/sys/class/backlight");
        for name in self.names_in(root).or_hidden()?.unwrap_or_default() {
            // 0 is on, and all else a way of being off (FB_BLANK_UNBLANK of include/uapi/linux/fb.h).
            let is_on = number(&root.join(&name).join("bl_power"))?.map(|power| power == 0);
            lights.push(Backlight { name, is_on });
        }
        if lights.is_empty() && self.connectors()?.is_empty() {
            let root = Path::new("/sys/class/leds");
            for name in self.names_in(root).or_hidden()?.unwrap_or_default() {
                // Lamps have no power state: Android sets their brightness to 0 when the screen is off, and only then.
                if matches!(name.as_str(), "lcd-backlight" | "lcd-backlight_1" | "backlight") {
                    let is_on = number(&root.join(&name).join("brightness"))?.map(|brightness| brightness > 0);
                    lights.push(Backlight { name, is_on });
                }
            }
        }
        Ok(lights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sense(files: &[(&str, &str)]) -> (tempfile::TempDir, Sense) {
        let root = tempfile::tempdir().expect("a directory");
        for (path, text) in files {
            let path = root.path().join("sys/class").join(path);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let sense = Sense::new(root.path());
        (root, sense)
    }

    #[test]
    fn a_connector_is_on_when_it_is_fed_and_not_asleep() {
        let mut files = vec![("drm/card0/dev", "226:0\n"), ("drm/version", "drm 1.1.0 20060810\n")];
        for (name, status, enabled, dpms) in [
            ("card0-eDP-1", "connected\n", "enabled\n", "On\n"),
            ("card0-HDMI-A-1", "disconnected\n", "disabled\n", "Off\n"),
            ("card1-DP-2", "connected\n", "enabled\n", "Off\n"),
        ] {
            for (file, text) in [("status", status), ("enabled", enabled), ("dpms", dpms)] {
                files.push((Box::leak(format!("drm/{name}/{file}").into_boxed_str()), text));
            }
        }
        let (_root, sense) = sense(&files);
        let found = sense.connectors().expect("readable");
        let found: Vec<_> =
            found.iter().map(|one| (one.name.as_str(), one.is_connected, one.is_on, one.needs_light())).collect();
        let expected = [
            ("card0-HDMI-A-1", false, false, false),
            ("card0-eDP-1", true, true, true),
            ("card1-DP-2", true, false, false),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_light_is_on_while_it_has_power_however_dim() {
        let (_root, sense) = sense(&[
            ("backlight/a/bl_power", "0\n"),
            ("backlight/a/actual_brightness", "0\n"),
            ("backlight/a/brightness", "0\n"),
            ("backlight/b/bl_power", "4\n"),
            ("backlight/b/actual_brightness", "7\n"),
            ("backlight/c/brightness", "0\n"),
            ("leds/lcd-backlight/brightness", "0\n"),
        ]);
        let lights: Vec<Option<bool>> = sense.backlights().expect("readable").iter().map(|light| light.is_on).collect();
        assert_eq!(lights, [Some(true), Some(false), None]);
    }

    #[test]
    fn an_old_phone_has_its_light_among_the_lamps() {
        let (_root, sense) = sense(&[("leds/lcd-backlight/brightness", "0\n"), ("leds/red/brightness", "255\n")]);
        let expected = [Backlight { name: "lcd-backlight".to_owned(), is_on: Some(false) }];
        assert_eq!(sense.backlights().expect("readable"), expected);
        let (_root, none) = self::sense(&[]);
        assert_eq!((none.backlights().expect("none").len(), none.connectors().expect("none").len()), (0, 0));
    }
}
