//! What an engine learns, over days and restarts: the part of its state that is kept in a file.
//!
//! The text is JSON of at most a few MiB, with a version first: a later form is refused for its version, not for what
//! it has. It holds no time of a clock that begins anew with the machine. Which apps a person uses is in it:
//! [`Learned::forget`] removes an app.

use std::collections::BTreeMap;
use std::fmt::Debug;

use brisk_core::app::{id_of, user_of};
use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The file in the folder of its engine.
pub const FILE: &str = "learned.json";

/// Folder and name of what an engine has learned.
#[must_use]
pub fn file_of(engine: &str) -> String {
    format!("{engine}/{FILE}")
}

/// Whether a file is what an engine has learned, rather than what was measured on a device.
#[must_use]
pub fn is_learned(name: &str) -> bool {
    name.split('/').nth(1) == Some(FILE)
}

/// Length of a text as JSON, without its quotes: a quote or a backslash takes two bytes, a control character six.
#[must_use]
pub fn json_bytes(text: &str) -> usize {
    let escaped = |byte: u8| if byte < 0x20 { 6 } else { 1 + usize::from(matches!(byte, b'"' | b'\\')) };
    text.bytes().map(escaped).sum()
}

pub trait Learned: Debug + Default + Serialize + DeserializeOwned {
    /// Forgets an app, or all. Says whether anything was known.
    fn forget(&mut self, app: Option<&str>) -> bool;
}

impl Learned for () {
    fn forget(&mut self, _app: Option<&str>) -> bool {
        false
    }
}

/// Version of a text: only this one is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Version<const V: u32>;

impl<const V: u32> Serialize for Version<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(V)
    }
}

impl<'de, const V: u32> Deserialize<'de> for Version<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            version if version == V => Ok(Self),
            other => Err(de::Error::custom(format!("it is of version {other}, and this brisk reads version {V}"))),
        }
    }
}

/// What is known of apps, by user and id ([`brisk_core::app::App::owned_id`]). Of the user who has most, the one that
/// was used longest ago makes room.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Apps<T> {
    uses: u64,
    /// Each with the number of its last use.
    by_id: BTreeMap<String, (u64, T)>,
}

impl<T> Default for Apps<T> {
    fn default() -> Self {
        Self { uses: 0, by_id: BTreeMap::new() }
    }
}

impl<T> Apps<T> {
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&T> {
        self.by_id.get(id).map(|(_, of)| of)
    }

    pub fn get_mut(&mut self, id: &str) -> Option<&mut T> {
        self.by_id.get_mut(id).map(|(_, of)| of)
    }

    /// The app is used: what is known of it, to change; `new` where that is nothing.
    pub fn used(&mut self, id: &str, new: impl FnOnce() -> T) -> &mut T {
        self.uses = self.uses.saturating_add(1);
        let (last, of) = self.by_id.entry(id.to_owned()).or_insert_with(|| (0, new()));
        *last = self.uses;
        of
    }

    #[must_use]
    pub fn uses(&self) -> u64 {
        self.uses
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.by_id.iter().map(|(id, (_, of))| (id.as_str(), of))
    }

    /// The apps that were used last, at most so many.
    #[must_use]
    pub fn latest(&self, most: usize) -> Vec<&T> {
        let mut all: Vec<&(u64, T)> = self.by_id.values().collect();
        if all.len() > most {
            all.select_nth_unstable_by_key(most, |(last, _)| std::cmp::Reverse(*last));
            all.truncate(most);
        }
        all.into_iter().map(|(_, of)| of).collect()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.by_id.values_mut().map(|(_, of)| of)
    }

    /// Forgets an app of this id, whoever's it is, or all. Says whether anything was known.
    pub fn forget(&mut self, app: Option<&str>) -> bool {
        match app {
            Some(id) => self.by_id.extract_if(.., |owned_id, _| id_of(owned_id) == id).count() > 0,
            None => !std::mem::take(&mut self.by_id).is_empty(),
        }
    }

    /// Makes room for one more app, unless that one is known: at most so many are kept.
    pub fn make_room(&mut self, id: &str, apps_max: usize) {
        if !self.by_id.contains_key(id) {
            self.bound(apps_max.saturating_sub(1), |_| 0, 0);
        }
    }

    /// Keeps at most so many apps, and of the sum of their sizes at most so much; the app that was used last stays.
    pub fn bound(&mut self, apps_max: usize, size: impl Fn(&T) -> usize, size_max: usize) {
        let mut sum: usize = self.iter().map(|(_, of)| size(of)).sum();
        while self.by_id.len() > 1 && (self.by_id.len() > apps_max || sum > size_max) {
            let is_many = self.by_id.len() > apps_max;
            let weight = |of: &T| if is_many { 1 } else { size(of) };
            let weighed = self.by_id.iter().map(|(id, (last, of))| (user_of(id), id, *last, weight(of)));
            let oldest = to_make_room(weighed).cloned();
            let Some((_, of)) = oldest.and_then(|id| self.by_id.remove(&id)) else { break };
            sum -= size(&of);
        }
    }
}

/// What makes room: of the user who has most by weight, what was used longest ago, but not what was used last of all.
/// `all` has the user and key of each, the number or time of its last use, and its weight.
pub fn to_make_room<K: Ord + Copy>(all: impl Iterator<Item = (Option<u32>, K, u64, usize)>) -> Option<K> {
    let (mut sums, mut oldest, mut newest) = (BTreeMap::new(), BTreeMap::new(), 0);
    for (user, key, last, weight) in all {
        *sums.entry(user).or_insert(0) += weight;
        let oldest = oldest.entry(user).or_insert((last, key));
        *oldest = (last, key).min(*oldest);
        newest = newest.max(last);
    }
    let older = oldest.into_iter().filter(|(_, (last, _))| *last < newest);
    older.max_by_key(|(user, _)| sums[user]).map(|(_, (_, key))| key)
}

/// For tests: what an engine has learned is read back, a text of another version is refused, and a forgotten app is
/// nowhere in it.
///
/// # Panics
/// When that is not so. `app` is to be known, and its id to be found nowhere else.
#[cfg(test)]
pub fn assert_keeps<L: Learned + Clone + PartialEq>(learned: &L, app: &str) {
    let text = serde_json::to_string(learned).expect("JSON");
    assert_eq!(serde_json::from_str::<L>(&text).expect("the same"), *learned);
    let why = |text: &str| serde_json::from_str::<L>(text).expect_err("unusable").to_string();
    let later = why(&text.replacen("\"version\":1", "\"version\":2", 1));
    assert!(later.starts_with("it is of version 2, and this brisk reads version 1"), "{later}");
    assert!(why(&text[..text.len() / 2]).starts_with("EOF"));
    let mut rest = learned.clone();
    assert!(text.contains(app) && rest.forget(Some(app)), "{app} is known: {text}");
    let text = serde_json::to_string(&rest).expect("JSON");
    assert!(!text.contains(app) && !rest.forget(Some(app)), "{app} is forgotten: {text}");
    rest.forget(None);
    assert!(!rest.forget(None));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    struct Words {
        version: Version<1>,
        apps: Apps<String>,
    }

    impl Learned for Words {
        fn forget(&mut self, app: Option<&str>) -> bool {
            self.apps.forget(app)
        }
    }

    #[test]
    fn what_is_kept_is_read_back_and_forgotten_on_request() {
        let mut words = Words::default();
        for (id, word) in [("org.gnome.Evince", "a"), ("mpv", "b")] {
            words.apps.used(id, || word.to_owned());
        }
        assert_keeps(&words, "mpv");
        assert_keeps(&words, "org.gnome.Evince");
    }

    #[test]
    fn invented_apps_of_one_user_evict_no_app_of_another() {
        let mut apps = Apps::default();
        for id in ["1000/firefox", "1000/mail", "1001/firefox"] {
            apps.used(id, || 1_usize);
        }
        for nth in 0..500 {
            apps.used(&format!("65534/made-up-{nth}"), || 3);
            apps.bound(200, |of| *of, usize::MAX);
            apps.bound(200, |of| *of, 300);
        }
        assert_eq!(["1000/firefox", "1000/mail", "1001/firefox"].map(|id| apps.get(id)), [Some(&1); 3]);
        assert!(apps.iter().map(|(_, of)| of).sum::<usize>() <= 300);
        assert_eq!(apps.get("65534/made-up-499"), Some(&3), "the one that was used last stays");
        // A user has what is forgotten with an id, and so has each other.
        assert!(apps.forget(Some("firefox")) && !apps.forget(Some("firefox")));
        assert_eq!((apps.get("1001/firefox"), apps.get("1000/mail")), (None, Some(&1)));
    }

    #[test]
    fn the_app_that_was_used_longest_ago_makes_room() {
        let mut apps = Apps::default();
        for id in ["a", "b", "c", "a"] {
            *apps.used(id, || 0) += 1;
        }
        apps.bound(2, |_| 0, 0);
        assert_eq!((apps.get("a"), apps.get("b"), apps.get("c")), (Some(&2), None, Some(&1)));
        apps.bound(9, |of| *of, 2);
        assert_eq!(apps.iter().collect::<Vec<_>>(), [("a", &2)]);
        apps.bound(9, |of| *of, 1);
        assert_eq!(apps.get("a"), Some(&2), "the last one stays");
        assert!(apps.uses() == 4 && apps.forget(None) && !apps.forget(None));
    }
}
