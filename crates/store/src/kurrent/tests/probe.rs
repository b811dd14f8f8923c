//! The cause that is named for each wrong setting, and for each state of a cluster.

use std::convert::Infallible;
use std::fmt::Display;
use std::io;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::{ServerName, UnixTime};
use rustls::{AlertDescription, CertificateError, InvalidMessage};
use serde_json::json;
use tempfile::NamedTempFile;
use tokio::net::{TcpListener, TcpSocket};

use super::double::Cluster;
use super::tls::Authority;
use crate::kurrent::client::Patience;
use crate::kurrent::error::KurrentError;
use crate::kurrent::probe::finding::{Cause, Finding};
use crate::kurrent::probe::sorting::{of_answer, of_error};
use crate::kurrent::probe::{Address, cause};
use crate::kurrent::stream::Stream;

/// The error of the vendor's client.
const SAID: &str = "Max discovery attempt count reached";

async fn finding(url: &str) -> Finding {
    cause(&Address::of(url).unwrap(), SAID).await
}

/// Returns the sentence for a URL whose settings somebody has to correct.
async fn lasting(url: &str) -> String {
    let finding = finding(url).await;
    assert!(!finding.passes_by_itself(), "{finding}");
    finding.to_string()
}

/// Returns the sentence for a cluster that may be well again later.
async fn passing(url: &str) -> String {
    let finding = finding(url).await;
    assert!(finding.passes_by_itself(), "{finding}");
    finding.to_string()
}

#[track_caller]
fn assert_says(sentence: impl Display, words: &str) {
    let sentence = sentence.to_string();
    assert!(sentence.contains(words), "{sentence}");
}

fn plain(node: impl Display) -> String {
    format!("kurrentdb://{node}?tls=false")
}

/// Returns the nodes of a cluster's address.
fn nodes(address: &str) -> &str {
    address.split(['/', '?']).nth(2).unwrap()
}

/// Returns an address that refuses connections as long as the socket lives.
fn refused() -> (TcpSocket, String) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap().to_string();
    (socket, address)
}

/// Starts a server that closes every connection; returns its address.
async fn closing() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    address
}

/// Starts an HTTP server that gives everybody the same answer; returns its address.
async fn answering(status: u16, body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let body = body.clone();
            let service = service_fn(move |_: Request<Incoming>| {
                let response = Response::builder().status(status).body(body.clone());
                async move { Ok::<_, Infallible>(response.unwrap()) }
            });
            let io = TokioIo::new(connection);
            tokio::spawn(http1::Builder::new().serve_connection(io, service));
        }
    });
    address
}

/// Returns a gossip of nodes that are alive, in these states and under these addresses.
fn gossip(members: &[(&str, &str)]) -> String {
    let members = members.iter().map(|(state, node)| {
        let (host, port) = node.rsplit_once(':').unwrap();
        let port: u16 = port.parse().unwrap();
        json!({
            "state": state,
            "isAlive": true,
            "httpEndPointIp": host,
            "httpEndPointPort": port,
        })
    });
    json!({ "members": members.collect::<Vec<_>>() }).to_string()
}

#[tokio::test]
async fn nodes_that_are_down_are_named() {
    let ((_one, one), (_other, other)) = (refused(), refused());
    let sentence = passing(&plain(format!("{one},{other}"))).await;
    let expected = format!(
        "{one} and {other} refused the connection. Start the nodes, or correct the ports in the \
         log's URL (2113 by default)"
    );
    assert_eq!(sentence, expected);
}

#[tokio::test]
async fn a_port_that_is_none_of_http_is_named_with_and_without_tls() {
    let node = closing().await;
    for url in [plain(&node), format!("kurrentdb://{node}")] {
        let says = format!("{node} closed the connection, or did not answer in HTTP. Correct");
        assert_says(passing(&url).await, &says);
    }
}

#[tokio::test]
async fn a_server_that_is_no_node_is_named() {
    for (status, body, says) in [
        (404, "", "answered with HTTP status 404. Correct the ports"),
        (
            200,
            "{}",
            "answered, but not as a node of EventStoreDB. Correct the ports",
        ),
        (502, "", "answered with HTTP status 502. Read the logs"),
        (503, "", "answered with HTTP status 503 (not ready). Wait"),
    ] {
        let node = answering(status, body.to_owned()).await;
        assert_says(passing(&plain(&node)).await, &format!("{node} {says}"));
    }
    let node = answering(403, String::new()).await;
    assert_says(lasting(&plain(&node)).await, "denied access to the user");
}

#[tokio::test]
async fn a_wrong_password_is_named_and_never_shown() {
    let cluster = Cluster::start(3).await;
    cluster.state().users.add("ledger", "right");
    let sentence = lasting(&cluster.address_as("ledger", "wr0ng")).await;
    let says = "did not accept the user and the password of the log's URL. Correct them";
    assert!(sentence.ends_with(says), "{sentence}");
    let encoded = lasting(&cluster.address_as("ledger", "wr%40ng")).await;
    assert_says(&encoded, "(%40 for @)");
    for secret in ["ledger:", "wr0ng", "wr%40ng", "wr@ng"] {
        assert!(!sentence.contains(secret) && !encoded.contains(secret));
    }
    assert_says(passing(&cluster.address_as("ledger", "right")).await, SAID);
}

#[tokio::test]
async fn a_missing_user_is_named() {
    let node = answering(401, String::new()).await;
    let says = "asked for a user and a password. Write them in the log's URL";
    assert_says(lasting(&plain(&node)).await, says);
}

#[tokio::test]
async fn tls_that_only_one_side_uses_is_named() {
    let (secure, open) = (Cluster::start_secure(3).await, Cluster::start(3).await);
    let sentence = lasting(&plain(nodes(&secure.address()))).await;
    assert_says(
        &sentence,
        "answered with TLS only, which the log's URL turns off. Remove tls=false",
    );
    let sentence = lasting(&format!("kurrentdb://{}", nodes(&open.address()))).await;
    assert_says(
        &sentence,
        "answered without TLS, which the log's URL asks for. Add tls=false",
    );
}

#[tokio::test]
async fn certificates_that_cannot_be_trusted_are_named() {
    let (cluster, stranger) = (Cluster::start_secure(1).await, Authority::new());
    let address = cluster.address();
    let node = nodes(&address);
    let file = stranger.path().display();
    let sentence = lasting(&format!("kurrentdb://{node}?tlsCaFile={file}")).await;
    let says = format!("{node} presented a certificate that no CA in {file} signed. Set tlsCaFile");
    assert_says(sentence, &says);
    let sentence = lasting(&format!("kurrentdb://{node}")).await;
    assert_says(sentence, "of a CA that this machine does not trust");
    let sentence = lasting(&address.replace("127.0.0.1", "localhost")).await;
    assert_says(sentence, "for another name (it is for 127.0.0.1)");
    let unchecked = format!("kurrentdb://{node}?tlsVerifyCert=false");
    for right in [&unchecked, &address] {
        assert_says(passing(right).await, SAID);
    }
}

#[test]
fn files_that_cannot_be_read_are_refused_before_anybody_is_asked() {
    let empty = NamedTempFile::new().unwrap();
    let damaged = NamedTempFile::new().unwrap();
    let pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    std::fs::write(damaged.path(), pem).unwrap();
    let ca = |file: &NamedTempFile| format!("tlsCaFile={}", file.path().display());
    let (empty_ca, damaged_ca) = (ca(&empty), ca(&damaged));
    let user = "userCertFile=/nowhere/user.pem&userKeyFile=/nowhere/user.key";
    for (settings, says) in [
        (
            "tlsCaFile=/nowhere",
            "/nowhere (tlsCaFile in the log's URL) cannot",
        ),
        ("tls=false&tlsCaFile=/nowhere", "/nowhere (tlsCaFile"),
        (
            user,
            "/nowhere/user.pem (userCertFile in the log's URL) cannot",
        ),
        (empty_ca.as_str(), "has no certificate in PEM"),
        (damaged_ca.as_str(), "has no certificate in PEM"),
    ] {
        let error = Address::of(&format!("kurrentdb://admin:secret@a,b?{settings}")).unwrap_err();
        assert!(matches!(error, KurrentError::Misconfigured(_)), "{error:?}");
        assert!(!error.to_string().contains("secret"), "{error}");
        assert_says(error, says);
    }
    let error = Address::of("kurrentdb://a?tls=perhaps").unwrap_err();
    assert!(matches!(error, KurrentError::Url), "{error:?}");
}

#[tokio::test]
async fn a_cluster_without_a_leader_is_named() {
    let cluster = Cluster::start(3).await;
    cluster.state().is_leaderless = true;
    let says = "knew no leader, and 3 of 3 members to be alive. Wait for the election";
    assert_says(passing(&cluster.address()).await, says);
}

#[tokio::test]
async fn a_leader_that_only_the_others_name_is_looked_at() {
    let (_leader, leader) = refused();
    let node = answering(200, gossip(&[("Leader", leader.as_str())])).await;
    let sentence = passing(&plain(&node)).await;
    let expected = format!(
        "{node} answered and named {leader} as the leader; {leader} refused the connection. Check \
         this leader, or let it advertise an address that can be used from here \
         (AdvertiseHostToClientAs)"
    );
    assert_eq!(sentence, expected);
}

fn leads(leader: &str) -> Cause {
    Cause::Leads(leader.to_owned())
}

/// Returns the finding for three nodes.
fn judged(found: [(&str, Cause); 3]) -> Finding {
    let found = found.map(|(node, cause)| (node.to_owned(), cause));
    let address = Address::of("kurrentdb://a,b,c").unwrap();
    Finding::of(&found, false, &address, SAID)
}

#[test]
fn each_node_is_named_with_its_own_cause() {
    let finding = judged([
        ("a", Cause::Refused),
        ("b", Cause::Silent),
        ("c", Cause::Refused),
    ]);
    assert!(finding.passes_by_itself());
    let says = "a and c refused the connection; b did not answer within 3 s. Start the nodes";
    assert_says(finding, says);
}

/// Two nodes that are down do not hide that the third one refuses the password.
#[test]
fn a_cause_that_lasts_decides_what_is_next() {
    let finding = judged([
        ("a", Cause::Refused),
        ("b", Cause::Unauthorized),
        ("c", Cause::Refused),
    ]);
    assert!(!finding.passes_by_itself());
    assert_says(finding, "Write them in the log's URL");
}

/// A node that gave its gossip shows that the settings are right.
#[test]
fn a_node_with_another_certificate_does_not_end_a_start() {
    let no_leader = || Cause::NoLeader {
        alive: 1,
        members: 3,
    };
    let finding = judged([
        ("a", no_leader()),
        ("b", Cause::Untrusted),
        ("c", Cause::Refused),
    ]);
    assert!(finding.passes_by_itself());
    assert_says(finding, "Start the other members");
    let finding = judged([
        ("a", leads("a")),
        ("b", Cause::Untrusted),
        ("c", leads("a")),
    ]);
    assert!(finding.passes_by_itself());
    assert_says(finding, SAID);
    // Unless it is the leader.
    let finding = judged([
        ("a", leads("b")),
        ("b", Cause::Untrusted),
        ("c", leads("b")),
    ]);
    assert!(!finding.passes_by_itself());
    assert_says(finding, "Set tlsCaFile=FILE");
}

#[test]
fn answers_are_sorted() {
    let led = gossip(&[("Follower", "10.0.0.1:2113"), ("Leader", "10.0.0.2:2113")]);
    let leaderless = gossip(&[("Unknown", "10.0.0.1:2113")]);
    let dead = gossip(&[("Leader", "10.0.0.1:2113")]).replace("true", "false");
    let ipv6 = gossip(&[("Leader", "::1:2113")]);
    let odd = gossip(&[("Leader", "10.0.0.1\u{1b}[2J:2113")]);
    let no_leader = |alive, members| Cause::NoLeader { alive, members };
    for (status, body, cause) in [
        (200, led.as_str(), leads("10.0.0.2:2113")),
        (200, ipv6.as_str(), leads("[::1]:2113")),
        (200, odd.as_str(), leads("10.0.0.1?[2J:2113")),
        (200, leaderless.as_str(), no_leader(1, 1)),
        (200, dead.as_str(), no_leader(0, 1)),
        (200, r#"{"members":[]}"#, no_leader(0, 0)),
        (
            200,
            r#"{"members":[{"state":"Leader","isAlive":true}]}"#,
            Cause::NoGossip,
        ),
        (200, "<html>", Cause::NoGossip),
        (301, "", Cause::Status(301)),
        (401, led.as_str(), Cause::Unauthorized),
        (403, "", Cause::Forbidden),
        (503, "", Cause::NotReady),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        assert_eq!(of_answer(status, body.as_bytes()), cause, "{status} {body}");
    }
}

/// Wraps an error as the TLS library does.
fn in_tls(error: rustls::Error) -> io::Error {
    io::Error::other(io::Error::new(io::ErrorKind::InvalidData, error))
}

#[test]
fn errors_of_certificates_are_sorted() {
    let at = |secs| UnixTime::since_unix_epoch(Duration::from_secs(secs));
    let named = |presented: &[&str]| CertificateError::NotValidForNameContext {
        expected: ServerName::try_from("a.example").unwrap(),
        presented: presented.iter().map(ToString::to_string).collect(),
    };
    let other_name = |names: &str| Cause::OtherName(names.to_owned());
    let names = ["DnsName(\"b.example\")", "IpAddress(10.0.0.1)"];
    for (error, cause) in [
        (CertificateError::UnknownIssuer, Cause::Untrusted),
        (CertificateError::BadSignature, Cause::Untrusted),
        (CertificateError::Expired, Cause::Expired),
        (
            CertificateError::ExpiredContext {
                time: at(2),
                not_after: at(1),
            },
            Cause::Expired,
        ),
        (CertificateError::NotValidYet, Cause::NotYetValid),
        (named(&names), other_name("b.example, 10.0.0.1")),
        (named(&[]), other_name("no name")),
        (
            CertificateError::Revoked,
            Cause::BadCertificate("Revoked".to_owned()),
        ),
    ] {
        let error = in_tls(rustls::Error::InvalidCertificate(error));
        assert_eq!(of_error(&error), cause, "{error}");
    }
}

#[test]
fn errors_of_connections_are_sorted() {
    for (kind, cause) in [
        (io::ErrorKind::ConnectionRefused, Cause::Refused),
        (io::ErrorKind::TimedOut, Cause::Silent),
        (io::ErrorKind::ConnectionReset, Cause::NotHttp),
        (io::ErrorKind::UnexpectedEof, Cause::NotHttp),
    ] {
        let error = io::Error::other(io::Error::from(kind));
        assert_eq!(of_error(&error), cause, "{kind}");
    }
    // No route to the host, where the system is Linux; any other error elsewhere.
    let unreachable = of_error(&io::Error::from_raw_os_error(113));
    assert!(
        matches!(unreachable, Cause::Unreachable(_)),
        "{unreachable:?}"
    );
    let broken = in_tls(rustls::Error::InvalidMessage(
        InvalidMessage::InvalidContentType,
    ));
    assert_eq!(of_error(&broken), Cause::NotHttp);
    let alert = in_tls(rustls::Error::AlertReceived(
        AlertDescription::CertificateRequired,
    ));
    assert!(matches!(of_error(&alert), Cause::Tls(_)), "{alert}");
    assert_eq!(of_error(&std::fmt::Error), Cause::NotHttp);
}

/// With `+discover` the vendor's client asks the first node alone.
#[tokio::test]
async fn a_list_with_discover_is_asked_beyond_a_dead_first_node() {
    let mut cluster = Cluster::start(3).await;
    cluster.kill_leader().await;
    let url = cluster.address().replacen("://", "+discover://", 1);
    let address = Address::of(&url).unwrap();
    let stream = Stream::new(address, Patience::default(), "ledgerlog-test".to_owned());
    stream.check(0).await.unwrap();
}

#[tokio::test]
async fn an_address_without_a_user_is_told_to_name_one() {
    let cluster = Cluster::start(1).await;
    cluster.state().users.add("ledger", "secret");
    let address = Address::of(&cluster.address()).unwrap();
    let stream = Stream::new(address, Patience::default(), "ledgerlog-test".to_owned());
    let error = stream.check(0).await.unwrap_err().to_string();
    assert!(error.contains("names no user"), "{error}");
}
