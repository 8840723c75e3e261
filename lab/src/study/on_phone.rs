//! An emulated phone for one measurement: chosen by options, brought up, and gone with it.
//!
//! Rights, preset and apps are checked before minutes go into an image. A phone that was brought
//! up here is taken down when its [`Phone`] goes, however the measurement ends; one that stood before stays.

mod choice;

use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) use self::choice::Choice;
use crate::launch::series::Step;
use crate::launch::{App, Surroundings};
use crate::phone::{Catalogue, Home, MemorySpec, NewPhone, Phone, Phones};
use crate::results::Header;
use anyhow::{Context as _, bail};
use brisk_command::session::{Session, lab_late};
use brisk_sense::Sense;

use crate::command::device::phone as lab_phone;
use crate::study::other_daemons;

/// Adds daemons that manage the phone, and preset and fidelity of the flash, to the head of a report; of a phone that
/// stays up, the session does it when the report is shown, as for other devices.
pub(crate) fn tell(choice: &Choice, header: &mut Header, phone: &Phone) -> anyhow::Result<()> {
    header.warnings.extend(other_daemons::warnings(&Sense::default(), phone)?);
    if choice.phone.is_some() {
        return Ok(());
    }
    let flash = phone.flash()?;
    if let Some(device) = &mut header.environment.device {
        device.lab_preset = Some(flash.preset.clone());
    }
    header.warnings.extend(lab_late(&flash));
    Ok(())
}

/// Takes a phone down that was brought up for the measurement; one that stood before stays.
pub(crate) fn leave(choice: &Choice, phone: Phone) -> anyhow::Result<()> {
    if choice.phone.is_some() {
        phone.end_apps()?;
        return Ok(());
    }
    let said = phone.down(true).context("cannot take the phone down; try brisk lab phone down --all --force")?;
    said.iter().for_each(|sentence| brisk_program::info!("{sentence}"));
    Ok(())
}

/// Brings up the chosen phone with `apps`, or finds the one that is up.
pub(crate) fn bring(choice: &Choice, session: &Session, apps: &[&crate::phone::App]) -> anyhow::Result<Brought> {
    if let Some(id) = &choice.phone {
        let phone = Phones::new(session.run_dir()).find(Some(id))?;
        return Ok(Brought::Up(Box::new(phone)));
    }
    let Some(preset) = &choice.preset else { bail!("no phone is wanted: name a --preset or a --phone") };
    let wanted = Wanted {
        preset,
        size_bytes: choice.size,
        scheduler: choice.scheduler.as_deref(),
        cache_dir: choice.cache_dir.as_ref(),
        memory: None,
    };
    let names: Vec<String> = apps.iter().map(|app| app.name.clone()).collect();
    wanted.up(session, &names)
}

/// A phone that is to be made.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    /// Preset of its flash, or a file.
    pub(crate) preset: &'a str,
    pub(crate) size_bytes: u64,
    /// Absent: as the lab chooses.
    pub(crate) scheduler: Option<&'a str>,
    /// Absent: where images are normally.
    pub(crate) cache_dir: Option<&'a PathBuf>,
    /// Its memory; absent: all of this machine's.
    pub(crate) memory: Option<MemorySpec>,
}

/// What bringing up a phone came to.
pub(crate) enum Brought {
    Up(Box<Phone>),
    Stopped,
}

impl Wanted<'_> {
    /// Its parameters, without image and apps.
    fn new_phone(&self, session: &Session) -> anyhow::Result<NewPhone> {
        let run_dir = session.run_dir();
        Ok(NewPhone {
            preset: self.preset.to_owned(),
            set: Vec::new(),
            size_bytes: self.size_bytes,
            scheduler: self.scheduler.map(str::to_owned),
            memory: self.memory,
            image: PathBuf::new(),
            apps: Vec::new(),
            server: crate::command::device::brisk_lab(run_dir, &["serve"])?,
            take_down: crate::command::device::brisk_lab(run_dir, &["down", "--force"])?,
            keep: false,
        })
    }

    /// Refuses what cannot be made, before minutes go into an image or into what comes before it.
    pub(crate) fn check(&self, session: &Session) -> anyhow::Result<()> {
        Ok(Phones::new(session.run_dir()).check_flash(&self.new_phone(session)?)?)
    }

    /// Brings it up with at least `apps` (names of the catalogue). It goes with the value, unless it is kept.
    pub(crate) fn up(&self, session: &Session, apps: &[String]) -> anyhow::Result<Brought> {
        let phones = Phones::new(session.run_dir());
        let mut new = self.new_phone(session)?;
        phones.check_flash(&new)?;
        let images = lab_phone::images(self.cache_dir)?;
        let mut progress = |doing: &str| session.show(0.0, doing);
        // An image of all apps serves where there is one; else a smaller one of the chosen is built sooner.
        let made = images.get(apps, session.stop_flag(), &mut progress).and_then(|image| {
            (new.image, new.apps) = (image.path, image.about.apps);
            phones.up(&new, session.stop_flag(), &mut progress)
        });
        let (phone, repaired) = match made {
            Err(crate::phone::Error::Stopped) => {
                session.clear();
                return Ok(Brought::Stopped);
            }
            made => made?,
        };
        for sentence in repaired {
            brisk_program::notice!("repaired: {sentence}");
        }
        Ok(Brought::Up(Box::new(phone)))
    }
}

/// The app of the phone's catalogue that a command line means: by its name there or by its program.
pub(crate) fn known(command: &[OsString]) -> anyhow::Result<&'static crate::phone::App> {
    let catalogue = Catalogue::builtin();
    let name = command.first().map(|program| program.to_string_lossy()).unwrap_or_default();
    let found = catalogue.apps.iter().find(|app| app.name == name || app.command.first().is_some_and(|p| *p == name));
    found.with_context(|| {
        let names: Vec<&str> = catalogue.apps.iter().map(|app| app.name.as_str()).collect();
        format!("'{name}' is not an app of the phone; there are {}", names.join(", "))
    })
}

/// `known` on `phone`, watched on `display`: as the catalogue launches it, or by `command` where that has arguments.
pub(crate) fn app(
    phone: &Phone,
    known: &crate::phone::App,
    command: &[OsString],
    display: &str,
) -> anyhow::Result<App> {
    let mut app = phone.app(known, display)?;
    if let [_, arguments @ ..] = command
        && !arguments.is_empty()
    {
        app.command.truncate(1);
        app.command.extend_from_slice(arguments);
    }
    Ok(app)
}

/// What is there for the launches of one of the compared setups.
pub(crate) trait AtOne {
    /// Before a launch of the setup with that place.
    fn before(&mut self, setup: usize) -> crate::phone::Result<()>;
    fn after(&mut self) -> crate::phone::Result<()>;
}

/// Between two launches or repetitions: on a phone, nothing of the one before is at work in the next.
pub(crate) struct Between<'a> {
    pub(crate) phone: Option<&'a Phone>,
    /// What the user's home is to be again after each.
    pub(crate) home: Option<Home>,
    /// Whose bar shows it.
    pub(crate) session: &'a Session,
    /// What is there for one of the setups.
    pub(crate) companion: Option<&'a mut dyn AtOne>,
}

impl Surroundings for Between<'_> {
    fn before(&mut self, step: Step) -> crate::launch::Result<()> {
        let begun = self.companion.as_mut().map_or(Ok(()), |companion| companion.before(step.setup));
        begun.map_err(|error| crate::launch::Error::Surroundings(Box::new(error)))
    }

    fn after(&mut self, _: Step) -> crate::launch::Result<()> {
        let Some(phone) = self.phone else { return Ok(()) };
        let mut companion = self.companion.as_mut();
        let mut restored = || -> crate::phone::Result<()> {
            phone.end_apps()?;
            companion.as_mut().map_or(Ok(()), |companion| companion.after())?;
            self.home.as_ref().map_or(Ok(0), |home| phone.restore_home(home))?;
            Ok(())
        };
        restored().map_err(|error| crate::launch::Error::Surroundings(Box::new(error)))
    }

    fn progress(&mut self, done: usize, all: usize, doing: &str) {
        self.session.show(done as f64 / all as f64, doing);
    }
}

#[cfg(test)]
mod tests {
    use crate::launch::script;

    use super::*;

    #[test]
    fn an_app_is_known_by_its_name_or_its_program_and_what_is_unknown_lists_them() {
        let known = |words: &[&str]| known(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(known(&["dino"]).expect("there").name, "dino");
        assert_eq!(known(&["dino-im", "--help"]).expect("its program").name, "dino");
        let said = known(&["netscape"]).expect_err("not there").to_string();
        assert!(said.contains("netscape") && said.contains("chromium, lowriter"), "{said}");
    }

    #[test]
    fn every_script_that_comes_with_brisk_is_for_an_app_of_the_phone() {
        for (name, _) in script::SHIPPED {
            let script = script::load(name).expect("it holds together");
            let command: Vec<OsString> = script.command.iter().map(OsString::from).collect();
            assert!(known(&command).is_ok(), "{name}");
        }
    }
}
