//! Loopback names and addresses.

use std::net::IpAddr;

/// True if the host of a URL or Host header is `localhost` or a loopback address.
pub fn is_loopback_host(host: &str) -> bool {
    if host.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address = address.parse::<IpAddr>();
    address.is_ok_and(|address| address.to_canonical().is_loopback())
}
