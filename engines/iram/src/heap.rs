//! How much memory an app will need, and the threshold above it.
