//! The configuration: /etc/brisk/brisk.toml, and the files of /etc/brisk/brisk.d ([`Loaded`]).
//!
//! Typed; units are in the names; a key that is not known and a value that cannot be used are errors with the line and,
//! where one is near, what was probably meant. A file that leaves something out takes the default for it, so an empty
//! file is one, and no file at all is as good as an empty one. `default.toml` holds the defaults with their comments; a
//! test holds it against the types.

mod choices;
mod complaint;
mod files;
mod hook;
mod write;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use brisk_api::dirs;
use brisk_core::app::{Tolerance, is_named};
use brisk_core::knob::Knob;
use brisk_engine::kit::Section;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub use choices::Choices;
pub use complaint::Complaint;
pub use files::Loaded;
pub use hook::Hook;
pub use write::{Choice, WriteError, choose, edit, main_text};

use crate::engines;

/// The defaults as a file with comments.
pub const DEFAULT_TEXT: &str = include_str!("../default.toml");

/// The least size of a record that is worth its while.
const RECORD_BYTES_MIN: u64 = 64 << 10;

/// Service managers, buses, logs, logins, brisk itself, displays and what draws on them, sound, input.
const PROTECTED: &str = "init dbus* systemd-* elogind* seatd* briskd polkit* accounts-daemon udisks* \
     display-manager gdm* sddm* lightdm* greetd* lxdm* Xorg X Xwayland startx xinit Xsession gnome-shell* \
     org.gnome.Shell* gnome-session* org.gnome.SettingsDaemon* gnome-keyring* startplasma* plasmashell \
     org.kde.plasmashell* plasma-* kwin* ksmserver* sway weston labwc wayfire phoc phosh* cage niri river Hyprland \
     cosmic-comp cosmic-session cosmic-panel cinnamon cinnamon-sessio* cinnamon-launch* muffin xfce4-session xfwm4 \
     xfdesktop xfce4-panel xfsettingsd mate-session marco mate-panel lxqt-session lxqt-panel lxsession lxpanel \
     budgie-* enlightenment* i3 openbox* fluxbox icewm* jwm awesome bspwm dwm herbstluftwm qtile xmonad* \
     matchbox-window* xdg-* pipewire* wireplumber* pulseaudio* ibus* fcitx* maliit* squeekboard*";

/// Package managers, indexers, backups, and what timers start.
const BACKGROUND: &str = "apt-* packagekit* unattended-upgrades* dnf-* fwupd-refresh* snapd.refresh* flatpak-* man-db* \
     mandb* updatedb* plocate-updatedb* locate logrotate* fstrim* e2scrub* mdcheck* btrfs-* snapper-* dpkg-db-backup* \
     systemd-tmpfiles-clean tracker-* localsearch* plasma-baloo* baloo* borg* restic* duplicity* timeshift* \
     syncthing*";

macro_rules! with_sections {
    ({ $(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* } } $($section:ident: $engine:ty,)*) => {
        $(#[$meta])*
        pub struct $name {
            $($fields)*
            $(
                /// Section of the engine of this name.
                #[serde(deserialize_with = "checked")]
                pub $section: <$engine as brisk_engine::kit::Engine>::Config,
            )*
        }
    };
}
engines::with_engines!(with_sections! {
    /// The whole configuration: what follows, and a section for each engine.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Config {
        pub daemon: Daemon,
        /// Which engines run, first before last.
        pub engines: Engines,
        #[serde(deserialize_with = "checked_fixed")]
        pub fixed: BTreeMap<Knob, Fixed>,
        /// What the person chose of apps, by id.
        #[serde(deserialize_with = "checked_choices")]
        pub apps: Choices,
        pub services: Services,
        /// A program of the maker that hears of what happens.
        #[serde(deserialize_with = "checked_hook")]
        pub hook: Hook,
        pub fleet: Fleet,
        /// Defaults of measurements, which the commands read from the same file: passed over here, and checked by
        /// `brisk config check`.
        #[serde(skip_serializing_if = "toml::Table::is_empty")]
        pub bench: toml::Table,
    }
});

/// What concerns the daemon itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Daemon {
    /// Which devices are managed.
    pub devices: Devices,
    /// The group whose users may read from the control socket.
    pub socket_group: String,
    /// Where sessions are recorded.
    pub record: Record,
    /// An app that used processor or network within this time is not frozen, s.
    pub rest_s: u64,
}

impl Default for Daemon {
    fn default() -> Self {
        Self { devices: Devices::Auto, socket_group: "brisk".to_owned(), record: Record::default(), rest_s: 60 }
    }
}

/// What comes from a fleet; for `brisk tune --from`, not for the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fleet {
    /// Folder of the public keys (`*.pub`, of minisign) whose settings are used.
    pub keys: PathBuf,
}

impl Default for Fleet {
    fn default() -> Self {
        Self { keys: "/etc/brisk/fleet-keys".into() }
    }
}

/// Which devices are managed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Devices {
    /// Flash devices of mounted file systems and of swap; of the lab's, those that are mounted and are no phone's.
    #[default]
    Auto,
    These(Vec<String>),
}

/// Where sessions are recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// The file; its older part is in the same directory.
    pub path: PathBuf,
    /// Both together take no more than this; 0 records nothing.
    #[serde(deserialize_with = "record_bytes")]
    pub max_bytes: u64,
}

impl Default for Record {
    fn default() -> Self {
        Self { path: dirs::record(Path::new(dirs::RUN)), max_bytes: 16 << 20 }
    }
}

impl Record {
    /// The record of the daemon with this run directory. A path in a configuration that was named on the command line
    /// is meant for this daemon, and any other for that of the service.
    #[must_use]
    pub fn of(&self, run_dir: &Path, config_is_named: bool) -> Self {
        let is_for_service = !config_is_named || self.path == Self::default().path;
        let path =
            if is_for_service && run_dir != Path::new(dirs::RUN) { dirs::record(run_dir) } else { self.path.clone() };
        Self { path, ..*self }
    }
}

/// Names of units without their ending, and of programs; `*` stands for any characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Services {
    /// Services that keep their priority wherever they run, since apps wait for them.
    pub protected: Vec<String>,
    /// Services that do background work.
    pub background: Vec<String>,
}

impl Services {
    /// The class that the lists give to this name; `None` when it is in none.
    #[must_use]
    pub fn class_of(&self, name: &str) -> Option<Tolerance> {
        let has = |names: &[String]| names.iter().any(|pattern| is_named(pattern, name));
        match () {
            () if has(&self.background) => Some(Tolerance::Background),
            () if has(&self.protected) => Some(Tolerance::System),
            () => None,
        }
    }
}

impl Default for Services {
    fn default() -> Self {
        let list = |names: &str| names.split_ascii_whitespace().map(str::to_owned).collect();
        Self { protected: list(PROTECTED), background: list(BACKGROUND) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Engines {
    /// Which run.
    pub order: Order,
    /// Whether they are tried, by episodes that are held out.
    pub trial: bool,
    /// What they write to swap a day together at most; 0 is no limit.
    pub wear_mib_per_day: u64,
}

impl Default for Engines {
    fn default() -> Self {
        Self { order: Order::Auto, trial: true, wear_mib_per_day: 2_048 }
    }
}

impl Engines {
    /// Names of those that run, first before last.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        match &self.order {
            Order::Auto => engines::by_default(),
            Order::These(names) => names.iter().map(String::as_str).collect(),
        }
    }
}

/// Which engines run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Order {
    /// All but those that were not shown to gain on a whole device, by the evidence of their trials.
    #[default]
    Auto,
    /// These, first before last.
    These(Vec<String>),
}

/// A value as the kernel shows it, written as a text or a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fixed(pub String);

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the configuration cannot be used: make it a readable file, or remove it for the defaults")]
    Read(#[from] brisk_program::files::Error),
    #[error("{}:{complaint}", .path.display())]
    Bad { path: PathBuf, complaint: Complaint },
    #[error("{}: together with the files before it: {what}", .path.display())]
    Together { path: PathBuf, what: String },
}

impl Error {
    /// Whether the file was read, and what stands in it cannot be used.
    #[must_use]
    pub fn is_of_content(&self) -> bool {
        matches!(
            self,
            Self::Bad { .. } | Self::Together { .. } | Self::Read(brisk_program::files::Error::NotText { .. })
        )
    }
}

impl Config {
    /// Reads a configuration from the text of its file.
    ///
    /// # Errors
    /// When a key is not known or a value cannot be used: where, what, and what was probably meant.
    pub fn parse(text: &str) -> Result<Self, Complaint> {
        toml::from_str(text).map_err(|error| Complaint::of(&error, text))
    }

    /// Reads the file at `path` and its drop-in files, with a text that means the same; the defaults when there is none
    /// and `or_default` says that this is good.
    ///
    /// # Errors
    /// As [`Loaded::read`].
    pub fn load(path: &Path, or_default: bool) -> Result<(Self, String), Error> {
        Loaded::read(path, or_default).map(|loaded| (loaded.config, loaded.text))
    }

    /// The fixed settings, as the arbiter takes them.
    #[must_use]
    pub fn fixed_values(&self) -> BTreeMap<Knob, String> {
        self.fixed.iter().map(|(knob, value)| (knob.clone(), value.0.clone())).collect()
    }

    /// What brisk would read as exactly this.
    #[must_use]
    pub fn to_text(&self) -> String {
        toml::to_string(self).expect("a configuration has no value that TOML lacks")
    }
}

impl Serialize for Devices {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::These(names) => names.serialize(serializer),
        }
    }
}

impl Serialize for Order {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::These(names) => names.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Order {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum WordOrNames {
            Word(String),
            Names(Vec<String>),
        }
        let names = match WordOrNames::deserialize(deserializer) {
            Ok(WordOrNames::Word(word)) if word == "auto" => return Ok(Self::Auto),
            Ok(WordOrNames::Names(names)) => names,
            _ => {
                return Err(de::Error::custom(
                    "write \"auto\", or a list of engines such as [\"prefetch\", \"smartio\"]",
                ));
            }
        };
        check_engine_names(&names).map_err(de::Error::custom)?;
        Ok(Self::These(names))
    }
}

impl<'de> Deserialize<'de> for Devices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Devices;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"auto\" or a list of kernel names such as [\"mmcblk0\"]")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Devices, E> {
                if text == "auto" { Ok(Devices::Auto) } else { Err(E::invalid_value(de::Unexpected::Str(text), &self)) }
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Devices, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element::<String>()? {
                    let bare = name.strip_prefix("/dev/").unwrap_or(&name);
                    if bare.is_empty() || bare.starts_with('.') || bare.contains("/.") || bare.contains('\0') {
                        return Err(de::Error::custom(format!("'{name}' is not the name of a block device")));
                    }
                    names.push(bare.to_owned());
                }
                Ok(Devices::These(names))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl<'de> Deserialize<'de> for Fixed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Fixed;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a whole number")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Fixed, E> {
                if text.is_empty() || text.contains(char::is_control) {
                    return Err(E::invalid_value(de::Unexpected::Str(text), &"one line of text"));
                }
                Ok(Fixed(text.to_owned()))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Fixed, E> {
                Ok(Fixed(number.to_string()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

fn record_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    match u64::deserialize(deserializer)? {
        bytes @ 1..RECORD_BYTES_MIN => Err(de::Error::custom(format!(
            "a record of {bytes} bytes holds next to nothing: give at least {RECORD_BYTES_MIN}, or 0 to record nothing"
        ))),
        bytes => Ok(bytes),
    }
}

fn checked<'de, D: Deserializer<'de>, C: Section>(deserializer: D) -> Result<C, D::Error> {
    let config = C::deserialize(deserializer)?;
    config.check().map_err(de::Error::custom)?;
    Ok(config)
}

fn checked_hook<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Hook, D::Error> {
    let hook = Hook::deserialize(deserializer)?;
    hook.words().map_err(de::Error::custom)?;
    Ok(hook)
}

/// A control group has another key each time that it is made, and its maker chooses its name.
fn checked_fixed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<Knob, Fixed>, D::Error> {
    let fixed = BTreeMap::<Knob, Fixed>::deserialize(deserializer)?;
    match fixed.keys().find(|knob| knob.group().is_some()) {
        Some(knob) => Err(de::Error::custom(format!(
            "'{knob}' is of a control group, which comes and goes: say what the app is for in [apps]"
        ))),
        None => Ok(fixed),
    }
}

fn checked_choices<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Choices, D::Error> {
    let choices = Choices::deserialize(deserializer)?;
    choices.check().map_err(de::Error::custom)?;
    Ok(choices)
}

fn check_engine_names(names: &[String]) -> Result<(), String> {
    for (index, name) in names.iter().enumerate() {
        if !engines::NAMES.contains(&name.as_str()) {
            return Err(complaint::no_such("engine", name, engines::NAMES));
        }
        if names[..index].contains(name) {
            return Err(format!("the engine '{name}' is named twice"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
