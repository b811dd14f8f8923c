//! The rules of the double, each by the vendor's client itself: what the adapter's tests rest on.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use eventstore::StreamState::{self, NoStream, StreamRevision};
use eventstore::{
    BatchAppendOptions, BatchWriteResult, Client, Error, EventData, ReadEvent, ReadStreamOptions,
    StreamPosition,
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tonic::Code;
use uuid::Uuid;

use super::double::{Cluster, NO_LEADER};

const NAME: &str = "ledgerlog-rules";
const METADATA: &str = "$$ledgerlog-rules";

fn client_of(address: &str) -> Client {
    let quick = "nodePreference=leader&maxDiscoverAttempts=3&discoveryInterval=1";
    Client::new(format!("{address}&{quick}").parse().unwrap()).unwrap()
}

fn client(cluster: &Cluster) -> Client {
    client_of(&cluster.address())
}

fn events(ids: std::ops::Range<u128>) -> Vec<EventData> {
    let events = ids.map(|id| {
        let payload = id.to_string().into_bytes();
        EventData::binary("t", payload.into()).id(Uuid::from_u128(id))
    });
    events.collect()
}

/// Appends in a session of its own: the first error ends a session.
async fn append_to(
    client: &Client,
    stream: &str,
    state: StreamState,
    events: Vec<EventData>,
) -> Result<BatchWriteResult, Error> {
    let options = BatchAppendOptions::default().requires_leader(true);
    let session = client.batch_append(&options).await?;
    session.append_to_stream(stream, state, events).await
}

/// Appends events with these ids. Returns the revision of the last one.
async fn append(
    client: &Client,
    state: StreamState,
    ids: std::ops::Range<u128>,
) -> Result<Option<u64>, Error> {
    let written = append_to(client, NAME, state, events(ids)).await?;
    assert_eq!(written.stream_name(), NAME);
    Ok(written.current_revision())
}

async fn set_metadata(client: &Client, metadata: Value) -> Result<Option<u64>, Error> {
    let event = EventData::json("$metadata", &metadata).unwrap();
    let written = append_to(client, METADATA, StreamState::Any, vec![event]).await?;
    Ok(written.current_revision())
}

/// Reads a stream. Returns the revisions of its events.
async fn read_from(
    client: &Client,
    stream: &str,
    from: StreamPosition<u64>,
    count: usize,
) -> Result<Vec<u64>, Error> {
    let options = ReadStreamOptions::default()
        .position(from)
        .max_count(count)
        .requires_leader(true);
    let mut events = client.read_stream(stream, &options).await?;
    let mut revisions = Vec::new();
    while let Some(event) = events.next().await? {
        revisions.push(event.get_original_event().revision);
    }
    Ok(revisions)
}

async fn forwards(client: &Client, from: u64, count: usize) -> Result<Vec<u64>, Error> {
    read_from(client, NAME, StreamPosition::Position(from), count).await
}

async fn backwards(client: &Client, count: usize) -> Result<Vec<u64>, Error> {
    read_from(client, NAME, StreamPosition::End, count).await
}

/// Returns the code and the message of an append that was refused.
fn refusal(refused: Result<Option<u64>, Error>) -> (Code, String) {
    match refused {
        Err(Error::Grpc { code, message }) => (code, message),
        other => panic!("{other:?}"),
    }
}

fn is_denied<T: std::fmt::Debug>(denied: Result<T, Error>) {
    match denied {
        Err(Error::AccessDenied) => {}
        // A refused append of a session.
        Err(Error::Grpc { code, message }) => {
            assert_eq!((code, &*message), (Code::PermissionDenied, "AccessDenied"));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_session_appends_at_the_expected_revision_alone() {
    let cluster = Cluster::start(1).await;
    let client = client(&cluster);
    let one = append(&client, NoStream, 0..3).await.unwrap();
    let two = append(&client, StreamRevision(2), 3..5).await;
    assert_eq!((one, two.unwrap()), (Some(2), Some(4)));
    // The same again is stored once.
    let again = append(&client, StreamRevision(2), 3..5).await;
    assert_eq!(again.unwrap(), Some(4));
    assert_eq!(cluster.state().stored_appends, 2);
    for state in [NoStream, StreamRevision(2), StreamRevision(9)] {
        let conflict = refusal(append(&client, state, 7..8).await);
        let expected = (Code::AlreadyExists, "WrongExpectedVersion".to_owned());
        assert_eq!(conflict, expected);
    }
    assert_eq!(forwards(&client, 0, 9).await.unwrap(), [0, 1, 2, 3, 4]);
}

#[tokio::test]
async fn appends_of_one_session_are_answered_each_under_its_own_id() {
    let cluster = Cluster::start(1).await;
    let client = client(&cluster);
    let options = BatchAppendOptions::default();
    let session = client.batch_append(&options).await.unwrap();
    let one = session.append_to_stream("a", NoStream, events(0..1));
    let two = session.append_to_stream("b", NoStream, events(1..3));
    let (two, one) = tokio::join!(two, one);
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!((one.stream_name(), one.current_revision()), ("a", Some(0)));
    assert_eq!((two.stream_name(), two.current_revision()), ("b", Some(1)));
}

#[tokio::test]
async fn an_append_above_one_mebibyte_is_refused() {
    let cluster = Cluster::start(1).await;
    let client = client(&cluster);
    // The type of an event counts, too.
    for (bytes, is_stored) in [(1_048_574, true), (1_048_575, false)] {
        let event = EventData::binary("t", vec![0_u8; bytes].into());
        let written = append_to(&client, NAME, NoStream, vec![event]).await;
        assert_eq!(written.is_ok(), is_stored, "{written:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_too_old_offers_no_batch_append() {
    let cluster = Cluster::start(1).await;
    let version = client(&cluster).server_info().await.unwrap().version();
    assert_eq!(version.to_string(), "23.10.6");
    cluster.state().faults.has_no_batch_append = true;
    let old = client(&cluster);
    let error = append(&old, NoStream, 0..1).await.unwrap_err();
    assert!(matches!(error, Error::UnsupportedFeature), "{error:?}");
    let error = backwards(&old, 1).await.unwrap_err();
    assert!(matches!(error, Error::ResourceNotFound), "{error:?}");
}

#[tokio::test]
async fn only_the_leader_serves_who_asks_for_it() {
    let cluster = Cluster::start(2).await;
    let client = client(&cluster);
    append(&client, NoStream, 0..1).await.unwrap();
    cluster.elect();
    let error = append(&client, StreamRevision(0), 1..2).await.unwrap_err();
    assert!(matches!(error, Error::NotLeaderException(_)), "{error:?}");
    let error = backwards(&client, 1).await.unwrap_err();
    assert!(matches!(error, Error::NotLeaderException(_)), "{error:?}");
    let client = self::client(&cluster);
    assert_eq!(backwards(&client, 1).await.unwrap(), [0]);
    cluster.state().is_leaderless = true;
    let refused = refusal(append(&client, StreamRevision(0), 1..2).await);
    assert_eq!(refused, (Code::Ok, NO_LEADER.to_owned()));
    let error = backwards(&client, 1).await.unwrap_err();
    assert!(error.to_string().contains(NO_LEADER), "{error}");
    cluster.elect();
    assert_eq!(cluster.state().stored_appends, 1);
}

#[tokio::test]
async fn a_position_is_a_signed_number() {
    let cluster = Cluster::start(1).await;
    let client = client(&cluster);
    append(&client, NoStream, 0..2).await.unwrap();
    let greatest = i64::MAX.unsigned_abs();
    assert!(forwards(&client, greatest, 1).await.unwrap().is_empty());
    for from in [greatest + 1, u64::MAX] {
        let error = forwards(&client, from, 1).await.unwrap_err();
        let is_named = error
            .to_string()
            .contains("Exception was thrown by handler");
        assert!(is_named, "{error}");
    }
}

#[tokio::test]
async fn a_read_names_the_end_of_the_stream_last() {
    let cluster = Cluster::start(1).await;
    let client = client(&cluster);
    append(&client, NoStream, 0..3).await.unwrap();
    let options = ReadStreamOptions::default().max_count(1);
    let mut events = client.read_stream(NAME, &options).await.unwrap();
    let first = events.next_read_event().await.unwrap();
    assert!(matches!(first, Some(ReadEvent::Event(_))));
    let second = events.next_read_event().await.unwrap();
    assert!(matches!(second, Some(ReadEvent::LastStreamPosition(2))));
    assert!(events.next_read_event().await.unwrap().is_none());
}

#[tokio::test]
async fn a_limit_hides_events_at_once_and_its_removal_shows_them_again() {
    let cluster = Cluster::start(1).await;
    let client = client(&cluster);
    append(&client, NoStream, 0..6).await.unwrap();
    let limits = [json!({ "$maxCount": 2 }), json!({ "$tb": 4 })];
    for (revision, limit) in (0..).step_by(2).zip(limits) {
        let set = set_metadata(&client, limit).await.unwrap();
        assert_eq!(set, Some(revision));
        assert_eq!(forwards(&client, 0, 1).await.unwrap(), [4]);
        assert_eq!(forwards(&client, 0, 9).await.unwrap(), [4, 5]);
        assert_eq!(forwards(&client, 5, 9).await.unwrap(), [5]);
        assert_eq!(backwards(&client, 9).await.unwrap(), [5, 4]);
        set_metadata(&client, json!({})).await.unwrap();
        assert_eq!(forwards(&client, 0, 9).await.unwrap().len(), 6);
    }
    // Of the metadata itself only the newest event is shown.
    let metadata = read_from(&client, METADATA, StreamPosition::Start, 9).await;
    assert_eq!(metadata.unwrap(), [3]);
}

#[tokio::test]
async fn a_soft_delete_hides_all_and_the_next_append_goes_on() {
    for expected in [NoStream, StreamRevision(2)] {
        let cluster = Cluster::start(1).await;
        let client = client(&cluster);
        append(&client, NoStream, 0..3).await.unwrap();
        cluster
            .state()
            .set_metadata(NAME, r#"{"$acl":{"$w":"ada"}}"#);
        cluster.state().soft_delete(NAME);
        for gone in [forwards(&client, 0, 9).await, backwards(&client, 1).await] {
            assert!(matches!(gone, Err(Error::ResourceNotFound)), "{gone:?}");
        }
        assert_eq!(cluster.state().payloads(NAME).len(), 3);
        let next = append(&client, expected, 3..4).await.unwrap();
        assert_eq!(next, Some(3));
        assert_eq!(forwards(&client, 0, 9).await.unwrap(), [3]);
        assert_eq!(cluster.state().metadata(NAME), json!({ "$tb": 3 }));
        set_metadata(&client, json!({})).await.unwrap();
        assert_eq!(forwards(&client, 0, 9).await.unwrap(), [0, 1, 2, 3]);
    }
}

/// The first change after a soft delete ends it, and keeps what was deleted hidden.
#[tokio::test]
async fn a_soft_delete_without_a_later_append_is_undone_by_two_changes() {
    let cluster = Cluster::start(1).await;
    let client = client(&cluster);
    append(&client, NoStream, 0..3).await.unwrap();
    cluster.state().soft_delete(NAME);
    set_metadata(&client, json!({ "mine": 1 })).await.unwrap();
    let metadata = cluster.state().metadata(NAME);
    assert_eq!(metadata, json!({ "mine": 1, "$tb": 3 }));
    assert!(forwards(&client, 0, 9).await.unwrap().is_empty());
    set_metadata(&client, json!({})).await.unwrap();
    assert_eq!(forwards(&client, 0, 9).await.unwrap(), [0, 1, 2]);

    cluster.state().soft_delete(NAME);
    cluster.state().clear_metadata(NAME);
    assert_eq!(forwards(&client, 0, 9).await.unwrap(), [0, 1, 2]);
}

#[tokio::test]
async fn a_scavenge_removes_hidden_events_and_keeps_the_last_one() {
    let cluster = Cluster::start(1).await;
    let client = client(&cluster);
    append(&client, NoStream, 0..6).await.unwrap();
    cluster.state().set_metadata(NAME, r#"{"$maxCount":2}"#);
    cluster.state().scavenge();
    cluster.state().clear_metadata(NAME);
    assert_eq!(forwards(&client, 0, 9).await.unwrap(), [4, 5]);
    cluster.state().soft_delete(NAME);
    cluster.state().scavenge();
    cluster.state().clear_metadata(NAME);
    assert_eq!(forwards(&client, 0, 9).await.unwrap(), [5]);
    let next = append(&client, StreamRevision(5), 6..7).await;
    assert_eq!(next.unwrap(), Some(6));
}

#[tokio::test]
async fn a_tombstone_is_for_ever() {
    let cluster = Cluster::start(1).await;
    let client = client(&cluster);
    append(&client, NoStream, 0..2).await.unwrap();
    cluster.state().tombstone(NAME);
    cluster.state().clear_metadata(NAME);
    for stream in [NAME, METADATA] {
        let read = read_from(&client, stream, StreamPosition::End, 1).await;
        assert!(matches!(read, Err(Error::ResourceDeleted)), "{read:?}");
    }
    let deleted = (Code::NotFound, "StreamDeleted".to_owned());
    let refused = append(&client, StreamRevision(1), 2..3).await;
    assert_eq!(refusal(refused), deleted);
    assert_eq!(refusal(set_metadata(&client, json!({})).await), deleted);
}

#[tokio::test]
async fn rights_are_those_of_the_metadata() {
    let cluster = Cluster::start(1).await;
    for user in ["admin", "ada", "bob"] {
        cluster.state().users.add(user, "secret");
    }
    let client_as = |user| client_of(&cluster.address_as(user, "secret"));
    let (admin, ada, bob) = (client_as("admin"), client_as("ada"), client_as("bob"));
    // Without any, every user may do everything.
    append(&bob, NoStream, 0..1).await.unwrap();
    let acl = json!({ "$w": "ada", "$r": ["ada", "bob"], "$mr": "$all", "$mw": ["$admins"] });
    set_metadata(&bob, json!({ "$acl": acl })).await.unwrap();

    append(&ada, StreamRevision(0), 1..2).await.unwrap();
    is_denied(append(&bob, StreamRevision(1), 2..3).await);
    assert_eq!(backwards(&bob, 1).await.unwrap(), [1]);
    let newest = read_from(&bob, METADATA, StreamPosition::End, 1).await;
    assert_eq!(newest.unwrap(), [0]);
    // The right is asked for before the revision.
    let event = EventData::json("$metadata", &json!({})).unwrap();
    let odd = StreamRevision(99);
    is_denied(append_to(&ada, METADATA, odd, vec![event]).await);
    is_denied(set_metadata(&ada, json!({})).await);
    let acl = json!({ "$w": "ada", "$r": "ada", "$mr": "$admins", "$mw": "$admins" });
    set_metadata(&admin, json!({ "$acl": acl })).await.unwrap();
    is_denied(backwards(&bob, 1).await);
    is_denied(read_from(&ada, METADATA, StreamPosition::End, 1).await);
    append(&admin, StreamRevision(1), 2..3).await.unwrap();
    assert_eq!(backwards(&admin, 9).await.unwrap(), [2, 1, 0]);
}

#[tokio::test]
async fn a_wrong_password_fails_whatever_is_asked_for() {
    let cluster = Cluster::start(2).await;
    cluster.state().users.add("ada", "secret");
    for (user, password) in [("ada", "wrong"), ("eve", "secret")] {
        let address = cluster.address_as(user, password);
        // Gossip is refused, so no node is found.
        let error = backwards(&client_of(&address), 1).await.unwrap_err();
        assert!(matches!(error, Error::GrpcConnectionError(_)), "{error:?}");
        // A single node is not asked for gossip.
        let (first, _) = address.split_once(',').unwrap();
        let client = client_of(&format!("{first}?tls=false"));
        is_denied(backwards(&client, 1).await);
        is_denied(append(&client, NoStream, 0..1).await);
    }
    // Without a password gossip is answered, and nothing else.
    is_denied(backwards(&client(&cluster), 1).await);
    let client = client_of(&cluster.address_as("ada", "secret"));
    append(&client, NoStream, 0..1).await.unwrap();
}

/// Asks the first node over plain HTTP/1.1. Returns its whole answer.
async fn gossip(cluster: &Cluster, headers: &'static str) -> String {
    let address = cluster.address();
    let (_, nodes) = address.split_once("://").unwrap();
    let node = nodes.split([',', '?']).next().unwrap().to_owned();
    let asking = tokio::task::spawn_blocking(move || {
        let mut connection = std::net::TcpStream::connect(&node).unwrap();
        let request = format!(
            "GET /gossip?format=json HTTP/1.1\r\nHost: {node}\r\n{headers}Connection: close\r\n\r\n"
        );
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        // A connection that is closed early has no answer.
        let _ = connection.read_to_string(&mut answer);
        answer
    });
    asking.await.unwrap()
}

#[tokio::test]
async fn gossip_is_served_as_json_on_the_same_port() {
    let cluster = Cluster::start(2).await;
    cluster.elect();
    let answer = gossip(&cluster, "").await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let gossip_of: Value = serde_json::from_str(body).unwrap();
    let member = |node: usize| &gossip_of["members"][node];
    assert_eq!(member(0)["state"], "Follower");
    assert_eq!(member(1)["state"], "Leader");
    assert_eq!(member(1)["isAlive"], true);
    assert_eq!(member(1)["httpEndPointIp"], "127.0.0.1");
    let port = member(1)["httpEndPointPort"].to_string();
    assert!(cluster.address().contains(&port), "{port}");

    cluster.state().users.add("ada", "secret");
    // eve:wrong
    let refused = gossip(&cluster, "Authorization: Basic ZXZlOndyb25n\r\n").await;
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
}

#[tokio::test]
async fn a_secure_cluster_takes_its_own_authority_alone() {
    let cluster = Cluster::start_secure(2).await;
    let client = client(&cluster);
    append(&client, NoStream, 0..1).await.unwrap();
    assert_eq!(backwards(&client, 1).await.unwrap(), [0]);
    let address = cluster.address();
    let (nodes, _) = address.split_once(',').unwrap();
    let other = Cluster::start_secure(1).await;
    let other_address = other.address();
    let (_, other_authority) = other_address.split_once('?').unwrap();
    for setting in ["tls=false", "tls=true", other_authority] {
        let client = client_of(&format!("{nodes}?{setting}"));
        let error = backwards(&client, 1).await.unwrap_err();
        assert!(matches!(error, Error::GrpcConnectionError(_)), "{error:?}");
    }
    assert_eq!(gossip(&cluster, "").await, "");
}

#[tokio::test]
async fn reads_and_appends_are_answered_after_the_delay() {
    let cluster = Cluster::start(1).await;
    let client = client(&cluster);
    append(&client, NoStream, 0..1).await.unwrap();
    let delay = Duration::from_millis(30);
    cluster.state().delay = delay;
    let begun = Instant::now();
    append(&client, StreamRevision(0), 1..2).await.unwrap();
    assert!(begun.elapsed() >= delay);
    let begun = Instant::now();
    assert_eq!(backwards(&client, 1).await.unwrap(), [1]);
    assert!(begun.elapsed() >= delay);
}
