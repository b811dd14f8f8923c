//! A session from the side of one of its parties.

use serde_json::{Map, Value};
use x811_client::compose::{AnsweredTerms, SessionStep};
use x811_client::http::LedgerClient;
use x811_client::identity::Identity;
use x811_client::session::Session;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::id::SessionId;

use crate::context::Context;
use crate::failure::Failure;
use crate::send::json_object;
use crate::send::sent::{Sent, deliver};

/// The agent, its ledger and one of its sessions.
pub(super) struct Dealing<'a> {
    context: &'a Context,
    pub(super) identity: Identity,
    pub(super) client: LedgerClient,
    pub(super) session: Session,
    other: Did,
}

impl<'a> Dealing<'a> {
    /// Reads the session; the agent has to be a party of it.
    pub(super) async fn open(context: &'a Context, id: SessionId) -> Result<Dealing<'a>, Failure> {
        let (identity, client) = context.acting().await?;
        let session = Session::fetch(&client, id).await?;
        let other = session.other_than(identity.did);
        let other = other.ok_or_else(|| {
            Failure::state("your agent takes no part in the session")
                .hint("say with --agent NAME which of your agents does")
        })?;
        Ok(Dealing {
            context,
            identity,
            client,
            session,
            other,
        })
    }

    /// The last terms, which the next message answers.
    pub(super) fn last_terms(&self) -> Result<(AnsweredTerms, Digest), Failure> {
        let last = self.session.last_terms();
        last.ok_or_else(|| {
            Failure::state("the session has no terms yet: its initiator offers the first")
                .hint("wait for them; `x811 capability sessions` shows it")
        })
    }

    /// Says it to the other party.
    pub(super) async fn say(&self, step: &SessionStep) -> Result<Sent, Failure> {
        let (context, client) = (self.context, &self.client);
        let sent = deliver(context, client, &self.identity, self.other, step).await?;
        Ok(sent.note("session", self.session.view.id))
    }
}

/// Terms on the command line.
#[derive(Debug, clap::Args)]
pub(super) struct TermsArgs {
    /// How long the agreement is in force, from the second signature on
    #[arg(long, value_name = "SECONDS")]
    duration: Option<u64>,
    /// The most REQUESTs in all
    #[arg(long, value_name = "NUMBER")]
    requests: Option<u64>,
    /// The most REQUESTs in a minute
    #[arg(long, value_name = "NUMBER")]
    per_minute: Option<u64>,
    /// The most bytes of one REQUEST
    #[arg(long, value_name = "BYTES")]
    request_bytes: Option<u64>,
    /// Further terms as a JSON object, or @FILE with one
    #[arg(long, value_name = "JSON")]
    terms: Option<String>,
}

impl TermsArgs {
    /// Those terms on top of others.
    pub(super) fn on(&self, mut terms: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
        if let Some(further) = &self.terms {
            terms.extend(json_object(further)?);
        }
        let numbers = [
            ("duration_s", self.duration),
            ("max_requests", self.requests),
            ("requests_per_minute", self.per_minute),
            ("max_request_bytes", self.request_bytes),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                terms.insert(name.to_owned(), number.into());
            }
        }
        Ok(terms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cc_079_what_is_not_said_of_terms_stays_as_it_was() {
        let args = TermsArgs {
            duration: None,
            requests: Some(3),
            per_minute: None,
            request_bytes: None,
            terms: Some(r#"{"tone": "formal", "max_requests": 9}"#.to_owned()),
        };
        let before = json!({"duration_s": 60, "max_requests": 1, "tone": "loose"});
        let terms = args.on(before.as_object().unwrap().clone()).unwrap();
        let due = json!({"duration_s": 60, "max_requests": 3, "tone": "formal"});
        assert_eq!(Value::Object(terms), due);
    }
}
