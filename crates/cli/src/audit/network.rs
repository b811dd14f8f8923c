//! `--rpc`: asks endpoints that the auditor chose for every transaction that a PAYMENT declared: for
//! those that the log rests on, and for those that it says were not there.

use std::collections::BTreeMap;

use serde::Serialize;
use x811_audit::{
    ChainPlace, DeclaredTransaction, Finding, Heard, RecordedEvidence, RecordedSighting, Report,
    Sighting, TransferCounts,
};
use x811_protocol::event::RefutedCause;
use x811_protocol::evm::{BlockHash, ChainId};
use x811_protocol::observation::{Block, Transfer};
use x811_watcher::witness::ASKED_TOGETHER;
use x811_watcher::{Difference, RpcSource, Shown, Sought, Testimony, Witness};

mod draw;

use super::bar::Bar;
use crate::failure::Failure;
use crate::witness;

/// Why a refuted payment is the ledger's word still.
const REFUTED: &str = "the network has what is recorded of a payment that was refuted; whether that \
                       transaction moved anything else that pays cannot be told, so much moved";

/// What endpoints were asked, and what they could not tell.
#[derive(Debug, Default, Serialize)]
pub(super) struct Hearing {
    /// Each chain that was asked.
    pub(super) asked: Vec<Asked>,
    /// Why transactions were not checked, and how many for this reason.
    pub(super) not_checked: BTreeMap<String, u64>,
    /// Why an endpoint gave no answer, at first or from some transaction on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) silent: Option<String>,
}

/// A chain that was asked.
#[derive(Debug, Serialize)]
pub(super) struct Asked {
    pub(super) chain_id: ChainId,
    /// The newest block of the endpoint.
    pub(super) head: Block,
    /// Transactions that it was asked about.
    pub(super) transactions: u64,
    /// Declared transactions besides that the log has no evidence of, or did not find at first.
    pub(super) sought: u64,
    /// Those of them that are as the log says: not there, or what was seen of them.
    pub(super) sought_same: u64,
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

    /// Holds what `report` kept of the network against the chains, and adds what is found to it;
    /// also what an endpoint said that fell silent then, which is the failure.
    async fn hear(mut self, report: &mut Report, bar: &Bar) -> (Hearing, Option<Failure>) {
        let recorded = std::mem::take(&mut report.evidence);
        let sightings = std::mem::take(&mut report.sightings);
        let draws = std::mem::take(&mut report.draws);
        bar.over_transactions((recorded.len() + sightings.len()) as u64);
        let mut findings = Findings {
            // What was counted and not kept belongs to no network of the parameters.
            counts: report.transfers,
            heard: Heard::default(),
            list: Vec::new(),
            hearing: Hearing::default(),
        };
        let outcome = self.ask(by_chain(&recorded, &sightings), &mut findings, bar);
        let mut silent = outcome.await.err();
        if silent.is_none() {
            silent = draw::ask(&mut self.0, &draws, &mut findings).await.err();
        }
        report.hold_against_network(findings.counts, findings.heard, findings.list);
        (findings.hearing, silent)
    }

    async fn ask(
        &mut self,
        chains: BTreeMap<ChainId, Said<'_>>,
        findings: &mut Findings,
        bar: &Bar,
    ) -> Result<(), Failure> {
        for (chain_id, said) in chains {
            let Some(witness) = self.0.get_mut(&chain_id) else {
                findings.nobody_asked(chain_id, &said);
                continue;
            };
            let mut asked = Asked {
                chain_id,
                head: witness.head(),
                transactions: said.evidence.len() as u64,
                sought: said.sightings.len() as u64,
                sought_same: 0,
            };
            for together in said.evidence.chunks(ASKED_TOGETHER) {
                let shown: Vec<Shown<'_>> = together.iter().map(|it| shown(it)).collect();
                let testimonies = witness.examine(&shown).await.map_err(witness::silent)?;
                for (recorded, testimony) in together.iter().zip(testimonies) {
                    findings.take(recorded, testimony);
                }
                bar.advance(together.len() as u64);
            }
            for together in said.sightings.chunks(ASKED_TOGETHER) {
                let testimonies = again(witness, together).await?;
                for (sighting, testimony) in together.iter().zip(testimonies) {
                    asked.sought_same += u64::from(testimony == Testimony::Same);
                    findings.take_sighting(sighting, testimony);
                }
                bar.advance(together.len() as u64);
            }
            asked.head = witness.head();
            findings.hearing.asked.push(asked);
        }
        Ok(())
    }
}

/// Holds `report` against the chains of `witnesses`, where they could be called.
///
/// # Errors
/// An endpoint gave no answer, and nothing contradicts: what does needs no network, and the report says
/// who was silent.
pub(super) async fn hear(
    witnesses: Result<Witnesses, Failure>,
    report: &mut Report,
    bar: &Bar,
) -> Result<Hearing, Failure> {
    let (mut hearing, silent) = match witnesses {
        Ok(witnesses) => witnesses.hear(report, bar).await,
        Err(silent) => (Hearing::default(), Some(silent)),
    };
    match silent {
        Some(silent) if !report.is_broken() => return Err(silent),
        Some(silent) => hearing.silent = Some(silent.message),
        None => {}
    }
    Ok(hearing)
}

/// Asks for what the log did not find, and for what it saw and has no evidence of.
async fn again(
    witness: &mut Witness<RpcSource>,
    sightings: &[&RecordedSighting],
) -> Result<Vec<Testimony>, Failure> {
    let (mut sought, mut seen) = (Vec::new(), Vec::new());
    for sighting in sightings {
        match &sighting.said {
            Sighting::NotFound { head, came_later } => sought.push(Sought {
                came_later: *came_later,
                ..seek(&sighting.declared, *head)
            }),
            Sighting::NotPaid { head, due } => sought.push(Sought {
                amount: Some(*due),
                ..seek(&sighting.declared, *head)
            }),
            Sighting::Seen { block, transfers } => {
                seen.push(sighted(&sighting.declared, *block, transfers));
            }
        }
    }
    let (mut sought, mut seen) = (
        witness
            .seek(&sought)
            .await
            .map_err(witness::silent)?
            .into_iter(),
        witness
            .examine(&seen)
            .await
            .map_err(witness::silent)?
            .into_iter(),
    );
    let testimonies = sightings.iter().filter_map(|sighting| match sighting.said {
        Sighting::NotFound { .. } | Sighting::NotPaid { .. } => sought.next(),
        Sighting::Seen { .. } => seen.next(),
    });
    Ok(testimonies.collect())
}

impl Hearing {
    /// What was asked, in sentences.
    pub(super) fn notes(&self) -> Vec<String> {
        let asked = self.asked.iter().flat_map(|asked| {
            let (count, head) = (transactions(asked.transactions), asked.head);
            let about = format!(
                "chain {} was asked about {count}, at its block {} ({})",
                asked.chain_id, head.number, head.hash
            );
            let sought = (asked.sought > 0).then(|| {
                format!(
                    "chain {} was also asked about {} that a PAYMENT declared and that the log did \
                     not find or did not decide on: {} as the log says",
                    asked.chain_id,
                    transactions(asked.sought),
                    asked.sought_same
                )
            });
            [Some(about), sought].into_iter().flatten()
        });
        let not_checked = self.not_checked.iter();
        let not_checked =
            not_checked.map(|(why, count)| format!("{} not checked: {why}", transactions(*count)));
        let silent = self.silent.iter().map(|why| {
            format!(
                "--rpc gave no answer ({why}): what it was not asked of is the ledger's word, and what \
                 is broken is so without it"
            )
        });
        asked.chain(not_checked).chain(silent).collect()
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
        heard.insert(recorded.place.position);
        match testimony {
            Testimony::Same => counts.checked += 1,
            Testimony::Gone => counts.reversed += 1,
            Testimony::Differs(differences) => {
                counts.differ += 1;
                self.differ(&recorded.place, &recorded.declared, differences);
            }
            Testimony::Unknown(why) => return self.not_checked(why, 1),
        }
        self.counts.not_checked = self.counts.not_checked.saturating_sub(1);
    }

    /// What was not there stays the log's word also where the endpoint has it not: endpoints forget.
    fn take_sighting(&mut self, sighting: &RecordedSighting, testimony: Testimony) {
        match testimony {
            Testimony::Same | Testimony::Gone => {}
            Testimony::Differs(differences) => {
                self.heard.differ.insert(sighting.place.position);
                self.differ(&sighting.place, &sighting.declared, differences);
            }
            Testimony::Unknown(why) => self.not_checked(why, 1),
        }
    }

    fn differ(
        &mut self,
        place: &ChainPlace,
        declared: &DeclaredTransaction,
        differences: Vec<Difference>,
    ) {
        let tx_hash = declared.tx_hash;
        let finding = |it: Difference| {
            let sentence = format!("{tx_hash}: {}", it.sentence);
            place.differs(&it.member, sentence)
        };
        self.list.extend(differences.into_iter().map(finding));
    }

    fn nobody_asked(&mut self, chain_id: ChainId, said: &Said<'_>) {
        let positions = said.evidence.iter().map(|recorded| recorded.place.position);
        self.heard.open.extend(positions);
        let why = format!("no endpoint of chain {chain_id} was named");
        self.not_checked(why, (said.evidence.len() + said.sightings.len()) as u64);
    }

    fn not_checked(&mut self, why: String, count: u64) {
        *self.hearing.not_checked.entry(why).or_default() += count;
    }
}

/// What the log says of one chain.
#[derive(Default)]
struct Said<'a> {
    evidence: Vec<&'a RecordedEvidence>,
    sightings: Vec<&'a RecordedSighting>,
}

fn by_chain<'a>(
    evidence: &'a [RecordedEvidence],
    sightings: &'a [RecordedSighting],
) -> BTreeMap<ChainId, Said<'a>> {
    let mut chains: BTreeMap<ChainId, Said<'a>> = BTreeMap::new();
    for recorded in evidence {
        let said = chains.entry(recorded.declared.chain_id).or_default();
        said.evidence.push(recorded);
    }
    for sighting in sightings {
        let said = chains.entry(sighting.declared.chain_id).or_default();
        said.sightings.push(sighting);
    }
    chains
}

fn shown(recorded: &RecordedEvidence) -> Shown<'_> {
    let declared = &recorded.declared;
    Shown {
        has_reverted: Some(recorded.refuted == Some(RefutedCause::Reverted)),
        fit: Some(declared.fit),
        shows_all: recorded.shows_all(),
        parted: parted(recorded),
        is_followed: recorded.refuted.is_none(),
        ..Shown::of(&recorded.evidence, declared.token, recorded.block)
    }
}

/// The head recorded at ACCEPT, where the evidence says that it is on another branch, and no later
/// reorganisation is recorded.
fn parted(recorded: &RecordedEvidence) -> Option<(u64, BlockHash)> {
    let evidence = &recorded.evidence;
    let is_said = evidence.forked_at.is_some() || evidence.fork_unknown;
    let is_there_still = recorded.block == Some(evidence.block);
    recorded
        .declared
        .recorded
        .filter(|_| is_said && is_there_still)
}

/// A transaction that was seen in a block, and nothing was decided by it.
fn sighted<'a>(
    declared: &DeclaredTransaction,
    block: Block,
    transfers: &'a [Transfer],
) -> Shown<'a> {
    Shown {
        token: declared.token,
        tx_hash: declared.tx_hash,
        // One that failed is seen too, with nothing that it moved.
        has_reverted: (!transfers.is_empty()).then_some(false),
        block: Some(block),
        transfers,
        transfer_count: None,
        fit: Some(declared.fit),
        shows_all: (transfers.len() as u64) < declared.quoted,
        parted: None,
        is_followed: false,
    }
}

fn seek(declared: &DeclaredTransaction, head: Block) -> Sought {
    Sought {
        token: declared.token,
        tx_hash: declared.tx_hash,
        head,
        confirmed_depth: declared.confirmed_depth,
        fit: declared.fit,
        since: declared.since,
        came_later: true,
        amount: None,
    }
}

#[cfg(test)]
mod tests;
