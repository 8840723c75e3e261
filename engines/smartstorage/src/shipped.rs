//! Models that come with brisk, one for a kind of device, for those that nobody has profiled yet.
//!
//! They were measured with `brisk profile` on emulated devices of [`SHIPPED`]'s presets: the energy in them is modelled, and
//! a real device of the kind may differ. So they say [`crate::model::Origin::Shipped`], and one profile of the device itself
//! replaces them.

/// A shipped model: kind of device, preset that it was measured on, and the model in JSON (pure crates read none).
pub const SHIPPED: &[(&str, &str, &str)] = &[];
