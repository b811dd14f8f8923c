//! Every interaction by itself, and every transaction that was claimed for one, from the audit's own
//! replay: for people who hold a log against their books.
//!
//! What stands behind the last checkpoint that holds is nobody's word (ledger-contract.md section 9), and
//! is not listed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_with::skip_serializing_none;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::event::{Claim, Event, Evidence, Level, SettlementEvent};
use x811_protocol::evm::TxHash;
use x811_protocol::facts::{DisputeCode, Facts};
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::{State, StateName};
use x811_protocol::money::MicroUsdc;
use x811_protocol::settlement_view::ProviderPaid;
use x811_protocol::time::TimestampMs;

use crate::finding::verdict::as_text;
use crate::money::payments::Payment;
use crate::record::numbered::{Keyed, Number, Numbered};
use crate::replay::rows::{Expected, Rows};

/// Which interactions are listed, by the time of the record of their REQUEST.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Period {
    /// Those opened at this moment or later.
    #[serde(rename = "opened_from_ms", skip_serializing_if = "Option::is_none")]
    pub from: Option<TimestampMs>,
    /// Those opened before this moment.
    #[serde(rename = "opened_before_ms", skip_serializing_if = "Option::is_none")]
    pub before: Option<TimestampMs>,
}

impl Period {
    /// Whether it is all time.
    #[must_use]
    pub fn is_all(self) -> bool {
        self == Period::default()
    }

    fn has(self, at: TimestampMs) -> bool {
        self.from.is_none_or(|from| from <= at) && self.before.is_none_or(|before| at < before)
    }
}

/// The interactions of a log, and what they add up to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// Which are listed.
    #[serde(flatten)]
    pub period: Period,
    /// In order of their REQUESTs.
    pub interactions: Vec<ListedInteraction>,
    /// The transactions that were claimed for them, in order of the records that say so.
    pub payments: Vec<Payment>,
    /// What the interactions of each provider add up to.
    pub providers: BTreeMap<Did, Totals>,
    /// What all of them add up to.
    pub total: Totals,
    /// Interactions that are not listed, because no record of theirs could be replayed.
    pub unknown: u64,
}

/// One interaction, as its last record that could be replayed leaves it. Amounts are in micro-USDC, as
/// decimal text.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedInteraction {
    /// The interaction that the transfer counts for.
    pub interaction: InteractionId,
    /// Who asked, and pays.
    pub initiator: Did,
    /// Who worked, and is paid.
    pub provider: Did,
    /// Where it is.
    pub state: StateName,
    /// Whether all its records could be replayed. Otherwise the rest is as of where that ended, and
    /// is in no sum.
    pub is_replayed: bool,
    /// Whether the provider has its money.
    pub paid: ProviderPaid,
    /// Why it ended, where a code says it: for a dispute that of its last cause.
    pub code: Option<Code>,
    /// What the initiator did not like of the result.
    pub dispute_code: Option<DisputeCode>,
    /// When its REQUEST was recorded, in ms since the Unix epoch.
    pub opened_at_ms: TimestampMs,
    /// When its last record was, in ms since the Unix epoch.
    pub updated_at_ms: TimestampMs,
    /// Place of the REQUEST.
    pub request_position: u64,
    /// Place of its last record.
    pub last_position: u64,
    /// `total_cost` of the OFFER; absent before there is one.
    pub due_micro_usdc: Option<MicroUsdc>,
    /// What was claimed for it and is on the network, late transfers included.
    #[serde(serialize_with = "as_text")]
    pub paid_micro_usdc: u128,
    /// Of it what came after it had ended.
    #[serde(serialize_with = "as_text")]
    pub late_micro_usdc: u128,
    /// What was claimed for it and a reorganisation took back; not in `paid_micro_usdc`.
    #[serde(serialize_with = "as_text")]
    pub reversed_micro_usdc: u128,
    /// Where it is paid; absent before a PAYMENT.
    pub network: Option<Arc<str>>,
}

/// What interactions add up to, as `x811 provider paid` adds them up: what is not due yet, or any more,
/// is left out of what is due. Amounts are in micro-USDC, as decimal text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// How many there are.
    pub interactions: u64,
    /// Those that are paid.
    pub paid: u64,
    /// Those that may still be.
    pub not_yet: u64,
    /// Those that are not, and will not be.
    pub no: u64,
    /// Those that could not be replayed to their end: in no other number here.
    pub not_replayed: u64,
    /// What is due.
    #[serde(serialize_with = "as_text")]
    pub due_micro_usdc: u128,
    /// What has come and is there.
    #[serde(serialize_with = "as_text")]
    pub paid_micro_usdc: u128,
    /// Of it what came after an interaction had ended.
    #[serde(serialize_with = "as_text")]
    pub late_micro_usdc: u128,
    /// What had come, and a reorganisation took back.
    #[serde(serialize_with = "as_text")]
    pub reversed_micro_usdc: u128,
}

impl Totals {
    fn add(&mut self, one: &ListedInteraction) {
        self.interactions += 1;
        if !one.is_replayed {
            self.not_replayed += 1;
            return;
        }
        let count = match one.paid {
            ProviderPaid::Yes => &mut self.paid,
            ProviderPaid::NotYet => &mut self.not_yet,
            ProviderPaid::No => &mut self.no,
        };
        *count += 1;
        let due = one.due_micro_usdc.filter(|_| is_due(one.state));
        self.due_micro_usdc += due.map_or(0, |due| u128::from(due.as_micro_usdc()));
        self.paid_micro_usdc += one.paid_micro_usdc;
        self.late_micro_usdc += one.late_micro_usdc;
        self.reversed_micro_usdc += one.reversed_micro_usdc;
    }
}

/// Whether the total is due: agreed, verified, and not given up.
fn is_due(state: StateName) -> bool {
    match state {
        StateName::Verified | StateName::Completed | StateName::Disputed => true,
        StateName::Pending
        | StateName::Offered
        | StateName::Accepted
        | StateName::Delivered
        | StateName::Expired
        | StateName::Rejected
        | StateName::Failed => false,
    }
}

/// What rows do not keep, so far: 32 bytes for each interaction, and some seventy for each
/// transaction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listed {
    period: Period,
    /// By the number of the interaction.
    accounts: Vec<Account>,
    claimed: Vec<Claimed>,
    networks: Numbered<Name>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Account {
    network: Option<Number>,
    /// The last of its transactions, counted from 1.
    last: u32,
    dispute_code: Option<DisputeCode>,
    /// From the OFFER: a row forgets it when the interaction ends unpaid.
    due: Option<MicroUsdc>,
}

#[derive(Debug, Clone)]
struct Claimed {
    interaction: Number,
    /// The one before it of the same interaction, counted from 1; 0 where it is the first.
    before: u32,
    network: Number,
    level: Level,
    is_late: bool,
    is_reversed: bool,
    position: u64,
    amount: MicroUsdc,
    tx_hash: TxHash,
}

/// Name of a network.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Name(Arc<str>);

impl Keyed for Name {
    type Key = Name;

    fn key(&self) -> &Name {
        self
    }
}

/// What was claimed for one interaction.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    paid: u128,
    late: u128,
    reversed: u128,
    /// Some transaction was claimed, whatever became of it.
    has_claims: bool,
    has_reversed: bool,
}

impl Listed {
    pub(crate) fn of(period: Period) -> Listed {
        Listed {
            period,
            ..Listed::default()
        }
    }

    /// Takes a record of that interaction that was replayed, with the state that it led to.
    pub(crate) fn take(
        &mut self,
        interaction: Number,
        position: u64,
        event: &Event,
        after: Option<&State>,
    ) {
        let index = interaction.index();
        if self.accounts.len() <= index {
            self.accounts.resize(index + 1, Account::default());
        }
        if let Event::EnvelopeAccepted(accepted) = event {
            if let Facts::Payment(payment) = &accepted.facts {
                let network = self.network(&payment.network);
                self.accounts[index].network.get_or_insert(network);
            } else if let Facts::Verify(verify) = &accepted.facts {
                self.accounts[index].dispute_code = verify.dispute_code;
            } else if let Facts::Offer(offer) = &accepted.facts {
                self.accounts[index].due = Some(offer.total_cost);
            }
        } else if let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = event {
            let (evidence, claims) = (&confirmed.evidence, &confirmed.claims);
            self.claim(interaction, position, evidence, claims, false);
        } else if let Event::Settlement(SettlementEvent::Late(late)) = event {
            self.claim(interaction, position, &late.evidence, &late.claims, true);
        } else if let Event::Settlement(SettlementEvent::Final(_)) = event {
            let is_paid_final = after
                .and_then(State::completion)
                .is_some_and(|it| it.is_final);
            let is_late_final = after.is_some_and(State::is_late_final);
            for index in self.of_interaction(interaction) {
                let claimed = &mut self.claimed[index];
                let is_final = if claimed.is_late {
                    is_late_final
                } else {
                    is_paid_final
                };
                if is_final {
                    claimed.level = Level::Final;
                }
            }
        } else if let Event::Settlement(SettlementEvent::Reversed(gone)) = event {
            self.turn(interaction, gone.tx_hash, true);
        } else if let Event::Settlement(SettlementEvent::Returned(back)) = event {
            self.turn(interaction, back.tx_hash, false);
        }
    }

    fn network(&mut self, name: &str) -> Number {
        self.networks.enter(Name(name.into())).number
    }

    fn claim(
        &mut self,
        interaction: Number,
        position: u64,
        evidence: &[Evidence],
        claims: &[Claim],
        is_late: bool,
    ) {
        for evidence in evidence {
            let claimed = Claimed {
                interaction,
                before: self.accounts[interaction.index()].last,
                network: self.network(&evidence.network),
                level: evidence.level,
                is_late,
                is_reversed: false,
                position,
                amount: claimed_of(evidence, claims),
                tx_hash: evidence.tx_hash,
            };
            self.claimed.push(claimed);
            // Whoever has 2^32 of them has no memory for the rest of the log either.
            let count = u32::try_from(self.claimed.len()).unwrap_or(u32::MAX);
            self.accounts[interaction.index()].last = count;
        }
    }

    fn turn(&mut self, interaction: Number, tx_hash: TxHash, is_reversed: bool) {
        for index in self.of_interaction(interaction) {
            let claimed = &mut self.claimed[index];
            if claimed.tx_hash == tx_hash {
                claimed.is_reversed = is_reversed;
            }
        }
    }

    /// Its transactions, the last one first.
    fn of_interaction(&self, interaction: Number) -> Vec<usize> {
        let account = self.accounts.get(interaction.index());
        let mut last = account.map_or(0, |account| account.last);
        let mut found = Vec::new();
        while let Some(claimed) = last
            .checked_sub(1)
            .and_then(|index| self.claimed.get(index as usize))
        {
            found.push(last as usize - 1);
            last = claimed.before;
        }
        found
    }

    /// Which interactions are listed.
    pub(crate) fn period(&self) -> Period {
        self.period
    }

    /// Everything, once all is folded: `is_known` says whether all records of an interaction could be
    /// replayed.
    pub(crate) fn finish(self, rows: &Rows, is_known: impl Fn(InteractionId) -> bool) -> Listing {
        let mut listing = Listing {
            period: self.period,
            interactions: Vec::new(),
            payments: Vec::new(),
            providers: BTreeMap::new(),
            total: Totals::default(),
            unknown: 0,
        };
        let mut ids: Vec<Option<InteractionId>> = vec![None; self.accounts.len()];
        for (number, subject) in rows.subjects() {
            let Some(id) = subject.interaction() else {
                continue;
            };
            let row = rows.expected(number);
            let Some(one) = row.and_then(|row| self.interaction(number, id, &row, is_known(id)))
            else {
                listing.unknown += 1;
                continue;
            };
            if !self.period.has(one.opened_at_ms) {
                continue;
            }
            if let Some(listed) = ids.get_mut(number.index()) {
                *listed = Some(id);
            }
            listing.total.add(&one);
            let provider = listing.providers.entry(one.provider).or_default();
            provider.add(&one);
            listing.interactions.push(one);
        }
        let in_order = |one: &ListedInteraction| one.request_position;
        listing.interactions.sort_by_key(in_order);
        listing.payments = self.payments(&ids);
        listing
    }

    fn sums(&self, interaction: Number) -> Sums {
        let mut sums = Sums::default();
        for index in self.of_interaction(interaction) {
            let claimed = &self.claimed[index];
            let amount = u128::from(claimed.amount.as_micro_usdc());
            sums.has_claims = true;
            if claimed.is_reversed {
                sums.has_reversed = true;
                sums.reversed += amount;
                continue;
            }
            sums.paid += amount;
            if claimed.is_late {
                sums.late += amount;
            }
        }
        sums
    }

    fn interaction(
        &self,
        number: Number,
        id: InteractionId,
        row: &Expected,
        is_replayed: bool,
    ) -> Option<ListedInteraction> {
        let (kept, sums) = (&row.row, self.sums(number));
        let standing = row.standing?;
        let [initiator, provider] = kept.members[..] else {
            return None;
        };
        let account = self.accounts.get(number.index()).copied();
        let account = account.unwrap_or_default();
        Some(ListedInteraction {
            interaction: id,
            initiator,
            provider,
            state: standing.state,
            is_replayed,
            paid: sums.paid_of(standing.state, account.due),
            code: standing.code,
            dispute_code: account.dispute_code,
            opened_at_ms: kept.opened_at_ms,
            updated_at_ms: kept.updated_at_ms,
            request_position: row.opened_position,
            last_position: kept.last_position,
            due_micro_usdc: account.due,
            paid_micro_usdc: sums.paid,
            late_micro_usdc: sums.late,
            reversed_micro_usdc: sums.reversed,
            network: account.network.map(|network| self.name(network)),
        })
    }

    fn payments(&self, ids: &[Option<InteractionId>]) -> Vec<Payment> {
        let of_listed = self.claimed.iter().filter_map(|claimed| {
            let interaction = ids.get(claimed.interaction.index()).copied().flatten()?;
            Some(Payment {
                position: claimed.position,
                interaction,
                network: self.name(claimed.network),
                tx_hash: claimed.tx_hash,
                amount_micro_usdc: u128::from(claimed.amount.as_micro_usdc()),
                level: claimed.level,
                is_late: claimed.is_late,
                is_reversed: claimed.is_reversed,
            })
        });
        of_listed.collect()
    }

    fn name(&self, network: Number) -> Arc<str> {
        self.networks[network].0.clone()
    }
}

impl Sums {
    /// Whether the provider has its money, as its settlement view says of the same records.
    fn paid_of(self, state: StateName, due: Option<MicroUsdc>) -> ProviderPaid {
        let is_covered = due.is_some_and(|due| self.paid >= u128::from(due.as_micro_usdc()));
        if self.has_reversed && !is_covered {
            return ProviderPaid::No;
        }
        match state {
            StateName::Completed => ProviderPaid::Yes,
            StateName::Pending
            | StateName::Offered
            | StateName::Accepted
            | StateName::Delivered
            | StateName::Verified => ProviderPaid::NotYet,
            StateName::Disputed if self.has_claims && is_covered => ProviderPaid::Yes,
            StateName::Disputed | StateName::Expired | StateName::Rejected | StateName::Failed => {
                ProviderPaid::No
            }
        }
    }
}

/// What the claims take of the transaction that the evidence shows.
fn claimed_of(evidence: &Evidence, claims: &[Claim]) -> MicroUsdc {
    let of_it = claims
        .iter()
        .filter(|claim| claim.tx_hash == evidence.tx_hash);
    let claimed = of_it.filter_map(|claim| {
        let mut transfers = evidence.transfers.iter();
        transfers.find(|transfer| transfer.ordinal == claim.ordinal)
    });
    claimed.fold(MicroUsdc::ZERO, |sum, transfer| {
        sum.checked_add(transfer.amount).unwrap_or(MicroUsdc::MAX)
    })
}
