//! Tests of brisk-daemon from outside, a module for each subject.

mod attempts;
mod damage;
mod faults;
mod forget;
mod harness;
mod identity;
mod in_daemon;
mod paging;
mod people;
mod prefetch;
mod returns;
mod swap_faults;
mod swapped;
mod unit;
