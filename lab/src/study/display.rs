//! The screen that apps are watched on: the session's own, another, a virtual one, or none.

mod options;

use std::ffi::OsString;

pub(crate) use self::options::{DEFAULT_SIZE, Options, size};
use crate::launch::Plan;
use crate::results::ScreenFacts;
use crate::screen::{Screen, VirtualX, Wayland, X11};
use anyhow::{Context as _, bail};

/// The same for the emulated phone.
const PHONE_SIZE: (u16, u16) = (1280, 720);

/// The refusal of --no-screen where a screen is needed.
const NEEDED: &str = "this needs a screen: leave --no-screen out";

/// A screen that is open.
pub(crate) struct Display {
    screen: Option<Box<dyn Screen>>,
    environment: Vec<(OsString, OsString)>,
    /// Ends when it is dropped, after the connection to it.
    _server: Option<VirtualX>,
}

/// Opens a virtual one with a phone's window manager unless another was named: for the apps of a phone. Gives a screen
/// or an error.
pub(crate) fn of_phone(options: &Options) -> anyhow::Result<Display> {
    if options.no_screen {
        bail!(NEEDED);
    }
    if options.display.is_some() {
        return open(options);
    }
    let (width, height) = options.virtual_screen.unwrap_or(PHONE_SIZE);
    let server = VirtualX::start_as_phone((width.into(), height.into()), 24);
    watched(server.context("cannot make the phone's screen")?)
}

pub(crate) fn open(options: &Options) -> anyhow::Result<Display> {
    if options.no_screen {
        return Ok(Display { screen: None, environment: Vec::new(), _server: None });
    }
    if let Some(size) = options.virtual_screen {
        return own(size);
    }
    match named(options.display.as_deref()) {
        Some(display) if is_x11(&display) => x11(&display),
        Some(display) => wayland(&display),
        None => {
            brisk_program::notice!(
                "brisk: there is no display in this session, so the app gets a virtual screen ({DEFAULT_SIZE})"
            );
            own(size(DEFAULT_SIZE).map_err(anyhow::Error::msg)?)
        }
    }
}

/// The display of this name, or the session's: Wayland before X11, whose server then shows a part of the windows.
pub(crate) fn named(display: Option<&str>) -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    display.map(str::to_owned).or_else(|| variable("WAYLAND_DISPLAY")).or_else(|| variable("DISPLAY"))
}

/// `:0`, `:0.0`, `host:0`; names of Wayland sockets hold no colon.
pub(crate) fn is_x11(display: &str) -> bool {
    display.contains(':') && !display.starts_with('/')
}

fn x11(display: &str) -> anyhow::Result<Display> {
    let screen = X11::connect(Some(display)).context("cannot watch the screen")?;
    let environment = vec![("DISPLAY".into(), display.into())];
    Ok(Display { screen: Some(Box::new(screen)), environment, _server: None })
}

fn wayland(display: &str) -> anyhow::Result<Display> {
    let screen = Wayland::connect(Some(display)).context("cannot watch the screen")?;
    let environment = vec![("WAYLAND_DISPLAY".into(), display.into())];
    Ok(Display { screen: Some(Box::new(screen)), environment, _server: None })
}

fn own((width, height): (u16, u16)) -> anyhow::Result<Display> {
    watched(VirtualX::start((width.into(), height.into()), 24).context("cannot make a virtual screen")?)
}

fn watched(server: VirtualX) -> anyhow::Result<Display> {
    let display = server.display().to_owned();
    Ok(Display { _server: Some(server), ..x11(&display)? })
}

impl Display {
    /// Whether nothing is watched.
    pub(crate) fn is_none(&self) -> bool {
        self.screen.is_none()
    }

    pub(crate) fn screen(&mut self) -> Option<&mut dyn Screen> {
        match &mut self.screen {
            Some(screen) => Some(screen.as_mut()),
            None => None,
        }
    }

    /// Such as `:99`; empty without a screen.
    pub(crate) fn name(&self) -> &str {
        self.screen.as_ref().map_or("", |screen| screen.display())
    }

    /// The screen, for what cannot do without.
    pub(crate) fn needed(&mut self) -> anyhow::Result<&mut dyn Screen> {
        match self.screen() {
            Some(screen) => Ok(screen),
            None => bail!(NEEDED),
        }
    }

    /// Variables by which apps find it. A virtual screen is X11, so variables of other displays are removed.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut environment = self.environment.clone();
        if self._server.is_some() {
            environment.extend([("WAYLAND_DISPLAY".into(), "".into()), ("GDK_BACKEND".into(), "x11".into())]);
        }
        environment
    }

    /// `plan` with apps that find this screen.
    pub(crate) fn with_environment(&self, mut plan: Plan) -> Plan {
        for setup in &mut plan.setups {
            setup.app.env.extend(self.environment());
        }
        plan
    }

    pub(crate) fn facts(&self) -> ScreenFacts {
        match &self.screen {
            Some(screen) => ScreenFacts {
                protocol: screen.protocol().to_owned(),
                display: screen.display().to_owned(),
                size_px: screen.size(),
            },
            None => ScreenFacts { protocol: "none".to_owned(), display: String::new(), size_px: (0, 0) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_of_x11_have_a_colon() {
        assert!(is_x11(":0") && is_x11(":99.0") && is_x11("host:1"));
        assert!(!is_x11("wayland-1") && !is_x11("/run/user/0/wayland:0"));
    }
}
