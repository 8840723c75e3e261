//! The apps of the phone: packages and launch command.
//!
//! The list is `apps.toml`, read at build time. A test checks what the other modules rely on: short unique names and a
//! group for each.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::launch::App as Launch;
use crate::phone::error::{Error, Result};
use crate::phone::user;

/// The file; part of the key of an image.
pub(crate) const TEXT: &str = include_str!("apps.toml");

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    pub version: u32,
    /// Packages of every image.
    pub base: Vec<String>,
    /// The apps, in the order of their groups.
    pub apps: Vec<App>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct App {
    pub name: String,
    /// Its kind: `browser`, `office`, `reader`, ...
    pub group: String,
    pub packages: Vec<String>,
    /// Command that runs once during the image build, as the phone's user, to create the document that the app opens.
    #[serde(default)]
    pub prepare: Vec<String>,
    /// Program and arguments inside of the phone.
    pub command: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Approximate bytes that a cold launch reads, in MB.
    pub reads_mb: u64,
    /// Memory of its own once it is open, without its files, in MiB.
    pub memory_mib: u64,
}

/// The control group of the user's apps on a phone with a service manager.
const APPS_GROUP: &str = "/sys/fs/cgroup/user.slice/user-10000.slice/user@10000.service/app.slice";

/// The library that turns syncs off, in a phone that is without them (`brisk phone --without sync`).
pub(crate) const WITHOUT_SYNC: &str = "/run/phone/nosync.so";

/// An app of the catalogue, as the user of this machine launches it where this machine is a phone.
///
/// # Errors
/// When there is no such app.
pub(crate) fn on_this_machine(name: &str) -> Result<Launch> {
    let app = Catalogue::builtin().app(name)?;
    let mut env = user::environment();
    env.extend(app.env.iter().map(|(name, value)| (name.into(), value.into())));
    if Path::new(WITHOUT_SYNC).is_file() {
        env.push(("LD_PRELOAD".into(), WITHOUT_SYNC.into()));
    }
    Ok(Launch {
        id: app.name.clone(),
        env,
        clean_env: true,
        user: Some(user::user()),
        working_dir: Some(user::HOME.into()),
        parent_group: Some(APPS_GROUP.into()),
        ..Launch::from_command(app.command.iter().map(Into::into).collect())
    })
}

/// The app that a command line means: by its name in the catalogue or by its program.
///
/// # Errors
/// When there is no such app.
pub(crate) fn of_command(command: &[OsString]) -> Result<&'static App> {
    let catalogue = Catalogue::builtin();
    let name = command.first().map(|program| program.to_string_lossy()).unwrap_or_default();
    let found = catalogue.apps.iter().find(|app| app.command.first().is_some_and(|program| *program == name));
    found.map_or_else(|| catalogue.app(&name), Ok)
}

impl Catalogue {
    #[must_use]
    pub fn builtin() -> &'static Self {
        static BUILTIN: LazyLock<Catalogue> =
            LazyLock::new(|| toml::from_str(TEXT).expect("apps.toml is part of the program, and a test reads it"));
        &BUILTIN
    }

    /// Finds an app by name.
    ///
    /// # Errors
    /// When there is no such app.
    pub fn app(&self, name: &str) -> Result<&App> {
        self.apps.iter().find(|app| app.name == name).ok_or_else(|| {
            let near = |app: &&App| {
                let (a, b) = (app.name.as_str(), name);
                a.starts_with(b) || b.starts_with(a) || a.contains(b) || app.packages.iter().any(|package| package == b)
            };
            let similar = self.apps.iter().find(near).filter(|_| !name.is_empty()).map(|app| app.name.clone());
            Error::NoSuchApp { name: name.to_owned(), similar }
        })
    }

    /// The apps of these names, in the order of the catalogue; all when `names` is empty.
    ///
    /// # Errors
    /// When there is no app of a name.
    pub fn choose(&self, names: &[String]) -> Result<Vec<&App>> {
        for name in names {
            self.app(name)?;
        }
        Ok(self.apps.iter().filter(|app| names.is_empty() || names.contains(&app.name)).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn the_catalogue_has_all_groups() {
        let catalogue = Catalogue::builtin();
        assert!(catalogue.apps.len() >= 10);
        let groups: BTreeSet<&str> = catalogue.apps.iter().map(|app| app.group.as_str()).collect();
        for group in
            ["browser", "office", "reader", "editor", "creative", "messaging", "media", "game", "tool", "terminal"]
        {
            assert!(groups.contains(group), "{group}");
        }
    }

    #[test]
    fn every_app_has_a_name_packages_and_a_command() {
        let catalogue = Catalogue::builtin();
        let unique: BTreeSet<&str> = catalogue.apps.iter().map(|app| app.name.as_str()).collect();
        assert_eq!(unique.len(), catalogue.apps.len());
        for app in &catalogue.apps {
            assert!(app.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{}", app.name);
            assert!(!app.packages.is_empty() && !app.command.is_empty(), "{}", app.name);
            assert!(app.reads_mb > 0, "{}", app.name);
            assert!(app.memory_mib > 0, "{}", app.name);
        }
    }

    #[test]
    fn what_an_app_opens_is_there_or_made_before() {
        let documents = crate::phone::documents();
        for app in &Catalogue::builtin().apps {
            let opened = app.command.iter().filter_map(|word| word.split_once("/home/user/Documents/"));
            for (_, file) in opened {
                let (stem, _) = file.split_once('.').expect("a name with an ending");
                let is_made = app.prepare.iter().any(|word| word.contains(&format!("/{stem}.")));
                assert!(is_made || documents.iter().any(|document| document.name == file), "{}: {file}", app.name);
            }
        }
    }

    #[test]
    fn a_choice_keeps_the_catalogues_order_and_unknown_names_get_a_suggestion() {
        let catalogue = Catalogue::builtin();
        let chosen = catalogue.choose(&names(&["xterm", "evince"])).expect("both are there");
        assert_eq!(chosen.iter().map(|app| app.name.as_str()).collect::<Vec<_>>(), ["evince", "xterm"]);
        assert_eq!(catalogue.choose(&[]).expect("all").len(), catalogue.apps.len());
        let said = |name: &str| catalogue.choose(&names(&[name])).expect_err("unknown").to_string();
        assert!(said("evinc").contains("did you mean 'evince'"));
        assert!(said("dino-im").contains("did you mean 'dino'"));
        assert!(!said("").contains("did you mean"));
        assert!(said("netscape").contains("brisk phone apps"));
    }

    #[test]
    fn an_app_is_known_by_its_name_or_its_program() {
        let known = |words: &[&str]| of_command(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(known(&["dino"]).expect("there").name, "dino");
        assert_eq!(known(&["dino-im", "--help"]).expect("its program").name, "dino");
        assert!(known(&["netscape"]).is_err() && known(&[]).is_err());
    }

    #[test]
    fn every_script_that_comes_with_brisk_is_for_an_app_of_the_phone() {
        use crate::launch::script;
        for (name, _) in script::SHIPPED {
            let script = script::load(name).expect("it holds together");
            let command: Vec<OsString> = script.command.iter().map(OsString::from).collect();
            assert!(of_command(&command).is_ok(), "{name}");
        }
    }
}
