//! The adapter, on a double of a cluster and on real PostgreSQL servers; and, where
//! `X811_TEST_KURRENTDB_URL` names one, on a real cluster.

mod batch;
mod between;
#[expect(
    clippy::disallowed_methods,
    reason = "whoever has a cluster says so in the environment"
)]
mod conformance;
mod double;
mod double_rules;
mod faults;
mod lookout;
mod probe;
mod proto;
mod rights;
mod serve;
mod streams;
mod tls;
