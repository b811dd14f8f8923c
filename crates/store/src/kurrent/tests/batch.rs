//! Sessions of batch appends: one call with many appends, each answered under its correlation id.
//!
//! An append that is refused is an answer, but a node that does not lead ends the whole session with its
//! status. An append has at most two seconds, and is then answered with `Timeout`, done or not. The
//! server does not repeat the expected position in its answers.

use std::future::{pending, ready};
use std::time::Duration;

use futures_util::StreamExt as _;
use tonic::metadata::MetadataMap;
use tonic::server::StreamingService;
use tonic::{Code, Request, Status, Streaming};

use super::double::{NO_LEADER, State, take};
use super::proto::{
    BatchAppendError, BatchAppendOptions, BatchAppendReq, BatchAppendResp, Empty, ProposedMessage,
    Success, Uuid, UuidValue,
};
use super::serve::{Answer, Answers, Node, opened, pause};
use super::streams::{Appended, Event, Expected};

/// Most bytes of one append.
const MAX_APPEND_BYTES: usize = 1_048_576;

/// Longest time for one append.
const MAX_DEADLINE: Duration = Duration::from_secs(2);

/// Appends of a session that wait for their answers.
const MAX_IN_FLIGHT: usize = 1024;

const TIMEOUT: (Code, &str) = (Code::DeadlineExceeded, "Timeout");

/// The end of one append.
enum Outcome {
    Answer(BatchAppendResp),
    /// It is never answered.
    Silence,
    /// The session ends in order.
    End,
    /// The session ends with an error.
    Failure(Status),
}

impl StreamingService<BatchAppendReq> for Node {
    type Response = BatchAppendResp;
    type ResponseStream = Answers<BatchAppendResp>;
    type Future = Answer<Answers<BatchAppendResp>>;

    fn call(&mut self, request: Request<Streaming<BatchAppendReq>>) -> Self::Future {
        let (asked, _, requests) = request.into_parts();
        let node = self.clone();
        let answers = requests
            .scan((), |_, request| ready(request.ok()))
            .map(move |request| node.step(&asked, &request))
            .buffer_unordered(MAX_IN_FLIGHT)
            .scan((), |_, answer| ready(answer));
        Box::pin(opened(answers.boxed()))
    }
}

impl Node {
    /// Carries out an append now, in the order of the session, and answers it after the delay. `None`
    /// ends the session.
    fn step(
        &self,
        asked: &MetadataMap,
        request: &BatchAppendReq,
    ) -> impl Future<Output = Option<Result<BatchAppendResp, Status>>> + Send + use<> {
        let options = request.options.as_ref().unwrap();
        let allowed = allowed(options);
        let (outcome, delay) = {
            let mut state = self.state();
            let delay = state.delay;
            let outcome = self.outcome(&mut state, asked, request, options, allowed);
            (outcome, delay.min(allowed))
        };
        async move {
            pause(delay).await;
            match outcome {
                Outcome::Answer(answer) => Some(Ok(answer)),
                Outcome::Silence => pending().await,
                Outcome::End => None,
                Outcome::Failure(status) => Some(Err(status)),
            }
        }
    }

    fn outcome(
        &self,
        state: &mut State,
        asked: &MetadataMap,
        request: &BatchAppendReq,
        options: &BatchAppendOptions,
        allowed: Duration,
    ) -> Outcome {
        assert!(request.is_final, "the client sends an append in one piece");
        if take(&mut state.faults.hanging_calls) {
            return Outcome::Silence;
        }
        if take(&mut state.faults.broken_sessions) {
            return Outcome::Failure(Status::unavailable("the connection was lost"));
        }
        let name = options.stream_identifier.as_ref().unwrap().name();
        let result = if !state.may_write(&self.caller, name) {
            Err((Code::PermissionDenied, "AccessDenied"))
        } else if allowed.is_zero() {
            Err(TIMEOUT)
        } else if size(&request.proposed_messages) > MAX_APPEND_BYTES {
            Err((Code::InvalidArgument, "MaximumAppendSizeExceeded"))
        } else if state.is_leaderless {
            Err((Code::Ok, NO_LEADER))
        } else if let Some(status) = state.not_leading(self.number, asked) {
            return Outcome::Failure(status);
        } else {
            let events = events(&request.proposed_messages);
            appended(state.append(name, expected(options), &events))
        };
        if take(&mut state.faults.swallowed_acks) {
            return Outcome::Silence;
        }
        if take(&mut state.faults.ended_sessions) {
            return Outcome::End;
        }
        let result = match state.delay > allowed {
            true => Err(TIMEOUT),
            false => result,
        };
        Outcome::Answer(BatchAppendResp {
            correlation_id: request.correlation_id.clone(),
            error: result.err().map(|(code, message)| BatchAppendError {
                code: code.into(),
                message: message.to_owned(),
            }),
            success: result.ok().map(|last| Success {
                current_revision: Some(last),
                no_position: Some(Empty {}),
            }),
            stream_identifier: options.stream_identifier.clone(),
        })
    }
}

fn appended(appended: Appended) -> Result<u64, (Code, &'static str)> {
    match appended {
        Appended::Stored(last) => Ok(last),
        Appended::WrongRevision => Err((Code::AlreadyExists, "WrongExpectedVersion")),
        Appended::Tombstoned => Err((Code::NotFound, "StreamDeleted")),
    }
}

fn allowed(options: &BatchAppendOptions) -> Duration {
    let Some(deadline) = options.deadline else {
        return MAX_DEADLINE;
    };
    let seconds = u64::try_from(deadline.seconds).unwrap_or(0);
    let nanos = u32::try_from(deadline.nanos).unwrap_or(0);
    Duration::new(seconds, nanos).min(MAX_DEADLINE)
}

fn expected(options: &BatchAppendOptions) -> Expected {
    match (options.stream_position, options.no_stream, options.any) {
        (Some(last), _, _) => Expected::Revision(last),
        (None, Some(_), _) => Expected::NoStream,
        (None, None, Some(_)) => Expected::Any,
        (None, None, None) => panic!("no expected position that the double knows"),
    }
}

/// Returns the bytes of an append as the server counts them.
fn size(messages: &[ProposedMessage]) -> usize {
    let sizes = messages.iter().map(|message| {
        let kind = message.metadata.get("type").map_or(0, String::len);
        message.data.len() + 2 * kind
    });
    sizes.sum()
}

fn events(messages: &[ProposedMessage]) -> Vec<Event> {
    let events = messages.iter().map(|message| {
        let id = bytes_of(message.id.as_ref().unwrap());
        (id, message.data.clone())
    });
    events.collect()
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
