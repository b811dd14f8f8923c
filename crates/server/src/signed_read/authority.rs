//! What `@authority` has to say: the operator's word, never the request's own, or a signature made
//! for another ledger could be handed on to this one.

use axum::http::HeaderMap;
use axum::http::header::HOST;
use std::net::SocketAddr;
use x811_protocol::code::Code;
use x811_protocol::refusal::{Kind, Refusal};

/// The names this ledger may be asked under.
#[derive(Debug)]
pub(super) struct Authorities {
    /// In lower case; at least one.
    names: Vec<String>,
}

impl Authorities {
    /// The public one alone; without it the address listened on and the loopback names.
    pub(super) fn new(public: Option<&str>, listen: SocketAddr) -> Authorities {
        if let Some(public) = public {
            let names = vec![public.to_ascii_lowercase()];
            return Authorities { names };
        }
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
        Authorities { names }
    }

    /// The name this request has to be signed for: the only one there is, or the one in its Host
    /// header when that is one of ours.
    pub(super) fn of(&self, headers: &HeaderMap) -> Result<&str, Refusal> {
        if let [only] = self.names.as_slice() {
            return Ok(only);
        }
        let mut hosts = headers.get_all(HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().unwrap_or_default(),
            (None, _) | (Some(_), Some(_)) => "",
        };
        let known = self
            .names
            .iter()
            .find(|name| name.eq_ignore_ascii_case(host));
        known.map(String::as_str).ok_or_else(|| {
            let message = "signed reads are asked under this ledger's own address: use one of \
                           details.authorities, or have its operator set --public-authority";
            Refusal::new(Code::SignatureInvalid, Kind::Authentication, message)
                .with_details(serde_json::json!({ "authorities": self.names }))
        })
    }
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

    fn of(authorities: &Authorities, hosts: &[&str]) -> Option<String> {
        authorities.of(&headers(hosts)).ok().map(str::to_owned)
    }

    #[test]
    fn promise_7_a_public_authority_is_the_only_one_whatever_the_request_says() {
        let listen = "127.0.0.1:8811".parse().unwrap();
        let authorities = Authorities::new(Some("Ledger.Example.org"), listen);
        for hosts in [&["ledger.example.org"][..], &["evil.example.org"], &[]] {
            let authority = of(&authorities, hosts);
            assert_eq!(authority.as_deref(), Some("ledger.example.org"));
        }
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
            let authorities = Authorities::new(None, listen.parse().unwrap());
            assert_eq!(
                of(&authorities, &hosts).as_deref(),
                expected,
                "{listen} {hosts:?}"
            );
        }
    }
}
