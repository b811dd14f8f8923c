//! Whether a payment that is refuted as too short was: all that was declared counts together, and
//! short is definite only once all of it is deep (ledger-contract.md section 5).
//!
//! Evidence quotes the refuted transaction alone. What the others moved is what was said of them
//! when they were seen; it is kept while a payment is waited for, some 60 bytes a transfer.

use foldhash::HashMap;
use x811_protocol::event::{Event, Looked, Refuted, RefutedCause, SettlementEvent};
use x811_protocol::evm::TxHash;
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::State;
use x811_protocol::observation::{Block, Transfer};
use x811_protocol::settlement::claim::{Candidate, choose};
use x811_protocol::settlement::{Declared, DeclaredStanding};

use crate::finding::findings::Findings;
use crate::finding::remarks::Remarks;
use crate::money::evidence::head_of;
use crate::money::grounds::{Grounds, are_all_quoted};
use crate::money::looks::{is_decided, waits_undecided};
use crate::replay::decided::Decided;
use x811_protocol::stream::{Stream, Subject};
use x811_world::World;

/// What was seen of the payments that are waited for.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeenTransfers(HashMap<InteractionId, Vec<Shown>>);

#[derive(Debug, Clone)]
struct Shown {
    tx_hash: TxHash,
    block: Block,
    transfers: Vec<Transfer>,
}

/// What follows from the others.
enum Others {
    /// They are not known well enough.
    Unknown,
    /// Short was not definite.
    NotDefinite,
    /// What all of them together can pay with.
    Deep {
        /// Without transactions that were refuted before: a reorganisation may have moved those
        /// since, without a record.
        sure: Vec<Candidate>,
        all: Vec<Candidate>,
    },
}

impl SeenTransfers {
    /// Takes a record of `stream` that was replayed to `world`.
    pub(crate) fn take(&mut self, world: &World, stream: Option<&Stream>, event: &Event) {
        let Some(Stream::Of(Subject::Interaction(id))) = stream else {
            return;
        };
        let live = world.interaction(*id);
        if live.is_none_or(|live| live.state.settlement().is_none()) {
            self.0.remove(id);
        } else if let Event::Settlement(SettlementEvent::Seen(seen)) = event {
            let shown = self.0.entry(*id).or_default();
            shown.retain(|known| known.tx_hash != seen.tx_hash);
            shown.push(Shown {
                tx_hash: seen.tx_hash,
                block: seen.block,
                transfers: seen.transfers.clone(),
            });
        }
    }

    /// Checks a refutation as too short, and a look that finds what is deep enough still waiting.
    pub(crate) fn check(
        &self,
        decided: &Decided<'_>,
        findings: &mut Findings,
        remarks: &mut Remarks,
    ) {
        let Stream::Of(Subject::Interaction(id)) = decided.stream else {
            return;
        };
        let Some(live) = decided.before.interaction(*id) else {
            return;
        };
        let (State::Verified { deal, .. }, Some(settlement)) =
            (&live.state, live.state.settlement())
        else {
            return;
        };
        let Some(network) = deal.opening.parameters.network(&settlement.network) else {
            return;
        };
        let grounds = Grounds {
            decided,
            deal,
            bill: deal.bill(network),
            declared: &settlement.declared,
        };
        if let Event::Settlement(SettlementEvent::Looked(looked)) = decided.event {
            self.waits_deep(*id, &grounds, looked, findings, remarks);
        } else if let Event::Settlement(SettlementEvent::Refuted(refuted)) = decided.event
            && refuted.cause == RefutedCause::Short
        {
            self.refuted_short(*id, &grounds, refuted, findings, remarks);
        }
    }

    /// Deep enough and enough would have been confirmed, unless the total waits for level *safe*, or it
    /// came in more transfers than a record can name.
    fn waits_deep(
        &self,
        id: InteractionId,
        grounds: &Grounds<'_>,
        looked: &Looked,
        findings: &mut Findings,
        remarks: &mut Remarks,
    ) {
        let may_be_too_many = grounds.declared.iter().any(|declared| {
            let DeclaredStanding::Seen(block) = declared.standing else {
                return false;
            };
            let shown = self.of(id, declared.tx_hash, block);
            shown.is_some_and(|shown| !are_all_quoted(shown, grounds.declared.len()))
        });
        if may_be_too_many || grounds.bill.waits_for_safe() {
            return;
        }
        let each = looked.finding.iter().zip(grounds.declared);
        for (index, (found, declared)) in each.enumerate() {
            if waits_undecided(grounds, found, declared) {
                let sentence = format!(
                    "finding[{index}]: {} was deep enough and decided on by nobody: too few \
                     endpoints showed it, or its age was not known, by the ledger's word",
                    declared.tx_hash
                );
                remarks.add(grounds.decided.spot.position, sentence);
            } else if is_decided(grounds, found, declared) {
                let sentence = "it is deep enough: it pays, or it is too little";
                let field = format!("finding[{index}]");
                grounds.decided.differs(&field, sentence, findings);
            }
        }
    }

    fn refuted_short(
        &self,
        id: InteractionId,
        grounds: &Grounds<'_>,
        refuted: &Refuted,
        findings: &mut Findings,
        remarks: &mut Remarks,
    ) {
        let decided = grounds.decided;
        let due = grounds.bill.due;
        match self.others(id, grounds, refuted) {
            Others::NotDefinite => {
                let sentence = "another declared transaction was not deep, and may add to it yet";
                decided.differs("cause", sentence, findings);
            }
            Others::Deep { sure, .. } if choose(&due, &sure).is_some() => {
                let sentence = "what was seen of all declared transactions is enough";
                decided.differs("cause", sentence, findings);
            }
            Others::Deep { all, .. } if choose(&due, &all).is_some() => {
                let sentence = "refuted as too short, though what was seen of all declared \
                                transactions is enough: one that was refuted before was reorganised \
                                since, or it is not true";
                remarks.add(decided.spot.position, sentence);
            }
            Others::Unknown | Others::Deep { .. } => {}
        }
    }

    fn others(&self, id: InteractionId, grounds: &Grounds<'_>, refuted: &Refuted) -> Others {
        let head = head_of(&refuted.evidence);
        let (mut sure, mut all) = (Vec::new(), Vec::new());
        for declared in grounds.declared {
            let (block, transfers) = if declared.tx_hash == refuted.tx_hash {
                (refuted.evidence.block, Some(&refuted.evidence.transfers))
            } else {
                match declared.standing {
                    DeclaredStanding::Unseen | DeclaredStanding::Gone(_) => {
                        return Others::NotDefinite;
                    }
                    DeclaredStanding::Seen(block) | DeclaredStanding::Refuted(block) => {
                        (block, self.of(id, declared.tx_hash, block))
                    }
                }
            };
            let is_refuted = matches!(declared.standing, DeclaredStanding::Refuted(_));
            let depth = head.saturating_add(1).saturating_sub(block.number);
            if depth < grounds.bill.network.confirmed_depth && !is_refuted {
                return Others::NotDefinite;
            }
            let Some(transfers) = transfers else {
                return Others::Unknown;
            };
            if !are_all_quoted(transfers, grounds.declared.len()) {
                return Others::Unknown;
            }
            if grounds.bill.is_older(&block) {
                // A reorganisation may have taken the head that it is below.
                return Others::Unknown;
            }
            let unclaimed = unclaimed(grounds, declared, transfers);
            if !is_refuted {
                sure.extend(&unclaimed);
            }
            all.extend(unclaimed);
        }
        // Of an extract, others may have claimed them.
        if grounds.decided.is_extract {
            return Others::Unknown;
        }
        Others::Deep { sure, all }
    }

    fn of(&self, id: InteractionId, tx_hash: TxHash, block: Block) -> Option<&Vec<Transfer>> {
        let mut shown = self.0.get(&id)?.iter();
        let shown = shown.find(|shown| (shown.tx_hash, shown.block) == (tx_hash, block))?;
        Some(&shown.transfers)
    }
}

fn unclaimed(grounds: &Grounds<'_>, declared: &Declared, transfers: &[Transfer]) -> Vec<Candidate> {
    let candidates = transfers.iter().map(|transfer| Candidate {
        tx_hash: declared.tx_hash,
        ordinal: transfer.ordinal,
        to: transfer.to,
        amount: transfer.amount,
    });
    let is_free = |candidate: &Candidate| {
        let claim = grounds.claim(candidate);
        grounds.decided.used.claimed(&claim).is_none()
    };
    candidates.filter(is_free).collect()
}
