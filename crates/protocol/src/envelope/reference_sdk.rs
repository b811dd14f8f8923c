//! How the published TypeScript SDK registers: `{envelope, did_document, public_key}`, document and key
//! outside the signature (decision 0190). Nothing of the two is believed: the key has to be the one
//! that signed, and the document to name the sender and that key alone.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::header::Header;
use crate::code::Code;
use crate::document::DidDocument;
use crate::json::{Member, Members};
use crate::key::PublicKey;
use crate::refusal::{Kind, Refusal};

/// What stands beside the envelope.
pub(super) struct Offered {
    key: PublicKey,
    document: DidDocument,
}

/// Takes document and key out of `members`; `None` where neither is there.
pub(super) fn offered(members: &mut Members<'_>) -> Result<Option<Offered>, Refusal> {
    if members.get("envelope").is_none() {
        return Ok(None);
    }
    let (document, key) = (members.remove("did_document"), members.remove("public_key"));
    let (Some(Member::Other(document)), Some(Member::Text(key))) = (&document, &key) else {
        return match (document, key) {
            (None, None) => Ok(None),
            (_, _) => Err(unfit(
                "beside the envelope stand did_document, an object, and public_key, a string: send both",
            )),
        };
    };
    let document = DidDocument::parse(document)
        .map_err(|fault| Refusal::new(fault.code(), Kind::Shape, fault.to_string()))?;
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(key.trim_end_matches('='));
    let bytes: Option<[u8; 32]> = bytes.ok().and_then(|bytes| bytes.try_into().ok());
    let key = bytes.and_then(|bytes| PublicKey::from_bytes(&bytes).ok());
    let key = key.ok_or_else(|| {
        let message = "public_key is no Ed25519 key: write its 32 bytes as base64url";
        Refusal::new(Code::InvalidPublicKey, Kind::Shape, message)
    })?;
    Ok(Some(Offered { key, document }))
}

impl Offered {
    /// The key, where it is what the document of the sender says.
    pub(super) fn of(self, header: &Header) -> Result<PublicKey, Refusal> {
        if header.from != header.to {
            return Err(unfit(
                "a message with did_document and public_key beside it registers: address it to its sender",
            ));
        }
        if self.document.id != header.from || self.document.keys != [self.key] {
            return Err(unfit(
                "did_document is not of the sender with public_key as its only Ed25519 key: give your own",
            ));
        }
        Ok(self.key)
    }
}

fn unfit(message: &str) -> Refusal {
    Refusal::new(Code::DidDocumentInvalid, Kind::Shape, message)
}
