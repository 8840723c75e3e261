//! Launches apps on a phone, one after the other and in variants of what-if, and writes a picture of each, to check that every
//! app starts correctly.
//!
//! usage: pictures BRISK OUT [APP,APP...] [VARIANT,VARIANT...]
//!
//! BRISK is the program, whose image is taken from the cache or built; OUT gets `VARIANT-APP.png`.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use brisk_phone::{Catalogue, Images, NewPhone, Phone, Phones, SqliteSpec, Variant, WriterSpec};
use brisk_screen::{Rect, Screen as _, VirtualX, X11};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const SIZE: (u32, u32) = (1280, 800);
/// A launch ends here after this long without change of the screen.
const QUIET: Duration = Duration::from_secs(3);
const BLINKING: Duration = Duration::from_secs(12);
const CAP: Duration = Duration::from_secs(90);

fn main() -> Outcome<()> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [brisk, out, rest @ ..] = words.as_slice() else {
        return Err("usage: pictures BRISK OUT [APPS] [VARIANTS]".into());
    };
    let list = |at: usize| -> Vec<String> {
        let text = rest.get(at).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
        text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let apps = Catalogue::builtin().choose(&list(0))?;
    let variants = list(1);
    let out = PathBuf::from(out);
    std::fs::create_dir_all(&out)?;

    let run_dir = tempfile::tempdir()?;
    let cache = std::env::var_os("BRISK_CACHE_DIR").unwrap_or_else(|| "/var/cache/brisk".into());
    let lab = |words: &[&str]| -> Vec<String> {
        let brisk = brisk.to_string_lossy();
        let run_dir = run_dir.path().to_string_lossy();
        [&*brisk, "lab", "--run-dir", &*run_dir].iter().chain(words).map(|word| (*word).to_owned()).collect()
    };
    let phone_words = |word: &str| [brisk.clone(), "lab".into(), "phone".into(), word.into()].to_vec();
    let never = AtomicBool::new(false);
    let mut progress = |_: &str| {};
    let image = Images::new(Path::new(&cache), phone_words("inside")).get(&[], &never, &mut progress)?;
    let new = NewPhone {
        preset: "galaxy-s5-emmc".into(),
        set: Vec::new(),
        size_bytes: 4 << 30,
        scheduler: None,
        memory: None,
        image: image.path,
        apps: image.about.apps,
        server: lab(&["serve"]),
        take_down: lab(&["down", "--force"]),
        keep: false,
    };
    let (mut phone, _) = Phones::new(run_dir.path()).up(&new, &never, &mut progress)?;
    let server = VirtualX::start_as_phone(SIZE, 24)?;
    let mut screen = X11::connect(Some(server.display()))?;
    for variant in
        Variant::ALL.into_iter().filter(|one| variants.is_empty() || variants.iter().any(|v| v == one.name()))
    {
        let begun = Instant::now();
        phone.set_variant(variant, &mut progress)?;
        println!("{}: set in {:.1} s", variant.name(), begun.elapsed().as_secs_f64());
        for app in &apps {
            brisk_act::drop_caches()?;
            let before = phone.flash()?.requests;
            let began = Instant::now();
            let log = std::fs::File::create(out.join(format!("{}-{}.log", variant.name(), app.name)))?;
            let mut child = brisk_phone::command(&phone.app(app, server.display())?)?
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(log)
                .spawn()?;
            // Carets never stop blinking, so the wait for quiet is limited.
            let (mut last, mut window): (_, Option<Instant>) = (began, None);
            while began.elapsed() < CAP && window.is_none_or(|at| last.elapsed() < QUIET && at.elapsed() < BLINKING) {
                if !screen.changes(Duration::from_millis(100))?.is_empty() {
                    last = Instant::now();
                }
                let windows = screen.windows()?;
                if window.is_none() && windows.iter().any(|w| app.window.matches(&w.app_id, &w.title)) {
                    window = Some(Instant::now());
                }
            }
            keep(&mut screen, &out.join(format!("{}-{}.png", variant.name(), app.name)))?;
            let after = phone.flash()?.requests;
            println!(
                "{} {}: window {:?}, quiet {:?}, read {} MB",
                variant.name(),
                app.name,
                window.map(|at| at - began),
                last - began,
                after.read.bytes.saturating_sub(before.read.bytes) >> 20,
            );
            phone.end_apps()?;
            child.wait()?;
        }
        let rates = phone.sqlite(&SqliteSpec::default(), &never)?;
        println!("{} sqlite {rates:?}", variant.name());
    }
    if variants.is_empty() || variants.iter().any(|v| v == "writer") {
        phone.set_variant(Variant::Baseline, &mut progress)?;
        for target in [1e6, 2e6, 4e6, 6e6, 8e6, 12e6] {
            write_for(&phone, &phone_words("write"), target, Duration::from_secs(20))?;
        }
    }
    phone.down(false)?;
    Ok(())
}

fn write_for(phone: &Phone, program: &[OsString], target: f64, span: Duration) -> Outcome<()> {
    phone.set_timed(true)?;
    let spec = WriterSpec { target_bytes_per_s: target, ..WriterSpec::default() };
    let mut writer = phone.start_writer(program, &spec)?;
    std::thread::sleep(Duration::from_secs(5));
    let (before, flash_before) = (writer.written()?, phone.flash()?);
    std::thread::sleep(span);
    let (after, flash) = (writer.written()?, phone.flash()?);
    println!("writer {target}: {:?}; longest sync {} ms", after.since(&before), after.sync_ms_max);
    println!("  model before {}", flash_before.model);
    println!("  model after  {}", flash.model);
    println!("  requests {:?}", flash.requests);
    writer.stop()?;
    rustix::fs::sync();
    Ok(())
}

fn keep(screen: &mut X11, file: &Path) -> Outcome<()> {
    let picture = screen.picture(Rect { x: 0, y: 0, width: SIZE.0, height: SIZE.1 })?;
    let rgb: Vec<u8> = picture.bgrx.chunks_exact(4).flat_map(|pixel| [pixel[2], pixel[1], pixel[0]]).collect();
    let mut encoder = png::Encoder::new(std::fs::File::create(file)?, picture.rect.width, picture.rect.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(&rgb)?;
    Ok(())
}
