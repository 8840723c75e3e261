//! Assumptions about energy where nothing measures it; results that use them are called modelled.

/// Processors in their idle loop rather than suspended, which they are as long as a storage request is in flight, in
/// mW: the 3.9 mA of the power profile in the Android sources
/// (frameworks/base/tools/powermodel/test-resource/power_profile.xml, `cpu.idle`), at 3.8 V.
pub const AWAKE_MW: f64 = 14.8;
