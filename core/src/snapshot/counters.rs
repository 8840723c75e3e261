//! From rows of the table (`table.rs`) to structs.
//!
//! A row names a counter once: the field that holds it, its type, the step in which the kernel counts it, the kernel's
//! name where a text has one, and the rates that follow from it, each with the rule of `Span` that makes it.
//! [`counters!`] derives from it the structs of totals and of rates, the numbers that a record holds ([`Counted`]), and
//! the values that are exported by name ([`Valued`]).

use std::borrow::Cow;

/// Takes an exported value: its name, whose last word is the unit, and the value.
pub(super) type Put<'a> = &'a mut dyn FnMut(Cow<'static, str>, f64);

/// The numbers of a snapshot or of a part of it, in the order of the table.
pub trait Counted {
    /// Visits each number, with its step: most of its differences are multiples of that.
    fn each_number(&mut self, step: u64, visit: &mut dyn FnMut(&mut u64, u64));

    /// The place of the counter that the kernel calls `name`; `None` for counters that no part has. Names of one place
    /// add up.
    fn slot_of(&mut self, _name: &[u8]) -> Option<&mut u64> {
        None
    }

    /// The place of a single number, zero where it was not known.
    fn slot(&mut self) -> Option<&mut u64> {
        None
    }
}

impl Counted for u64 {
    fn each_number(&mut self, step: u64, visit: &mut dyn FnMut(&mut u64, u64)) {
        visit(self, step);
    }

    fn slot(&mut self) -> Option<&mut u64> {
        Some(self)
    }
}

impl<T: Counted + Default> Counted for Option<T> {
    fn each_number(&mut self, step: u64, visit: &mut dyn FnMut(&mut u64, u64)) {
        self.iter_mut().for_each(|inner| inner.each_number(step, visit));
    }

    fn slot(&mut self) -> Option<&mut u64> {
        self.get_or_insert_default().slot()
    }
}

/// Values that are exported by name; unknown ones are left out.
pub(super) trait Valued {
    /// Visits each value; its name stands behind `prefix` and an underscore where there is one.
    fn each_value(&self, prefix: &'static str, name: &'static str, put: Put<'_>);
}

impl Valued for f64 {
    fn each_value(&self, prefix: &'static str, name: &'static str, put: Put<'_>) {
        put(if prefix.is_empty() { name.into() } else { format!("{prefix}_{name}").into() }, *self);
    }
}

impl Valued for u64 {
    fn each_value(&self, prefix: &'static str, name: &'static str, put: Put<'_>) {
        (*self as f64).each_value(prefix, name, put);
    }
}

impl<T: Valued> Valued for Option<T> {
    fn each_value(&self, prefix: &'static str, name: &'static str, put: Put<'_>) {
        self.iter().for_each(|value| value.each_value(prefix, name, put));
    }
}

/// A struct of totals with its struct of rates, or (`levels`) one of levels, which are exported as they stand.
macro_rules! counters {
    ($(#[$attr:meta])* $Totals:ident levels { $($rows:tt)* }) => {
        totals! { $(#[$attr])* $Totals { $($rows)* } }
        levels! { $Totals { $($rows)* } }
    };
    ($(#[$attr:meta])* $Totals:ident => $(#[$rates_attr:meta])* $Rates:ident { $($rows:tt)* }) => {
        totals! { $(#[$attr])* $Totals { $($rows)* } }
        rates! { $(#[$rates_attr])* $Rates $Totals { $($rows)* } }
    };
}

macro_rules! totals {
    ($(#[$attr:meta])* $Totals:ident {
        $(named $name_doc:literal;)?
        $(
            #[$doc:meta]
            $field:ident: $type:ty, $step:expr $(, [$($kernel:literal)|+])?
            $(=> $(#[$rate_doc:meta])? $rate:ident: $rate_type:ty = $rule:tt)*;
        )*
    }) => {
        $(#[$attr])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $Totals {
            $(#[doc = $name_doc] pub name: String,)?
            $(#[$doc] pub $field: $type,)*
        }

        impl Counted for $Totals {
            fn each_number(&mut self, _step: u64, visit: &mut dyn FnMut(&mut u64, u64)) {
                $(self.$field.each_number($step, visit);)*
            }

            fn slot_of(&mut self, name: &[u8]) -> Option<&mut u64> {
                match name {
                    $($($($kernel)|+ => self.$field.slot(),)?)*
                    _ => None,
                }
            }
        }
    };
}

macro_rules! levels {
    ($Totals:ident {
        $(#[$doc:meta] $field:ident: $type:ty, $step:expr $(, [$($kernel:literal)|+])?;)*
    }) => {
        impl Valued for $Totals {
            fn each_value(&self, prefix: &'static str, _name: &'static str, put: Put<'_>) {
                $(self.$field.each_value(prefix, stringify!($field), put);)*
            }
        }
    };
}

macro_rules! rates {
    ($(#[$attr:meta])* $Rates:ident $Totals:ident {
        $(named $name_doc:literal;)?
        $(
            #[$doc:meta]
            $field:ident: $type:ty, $step:expr $(, [$($kernel:literal)|+])?
            $(=> $(#[$rate_doc:meta])? $rate:ident: $rate_type:ty = $rule:tt)*;
        )*
    }) => {
        $(#[$attr])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        pub struct $Rates {
            $(#[doc = $name_doc] pub name: String,)?
            $($(#[$doc] $(#[$rate_doc])? pub $rate: $rate_type,)*)*
        }

        impl Rated for $Totals {
            type Rates = $Rates;

            fn rates(&self, then: &Self, span: &Span) -> Option<$Rates> {
                Some($Rates {
                    $(name: { let _: &str = $name_doc; crate::text::one_line(&self.name).into_owned() },)?
                    $($($rate: rule!($rule $field span self then),)*)*
                })
            }
        }

        impl Valued for $Rates {
            fn each_value(&self, _prefix: &'static str, _name: &'static str, put: Put<'_>) {
                $($(exported!($rule (self.$rate) _prefix (stringify!($rate)) put);)*)*
            }
        }
    };
}

/// A rate by its rule; `None` of a rule means that the whole part began to count anew.
macro_rules! rule {
    ([share_of_cpu $($part:ident)+] $field:ident $span:ident $now:ident $then:ident) => {
        $span.share_of_cpu($now.states_us_since($then), [$($now.$part.saturating_sub($then.$part)),+])
    };
    ([$rule:ident over $other:ident] $field:ident $span:ident $now:ident $then:ident) => {
        $span.$rule([$now.$other, $then.$other], [$now.$field, $then.$field])?
    };
    ([$rule:ident $prefix:literal] $field:ident $span:ident $now:ident $then:ident) => {
        $span.$rule(&$now.$field, &$then.$field)?
    };
    ($rule:ident $field:ident $span:ident $now:ident $then:ident) => {
        $span.$rule(&$now.$field, &$then.$field)?
    };
}

/// Parts of a part have their prefix, all else the name of its field.
macro_rules! exported {
    ([$rule:ident $prefix:literal] ($rate:expr) $outer:ident ($name:expr) $put:ident) => {
        $rate.each_value($prefix, "", $put)
    };
    ($rule:tt ($rate:expr) $prefix:ident ($name:expr) $put:ident) => {
        $rate.each_value($prefix, $name, $put)
    };
}

pub(super) use {counters, exported, levels, rates, rule, totals};
