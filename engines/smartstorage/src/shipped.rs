//! Models that come with brisk, one for a kind of device, for those that nobody has profiled yet.
//!
//! They were measured with `brisk profile` on emulated devices of [`SHIPPED`]'s presets: the energy in them is modelled, and
//! a real device of the kind may differ. So they say [`crate::model::Origin::Shipped`], and one profile of the device itself
//! replaces them.

/// A shipped model: kind of device, preset that it was measured on, and the model in JSON (pure crates read none).
pub const SHIPPED: &[(&str, &str, &str)] = &[];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Model;

    #[test]
    fn what_comes_with_brisk_can_be_used() {
        for (kind, preset, text) in SHIPPED {
            let model: Model = serde_json::from_str(text).expect(preset);
            assert_eq!(model.check(), Ok(()));
            assert_eq!((model.kind.as_str(), model.device.as_str()), (*kind, *preset));
            assert!(model.meter.starts_with("modelled"), "{preset}");
        }
    }
}
