//! Messages of EventStoreDB's public protos (`streams`, `shared`, `gossip`, `serverfeatures` and
//! `status`), written by hand. Members that no test needs are left out.

use std::collections::HashMap;

use prost::{Message, Oneof};

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Empty {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Uuid {
    #[prost(oneof = "UuidValue", tags = "1, 2")]
    pub(super) value: Option<UuidValue>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum UuidValue {
    #[prost(message, tag = "1")]
    Structured(Structured),
    #[prost(string, tag = "2")]
    String(String),
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Structured {
    #[prost(int64, tag = "1")]
    pub(super) most_significant_bits: i64,
    #[prost(int64, tag = "2")]
    pub(super) least_significant_bits: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StreamIdentifier {
    #[prost(bytes = "vec", tag = "3")]
    pub(super) stream_name: Vec<u8>,
}

impl StreamIdentifier {
    pub(super) fn name(&self) -> &str {
        std::str::from_utf8(&self.stream_name).unwrap()
    }
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ReadReq {
    #[prost(message, optional, tag = "1")]
    pub(super) options: Option<ReadOptions>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ReadOptions {
    #[prost(message, optional, tag = "1")]
    pub(super) stream: Option<StreamOptions>,
    /// 1 is backwards.
    #[prost(int32, tag = "3")]
    pub(super) read_direction: i32,
    #[prost(uint64, optional, tag = "5")]
    pub(super) count: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StreamOptions {
    #[prost(message, optional, tag = "1")]
    pub(super) stream_identifier: Option<StreamIdentifier>,
    #[prost(oneof = "RevisionOption", tags = "2, 3, 4")]
    pub(super) revision_option: Option<RevisionOption>,
}

#[derive(Clone, Copy, PartialEq, Oneof)]
pub(super) enum RevisionOption {
    #[prost(uint64, tag = "2")]
    Revision(u64),
    #[prost(message, tag = "3")]
    Start(Empty),
    #[prost(message, tag = "4")]
    End(Empty),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ReadResp {
    #[prost(oneof = "ReadContent", tags = "1, 4, 6")]
    pub(super) content: Option<ReadContent>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum ReadContent {
    #[prost(message, tag = "1")]
    Event(ReadEvent),
    #[prost(message, tag = "4")]
    StreamNotFound(StreamNotFound),
    #[prost(uint64, tag = "6")]
    LastStreamPosition(u64),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StreamNotFound {
    #[prost(message, optional, tag = "1")]
    pub(super) stream_identifier: Option<StreamIdentifier>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ReadEvent {
    #[prost(message, optional, tag = "1")]
    pub(super) event: Option<RecordedEvent>,
    #[prost(message, optional, tag = "4")]
    pub(super) no_position: Option<Empty>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RecordedEvent {
    #[prost(message, optional, tag = "1")]
    pub(super) id: Option<Uuid>,
    #[prost(message, optional, tag = "2")]
    pub(super) stream_identifier: Option<StreamIdentifier>,
    #[prost(uint64, tag = "3")]
    pub(super) stream_revision: u64,
    #[prost(map = "string, string", tag = "6")]
    pub(super) metadata: HashMap<String, String>,
    #[prost(bytes = "vec", tag = "8")]
    pub(super) data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct BatchAppendReq {
    #[prost(message, optional, tag = "1")]
    pub(super) correlation_id: Option<Uuid>,
    #[prost(message, optional, tag = "2")]
    pub(super) options: Option<BatchAppendOptions>,
    #[prost(message, repeated, tag = "3")]
    pub(super) proposed_messages: Vec<ProposedMessage>,
    #[prost(bool, tag = "4")]
    pub(super) is_final: bool,
}

/// The expected position is one of three members; the double does not know `stream_exists`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct BatchAppendOptions {
    #[prost(message, optional, tag = "1")]
    pub(super) stream_identifier: Option<StreamIdentifier>,
    #[prost(uint64, optional, tag = "2")]
    pub(super) stream_position: Option<u64>,
    #[prost(message, optional, tag = "3")]
    pub(super) no_stream: Option<Empty>,
    #[prost(message, optional, tag = "4")]
    pub(super) any: Option<Empty>,
    #[prost(message, optional, tag = "7")]
    pub(super) deadline: Option<Length>,
}

/// `google.protobuf.Duration`.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Length {
    #[prost(int64, tag = "1")]
    pub(super) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(super) nanos: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ProposedMessage {
    #[prost(message, optional, tag = "1")]
    pub(super) id: Option<Uuid>,
    #[prost(map = "string, string", tag = "2")]
    pub(super) metadata: HashMap<String, String>,
    #[prost(bytes = "vec", tag = "4")]
    pub(super) data: Vec<u8>,
}

/// Either `error` or `success` is set.
#[derive(Clone, PartialEq, Message)]
pub(super) struct BatchAppendResp {
    #[prost(message, optional, tag = "1")]
    pub(super) correlation_id: Option<Uuid>,
    #[prost(message, optional, tag = "2")]
    pub(super) error: Option<BatchAppendError>,
    #[prost(message, optional, tag = "3")]
    pub(super) success: Option<Success>,
    #[prost(message, optional, tag = "4")]
    pub(super) stream_identifier: Option<StreamIdentifier>,
}

/// `google.rpc.Status` without its details, which the client drops.
#[derive(Clone, PartialEq, Message)]
pub(super) struct BatchAppendError {
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
    #[prost(string, tag = "2")]
    pub(super) message: String,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Success {
    #[prost(uint64, optional, tag = "1")]
    pub(super) current_revision: Option<u64>,
    #[prost(message, optional, tag = "4")]
    pub(super) no_position: Option<Empty>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SupportedMethods {
    #[prost(message, repeated, tag = "1")]
    pub(super) methods: Vec<SupportedMethod>,
    #[prost(string, tag = "2")]
    pub(super) event_store_server_version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SupportedMethod {
    #[prost(string, tag = "1")]
    pub(super) method_name: String,
    #[prost(string, tag = "2")]
    pub(super) service_name: String,
    #[prost(string, repeated, tag = "3")]
    pub(super) features: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ClusterInfo {
    #[prost(message, repeated, tag = "1")]
    pub(super) members: Vec<MemberInfo>,
}

/// `VNodeState.Unknown`: the state of every node during an election.
pub(super) const UNKNOWN: i32 = 2;
/// `VNodeState.Follower`.
pub(super) const FOLLOWER: i32 = 6;
/// `VNodeState.Leader`.
pub(super) const LEADER: i32 = 8;

#[derive(Clone, PartialEq, Message)]
pub(super) struct MemberInfo {
    #[prost(int32, tag = "3")]
    pub(super) state: i32,
    #[prost(bool, tag = "4")]
    pub(super) is_alive: bool,
    #[prost(message, optional, tag = "5")]
    pub(super) http_end_point: Option<EndPoint>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct EndPoint {
    #[prost(string, tag = "1")]
    pub(super) address: String,
    #[prost(uint32, tag = "2")]
    pub(super) port: u32,
}
