//! Voting in rounds by a command: it gets what was proposed on standard input, as one line of JSON, and
//! prints its ballot. Nothing else that others wrote reaches it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use x811_client::compose::Ballot;
use x811_client::http::RoundView;
use x811_protocol::did::Did;
use x811_protocol::facts::consensus::{Mechanism, Voting};
use x811_protocol::id::RoundId;
use x811_protocol::time::TimestampMs;

use super::command::CommandWorker;
use super::config::VoterFile;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use crate::rounds::{Member, ballots};
use x811_protocol::shown::shorten;

/// How often the command may fail on one round before it is left alone.
const MOST_FAILURES: u32 = 3;

/// How long before the end of a round its command is ended, so that the vote still arrives.
const SPARE_MS: u64 = 1_000;

/// What an agent does about rounds by itself.
pub(super) struct VoterLoop<'a> {
    pub(super) config: VoterFile,
    pub(super) context: &'a Context,
    pub(super) member: Member<'a>,
    pub(super) worker: CommandWorker,
    /// Rounds up to this one ask nothing of it any more.
    pub(super) done: Option<RoundId>,
    pub(super) failures: BTreeMap<RoundId, u32>,
    pub(super) revealed: BTreeSet<RoundId>,
}

/// What was said, one line each.
#[derive(Debug, Serialize)]
struct Said {
    at_ms: TimestampMs,
    round: RoundId,
    what: &'static str,
    text: String,
}

impl Report for Said {
    fn print(&self, out: &mut Out) {
        let at = self.at_ms.to_rfc3339();
        let text = shorten(&self.text);
        let line = format!("{at}  {:<9} {}  {text}", self.what, self.round);
        if self.what == "failed" {
            out.heading(Tone::Bad, line.trim_end());
        } else {
            out.line(line.trim_end());
        }
    }
}

impl VoterLoop<'_> {
    /// Asks the ledger again and again, until it is dropped.
    ///
    /// # Errors
    /// What the ledger refuses for good; while it cannot be reached it is asked on.
    pub(super) async fn run(mut self, out: &mut Out) -> Result<(), Failure> {
        let mut next = tokio::time::interval(Duration::from_millis(self.config.poll_ms.max(100)));
        loop {
            next.tick().await;
            match self.look(out).await {
                Ok(()) => {}
                Err(failure) if failure.is_transient() => out.warning(&failure.message),
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Every round that may ask something of it.
    async fn look(&mut self, out: &mut Out) -> Result<(), Failure> {
        let rounds = self.member.client.rounds(self.done).await?;
        let me = self.member.identity.did;
        for view in &rounds {
            if let Err(failure) = self.attend(view, me, out).await {
                if failure.is_transient() {
                    return Err(failure);
                }
                self.failed(view.id, &failure.message, out);
            }
        }
        // Ids are in order of time: what is decided at the front is not asked for again.
        let decided = rounds.iter().take_while(|view| view.outcome.is_some());
        self.done = decided.last().map(|view| view.id).or(self.done);
        Ok(())
    }

    async fn attend(&mut self, view: &RoundView, me: Did, out: &mut Out) -> Result<(), Failure> {
        let gave_up = self
            .failures
            .get(&view.id)
            .is_some_and(|times| *times >= MOST_FAILURES);
        if gave_up || !view.participants.contains(&me) || view.outcome.is_some() {
            return Ok(());
        }
        let is_weighted = view.mechanism == Mechanism::Weighted;
        let acknowledges = is_weighted && self.config.acknowledge_weights;
        match view.status.as_str() {
            "proposed" if acknowledges && !view.ready.contains(&me) => {
                let proposed = self.member.proposed(view.id).await?;
                self.member.say(&proposed.ready()).await?;
                self.tell(view.id, "ready", "acknowledged its weights".to_owned(), out);
                Ok(())
            }
            "open" | "suspended" if !view.voted.contains(&me) => self.vote(view, out).await,
            "revealing" if view.voted.contains(&me) => self.reveal(view, out).await,
            _ => Ok(()),
        }
    }

    async fn vote(&mut self, view: &RoundView, out: &mut Out) -> Result<(), Failure> {
        let proposed = self.member.proposed(view.id).await?;
        if proposed.facts.voting == Voting::Sealed
            && let Some(secret) = ballots::find(self.context, &self.member, view.id)?
        {
            // It was kept and did not arrive.
            let step = proposed.commitment(&secret, self.member.identity.did);
            self.member.say(&step).await?;
            return Ok(());
        }
        let facts = &proposed.facts;
        let asked = json!({
            "round": view.id,
            "proposer": proposed.proposer,
            "subject": proposed.subject,
            "action": proposed.action,
            "mechanism": facts.mechanism,
            "participants": facts.participants,
            "weights": facts.weights,
            "quorum": facts.quorum,
            "urgency": facts.urgency,
            "specificity": facts.specificity,
            "attempt": facts.attempt,
            "blocked_by": facts.blocked_by,
            "timeout": facts.timeout_ms.to_rfc3339(),
        });
        let left_ms = facts
            .timeout_ms
            .since(self.context.now())
            .saturating_sub(SPARE_MS);
        let answer = self
            .worker
            .answer(("X811_ROUND_ID", view.id.to_string()), &asked, left_ms);
        let answer = answer
            .await
            .map_err(|fault| Failure::local("vote", fault.reason))?;
        let Answered { ballot, blocked_by } = Answered::read(&answer)?;
        let decision = ballot.decision;
        if facts.voting == Voting::Open {
            self.member.say(&proposed.vote(ballot, blocked_by)).await?;
        } else {
            let secret = ballots::keep(self.context, &self.member, view.id, ballot)?;
            let step = proposed.commitment(&secret, self.member.identity.did);
            self.member.say(&step).await?;
        }
        self.tell(view.id, "voted", decision.to_string(), out);
        Ok(())
    }

    /// Once in the life of the loop: a reveal that is repeated is answered as the first.
    async fn reveal(&mut self, view: &RoundView, out: &mut Out) -> Result<(), Failure> {
        if self.revealed.contains(&view.id) {
            return Ok(());
        }
        let Some(secret) = ballots::find(self.context, &self.member, view.id)? else {
            return Ok(());
        };
        self.member.say(&secret.reveal()).await?;
        self.revealed.insert(view.id);
        self.tell(view.id, "revealed", secret.ballot.decision.to_string(), out);
        Ok(())
    }

    fn failed(&mut self, round: RoundId, why: &str, out: &mut Out) {
        *self.failures.entry(round).or_default() += 1;
        self.tell(round, "failed", why.to_owned(), out);
    }

    fn tell(&self, round: RoundId, what: &'static str, text: String, out: &mut Out) {
        out.report(&Said {
            at_ms: self.context.now(),
            round,
            what,
            text,
        });
    }
}

/// What a command answered.
struct Answered {
    ballot: Ballot,
    blocked_by: Vec<RoundId>,
}

impl Answered {
    /// One JSON object: `decision`, `rationale` and `blocked_by`.
    fn read(text: &str) -> Result<Answered, Failure> {
        let wrong = |why: String| {
            Failure::local("ballot", format!("the command printed no ballot: {why}")).hint(
                "print one JSON object, such as {\"decision\": \"reject\", \"rationale\": \"too slow\"}",
            )
        };
        let mut answer: Value =
            serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let blocked_by = answer
            .as_object_mut()
            .and_then(|members| members.remove("blocked_by"));
        let blocked_by = blocked_by.map_or(Ok(Vec::new()), serde_json::from_value);
        let blocked_by = blocked_by.map_err(|error| wrong(error.to_string()))?;
        let ballot = serde_json::from_value(answer).map_err(|error| wrong(error.to_string()))?;
        Ok(Answered { ballot, blocked_by })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_protocol::facts::consensus::Decision;

    #[test]
    fn cc_018_a_command_prints_one_ballot() {
        let read = |text: &str| Answered::read(text).map(|answer| answer.ballot);
        let ballot = read("{\"decision\": \"approve\"}\n").unwrap();
        assert_eq!(
            (ballot.decision, ballot.rationale),
            (Decision::Approve, None)
        );
        for wrong in [
            "approve",
            "",
            "{}",
            "{\"decision\": \"maybe\"}",
            "{\"decision\": \"approve\"} {\"decision\": \"reject\"}",
            "{\"decision\": \"approve\", \"weight\": 9}",
            "{\"decision\": \"reject\", \"blocked_by\": [\"x\"]}",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
