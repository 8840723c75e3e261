//! Which apps are likely to be used next.
