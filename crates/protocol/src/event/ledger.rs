//! Events of the `ledger` and `roots` streams.

use super::group::event_group;
use super::{ErasureOrder, LiftOrder};
use crate::did::Did;
use crate::digest::Digest;
use crate::key::{PublicKey, SecretKey};
use crate::parameters::Parameters;
use crate::rules::Rules;
use crate::signature::Signature;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::str::FromStr;
use uuid::Uuid;

const ROTATION_TITLE: &str = "x811 ledger key v1";

event_group! {
    /// What the ledger and its operator record of the ledger itself.
    #[expect(
        clippy::large_enum_variant,
        reason = "its place is in `Event`, which holds the largest of all groups"
    )]
    LedgerEvent {
        /// Position 0 of every log.
        "ledger_opened" => Opened(LedgerOpened),
        /// Position 1, and again on change.
        "parameters_set" => ParametersSet(Parameters),
        /// New decision rules are in force from here.
        "rules_changed" => RulesChanged(RulesChanged),
        /// A server key was replaced.
        "ledger_key_rotated" => KeyRotated(LedgerKeyRotated),
        /// The ledger is back after a gap.
        "ledger_resumed" => Resumed(LedgerResumed),
        /// An operator erased bodies of a finished interaction.
        "bodies_erased" => BodiesErased(BodiesErased),
        /// An operator lifted an exclusion.
        "exclusion_lifted" => ExclusionLifted(ExclusionLifted),
    }
}

/// Position 0: who this ledger is (record.md section 2).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerOpened {
    /// UUIDv7 of the log.
    pub log_id: Uuid,
    /// The ledger's own DID.
    pub did: Did,
    /// The checkpoint's name, fixed for ever.
    pub origin: String,
    /// The three server keys.
    pub keys: LedgerKeys,
    /// Version of the form of records.
    pub format: u64,
    /// Decision rules in force.
    pub rules_version: u64,
    /// The least version of the rules that a program must know to read on.
    pub reader: u64,
    /// The log that this one goes on from, where that lost its tail.
    pub continues: Option<Continues>,
}

/// The last checkpoint of a log that another one goes on from (stores.md section 2). What was open
/// there has ended: nothing of it is taken over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Continues {
    /// The origin of its checkpoints; another than the new log's.
    pub origin: String,
    /// Root of its tree.
    pub root: Digest,
    /// Records under that root; at least one.
    pub size: u64,
}

/// The three separate server keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerKeys {
    /// The key that signs checkpoints, keys statements and ends of streams.
    pub checkpoint: PublicKey,
    /// The key that signs notices and agent cards.
    pub envelope: PublicKey,
    /// The key that signs receipts and the tokens of traces.
    pub receipt: PublicKey,
}

impl LedgerKeys {
    /// The key of that role.
    #[must_use]
    pub const fn of(&self, role: LedgerRole) -> PublicKey {
        match role {
            LedgerRole::Envelope => self.envelope,
            LedgerRole::Checkpoint => self.checkpoint,
            LedgerRole::Receipt => self.receipt,
        }
    }

    /// The same, with another key in that role.
    #[must_use]
    pub const fn with(mut self, role: LedgerRole, key: PublicKey) -> LedgerKeys {
        match role {
            LedgerRole::Envelope => self.envelope = key,
            LedgerRole::Checkpoint => self.checkpoint = key,
            LedgerRole::Receipt => self.receipt = key,
        }
        self
    }
}

/// `rules_changed`: from here on other decision rules are in force.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RulesChanged {
    /// The rules from here on.
    pub rules_version: u64,
    /// The least version of the rules that a program must know to read on.
    pub reader: u64,
}

impl RulesChanged {
    /// The event that puts these rules in force.
    #[must_use]
    pub const fn to(rules: Rules) -> RulesChanged {
        RulesChanged {
            rules_version: rules.version(),
            reader: rules.reader(),
        }
    }

    /// The event, if a log in which those rules are in force has to change to these.
    #[must_use]
    pub const fn due(self, in_force: u64) -> Option<RulesChanged> {
        if in_force < self.rules_version {
            Some(self)
        } else {
            None
        }
    }

    /// The rules, if this program knows them and the event is the one that names them.
    #[must_use]
    pub fn known(self) -> Option<Rules> {
        Rules::of(self.rules_version).filter(|rules| rules.reader() == self.reader)
    }
}

/// The number of the rules that an event puts in force, where this program does not know them. Such an event
/// may have members that no other version reads.
#[must_use]
pub fn unknown_rules(event_json: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum Named {
        LedgerOpened { rules_version: u64 },
        RulesChanged { rules_version: u64 },
    }
    let (Named::LedgerOpened { rules_version } | Named::RulesChanged { rules_version }) =
        serde_json::from_slice(event_json).ok()?;
    Some(rules_version).filter(|version| Rules::of(*version).is_none())
}

named! {
    /// Which server key.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum LedgerRole {
        /// It signs the notices and the agent cards of the ledger.
        Envelope = "envelope",
        /// It signs checkpoints, keys statements and ends of streams.
        Checkpoint = "checkpoint",
        /// It signs receipts, and the tokens of traces.
        Receipt = "receipt",
    }
}

/// A role that no server key has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a ledger's keys are: envelope, checkpoint, receipt")]
pub struct NotALedgerRole;

impl FromStr for LedgerRole {
    type Err = NotALedgerRole;

    fn from_str(text: &str) -> Result<LedgerRole, NotALedgerRole> {
        let role = LedgerRole::ALL
            .into_iter()
            .find(|role| role.as_str() == text);
        role.ok_or(NotALedgerRole)
    }
}

/// `ledger_key_rotated`, with a proof by the old key (ledger-contract.md section 4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerKeyRotated {
    /// Which of the three server keys it is.
    pub role: LedgerRole,
    /// The key that ends.
    pub old_key: PublicKey,
    /// The key that begins.
    pub new_key: PublicKey,
    /// By the old key.
    pub proof: Signature,
}

impl LedgerKeyRotated {
    /// `old_key` of the ledger hands its role over.
    #[must_use]
    pub fn sign(
        ledger: Did,
        role: LedgerRole,
        old_key: &SecretKey,
        new_key: PublicKey,
    ) -> LedgerKeyRotated {
        let text = ledger_rotation_message(ledger, role, old_key.public(), new_key);
        LedgerKeyRotated {
            role,
            old_key: old_key.public(),
            new_key,
            proof: old_key.sign(text.as_bytes()),
        }
    }

    /// Whether the old key of the ledger signed it.
    #[must_use]
    pub fn is_proven(&self, ledger: Did) -> bool {
        let text = ledger_rotation_message(ledger, self.role, self.old_key, self.new_key);
        self.old_key.verify(text.as_bytes(), &self.proof)
    }
}

/// The text that a server key signs for the one that follows it: five lines joined by LF, without a
/// final one; keys in multibase (ledger-contract.md section 4).
fn ledger_rotation_message(
    ledger: Did,
    role: LedgerRole,
    old_key: PublicKey,
    new_key: PublicKey,
) -> String {
    format!("{ROTATION_TITLE}\n{ledger}\n{role}\n{old_key}\n{new_key}")
}

/// `ledger_resumed`: every live ledger window moves by the gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerResumed {
    /// How long the ledger was away.
    pub gap_ms: u64,
    /// True if the last checkpoint before this record was lost, and an operator adopted the log without
    /// it: nobody can tell whether records that were acknowledged are missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checkpoint_adopted: bool,
}

/// `bodies_erased`: bodies of messages are gone, and their records stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodiesErased {
    /// Records whose bodies are gone, at most 256.
    pub positions: Vec<u64>,
    /// Who ordered it.
    pub operator: Did,
    /// Why, at most 32 characters.
    pub reason_code: String,
    /// What the operator signed; absent in records of versions that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<ErasureOrder>,
}

/// `exclusion_lifted`, in the stream of an agent's conduct.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExclusionLifted {
    /// Position of the `excluded` that holds no longer.
    pub excluded: u64,
    /// Who ordered it.
    pub operator: Did,
    /// What the operator signed.
    pub order: LiftOrder,
}

/// `state_root`, every 1,000 records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateRoot {
    /// The record it covers up to.
    pub position: u64,
    /// The running root over the states, as of that record.
    pub root: Digest,
    /// Version of the state's form.
    pub schema: u64,
}
