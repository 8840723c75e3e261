//! What every program of brisk needs of the operating system: files that are read up to a limit and replaced as a
//! whole, lines on standard error that never fail, child processes that end with their parent, and names of users.

pub mod child;
pub mod files;
pub mod log;
pub mod memory;
pub mod users;
