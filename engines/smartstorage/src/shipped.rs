//! Models that come with brisk, one for each kind of device, for devices without a profile of their own.
//!
//! They are to be measured with `brisk profile --virtual` on emulated devices of [`SHIPPED`]'s presets: the energy in them is
//! modelled, and a real device of the kind may differ. So they say [`crate::model::Origin::Shipped`], and one profile of the
//! device itself replaces them.
//!
//! There are none, since a profile chooses well for its own device and not for another of its kind. In virtual time, with 26
//! workloads that no profile held, the profile of a Nexus 4 was right for all of them there; that of a Galaxy S5 for 23, as
//! the device's own setting was, and it let one of them wait 1.2 times as long; that of S5 and eMMC 5.1 together for 23 as
//! well, harming none and gaining nothing.

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
