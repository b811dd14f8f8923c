//! Who may read without a signature, or by one for a loopback name beside a public one: this machine
//! alone, and only when the operator said so.
//!
//! The Host header is checked besides the peer's address, because a web page can have a browser on
//! this machine connect to us under a name of its own (DNS rebinding); it cannot choose the header.
//! A proxy on this machine can, and asks for others: what says that it was passed on is not this
//! machine's own. A proxy that says nothing cannot be told from us, so none may be in front.

use crate::error::ApiError;
use axum::extract::ConnectInfo;
use axum::http::header::HOST;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};
use std::net::{IpAddr, SocketAddr};
use x811_protocol::loopback::is_loopback_host;

/// What proxies add to a request that they pass on.
const PASSED_ON: [&str; 6] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
];

/// Refuses an unsigned read that does not come from this machine.
pub(crate) fn check(parts: &Parts) -> Result<(), ApiError> {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    if peer.is_some_and(|peer| is_from_here(peer.0.ip(), &parts.headers, &parts.uri)) {
        Ok(())
    } else {
        Err(ApiError::not_loopback())
    }
}

/// True if the request comes from this machine, under one of its names, and no proxy says that it
/// passed the request on.
pub(crate) fn is_from_here(peer: IpAddr, headers: &HeaderMap, uri: &Uri) -> bool {
    let is_passed_on = PASSED_ON.iter().any(|name| headers.contains_key(*name));
    peer.to_canonical().is_loopback() && !is_passed_on && is_addressed_locally(headers, uri)
}

/// Exactly one Host header, and it and the target's own authority name this machine.
pub(crate) fn is_addressed_locally(headers: &HeaderMap, uri: &Uri) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let target = uri.authority().map(Authority::host);
    host.to_str().is_ok_and(names_this_machine) && target.is_none_or(is_loopback_host)
}

/// True for an authority whose host is a loopback name or address.
pub(crate) fn names_this_machine(host: &str) -> bool {
    // Userinfo has no place in a Host header, and would hide what follows it.
    let authority = host.parse::<Authority>();
    !host.contains('@') && authority.is_ok_and(|authority| is_loopback_host(authority.host()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    #[test]
    fn only_names_of_this_machine_pass() {
        for good in [
            "localhost",
            "LOCALHOST:8811",
            "127.0.0.1",
            "127.0.0.1:8811",
            "[::1]",
            "[::1]:8811",
        ] {
            assert!(names_this_machine(good), "{good}");
        }
        for bad in [
            "",
            "example.org",
            "example.org:8811",
            "localhost.example.org",
            "127.0.0.1.example.org",
            "evil@localhost",
            "localhost@evil",
            "192.168.0.1:8811",
            "[::2]",
            "0.0.0.0",
            "localhost, example.org",
        ] {
            assert!(!names_this_machine(bad), "{bad}");
        }
    }

    #[test]
    fn promise_7_what_a_proxy_passes_on_is_not_this_machines_own() {
        let asked = |extra: Option<&str>| {
            let mut request = Request::builder().uri("/x").header(HOST, "127.0.0.1:8811");
            if let Some(name) = extra {
                request = request.header(name, "192.0.2.7");
            }
            let mut parts = request.body(()).unwrap().into_parts().0;
            let peer: SocketAddr = "127.0.0.1:40000".parse().unwrap();
            parts.extensions.insert(ConnectInfo(peer));
            check(&parts).is_ok()
        };
        assert!(asked(None));
        for name in PASSED_ON {
            assert!(!asked(Some(name)), "{name}");
        }
    }

    #[test]
    fn there_is_exactly_one_host_and_the_target_agrees() {
        let request = |uri: &str, hosts: &[&str]| {
            let mut request = Request::builder().uri(uri);
            for host in hosts {
                request = request.header(HOST, *host);
            }
            request.body(()).unwrap().into_parts().0
        };
        let table = [
            ("/x", vec!["localhost"], true),
            ("/x", vec![], false),
            ("/x", vec!["localhost", "example.org"], false),
            ("http://example.org/x", vec!["localhost"], false),
            ("http://127.0.0.1:8811/x", vec!["localhost"], true),
        ];
        for (uri, hosts, passes) in table {
            let parts = request(uri, &hosts);
            assert_eq!(
                is_addressed_locally(&parts.headers, &parts.uri),
                passes,
                "{uri} {hosts:?}"
            );
        }
    }
}
