//! Every integration test of the watcher, in one binary: one more costs one more link.

mod anvil;
mod watching;
