//! `--rpc`: asks endpoints that the auditor chose for the transfers that the log rests on.

use std::collections::BTreeMap;

use serde::Serialize;
use x811_ledger::audit::{Finding, Heard, RecordedEvidence, Report, TransferCounts};
use x811_protocol::event::RefutedCause;
use x811_protocol::evm::ChainId;
use x811_protocol::observation::Block;
use x811_watcher::witness::ASKED_TOGETHER;
use x811_watcher::{RpcSource, Shown, Testimony, Witness};

use super::bar::Bar;
use crate::failure::Failure;
use crate::witness;

/// Why a refuted payment is the ledger's word still.
const REFUTED: &str = "the network has what is recorded of a payment that was refuted; whether that \
                       transaction moved anything else that pays was not asked";

/// What endpoints were asked, and what they could not tell.
#[derive(Debug, Default, Serialize)]
pub(super) struct Hearing {
    /// Each chain that was asked.
    pub(super) asked: Vec<Asked>,
    /// Why transactions were not checked, and how many for this reason.
    pub(super) not_checked: BTreeMap<String, u64>,
}

/// A chain that was asked.
#[derive(Debug, Serialize)]
pub(super) struct Asked {
    /// Which.
    pub(super) chain_id: ChainId,
    /// The newest block of the endpoint.
    pub(super) head: Block,
    /// Transactions that it was asked about.
    pub(super) transactions: u64,
}

/// Endpoints, one for each chain.
pub(super) struct Witnesses(BTreeMap<ChainId, Witness<RpcSource>>);

impl Witnesses {
    /// Asks each endpoint for its chain.
    pub(super) async fn call(urls: &[String]) -> Result<Witnesses, Failure> {
        let mut witnesses = BTreeMap::new();
        for url in urls {
            let witness = witness::call(url).await?;
            let chain_id = witness.chain_id();
            if witnesses.insert(chain_id, witness).is_some() {
                let message = format!("two endpoints serve chain {chain_id}: name one of them");
                return Err(Failure::usage(&message));
            }
        }
        Ok(Witnesses(witnesses))
    }

    /// Holds the evidence that `report` kept against the chains, and adds what is found to it.
    pub(super) async fn hear(mut self, report: &mut Report, bar: &Bar) -> Result<Hearing, Failure> {
        let recorded = std::mem::take(&mut report.evidence);
        bar.over_transactions(recorded.len() as u64);
        let mut findings = Findings {
            // What was counted and not kept belongs to no network of the parameters.
            counts: report.transfers,
            heard: Heard::default(),
            list: Vec::new(),
            hearing: Hearing::default(),
        };
        for (chain_id, recorded) in by_chain(&recorded) {
            let Some(witness) = self.0.get_mut(&chain_id) else {
                let positions = recorded.iter().map(|recorded| recorded.position);
                findings.heard.open.extend(positions);
                findings.not_checked(
                    format!("no endpoint of chain {chain_id} was named"),
                    recorded.len() as u64,
                );
                continue;
            };
            for together in recorded.chunks(ASKED_TOGETHER) {
                let shown: Vec<Shown<'_>> =
                    together.iter().map(|recorded| shown(recorded)).collect();
                let testimonies = witness.examine(&shown).await.map_err(witness::silent)?;
                for (recorded, testimony) in together.iter().zip(testimonies) {
                    findings.take(recorded, testimony);
                }
                bar.advance(together.len() as u64);
            }
            findings.hearing.asked.push(Asked {
                chain_id,
                head: witness.head(),
                transactions: recorded.len() as u64,
            });
        }
        report.hold_against_network(findings.counts, findings.heard, findings.list);
        Ok(findings.hearing)
    }
}

impl Hearing {
    /// What was asked, in sentences.
    pub(super) fn notes(&self) -> Vec<String> {
        let asked = self.asked.iter().map(|asked| {
            let (count, head) = (transactions(asked.transactions), asked.head);
            format!(
                "chain {} was asked about {count}, at its block {} ({})",
                asked.chain_id, head.number, head.hash
            )
        });
        let not_checked = self.not_checked.iter();
        let not_checked =
            not_checked.map(|(why, count)| format!("{} not checked: {why}", transactions(*count)));
        asked.chain(not_checked).collect()
    }
}

fn transactions(count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} transaction{plural}")
}

/// What is found, transaction by transaction.
struct Findings {
    counts: TransferCounts,
    heard: Heard,
    list: Vec<Finding>,
    hearing: Hearing,
}

impl Findings {
    fn take(&mut self, recorded: &RecordedEvidence, testimony: Testimony) {
        let is_half = testimony == Testimony::Same && !recorded.is_whole();
        let testimony = match is_half {
            true => Testimony::Unknown(REFUTED.to_owned()),
            false => testimony,
        };
        let counts = &mut self.counts;
        let heard = match &testimony {
            Testimony::Same => &mut self.heard.same,
            Testimony::Differs(_) => &mut self.heard.differ,
            Testimony::Gone | Testimony::Unknown(_) => &mut self.heard.open,
        };
        heard.insert(recorded.position);
        match testimony {
            Testimony::Same => counts.checked += 1,
            Testimony::Gone => counts.reversed += 1,
            Testimony::Differs(differences) => {
                counts.differ += 1;
                let tx_hash = recorded.evidence.tx_hash;
                self.list.extend(
                    differences.into_iter().map(|it| {
                        recorded.differs(&it.member, format!("{tx_hash}: {}", it.sentence))
                    }),
                );
            }
            Testimony::Unknown(why) => return self.not_checked(why, 1),
        }
        counts.not_checked = counts.not_checked.saturating_sub(1);
    }

    fn not_checked(&mut self, why: String, count: u64) {
        *self.hearing.not_checked.entry(why).or_default() += count;
    }
}

fn by_chain(recorded: &[RecordedEvidence]) -> BTreeMap<ChainId, Vec<&RecordedEvidence>> {
    let mut chains: BTreeMap<ChainId, Vec<&RecordedEvidence>> = BTreeMap::new();
    for recorded in recorded {
        chains.entry(recorded.chain_id).or_default().push(recorded);
    }
    chains
}

fn shown(recorded: &RecordedEvidence) -> Shown<'_> {
    Shown {
        has_reverted: recorded.refuted == Some(RefutedCause::Reverted),
        ..Shown::of(&recorded.evidence, recorded.token, recorded.block)
    }
}
