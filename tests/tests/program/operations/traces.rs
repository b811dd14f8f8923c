//! Traces: a collector is told how long each message was where, and nothing of what it says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::place::{Place, SERVE};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};
use x811_tests::binary::Server;

/// What a collector was sent.
#[derive(Default)]
struct Sent {
    paths: Vec<String>,
    bodies: Vec<Vec<u8>>,
}

/// Names of what a message goes through, from its commit to its request.
const WAY: [&str; 4] = ["commit", "turn", "submit", "POST /api/v1/messages"];

#[test]
fn a_message_is_followed_from_the_request_to_the_commit() {
    let sent = sent_while(|place, server| {
        place.fill(server);
    });
    let spans = spans(&sent);
    let by_id: BTreeMap<&[u8], &Span> = spans.iter().map(|s| (&s.span_id[..], s)).collect();
    assert_eq!(by_id.len(), spans.len(), "every span has an id of its own");
    let mut traces = BTreeSet::new();
    for commit in spans.iter().filter(|span| span.name == "commit") {
        let mut way = vec![commit];
        while let Some(above) = by_id.get(&way[way.len() - 1].parent_span_id[..]) {
            way.push(above);
        }
        let names: Vec<&str> = way.iter().map(|span| &*span.name).collect();
        assert_eq!(names, WAY, "each inside the next");
        for pair in way.windows(2) {
            let (inner, outer) = (pair[0], pair[1]);
            assert_eq!(inner.trace_id, outer.trace_id, "{names:?}");
            assert!(outer.start_time_unix_nano <= inner.start_time_unix_nano);
            assert!(inner.start_time_unix_nano <= inner.end_time_unix_nano);
        }
        let (submit, request) = (way[2], way[3]);
        assert!(request.parent_span_id.is_empty(), "the request is the root");
        assert_eq!(status_code(request), Some(202));
        let mut inside = spans.iter().filter(|s| s.parent_span_id == submit.span_id);
        assert!(inside.any(|span| span.name == "check" && span.trace_id == submit.trace_id));
        assert!(traces.insert(&commit.trace_id), "one message, one trace");
    }
    assert_eq!(traces.len(), 3, "two registrations and a REQUEST");
}

#[test]
fn a_trace_says_nothing_of_what_a_message_says() {
    let mut interaction = String::new();
    let sent = sent_while(|place, server| interaction = place.fill(server));
    let bytes = sent.bodies.concat();
    let has = |text: &str| {
        let mut windows = bytes.windows(text.len());
        windows.any(|window| window == text.as_bytes())
    };
    for word in ["service.name", "x811", "POST /api/v1/messages"] {
        assert!(has(word), "{word} did not arrive");
    }
    for word in ["echo", "did:x811:", &interaction, "127.0.0.1:1"] {
        assert!(!has(word), "{word} arrived");
    }
}

#[test]
fn a_collector_that_is_gone_costs_nothing_but_its_spans() {
    let place = Place::new();
    let options = [&SERVE[..], &["--otlp-endpoint", "http://127.0.0.1:1"]].concat();
    let server = Server::start(&place.data_dir(), &options).unwrap();
    place.fill(&server);
    server.stop();
}

/// What a collector was sent by a ledger with this in its life.
fn sent_while(live: impl FnOnce(&Place, &Server)) -> Sent {
    let (url, sent) = collector();
    let place = Place::new();
    let options = [&SERVE[..], &["--otlp-endpoint", &url]].concat();
    let server = Server::start(&place.data_dir(), &options).unwrap();
    live(&place, &server);
    // The end delivers what is left.
    server.stop();
    let sent = std::mem::take(&mut *sent.lock().unwrap());
    for path in &sent.paths {
        assert_eq!(path, "post /v1/traces http/1.1");
    }
    sent
}

/// The spans in all that was sent.
fn spans(sent: &Sent) -> Vec<Span> {
    let requests = sent.bodies.iter();
    let requests = requests.map(|body| ExportTraceServiceRequest::decode(&body[..]).unwrap());
    let resources = requests.flat_map(|request| request.resource_spans);
    let scopes = resources.flat_map(|resource| resource.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

fn status_code(span: &Span) -> Option<i64> {
    use opentelemetry_proto::tonic::common::v1::any_value::Value;
    let mut attributes = span.attributes.iter();
    let status = attributes.find(|attribute| attribute.key == "http.response.status_code")?;
    let Value::IntValue(code) = status.value.as_ref()?.value.as_ref()? else {
        return None;
    };
    Some(*code)
}

/// Takes everything, for as long as the test lives.
fn collector() -> (String, Arc<Mutex<Sent>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let sent = Arc::new(Mutex::new(Sent::default()));
    let kept = sent.clone();
    std::thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(&connection);
            let mut head = Vec::new();
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                head.push(std::mem::take(&mut line).trim_end().to_lowercase());
            }
            let mut lengths = head.iter();
            let length = lengths.find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let mut sent = kept.lock().unwrap();
            sent.paths.push(head[0].clone());
            sent.bodies.push(body);
            drop(sent);
            let _ = (&connection).write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\
                  connection: close\r\n\r\n",
            );
        }
    });
    (url, sent)
}
