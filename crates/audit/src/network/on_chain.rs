//! What a log says of transactions on the network, kept for whoever holds it against the network
//! once more (settlement-watcher.md). The audit of a file asks nobody; this is what there is to ask
//! for: the evidence of payments and of what was none, and of every other declared transaction what
//! the log saw of it, or that it was not there.

use foldhash::HashMap;
use x811_protocol::did::Did;
use x811_protocol::event::{
    Event, Evidence, Finding as Found, FindingStatus, RefutedCause, SettlementEvent,
};
use x811_protocol::evm::{BlockHash, ChainId, EvmAddress, TxHash};
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::{Deal, State};
use x811_protocol::money::MicroUsdc;
use x811_protocol::observation::{Block, NetworkHead, Transfer};
use x811_protocol::parameters::Network;
use x811_protocol::settlement::{Declared, Fit, Since, evidence};

use crate::finding::findings::{Cause, Finding, Spot};

/// Transfers that all evidence of one record together quotes at least, where so many fit.
const TRANSFERS_QUOTED: u64 = 64;

/// Where a log says something of the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainPlace {
    /// Place of the record in the log.
    pub position: u64,
    /// Its line in an export.
    pub line: Option<u64>,
    /// Name of the stream that the record is in, where it is known.
    pub stream: Option<String>,
    /// Which member of the record: `evidence[0]`, `finding[1]`; `evidence` where there is one alone.
    pub field: String,
}

impl ChainPlace {
    pub(crate) fn of(spot: &Spot, field: String) -> ChainPlace {
        ChainPlace {
            position: spot.position,
            line: spot.line,
            stream: spot.stream.as_deref().map(str::to_owned),
            field,
        }
    }

    /// A finding: what the network says otherwise of `member`.
    pub fn differs(&self, member: &str, sentence: impl Into<String>) -> Finding {
        Finding {
            position: self.position,
            line: self.line,
            stream: self.stream.clone(),
            field: format!("{}.{member}", self.field),
            cause: Cause::EvidenceDiffers,
            sentence: sentence.into(),
        }
    }
}

/// A transaction as PAYMENTs declared it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredTransaction {
    /// Hash of the transaction.
    pub tx_hash: TxHash,
    /// The chain, as the parameters say that the interaction was opened under.
    pub chain_id: ChainId,
    /// The token, as the same parameters say.
    pub token: EvmAddress,
    /// Which of its transfers can pay.
    pub fit: Fit,
    /// Blocks at which a transfer counts as confirmed.
    pub confirmed_depth: u64,
    /// From when on a transfer can pay.
    pub since: Since,
    /// The head recorded at ACCEPT, by height and hash.
    pub recorded: Option<(u64, BlockHash)>,
    /// A record that shows fewer fitting transfers than this shows all that fit.
    pub quoted: u64,
    /// What was due in all, where a transfer of just that to the payee is decided on at the
    /// confirmed depth.
    pub decides: Option<MicroUsdc>,
}

/// What a record shows of one transaction, and what later records say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedEvidence {
    /// The record that says so.
    pub place: ChainPlace,
    /// The transaction, as it was declared.
    pub declared: DeclaredTransaction,
    /// What was shown.
    pub evidence: Evidence,
    /// Why it does not pay, where that is what it was shown for.
    pub refuted: Option<RefutedCause>,
    /// The block it is in by the last record that names one; none where a reorganisation took it
    /// back.
    pub block: Option<Block>,
}

impl RecordedEvidence {
    /// Whether every transfer that fits is shown.
    #[must_use]
    pub fn shows_all(&self) -> bool {
        (self.evidence.transfers.len() as u64) < self.declared.quoted
    }

    /// Whether the network says all that it was shown for when it says the same. That a transfer
    /// settles another interaction rests on the log; that a transaction pays too little, or somebody
    /// else, on every transfer of it that fits.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        match self.refuted {
            None
            | Some(
                RefutedCause::Reverted | RefutedCause::WrongToken | RefutedCause::OlderThanAccept,
            ) => true,
            Some(
                RefutedCause::UsedAlready
                | RefutedCause::Short
                | RefutedCause::OtherPayee
                | RefutedCause::Unauthorized,
            ) => self.shows_all(),
        }
    }
}

/// What a log last says of a declared transaction that it shows no evidence of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedSighting {
    /// The record that says so.
    pub place: ChainPlace,
    /// The transaction, as it was declared.
    pub declared: DeclaredTransaction,
    /// What is said.
    pub said: Sighting,
}

/// What a look at the network showed of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sighting {
    /// It was not there.
    NotFound {
        /// As of that head.
        head: Block,
        /// Whether another record has it in a block.
        came_later: bool,
    },
    /// It was there, or refuted before, and what was due was not all there: a transfer of just that
    /// to the payee, deep enough below the head, would have been confirmed instead.
    NotPaid {
        /// As of that head.
        head: Block,
        /// What was due.
        due: MicroUsdc,
    },
    /// It was there, and nothing was decided by it.
    Seen {
        /// In that block.
        block: Block,
        /// Its transfers that fit.
        transfers: Vec<Transfer>,
    },
}

/// What is said of the network so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct SaidOfNetwork {
    evidence: Vec<RecordedEvidence>,
    /// Places in it.
    places: HashMap<Key, Vec<usize>>,
    declared: HashMap<Key, Declaration>,
    /// Keys of it, in order of declaration.
    order: Vec<Key>,
}

type Key = (InteractionId, TxHash);

/// A declared transaction, and what is said of it.
#[derive(Debug, Clone)]
struct Declaration {
    transaction: DeclaredTransaction,
    /// The last look that found nothing, and its head.
    not_found: Option<(ChainPlace, Block)>,
    /// The last look that found something else, and its head.
    not_paid: Option<(ChainPlace, Block)>,
    /// Where it was seen last, if it has not disappeared since.
    seen: Option<(ChainPlace, Block, Vec<Transfer>)>,
}

impl SaidOfNetwork {
    /// Takes a record of `interaction`, which is in that state now; of the ledger `by`.
    pub(crate) fn take(
        &mut self,
        spot: &Spot,
        interaction: InteractionId,
        (state, by): (&State, Did),
        event: &Event,
    ) {
        match event {
            Event::EnvelopeAccepted(_) => self.declare(interaction, state, by),
            Event::Settlement(SettlementEvent::Looked(looked)) => {
                for (index, found) in looked.finding.iter().enumerate() {
                    self.looked(spot, interaction, (index, found), looked.head);
                }
            }
            Event::Settlement(SettlementEvent::Seen(seen)) => {
                self.stand((interaction, seen.tx_hash), Some(seen.block));
                if let Some(declared) = self.declared.get_mut(&(interaction, seen.tx_hash)) {
                    let place = ChainPlace::of(spot, "transfers".to_owned());
                    declared.seen = Some((place, seen.block, seen.transfers.clone()));
                }
            }
            Event::Settlement(SettlementEvent::Unseen(gone)) => {
                self.stand((interaction, gone.tx_hash), None);
                if let Some(declared) = self.declared.get_mut(&(interaction, gone.tx_hash)) {
                    declared.seen = None;
                }
            }
            Event::Settlement(
                SettlementEvent::Confirmed(_)
                | SettlementEvent::Late(_)
                | SettlementEvent::Refuted(_),
            ) => {
                self.show(spot, interaction, event);
            }
            Event::Ledger(_)
            | Event::Network(_)
            | Event::Agent(_)
            | Event::Lapsed(_)
            | Event::Settlement(
                SettlementEvent::Final(_)
                | SettlementEvent::Reversed(_)
                | SettlementEvent::Returned(_),
            )
            | Event::CycleDrawn(_)
            | Event::NoticeIssued(_)
            | Event::StateRoot(_)
            | Event::Effect(_) => {}
        }
    }

    /// Evidence, and what is said of declared transactions of which there is none, or which looks
    /// did not find before. Of an extract nobody knows whether another interaction was paid instead.
    pub(crate) fn finish(
        mut self,
        is_extract: bool,
    ) -> (Vec<RecordedEvidence>, Vec<RecordedSighting>) {
        let mut sightings = Vec::new();
        let mut declarations: HashMap<TxHash, u64> = HashMap::default();
        for (_, tx_hash) in &self.order {
            *declarations.entry(*tx_hash).or_default() += 1;
        }
        for key in self.order {
            let Some(declaration) = self.declared.remove(&key) else {
                continue;
            };
            let Declaration {
                transaction,
                not_found,
                not_paid,
                seen,
            } = declaration;
            let has_evidence = self.places.contains_key(&key);
            let came_later = has_evidence || seen.is_some();
            let seen = seen.filter(|_| !has_evidence);
            let seen =
                seen.map(|(place, block, transfers)| (place, Sighting::Seen { block, transfers }));
            let not_found =
                not_found.map(|(place, head)| (place, Sighting::NotFound { head, came_later }));
            let is_alone = !is_extract && declarations.get(&key.1) == Some(&1);
            let not_paid = not_paid.zip(transaction.decides.filter(|_| is_alone));
            let not_paid =
                not_paid.map(|((place, head), due)| (place, Sighting::NotPaid { head, due }));
            let said = not_found.into_iter().chain(not_paid).chain(seen);
            sightings.extend(said.map(|(place, said)| RecordedSighting {
                place,
                declared: transaction.clone(),
                said,
            }));
        }
        (self.evidence, sightings)
    }

    /// Takes what PAYMENTs have declared by now.
    fn declare(&mut self, interaction: InteractionId, state: &State, by: Did) {
        let Some((deal, network, declared)) = watched(state) else {
            return;
        };
        let hashes = deal.opening.parameters.limits.hashes_per_interaction;
        let bill = deal.bill(network);
        for declared in declared {
            let key = (interaction, declared.tx_hash);
            if self.declared.contains_key(&key) {
                continue;
            }
            let transaction = DeclaredTransaction {
                tx_hash: declared.tx_hash,
                chain_id: network.chain_id,
                token: network.token,
                fit: bill.fit(deal.nonces(by), declared),
                confirmed_depth: network.confirmed_depth,
                since: bill.since(),
                recorded: recorded(&deal.acceptance.heads, &network.name),
                quoted: TRANSFERS_QUOTED / hashes.max(1),
                decides: Some(deal.offer.total)
                    .filter(|total| network.safe_above.is_none_or(|limit| *total <= limit)),
            };
            let declaration = Declaration {
                transaction,
                not_found: None,
                not_paid: None,
                seen: None,
            };
            self.declared.insert(key, declaration);
            self.order.push(key);
        }
    }

    fn looked(
        &mut self,
        spot: &Spot,
        interaction: InteractionId,
        (index, found): (usize, &Found),
        head: Block,
    ) {
        let Some(declared) = self.declared.get_mut(&(interaction, found.tx_hash)) else {
            return;
        };
        let look = Some((ChainPlace::of(spot, format!("finding[{index}]")), head));
        match found.status {
            FindingStatus::NotFound => declared.not_found = look,
            FindingStatus::Seen | FindingStatus::Insufficient | FindingStatus::Refuted => {
                declared.not_paid = look;
            }
        }
    }

    fn show(&mut self, spot: &Spot, interaction: InteractionId, event: &Event) {
        let mut refuted = None;
        if let Event::Settlement(SettlementEvent::Refuted(event)) = event {
            refuted = Some(event.cause);
        }
        for (index, evidence) in evidence(event).iter().enumerate() {
            let key = (interaction, evidence.tx_hash);
            let Some(declared) = self.declared.get(&key) else {
                continue;
            };
            let field = match refuted {
                Some(_) => "evidence".to_owned(),
                None => format!("evidence[{index}]"),
            };
            self.places
                .entry(key)
                .or_default()
                .push(self.evidence.len());
            self.evidence.push(RecordedEvidence {
                place: ChainPlace::of(spot, field),
                declared: declared.transaction.clone(),
                evidence: evidence.clone(),
                refuted,
                block: Some(evidence.block),
            });
        }
    }

    fn stand(&mut self, key: Key, block: Option<Block>) {
        for place in self.places.get(&key).into_iter().flatten() {
            self.evidence[*place].block = block;
        }
    }
}

fn recorded(heads: &[NetworkHead], network: &str) -> Option<(u64, BlockHash)> {
    let mut heads = heads.iter();
    let head = heads.find(|head| head.network == network)?;
    Some((head.number, head.hash))
}

/// What was agreed, and what was declared as its payment on which network; where something is due.
fn watched(state: &State) -> Option<(&Deal, &Network, &[Declared])> {
    let payment = state.watched()?;
    let deal = match state {
        State::Verified { deal, .. } => deal,
        State::Pending { .. }
        | State::Offered { .. }
        | State::Accepted { .. }
        | State::Delivered { .. }
        | State::Completed { .. }
        | State::Expired(_)
        | State::Rejected(_)
        | State::Disputed(_)
        | State::Failed(_) => return None,
    };
    let network = deal.opening.parameters.network(payment.network)?;
    (!deal.offer.total.is_zero()).then_some((deal, network, payment.declared))
}
