//! Runs the rules over a log.
