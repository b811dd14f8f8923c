//! The double's nodes: gRPC over HTTP/2, from the services' own paths.

use std::future::pending;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::stream;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tonic::body::Body;
use tonic::codec::ProstCodec;
use tonic::server::{ClientStreamingService, Grpc, ServerStreamingService, UnaryService};
use tonic::{Request, Response, Status, Streaming};

use super::double::{State, Stored};
use super::proto::{
    AppendContent, AppendReq, AppendResp, ClusterInfo, Empty, ReadContent, ReadEvent, ReadReq,
    ReadResp, RecordedEvent, StreamIdentifier, StreamNotFound, Uuid, UuidValue,
};

type Answer<T> = Pin<Box<dyn Future<Output = Result<Response<T>, Status>> + Send>>;
type Page = stream::Iter<std::vec::IntoIter<Result<ReadResp, Status>>>;

/// One node, as each call sees it.
#[derive(Clone)]
struct Node {
    number: usize,
    state: Arc<Mutex<State>>,
}

/// Serves until it is aborted; then all its connections are gone.
pub(super) async fn serve(listener: TcpListener, number: usize, state: Arc<Mutex<State>>) {
    let mut connections = JoinSet::new();
    while let Ok((connection, _)) = listener.accept().await {
        let state = state.clone();
        connections.spawn(serve_connection(connection, Node { number, state }));
    }
}

async fn serve_connection(connection: TcpStream, node: Node) {
    connection.set_nodelay(true).unwrap();
    let service = service_fn(move |request| {
        let node = node.clone();
        async move { Ok::<_, std::convert::Infallible>(node.answer(request).await) }
    });
    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    // A connection that breaks is the client's business.
    let _ = server
        .serve_connection(TokioIo::new(connection), service)
        .await;
}

impl Node {
    async fn answer(self, request: hyper::Request<Incoming>) -> hyper::Response<Body> {
        if self.hangs() {
            pending::<()>().await;
        }
        match request.uri().path() {
            "/event_store.client.gossip.Gossip/Read" => {
                let mut grpc = Grpc::new(ProstCodec::<ClusterInfo, Empty>::default());
                grpc.unary(self, request).await
            }
            "/event_store.client.streams.Streams/Read" => {
                let mut grpc = Grpc::new(ProstCodec::<ReadResp, ReadReq>::default());
                grpc.server_streaming(self, request).await
            }
            "/event_store.client.streams.Streams/Append" => {
                let mut grpc = Grpc::new(ProstCodec::<AppendResp, AppendReq>::default());
                grpc.client_streaming(self, request).await
            }
            // As a server that has no list of its features.
            _ => Status::unimplemented("unknown method").into_http(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hangs(&self) -> bool {
        take(&mut self.state().faults.hanging_calls)
    }
}

/// Whether one more is due.
fn take(count: &mut u32) -> bool {
    let is_due = *count > 0;
    *count = count.saturating_sub(1);
    is_due
}

impl UnaryService<Empty> for Node {
    type Response = ClusterInfo;
    type Future = Answer<ClusterInfo>;

    fn call(&mut self, _: Request<Empty>) -> Answer<ClusterInfo> {
        let members = self.state().members();
        Box::pin(async { Ok(Response::new(members)) })
    }
}

impl ServerStreamingService<ReadReq> for Node {
    type Response = ReadResp;
    type ResponseStream = Page;
    type Future = Answer<Page>;

    fn call(&mut self, request: Request<ReadReq>) -> Answer<Page> {
        let node = self.clone();
        Box::pin(async move {
            let mut state = node.state();
            state.check_leader(node.number, request.metadata())?;
            let options = request.into_inner().options.unwrap();
            let page = match state.read(&options) {
                _ if take(&mut state.faults.ended_reads) => Vec::new(),
                None => vec![not_found()],
                Some(events) => events.into_iter().map(read_event).collect(),
            };
            let page: Vec<_> = page.into_iter().map(Ok).collect();
            Ok(Response::new(stream::iter(page)))
        })
    }
}

impl ClientStreamingService<AppendReq> for Node {
    type Response = AppendResp;
    type Future = Answer<AppendResp>;

    fn call(&mut self, request: Request<Streaming<AppendReq>>) -> Answer<AppendResp> {
        let node = self.clone();
        Box::pin(async move {
            node.state().check_leader(node.number, request.metadata())?;
            let mut messages = request.into_inner();
            let (mut options, mut events) = (None, Vec::new());
            while let Some(message) = messages.message().await? {
                match message.content.unwrap() {
                    AppendContent::Options(given) => options = Some(given),
                    AppendContent::ProposedMessage(event) => {
                        events.push((bytes_of(&event.id.unwrap()), event.data));
                    }
                }
            }
            let options = options.unwrap();
            assert!(
                options.revision.is_some() || options.no_stream.is_some(),
                "the ledger always expects a revision"
            );
            let name = options.stream_identifier.unwrap().stream_name;
            let (answer, is_swallowed) = {
                let mut state = node.state();
                let answer = state.append(name, options.revision, &events);
                (answer, take(&mut state.faults.swallowed_acks))
            };
            if is_swallowed {
                pending::<()>().await;
            }
            answer.map(Response::new)
        })
    }
}

fn bytes_of(id: &Uuid) -> [u8; 16] {
    match id.value.as_ref().unwrap() {
        UuidValue::Structured(id) => {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&id.most_significant_bits.to_be_bytes());
            bytes[8..].copy_from_slice(&id.least_significant_bits.to_be_bytes());
            bytes
        }
        UuidValue::String(id) => id.parse::<uuid::Uuid>().unwrap().into_bytes(),
    }
}

fn not_found() -> ReadResp {
    ReadResp {
        content: Some(ReadContent::StreamNotFound(StreamNotFound::default())),
    }
}

fn read_event(event: Stored) -> ReadResp {
    let id = uuid::Uuid::from_bytes(event.id).to_string();
    let event = RecordedEvent {
        id: Some(Uuid {
            value: Some(UuidValue::String(id)),
        }),
        stream_identifier: Some(StreamIdentifier::default()),
        stream_revision: event.revision,
        metadata: [("type".to_owned(), "x811.record".to_owned())].into(),
        data: event.data,
    };
    ReadResp {
        content: Some(ReadContent::Event(ReadEvent {
            event: Some(event),
            no_position: Some(Empty {}),
        })),
    }
}
