//! Parameters of the model by name.
//!
//! One table has name, unit and field of the C struct for each parameter. Presets, `--set key=value` and listings use
//! it.

use std::ffi::CStr;

use thiserror::Error;

use crate::flash::raw::{self, Params};

/// Format of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds with up to three decimals; internally nanoseconds.
    Microseconds,
    Nanojoules,
    Count,
    /// `true` or `false`.
    Flag,
    /// `page`, `log_block` or `in_place`.
    Mapping,
}

/// Why a value was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParameterError {
    #[error("there is no parameter '{name}'{}", hint_of_parameter(.near))]
    Unknown { name: String, near: Option<&'static str> },
    #[error("'{value}' is not a value of {name}: {expected}")]
    Value { name: &'static str, value: String, expected: &'static str },
    #[error("{name} is outside the range that the model accepts")]
    Range { name: String },
}

pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    pub(crate) about: &'static str,
    pub(crate) get: fn(&Params) -> u64,
    pub(crate) set: fn(&mut Params, u64),
}

macro_rules! fields {
    ($($name:literal $field:ident : $type:ty, $unit:ident, $about:literal;)*) => {
        /// Every parameter but the capacity, in the order of the header.
        pub(crate) const FIELDS: &[Field] = &[$(Field {
            name: $name,
            unit: Unit::$unit,
            about: $about,
            get: |p| u64::from(p.$field),
                // A value that does not fit is clamped to the largest, which the core's check refuses.
            set: |p, v| p.$field = <$type>::try_from(v).unwrap_or(<$type>::MAX),
        }),*];
    };
}

fields! {
    "command_us" command_ns: u64, Microseconds, "firmware work per command";
    "read_lookup_us" read_lookup_ns: u64, Microseconds, "more firmware work for a read that continues no run";
    "bus_page_us" bus_page_ns: u64, Microseconds, "one page over the host bus";
    "flush_us" flush_ns: u64, Microseconds, "commit of a flush after the last program";
    "discard_us" discard_ns: u64, Microseconds, "per discard command";
    "read_us" read_ns: u64, Microseconds, "first page of a read that continues no run";
    "read_next_us" read_next_ns: u64, Microseconds, "a further page at the start of a run";
    "read_floor_us" read_floor_ns: u64, Microseconds, "a further page deep in a run";
    "program_us" program_ns: u64, Microseconds, "one program, however full";
    "channel_page_us" channel_page_ns: u64, Microseconds, "more per page of a program";
    "stray_us" stray_ns: u64, Microseconds, "more for a program that continues no run of writes";
    "stray_slice_us" stray_slice_ns: u64, Microseconds, "reads may come in after so much stray work; 0: never";
    "erase_us" erase_ns: u64, Microseconds, "erase of a block";
    "copy_page_us" copy_page_ns: u64, Microseconds, "one page copied by a merge";
    "suspend_us" suspend_ns: u64, Microseconds, "to suspend a program for a read; 0: never";
    "slc_pages" slc_pages: u64, Count, "size of the fast cache; 0: none";
    "slc_program_us" slc_program_ns: u64, Microseconds, "one program into the fast cache";
    "fold_page_us" fold_page_ns: u64, Microseconds, "one page moved out of the fast cache";
    "fold_idle_us" fold_idle_ns: u64, Microseconds, "idle time before folding starts";
    "map_zone_pages" map_zone_pages: u64, Count, "pages that one mapping table covers; 0: all tables fit";
    "map_load_us" map_load_ns: u64, Microseconds, "to load another mapping table for a write";
    "command_nj" command_nj: u64, Nanojoules, "energy per command";
    "bus_page_nj" bus_page_nj: u64, Nanojoules, "energy per page over the bus";
    "read_page_nj" read_page_nj: u64, Nanojoules, "energy per page read";
    "program_page_nj" program_page_nj: u64, Nanojoules, "energy per page programmed";
    "erase_nj" erase_nj: u64, Nanojoules, "energy per erase";
    "queue_depth_requests" queue_depth: u32, Count, "commands that the device holds";
    "units" units: u32, Count, "dies x planes that work at the same time";
    "program_pages" program_pages: u32, Count, "pages of one program";
    "program_any" program_any: u32, Flag, "whether any pages may share a program, or neighbours only";
    "read_ramp_pages" read_ramp_pages: u32, Count, "length of a run at which read_next_us has halved";
    "reads_per_turn" reads_per_turn: u32, Count, "reads that may pass before a waiting program; 0: in the order of \
                                                  arrival";
    "read_chunk_pages" read_chunk_pages: u32, Count, "pages after which a long read gives way to a program";
    "buffer_pages" buffer_pages: u32, Count, "write buffer";
    "write_cache" write_cache: u32, Flag, "whether a write is done once it is in the buffer";
    "suspends_max" suspends_max: u32, Count, "times that one program may be suspended";
    "mapping" mapping: u32, Mapping, "how pages find their place";
    "block_pages" block_pages: u32, Count, "pages of an erase block (of a log block)";
    "spare_percent" spare_percent: u32, Count, "over-provisioning of page mapping";
    "gc_low_blocks" gc_low_blocks: u32, Count, "a unit collects when it has fewer free blocks";
    "log_blocks" log_blocks: u32, Count, "log blocks";
    "map_zones" map_zones: u32, Count, "mapping tables held at once";
    "filled_percent" filled_percent: u32, Count, "part that holds data from the start";
}

const MAPPINGS: [&str; 3] = ["page", "log_block", "in_place"];

impl Field {
    /// The parameter of that name.
    pub(crate) fn find(name: &str) -> Result<&'static Field, ParameterError> {
        FIELDS.iter().find(|f| f.name == name).ok_or_else(|| ParameterError::Unknown {
            name: name.to_owned(),
            near: near(name, FIELDS.iter().map(|f| f.name)),
        })
    }

    pub(crate) fn parse(&self, value: &str) -> Result<u64, ParameterError> {
        let parsed = match self.unit {
            Unit::Microseconds => {
                value.parse::<f64>().ok().filter(|us| (0.0..3.7e9).contains(us)).map(|us| (us * 1e3).round() as u64)
            }
            Unit::Nanojoules | Unit::Count => value.parse().ok(),
            Unit::Flag => value.parse::<bool>().ok().map(u64::from),
            Unit::Mapping => MAPPINGS.iter().position(|m| *m == value).map(|i| i as u64),
        };
        parsed.ok_or_else(|| ParameterError::Value {
            name: self.name,
            value: value.to_owned(),
            expected: match self.unit {
                Unit::Microseconds => "a time in microseconds, 0 to an hour",
                Unit::Nanojoules => "an energy in whole nanojoules",
                Unit::Count => "a whole number",
                Unit::Flag => "true or false",
                Unit::Mapping => "page, log_block or in_place",
            },
        })
    }

    /// Formats a value; the inverse of [`Field::parse`].
    pub(crate) fn format(&self, value: u64) -> String {
        match self.unit {
            Unit::Microseconds => format!("{}", value as f64 / 1e3),
            Unit::Nanojoules | Unit::Count => value.to_string(),
            Unit::Flag => (value != 0).to_string(),
            Unit::Mapping => usize::try_from(value).ok().and_then(|i| MAPPINGS.get(i)).unwrap_or(&"?").to_string(),
        }
    }
}

/// Parameters with every optional part disabled.
pub(crate) fn neutral() -> Params {
    Params {
        queue_depth: 1,
        units: 1,
        program_pages: 1,
        program_any: 1,
        read_ramp_pages: 1,
        reads_per_turn: 1,
        read_chunk_pages: 1 << 20,
        buffer_pages: 1,
        block_pages: 256,
        gc_low_blocks: 2,
        ..Params::default()
    }
}

/// Checks the parameters in the core.
pub(crate) fn check(params: &Params) -> Result<(), ParameterError> {
    let mut field = std::ptr::null();
    // SAFETY: both pointers are valid for the call.
    if unsafe { raw::bf_check(&raw const *params, &raw mut field) } == 0 {
        return Ok(());
    }
    // SAFETY: on failure the core leaves the address of a string constant.
    let name = unsafe { CStr::from_ptr(field) }.to_string_lossy();
    let stem = name.trim_end_matches("_ns");
    let name = FIELDS.iter().map(|f| f.name).find(|n| *n == name || n.trim_end_matches("_us") == stem);
    Err(ParameterError::Range { name: name.unwrap_or("the capacity").to_owned() })
}

/// The least length of a name that is taken for the beginning of another.
const BEGINNING_CHARACTERS_MIN: usize = 3;

/// The candidate that was probably meant by `name`: its beginning differs by at most a quarter of the characters (so
/// `galaxy-s9` means `galaxy-s5-emmc`), or the whole by at most a third. Swapped characters count as two.
pub(crate) fn near<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let length = name.chars().count();
    let begins = |candidate: &str| {
        let beginning: String = candidate.chars().take(length).collect();
        length >= BEGINNING_CHARACTERS_MIN && edit_distance(&name, &beginning) <= length / 4
    };
    let distance = |candidate: &str| if begins(candidate) { 0 } else { edit_distance(&name, candidate) };
    let (nearest, distance) =
        candidates.map(|candidate| (candidate, distance(candidate))).min_by_key(|(_, distance)| *distance)?;
    (length > 0 && distance <= (nearest.chars().count() / 3).max(2).min(length - 1)).then_some(nearest)
}

/// The end of a sentence that a parameter does not exist.
fn hint_of_parameter(near: &Option<&'static str>) -> String {
    let all = || format!("; there are {}", FIELDS.iter().map(|field| field.name).collect::<Vec<_>>().join(", "));
    near.map_or_else(all, |name| format!("; did you mean '{name}'?"))
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn formatting_and_parsing_a_parameter_are_inverse() {
        for field in FIELDS {
            let mut params = neutral();
            let value = if field.unit == Unit::Mapping { 2 } else { 1 };
            (field.set)(&mut params, value);
            assert_eq!((field.get)(&params), value, "{}", field.name);
            assert_eq!(field.parse(&field.format(value)), Ok(value), "{}", field.name);
        }
    }

    #[test]
    fn a_similar_name_is_suggested_or_all_are_named() {
        let Err(error) = Field::find("colour") else { panic!("accepted") };
        assert!(error.to_string().contains("there are command_us, "), "{error}");
        let Err(error) = Field::find("program_usec") else { panic!("accepted") };
        assert_eq!(error.to_string(), "there is no parameter 'program_usec'; did you mean 'program_us'?");
    }

    #[test]
    fn the_core_names_an_invalid_parameter() {
        let params = Params { pages: 100, units: 65, ..neutral() };
        assert_eq!(check(&params), Err(ParameterError::Range { name: "units".into() }));
        let params = Params { pages: 100, read_ns: u64::MAX, ..neutral() };
        assert_eq!(check(&params), Err(ParameterError::Range { name: "read_us".into() }));
    }

    proptest! {
        #[test]
        fn no_text_makes_a_parameter_panic(index in 0..FIELDS.len(), text in ".*") {
            let _ = FIELDS[index].parse(&text);
        }

        #[test]
        fn times_survive_the_round_trip(ns in 0u64..3_600_000_000_000) {
            let field = Field::find("read_us").expect("a field");
            prop_assert_eq!(field.parse(&field.format(ns)), Ok(ns));
        }
    }
}
