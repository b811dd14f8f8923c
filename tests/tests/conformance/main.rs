//! What is checked in, and what others read of it: rules over the source, formats, golden vectors, independent verifiers.

mod arrows;
mod corpora;
mod cose;
mod forgeries;
mod format;
mod jws;
mod machines;
mod old_logs;
mod requirements;
mod schemas;
mod tidy;
mod vectors;
mod verifiers;
mod xap;
