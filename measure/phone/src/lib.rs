//! An emulated phone with real apps, the suite and the what-if study on it.
