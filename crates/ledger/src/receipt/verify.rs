//! What a receipt proves to somebody who has nothing but the file, and a key that he trusts.

use super::Receipt;
use crate::stream::Stream;
use serde::Serialize;
use x811_eventlog::note::NoteKey;
use x811_eventlog::{Checkpoint, InclusionProof, Policy, Record};
use x811_protocol::did::Did;
use x811_protocol::event::{Confirmed, EnvelopeAccepted, Event, Evidence, LedgerOpened};
use x811_protocol::evm::{ChainId, EvmAddress, TxHash};
use x811_protocol::facts::{AcceptFacts, Facts, OfferFacts, PaymentFacts, VerifyFacts};
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::key::PublicKey;
use x811_protocol::money::MicroUsdc;
use x811_protocol::payload::{self, PayloadRules};
use x811_protocol::signature::Signature;
use x811_protocol::time::TimestampMs;

/// How far a claim of the receipt holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It follows from signatures and hashes in the file.
    Proven,
    /// The ledger says so, under its signature.
    Asserted,
    /// Nobody looked.
    NotChecked,
    /// It does not hold.
    Broken,
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What it is about, in a word.
    pub about: &'static str,
    /// How far it holds.
    pub verdict: Verdict,
    /// In a sentence.
    pub sentence: String,
}

/// What was paid, as far as the file is whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Paid {
    /// Which interaction.
    pub interaction: InteractionId,
    /// The ledger.
    pub ledger: Did,
    /// Who paid.
    pub initiator: Did,
    /// Who was paid.
    pub provider: Did,
    /// What the provider asked.
    pub price: MicroUsdc,
    /// With the fee.
    pub total: MicroUsdc,
    /// The account that was to be paid.
    pub payee: EvmAddress,
    /// Where: EIP-155 chain ids of the claimed transfers.
    pub chains: Vec<ChainId>,
    /// The transactions of the claimed transfers.
    pub transactions: Vec<TxHash>,
    /// When the ledger recorded it.
    pub confirmed_at_ms: TimestampMs,
    /// Number of the receipt among the provider's.
    pub provider_seq: u64,
}

/// The outcome of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Every claim, in the order it was looked at; a broken one is the last.
    pub steps: Vec<Step>,
    /// What was paid; absent when a claim is broken.
    pub paid: Option<Paid>,
}

/// Verifies a receipt offline. Without `trust` it is only found to hold together, and whose ledger
/// it is stays open.
#[must_use]
pub fn verify(receipt: &Receipt, trust: Option<&Policy>) -> Checked {
    let mut steps = Vec::new();
    let verification = Verification {
        receipt,
        trust,
        steps: &mut steps,
    };
    match verification.run() {
        Ok(paid) => Checked {
            steps,
            paid: Some(paid),
        },
        Err(Broken { about, sentence }) => {
            steps.push(Step {
                about,
                verdict: Verdict::Broken,
                sentence,
            });
            Checked { steps, paid: None }
        }
    }
}

/// Why it ends.
struct Broken {
    about: &'static str,
    sentence: String,
}

fn broken(about: &'static str, sentence: impl ToString) -> Broken {
    let sentence = sentence.to_string();
    Broken { about, sentence }
}

/// The envelopes, each with the record it stands in.
struct Envelopes {
    offer: (EnvelopeAccepted, OfferFacts),
    accept: (EnvelopeAccepted, AcceptFacts),
    verify: (EnvelopeAccepted, VerifyFacts),
    payments: Vec<(EnvelopeAccepted, PaymentFacts)>,
}

struct Verification<'a> {
    receipt: &'a Receipt,
    trust: Option<&'a Policy>,
    steps: &'a mut Vec<Step>,
}

impl Verification<'_> {
    fn run(mut self) -> Result<Paid, Broken> {
        let opened = self.opened()?;
        let checkpoint = self.checkpoint(&opened)?;
        self.identity(&opened, &checkpoint)?;
        let (record, confirmed) = self.confirmed(&checkpoint)?;
        let envelopes = self.envelopes(&confirmed)?;
        self.terms(&envelopes)?;
        self.transfers(&envelopes, &confirmed)?;
        let (offer, terms) = &envelopes.offer;
        let mut chains: Vec<ChainId> = confirmed
            .claims
            .iter()
            .map(|claim| claim.chain_id)
            .collect();
        let mut transactions: Vec<TxHash> =
            confirmed.claims.iter().map(|claim| claim.tx_hash).collect();
        chains.dedup();
        transactions.dedup();
        Ok(Paid {
            interaction: self.receipt.interaction,
            ledger: opened.did,
            initiator: offer.envelope.to,
            provider: offer.envelope.from,
            price: terms.price,
            total: terms.total_cost,
            payee: payee(offer, terms)?,
            chains,
            transactions,
            confirmed_at_ms: TimestampMs::new(record.recorded_at_ms()),
            provider_seq: confirmed.provider_seq,
        })
    }

    fn step(&mut self, about: &'static str, verdict: Verdict, sentence: impl ToString) {
        let sentence = sentence.to_string();
        self.steps.push(Step {
            about,
            verdict,
            sentence,
        });
    }

    fn opened(&self) -> Result<LedgerOpened, Broken> {
        let about = "identity";
        let Event::LedgerOpened(opened) = record(&self.receipt.identity, about)?.1 else {
            let sentence = "the record in `identity` is no ledger_opened";
            return Err(broken(about, sentence));
        };
        Ok(opened)
    }

    fn checkpoint(&mut self, opened: &LedgerOpened) -> Result<Checkpoint, Broken> {
        let about = "checkpoint";
        let own = NoteKey::new(&*opened.origin, *opened.keys.checkpoint.as_bytes());
        let own = Policy::of_log(own.map_err(|error| broken(about, error))?);
        let note = &self.receipt.proof.checkpoint;
        let trusted = self.trust.unwrap_or(&own).check(note, verifies);
        let trusted = trusted.map_err(|error| broken(about, error))?;
        let checkpoint = trusted.checkpoint;
        // The identity in the file has to be that of the key, whoever named the key.
        own.check(note, verifies)
            .map_err(|error| broken(about, error))?;
        let size = checkpoint.size;
        if self.trust.is_none() {
            self.step(about, Verdict::NotChecked, format!(
                "signed over {size} records by the ledger that the file names; whether that is the \
                 ledger you mean is yours to say: give its key with --key"
            ));
        } else {
            let seen = trusted.cosignatures.len();
            self.step(
                about,
                Verdict::Proven,
                format!(
                    "signed over {size} records by the key you trust, cosigned by {seen} witnesses"
                ),
            );
        }
        Ok(checkpoint)
    }

    fn identity(&mut self, opened: &LedgerOpened, checkpoint: &Checkpoint) -> Result<(), Broken> {
        let about = "issuer";
        let (record, _) = record(&self.receipt.identity, about)?;
        let proof = InclusionProof {
            position: 0,
            size: checkpoint.size,
            path: self.receipt.identity_path.clone(),
        };
        let included = proof.verify(record.hash(), checkpoint.root);
        included.map_err(|error| broken(about, error))?;
        let signed = self.receipt.signed_bytes();
        if !opened.keys.receipt.verify(&signed, &self.receipt.signature) {
            let sentence = "the receipt is not signed by the ledger's receipt key";
            return Err(broken(about, sentence));
        }
        let sentence = format!("issued by {}, whose keys stand at position 0", opened.did);
        self.step(about, Verdict::Proven, sentence);
        Ok(())
    }

    fn confirmed(&mut self, checkpoint: &Checkpoint) -> Result<(Record, Confirmed), Broken> {
        let about = "record";
        let proof = &self.receipt.proof;
        let leaf = proof.extra.as_deref();
        let leaf = leaf.ok_or_else(|| broken(about, "the proof holds no record"))?;
        let (record, event) = record(leaf, about)?;
        let included = proof.verify(record.hash(), checkpoint);
        included.map_err(|error| broken(about, error))?;
        let stream = Stream::Interaction(self.receipt.interaction).to_string();
        let Event::Confirmed(confirmed) = event else {
            return Err(broken(about, "the record is no confirmation"));
        };
        if record.stream() != stream {
            return Err(broken(about, "the confirmation is of another interaction"));
        }
        let sentence = format!(
            "the confirmation is record {} of the log, under the checkpoint",
            record.position()
        );
        self.step(about, Verdict::Proven, sentence);
        Ok((record, confirmed))
    }

    fn envelopes(&mut self, confirmed: &Confirmed) -> Result<Envelopes, Broken> {
        let about = "messages";
        let named = &confirmed.records;
        let mut hashes = vec![named.offer, named.accept, named.verify];
        hashes.extend(&named.payments);
        if hashes.len() != self.receipt.envelopes.len() {
            let sentence = "the file has not the messages that the confirmation names";
            return Err(broken(about, sentence));
        }
        let mut read = Vec::new();
        for (hash, enclosed) in hashes.iter().zip(&self.receipt.envelopes) {
            let (record, event) = record(&enclosed.leaf, about)?;
            if record.hash().as_bytes() != hash.as_bytes() {
                let sentence = format!("a record hashes to {}, not to {hash}", record.hash());
                return Err(broken(about, sentence));
            }
            let Event::EnvelopeAccepted(accepted) = event else {
                return Err(broken(about, "a record is about no message"));
            };
            proven(&accepted, &enclosed.body)?;
            read.push(accepted);
        }
        let sentence = "OFFER, ACCEPT, VERIFY and PAYMENT are signed by their senders' keys, and say \
                        what the records say";
        self.step(about, Verdict::Proven, sentence);
        self.step(
            "keys",
            Verdict::Asserted,
            "that these were the agents' keys at that time is the \
             ledger's word; an audit of the whole log proves it",
        );
        sorted(read)
    }

    fn terms(&mut self, envelopes: &Envelopes) -> Result<(), Broken> {
        let about = "terms";
        self.one_deal(envelopes)?;
        let ((offer, terms), (accept, consent)) = (&envelopes.offer, &envelopes.accept);
        let (offer, accept) = (&offer.envelope, &accept.envelope);
        if consent.offer_id != offer.id || consent.offer_hash != terms.payload_hash {
            return Err(broken(about, "the ACCEPT is of another OFFER"));
        }
        let sentence = format!(
            "{} offered it for {} USDC ({} with the fee) and {} accepted that",
            offer.from,
            terms.price.to_usdc_decimal(),
            terms.total_cost.to_usdc_decimal(),
            accept.from
        );
        self.step(about, Verdict::Proven, sentence);
        Ok(())
    }

    /// Every message is of this interaction and between the same two agents: signatures that are
    /// good prove nothing about another deal.
    fn one_deal(&self, envelopes: &Envelopes) -> Result<(), Broken> {
        let interaction = EnvelopeId::from(self.receipt.interaction);
        let (offer, terms) = &envelopes.offer;
        let (verify, judged) = &envelopes.verify;
        let payments = envelopes.payments.iter();
        let named = payments
            .clone()
            .map(|(_, facts)| (facts.request_id, facts.offer_id));
        let mut named = named.chain([(judged.request_id, judged.offer_id)]);
        let is_of_it = |(request, of): (EnvelopeId, EnvelopeId)| {
            request == interaction && of == offer.envelope.id
        };
        if terms.request_id != interaction || !named.all(is_of_it) {
            return Err(broken("terms", "a message is of another interaction"));
        }
        let mut asking = payments
            .map(|(payment, _)| payment)
            .chain([&envelopes.accept.0, verify])
            .map(|accepted| (accepted.envelope.from, accepted.envelope.to));
        let (provider, initiator) = (offer.envelope.from, offer.envelope.to);
        if !asking.all(|pair| pair == (initiator, provider)) {
            let sentence = "the messages are not between the same two agents";
            return Err(broken("terms", sentence));
        }
        Ok(())
    }

    fn transfers(&mut self, envelopes: &Envelopes, confirmed: &Confirmed) -> Result<(), Broken> {
        let about = "transfers";
        let (offer, terms) = &envelopes.offer;
        let payee = payee(offer, terms)?;
        let (mut total, mut to_payee) = (0_u64, 0_u64);
        let mut endpoints = Vec::new();
        for (index, claim) in confirmed.claims.iter().enumerate() {
            if confirmed.claims[..index].contains(claim) {
                return Err(broken(about, "a transfer is claimed twice"));
            }
            let evidence = confirmed.evidence.iter();
            let (evidence, transfer) = evidence
                .filter(|evidence| evidence.tx_hash == claim.tx_hash)
                .find_map(|evidence| Some((evidence, transfer(evidence, claim.ordinal)?)))
                .ok_or_else(|| broken(about, "a claimed transfer is not in the evidence"))?;
            let declared = envelopes.payments.iter().any(|(_, payment)| {
                payment.payer_address == transfer.from
                    && (payment.tx_hash == claim.tx_hash
                        || payment.fee_tx_hash == Some(claim.tx_hash))
            });
            if !declared {
                return Err(broken(
                    about,
                    "a claimed transfer is in no PAYMENT of its payer",
                ));
            }
            let amount = transfer.amount.as_micro_usdc();
            total = total.saturating_add(amount);
            if transfer.to == payee {
                to_payee = to_payee.saturating_add(amount);
            }
            endpoints.extend(evidence.endpoints.clone());
        }
        let (price, due) = (
            terms.price.as_micro_usdc(),
            terms.total_cost.as_micro_usdc(),
        );
        if to_payee < price || total < due {
            return Err(broken(
                about,
                "the claimed transfers are less than what was due",
            ));
        }
        endpoints.sort_unstable();
        endpoints.dedup();
        let sentence = format!(
            "{} transfers cover price and fee; that they are on the network is the word of the \
             ledger, which asked: {}",
            confirmed.claims.len(),
            endpoints.join(", ")
        );
        self.step(about, Verdict::Asserted, sentence);
        let ask = &self.receipt.ask;
        let sentence = format!("whether a reorganisation took it back since: ask {ask}");
        self.step("reversal", Verdict::NotChecked, sentence);
        Ok(())
    }
}

fn record(leaf: &[u8], about: &'static str) -> Result<(Record, Event), Broken> {
    let record = Record::parse(leaf.to_vec()).map_err(|error| broken(about, error))?;
    let event = Event::from_json(record.event_json()).map_err(|error| broken(about, error))?;
    Ok((record, event))
}

/// Whether body and record are of one message, signed by the key that is named.
fn proven(accepted: &EnvelopeAccepted, body: &[u8]) -> Result<(), Broken> {
    let about = "messages";
    let verified = accepted.envelope.verify_with_body(body);
    let verified = verified.map_err(|refusal| broken(about, refusal))?;
    let header = verified.header();
    // What a ledger may be lenient about changes no fact.
    let rules = PayloadRules {
        lenient_addresses: true,
        ..PayloadRules::default()
    };
    let facts = payload::facts(
        &header.message_type,
        header.from,
        verified.payload(),
        &rules,
    );
    match facts {
        Ok(facts) if facts == accepted.facts => Ok(()),
        Ok(_) => Err(broken(about, "a record says other facts than its message")),
        Err(refusal) => Err(broken(about, refusal)),
    }
}

fn sorted(read: Vec<EnvelopeAccepted>) -> Result<Envelopes, Broken> {
    let (mut offer, mut accept, mut verify, mut payments) = (None, None, None, Vec::new());
    for accepted in read {
        match accepted.facts.clone() {
            Facts::Offer(facts) => offer = Some((accepted, facts)),
            Facts::Accept(facts) => accept = Some((accepted, facts)),
            Facts::Verify(facts) if facts.verified => verify = Some((accepted, facts)),
            Facts::Payment(facts) => payments.push((accepted, facts)),
            Facts::Request(_)
            | Facts::Reject(_)
            | Facts::Result(_)
            | Facts::Verify(_)
            | Facts::Error(_)
            | Facts::Custom(_) => {}
        }
    }
    match (offer, accept, verify) {
        (Some(offer), Some(accept), Some(verify)) => Ok(Envelopes {
            offer,
            accept,
            verify,
            payments,
        }),
        _ => Err(broken(
            "messages",
            "OFFER, ACCEPT or a VERIFY that says yes is missing",
        )),
    }
}

/// The account that the OFFER says, or that was resolved when it was made.
fn payee(offer: &EnvelopeAccepted, terms: &OfferFacts) -> Result<EvmAddress, Broken> {
    let payee = terms.payment_address.or(offer.derived.payee);
    payee.ok_or_else(|| broken("terms", "the OFFER has no account to pay"))
}

fn transfer(evidence: &Evidence, ordinal: u64) -> Option<&x811_protocol::observation::Transfer> {
    let mut transfers = evidence.transfers.iter();
    transfers.find(|transfer| transfer.ordinal == ordinal)
}

fn verifies(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    let key = PublicKey::from_bytes(key);
    key.is_ok_and(|key| key.verify(message, &Signature::from_bytes(*signature)))
}
