//! What `@authority` has to say: the operator's word, never the request's own, or a signature made
//! for another ledger could be handed on to this one (decision 0297).

use crate::loopback::names_this_machine;
use axum::http::HeaderMap;
use axum::http::header::HOST;
use std::net::SocketAddr;
use x811_protocol::code::Code;
use x811_protocol::refusal::{Kind, Refusal};

/// The authorities that signed requests may cover, in lower case.
#[derive(Debug)]
pub(super) enum Authorities {
    /// The operator configured them. Whichever of them a signature covers, it was made for this
    /// ledger; the Host header decides nothing, because proxies change it.
    Configured {
        /// Accepted from everywhere; at least one.
        public: Vec<String>,
        /// Loopback names, which every machine has: accepted from this one only.
        local: Vec<String>,
    },
    /// The address listened on and the loopback names, of which the Host header selects one.
    Listening(Vec<String>),
}

impl Authorities {
    /// Those that are configured; without any the address listened on and the loopback names.
    pub(super) fn new(configured: &[String], listen: SocketAddr) -> Authorities {
        if configured.is_empty() {
            return Authorities::Listening(listening(listen));
        }
        let names = configured.iter().map(|name| name.to_ascii_lowercase());
        let (local, public): (Vec<_>, Vec<_>) = names.partition(|name| names_this_machine(name));
        if public.is_empty() {
            // It is known by loopback names alone, past a mapped port for instance.
            return Authorities::Configured {
                public: local,
                local: public,
            };
        }
        Authorities::Configured { public, local }
    }

    /// The authorities that a request with these headers may be signed for; at least one.
    ///
    /// # Errors
    /// X811-2003 if none is configured and the Host header is no name of this ledger.
    pub(super) fn accepted(
        &self,
        headers: &HeaderMap,
        is_from_here: bool,
    ) -> Result<Vec<&str>, Refusal> {
        match self {
            Authorities::Configured { public, local } => {
                let local = local.iter().filter(|_| is_from_here);
                Ok(public.iter().chain(local).map(String::as_str).collect())
            }
            Authorities::Listening(names) => selected(names, headers).map(|name| vec![name]),
        }
    }
}

/// The names of a ledger at `listen` that has no others.
fn listening(listen: SocketAddr) -> Vec<String> {
    // RFC 9421 section 2.2.3: the scheme's own port is left out.
    let port = match listen.port() {
        80 => String::new(),
        port => format!(":{port}"),
    };
    let mut names: Vec<String> = ["127.0.0.1", "localhost", "[::1]"]
        .map(|host| format!("{host}{port}"))
        .into();
    let host = match listen {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    };
    if !listen.ip().is_unspecified() {
        names.push(format!("{host}{port}"));
    }
    names
}

/// The one of `names` that the Host header has.
fn selected<'a>(names: &'a [String], headers: &HeaderMap) -> Result<&'a str, Refusal> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().unwrap_or_default(),
        (None, _) | (Some(_), Some(_)) => "",
    };
    let known = names.iter().find(|name| name.eq_ignore_ascii_case(host));
    known.map(String::as_str).ok_or_else(|| {
        let message = "signed reads are asked under this ledger's own address: use one of \
                       details.authorities, or have its operator set --public-authority";
        Refusal::new(Code::SignatureInvalid, Kind::Authentication, message)
            .with_details(serde_json::json!({ "authorities": names }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(hosts: &[&str]) -> HeaderMap {
        let hosts = hosts.iter().map(|host| (HOST, host.parse().unwrap()));
        let mut headers = HeaderMap::new();
        hosts.for_each(|(name, host)| {
            headers.append(name, host);
        });
        headers
    }

    fn configured(names: &[&str]) -> Authorities {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Authorities::new(&names, "127.0.0.1:8811".parse().unwrap())
    }

    #[test]
    fn promise_7_configured_authorities_are_the_only_ones_whatever_the_request_says() {
        let one = configured(&["Ledger.Example.org"]);
        let two = configured(&["ledger.example.org", "x811.ledgers.svc:8811"]);
        for hosts in [&["ledger.example.org"][..], &["evil.example.org"], &[]] {
            let headers = headers(hosts);
            for is_from_here in [false, true] {
                let accepted = one.accepted(&headers, is_from_here).unwrap();
                assert_eq!(accepted, ["ledger.example.org"], "{hosts:?}");
                let accepted = two.accepted(&headers, is_from_here).unwrap();
                let both = ["ledger.example.org", "x811.ledgers.svc:8811"];
                assert_eq!(accepted, both, "{hosts:?}");
            }
        }
    }

    /// Attack: what was signed for the loopback name of one machine is sent to another one.
    #[test]
    fn promise_7_a_loopback_name_beside_a_public_one_is_for_this_machine() {
        let authorities = configured(&["127.0.0.1:8811", "ledger.example.org", "localhost:8811"]);
        let headers = headers(&["127.0.0.1:8811"]);
        let elsewhere = authorities.accepted(&headers, false).unwrap();
        assert_eq!(elsewhere, ["ledger.example.org"]);
        let here = authorities.accepted(&headers, true).unwrap();
        let all = ["ledger.example.org", "127.0.0.1:8811", "localhost:8811"];
        assert_eq!(here, all);
    }

    #[test]
    fn promise_7_a_ledger_with_loopback_names_alone_is_asked_under_them() {
        let authorities = configured(&["127.0.0.1:9000"]);
        let accepted = authorities.accepted(&headers(&[]), false).unwrap();
        assert_eq!(accepted, ["127.0.0.1:9000"]);
    }

    #[test]
    fn promise_7_without_one_the_address_listened_on_and_the_loopback_names_count() {
        let table = [
            (
                "127.0.0.1:8811",
                vec!["LOCALHOST:8811"],
                Some("localhost:8811"),
            ),
            (
                "127.0.0.1:8811",
                vec!["127.0.0.1:8811"],
                Some("127.0.0.1:8811"),
            ),
            ("[::1]:8811", vec!["[::1]:8811"], Some("[::1]:8811")),
            (
                "192.0.2.7:8811",
                vec!["192.0.2.7:8811"],
                Some("192.0.2.7:8811"),
            ),
            ("192.0.2.7:80", vec!["192.0.2.7"], Some("192.0.2.7")),
            (
                "0.0.0.0:8811",
                vec!["localhost:8811"],
                Some("localhost:8811"),
            ),
            ("0.0.0.0:8811", vec!["0.0.0.0:8811"], None),
            ("127.0.0.1:8811", vec!["localhost:8812"], None),
            ("127.0.0.1:8811", vec!["localhost"], None),
            ("127.0.0.1:8811", vec!["evil.example.org:8811"], None),
            (
                "127.0.0.1:8811",
                vec!["localhost:8811", "evil.example.org"],
                None,
            ),
            ("127.0.0.1:8811", vec![], None),
        ];
        for (listen, hosts, expected) in table {
            let authorities = Authorities::new(&[], listen.parse().unwrap());
            let accepted = authorities.accepted(&headers(&hosts), true).ok();
            let expected = expected.map(|name| vec![name]);
            assert_eq!(accepted, expected, "{listen} {hosts:?}");
        }
    }
}
