//! Heads and blocks in time: what a record says of the network must have been there when it was
//! recorded (ledger-contract.md section 5).
//!
//! - A block is not from later than the record that names it, but for [`BLOCK_AHEAD_MS`]: a ledger takes
//!   no such block in. Nor is one that is refuted as older than an ACCEPT from later than that.
//! - A fresh head ends blindness before anything else is concluded from it, so that a blind network
//!   shows no fresh block; it became blind when its head was old, and sees when one is fresh.
//! - Looks that stand on one head stand on the same blocks.
//!
//! What a rule-abiding ledger can bring about as well is a remark: a head that is lower than one
//! before (a reorganisation that moved nothing that was watched leaves no record), a payment that was
//! confirmed while its network was blind, a depth that there was less than a second a block for, and
//! an ACCEPT's head that is older than what is refuted as
//! older than it. On a chain of one's own (Anvil's id, or 1337) whoever runs it sets the time: there
//! blocks from later are a remark too.

use std::collections::{BTreeMap, BTreeSet};

use x811_protocol::event::{
    EnvelopeAccepted, Event, FindingStatus, LedgerEvent, Looked, NetworkEvent, RefutedCause,
    SettlementEvent,
};
use x811_protocol::evm::{BlockHash, ChainId, EvmAddress};
use x811_protocol::interaction::{Acceptance, State};
use x811_protocol::machine::Machine as _;
use x811_protocol::observation::{BLOCK_AHEAD_MS, BlindCause, Block};
use x811_protocol::settlement::{DeclaredStanding, evidence, named_blocks};
use x811_protocol::time::TimestampMs;

use crate::finding::attested::Attested;
use crate::finding::findings::{Cause, Findings};
use crate::finding::remarks::Remarks;
use crate::money::evidence::head_of;
use crate::network::known_heads::{KnownHeads, age_ms, head_of_sight, network_of};
use crate::replay::decided::Decided;
use x811_protocol::stream::{Stream, Subject};
use x811_world::{HeldMachine as _, World, with_machine};

/// What a network's name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) id: ChainId,
    token: EvmAddress,
}

impl Chain {
    /// By the parameters in force, which say what the watcher looks at.
    pub(crate) fn of(before: &World, network: &str) -> Option<Chain> {
        let (_, parameters) = before.parameters()?;
        let network = parameters.network(network)?;
        Some(Chain {
            id: network.chain_id,
            token: network.token,
        })
    }

    /// What it is kept by.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        [&self.id.as_u64().to_be_bytes()[..], self.token.as_bytes()].concat()
    }
}

/// What was said of heads so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heads {
    /// By chain, the highest since the ledger started or a reorganisation was recorded, and where.
    highest: BTreeMap<ChainId, (u64, u64)>,
    /// By chain, how many reorganisations were recorded; and how often the ledger started.
    reorganised: BTreeMap<ChainId, u64>,
    started: u64,
    /// By chain, the head that the last look stood on.
    looks: BTreeMap<ChainId, LookedFrom>,
    /// Chains of one's own of which it was said that they run ahead.
    ahead: BTreeSet<ChainId>,
    /// What ACCEPTs are held to.
    known: KnownHeads,
}

/// A head and blocks below it, by height.
#[derive(Debug, Clone)]
struct LookedFrom {
    head: BlockHash,
    below: BTreeMap<u64, (BlockHash, u64)>,
}

/// A block that a record names: its member, and the chain.
pub(crate) type Mentioned = (String, Chain, Block);

/// Every block that a record of `stream` names, by member, where the chain is known.
pub(crate) fn mentioned(before: &World, stream: &Stream, event: &Event) -> Vec<Mentioned> {
    match stream {
        Stream::Network(name) => {
            let chain = Chain::of(before, name);
            let head = head_of_sight(event);
            let head = chain.zip(head);
            let named = head.map(|(chain, head)| ("head".to_owned(), chain, head));
            named.into_iter().collect()
        }
        Stream::Of(subject) => {
            let named = with_machine!(*subject, M(id) => M::blocks(M::state(before, id), event));
            let known = named.into_iter().filter_map(|named| {
                let chain = Chain::of(before, named.network)?;
                Some((named.member, chain, named.block))
            });
            known.collect()
        }
        Stream::Ledger | Stream::Agent(_) | Stream::Mail(_) | Stream::Roots => Vec::new(),
    }
}

/// Whether there was time for the blocks above those of the evidence, a second for each: less is a
/// remark, for a chain whose id is Base's may be somebody's own.
fn time_for_depths(decided: &Decided<'_>, blocks: &[Mentioned], remarks: &mut Remarks) {
    for (shown, (_, _, block)) in evidence(decided.event).iter().zip(blocks) {
        let above = shown.depth.saturating_sub(1);
        let head_at_s = block.timestamp_s.saturating_add(above);
        let head_at = TimestampMs::new(head_at_s.saturating_mul(1_000));
        if head_at.since(decided.at) > BLOCK_AHEAD_MS {
            let sentence = format!(
                "{above} blocks are counted above block {}, and there was less than a second for each: \
                 a chain that hurried, or a depth that is not true",
                block.number
            );
            remarks.add(decided.spot.position, sentence);
        }
    }
}

/// Heights of the heads that depths were counted from.
fn reached(event: &Event) -> Vec<u64> {
    evidence(event).iter().map(head_of).collect()
}

/// Holds what `decided` says of the network against when it was recorded.
pub(crate) fn check(decided: &Decided<'_>, findings: &mut Findings) {
    match decided.stream {
        Stream::Network(name) => of_sight(decided, name, findings),
        Stream::Of(_) => match decided.event.accepted() {
            Some(accepted) => in_order_of_names(decided, accepted, findings),
            // Of the draw of a round its machine holds the block to its height and to the vote before it.
            None => not_while_blind(decided, findings),
        },
        Stream::Ledger | Stream::Agent(_) | Stream::Mail(_) | Stream::Roots => {}
    }
}

/// Whether the head is as old, or as fresh, as it has to be.
fn of_sight(decided: &Decided<'_>, name: &str, findings: &mut Findings) {
    let parameters = decided.before.parameters();
    let Some(network) = parameters.and_then(|(_, set)| set.network(name)) else {
        return;
    };
    if let Event::Network(NetworkEvent::Sighted(sighted)) = decided.event
        && age_ms(decided.at, &sighted.head) >= network.fresh_ms
    {
        let sentence = "the head that ended blindness was not fresh";
        decided.differs("head", sentence, findings);
    }
    if let Event::Network(NetworkEvent::Blind(blind)) = decided.event {
        let is_old = |head: &Block| age_ms(decided.at, head) > network.blind_after_ms;
        let fits = match (blind.cause, &blind.head) {
            (BlindCause::StaleHead, None) => false,
            (BlindCause::StaleHead | BlindCause::Unreachable, Some(head)) => is_old(head),
            (BlindCause::Unreachable, None) | (BlindCause::WrongChain, _) => true,
        };
        if !fits {
            let sentence = "the last head was not so old that nothing was seen any more";
            decided.differs("head", sentence, findings);
        }
    }
}

fn in_order_of_names(decided: &Decided<'_>, accepted: &EnvelopeAccepted, findings: &mut Findings) {
    let heads = accepted.derived.heads.as_deref().unwrap_or_default();
    if !heads.windows(2).all(|two| two[0].network < two[1].network) {
        let sentence = "heads are in order of the networks' names, one of each";
        decided.differs("derived.heads", sentence, findings);
    }
}

/// A fresh head would have ended blindness first, and a head is no older than what is below it.
fn not_while_blind(decided: &Decided<'_>, findings: &mut Findings) {
    let Some(fresh_ms) = blind_fresh_ms(decided) else {
        return;
    };
    for (field, block) in named_blocks(decided.event) {
        if age_ms(decided.at, &block) < fresh_ms {
            let sentence = "the network was blind, and a block so young would have ended that";
            decided.differs(&field, sentence, findings);
        }
    }
}

/// How young a head would have ended the blindness of the payment's network; `None` when it is seen.
fn blind_fresh_ms(decided: &Decided<'_>) -> Option<u64> {
    let Stream::Of(Subject::Interaction(id)) = decided.stream else {
        return None;
    };
    let live = decided.before.watching(*id)?;
    let network = live.state.watched()?.network;
    decided.before.sight(network)?.blind_since?;
    let (_, parameters) = decided.before.parameters()?;
    Some(parameters.network(network)?.fresh_ms)
}

impl Heads {
    /// Takes what `decided` says of heads, `blocks` being those it [mentions](mentioned); `remarks` are
    /// of what rules allow.
    pub(crate) fn take(
        &mut self,
        decided: &Decided<'_>,
        blocks: &[Mentioned],
        findings: &mut Findings,
        remarks: &mut Remarks,
    ) {
        self.known.take(decided, findings);
        for (field, chain, block) in blocks {
            self.not_from_later(decided, field, *chain, block, findings, remarks);
        }
        time_for_depths(decided, blocks, remarks);
        if let Event::Ledger(LedgerEvent::Resumed(_)) = decided.event {
            // What a process begins with may lag behind what the one before had.
            self.highest.clear();
            self.started += 1;
        }
        let network = network_of(decided);
        let chain = network.and_then(|network| Chain::of(decided.before, network));
        if let Some(chain) = chain.filter(|_| records_a_reorganisation(decided)) {
            self.highest.remove(&chain.id);
            *self.reorganised.entry(chain.id).or_default() += 1;
        }
        self.follow(decided, blocks, remarks);
        self.finalized(decided, chain, remarks);
        if let Some((chain, number)) = counted_from(decided) {
            self.reach(decided, chain, number, remarks);
        }
        let (Some(network), Some(chain)) = (network, chain) else {
            return;
        };
        for number in reached(decided.event) {
            self.reach(decided, chain, number, remarks);
        }
        if let Event::Settlement(SettlementEvent::Looked(looked)) = decided.event {
            self.looked(decided, chain, looked, findings);
        }
        remark_on(decided, network, remarks);
        older_than_accept(decided, network, chain, findings, remarks);
    }

    /// How often a height of the chain may have got another block, as far as the log tells: a
    /// reorganisation was recorded, or nobody watched.
    pub(crate) fn reorganised(&self, chain: Chain) -> u64 {
        let recorded = self.reorganised.get(&chain.id).copied();
        recorded.unwrap_or_default() + self.started
    }

    fn not_from_later(
        &mut self,
        decided: &Decided<'_>,
        field: &str,
        chain: Chain,
        block: &Block,
        findings: &mut Findings,
        remarks: &mut Remarks,
    ) {
        let block_at = block.time();
        if block_at.since(decided.at) <= BLOCK_AHEAD_MS {
            return;
        }
        if !chain.id.is_own() {
            let sentence = format!(
                "block {} is of {}, and the record of {}: nobody could have seen it then",
                block.number,
                block_at.to_rfc3339(),
                decided.at.to_rfc3339()
            );
            findings.add(decided.spot, field, Cause::Contradicts, sentence);
        } else if self.ahead.insert(chain.id) {
            let sentence = format!(
                "block {} of chain {} is of {}, later than the record: a chain of one's own, whose \
                 time can be set",
                block.number,
                chain.id,
                block_at.to_rfc3339()
            );
            remarks.add(decided.spot.position, sentence);
        }
    }

    /// Takes the heads that the record names as such; a finalized one is below.
    fn follow(&mut self, decided: &Decided<'_>, blocks: &[Mentioned], remarks: &mut Remarks) {
        let names_heads = matches!(
            decided.event,
            Event::EnvelopeAccepted(_)
                | Event::Settlement(SettlementEvent::Looked(_))
                | Event::Network(_)
        );
        for (_, chain, head) in blocks.iter().filter(|_| names_heads) {
            self.reach(decided, *chain, head.number, remarks);
        }
    }

    /// Counts a finalized head that is above every head that was recorded; a bundle has too few of them.
    fn finalized(&self, decided: &Decided<'_>, chain: Option<Chain>, remarks: &mut Remarks) {
        let (Event::Settlement(SettlementEvent::Final(reached)), Some(chain)) =
            (decided.event, chain)
        else {
            return;
        };
        if decided.is_extract {
            return;
        }
        let highest = self.highest.get(&chain.id);
        if highest.is_none_or(|(highest, _)| reached.head.number > *highest) {
            remarks.attest(Attested::FinalHeads, decided.spot.position);
        }
    }

    fn reach(&mut self, decided: &Decided<'_>, chain: Chain, number: u64, remarks: &mut Remarks) {
        let position = decided.spot.position;
        let before = self.highest.insert(chain.id, (number, position));
        if let Some((highest, at)) = before.filter(|(highest, _)| *highest > number) {
            let sentence = format!(
                "chain {} had reached block {highest} by the record at position {at}, and {number} \
                 by this one: it was reorganised without a trace in the log, or a depth is not true",
                chain.id
            );
            remarks.add(position, sentence);
        }
    }

    /// Two looks from one head stand on one block of each height.
    fn looked(
        &mut self,
        decided: &Decided<'_>,
        chain: Chain,
        looked: &Looked,
        findings: &mut Findings,
    ) {
        let Stream::Of(Subject::Interaction(id)) = decided.stream else {
            return;
        };
        let live = decided.before.interaction(*id);
        let Some(settlement) = live.and_then(|live| live.state.settlement()) else {
            return;
        };
        let from = self.looks.entry(chain.id).or_insert_with(|| LookedFrom {
            head: looked.head.hash,
            below: BTreeMap::new(),
        });
        if from.head != looked.head.hash {
            from.head = looked.head.hash;
            from.below.clear();
        }
        let position = decided.spot.position;
        for (index, found) in looked.finding.iter().enumerate() {
            let is_there = matches!(
                found.status,
                FindingStatus::Seen | FindingStatus::Insufficient
            );
            let declared = settlement.declared(found.tx_hash).filter(|_| is_there);
            let Some(DeclaredStanding::Seen(block)) = declared.map(|declared| declared.standing)
            else {
                continue;
            };
            let known = from.below.entry(block.number);
            let (hash, at) = *known.or_insert((block.hash, position));
            if hash != block.hash {
                let sentence = format!(
                    "from the same head, the look at position {at} found another block {}",
                    block.number
                );
                let field = format!("finding[{index}]");
                findings.add(decided.spot, field, Cause::Contradicts, sentence);
            }
        }
    }
}

/// The head that the height of a draw was counted from, where the record is a vote that closes a cycle.
fn counted_from(decided: &Decided<'_>) -> Option<(Chain, u64)> {
    let (Stream::Of(Subject::Round(id)), Event::EnvelopeAccepted(accepted)) =
        (decided.stream, decided.event)
    else {
        return None;
    };
    let seed = accepted.derived.seed.as_ref()?;
    let opening = &decided.before.round(*id)?.state.opening;
    let number = seed.height.checked_sub(opening.rounds.draw_blocks)?;
    Some((Chain::of(decided.before, &seed.network)?, number))
}

/// Whether it says that a transaction is not in its block any more.
fn records_a_reorganisation(decided: &Decided<'_>) -> bool {
    if let Event::Settlement(
        SettlementEvent::Unseen(_) | SettlementEvent::Reversed(_) | SettlementEvent::Returned(_),
    ) = decided.event
    {
        return true;
    }
    let (Event::Settlement(SettlementEvent::Seen(seen)), Stream::Of(Subject::Interaction(id))) =
        (decided.event, decided.stream)
    else {
        return false;
    };
    let live = decided.before.watching(*id);
    let declared = live.and_then(|live| Some(live.state.watched()?.declared));
    let mut declared = declared.into_iter().flatten();
    declared.any(|declared| {
        declared.tx_hash == seen.tx_hash
            && matches!(
                declared.standing,
                DeclaredStanding::Seen(_) | DeclaredStanding::Gone(_)
            )
    })
}

/// What a payment rests on and what the rules allow.
fn remark_on(decided: &Decided<'_>, network: &str, remarks: &mut Remarks) {
    let position = decided.spot.position;
    let pays = matches!(
        decided.event,
        Event::Settlement(SettlementEvent::Confirmed(_) | SettlementEvent::Late(_))
    );
    if pays && !evidence(decided.event).is_empty() && blind_fresh_ms(decided).is_some() {
        let sentence = format!(
            "{network} was blind when this payment was recorded: the head that its depth was \
             counted from was not fresh"
        );
        remarks.add(position, sentence);
    }
}

/// What is refuted as older than the ACCEPT was there when that was recorded.
fn older_than_accept(
    decided: &Decided<'_>,
    network: &str,
    chain: Chain,
    findings: &mut Findings,
    remarks: &mut Remarks,
) {
    let Event::Settlement(SettlementEvent::Refuted(refuted)) = decided.event else {
        return;
    };
    let Some(acceptance) =
        acceptance(decided).filter(|_| refuted.cause == RefutedCause::OlderThanAccept)
    else {
        return;
    };
    let block = &refuted.evidence.block;
    let named = acceptance.heads.iter().find(|head| head.network == network);
    if block.is_ahead(chain.id, acceptance.at) {
        let sentence = format!(
            "refuted as older than the ACCEPT, which was recorded at {}: block {} is of {}",
            acceptance.at.to_rfc3339(),
            block.number,
            block.time().to_rfc3339()
        );
        findings.add(decided.spot, "evidence.block", Cause::Contradicts, sentence);
    } else if let Some(head) = named.filter(|head| block.timestamp_s > head.timestamp_s) {
        let sentence = format!(
            "refuted as older than the ACCEPT, which names block {} as the head; but its block {} is \
             of a later time: that head was reorganised away, or it is not true",
            head.number, block.number
        );
        remarks.add(decided.spot.position, sentence);
    }
}

fn acceptance<'a>(decided: &Decided<'a>) -> Option<&'a Acceptance> {
    let Stream::Of(Subject::Interaction(id)) = decided.stream else {
        return None;
    };
    let State::Verified { deal, .. } = &decided.before.interaction(*id)?.state else {
        return None;
    };
    Some(&deal.acceptance)
}
