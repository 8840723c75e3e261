//! `brisk lab phone`: emulated phones with real apps.

pub(crate) mod arguments;

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use self::arguments::{Args, Command, Down, SwapName, Up};
use crate::phone::{
    Catalogue, Error, Images, Inside, MemorySpec, NewPhone, Phones, SwapKind, Variant, become_app, serve_writer,
};
use anyhow::Context as _;
use brisk_command::for_each;
use brisk_command::json::Document;
use brisk_command::signals::Signals;
use brisk_command::terminal::{remark, spinner, step};
use serde_json::json;

use super::phone_view as view;

/// Where images are kept by default.
const CACHE_DIR: &str = "/var/cache/brisk";

/// Runs it, in the lab whose state is in `run_dir`.
pub(super) fn run(args: &Args, run_dir: &Path) -> anyhow::Result<ExitCode> {
    let images = images(args.cache_dir.as_ref())?;
    let phones = Phones::new(run_dir);
    match &args.command {
        Command::Apps { json } => {
            let catalogue = Catalogue::builtin();
            json.show(&Document::new("phone_apps", json!({ "apps": catalogue.apps })), || view::apps(catalogue))?;
        }
        Command::Build { apps, json } => {
            let signals = Signals::watch()?;
            let built = follow(&signals, |stop, progress| images.build(apps, stop, progress));
            let image = match built {
                Err(Error::Stopped) => return Ok(signals.was_stopped()),
                built => built?,
            };
            json.show(&Document::new("phone_image", &image), || view::built(&image))?;
        }
        Command::Up(up) => return make(&phones, &images, up, run_dir),
        Command::List { json } => {
            let listed = phones.list()?;
            json.show(&Document::new("phone_list", json!({ "phones": listed })), || view::list(&listed))?;
        }
        Command::Enter { id, command } => {
            let phone = phones.find(id.as_deref())?;
            let display = std::env::var("DISPLAY").ok();
            let shell = || vec![OsString::from("/bin/sh")];
            let command = if command.is_empty() { shell() } else { command.clone() };
            let never: Infallible = become_app(&phone.command(command, display.as_deref()))?;
            match never {}
        }
        Command::Variant { id, variant: variant_name } => {
            let mut phone = phones.find(id.as_deref())?;
            follow(&Signals::watch()?, |_, progress| phone.set_variant(variant(variant_name), progress))?;
        }
        Command::Down(down) => return take_down(&phones, down),
        Command::Repair => phones.repair()?.iter().for_each(|sentence| brisk_program::notice!("repaired: {sentence}")),
        Command::Write { root } => serve_writer(root)?,
        Command::Fill => {
            let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
            crate::memory::serve_balloon(input, output).context("cannot fill memory")?;
        }
        Command::Inside { user, bind, display, root, command } => {
            let inside = Inside {
                root: root.clone(),
                as_user: *user,
                binds: bind.clone(),
                display: display.clone(),
                command: command.clone(),
            };
            let never: Infallible = inside.run()?;
            match never {}
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn make(phones: &Phones, images: &Images, up: &Up, run_dir: &Path) -> anyhow::Result<ExitCode> {
    let mut new = NewPhone {
        preset: up.preset.clone(),
        set: up.set.clone(),
        size_bytes: up.size,
        scheduler: up.scheduler.clone(),
        memory: memory(up),
        image: up.image.clone().unwrap_or_default(),
        apps: Vec::new(),
        server: super::brisk_lab(run_dir, &["serve"])?,
        take_down: super::brisk_lab(run_dir, &["down", "--force"])?,
        keep: true,
    };
    // A wrong preset is an error now and not after minutes of building.
    phones.check_flash(&new)?;
    let signals = Signals::watch()?;
    let made = follow(&signals, |stop, progress| {
        if up.image.is_none() {
            let image = images.get(&up.apps, stop, progress)?;
            (new.image, new.apps) = (image.path, image.about.apps);
        }
        phones.up(&new, stop, progress)
    });
    let (phone, repaired) = match made {
        Err(Error::Stopped) => return Ok(signals.was_stopped()),
        made => made?,
    };
    for sentence in &repaired {
        brisk_program::notice!("repaired: {sentence}");
    }
    let listed =
        phones.list()?.into_iter().find(|listed| listed.id == phone.id()).context("the phone went away at once")?;
    up.json.show(&Document::new("phone", &listed), || format!("{}\n", listed.root.display()))?;
    if !up.json.is_printed() {
        remark(view::made(&listed).trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

/// The memory that was asked for. Swap is on the flash and twice as large as memory where nothing else is said.
fn memory(up: &Up) -> Option<MemorySpec> {
    let limit_bytes = up.memory?;
    let swap = match up.swap {
        SwapName::None => SwapKind::None,
        SwapName::Flash => SwapKind::Flash,
        SwapName::Zram => SwapKind::Zram,
        SwapName::ZramFlash => SwapKind::ZramFlash,
    };
    Some(MemorySpec { limit_bytes, swap, swap_bytes: up.swap_size.unwrap_or(limit_bytes.saturating_mul(2)) })
}

/// Goes through all phones even when one cannot be taken down.
fn take_down(phones: &Phones, down: &Down) -> anyhow::Result<ExitCode> {
    let mut ids = down.ids.clone();
    if down.all {
        phones.repair()?.iter().for_each(|sentence| brisk_program::notice!("repaired: {sentence}"));
        ids = phones.list()?.into_iter().map(|listed| listed.id.to_string()).collect();
    }
    Ok(for_each(&ids, |id| phones.down(id, down.force)))
}

/// The images in `cache_dir`, or in the default directory.
pub(crate) fn images(cache_dir: Option<&PathBuf>) -> anyhow::Result<Images> {
    let dir = cache_dir.cloned().or_else(|| env_dir("BRISK_CACHE_DIR")).unwrap_or_else(|| CACHE_DIR.into());
    Ok(Images::new(&dir, program("inside")?))
}

fn env_dir(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|dir| !dir.is_empty()).map(PathBuf::from)
}

/// The command line of this program's `lab phone WORD`.
pub(crate) fn program(word: &str) -> anyhow::Result<Vec<OsString>> {
    let program = std::env::current_exe().context("cannot find the program file of brisk")?;
    Ok([program.into_os_string(), "lab".into(), "phone".into(), word.into()].into())
}

pub(crate) fn variant(name: &str) -> Variant {
    let known = Variant::ALL.into_iter().find(|variant| variant.name() == name);
    known.expect("the command line takes the names of all variants, and no other")
}

/// Runs a long operation, which shows what it does.
fn follow<T>(signals: &Signals, work: impl FnOnce(&AtomicBool, &mut dyn FnMut(&str)) -> T) -> T {
    let spinner = spinner();
    let done = work(signals.stop_flag(), &mut |what: &str| {
        step(what);
        spinner.set_message(brisk_core::text::one_line(what).into_owned());
    });
    spinner.finish_and_clear();
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_takes_all_variants_and_no_other() {
        assert_eq!(Variant::ALL.map(Variant::name), super::arguments::VARIANTS);
    }
}
