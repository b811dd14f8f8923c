//! A cluster that is none: nodes on loopback that speak EventStoreDB's protocol over one shared
//! state. It shows how the client side behaves, and nothing about replication.
//!
//! Rules of the server that it keeps (eventstore.md section 4): an append expects a revision, and a
//! wrong one is an answer, not an error; the same events at the same revision are stored once, and
//! their payload is not compared; only the leader answers who asks for the leader; a deleted stream
//! goes on at its old revision; at most 1 MiB an append.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use super::proto::{
    AppendResp, AppendResult, ClusterInfo, Empty, EndPoint, FOLLOWER, LEADER, MemberInfo,
    ReadOptions, RevisionOption, Success, WrongExpectedVersion,
};
use super::serve;
use crate::LogUrl;

/// Most bytes of one append.
const MAX_APPEND_BYTES: usize = 1_048_576;

/// An event as it is stored.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) id: [u8; 16],
    pub(super) revision: u64,
    pub(super) data: Vec<u8>,
}

#[derive(Debug, Default)]
struct Stream {
    events: Vec<Stored>,
    next_revision: u64,
}

/// What goes wrong next.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// Appends that are done and never answered.
    pub(super) swallowed_acks: u32,
    /// Reads whose answer ends, in order, before its first event.
    pub(super) ended_reads: u32,
    /// Calls that are neither done nor answered.
    pub(super) hanging_calls: u32,
}

/// What all nodes share.
#[derive(Debug, Default)]
pub(super) struct State {
    streams: HashMap<Vec<u8>, Stream>,
    addresses: Vec<SocketAddr>,
    is_alive: Vec<bool>,
    leader: usize,
    pub(super) faults: Faults,
    /// Appends that stored something.
    pub(super) stored_appends: u32,
}

/// Nodes over one state.
#[derive(Debug)]
pub(super) struct Cluster {
    state: Arc<Mutex<State>>,
    nodes: Vec<Option<JoinHandle<()>>>,
}

impl Cluster {
    /// `size` nodes; the first one leads.
    pub(super) async fn start(size: usize) -> Cluster {
        let mut cluster = Cluster::down(size).await;
        for node in 0..size {
            cluster.start_node(node).await;
        }
        cluster
    }

    /// The same, none of them running yet.
    pub(super) async fn down(size: usize) -> Cluster {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut state = State {
            is_alive: vec![false; size],
            ..State::default()
        };
        for _ in 0..size {
            let place = TcpListener::bind("127.0.0.1:0").await.unwrap();
            state.addresses.push(place.local_addr().unwrap());
        }
        Cluster {
            state: Arc::new(Mutex::new(state)),
            nodes: (0..size).map(|_| None).collect(),
        }
    }

    pub(super) async fn start_node(&mut self, node: usize) {
        let address = self.state().addresses[node];
        let listener = TcpListener::bind(address).await.unwrap();
        self.state().is_alive[node] = true;
        let served = serve::serve(listener, node, self.state.clone());
        self.nodes[node] = Some(tokio::spawn(served));
    }

    /// Ends the leader with all its connections; the next living node leads.
    pub(super) async fn kill_leader(&mut self) {
        let leader = self.state().leader;
        let node = self.nodes[leader].take().unwrap();
        node.abort();
        let _ = node.await;
        self.state().is_alive[leader] = false;
        self.elect();
    }

    /// Lets another living node lead; the one that did lives on.
    pub(super) fn elect(&self) {
        let mut state = self.state();
        let nodes = (0..state.addresses.len()).cycle();
        let after = nodes.skip(state.leader + 1).take(state.addresses.len());
        let next = after.into_iter().find(|node| state.is_alive[*node]);
        state.leader = next.unwrap();
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn url(&self) -> LogUrl {
        self.address().parse().unwrap()
    }

    /// All nodes, as a client is told of them.
    pub(super) fn address(&self) -> String {
        let state = self.state();
        let nodes: Vec<_> = state.addresses.iter().map(ToString::to_string).collect();
        format!("kurrentdb://{}?tls=false", nodes.join(","))
    }
}

impl State {
    fn stream(&self, name: &str) -> &Stream {
        &self.streams[name.as_bytes()]
    }

    /// The payloads of a stream.
    pub(super) fn payloads(&self, name: &str) -> Vec<Vec<u8>> {
        let events = self.stream(name).events.iter();
        events.map(|event| event.data.clone()).collect()
    }

    /// Takes one event out of a stream, as a limit on its age does.
    pub(super) fn forget(&mut self, name: &str, revision: u64) {
        let stream = self.streams.get_mut(name.as_bytes()).unwrap();
        stream.events.retain(|event| event.revision != revision);
    }

    /// Deletes a stream, so that it can be written to again.
    pub(super) fn soft_delete(&mut self, name: &str) {
        let stream = self.streams.get_mut(name.as_bytes()).unwrap();
        stream.events.clear();
    }

    /// Puts something at the end of a stream that no ledger wrote.
    pub(super) fn put(&mut self, name: &str, data: Vec<u8>) {
        let stream = self.streams.entry(name.as_bytes().to_vec()).or_default();
        stream.push([0; 16], data);
    }

    pub(super) fn members(&self) -> ClusterInfo {
        let members = self.addresses.iter().enumerate();
        let members = members.map(|(node, address)| MemberInfo {
            state: if node == self.leader {
                LEADER
            } else {
                FOLLOWER
            },
            is_alive: self.is_alive[node],
            http_end_point: Some(EndPoint {
                address: address.ip().to_string(),
                port: address.port().into(),
            }),
        });
        ClusterInfo {
            members: members.collect(),
        }
    }

    /// Who asks for the leader is answered by nobody else.
    pub(super) fn check_leader(&self, node: usize, asked: &MetadataMap) -> Result<(), Status> {
        let wants_leader = asked.get("requires-leader").is_some();
        if node == self.leader || !wants_leader {
            return Ok(());
        }
        let leader = self.addresses[self.leader];
        let mut metadata = MetadataMap::new();
        metadata.insert("exception", "not-leader".parse().unwrap());
        let (host, port) = (leader.ip().to_string(), leader.port().to_string());
        metadata.insert("leader-endpoint-host", host.parse().unwrap());
        metadata.insert("leader-endpoint-port", port.parse().unwrap());
        let says = "Leader info available";
        Err(Status::with_metadata(Code::NotFound, says, metadata))
    }

    /// Events of a page; `None` where there is no stream.
    pub(super) fn read(&self, options: &ReadOptions) -> Option<Vec<Stored>> {
        let asked = options.stream.as_ref().unwrap();
        let name = &asked.stream_identifier.as_ref().unwrap().stream_name;
        let stream = self.streams.get(name)?;
        if stream.events.is_empty() {
            return None;
        }
        let count = options.count.unwrap_or(u64::MAX);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let events = stream.events.iter();
        let events: Vec<Stored> = match (options.read_direction, asked.revision_option) {
            (0, Some(RevisionOption::Revision(from))) => {
                let before = stream.events.partition_point(|event| event.revision < from);
                events.skip(before).take(count).cloned().collect()
            }
            (0, _) => events.take(count).cloned().collect(),
            (_, _) => events.rev().take(count).cloned().collect(),
        };
        Some(events)
    }

    /// An append at an expected revision; `None` is `NoStream`.
    pub(super) fn append(
        &mut self,
        name: Vec<u8>,
        expected: Option<u64>,
        events: &[([u8; 16], Vec<u8>)],
    ) -> Result<AppendResp, Status> {
        let bytes: usize = events.iter().map(|(_, data)| data.len()).sum();
        if bytes > MAX_APPEND_BYTES {
            return Err(Status::invalid_argument("Maximum Append Size exceeded"));
        }
        let stream = self.streams.entry(name).or_default();
        let first = expected.map_or(0, |last| last + 1);
        let is_deleted = stream.events.is_empty() && stream.next_revision > 0;
        if first == stream.next_revision || (is_deleted && expected.is_none()) {
            for (id, data) in events {
                stream.push(*id, data.clone());
            }
            self.stored_appends += 1;
            return Ok(stored_up_to(stream.next_revision - 1));
        }
        let there = stream.events.iter().filter(|event| event.revision >= first);
        let there: Vec<_> = there.take(events.len()).map(|event| event.id).collect();
        if there.iter().eq(events.iter().map(|(id, _)| id)) {
            return Ok(stored_up_to(first + events.len() as u64 - 1));
        }
        Ok(AppendResp {
            result: Some(AppendResult::WrongExpectedVersion(WrongExpectedVersion {
                current_revision: stream.next_revision.checked_sub(1),
                current_no_stream: (stream.next_revision == 0).then_some(Empty {}),
                expected_revision: expected,
                expected_no_stream: expected.is_none().then_some(Empty {}),
            })),
        })
    }
}

impl Stream {
    fn push(&mut self, id: [u8; 16], data: Vec<u8>) {
        let revision = self.next_revision;
        self.events.push(Stored { id, revision, data });
        self.next_revision += 1;
    }
}

fn stored_up_to(last: u64) -> AppendResp {
    AppendResp {
        result: Some(AppendResult::Success(Success {
            current_revision: Some(last),
            no_position: Some(Empty {}),
        })),
    }
}
