//! Tables and self-contained pages drawn from results.
