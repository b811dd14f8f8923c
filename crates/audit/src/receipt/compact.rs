//! Compact receipts: the record `confirmed` and the proof that the log has it, as a COSE statement
//! of two and a half kilobytes. Without the messages they show neither price nor consent.

use x811_eventlog::{CoseError, CoseReceipt, CoseStatement};
use x811_protocol::did::Did;
use x811_protocol::id::InteractionId;
use x811_protocol::key::SecretKey;
use x811_world::keys_statement::SignedKeys;

/// The tag of COSE_Sign1, 18: what a compact receipt begins with, and a receipt in JSON does not.
const FIRST_BYTE: u8 = 0xd2;

/// A compact receipt. Nothing is verified by reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactReceipt {
    /// The issuer is the ledger's DID, the subject the interaction, the leaf `confirmed`.
    pub statement: CoseStatement,
}

impl CompactReceipt {
    /// Over the leaf `confirmed`, which `receipt` is about, by the ledger's receipt key; `keys` is the
    /// keys statement of the same tree.
    #[must_use]
    pub fn sign(
        interaction: InteractionId,
        ledger: Did,
        confirmed: Vec<u8>,
        receipt: CoseReceipt,
        keys: &SignedKeys,
        key: &SecretKey,
    ) -> CompactReceipt {
        let mut statement = CoseStatement {
            issuer: ledger.to_string(),
            subject: interaction.to_string(),
            public_key: *key.public().as_bytes(),
            leaf: confirmed,
            receipt,
            keys: Some(keys.to_json()),
            signature: [0; 64],
        };
        statement.signature = *key.sign(&statement.signed_bytes()).as_bytes();
        CompactReceipt { statement }
    }

    /// The keys statement in it.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn keys(&self) -> Result<SignedKeys, String> {
        let keys = self.statement.keys.as_deref();
        SignedKeys::from_json(keys.ok_or("it has no keys statement")?)
    }

    /// Whether these may be the bytes of one, rather than of a receipt in JSON.
    #[must_use]
    pub fn may_be(bytes: &[u8]) -> bool {
        bytes.first() == Some(&FIRST_BYTE)
    }

    /// The bytes of the file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.statement.to_bytes()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`CoseError`] when it is not exactly what [`CompactReceipt::to_bytes`] writes.
    pub fn from_bytes(bytes: &[u8]) -> Result<CompactReceipt, CoseError> {
        let statement = CoseStatement::from_bytes(bytes)?;
        Ok(CompactReceipt { statement })
    }
}
