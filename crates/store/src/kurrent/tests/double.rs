//! A test double of an EventStoreDB cluster: nodes on loopback that speak its protocol over one
//! shared state. It shows how the client side behaves, and nothing about replication.
//!
//! | file | rules of the server, version 23.10 |
//! |---|---|
//! | `streams` | expected revisions, repeated appends, hidden events, deletion, scavenge |
//! | `rights` | users and access control lists |
//! | `batch` | sessions of batch appends |
//! | `serve` | reads, gossip, the list of features |
//! | `tls` | connections under a private authority |
//! | `proto` | messages |

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use super::proto::{ClusterInfo, EndPoint, FOLLOWER, LEADER, MemberInfo, UNKNOWN};
use super::rights::Users;
use super::serve;
use super::streams::Stream;
use super::tls::Authority;
use crate::LogUrl;

/// Message of an answer during an election.
pub(super) const NO_LEADER: &str = "No leader info available in response";

/// Faults of the next calls. Each number counts down to none.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// Appends that are done and never answered.
    pub(super) swallowed_acks: u32,
    /// Appends that are done, and whose session then ends in order and without an answer.
    pub(super) ended_sessions: u32,
    /// Appends that are not done, and whose session ends with an error.
    pub(super) broken_sessions: u32,
    /// Reads whose answer ends, in order, before its first event.
    pub(super) ended_reads: u32,
    /// Calls, or appends of a session, that are neither done nor answered.
    pub(super) hanging_calls: u32,
    /// True if the server is too old for batch appends.
    pub(super) has_no_batch_append: bool,
}

/// Takes one from `count`. Returns false if there was none.
pub(super) fn take(count: &mut u32) -> bool {
    let is_due = *count > 0;
    *count = count.saturating_sub(1);
    is_due
}

/// The state that all nodes share.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) streams: HashMap<String, Stream>,
    addresses: Vec<SocketAddr>,
    is_alive: Vec<bool>,
    leader: usize,
    /// True while no node leads, until the next election.
    pub(super) is_leaderless: bool,
    pub(super) users: Users,
    /// Time from a read or append to its answer.
    pub(super) delay: Duration,
    pub(super) faults: Faults,
    /// Appends that stored something.
    pub(super) stored_appends: u32,
}

/// Nodes over one state.
#[derive(Debug)]
pub(super) struct Cluster {
    state: Arc<Mutex<State>>,
    nodes: Vec<Option<JoinHandle<()>>>,
    authority: Option<Authority>,
}

impl Cluster {
    /// Starts `size` nodes; the first one leads.
    pub(super) async fn start(size: usize) -> Cluster {
        Cluster::down(size).await.up().await
    }

    /// Starts `size` nodes that take TLS connections only.
    pub(super) async fn start_secure(size: usize) -> Cluster {
        let mut cluster = Cluster::down(size).await;
        cluster.authority = Some(Authority::new());
        cluster.up().await
    }

    /// Returns a cluster of `size` nodes, none of them running yet.
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
            authority: None,
        }
    }

    async fn up(mut self) -> Cluster {
        for node in 0..self.nodes.len() {
            self.start_node(node).await;
        }
        self
    }

    pub(super) async fn start_node(&mut self, node: usize) {
        let address = self.state().addresses[node];
        let listener = TcpListener::bind(address).await.unwrap();
        self.state().is_alive[node] = true;
        let config = self.authority.as_ref().map(Authority::config);
        let served = serve::serve(listener, node, self.state.clone(), config);
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
        state.is_leaderless = false;
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn url(&self) -> LogUrl {
        self.address().parse().unwrap()
    }

    /// Returns the address of all nodes, without a user.
    pub(super) fn address(&self) -> String {
        self.address_with("")
    }

    /// Returns the address of all nodes for a user.
    pub(super) fn address_as(&self, user: &str, password: &str) -> String {
        self.address_with(&format!("{user}:{password}@"))
    }

    fn address_with(&self, user: &str) -> String {
        let state = self.state();
        let nodes: Vec<_> = state.addresses.iter().map(ToString::to_string).collect();
        let tls = match &self.authority {
            Some(authority) => format!("tlsCaFile={}", authority.path().display()),
            None => "tls=false".to_owned(),
        };
        format!("kurrentdb://{user}{}?{tls}", nodes.join(","))
    }
}

impl State {
    pub(super) fn members(&self) -> ClusterInfo {
        let members = self.addresses.iter().enumerate();
        let members = members.map(|(node, address)| MemberInfo {
            state: match node == self.leader {
                _ if self.is_leaderless => UNKNOWN,
                true => LEADER,
                false => FOLLOWER,
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

    /// Returns the members as `/gossip?format=json` lists them.
    pub(super) fn members_as_json(&self) -> Value {
        let members = self.members().members.into_iter();
        let members = members.map(|member| {
            let address = member.http_end_point.unwrap();
            let state = match member.state {
                LEADER => "Leader",
                FOLLOWER => "Follower",
                _ => "Unknown",
            };
            json!({
                "state": state,
                "isAlive": member.is_alive,
                "httpEndPointIp": address.address,
                "httpEndPointPort": address.port,
            })
        });
        json!({ "members": members.collect::<Vec<_>>() })
    }

    /// Returns the error of a node for a call that wants the leader, or `None` if it may be served.
    pub(super) fn not_leading(&self, node: usize, asked: &MetadataMap) -> Option<Status> {
        let wants_leader = asked.get("requires-leader").is_some();
        if !wants_leader {
            return None;
        }
        if self.is_leaderless {
            return Some(Status::unknown(NO_LEADER));
        }
        if node == self.leader {
            return None;
        }
        let leader = self.addresses[self.leader];
        let mut metadata = MetadataMap::new();
        metadata.insert("exception", "not-leader".parse().unwrap());
        let (host, port) = (leader.ip().to_string(), leader.port().to_string());
        metadata.insert("leader-endpoint-host", host.parse().unwrap());
        metadata.insert("leader-endpoint-port", port.parse().unwrap());
        let says = "Leader info available";
        Some(Status::with_metadata(Code::NotFound, says, metadata))
    }
}
