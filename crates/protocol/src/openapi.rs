//! How the small words are described for programs (OpenAPI 3.1). Texts have patterns, so that a generator of
//! requests meets the rules of the protocol and a checker of answers sees a wrong one.

use crate::capability::version::Version;
use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::evm::{BlockHash, ChainId, EvmAddress, TxHash};
use crate::id::{AgreementId, ContractId, EnvelopeId, InteractionId, RoundId, SessionId};
use crate::key::PublicKey;
use crate::money::MicroUsdc;
use crate::time::TimestampMs;
use crate::trace::Wid;
use std::borrow::Cow;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{KnownFormat, RefOr, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

/// Of each word its name among the schemas, and its schema.
macro_rules! described {
    ($($word:ty: $name:literal, $schema:expr;)*) => {$(
        impl PartialSchema for $word {
            fn schema() -> RefOr<Schema> {
                $schema
            }
        }

        impl ToSchema for $word {
            fn name() -> Cow<'static, str> {
                $name.into()
            }
        }
    )*};
}

described! {
    Did: "DidText", text(
        "`did:x811:` and a UUIDv4 or UUIDv7, lower case.",
        "^did:x811:[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
        Some("did:x811:019c8c61-8129-7511-9f31-aa5142e65448"),
    );
    InteractionId: "Uuid", text(
        "A UUIDv7, lower case.",
        "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
        Some("0190a1b2-c3d4-7e5f-8901-234567890abc"),
    );
    EnvelopeId: "AnyUuid", any_uuid();
    SessionId: "AnyUuid", any_uuid();
    AgreementId: "AnyUuid", any_uuid();
    RoundId: "AnyUuid", any_uuid();
    ContractId: "NegotiationId", text(
        "`neg-` and the envelope id of an offer.",
        "^neg-[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
        None,
    );
    Wid: "Wid", text(
        "The id of a round, a session, an agreement or a negotiation.",
        "^(neg-)?[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
        None,
    );
    Digest: "HexHash", text("SHA-256, lower-case hex.", "^[0-9a-f]{64}$", None);
    EvmAddress: "EthereumAddress", text(
        "An address on Base with its EIP-55 checksum.",
        "^0x[0-9a-fA-F]{40}$",
        Some("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
    );
    TxHash: "TransactionHash", text("Of a transaction on Base.", "^0x[0-9a-f]{64}$", None);
    BlockHash: "BlockHash", text("Of a block of Base.", "^0x[0-9a-f]{64}$", None);
    ChainId: "ChainId", number("EIP-155.");
    MicroUsdc: "Decimal", text(
        "A whole number of micro-USDC, as text.",
        "^(0|[1-9][0-9]{0,18})$",
        Some("2500000"),
    );
    Code: "Code", text("A code of the registry.", "^(X811|CCN)-[0-9]{4}$", Some("X811-4001"));
    PublicKey: "MultibaseKey", text("Multibase.", "^z6Mk[1-9A-HJ-NP-Za-km-z]+$", None);
    Version: "CapabilityVersion", text("MAJOR.MINOR.PATCH.", r"^[0-9]+\.[0-9]+\.[0-9]+$", None);
    TimestampMs: "TimestampMs", number("ms since the Unix epoch.");
}

fn any_uuid() -> RefOr<Schema> {
    text(
        "A UUID of any version of RFC 9562, lower case.",
        "^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
        Some("0190a1b2-c3d4-7e5f-8901-234567890abc"),
    )
}

fn text(about: &str, pattern: &str, example: Option<&str>) -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String);
    let text = text.description(Some(about)).pattern(Some(pattern));
    text.examples(example).into()
}

fn number(about: &str) -> RefOr<Schema> {
    let number = ObjectBuilder::new().schema_type(Type::Integer);
    let number = number.description(Some(about)).minimum(Some(0));
    let format = SchemaFormat::KnownFormat(KnownFormat::Int64);
    number.format(Some(format)).into()
}
