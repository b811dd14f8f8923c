//! The real outside of a loop: a ledger, a chain, a folder.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};
use x811_protocol::did::Did;
use x811_protocol::envelope::{SealedEnvelope, VerifiedEnvelope};
use x811_protocol::evm::EvmAddress;
use x811_protocol::facts::AdvertiseFacts;
use x811_protocol::id::{ContractId, EnvelopeId, InteractionId, SessionId};
use x811_protocol::time::TimestampMs;

use super::approval::{Approvals, Question};
use super::bargain::Bargain;
use super::case::Case;
use super::dealt::Dealt;
use super::money::Transfer;
use super::outbox::{Act, Entry, Lookup, Reply};
use super::proof::{ProofCheck, ProofDue};
use super::state::{State, StateError, StateFile};
use super::world::{Arrival, Due, PayFault, World};
use crate::clock::Clock;
use crate::compose::{ComposeError, Composer, Payload, SessionStep};
use crate::entropy::Entropy;
use crate::home::{HomeError, replace};
use crate::http::{AgreementView, ClientError, LedgerClient};
use crate::identity::Identity;
use crate::policy::{Provider, Trust};
use crate::transcript::Transcript;

/// The outside of one loop.
pub(crate) struct Live {
    pub(crate) client: Arc<LedgerClient>,
    pub(crate) identity: Identity,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) ledger: Did,
    pub(crate) folder: PathBuf,
    pub(crate) file: StateFile,
    pub(crate) approvals: Approvals,
    pub(crate) proof_check: Option<Arc<ProofCheck>>,
    #[cfg(feature = "pay")]
    pub(crate) purse: Option<super::purse::Purse>,
}

impl World for Live {
    fn now(&self) -> TimestampMs {
        self.clock.now()
    }

    fn me(&self) -> Did {
        self.identity.did
    }

    fn ledger(&self) -> Did {
        self.ledger
    }

    fn payer(&self) -> Option<EvmAddress> {
        self.identity.account()
    }

    fn save(&self, state: &State) -> Result<(), StateError> {
        self.file.save(state)
    }

    fn question(&self, interaction: InteractionId) -> Result<Option<Question>, HomeError> {
        self.approvals.read(interaction)
    }

    fn ask(&self, question: &Question) -> Result<(), HomeError> {
        self.approvals.write(question)
    }

    fn forget_question(&self, interaction: InteractionId) -> Result<(), HomeError> {
        self.approvals.remove(interaction)
    }

    fn keep_proof(&self, due: &ProofDue, text: &str) -> Result<(), String> {
        if let Some(check) = &self.proof_check {
            check(due, text)?;
        }
        let path = self.folder.join("proofs").join(due.file_name());
        replace(&path, text.as_bytes()).map_err(|error| error.to_string())
    }

    fn signed(&self, agreement: Map<String, Value>) -> SessionStep {
        SessionStep::agree(agreement, &self.identity)
    }

    fn seal(&self, to: Did, payload: &dyn Payload) -> Result<SealedEnvelope, ComposeError> {
        Composer::new(&self.identity, &*self.entropy, &*self.clock)
            .for_ledger(Some(self.ledger))
            .seal(to, payload)
    }

    async fn send(&self, entry: &Entry) -> Reply {
        let bytes = entry.envelope.as_bytes();
        Reply::of(self.client.send_bytes(entry.envelope_id, bytes).await)
    }

    async fn lookup(&self, id: EnvelopeId) -> Lookup {
        Lookup::of(self.client.outcome(id).await)
    }

    async fn case(&self, id: InteractionId) -> Result<Case, ClientError> {
        Ok(Case::of(&Transcript::fetch(&self.client, id).await?))
    }

    async fn bargain(&self, id: ContractId) -> Result<Bargain, ClientError> {
        Bargain::fetch(&self.client, id).await
    }

    async fn dealt(&self, id: SessionId) -> Result<Dealt, ClientError> {
        Dealt::fetch(&self.client, id, self.ledger).await
    }

    async fn descriptor(&self) -> Result<Option<AdvertiseFacts>, ClientError> {
        let found = self.client.descriptor(self.identity.did).await?;
        Ok(found.map(|descriptor| descriptor.facts))
    }

    async fn active_agreements(&self) -> Result<Vec<AgreementView>, ClientError> {
        let mut agreements = self.client.agreements(None).await?;
        agreements.retain(|agreement| agreement.status == "active");
        Ok(agreements)
    }

    async fn body(
        &self,
        case: &Case,
        act: Act,
        from: Did,
    ) -> Result<Option<VerifiedEnvelope>, ClientError> {
        let Some(said) = case.said(act, from) else {
            return Ok(None);
        };
        let envelope = self.client.message(said.envelope_id).await?.envelope;
        if envelope.digest() == said.digest {
            return Ok(Some(envelope));
        }
        Err(ClientError::Untrusted {
            cause: format!("envelope {} is not the one of the record", said.envelope_id),
        })
    }

    async fn standing(&self, provider: Did) -> Result<Provider, ClientError> {
        let agent = self.client.agent(provider).await?;
        let trust = self.client.trust(provider, None).await?;
        Ok(Provider {
            status: agent.status.into(),
            trust: Trust::of_hundredths(trust.score_hundredths),
        })
    }

    async fn proof(&self, due: &ProofDue) -> Result<String, ClientError> {
        self.client.record_proof(due.position).await
    }

    #[cfg(feature = "pay")]
    async fn sign(&self, due: &Due) -> Result<Transfer, PayFault> {
        match (&self.purse, &self.identity.wallet_key) {
            (Some(purse), Some(key)) => purse.sign(key, due, self.clock.now()).await,
            (None, _) | (_, None) => Err(no_purse()),
        }
    }

    #[cfg(feature = "pay")]
    async fn broadcast(&self, transfer: &Transfer) -> Result<Arrival, PayFault> {
        match &self.purse {
            Some(purse) => purse.broadcast(transfer).await,
            None => Err(no_purse()),
        }
    }

    #[cfg(feature = "pay")]
    async fn raise_fees(&self, transfer: &Transfer) -> Result<Option<Transfer>, PayFault> {
        match (&self.purse, &self.identity.wallet_key) {
            (Some(purse), Some(key)) => purse.raise_fees(key, transfer).await,
            (None, _) | (_, None) => Err(no_purse()),
        }
    }

    #[cfg(not(feature = "pay"))]
    async fn sign(&self, _: &Due) -> Result<Transfer, PayFault> {
        Err(no_purse())
    }

    #[cfg(not(feature = "pay"))]
    async fn broadcast(&self, _: &Transfer) -> Result<Arrival, PayFault> {
        Err(no_purse())
    }

    #[cfg(not(feature = "pay"))]
    async fn raise_fees(&self, _: &Transfer) -> Result<Option<Transfer>, PayFault> {
        Err(no_purse())
    }
}

fn no_purse() -> PayFault {
    PayFault {
        is_passing: false,
        text: "this loop has no wallet key or no endpoint to pay through".to_owned(),
    }
}
