//! The promises of the PostgreSQL backend, on servers that the tests start themselves.

#[expect(
    unreachable_pub,
    dead_code,
    reason = "it is the end-to-end tests' harness, too"
)]
#[path = "../../../../../tests/src/postgres.rs"]
pub(crate) mod cluster;
mod conformance;
mod guards;
mod places;
mod quorum;
mod renewal;
mod settings;

/// The address of a new and empty schema.
pub(crate) async fn url(node: &cluster::Node) -> crate::StoreUrl {
    node.url().await.parse().unwrap()
}
