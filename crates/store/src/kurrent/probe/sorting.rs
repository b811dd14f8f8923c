//! The cause that an answer or an error shows.

use std::error::Error;
use std::io;

use reqwest::StatusCode;
use rustls::CertificateError;
use serde_json::Value;

use super::finding::Cause;

/// Most characters of a text that another program wrote.
const MAX_FOREIGN_CHARS: usize = 120;

/// Returns the cause that an answer shows.
pub(in crate::kurrent) fn of_answer(status: StatusCode, body: &[u8]) -> Cause {
    match status {
        StatusCode::OK => of_gossip(body).unwrap_or(Cause::NoGossip),
        StatusCode::UNAUTHORIZED => Cause::Unauthorized,
        StatusCode::FORBIDDEN => Cause::Forbidden,
        StatusCode::SERVICE_UNAVAILABLE => Cause::NotReady,
        status => Cause::Status(status.as_u16()),
    }
}

fn of_gossip(body: &[u8]) -> Option<Cause> {
    let gossip: Value = serde_json::from_slice(body).ok()?;
    let members = gossip.get("members")?.as_array()?;
    let is_alive = |member: &&Value| member.get("isAlive").and_then(Value::as_bool) == Some(true);
    let leads = |member: &&Value| member.get("state").and_then(Value::as_str) == Some("Leader");
    let Some(leader) = members.iter().filter(is_alive).find(leads) else {
        return Some(Cause::NoLeader {
            alive: members.iter().filter(is_alive).count(),
            members: members.len(),
        });
    };
    let host = leader.get("httpEndPointIp")?.as_str()?;
    let port = leader.get("httpEndPointPort")?.as_u64()?;
    let is_bare_ipv6 = host.contains(':') && !host.starts_with('[');
    let leader = match is_bare_ipv6 {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    };
    Some(Cause::Leads(bounded(&leader)))
}

/// Returns the cause that the error of a request shows.
pub(in crate::kurrent) fn of_error(error: &(dyn Error + 'static)) -> Cause {
    for error in chain(error) {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return of_tls(error);
        }
        if let Some(cause) = error.downcast_ref::<io::Error>().and_then(of_io) {
            return cause;
        }
    }
    Cause::NotHttp
}

/// Returns an error and all its causes, from the outside in.
pub(super) fn chain<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        // The source of an I/O error is not the error that it wraps.
        let io = error.downcast_ref::<io::Error>();
        match io.and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped as &(dyn Error + 'static)),
            None => error.source(),
        }
    })
}

fn of_io(error: &io::Error) -> Option<Cause> {
    let closed = [
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::ConnectionAborted,
        io::ErrorKind::NotConnected,
        io::ErrorKind::UnexpectedEof,
        io::ErrorKind::BrokenPipe,
    ];
    let kind = error.kind();
    if kind == io::ErrorKind::ConnectionRefused {
        Some(Cause::Refused)
    } else if kind == io::ErrorKind::TimedOut {
        Some(Cause::Silent)
    } else if closed.contains(&kind) {
        Some(Cause::NotHttp)
    } else {
        let code = error.raw_os_error();
        code.map(|_| Cause::Unreachable(bounded(&error.to_string())))
    }
}

fn of_tls(error: &rustls::Error) -> Cause {
    if let rustls::Error::InvalidCertificate(error) = error {
        return of_certificate(error);
    }
    // An answer that is no TLS looks like a broken message.
    match matches!(error, rustls::Error::InvalidMessage(_)) {
        true => Cause::NotHttp,
        false => Cause::Tls(bounded(&error.to_string())),
    }
}

fn of_certificate(error: &CertificateError) -> Cause {
    use CertificateError as Fault;
    if let Fault::NotValidForNameContext { presented, .. } = error {
        return Cause::OtherName(names(presented));
    }
    // Another CA of the same name shows as a bad signature.
    if matches!(error, Fault::UnknownIssuer | Fault::BadSignature) {
        return Cause::Untrusted;
    }
    if matches!(error, Fault::Expired | Fault::ExpiredContext { .. }) {
        return Cause::Expired;
    }
    if matches!(error, Fault::NotValidYet | Fault::NotValidYetContext { .. }) {
        return Cause::NotYetValid;
    }
    Cause::BadCertificate(bounded(&error.to_string()))
}

/// Returns the names of a certificate, each of which rustls writes as `DnsName("a.example")`.
fn names(presented: &[String]) -> String {
    let plain = presented.iter().map(|name| match name.split_once('(') {
        Some((_, inner)) => inner.trim_end_matches(')').trim_matches('"'),
        None => name.as_str(),
    });
    let plain = plain.collect::<Vec<_>>().join(", ");
    if plain.is_empty() {
        "no name".to_owned()
    } else {
        bounded(&plain)
    }
}

/// Returns a text that another program wrote, safe for a terminal and a log.
pub(super) fn bounded(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_graphic() || c == ' ';
    let text = text.chars().take(MAX_FOREIGN_CHARS);
    text.map(|c| if is_plain(c) { c } else { '?' }).collect()
}
