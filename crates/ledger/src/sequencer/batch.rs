//! What a round looks up before it decides, and the decision of one item.

use super::{ErasureAnswer, LiftAnswer, erasure, lift};
use super::{Item, PATIENCE_MS, Sequencer, notices, unseen};
use crate::SPANS;
use crate::answer::{Answer, TurnVerdict};
use crate::clock::{Clock, Settling};
use crate::draft::{BatchDraft, FirstRequest, Unwritten};
use crate::entropy::Entropy;
use crate::port::LedgerStore;
use crate::submission::MessageContent;
use crate::turn::{self, Lookups};
use crate::watch::{self, AfterLapses, Progress};
use std::collections::{BTreeSet, HashMap};
use tokio::sync::oneshot;
use x811_eventlog::{EventLog, ReadError};
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::event::Event;
use x811_protocol::evm::{ChainId, TxHash};
use x811_protocol::facts::{CapabilityFacts, Facts, RefersTo};
use x811_protocol::id::EnvelopeId;
use x811_protocol::observation::{Observation, Sweep, TransactionStatus};
use x811_protocol::parameters::{Leniency, Parameters};
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;
use x811_world::World;

/// When to try again while the ledger is busy.
const BUSY_RETRY_MS: u64 = 1_000;

/// A decided message or erasure, waiting for its commit.
pub(super) enum Reply {
    /// To a message.
    Message {
        verdict: TurnVerdict,
        to: oneshot::Sender<Result<Answer, Refusal>>,
        /// From the decision until it is durable.
        commit: tracing::Span,
    },
    /// To an operator.
    Erasure {
        done: ErasureAnswer,
        to: oneshot::Sender<Result<ErasureAnswer, Refusal>>,
    },
    /// To an operator about an exclusion.
    Lift {
        done: LiftAnswer,
        to: oneshot::Sender<Result<LiftAnswer, Refusal>>,
    },
}

/// X811-9001: the message waits no longer; it may be sent again as it is.
pub(crate) fn busy(why: &str) -> Refusal {
    Refusal::new(
        Code::RateLimitExceeded,
        Kind::Limit,
        format!("{why}: send the same message again after the time that Retry-After names"),
    )
    .retry_after_ms(BUSY_RETRY_MS)
}

/// X811-9001: the clock is not believed; says until when, where that is known.
pub(super) fn unsettled(settling: Option<Settling>) -> Refusal {
    let why = "the ledger's clock has jumped and is being checked";
    let Some(Settling { at, retry_after_ms }) = settling else {
        return busy(why);
    };
    busy(&format!("{why}, until {at} at the latest")).retry_after_ms(retry_after_ms)
}

/// X811-9002, HTTP 503: the store failed, and nothing was recorded.
pub(super) fn not_recorded() -> Refusal {
    Refusal::not_now(
        "the ledger could not record the message; nothing happened: send the same one again",
    )
}

/// X811-9002, HTTP 500: a defect of ours; nothing was recorded.
pub(super) fn defect() -> Refusal {
    Refusal::new(
        Code::InternalError,
        Kind::Internal,
        "a defect of the ledger keeps it from deciding this message, and nothing was recorded: tell its \
         operator, whose log says what happened",
    )
}

/// Everything the items need from the indexes, in a few queries; `before` is what the batch being
/// written adds to them.
pub(super) async fn look_up<S: LedgerStore>(
    store: &S,
    world: &World,
    before: Option<&Unwritten>,
    items: impl IntoIterator<Item = &Item>,
) -> Result<Lookups, ReadError> {
    let mut wanted = Wanted::default();
    for item in items {
        wanted.note(item, world);
    }
    let mut lookups = Lookups::default();
    if !wanted.tags.is_empty() {
        lookups.requests = first_requests(store, &wanted.tags).await?;
    }
    if !wanted.ids.is_empty() {
        let positions = store.envelope_positions(&wanted.ids).await?;
        for id in wanted.errors_about {
            if before.is_some_and(|before| before.is_outside_interactions(&id)) {
                lookups.outside_interactions.insert(id);
            }
            if let Some(position) = positions.get(&id)
                && is_outside_interactions(store, *position).await?
            {
                lookups.outside_interactions.insert(id);
            }
        }
        lookups.known_envelopes = positions.into_keys().collect();
    }
    if !wanted.adverts.is_empty() {
        for body in store.bodies(&wanted.adverts).await?.values() {
            lookups.schemas.take_advert(&body.bytes);
        }
    }
    if !wanted.erased.is_empty() {
        lookups.erased = store.erased(&wanted.erased).await?;
    }
    for (chain_id, hashes) in wanted.mined {
        let hashes: Vec<_> = hashes.into_iter().collect();
        let claims = store.claims(chain_id, &hashes).await?;
        lookups
            .claims
            .extend(claims.into_iter().map(|(claim, _)| claim));
    }
    Ok(lookups)
}

#[derive(Default)]
struct Wanted {
    tags: Vec<x811_protocol::digest::Digest>,
    ids: Vec<EnvelopeId>,
    /// Those of `ids` that ERRORs refer to.
    errors_about: Vec<EnvelopeId>,
    mined: HashMap<ChainId, BTreeSet<TxHash>>,
    /// Positions of adverts whose schemas parameters are held to.
    adverts: Vec<u64>,
    /// Positions whose bodies are to be erased.
    erased: Vec<u64>,
}

impl Wanted {
    fn note(&mut self, item: &Item, world: &World) {
        match item {
            Item::Message { message, .. } => {
                // Only an id that had to hold its time comes again soon or never.
                if world.was_ever_lenient(Leniency::Uuids) {
                    self.ids.push(message.header.id);
                }
                if let Ok(MessageContent::Facts(facts)) = &message.content {
                    self.note_facts(facts, world);
                    self.note_schema(facts, message.header.to, world);
                }
            }
            Item::Observation(observation) => {
                if let Observation::Sweep(sweep) = &**observation {
                    self.note_sweep(sweep, world);
                }
            }
            Item::Erasure { erasure, .. } => self.erased.extend(&erasure.positions),
            Item::Lift { .. } | Item::Notices(_) => {}
        }
    }

    /// A network may have left the parameters, or changed its chain, since interactions were opened.
    fn note_sweep(&mut self, sweep: &Sweep, world: &World) {
        let name = &sweep.network;
        let chain_id = |parameters: &Parameters| Some(parameters.network(name)?.chain_id);
        let present = world
            .parameters()
            .and_then(|(_, parameters)| chain_id(parameters));
        for (tx_hash, status) in &sweep.transactions {
            if *status == TransactionStatus::NotFound {
                continue;
            }
            let declared = world
                .declarers(name, *tx_hash)
                .into_iter()
                .filter_map(|id| {
                    let live = world.interaction(id)?;
                    chain_id(&live.state.opening().parameters)
                });
            for chain_id in declared.chain(present) {
                self.mined.entry(chain_id).or_default().insert(*tx_hash);
            }
        }
    }

    /// A request of a session is held to the descriptor of whoever is to provide the capability.
    fn note_schema(&mut self, facts: &Facts, to: Did, world: &World) {
        let Facts::Capability(CapabilityFacts::Request(request)) = facts else {
            return;
        };
        let agreement = request.agreement_id.and_then(|id| world.agreement(id));
        let provider = agreement.map_or(to, |live| live.state.provider);
        let advert = world.descriptor(provider);
        self.adverts
            .extend(advert.map(|live| live.state.record.position));
    }

    /// References to interactions that are not live need the index of all ids ever; those of ERRORs
    /// always, as one whose interaction ends before its turn is no mail.
    fn note_facts(&mut self, facts: &Facts, world: &World) {
        if let Facts::Request(request) = facts {
            self.tags.push(request.idempotency_tag);
        }
        let (reference, is_error) = match facts.refers_to() {
            RefersTo::Envelope(reference) => (reference, false),
            RefersTo::EnvelopeIfKnown(reference) => (reference, true),
            RefersTo::Itself | RefersTo::Subject(_) | RefersTo::Nothing => return,
        };
        let is_open = world.route(reference).is_some();
        if is_error || !is_open {
            self.ids.push(reference);
        }
        if is_error && !is_open {
            self.errors_about.push(reference);
        }
    }
}

/// Whether the envelope at `position` is mail or an identity message.
async fn is_outside_interactions<S: LedgerStore>(
    store: &S,
    position: u64,
) -> Result<bool, ReadError> {
    let records = store.log().read(position, 1).await?;
    let stream = records
        .first()
        .and_then(|record| record.stream().parse().ok());
    let is_of_interaction = matches!(stream, Some(Stream::Of(Subject::Interaction(_))) | None);
    Ok(!is_of_interaction)
}

async fn first_requests<S: LedgerStore>(
    store: &S,
    tags: &[x811_protocol::digest::Digest],
) -> Result<HashMap<x811_protocol::digest::Digest, FirstRequest>, ReadError> {
    let mut requests = HashMap::new();
    for (tag, position) in store.idempotency(tags).await? {
        let records = store.log().read(position, 1).await?;
        let event = records.first().and_then(|record| {
            Event::from_named_json(record.event_type(), record.event_json()).ok()
        });
        if let Some(Event::EnvelopeAccepted(accepted)) = event
            && let Facts::Request(request) = accepted.facts
        {
            let first = FirstRequest {
                position,
                to: accepted.envelope.to,
                payload_hash: request.payload_hash,
            };
            requests.insert(tag, first);
        }
    }
    Ok(requests)
}

impl<S, C, E> Sequencer<S, C, E>
where
    S: LedgerStore,
    C: Clock,
    E: Entropy,
{
    /// Decides one item on the draft and gives it back when a part of it has to wait for the next
    /// batch. A fault costs that item alone.
    pub(super) fn decide(
        &self,
        draft: &mut BatchDraft,
        item: Item,
        lookups: &Lookups,
        replies: &mut Vec<Reply>,
    ) -> Option<Item> {
        let now = self.clock.now();
        let AfterLapses::Decision(ended) = lapse_before(draft, &item, lookups, now) else {
            return Some(item);
        };
        let savepoint = draft.savepoint();
        let faulted = match item {
            Item::Message {
                message,
                queued_at_ms,
                turn: waiting,
                reply,
                admitted: _admitted,
            } => {
                let waited_ms = self.clock.monotonic_ms().saturating_sub(queued_at_ms);
                self.figures.turn_wait_ms.note(waited_ms);
                if waited_ms > PATIENCE_MS {
                    let _ = reply.send(Err(busy("the message waited too long for its turn")));
                    return None;
                }
                if let Some(network) =
                    unseen::network(draft.world(), &self.with_endpoints, &message)
                {
                    let refusal = unseen::refusal(network).related_to(message.header.id);
                    let _ = reply.send(Err(refusal));
                    return None;
                }
                match turn::take(draft, &message, lookups, ended, now) {
                    Ok(verdict) => {
                        let commit =
                            tracing::debug_span!(target: SPANS, parent: &waiting, "commit");
                        replies.push(Reply::Message {
                            verdict,
                            to: reply,
                            commit,
                        });
                        None
                    }
                    Err(fault) => {
                        let _ = reply.send(Err(defect()));
                        Some(fault)
                    }
                }
            }
            Item::Observation(observation) => {
                match watch::observe(draft, &observation, lookups, now) {
                    Ok(Progress::Done) => None,
                    Ok(Progress::BatchFull) => return Some(Item::Observation(observation)),
                    Err(fault) => Some(fault),
                }
            }
            Item::Erasure { erasure, reply } => {
                match erasure::record(draft, &erasure, &lookups.erased, now) {
                    Ok(Ok(done)) => {
                        replies.push(Reply::Erasure { done, to: reply });
                        None
                    }
                    Ok(Err(refusal)) => {
                        let _ = reply.send(Err(refusal));
                        None
                    }
                    Err(fault) => {
                        let _ = reply.send(Err(defect()));
                        Some(fault)
                    }
                }
            }
            Item::Lift { request, reply } => {
                lifted(lift::record(draft, &request, now), reply, replies)
            }
            Item::Notices(notices) => {
                notices::record(draft, notices, now);
                None
            }
        };
        if let Some(fault) = faulted {
            tracing::error!(%fault, "a decision broke the rules and was dropped");
            draft.restore(savepoint);
        }
        None
    }
}

/// Records everything that is due before that item is decided.
fn lapse_before(
    draft: &mut BatchDraft,
    item: &Item,
    lookups: &Lookups,
    now: TimestampMs,
) -> AfterLapses {
    let own = match item {
        Item::Message { message, .. } if draft.first_due(now).is_some() => {
            turn::subject_of(draft.world(), message, lookups)
        }
        Item::Message { .. }
        | Item::Observation(_)
        | Item::Erasure { .. }
        | Item::Lift { .. }
        | Item::Notices(_) => None,
    };
    watch::lapse_first(draft, own, now)
}

/// What becomes of an order to lift an exclusion.
fn lifted(
    outcome: Result<Result<LiftAnswer, Refusal>, x811_world::Fault>,
    reply: oneshot::Sender<Result<LiftAnswer, Refusal>>,
    replies: &mut Vec<Reply>,
) -> Option<x811_world::Fault> {
    let (answer, fault) = match outcome {
        Ok(Ok(done)) => {
            replies.push(Reply::Lift { done, to: reply });
            return None;
        }
        Ok(Err(refusal)) => (refusal, None),
        Err(fault) => (defect(), Some(fault)),
    };
    // An operator that is gone can ask again.
    let _ = reply.send(Err(answer));
    fault
}
