//! What studies keep for the daemon: one file for each model of device, of which each study writes its part.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use brisk_api::dirs;
use brisk_command::output::replace;
use brisk_command::session::Session;
use brisk_command::terminal::remark;
use brisk_core::device::Device;
use brisk_daemon::config::Devices;
use brisk_daemon::{devices, profiles};
use brisk_engine::smartio::{Profile, shipped};
use brisk_report::results::Header;

const UNNAMED: &str = "the device reports no model name: give one with --model, the same as `brisk status` shows";

/// Options of a study whose outcome can be kept.
#[derive(Debug, clap::Args)]
pub(super) struct Keep {
    /// Keep the result for this model of device, for briskd
    #[arg(long)]
    save: bool,
    /// The device's model, under which it is kept [default: the name that it reports; of an emulated device its preset]
    #[arg(long, value_name = "NAME", requires = "save")]
    model: Option<String>,
    /// Directory of the profiles
    #[arg(long, value_name = "DIR", default_value = dirs::PROFILES, requires = "save")]
    profiles: PathBuf,
}

/// Who found settings that no caller says more about.
const FOUND_BY: &str = "Found by `brisk study`";

impl Keep {
    /// Keeps in `profiles`, under the model that the device reports.
    pub(super) fn under(profiles: &Path) -> Self {
        Self { save: true, model: None, profiles: profiles.to_owned() }
    }

    fn dir(&self) -> PathBuf {
        self.profiles.join(brisk_engine::smartio::NAME)
    }

    /// Makes sure that something can be kept, before minutes are spent.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        if self.save {
            let dir = self.dir();
            fs::create_dir_all(&dir).with_context(|| format!("cannot make {} to keep the outcome", dir.display()))?;
        }
        Ok(())
    }

    /// Writes what `change` makes of the profile of the device that was measured, if that is wanted. `change` may say
    /// why there is nothing to keep.
    pub(super) fn keep(
        &self,
        measured: &Header,
        session: &Session,
        change: impl FnOnce(&mut Profile) -> Result<(), &'static str>,
    ) -> anyhow::Result<()> {
        self.keep_of(FOUND_BY, measured, session, change)
    }

    /// The same; `origin` says where it is from.
    pub(super) fn keep_of(
        &self,
        origin: &str,
        measured: &Header,
        session: &Session,
        change: impl FnOnce(&mut Profile) -> Result<(), &'static str>,
    ) -> anyhow::Result<()> {
        if !self.save {
            return Ok(());
        }
        let device = described(measured, session)?;
        let model = self.model.clone().or_else(|| Some(device.model.clone())).filter(|model| !model.trim().is_empty());
        let model = model.context(UNNAMED)?;
        let file = self.dir().join(brisk_engine::smartio::file_name(&model));
        let mut profile = load(&file)?.unwrap_or_else(|| Profile { model, ..shipped(&device.kind) });
        if let Err(why) = change(&mut profile) {
            brisk_program::info!("no profile is kept: {why}");
            return Ok(());
        }
        let text = toml::to_string(&profile).context("cannot write the profile as TOML")?;
        let origin = origin.replace(char::is_control, " ");
        let text = format!("# {origin}; briskd uses it for devices of this model.\n{text}");
        replace(&file, text.as_bytes())?;
        remark(&format!("kept in {}", file.display()));
        Ok(())
    }
}

/// The profile in `file`; `None` when there is none.
pub(super) fn load(file: &Path) -> anyhow::Result<Option<Profile>> {
    match brisk_program::files::read_text(file, profiles::FILE_BYTES_MAX) {
        Ok(text) => {
            let unusable = || format!("{} cannot be used: remove it to measure anew", file.display());
            toml::from_str(&text).map(Some).with_context(unusable)
        }
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The device that was measured, in the words by which briskd will know it.
fn described(measured: &Header, session: &Session) -> anyhow::Result<Device> {
    let name = &measured.environment.device.as_ref().context(UNNAMED)?.name;
    let mut described = devices::managed(&session.sense(), &Devices::These(vec![name.clone()]))?;
    described.pop().context(UNNAMED)
}
