//! Checks of configurations: the first value that cannot be used, and what to write instead.

use std::fmt::{Debug, Display};

use brisk_core::device::Speeds;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// How an engine works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// By what is measured, observed and learned.
    #[default]
    Adaptive,
    /// As the engine's paper says, with its constants.
    Paper,
}

/// The configuration of an engine: a section of the daemon's file.
pub trait Section: Debug + Clone + Default + PartialEq + Serialize + DeserializeOwned {
    /// Whether all values can be used.
    ///
    /// # Errors
    /// The first that cannot.
    fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// A value that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: write {allowed}")]
pub struct Invalid {
    pub key: &'static str,
    pub value: String,
    pub allowed: String,
}

impl Invalid {
    /// Refuses `value` unless it `holds`.
    ///
    /// # Errors
    /// When it does not.
    pub fn unless(holds: bool, key: &'static str, value: impl Display, allowed: &str) -> Result<(), Self> {
        let refused = || Self { key, value: value.to_string(), allowed: allowed.to_owned() };
        if holds { Ok(()) } else { Err(refused()) }
    }
}

/// Each of these is a number between its bounds.
///
/// # Errors
/// The first that is not.
pub fn ranges<N: Copy + Display + PartialOrd>(values: &[(&'static str, N, N, N)]) -> Result<(), Invalid> {
    values.iter().try_for_each(|&(key, value, min, max)| {
        Invalid::unless((min..=max).contains(&value), key, value, &format!("a number from {min} to {max}"))
    })
}

/// Each of these is a share in percent.
///
/// # Errors
/// The first that is not.
pub fn shares(values: &[(&'static str, f64)]) -> Result<(), Invalid> {
    let in_bounds = values.iter().map(|&(key, value)| (key, value, 0.0, 100.0));
    ranges(&in_bounds.collect::<Vec<_>>())
}

/// All of these are speeds.
///
/// # Errors
/// The first that is not.
pub fn speeds(speeds: Option<&Speeds>) -> Result<(), Invalid> {
    let fault = speeds.and_then(Speeds::fault);
    fault.map_or(Ok(()), |(name, value)| {
        let value = format!("{{ {name} = {value} }}");
        Invalid::unless(false, "flash", value, "numbers above 0, as `brisk tune` measures them")
    })
}

/// A reserve of memory is not larger at the least than at the most.
///
/// # Errors
/// When it is.
pub fn reserve(min_percent: f64, max_percent: f64) -> Result<(), Invalid> {
    shares(&[("reserve_min_percent", min_percent), ("reserve_max_percent", max_percent)])?;
    let allowed = format!("no more than reserve_max_percent = {max_percent}");
    Invalid::unless(min_percent <= max_percent, "reserve_min_percent", min_percent, &allowed)
}

/// A share of `total_bytes`.
#[must_use]
pub fn share_bytes(total_bytes: u64, percent: f64) -> u64 {
    (total_bytes as f64 * percent / 100.0) as u64
}

/// For tests: what is said against the configuration in this text, or that it cannot be read.
///
/// # Panics
/// When it can be used.
#[cfg(test)]
#[must_use]
pub fn complaint<C: Section>(text: &str) -> String {
    match toml::from_str::<C>(text) {
        Ok(config) => config.check().expect_err(text).to_string(),
        Err(error) => error.message().to_owned(),
    }
}

/// For tests: defaults can be used, an empty section is the default, and an unknown key is refused.
///
/// # Panics
/// When that is not so.
#[cfg(test)]
pub fn assert_defaults_hold<C: Section>() {
    assert_eq!(C::default().check(), Ok(()));
    assert_eq!(toml::from_str::<C>("").expect("empty is the default"), C::default());
    assert!(complaint::<C>("no_such_key = 1").contains("no_such_key"), "unknown keys are refused");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_that_cannot_be_used_is_named_with_what_can() {
        let text = |checked: Result<(), Invalid>| checked.map_or_else(|error| error.to_string(), |()| String::new());
        assert_eq!(text(shares(&[("a", 0.0), ("b", 100.5), ("c", -1.0)])), "b = 100.5: write a number from 0 to 100");
        assert_eq!(text(shares(&[("a", f64::NAN)])), "a = NaN: write a number from 0 to 100");
        assert_eq!(text(ranges(&[("a", 7_u64, 7, 9)])), "");
        assert_eq!(text(ranges(&[("a", 6_u64, 7, 9)])), "a = 6: write a number from 7 to 9");
        let endless = Speeds { read_mib_per_s: f64::INFINITY, ..Speeds::of_kind("sd") };
        assert!(text(speeds(Some(&endless))).starts_with("flash = { read_mib_per_s = inf }: write numbers above 0"));
        assert_eq!((text(speeds(Some(&Speeds::of_kind("")))), text(speeds(None))), (String::new(), String::new()));
        assert_eq!(text(reserve(30.0, 25.0)), "reserve_min_percent = 30: write no more than reserve_max_percent = 25");
        assert_eq!(share_bytes(1_000, 2.5), 25);
    }
}
