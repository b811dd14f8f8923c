//! A negotiation from the side of one of its parties: its last terms, and who the other one is.

use serde_json::{Map, Value, json};
use x811_client::compose::{Answered, NegotiationStep};
use x811_client::http::LedgerClient;
use x811_client::identity::Identity;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::Event;
use x811_protocol::facts::{AmountOf, Facts};
use x811_protocol::id::ContractId;
use x811_protocol::money::MicroUsdc;
use x811_protocol::stream::Subject;

use crate::context::Context;
use crate::failure::Failure;
use crate::send::sent::{Sent, deliver};

/// The agent, its ledger and the last terms of one of its negotiations.
pub(crate) struct Talks<'a> {
    context: &'a Context,
    identity: Identity,
    client: LedgerClient,
    counterparty: Did,
    pub(super) answers: Answered,
    pub(super) terms_hash: Digest,
}

impl<'a> Talks<'a> {
    /// Reads the negotiation; the agent has to be a party of it.
    pub(crate) async fn open(
        context: &'a Context,
        negotiation: ContractId,
    ) -> Result<Talks<'a>, Failure> {
        let (identity, client) = context.acting().await?;
        let (mut parties, mut last) = (None, None);
        for record in client.records_of(Subject::Contract(negotiation)).await? {
            let Event::EnvelopeAccepted(accepted) = record.event()? else {
                continue;
            };
            let Facts::Negotiation(facts) = &accepted.facts else {
                continue;
            };
            let header = &accepted.envelope;
            parties.get_or_insert((header.from, header.to));
            let terms = facts.terms().map(|terms| (header.id, terms.terms_hash));
            last = terms.or(last);
        }
        let (Some((initiator, responder)), Some((step, terms_hash))) = (parties, last) else {
            return Err(Failure::state("the negotiation has no terms")
                .hint("`x811 negotiation list` shows where it stands"));
        };
        let counterparty = if initiator == identity.did {
            responder
        } else {
            initiator
        };
        Ok(Talks {
            context,
            identity,
            client,
            counterparty,
            answers: Answered { negotiation, step },
            terms_hash,
        })
    }

    /// The last terms, as their author signed them.
    pub(crate) async fn terms(&self) -> Result<Map<String, Value>, Failure> {
        let message = self.client.message(self.answers.step).await?;
        let terms = message.envelope.payload().get("terms");
        let terms = terms.and_then(Value::as_object).cloned();
        terms.ok_or_else(|| {
            Failure::state("the last message has no terms")
                .hint("`x811 negotiation list` shows where it stands")
        })
    }

    /// Says it to the other party.
    pub(super) async fn say(&self, step: &NegotiationStep) -> Result<Sent, Failure> {
        let (context, client) = (self.context, &self.client);
        let sent = deliver(context, client, &self.identity, self.counterparty, step).await?;
        Ok(sent.note("negotiation", self.answers.negotiation.to_public()))
    }
}

/// The member `amount` of terms in USDC, and what it is.
pub(super) fn put_amount(terms: &mut Map<String, Value>, amount: MicroUsdc, of: AmountOf) {
    let value = json!({"value": amount.to_usdc_decimal(), "currency": "USDC"});
    terms.insert("amount".to_owned(), value);
    terms.insert("amount_of".to_owned(), of.as_str().into());
}
