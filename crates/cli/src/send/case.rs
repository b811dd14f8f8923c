//! An interaction from the side of one of its parties: what was said so far, and who comes next.

use x811_client::compose::Payload;
use x811_client::http::LedgerClient;
use x811_client::identity::Identity;
use x811_client::transcript::Transcript;
use x811_protocol::did::Did;
use x811_protocol::envelope::{CoreType, VerifiedEnvelope};
use x811_protocol::facts::OfferFacts;
use x811_protocol::id::{EnvelopeId, InteractionId};

use super::sent::{Sent, deliver};
use crate::context::Context;
use crate::failure::Failure;

/// The agent, its ledger and one of its interactions.
pub(crate) struct Case<'a> {
    pub(crate) context: &'a Context,
    pub(crate) identity: Identity,
    pub(crate) client: LedgerClient,
    pub(crate) transcript: Transcript,
}

/// A side of an interaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Party {
    /// Consumer and payer.
    Initiator,
    /// Worker and payee.
    Provider,
}

impl<'a> Case<'a> {
    /// Reads the interaction; the agent has to be that party of it.
    pub(crate) async fn open(
        context: &'a Context,
        interaction: InteractionId,
        party: Party,
    ) -> Result<Case<'a>, Failure> {
        let (identity, client) = context.acting().await?;
        let transcript = Transcript::fetch(&client, interaction).await?;
        let (word, did) = match party {
            Party::Initiator => ("initiator", transcript.view.initiator),
            Party::Provider => ("provider", transcript.view.provider),
        };
        if did != identity.did {
            let message = format!(
                "the {word} of this interaction is {did}, and agent {} is {}",
                identity.name, identity.did
            );
            return Err(Failure::usage(&message).hint("name the right agent with --agent NAME"));
        }
        Ok(Case {
            context,
            identity,
            client,
            transcript,
        })
    }

    /// The other party.
    pub(crate) fn counterparty(&self) -> Did {
        let view = &self.transcript.view;
        if view.initiator == self.identity.did {
            view.provider
        } else {
            view.initiator
        }
    }

    /// Id and terms of the OFFER.
    pub(crate) fn offer(&self) -> Result<(EnvelopeId, &OfferFacts), Failure> {
        let offer = self.transcript.offer();
        offer.ok_or_else(|| self.missing("OFFER"))
    }

    /// What the interaction has not.
    fn missing(&self, name: &str) -> Failure {
        let state = self.transcript.view.state;
        let hint = match state.is_terminal() {
            true => format!("see how it ended: x811 history {}", self.transcript.id()),
            false => "wait for it with `x811 inbox --wait 60`".to_owned(),
        };
        Failure::state(format!(
            "there is no {name}, and the interaction is {state}"
        ))
        .hint(hint)
    }

    /// The message of this type as its sender signed it.
    pub(crate) async fn signed(
        &self,
        core: CoreType,
        name: &str,
    ) -> Result<VerifiedEnvelope, Failure> {
        let envelope = self.transcript.envelope(&self.client, core).await?;
        envelope.ok_or_else(|| self.missing(name))
    }

    /// Says it to the other party.
    pub(crate) async fn say(&self, payload: &dyn Payload) -> Result<Sent, Failure> {
        let to = self.counterparty();
        deliver(self.context, &self.client, &self.identity, to, payload).await
    }
}
