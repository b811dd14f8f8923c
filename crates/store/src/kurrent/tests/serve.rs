//! The nodes of the double: gRPC from the services' own paths, and JSON from `/gossip`, on one port.

use std::convert::Infallible;
use std::future::{Ready, pending, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tonic::body::Body;
use tonic::codec::ProstCodec;
use tonic::metadata::MetadataMap;
use tonic::server::{Grpc, ServerStreamingService, UnaryService};
use tonic::{Code, Request, Response, Status};

use super::double::{State, take};
use super::proto::{
    BatchAppendReq, BatchAppendResp, ClusterInfo, Empty, ReadContent, ReadEvent, ReadOptions,
    ReadReq, ReadResp, RecordedEvent, StreamIdentifier, StreamNotFound, SupportedMethod,
    SupportedMethods, Uuid, UuidValue,
};
use super::rights::Caller;
use super::streams::{Page, Stored};
use super::tls;

pub(super) type Answer<T> = Pin<Box<dyn Future<Output = Result<Response<T>, Status>> + Send>>;
pub(super) type Answers<T> = BoxStream<'static, Result<T, Status>>;

/// A node during one call.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) number: usize,
    pub(super) caller: Caller,
    state: Arc<Mutex<State>>,
}

/// Serves until it is aborted; then all its connections are gone.
pub(super) async fn serve(
    listener: TcpListener,
    number: usize,
    state: Arc<Mutex<State>>,
    config: Option<Arc<ServerConfig>>,
) {
    let mut connections = JoinSet::new();
    while let Ok((connection, _)) = listener.accept().await {
        let node = Node {
            number,
            caller: Caller::Anonymous,
            state: state.clone(),
        };
        connections.spawn(serve_connection(connection, node, config.clone()));
    }
}

async fn serve_connection(connection: TcpStream, node: Node, config: Option<Arc<ServerConfig>>) {
    connection.set_nodelay(true).unwrap();
    let Some(config) = config else {
        return serve_http(connection, node).await;
    };
    if let Some(connection) = tls::accept(connection, config).await {
        serve_http(connection, node).await;
    }
}

async fn serve_http<C>(connection: C, node: Node)
where
    C: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let service = service_fn(move |request| {
        let node = node.clone();
        async move { Ok::<_, Infallible>(node.answer(request).await) }
    });
    let server = auto::Builder::new(TokioExecutor::new());
    // A connection that breaks is the client's business.
    let _ = server
        .serve_connection(TokioIo::new(connection), service)
        .await;
}

impl Node {
    async fn answer(mut self, request: hyper::Request<Incoming>) -> hyper::Response<Body> {
        if self.hangs() {
            pending::<()>().await;
        }
        let caller = self.state().users.caller(request.headers());
        let is_json = request.uri().path() == "/gossip";
        match caller {
            Some(caller) => self.caller = caller,
            None if is_json => return unauthorized(),
            None => return Status::unauthenticated("Unauthenticated").into_http(),
        }
        match request.uri().path() {
            "/gossip" => self.gossip(),
            "/event_store.client.gossip.Gossip/Read" => {
                let mut grpc = Grpc::new(ProstCodec::<ClusterInfo, Empty>::default());
                let members = Fixed(self.state().members());
                grpc.unary(members, request).await
            }
            "/event_store.client.server_features.ServerFeatures/GetSupportedMethods" => {
                let mut grpc = Grpc::new(ProstCodec::<SupportedMethods, Empty>::default());
                let features = Fixed(self.features());
                grpc.unary(features, request).await
            }
            "/event_store.client.streams.Streams/Read" => {
                let mut grpc = Grpc::new(ProstCodec::<ReadResp, ReadReq>::default());
                grpc.server_streaming(self, request).await
            }
            "/event_store.client.streams.Streams/BatchAppend" => {
                let mut grpc = Grpc::new(ProstCodec::<BatchAppendResp, BatchAppendReq>::default());
                grpc.streaming(self, request).await
            }
            _ => Status::unimplemented("unknown method").into_http(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hangs(&self) -> bool {
        take(&mut self.state().faults.hanging_calls)
    }

    fn gossip(&self) -> hyper::Response<Body> {
        let members = self.state().members_as_json().to_string();
        let answer = hyper::Response::builder().header(CONTENT_TYPE, "application/json");
        answer.body(Body::new(members)).unwrap()
    }

    fn features(&self) -> SupportedMethods {
        let batch_append = SupportedMethod {
            method_name: "batchappend".to_owned(),
            service_name: "event_store.client.streams.streams".to_owned(),
            features: vec!["deadline_duration".to_owned()],
        };
        let is_old = self.state().faults.has_no_batch_append;
        SupportedMethods {
            methods: (!is_old).then_some(batch_append).into_iter().collect(),
            event_store_server_version: "23.10.6".to_owned(),
        }
    }

    fn page(
        &self,
        state: &mut State,
        asked: &MetadataMap,
        options: &ReadOptions,
    ) -> Vec<Result<ReadResp, Status>> {
        let stream = options.stream.as_ref().unwrap();
        let name = stream.stream_identifier.as_ref().unwrap().name();
        if !state.may_read(&self.caller, name) {
            let denied = exception(Code::PermissionDenied, "Access Denied", "access-denied");
            return vec![Err(denied)];
        }
        if let Some(status) = state.not_leading(self.number, asked) {
            return vec![Err(status)];
        }
        if take(&mut state.faults.ended_reads) {
            return Vec::new();
        }
        match state.read(options) {
            Page::Events { events, last } => {
                let events = events.into_iter().map(read_event);
                events.chain([last_position(last)]).map(Ok).collect()
            }
            Page::NotFound => vec![Ok(not_found())],
            Page::Tombstoned => {
                let says = format!("Event stream '{name}' is deleted.");
                let deleted = exception(Code::FailedPrecondition, &says, "stream-deleted");
                vec![Err(deleted)]
            }
            Page::Uncountable => vec![Err(Status::unknown("Exception was thrown by handler."))],
        }
    }
}

/// A service with one answer.
struct Fixed<T>(T);

impl<T: Clone> UnaryService<Empty> for Fixed<T> {
    type Response = T;
    type Future = Ready<Result<Response<T>, Status>>;

    fn call(&mut self, _: Request<Empty>) -> Self::Future {
        ready(Ok(Response::new(self.0.clone())))
    }
}

impl ServerStreamingService<ReadReq> for Node {
    type Response = ReadResp;
    type ResponseStream = Answers<ReadResp>;
    type Future = Answer<Answers<ReadResp>>;

    fn call(&mut self, request: Request<ReadReq>) -> Self::Future {
        let (asked, _, request) = request.into_parts();
        let options = request.options.unwrap();
        let (page, delay) = {
            let mut state = self.state();
            (self.page(&mut state, &asked, &options), state.delay)
        };
        Box::pin(async move {
            pause(delay).await;
            opened(stream::iter(page).boxed()).await
        })
    }
}

/// Waits for `delay` on a thread of its own: a timer of the runtime would add up to two milliseconds.
pub(super) async fn pause(delay: Duration) {
    if !delay.is_zero() {
        let waited = tokio::task::spawn_blocking(move || std::thread::sleep(delay));
        waited.await.unwrap();
    }
}

/// Returns an answer whose headers go out with its first message, as the server's do. A call that
/// fails before its first message is answered with the error alone.
pub(super) async fn opened<T: Send + 'static>(
    mut answers: Answers<T>,
) -> Result<Response<Answers<T>>, Status> {
    match answers.next().await {
        Some(Err(status)) => Err(status),
        first => Ok(Response::new(stream::iter(first).chain(answers).boxed())),
    }
}

fn unauthorized() -> hyper::Response<Body> {
    let answer = hyper::Response::builder().status(StatusCode::UNAUTHORIZED);
    let answer = answer.header(WWW_AUTHENTICATE, "Basic realm=\"ES\"");
    answer.body(Body::empty()).unwrap()
}

fn exception(code: Code, says: &str, exception: &'static str) -> Status {
    let mut metadata = MetadataMap::new();
    metadata.insert("exception", exception.parse().unwrap());
    Status::with_metadata(code, says, metadata)
}

fn not_found() -> ReadResp {
    ReadResp {
        content: Some(ReadContent::StreamNotFound(StreamNotFound::default())),
    }
}

fn last_position(revision: u64) -> ReadResp {
    ReadResp {
        content: Some(ReadContent::LastStreamPosition(revision)),
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
        metadata: [("type".to_owned(), "record".to_owned())].into(),
        data: event.data,
    };
    ReadResp {
        content: Some(ReadContent::Event(ReadEvent {
            event: Some(event),
            no_position: Some(Empty {}),
        })),
    }
}
