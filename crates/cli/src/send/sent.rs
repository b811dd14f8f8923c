//! Sealing, sending, and saying what came of it.

use serde::{Serialize, Serializer};
use serde_json::json;
use x811_client::compose::{Payload, is_for_one_ledger};
use x811_client::http::{Accepted, ClientError, LedgerClient};
use x811_client::identity::Identity;
use x811_protocol::did::Did;
use x811_protocol::envelope::{CoreType, MessageType, SealedEnvelope};
use x811_protocol::id::EnvelopeId;
use x811_protocol::time::TimestampMs;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use x811_protocol::narration::{moment, short_hash};

/// An accepted message.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Sent {
    #[serde(rename = "type")]
    message_type: MessageType,
    to: Did,
    /// An equal message had been accepted before; this is its outcome.
    repeated: bool,
    #[serde(flatten)]
    pub(crate) accepted: Accepted,
    /// What else is worth saying, by name.
    #[serde(flatten, serialize_with = "as_members")]
    notes: Vec<(&'static str, String)>,
    #[serde(skip)]
    now: TimestampMs,
}

/// Seals a message, sends it and waits until it is durable.
pub(crate) async fn deliver(
    context: &Context,
    client: &LedgerClient,
    identity: &Identity,
    to: Did,
    payload: &dyn Payload,
) -> Result<Sent, Failure> {
    let composer = context.composer(identity);
    let ledger = ledger_for(client, identity, payload).await?;
    let sealed = composer.for_ledger(ledger).seal(to, payload)?;
    let accepted = client
        .send(&sealed)
        .await
        .map_err(|error| undelivered(error, &sealed))?;
    Ok(Sent {
        message_type: sealed.header.message_type,
        to,
        repeated: accepted.envelope_id != sealed.header.id,
        accepted,
        notes: Vec::new(),
        now: context.now(),
    })
}

/// The ledger that the message is to name; of several that know the agent, the one that is asked.
async fn ledger_for(
    client: &LedgerClient,
    identity: &Identity,
    payload: &dyn Payload,
) -> Result<Option<Did>, Failure> {
    if !is_for_one_ledger(&payload.message_type()) {
        return Ok(None);
    }
    if identity.other_ledgers.is_empty() {
        return Ok(identity.ledger);
    }
    Ok(Some(client.info().await?.did))
}

/// Names the envelope, so that its fate can be asked for later.
fn undelivered(error: ClientError, sealed: &SealedEnvelope) -> Failure {
    let is_unknown = matches!(error, ClientError::Unreachable { .. });
    let failure = Failure::from(error);
    if !is_unknown {
        return failure;
    }
    let id: EnvelopeId = sealed.header.id;
    let what_to_do = format!(
        "{}; whether envelope {id} was accepted is not known: look at the interaction's history \
         before you send it anew",
        failure.what_to_do
    );
    failure
        .with_details(json!({ "envelope_id": id }))
        .hint(what_to_do)
}

impl Sent {
    /// Adds something worth saying.
    pub(crate) fn note(mut self, name: &'static str, value: impl ToString) -> Sent {
        self.notes.push((name, value.to_string()));
        self
    }

    /// What the sender or its counterparty does next.
    fn next(&self) -> Option<String> {
        let MessageType::Core(core) = &self.message_type else {
            return self.next_about_subject();
        };
        let interaction = self.accepted.interaction_id?;
        let next = match core {
            CoreType::Request => "the provider answers with an OFFER: x811 inbox --wait 60".into(),
            CoreType::Offer => "the initiator accepts or rejects: x811 inbox --wait 300".into(),
            CoreType::Accept => "the provider works and delivers: x811 inbox --wait 300".into(),
            CoreType::Result => "the initiator verifies within the deadline".into(),
            CoreType::Verify => format!("pay: x811 pay {interaction} --rpc URL"),
            CoreType::Payment => {
                format!("the ledger looks for the transfer: x811 provider paid {interaction}")
            }
            CoreType::Reject | CoreType::Error => return None,
        };
        Some(next)
    }

    /// The same of a negotiation, a session or a round. What another verb notes is not said twice.
    fn next_about_subject(&self) -> Option<String> {
        let id = &self.accepted.subject.as_ref()?.id;
        let is_over = self.accepted.state.as_deref() == Some("closed");
        let next = match self.message_type.as_str() {
            "x811.negotiation/offer" | "x811.negotiation/counter" => {
                "the other party accepts, counters or rejects: x811 negotiation list".to_owned()
            }
            "x811.negotiation/accept" => {
                format!("the payer asks for it: x811 send request … --param negotiation_id={id}")
            }
            "x811.capability/request" => {
                format!("the other party responds: x811 capability sessions {id}")
            }
            "x811.capability/response" if !is_over => {
                format!("the initiator offers terms: x811 capability offer {id} --duration SECONDS")
            }
            "x811.capability/offer" | "x811.capability/counter" => format!(
                "the other party accepts, counters or rejects: x811 capability sessions {id}"
            ),
            "x811.capability/agree" if is_over => {
                "it is in force: x811 capability agreements".to_owned()
            }
            "x811.capability/agree" => "the other party signs too".to_owned(),
            "x811.consensus/propose" => {
                format!("the participants vote; how it stands: x811 rounds show {id}")
            }
            _ => return None,
        };
        Some(next)
    }
}

impl Report for Sent {
    fn print(&self, out: &mut Out) {
        let repeated = if self.repeated {
            " before; nothing new was recorded"
        } else {
            ""
        };
        let accepted = &self.accepted;
        if accepted.counted == Some(false) {
            let heading = format!("{} kept as evidence, not counted", self.message_type);
            out.heading(Tone::Bad, heading);
        } else {
            let heading = format!("{} accepted{repeated}", self.message_type);
            out.heading(Tone::Good, heading);
        }
        let mut fields = Vec::new();
        fields.extend(accepted.code.map(|code| ("because", code.to_string())));
        fields.extend(
            accepted
                .interaction_id
                .map(|id| ("interaction", id.to_string())),
        );
        fields.extend(accepted.state.clone().map(|state| ("state", state)));
        let deadline = accepted.deadline_at_ms.map(|at| moment(at, self.now));
        fields.extend(deadline.map(|deadline| ("deadline", deadline)));
        fields.extend(self.notes.iter().cloned());
        let hash = short_hash(accepted.record_hash);
        fields.push((
            "recorded",
            format!("position {}, hash {hash}", accepted.position),
        ));
        let disputed = self.notes.iter().any(|(name, _)| *name == "disputed");
        let next = self.next().filter(|_| !disputed);
        fields.extend(next.map(|next| ("next", next)));
        out.fields(&fields);
    }
}

fn as_members<S: Serializer>(
    notes: &[(&'static str, String)],
    writer: S,
) -> Result<S::Ok, S::Error> {
    writer.collect_map(
        notes
            .iter()
            .map(|(name, value)| (name.replace(' ', "_"), value)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0190a1b2-c3d4-7e5f-8901-234567890abc";

    fn sent(repeated: bool) -> Sent {
        let accepted = json!({
            "interaction_id": ID, "envelope_id": ID, "position": 4, "state": "pending",
            "record_hash": "ab".repeat(32), "deadline_at_ms": 61_000,
        });
        let to = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
        Sent {
            message_type: CoreType::Request.into(),
            to: to.parse().unwrap(),
            repeated,
            accepted: serde_json::from_value(accepted).unwrap(),
            notes: Vec::new(),
            now: TimestampMs::new(1_000),
        }
    }

    #[test]
    fn a_person_is_told_interaction_state_deadline_and_what_is_next() {
        let (mut out, text, _) = Out::captured(false);
        out.report(&sent(false));
        let text = text.text();
        for part in [
            ID,
            "pending",
            "(in 60 s)",
            "position 4",
            "x811 inbox --wait 60",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let (mut out, text, _) = Out::captured(false);
        out.report(&sent(true));
        assert!(text.text().contains("nothing new was recorded"));
    }

    #[test]
    fn a_program_gets_the_ledgers_answer_and_the_notes_as_members() {
        let value = serde_json::to_value(sent(false).note("idempotency key", "k")).unwrap();
        assert_eq!(value["interaction_id"], ID);
        assert_eq!(value["type"], "x811/request");
        assert_eq!(value["state"], "pending");
        assert_eq!(value["deadline_at_ms"], 61_000);
        assert_eq!(value["idempotency_key"], "k");
        assert_eq!(value["repeated"], false);
    }

    /// A negotiation has states of its own, some of them words for states of interactions too.
    #[test]
    fn xx_9_the_state_of_a_negotiation_is_its_own() {
        for state in ["countered", "accepted"] {
            let answer = json!({
                "subject": {"kind": "contract", "id": format!("neg-{ID}")}, "state": state,
                "envelope_id": ID, "position": 4, "record_hash": "ab".repeat(32),
            });
            let mut countered = sent(false);
            countered.accepted = serde_json::from_value(answer).unwrap();
            let value = serde_json::to_value(&countered).unwrap();
            assert_eq!(value["subject"]["kind"], "contract");
            assert_eq!(value["state"], state);
            assert_eq!(value.get("interaction_id"), None);
            let (mut out, text, _) = Out::captured(false);
            out.report(&countered);
            assert!(text.text().contains(state), "{}", text.text());
        }
    }

    /// Whoever negotiates is told whose turn it is and which command goes on.
    #[test]
    fn promise_9_what_comes_next_in_a_negotiation_and_a_session_is_said() {
        let contract = format!("neg-{ID}");
        for (message_type, id, state, next) in [
            (
                "x811.negotiation/offer",
                &*contract,
                "pending",
                "x811 negotiation list",
            ),
            (
                "x811.negotiation/accept",
                &contract,
                "accepted",
                "--param negotiation_id=neg-",
            ),
            ("x811.negotiation/reject", &contract, "rejected", ""),
            (
                "x811.capability/request",
                ID,
                "requested",
                "x811 capability sessions 0190",
            ),
            (
                "x811.capability/response",
                ID,
                "open",
                "x811 capability offer 0190",
            ),
            ("x811.capability/response", ID, "closed", ""),
            ("x811.capability/agree", ID, "closed", "in force"),
            (
                "x811.consensus/propose",
                ID,
                "proposed",
                "x811 rounds show 0190",
            ),
        ] {
            let answer = json!({
                "subject": {"kind": "of its own", "id": id}, "state": state,
                "envelope_id": ID, "position": 4, "record_hash": "ab".repeat(32),
            });
            let mut sent = sent(false);
            sent.message_type = message_type.parse().unwrap();
            sent.accepted = serde_json::from_value(answer).unwrap();
            let (mut out, text, _) = Out::captured(false);
            out.report(&sent);
            let text = text.text();
            assert_eq!(
                text.contains("next"),
                !next.is_empty(),
                "{message_type}: {text}"
            );
            assert!(text.contains(next), "{message_type}: {text}");
        }
    }

    #[test]
    fn ae_016_a_dispute_is_not_followed_by_a_call_to_pay() {
        let mut verify = sent(false);
        verify.message_type = CoreType::Verify.into();
        let shown = |sent: &Sent| {
            let (mut out, text, _) = Out::captured(false);
            out.report(sent);
            text.text()
        };
        assert!(shown(&verify).contains("x811 pay"));
        assert!(!shown(&verify.note("disputed", "QUALITY")).contains("x811 pay"));
    }
}
