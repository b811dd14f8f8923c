//! Questions to a person, one file each: `approvals/<interaction>.json` (AE-113, AE-116).
//!
//! The loop writes the question, `x811 approvals` writes the decision into the same file. A decision
//! names the hash of the OFFER and the total it was made about; about another OFFER it says nothing,
//! and the person is asked anew.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::id::InteractionId;
use x811_protocol::money::MicroUsdc;
use x811_protocol::time::TimestampMs;

use super::state::Asked;
use crate::home::{HomeError, read_private_up_to, replace};

/// What the time left is shortened by, so that the ACCEPT still arrives, in milliseconds.
pub(crate) const MARGIN_MS: u64 = 5_000;

const MAX_BYTES: u64 = 64 << 10;

/// A question and, once there is one, the decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// About which interaction.
    pub interaction: InteractionId,
    /// The agent that offers.
    pub provider: Did,
    /// What was asked for.
    pub task_type: String,
    /// What it costs in all, fee included.
    pub total: MicroUsdc,
    /// What the provider gets of it.
    pub price: MicroUsdc,
    /// The most the REQUEST allows.
    pub max_budget: MicroUsdc,
    /// How long the work will take, in seconds.
    pub estimated_time_s: u64,
    /// What will be delivered, in the provider's words.
    pub deliverables: Vec<String>,
    /// Further conditions, in the provider's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<String>,
    /// Hash of the OFFER.
    pub offer_hash: Digest,
    /// When it was asked.
    pub asked_at_ms: TimestampMs,
    /// Until when an answer counts.
    pub answer_by_ms: TimestampMs,
    /// What the person said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

/// What a person said, and about what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// Yes or no.
    pub answer: Answer,
    /// Hash of the OFFER it was made about.
    pub offer_hash: Digest,
    /// The total it was made about.
    pub total: MicroUsdc,
    /// When it was made.
    pub at_ms: TimestampMs,
    /// Why, for the provider to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Accept the OFFER.
    Approve,
    /// Reject the OFFER.
    Reject,
}

impl Question {
    /// The decision, if it is about exactly this OFFER and this total, and was made in time.
    pub fn decision_about(&self, asked: &Asked) -> Option<&Decision> {
        let decision = self.decision.as_ref()?;
        let is_about_it = decision.offer_hash == asked.offer_hash
            && decision.total == asked.total
            && decision.at_ms < self.answer_by_ms;
        is_about_it.then_some(decision)
    }

    /// Time left to answer, in milliseconds.
    pub fn left_ms(&self, now: TimestampMs) -> u64 {
        self.answer_by_ms.since(now)
    }
}

/// What a person saw when they decided: a decision about something else is refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// What it costs in all.
    pub total: Option<MicroUsdc>,
    /// Hash of the OFFER.
    pub offer_hash: Option<Digest>,
}

/// Why a decision was not taken.
#[derive(Debug, thiserror::Error)]
pub enum DecisionFault {
    /// It was answered, it lapsed, or there never was one.
    #[error("nobody asks about {0}")]
    NoQuestion(InteractionId),
    /// The OFFER lapses.
    #[error("the time to answer is over: the offer lapses")]
    TooLate,
    /// The OFFER is not the one that was seen.
    #[error("the total is {} USDC, or the offer is another one", total.to_usdc_decimal())]
    Other {
        /// What it costs now.
        total: MicroUsdc,
    },
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] HomeError),
}

/// The folder of questions.
#[derive(Debug, Clone)]
pub struct Approvals {
    folder: PathBuf,
}

impl Approvals {
    /// Those beside the state in `folder`.
    pub fn beside(folder: &Path) -> Approvals {
        Approvals {
            folder: folder.join("approvals"),
        }
    }

    /// All questions, oldest first. Files that hold none are passed over.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn list(&self) -> Result<Vec<Question>, HomeError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(HomeError::io(&self.folder, error)),
        };
        let mut questions = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| HomeError::io(&self.folder, error))?;
            let name = entry.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".json"));
            let id = id.and_then(|id| id.parse().ok());
            if let Some(id) = id {
                questions.extend(self.read(id)?);
            }
        }
        questions.sort_by_key(|question| (question.asked_at_ms, question.interaction));
        Ok(questions)
    }

    /// One question; `None` when there is none, or the file holds something else.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn read(&self, interaction: InteractionId) -> Result<Option<Question>, HomeError> {
        match read_private_up_to(&self.path(interaction), MAX_BYTES) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(HomeError::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a question, or one with its decision.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn write(&self, question: &Question) -> Result<(), HomeError> {
        let path = self.path(question.interaction);
        let bytes = serde_json::to_vec_pretty(question)
            .map_err(|error| HomeError::io(&path, io::Error::other(error)))?;
        replace(&path, &bytes)
    }

    /// Writes what a person decided about the OFFER that is asked about.
    ///
    /// # Errors
    /// [`DecisionFault`].
    pub fn decide(
        &self,
        interaction: InteractionId,
        answer: Answer,
        seen: Seen,
        reason: Option<String>,
        now: TimestampMs,
    ) -> Result<Question, DecisionFault> {
        let question = self.read(interaction)?;
        let mut question = question.ok_or(DecisionFault::NoQuestion(interaction))?;
        if question.left_ms(now) == 0 {
            return Err(DecisionFault::TooLate);
        }
        let is_other = seen.total.is_some_and(|total| total != question.total)
            || seen
                .offer_hash
                .is_some_and(|hash| hash != question.offer_hash);
        if is_other {
            let total = question.total;
            return Err(DecisionFault::Other { total });
        }
        question.decision = Some(Decision {
            answer,
            offer_hash: question.offer_hash,
            total: question.total,
            at_ms: now,
            reason,
        });
        self.write(&question)?;
        Ok(question)
    }

    /// Takes a question away; that there is none is no error.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn remove(&self, interaction: InteractionId) -> Result<(), HomeError> {
        let path = self.path(interaction);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(HomeError::io(&path, error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Where a question is or would be.
    pub fn path(&self, interaction: InteractionId) -> PathBuf {
        self.folder.join(format!("{interaction}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Question {
        let id = "0190a1b2-c3d4-7e5f-8901-234567890abc";
        Question {
            interaction: id.parse().unwrap(),
            provider: crate::testing::ledger_did(),
            task_type: "echo".to_owned(),
            total: MicroUsdc::from_micro_usdc(29_725).unwrap(),
            price: MicroUsdc::from_micro_usdc(29_000).unwrap(),
            max_budget: MicroUsdc::from_micro_usdc(50_000).unwrap(),
            estimated_time_s: 5,
            deliverables: vec!["the text".to_owned()],
            terms: None,
            offer_hash: Digest::of(b"offer"),
            asked_at_ms: TimestampMs::new(1_000),
            answer_by_ms: TimestampMs::new(61_000),
            decision: None,
        }
    }

    #[test]
    fn ae_113_a_decision_counts_for_the_offer_and_total_it_names_alone() {
        let mut question = question();
        let asked = Asked {
            offer_hash: question.offer_hash,
            total: question.total,
        };
        assert_eq!(question.decision_about(&asked), None);
        let decision = Decision {
            answer: Answer::Approve,
            offer_hash: asked.offer_hash,
            total: asked.total,
            at_ms: TimestampMs::new(60_999),
            reason: None,
        };
        question.decision = Some(decision.clone());
        assert_eq!(question.decision_about(&asked), Some(&decision));
        let dearer = MicroUsdc::from_micro_usdc(29_726).unwrap();
        for other in [
            Asked {
                offer_hash: Digest::of(b"another"),
                ..asked
            },
            Asked {
                total: dearer,
                ..asked
            },
        ] {
            assert_eq!(question.decision_about(&other), None, "{other:?}");
        }
        question.decision = Some(Decision {
            at_ms: TimestampMs::new(61_000),
            ..decision
        });
        assert_eq!(question.decision_about(&asked), None, "too late (AE-114)");
    }

    #[test]
    fn questions_are_files_of_their_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::beside(folder.path());
        let question = question();
        assert_eq!(approvals.list().unwrap(), []);
        approvals.write(&question).unwrap();
        std::fs::write(folder.path().join("approvals/README.json"), "{}").unwrap();
        assert_eq!(approvals.list().unwrap(), std::slice::from_ref(&question));
        assert_eq!(
            approvals.read(question.interaction).unwrap(),
            Some(question.clone())
        );
        approvals.remove(question.interaction).unwrap();
        approvals.remove(question.interaction).unwrap();
        assert_eq!(approvals.read(question.interaction).unwrap(), None);
    }
}
