//! The keys that apps answer with a change of the screen or with work, when they come to the front.
//!
//! A key has to change something each time: paging keys alternate. What grabs the keyboard, such as a menu, is taken
//! back before the next app comes to the front, which would not get its keys otherwise.

/// No key is known that an app answers, so that a return to it cannot be measured.
#[derive(Debug, thiserror::Error)]
#[error("no key is known that {0} answers, so a return to it cannot be measured")]
pub struct NoAnswer(String);

/// What an app is asked when it comes to the front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    app: &'static str,
    keys: [&'static str; 2],
    /// The key that takes it back, before the app goes to the background.
    pub undo: Option<&'static str>,
}

const fn alternating(app: &'static str, first: &'static str, second: &'static str) -> Answer {
    Answer { app, keys: [first, second], undo: None }
}

const fn same(app: &'static str, key: &'static str) -> Answer {
    alternating(app, key, key)
}

const ANSWERS: [Answer; 11] = [
    alternating("chromium", "Next", "Prior"),
    alternating("lowriter", "Down", "Up"),
    alternating("gnumeric", "Down", "Up"),
    alternating("evince", "Next", "Prior"),
    same("mousepad", "a"),
    Answer { app: "gimp", keys: ["alt+f", "alt+f"], undo: Some("Escape") },
    same("dino", "Tab"),
    same("mpv", "period"),
    alternating("gnome-mines", "Right", "Left"),
    same("galculator", "1"),
    same("xterm", "a"),
];

impl Answer {
    /// What `app` of the phone's catalogue is asked.
    ///
    /// # Errors
    /// When no key is known for it.
    pub fn of(app: &str) -> Result<Self, NoAnswer> {
        let found = ANSWERS.into_iter().find(|answer| answer.app == app);
        found.ok_or_else(|| NoAnswer(app.to_owned()))
    }

    /// The key of the given turn, counted from 0.
    #[must_use]
    pub fn key(&self, turn: u64) -> &'static str {
        self.keys[usize::from(!turn.is_multiple_of(2))]
    }
}

#[cfg(test)]
mod tests {
    use crate::phone::Catalogue;

    use super::*;

    #[test]
    fn every_app_of_the_phone_has_a_key() {
        for app in &Catalogue::builtin().apps {
            assert!(Answer::of(&app.name).is_ok(), "{}", app.name);
        }
        assert_eq!(
            Answer::of("evince").map(|answer| [answer.key(0), answer.key(1), answer.key(2)]).ok(),
            Some(["Next", "Prior", "Next"])
        );
        assert!(Answer::of("netscape").expect_err("unknown").to_string().contains("netscape"));
    }
}
