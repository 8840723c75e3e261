//! Runs each app once before the image is sealed, so that one-time work is done: creating profiles, indexing fonts and
//! plug-ins, welcome screens.
//!
//! A first run is complete when the app's main window is on a virtual screen and its processes are idle. The app is
//! then closed with its keys, because some apps write their profile only at exit. A picture of each is stored with the
//! image.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::screen::{Input, Rect, Screen as _, VirtualX, WindowInfo, X11};
use brisk_sense::Sense;
use serde::{Deserialize, Serialize};

use super::steps::{self, POLL_INTERVAL, Steps};
use crate::phone::catalogue::App;
use crate::phone::documents::png_of;
use crate::phone::error::{Result, io as failed};

/// A screen on which every window of the catalogue fits.
const SIZE: (u32, u32) = (1280, 800);
const DEPTH_BITS: u8 = 24;
/// Time limit of the first window: the largest app on a slow machine.
const WINDOW_TIMEOUT: Duration = Duration::from_secs(120);
/// Time limit for becoming idle.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
const EXIT_TIMEOUT: Duration = Duration::from_secs(15);
/// An app is idle when its processes used at most this share of one processor for this time.
const REST: Duration = Duration::from_secs(2);
const REST_PERCENT: u64 = 4;

/// Result of an app's first run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FirstRun {
    pub app: String,
    /// Time until its main window appeared.
    pub window_ms: u64,
    /// Whether its processes became idle.
    pub rested: bool,
    /// Whether it closed by its keys.
    pub ended_by_keys: bool,
}

/// Runs all of `apps`, one after the other. `inside` is the command that enters the root.
pub(super) fn run(
    steps: &mut Steps<'_>,
    inside: &[OsString],
    root: &Path,
    apps: &[&App],
    pictures: &Path,
) -> Result<Vec<FirstRun>> {
    std::fs::create_dir_all(pictures).map_err(failed(format!("make {}", pictures.display())))?;
    let server = VirtualX::start(SIZE, DEPTH_BITS)?;
    let mut screen = X11::connect(Some(server.display()))?;
    let mut runs = Vec::new();
    for app in apps {
        steps.report(&format!("first run: {}", app.name));
        // To a corner, where the pointer opens no tooltip.
        screen.send(&Input::Move { x: SIZE.0.cast_signed() - 1, y: SIZE.1.cast_signed() - 1 })?;
        let mut child = launch(steps, inside, root, app, server.display())?;
        let outcome = watch(steps, &mut screen, &mut child, app, pictures);
        steps::end(&mut child);
        runs.push(outcome?);
    }
    Ok(runs)
}

fn launch(steps: &Steps<'_>, inside: &[OsString], root: &Path, app: &App, display: &str) -> Result<Child> {
    let mut words: Vec<OsString> = inside.to_vec();
    words.extend(["--as-user", "--display", display].map(OsString::from));
    words.push(root.into());
    words.extend(["--", "dbus-run-session", "--"].map(OsString::from));
    if !app.env.is_empty() {
        words.push("env".into());
        words.extend(app.env.iter().map(|(name, value)| OsString::from(format!("{name}={value}"))));
    }
    words.extend(app.command.iter().map(OsString::from));
    let program = words.remove(0);
    let mut command = steps::contained(program, &words);
    command.stdin(Stdio::null()).stdout(steps.output()?).stderr(steps.output()?);
    command.spawn().map_err(failed(format!("start {}", app.name)))
}

fn watch(steps: &mut Steps<'_>, screen: &mut X11, child: &mut Child, app: &App, pictures: &Path) -> Result<FirstRun> {
    let step = format!("the first run of {}", app.name);
    let begun = Instant::now();
    let window = loop {
        steps.check()?;
        screen.changes(POLL_INTERVAL)?;
        let windows = screen.windows()?;
        if let Some(window) = windows.iter().find(|window| app.window.matches(&window.app_id, &window.title)) {
            break window.clone();
        }
        let ended = child.try_wait().map_err(failed("wait for an app"))?;
        if ended.is_some() || begun.elapsed() > WINDOW_TIMEOUT {
            keep_picture(screen, &pictures.join(format!("failed-{}.png", app.name)))?;
            let why = match ended {
                Some(status) => format!("it ended without a window ({status})"),
                None => format!("no window of class {} with '{}' came up", app.window.class, app.window.title),
            };
            return Err(steps.failure(&step, &format!("{why}; windows: {}", named(&windows))));
        }
    };
    let window_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let rested = rest(steps, screen, child)?;
    keep_picture(screen, &pictures.join(format!("{}.png", app.name)))?;
    let ended_by_keys = end_by_keys(steps, screen, child, app, &window)?;
    steps.note(&format!("{}: window after {window_ms} ms, rested {rested}, ended by keys {ended_by_keys}", app.name));
    Ok(FirstRun { app: app.name.clone(), window_ms, rested, ended_by_keys })
}

/// Waits until the app's processes are idle; returns whether they became so.
fn rest(steps: &Steps<'_>, screen: &mut X11, child: &Child) -> Result<bool> {
    let sense = Sense::default();
    let begun = Instant::now();
    let mut looks = vec![(begun, used_ticks(&sense, child.id())?)];
    while begun.elapsed() < IDLE_TIMEOUT {
        steps.check()?;
        screen.changes(POLL_INTERVAL)?;
        let now = (Instant::now(), used_ticks(&sense, child.id())?);
        looks.push(now);
        let Some(then) = looks.iter().rev().find(|(at, _)| now.0 - *at >= REST) else { continue };
        // A tick is a hundredth of a second.
        let allowed = REST_PERCENT * u64::from((now.0 - then.0).as_millis() as u32) / 1_000;
        if now.1.saturating_sub(then.1) <= allowed {
            return Ok(true);
        }
    }
    Ok(false)
}

/// CPU time of all processes below `ancestor`.
fn used_ticks(sense: &Sense, ancestor: u32) -> Result<u64> {
    let mut family = vec![ancestor];
    let stats: Vec<_> =
        sense.process_ids()?.into_iter().filter_map(|pid| sense.process_stat(pid).ok().flatten()).collect();
    let mut at = 0;
    while let Some(&parent) = family.get(at) {
        family.extend(stats.iter().filter(|stat| stat.parent == parent).map(|stat| stat.pid));
        at += 1;
    }
    Ok(stats.iter().filter(|stat| family.contains(&stat.pid)).map(|stat| stat.user_ticks + stat.system_ticks).sum())
}

/// Presses the app's keys with the pointer over its window; returns whether it closed.
fn end_by_keys(steps: &Steps<'_>, screen: &mut X11, child: &mut Child, app: &App, window: &WindowInfo) -> Result<bool> {
    if let Some(Rect { x, y, width, height }) = window.rect {
        screen.send(&Input::Move { x: x + width.cast_signed() / 2, y: y + height.cast_signed() / 2 })?;
    }
    screen.send(&Input::Key(app.quit.clone()))?;
    let deadline = Instant::now() + EXIT_TIMEOUT;
    while Instant::now() < deadline {
        steps.check()?;
        screen.changes(POLL_INTERVAL)?;
        if child.try_wait().map_err(failed("wait for an app"))?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes the screen as a picture.
fn keep_picture(screen: &mut X11, file: &Path) -> Result<()> {
    let picture = screen.picture(Rect { x: 0, y: 0, width: SIZE.0, height: SIZE.1 })?;
    let rgb: Vec<u8> = picture.bgrx.chunks_exact(4).flat_map(|pixel| [pixel[2], pixel[1], pixel[0]]).collect();
    let size = (picture.rect.width, picture.rect.height);
    std::fs::write(file, png_of(size, &rgb)).map_err(failed(format!("write {}", file.display())))
}

fn named(windows: &[WindowInfo]) -> String {
    let names: Vec<String> = windows.iter().map(|window| format!("'{}' of {}", window.title, window.app_id)).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Checks that a virtual screen is available, before the build begins.
pub(super) fn check() -> Result<()> {
    steps::tool("Xvfb", "is the screen for the apps' first runs", "xvfb").map(drop)
}
