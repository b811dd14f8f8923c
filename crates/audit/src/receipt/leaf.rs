//! Records without what their reader knows: the format, the stream, and all that follows from a
//! message.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use x811_eventlog::{Draft, Hash, Record, RecordError};
use x811_protocol::canonical::to_canonical;
use x811_protocol::envelope::{ParsedEnvelope, verify};
use x811_protocol::event::{Derived, EnvelopeAccepted, Event};
use x811_protocol::json::{Limits, parse_strict};
use x811_protocol::key::{AgentKey, Profile, PublicKey};
use x811_protocol::payload::{self, PayloadRules};
use x811_protocol::rules::Rules;
use x811_protocol::signature::Signature;
use x811_protocol::stream::Stream;

/// Where a record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeafPlace {
    /// Place in the log.
    pub position: u64,
    /// Record hash of the one before.
    pub prev: Hash,
    /// The ledger's clock when it decided.
    pub recorded_at_ms: u64,
    /// Place in its stream.
    pub stream_seq: u64,
}

impl LeafPlace {
    /// The place of `record`.
    pub fn of(record: &Record) -> LeafPlace {
        LeafPlace {
            position: record.position(),
            prev: record.prev(),
            recorded_at_ms: record.recorded_at_ms(),
            stream_seq: record.stream_seq(),
        }
    }

    fn seal<E: Serialize>(self, stream: String, event: E) -> Result<Record, RecordError> {
        let draft = Draft {
            recorded_at_ms: self.recorded_at_ms,
            stream,
            stream_seq: self.stream_seq,
            event,
        };
        Record::seal(self.position, self.prev, draft)
    }
}

/// A record whose stream is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Leaf {
    /// As it stands in the record.
    pub event: Value,
    /// Where the record stands.
    #[serde(flatten)]
    pub place: LeafPlace,
}

impl Leaf {
    /// The leaf of `record`, without its stream.
    pub fn of(record: &Record) -> Leaf {
        Leaf {
            event: record.event(),
            place: LeafPlace::of(record),
        }
    }

    /// The record, in that stream.
    ///
    /// # Errors
    /// Those of [`Record::seal`].
    pub fn record(&self, stream: String) -> Result<Record, RecordError> {
        self.place.seal(stream, &self.event)
    }
}

/// The record at position 0: its place is known too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// The event `ledger_opened`, as it was recorded.
    pub event: Value,
    /// The ledger's clock when it was opened.
    pub recorded_at_ms: u64,
}

impl Opened {
    /// Of the record at position 0.
    pub fn of(record: &Record) -> Opened {
        Opened {
            event: record.event(),
            recorded_at_ms: record.recorded_at_ms(),
        }
    }

    /// The record.
    ///
    /// # Errors
    /// Those of [`Record::seal`].
    pub fn record(&self) -> Result<Record, RecordError> {
        let place = LeafPlace {
            position: 0,
            prev: Hash::ZERO,
            recorded_at_ms: self.recorded_at_ms,
            stream_seq: 0,
        };
        place.seal(Stream::Ledger.to_string(), &self.event)
    }
}

/// A message, and of the record it stands in what does not follow from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Enclosed {
    /// The message that was signed.
    pub body: Value,
    /// By its sender.
    pub signature: Signature,
    /// The sender's key that made it.
    pub key: PublicKey,
    /// What that key signs; left out for [`Profile::Digest`].
    #[serde(default, skip_serializing_if = "is_of_digest")]
    pub profile: Profile,
    /// What the ledger's decision used besides.
    pub derived: Derived,
    /// The decision rules its record was made under: they choose its facts, and the record hash holds the
    /// choice (machines.md section 10).
    pub rules: Rules,
    /// Where the record stands.
    #[serde(flatten)]
    pub place: LeafPlace,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_of_digest(profile: &Profile) -> bool {
    *profile == Profile::Digest
}

impl Enclosed {
    /// Of `record`, which says `accepted` of the message `body`; `None` when that is no JSON.
    pub fn of(record: &Record, accepted: EnvelopeAccepted, body: &[u8]) -> Option<Enclosed> {
        Some(Enclosed {
            body: parse_strict(body, &Limits::bytes(usize::MAX)).ok()?,
            signature: accepted.envelope.signature,
            key: accepted.envelope.key.key,
            profile: accepted.envelope.profile,
            derived: accepted.derived,
            // A second version has to come from the log: the rules in force before the record.
            rules: match Rules::LATEST {
                Rules::Two => Rules::Two,
            },
            place: LeafPlace::of(record),
        })
    }

    /// The record that an honest ledger wrote of the message, which its sender's key signed.
    ///
    /// # Errors
    /// A sentence that says why there is none.
    pub fn record(&self, stream: String) -> Result<(Record, EnvelopeAccepted), String> {
        let accepted = self.accepted().map_err(|refusal| refusal.to_string())?;
        let event = Event::EnvelopeAccepted(accepted.clone());
        let record = self.place.seal(stream, event);
        Ok((record.map_err(|error| error.to_string())?, accepted))
    }

    fn accepted(&self) -> Result<EnvelopeAccepted, x811_protocol::refusal::Refusal> {
        let parsed = ParsedEnvelope::from_body(&to_canonical(&self.body), self.signature)?;
        let key = AgentKey {
            key: self.key,
            profile: self.profile,
        };
        let verified = verify(parsed, &[key])?;
        let header = verified.header();
        // What a ledger may be lenient about changes no fact.
        let rules = PayloadRules {
            lenient_addresses: true,
            reference_sdk: true,
            ..PayloadRules::default()
        };
        let facts = payload::facts(
            &header.message_type,
            header.from,
            verified.payload(),
            &rules,
        )?;
        Ok(EnvelopeAccepted {
            envelope: verified.accepted_header(),
            facts,
            derived: self.derived.clone(),
        })
    }
}
