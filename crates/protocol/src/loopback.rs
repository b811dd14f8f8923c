//! Names of this machine itself.

use std::net::IpAddr;

/// Whether a host, as a URL or a Host header has it, is this machine: `localhost`, or an address that loops back.
pub fn is_loopback_host(host: &str) -> bool {
    if host.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address = address.parse::<IpAddr>();
    address.is_ok_and(|address| address.to_canonical().is_loopback())
}
