//! The adapter, on a double of a cluster and on real PostgreSQL servers; and, where
//! `X811_TEST_KURRENTDB_URL` names one, on a real cluster.

mod between;
#[expect(
    clippy::disallowed_methods,
    reason = "whoever has a cluster says so in the environment"
)]
mod conformance;
#[expect(
    clippy::result_large_err,
    reason = "a status is what the protocol answers with"
)]
mod double;
mod faults;
mod proto;
mod serve;
