//! The messages that the client sends and reads, by hand from EventStoreDB's public protos
//! (`streams`, `shared`, `gossip`): what is not here, no test needs.

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
    #[prost(oneof = "ReadContent", tags = "1, 4")]
    pub(super) content: Option<ReadContent>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum ReadContent {
    #[prost(message, tag = "1")]
    Event(ReadEvent),
    #[prost(message, tag = "4")]
    StreamNotFound(StreamNotFound),
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
pub(super) struct AppendReq {
    #[prost(oneof = "AppendContent", tags = "1, 2")]
    pub(super) content: Option<AppendContent>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum AppendContent {
    #[prost(message, tag = "1")]
    Options(AppendOptions),
    #[prost(message, tag = "2")]
    ProposedMessage(ProposedMessage),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AppendOptions {
    #[prost(message, optional, tag = "1")]
    pub(super) stream_identifier: Option<StreamIdentifier>,
    /// Absent with `NoStream`; `Any` and `StreamExists` are not among what the double knows.
    #[prost(uint64, optional, tag = "2")]
    pub(super) revision: Option<u64>,
    #[prost(message, optional, tag = "3")]
    pub(super) no_stream: Option<Empty>,
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

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct AppendResp {
    #[prost(oneof = "AppendResult", tags = "1, 2")]
    pub(super) result: Option<AppendResult>,
}

#[derive(Clone, Copy, PartialEq, Oneof)]
pub(super) enum AppendResult {
    #[prost(message, tag = "1")]
    Success(Success),
    #[prost(message, tag = "2")]
    WrongExpectedVersion(WrongExpectedVersion),
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Success {
    #[prost(uint64, optional, tag = "1")]
    pub(super) current_revision: Option<u64>,
    #[prost(message, optional, tag = "4")]
    pub(super) no_position: Option<Empty>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct WrongExpectedVersion {
    #[prost(uint64, optional, tag = "6")]
    pub(super) current_revision: Option<u64>,
    #[prost(message, optional, tag = "7")]
    pub(super) current_no_stream: Option<Empty>,
    #[prost(uint64, optional, tag = "8")]
    pub(super) expected_revision: Option<u64>,
    #[prost(message, optional, tag = "11")]
    pub(super) expected_no_stream: Option<Empty>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ClusterInfo {
    #[prost(message, repeated, tag = "1")]
    pub(super) members: Vec<MemberInfo>,
}

/// As `VNodeState` counts.
pub(super) const FOLLOWER: i32 = 6;
/// As `VNodeState` counts.
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
