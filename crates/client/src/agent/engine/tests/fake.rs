//! A ledger, a chain and a disk in memory, and a process that is killed at one of its calls.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a ledger in miniature knows the few steps that are taken here"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{
    EnvelopeRules, MessageType, ParsedEnvelope, SealedEnvelope, VerifiedEnvelope, verify,
};
use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::facts::{AdvertiseFacts, Facts};
use x811_protocol::id::{ContractId, EnvelopeId, SessionId};
use x811_protocol::interaction::StateName;
use x811_protocol::payload::{PayloadRules, facts};
use x811_protocol::settlement_view::ProviderPaid;

use super::super::*;
use crate::agent::approval::Question;
use crate::agent::bargain::Bargain;
use crate::agent::case::Said;
use crate::agent::dealt::Dealt;
use crate::agent::outbox::{Lookup, Reply};
use crate::agent::work::good_if_inline;
use crate::agent::world::{Arrival, Due, PayFault};
use crate::clock::Clock;
use crate::compose::{
    Accept, ComposeError, Composer, Delivery, Judgement, Offer, Payment, SessionStep, Verify,
};
use crate::http::{Accepted, AgreementView};
use crate::identity::Identity;
use crate::policy::{Provider, ProviderStatus, Trust};
use crate::testing::{CountingEntropy, NOW_MS, identity, ledger_did};
use x811_protocol::did::Did;

/// When in a call the process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kill {
    /// Nothing of it happens.
    Before,
    /// It happens, and nobody learns of it.
    After,
}

/// What is left when a process dies.
pub(super) struct Universe {
    pub(super) now_ms: u64,
    pub(super) ada: Identity,
    pub(super) bob: Identity,
    pub(super) state: StateName,
    pub(super) transfers: usize,
    pub(super) refuses_payments: bool,
    pub(super) payment_window_ms: u64,
    pub(super) hides_proofs: bool,
    entropy: CountingEntropy,
    disk: Option<Vec<u8>>,
    log: Vec<(Act, VerifiedEnvelope, u64)>,
    /// Every envelope id that came to the ledger, and its answer.
    seen: BTreeMap<EnvelopeId, (Act, Reply)>,
    /// What was transferred under a nonce.
    chain: BTreeMap<Digest, TxHash>,
    signed: u8,
    verified_at_ms: u64,
    calls_left: usize,
    kill: Kill,
    is_dead: bool,
}

impl Universe {
    pub(super) fn new(calls_left: usize, kill: Kill) -> Universe {
        let entropy = CountingEntropy::default();
        Universe {
            now_ms: NOW_MS,
            ada: identity("ada", &entropy),
            bob: identity("bob", &entropy),
            state: StateName::Pending,
            transfers: 0,
            refuses_payments: false,
            payment_window_ms: 60_000,
            hides_proofs: false,
            entropy,
            disk: None,
            log: Vec::new(),
            seen: BTreeMap::new(),
            chain: BTreeMap::new(),
            signed: 0,
            verified_at_ms: 0,
            calls_left,
            kill,
            is_dead: false,
        }
    }

    pub(super) fn revive(&mut self, loses_state: bool) {
        self.is_dead = false;
        self.calls_left = usize::MAX;
        if loses_state {
            self.disk = None;
        }
    }

    pub(super) fn stored(&self) -> Option<State> {
        let disk = self.disk.as_ref()?;
        Some(serde_json::from_slice(disk).unwrap())
    }

    pub(super) fn interaction(&self) -> Option<InteractionId> {
        let (_, request, _) = self.log.first()?;
        Some(request.header().id.into())
    }

    /// Under how many ids this was sent.
    pub(super) fn sent_ids(&self, act: Act) -> usize {
        self.seen.values().filter(|(sent, _)| *sent == act).count()
    }

    pub(super) fn accepted(&self, act: Act) -> usize {
        self.log.iter().filter(|(said, ..)| *said == act).count()
    }

    /// Whether nothing more is going to happen.
    pub(super) fn is_settled(&self, state: &State) -> bool {
        let is_idle = state.tasks.is_empty() && state.outbox.is_empty() && state.proofs.is_empty();
        self.state == StateName::Completed && is_idle
    }

    /// The other party does what is its turn; the interaction then changed.
    pub(super) fn step_of_the_other(&mut self, is_initiator: bool) -> Option<InteractionId> {
        let paid = self.log.iter().any(|(act, envelope, _)| {
            let hash = envelope.payload().get("tx_hash").and_then(Value::as_str);
            *act == Act::Payment
                && self
                    .chain
                    .values()
                    .any(|mined| Some(mined.to_string().as_str()) == hash)
        });
        if paid && self.state == StateName::Verified {
            self.state = StateName::Completed;
            return self.interaction();
        }
        let sealed = match is_initiator {
            true => self.of_bob()?,
            false => self.of_ada()?,
        };
        let (act, envelope) = sealed;
        let _ = self.receive(act, &envelope);
        self.interaction()
    }

    fn of_bob(&self) -> Option<(Act, SealedEnvelope)> {
        let interaction = self.interaction()?;
        match self.state {
            StateName::Pending => Some((Act::Offer, self.sealed(false, &self.offer(interaction)))),
            StateName::Accepted => {
                let delivery = Delivery {
                    interaction,
                    offer_id: self.id_of(Act::Offer)?,
                    content: crate::compose::ResultContent::Inline("hello".to_owned()),
                    content_type: "text/plain".to_owned(),
                    execution_time_ms: 1,
                    model_used: None,
                    methodology: None,
                };
                Some((Act::Result, self.sealed(false, &delivery)))
            }
            _ => None,
        }
    }

    fn of_ada(&self) -> Option<(Act, SealedEnvelope)> {
        let Some(interaction) = self.interaction() else {
            let request = super::order(self).request;
            return Some((Act::Request, self.sealed(true, &request)));
        };
        let offer_id = self.id_of(Act::Offer);
        match self.state {
            StateName::Offered => {
                let (_, offer, _) = self.log.iter().find(|(act, ..)| *act == Act::Offer)?;
                Some((Act::Accept, self.sealed(true, &Accept::of(offer))))
            }
            StateName::Delivered => {
                let verify = Verify {
                    interaction,
                    offer_id: offer_id?,
                    result_hash: Digest::of(b"hello"),
                    judgement: Judgement::Verified,
                };
                Some((Act::Verify, self.sealed(true, &verify)))
            }
            StateName::Verified if self.accepted(Act::Payment) == 0 => {
                let payment = Payment {
                    interaction,
                    offer_id: offer_id?,
                    tx_hash: TxHash::from_bytes([9; 32]),
                    fee_tx_hash: None,
                    amount: super::usdc("0.029725"),
                    network: "local".to_owned(),
                    payer: self.ada.account()?,
                    payee: self.bob.account()?,
                    authorization_nonce: None,
                };
                Some((Act::Payment, self.sealed(true, &payment)))
            }
            StateName::Verified => None,
            _ => None,
        }
    }

    fn offer(&self, interaction: InteractionId) -> Offer {
        Offer {
            interaction,
            price: super::usdc("0.029"),
            estimated_time_s: 5,
            deliverables: vec!["the text".to_owned()],
            expiry_s: 300,
            terms: None,
            payment_address: self.bob.account(),
        }
    }

    fn id_of(&self, act: Act) -> Option<EnvelopeId> {
        let (_, envelope, _) = self.log.iter().find(|(said, ..)| *said == act)?;
        Some(envelope.header().id)
    }

    fn sealed(&self, by_ada: bool, payload: &dyn Payload) -> SealedEnvelope {
        let (from, to) = match by_ada {
            true => (&self.ada, self.bob.did),
            false => (&self.bob, self.ada.did),
        };
        let clock = At(self.now_ms);
        let composer = Composer::new(from, &self.entropy, &clock);
        composer.seal(to, payload).unwrap()
    }

    /// What a ledger does with an envelope.
    fn receive(&mut self, act: Act, envelope: &SealedEnvelope) -> Reply {
        let (id, json) = (envelope.header.id, envelope.json.clone());
        self.receive_bytes(act, id, &json)
    }

    fn receive_bytes(&mut self, act: Act, id: EnvelopeId, json: &[u8]) -> Reply {
        if let Some((_, first)) = self.seen.get(&id) {
            return first.clone();
        }
        let reply = self.decide(act, json);
        self.seen.insert(id, (act, reply.clone()));
        reply
    }

    fn decide(&mut self, act: Act, json: &[u8]) -> Reply {
        use StateName::{Accepted as Agreed, Delivered, Offered, Pending, Rejected, Verified};
        let parsed = ParsedEnvelope::parse(json, &EnvelopeRules::default()).unwrap();
        let keys = [self.ada.agent_key(), self.bob.agent_key()];
        let envelope = verify(parsed, &keys).unwrap();
        let is_open = !self.log.is_empty();
        if act == Act::Request && is_open {
            // The same idempotency key opens one interaction.
            return self.answer(0);
        }
        let next = match (act, self.state) {
            (Act::Error, same) => Some(same),
            (Act::Request, Pending) => Some(Pending),
            (Act::Offer, Pending) if is_open => Some(Offered),
            (Act::Accept, Offered) => Some(Agreed),
            (Act::Reject, Offered) => Some(Rejected),
            (Act::Result, Agreed) => Some(Delivered),
            (Act::Verify, Delivered) => Some(Verified),
            (Act::Payment, Verified) if !self.refuses_payments => Some(Verified),
            _ => None,
        };
        let Some(next) = next else {
            return Reply::Refused {
                code: Code::InvalidStateTransition,
                message: format!("{act:?} in {}", self.state),
            };
        };
        if next == Verified && self.state != Verified {
            self.verified_at_ms = self.now_ms;
        }
        if act == Act::Payment
            && !self
                .chain
                .values()
                .any(|hash| *hash != TxHash::from_bytes([9; 32]))
        {
            // The other party of a provider under test pays at once.
            self.chain
                .insert(Digest::of(b"ada"), TxHash::from_bytes([9; 32]));
        }
        self.state = next;
        self.log.push((act, envelope, self.now_ms));
        self.answer(self.log.len() - 1)
    }

    fn answer(&self, place: usize) -> Reply {
        let (_, envelope, _) = &self.log[place];
        Reply::Accepted(Box::new(Accepted {
            interaction_id: self.interaction(),
            envelope_id: envelope.header().id,
            position: place as u64,
            record_hash: envelope.digest(),
            subject: None,
            state: None,
            deadline_at_ms: None,
            counted: None,
            code: None,
        }))
    }

    fn case(&self) -> Option<Case> {
        let id = self.interaction()?;
        let mut case = Case {
            id,
            initiator: self.ada.did,
            provider: self.bob.did,
            state: self.state,
            deadline_at_ms: Some(self.deadline()),
            request: None,
            offer: None,
            payee: self.bob.account(),
            result: None,
            payments: Vec::new(),
            paid: match self.state {
                StateName::Completed => ProviderPaid::Yes,
                _ => ProviderPaid::NotYet,
            },
            said: Vec::new(),
        };
        for (place, (act, envelope, at_ms)) in self.log.iter().enumerate() {
            let header = envelope.header();
            let rules = PayloadRules::default();
            let kind: &MessageType = &header.message_type;
            match facts(kind, header.from, envelope.payload(), &rules).unwrap() {
                Facts::Request(facts) => case.request = Some(facts),
                Facts::Offer(facts) => case.offer = Some((header.id, facts)),
                Facts::Result(facts) => case.result = Some(facts),
                Facts::Payment(facts) => case.payments.push(facts.tx_hash),
                _ => {}
            }
            case.said.push(Said {
                core: act.core_type().unwrap(),
                from: header.from,
                envelope_id: header.id,
                digest: envelope.digest(),
                position: place as u64,
                record_hash: envelope.digest(),
                at_ms: TimestampMs::new(*at_ms),
            });
        }
        Some(case)
    }

    fn deadline(&self) -> TimestampMs {
        TimestampMs::new(match self.state {
            StateName::Verified => self.verified_at_ms + self.payment_window_ms,
            _ => self.now_ms + 60_000,
        })
    }
}

struct At(u64);

impl Clock for At {
    fn now(&self) -> TimestampMs {
        TimestampMs::new(self.0)
    }

    fn pause(&self, _: u64) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }
}

/// The world of one process.
pub(super) struct Fake {
    universe: Arc<Mutex<Universe>>,
    is_initiator: bool,
}

impl Fake {
    pub(super) fn new(universe: Arc<Mutex<Universe>>, is_initiator: bool) -> Fake {
        Fake {
            universe,
            is_initiator,
        }
    }

    pub(super) fn stored(&self) -> State {
        let stored = self.universe.lock().unwrap().stored();
        stored.unwrap_or_else(|| State::new(self.me(), ledger_did()))
    }

    /// Makes a call, unless the process is dead or dies in it.
    fn call<T>(&self, effect: impl FnOnce(&mut Universe) -> T) -> Option<T> {
        let mut universe = self.universe.lock().unwrap();
        if universe.is_dead {
            return None;
        }
        if universe.calls_left > 0 {
            universe.calls_left -= 1;
            return Some(effect(&mut universe));
        }
        universe.is_dead = true;
        if universe.kill == Kill::After {
            let _ = effect(&mut universe);
        }
        None
    }
}

fn dead() -> ClientError {
    ClientError::Unreachable {
        url: String::new(),
        cause: "killed".to_owned(),
    }
}

impl World for Fake {
    fn now(&self) -> TimestampMs {
        TimestampMs::new(self.universe.lock().unwrap().now_ms)
    }

    fn me(&self) -> Did {
        let universe = self.universe.lock().unwrap();
        match self.is_initiator {
            true => universe.ada.did,
            false => universe.bob.did,
        }
    }

    fn ledger(&self) -> Did {
        ledger_did()
    }

    fn payer(&self) -> Option<EvmAddress> {
        self.universe.lock().unwrap().ada.account()
    }

    fn save(&self, state: &State) -> Result<(), StateError> {
        let bytes = serde_json::to_vec(state).unwrap();
        let saved = self.call(|universe| universe.disk = Some(bytes));
        saved.ok_or_else(|| StateError::Running {
            path: "killed".into(),
        })
    }

    fn question(&self, _: InteractionId) -> Result<Option<Question>, HomeError> {
        Ok(None)
    }

    fn ask(&self, _: &Question) -> Result<(), HomeError> {
        Ok(())
    }

    fn forget_question(&self, _: InteractionId) -> Result<(), HomeError> {
        Ok(())
    }

    fn keep_proof(&self, _: &ProofDue, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn signed(&self, agreement: Map<String, Value>) -> SessionStep {
        let universe = self.universe.lock().unwrap();
        match self.is_initiator {
            true => SessionStep::agree(agreement, &universe.ada),
            false => SessionStep::agree(agreement, &universe.bob),
        }
    }

    fn seal(&self, _: Did, payload: &dyn Payload) -> Result<SealedEnvelope, ComposeError> {
        Ok(self
            .universe
            .lock()
            .unwrap()
            .sealed(self.is_initiator, payload))
    }

    async fn send(&self, entry: &Entry) -> Reply {
        let json = entry.envelope.as_bytes();
        let sent = self.call(|universe| universe.receive_bytes(entry.act, entry.envelope_id, json));
        sent.unwrap_or(Reply::Silence)
    }

    async fn lookup(&self, id: EnvelopeId) -> Lookup {
        let found = self.call(|universe| universe.seen.get(&id).cloned());
        match found {
            Some(Some((_, Reply::Accepted(accepted)))) => Lookup::Accepted(accepted),
            Some(_) => Lookup::Absent {
                as_of_ms: Some(self.now()),
            },
            None => Lookup::Silence,
        }
    }

    async fn case(&self, _: InteractionId) -> Result<Case, ClientError> {
        let case = self.call(|universe| universe.case());
        case.flatten().ok_or_else(dead)
    }

    async fn bargain(&self, _: ContractId) -> Result<Bargain, ClientError> {
        Err(dead())
    }

    async fn dealt(&self, _: SessionId) -> Result<Dealt, ClientError> {
        Err(dead())
    }

    async fn descriptor(&self) -> Result<Option<AdvertiseFacts>, ClientError> {
        Err(dead())
    }

    async fn active_agreements(&self) -> Result<Vec<AgreementView>, ClientError> {
        Err(dead())
    }

    async fn body(
        &self,
        _: &Case,
        act: Act,
        _: Did,
    ) -> Result<Option<VerifiedEnvelope>, ClientError> {
        let body = self.call(|universe| {
            let mut log = universe.log.iter();
            let found = log.find(|(said, ..)| *said == act);
            found.map(|(_, envelope, _)| envelope.clone())
        });
        body.ok_or_else(dead)
    }

    async fn standing(&self, _: Did) -> Result<Provider, ClientError> {
        Ok(Provider {
            status: ProviderStatus::Active,
            trust: Trust::NEW_AGENT,
        })
    }

    async fn proof(&self, _: &ProofDue) -> Result<String, ClientError> {
        match self.universe.lock().unwrap().hides_proofs {
            true => Err(dead()),
            false => Ok(String::new()),
        }
    }

    async fn sign(&self, due: &Due) -> Result<Transfer, PayFault> {
        let signed = self.call(|universe| {
            let made = universe.chain.get(&due.nonce).copied();
            universe.signed += 1;
            let new = TxHash::from_bytes([universe.signed; 32]);
            Transfer {
                tx_hash: made.unwrap_or(new),
                nonce: due.nonce,
                signed: made.is_none().then(|| json!("signed")),
                may_have_left: false,
                has_arrived: false,
            }
        });
        signed.ok_or_else(killed)
    }

    async fn broadcast(&self, transfer: &Transfer) -> Result<Arrival, PayFault> {
        let sent = self.call(|universe| {
            let known = universe.chain.get(&transfer.nonce).copied();
            if known.is_none() {
                universe.transfers += 1;
                universe.chain.insert(transfer.nonce, transfer.tx_hash);
            }
            let tx_hash = known.unwrap_or(transfer.tx_hash);
            Arrival::Mined { tx_hash }
        });
        sent.ok_or_else(killed)
    }

    async fn raise_fees(&self, _: &Transfer) -> Result<Option<Transfer>, PayFault> {
        Ok(None)
    }
}

fn killed() -> PayFault {
    PayFault {
        is_passing: true,
        text: "killed".to_owned(),
    }
}

/// The check of all results in these tests takes what is in the message.
#[test]
fn ae_061_content_elsewhere_is_left_to_a_person() {
    let delivered = crate::agent::work::Delivered {
        interaction: "0190a1b2-c3d4-7e5f-8901-234567890abc".parse().unwrap(),
        task_type: "echo".to_owned(),
        content: None,
        url: Some("https://example.org/result".to_owned()),
        content_type: "text/plain".to_owned(),
    };
    assert_eq!(good_if_inline(&delivered), None);
}
