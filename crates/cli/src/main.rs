//! The `x811` command.
fn main() {}
