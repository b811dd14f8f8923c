//! What the log says in the end, against a fresh scan of the chain.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use x811_eventlog::Record;
use x811_protocol::event::{Claim, Event, Evidence, FindingStatus, LedgerEvent, SettlementEvent};
use x811_protocol::evm::{BlockHash, TxHash};
use x811_protocol::facts::Facts;
use x811_protocol::id::InteractionId;
use x811_protocol::observation::Transfer;
use x811_protocol::time::TimestampMs;
use x811_watcher::Receipt;

use super::bundles;
use super::chain::Chain;
use super::deal::TOTAL_MICRO_USDC;
use super::story::Story;

/// How often what was booked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) confirmed: usize,
    pub(crate) reversed: usize,
    pub(crate) returned: usize,
    pub(crate) late: usize,
    pub(crate) refuted: usize,
}

/// What the log says of the payments, and what is wrong about it.
#[derive(Debug, Default)]
struct Booked {
    /// Every claim, whose it is and what was seen.
    claims: BTreeMap<Claim, (InteractionId, Transfer)>,
    /// The claims that interactions were completed by, and whether they stand.
    paid: BTreeMap<Claim, bool>,
    refuted: BTreeSet<(InteractionId, TxHash)>,
    /// When each interaction was agreed on, and below which head if one was known.
    agreed: BTreeMap<InteractionId, (TimestampMs, Option<BlockHash>)>,
    reversals: BTreeMap<(InteractionId, TxHash), usize>,
    tally: Tally,
    wrong: Vec<String>,
}

impl Booked {
    fn take(&mut self, id: InteractionId, at: TimestampMs, event: &Event) {
        match event {
            Event::EnvelopeAccepted(accepted) => {
                if let Facts::Accept(_) = accepted.facts {
                    let mut heads = accepted.derived.heads.iter().flatten();
                    let head = heads.next().map(|head| head.hash);
                    self.agreed.insert(id, (at, head));
                }
            }
            Event::Settlement(SettlementEvent::Confirmed(confirmed)) => {
                self.tally.confirmed += 1;
                self.claim(id, &confirmed.claims, &confirmed.evidence);
                let claims = confirmed.claims.iter();
                self.paid.extend(claims.map(|claim| (*claim, true)));
            }
            Event::Settlement(SettlementEvent::Late(late)) => {
                self.tally.late += 1;
                self.claim(id, &late.claims, &late.evidence);
                self.paid
                    .extend(late.claims.iter().map(|claim| (*claim, true)));
            }
            Event::Settlement(SettlementEvent::Refuted(refuted)) => {
                self.tally.refuted += 1;
                if !self.refuted.insert((id, refuted.tx_hash)) {
                    self.wrong("is refuted twice", refuted.tx_hash);
                }
            }
            Event::Settlement(SettlementEvent::Reversed(reversed)) => {
                self.tally.reversed += 1;
                let times = self.reversals.entry((id, reversed.tx_hash)).or_default();
                *times += 1;
                self.turn(id, reversed.tx_hash, false);
            }
            Event::Settlement(SettlementEvent::Returned(returned)) => {
                self.tally.returned += 1;
                self.turn(id, returned.tx_hash, true);
            }
            _ => {}
        }
    }

    fn claim(&mut self, id: InteractionId, claims: &[Claim], evidence: &[Evidence]) {
        for claim in claims {
            let evidence = evidence.iter().filter(|e| e.tx_hash == claim.tx_hash);
            let mut shown = evidence.flat_map(|evidence| &evidence.transfers);
            match shown.find(|transfer| transfer.ordinal == claim.ordinal) {
                Some(transfer) if self.claims.contains_key(claim) => {
                    let what = format!("transfer {} is claimed twice", transfer.ordinal);
                    self.wrong(&what, claim.tx_hash);
                }
                Some(transfer) => drop(self.claims.insert(*claim, (id, *transfer))),
                None => self.wrong("is claimed without evidence", claim.tx_hash),
            }
        }
    }

    /// A transaction that paid does not stand any more, or stands again.
    fn turn(&mut self, id: InteractionId, tx_hash: TxHash, stands: bool) {
        let (claims, mut turned) = (&self.claims, 0);
        for (claim, stood) in &mut self.paid {
            let is_its = claim.tx_hash == tx_hash && claims.get(claim).is_some_and(|c| c.0 == id);
            if is_its && *stood != stands {
                *stood = stands;
                turned += 1;
            }
        }
        if turned == 0 {
            self.wrong(
                "is reversed or returned, and was already or never paid",
                tx_hash,
            );
        }
    }

    fn wrong(&mut self, what: &str, tx_hash: TxHash) {
        self.wrong.push(format!("{} {what}", short(tx_hash)));
    }

    /// Whatever was decided on was true of its block, as all endpoints said. What a look did not find
    /// was not there.
    fn check_evidence(&mut self, event: &Event, chain: &Chain) {
        if let Event::Settlement(SettlementEvent::Looked(looked)) = event {
            for found in &looked.finding {
                let is_negative = found.status == FindingStatus::NotFound;
                if is_negative && chain.was_in_branch(found.tx_hash, looked.head.hash) {
                    self.wrong("was there when a look did not find it", found.tx_hash);
                }
            }
        }
        let evidence: &[Evidence] = match event {
            Event::Settlement(SettlementEvent::Confirmed(confirmed)) => &confirmed.evidence,
            Event::Settlement(SettlementEvent::Late(late)) => &late.evidence,
            Event::Settlement(SettlementEvent::Refuted(refuted)) => {
                std::slice::from_ref(&refuted.evidence)
            }
            _ => return,
        };
        for said in evidence {
            let truth = chain.truth.get(&(said.block.hash, said.tx_hash));
            if truth.is_none_or(|truth| truth.transfers != said.transfers) {
                self.wrong("was never so", said.tx_hash);
            }
            if said.endpoints.len() != chain.asked {
                self.wrong("was decided on by fewer endpoints", said.tx_hash);
            }
        }
    }

    /// What paid and stands is there, and what was reversed is not.
    fn check_paid(&mut self, scan: &BTreeMap<TxHash, Receipt>) {
        for (claim, stands) in self.paid.clone() {
            let (_, transfer) = self.claims[&claim];
            let mined = scan.get(&claim.tx_hash);
            let is_there = mined.is_some_and(|mined| mined.transfers.contains(&transfer));
            match (stands, is_there) {
                (true, false) => self.wrong("pays, and is not on the chain", claim.tx_hash),
                (false, true) => self.wrong("is reversed, and is on the chain", claim.tx_hash),
                (true, true) | (false, false) => {}
            }
        }
    }

    /// Whoever declared a transaction has something of it while there is a whole payment in it that
    /// nobody claimed. Unless it was found before that it is none, or it is older than what it is
    /// to pay.
    fn check_nothing_is_left(&mut self, story: &Story, scan: &BTreeMap<TxHash, Receipt>) {
        let declared = story.declared.iter();
        let declared = declared.flat_map(|(id, all)| all.iter().map(move |tx| (*id, *tx)));
        for (id, tx_hash) in declared {
            let Some(mined) = scan.get(&tx_hash) else {
                continue;
            };
            let has_some = self
                .claims
                .iter()
                .any(|(claim, (owner, _))| claim.tx_hash == tx_hash && *owner == id);
            let is_left = mined.transfers.iter().any(|transfer| {
                let mut claims = self.claims.keys();
                transfer.amount.as_micro_usdc() >= TOTAL_MICRO_USDC
                    && !claims.any(|c| c.tx_hash == tx_hash && c.ordinal == transfer.ordinal)
            });
            let is_older = match self.agreed[&id] {
                // The branch decides and not the number: what was mined anew is above the fork.
                (_, Some(head)) => mined.block_number <= story.chain.fork_of(head),
                (at, None) => story.chain.mined_at(mined) < at.saturating_sub_ms(2_000),
            };
            if is_left && !has_some && !is_older && !self.refuted.contains(&(id, tx_hash)) {
                self.wrong(&format!("is nobody's, although {id} declared it"), tx_hash);
            }
        }
    }
}

impl Story {
    /// The claims that hold are what the chain says, none is made twice, what was taken back is
    /// written there, and nothing is left undecided.
    pub(crate) async fn compare_with_a_fresh_scan(&self) -> Tally {
        let events = self.ledgerbox.events().await;
        let mut booked = Booked::default();
        for (record, event) in &events {
            if let Some(id) = record.stream().strip_prefix("interaction:") {
                booked.check_evidence(event, &self.chain);
                let at = TimestampMs::new(record.recorded_at_ms());
                booked.take(id.parse().unwrap(), at, event);
            }
        }
        let scan = self.chain.scan();
        booked.check_paid(&scan);
        booked.check_nothing_is_left(self, &scan);
        for ((_, tx_hash), times) in booked.reversals.clone() {
            if self.chain.taken_out.get(&tx_hash).copied().unwrap_or(0) < times {
                booked.wrong("is reversed more often than taken out", tx_hash);
            }
        }
        let open = self.ledgerbox.ledger().world().sizes().interactions;
        if open > 0 {
            booked.wrong.push(format!("{open} are never decided"));
        }
        if !booked.wrong.is_empty() {
            let wrong = booked.wrong.join("\n");
            panic!("{wrong}\nthe log:\n{}", self.transcript(&events));
        }
        self.ledgerbox.assert_log_adds_up().await;
        bundles::all_clean(&self.ledgerbox).await;
        booked.tally
    }

    /// What the log says of interactions from their PAYMENTs on, and of the network, a line each.
    fn transcript(&self, events: &[(Record, Event)]) -> String {
        let mut lines = String::new();
        let began_ms = events
            .first()
            .map_or(0, |(first, _)| first.recorded_at_ms());
        for (record, event) in events {
            let what = match event {
                Event::Settlement(SettlementEvent::Seen(seen)) => {
                    format!("seen {} in {}", short(seen.tx_hash), seen.block.number)
                }
                Event::Settlement(SettlementEvent::Unseen(unseen)) => {
                    format!("unseen {}", short(unseen.tx_hash))
                }
                Event::Settlement(SettlementEvent::Refuted(refuted)) => {
                    format!("refuted {} {:?}", short(refuted.tx_hash), refuted.cause)
                }
                Event::Settlement(SettlementEvent::Confirmed(confirmed)) => {
                    format!("confirmed {}", claimed(&confirmed.claims))
                }
                Event::Settlement(SettlementEvent::Late(late)) => {
                    format!("late {}", claimed(&late.claims))
                }
                Event::Settlement(SettlementEvent::Reversed(reversed)) => {
                    format!("reversed {}", short(reversed.tx_hash))
                }
                Event::Settlement(SettlementEvent::Returned(returned)) => {
                    format!("returned {}", short(returned.tx_hash))
                }
                Event::Settlement(SettlementEvent::Looked(looked)) => {
                    format!("looked {}", looked.look)
                }
                Event::EnvelopeAccepted(accepted) => match &accepted.facts {
                    Facts::Payment(payment) => format!("declared {}", short(payment.tx_hash)),
                    _ => continue,
                },
                Event::Lapsed(_)
                | Event::Settlement(SettlementEvent::Final(_))
                | Event::Network(_)
                | Event::Ledger(LedgerEvent::Resumed(_)) => event.type_name().to_owned(),
                _ => continue,
            };
            let mut deals = self.deals.iter();
            let whose = deals.position(|deal| {
                let id = record.stream().strip_prefix("interaction:");
                id.is_some_and(|id| id == deal.id().to_string())
            });
            let whose = whose.map_or_else(String::new, |deal| format!("deal {deal} "));
            let ms = record.recorded_at_ms() - began_ms;
            let (s, tenth) = (ms / 1_000, ms % 1_000 / 100);
            writeln!(lines, "  {s:>5}.{tenth} s  {whose}{what}").unwrap();
        }
        lines
    }
}

/// The number of a transaction.
fn short(tx_hash: TxHash) -> String {
    let bytes = tx_hash.as_bytes();
    format!("tx {}", u16::from_be_bytes([bytes[0], bytes[1]]))
}

fn claimed(claims: &[Claim]) -> String {
    let each = claims.iter();
    let each = each.map(|claim| format!("{} transfer {}", short(claim.tx_hash), claim.ordinal));
    each.collect::<Vec<_>>().join(", ")
}
