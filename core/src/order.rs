//! Order of values, by code that all types share.
//!
//! The standard library compiles its stable sort anew for each type and comparison: 3.7 KB each, and half a megabyte of
//! a program for devices. Here one sort orders numbers of places, and what is compiled for each type is the comparison
//! and the move of values to their places. It needs four bytes a value, and is slower by a constant factor, which does
//! not matter for what is sorted by name, time or price.
//!
//! Properties, each with a test of the same name: `the_order_is_that_of_a_stable_sort`;
//! `what_is_gathered_is_what_is_collected`.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Stable sorts of a slice.
pub trait Order<T> {
    /// Sorts by `compare`; equal values keep their order.
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Sorts by a key; values of equal keys keep their order.
    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }

    /// Sorts by the order of the values themselves.
    fn order(&mut self)
    where
        T: Ord,
    {
        self.order_by(T::cmp);
    }
}

impl<T> Order<T> for [T] {
    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let mut places = places(self.len(), &mut |a, b| compare(&self[a], &self[b]));
        move_to(&mut places, &mut |to, from| self.swap(to, from));
    }
}

/// Maps and sets of what an iterator yields. `collect` sorts all of it first, by the standard library's sort; this
/// inserts one after the other.
pub trait Gather: Iterator + Sized {
    /// A map; of several values of one key the last.
    fn gather_map<K: Ord, V>(self) -> BTreeMap<K, V>
    where
        Self: Iterator<Item = (K, V)>,
    {
        let mut map = BTreeMap::new();
        map.extend(self);
        map
    }

    /// A set.
    fn gather_set(self) -> BTreeSet<Self::Item>
    where
        Self::Item: Ord,
    {
        let mut set = BTreeSet::new();
        set.extend(self);
        set
    }
}

impl<I: Iterator> Gather for I {}

/// The numbers of the values, in the order of `compare`.
fn places(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<u32> {
    let count = u32::try_from(count).expect("fewer than 2^32 values fit into the memory of a device");
    let mut places: Vec<u32> = (0..count).collect();
    places.sort_by(|a, b| compare(*a as usize, *b as usize));
    places
}

/// Moves each value to its place by swaps, cycle by cycle. A place that is done is its own.
fn move_to(places: &mut [u32], swap: &mut dyn FnMut(usize, usize)) {
    for first in 0..places.len() {
        let mut to = first;
        loop {
            let from = std::mem::replace(&mut places[to], to as u32) as usize;
            if from == first {
                break;
            }
            swap(to, from);
            to = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_a_stable_sort(values in prop::collection::vec((0_u8..8, any::<u16>()), 0..60)) {
            let mut expected = values.clone();
            expected.sort_by_key(|(key, _)| *key);
            let mut ordered = values.clone();
            ordered.order_by_key(|(key, _)| *key);
            prop_assert_eq!(ordered, expected);
            let mut expected = values.clone();
            expected.sort();
            let mut ordered = values;
            ordered.order();
            prop_assert_eq!(ordered, expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_gathered_is_what_is_collected(pairs in prop::collection::vec((0_u8..20, any::<u16>()), 0..60)) {
            let collected: BTreeMap<u8, u16> = pairs.iter().copied().collect();
            prop_assert_eq!(pairs.iter().copied().gather_map(), collected);
            let collected: BTreeSet<(u8, u16)> = pairs.iter().copied().collect();
            prop_assert_eq!(pairs.into_iter().gather_set(), collected);
        }
    }

    #[test]
    fn values_that_cannot_be_copied_are_moved() {
        let mut words = vec!["c".to_owned(), "a".to_owned(), "d".to_owned(), "b".to_owned()];
        words.order_by(|a, b| b.cmp(a));
        assert_eq!(words, ["d", "c", "b", "a"]);
    }
}
