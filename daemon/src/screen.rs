//! Whether the device shows a picture, and whether its user is there.
//!
//! The kernel announces neither, so both are sampled: when the daemon is awake anyway, at most every few seconds, and
//! once a minute otherwise, by a clock that does not wake a suspended device. A device without a screen is not sampled.
//!
//! The user is idle when the screen is off, or when a program of the session says so (`SetIdle`, `brisk idle`). What
//! logind knows of it (`IdleHint`) is not read: it tells over D-Bus alone, for which a library and its executor would
//! be larger than the daemon, and it knows from the same programs, which desktops start.

use brisk_core::event::EventKind;
use brisk_sense::{Backlight, Connector, Sense};

/// Time between two samples while the daemon is awake, and otherwise.
const AWAKE_NS: u64 = 5_000_000_000;
const ASLEEP_NS: u64 = 60_000_000_000;

/// Whether a picture is shown somewhere; `None` when the machine has no screen that tells. The power state of display
/// and light decides, never the brightness; a panel that needs its light is dark without it.
#[must_use]
pub fn is_on(connectors: &[Connector], lights: &[Backlight]) -> Option<bool> {
    let known: Vec<bool> = lights.iter().filter_map(|light| light.is_on).collect();
    let is_lit = (!known.is_empty()).then(|| known.contains(&true));
    let mut connected = connectors.iter().filter(|connector| connector.is_connected).peekable();
    if connected.peek().is_none() {
        return is_lit;
    }
    Some(connected.any(|connector| connector.is_on && !(connector.needs_light() && is_lit == Some(false))))
}

#[derive(Debug, Default)]
pub struct Screen {
    is_on: Option<bool>,
    is_idle: Option<bool>,
    told_idle: Option<bool>,
    sampled_ns: Option<u64>,
}

impl Screen {
    /// Whether a picture is shown; `None` when that is unknown.
    #[must_use]
    pub fn is_on(&self) -> Option<bool> {
        self.is_on
    }

    /// When it is to be sampled at the latest; `None` without a screen.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        Some(self.sampled_ns?.saturating_add(ASLEEP_NS)).filter(|_| self.is_on.is_some())
    }

    /// Samples it, unless that was done just now; gives what changed.
    pub fn sample(&mut self, sense: &Sense, now_ns: u64) -> Vec<EventKind> {
        if self.sampled_ns.is_some_and(|then_ns| now_ns.saturating_sub(then_ns) < AWAKE_NS) {
            return Vec::new();
        }
        self.sampled_ns = Some(now_ns);
        // What cannot be read is not there.
        let (connectors, lights) = (sense.connectors().unwrap_or_default(), sense.backlights().unwrap_or_default());
        self.note(is_on(&connectors, &lights))
    }

    /// A program of the session says whether its user is idle; gives what changed.
    pub fn tell_idle(&mut self, idle: bool) -> Vec<EventKind> {
        self.told_idle = Some(idle);
        self.note(self.is_on)
    }

    fn note(&mut self, is_on: Option<bool>) -> Vec<EventKind> {
        let mut changes = Vec::new();
        let before = std::mem::replace(&mut self.is_on, is_on);
        if let Some(on) = is_on.filter(|on| before.is_some_and(|before| before != *on)) {
            changes.push(EventKind::Screen { on });
            if on {
                // Someone switched it on, whatever was told before.
                self.told_idle = self.told_idle.map(|_| false);
            }
        }
        let is_idle = match (is_on, self.told_idle) {
            (Some(false), _) => Some(true),
            (on, told) => told.or(on.map(|_| false)),
        };
        let before = std::mem::replace(&mut self.is_idle, is_idle);
        if let Some(idle) = is_idle.filter(|idle| before.unwrap_or(false) != *idle) {
            changes.push(EventKind::UserIdle { idle });
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connector(name: &str, is_connected: bool, is_on: bool) -> Connector {
        Connector { name: name.to_owned(), is_connected, is_on }
    }

    fn light(is_on: Option<bool>) -> Backlight {
        Backlight { name: "l".to_owned(), is_on }
    }

    #[test]
    fn a_screen_is_on_while_something_shows_a_picture() {
        let panel = |on| connector("card0-eDP-1", true, on);
        let outside = |on| connector("card0-HDMI-A-1", true, on);
        for (connectors, lights, expected) in [
            (vec![], vec![], None),
            (vec![connector("card0-DP-1", false, false)], vec![], None),
            (vec![panel(true)], vec![], Some(true)),
            (vec![panel(false)], vec![], Some(false)),
            // Its light is off, though the controller feeds it.
            (vec![panel(true)], vec![light(Some(false))], Some(false)),
            (vec![panel(true)], vec![light(Some(false)), light(Some(true))], Some(true)),
            (vec![panel(true)], vec![light(None)], Some(true)),
            // Electronic paper is read without its front light.
            (vec![connector("card0-DPI-1", true, true)], vec![light(Some(false))], Some(true)),
            (vec![connector("card0-DPI-1", true, false)], vec![light(Some(true))], Some(false)),
            // The lid is closed, and an external display is on.
            (vec![panel(false), outside(true)], vec![light(Some(false))], Some(true)),
            (vec![panel(false), outside(false)], vec![light(Some(true))], Some(false)),
            // A phone without graphics in sysfs.
            (vec![], vec![light(Some(false))], Some(false)),
            (vec![], vec![light(None)], None),
        ] {
            assert_eq!(is_on(&connectors, &lights), expected, "{connectors:?} {lights:?}");
        }
    }

    #[test]
    fn a_user_is_idle_when_the_screen_is_off_or_the_session_says_so() {
        use EventKind::{Screen as On, UserIdle as Idle};
        let mut screen = Screen::default();
        assert_eq!(screen.note(Some(true)), []);
        assert_eq!(screen.tell_idle(true), [Idle { idle: true }]);
        assert_eq!(screen.note(Some(true)), []);
        assert_eq!(screen.note(Some(false)), [On { on: false }]);
        // Switched on by the user, whom the session has not seen yet.
        assert_eq!(screen.note(Some(true)), [On { on: true }, Idle { idle: false }]);
        assert_eq!(screen.note(Some(false)), [On { on: false }, Idle { idle: true }]);
        assert_eq!(screen.tell_idle(false), []);
        assert_eq!(screen.note(Some(true)), [On { on: true }, Idle { idle: false }]);
        // Without a screen the session alone tells.
        let mut none = Screen::default();
        assert_eq!((none.note(None), none.next_ns()), (vec![], None));
        assert_eq!(none.tell_idle(true), [Idle { idle: true }]);
        assert_eq!(none.tell_idle(false), [Idle { idle: false }]);
    }

    #[test]
    fn a_machine_without_a_screen_is_not_sampled_again_by_a_timer() {
        let root = tempfile::tempdir().expect("a directory");
        let (mut screen, sense) = (Screen::default(), Sense::new(root.path()));
        assert_eq!((screen.sample(&sense, 7), screen.next_ns()), (vec![], None));
        let dir = root.path().join("sys/class/backlight/panel0");
        std::fs::create_dir_all(&dir).expect("made");
        std::fs::write(dir.join("bl_power"), "4\n").expect("written");
        assert_eq!(screen.sample(&sense, 8), []);
        assert_eq!(screen.sample(&sense, 7 + AWAKE_NS), [EventKind::UserIdle { idle: true }]);
        assert_eq!(screen.next_ns(), Some(7 + AWAKE_NS + ASLEEP_NS));
        // However dim it is.
        std::fs::write(dir.join("bl_power"), "0\n").expect("written");
        std::fs::write(dir.join("brightness"), "0\n").expect("written");
        let expected = [EventKind::Screen { on: true }, EventKind::UserIdle { idle: false }];
        assert_eq!(screen.sample(&sense, 7 + 2 * AWAKE_NS), expected);
    }
}
