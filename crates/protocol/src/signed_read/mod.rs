//! Who asks to read (AX-44, ledger-contract.md section 6): HTTP message signatures of RFC 9421 in
//! the one form that this ledger takes.
//!
//! Exactly one signature, by Ed25519, over exactly `@method`, `@authority`, `@path` and `@query`, in
//! this order. Its parameters are `created`, `nonce` and `keyid` (the DID URL of the key), and
//! optionally `expires` and `alg`; no others, none twice. Both sides use this module, so they cannot
//! disagree about what is covered. Whose the key is, the ledger decides.

mod base;
mod fields;
mod fresh;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use sfv::{BareItemFromInput, ListSerializer, StringRef, string_ref};

use crate::code::Code;
use crate::did::Did;
use crate::key::{KeyError, KeyId, SecretKey};
use crate::signature::Signature;
use base::signature_base;
use fields::{Element, Member, Value, members};

pub use fresh::NotFresh;

/// The field that says what is signed.
pub const SIGNATURE_INPUT: &str = "signature-input";

/// The field with the signature.
pub const SIGNATURE: &str = "signature";

/// The field that tells which signature is wanted (RFC 9421 section 5.1).
pub const ACCEPT_SIGNATURE: &str = "accept-signature";

/// What that field says. Nonce and key are the signer's to choose, so they stand without a value.
pub const WANTED: &str =
    r#"sig=("@method" "@authority" "@path" "@query");created;nonce;keyid;alg="ed25519""#;

/// The longest field that is read, in bytes.
const MAX_FIELD_BYTES: usize = 1_024;

/// The fewest and the most characters of a nonce.
const NONCE_CHARS: std::ops::RangeInclusive<usize> = 16..=64;

/// What every signature covers, in this order.
const COVERED: [&StringRef; 4] = [
    string_ref("@method"),
    string_ref("@authority"),
    string_ref("@path"),
    string_ref("@query"),
];

/// The label that [`sign`] writes; any other is read as well.
const LABEL: &str = "sig";

/// The algorithm's name (RFC 9421 section 6.2.2).
const ED25519: &str = "ed25519";

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target<'a> {
    /// The method, in upper case.
    pub method: &'a str,
    /// Host and port in lower case, without the port when it is the scheme's own.
    pub authority: &'a str,
    /// The path as it is sent, percent-encoding included; `/` when it is empty.
    pub path: &'a str,
    /// The query as it is sent, without `?`; none and an empty one are the same.
    pub query: Option<&'a str>,
}

impl Target<'_> {
    fn base(&self, parameters: &str) -> String {
        let query = format!("?{}", self.query.unwrap_or_default());
        let values = [self.method, self.authority, self.path, &query];
        let covered: Vec<(&str, &str)> = COVERED
            .iter()
            .map(|component| component.as_str())
            .zip(values)
            .collect();
        signature_base(&covered, parameters)
    }
}

/// The two fields of a signed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedFields {
    /// The value of [`SIGNATURE_INPUT`].
    pub signature_input: String,
    /// The value of [`SIGNATURE`].
    pub signature: String,
}

impl SignedFields {
    fn of(parameters: &str, signature: &Signature) -> SignedFields {
        SignedFields {
            signature_input: format!("{LABEL}={parameters}"),
            signature: format!("{LABEL}=:{}:", STANDARD.encode(signature.as_bytes())),
        }
    }
}

/// Signs a request to read as `did`. The nonce must never be used again.
pub fn sign(
    target: &Target<'_>,
    did: Did,
    key: &SecretKey,
    created_s: u64,
    nonce: [u8; 16],
) -> SignedFields {
    let covered = COVERED.map(|component| format!("\"{}\"", component.as_str()));
    let key_id = KeyId {
        did,
        key: key.public(),
    };
    let parameters = format!(
        "({});created={created_s};nonce=\"{}\";keyid=\"{key_id}\";alg=\"{ED25519}\"",
        covered.join(" "),
        URL_SAFE_NO_PAD.encode(nonce),
    );
    let signature = key.sign(target.base(&parameters).as_bytes());
    SignedFields::of(&parameters, &signature)
}

/// A well-formed signature and what it says of itself; [`ReadProof::verify`] says whether it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadProof {
    /// Who is said to have signed, and with which key.
    pub key_id: KeyId,
    /// When it is said to have been made, in seconds since 1970.
    pub created_s: u64,
    /// Until when its maker wants it taken, in seconds since 1970.
    pub expires_s: Option<u64>,
    /// 16 to 64 printable ASCII characters.
    pub nonce: String,
    /// The parameters in canonical form and in the order they came in.
    parameters: String,
    signature: Signature,
}

impl ReadProof {
    /// Reads the values of [`SIGNATURE_INPUT`] and [`SIGNATURE`].
    ///
    /// # Errors
    /// Anything but the one form that the module names.
    pub fn parse(signature_input: &[u8], signature: &[u8]) -> Result<ReadProof, ProofError> {
        let input = only_member(signature_input, SIGNATURE_INPUT)?;
        let signed = only_member(signature, SIGNATURE)?;
        if input.key != signed.key {
            return Err(ProofError::Labels);
        }
        check_covered(&input.value)?;
        let stated = Stated::read(&input)?;
        Ok(ReadProof {
            key_id: stated.key_id.ok_or(ProofError::Missing("keyid"))?,
            created_s: stated.created_s.ok_or(ProofError::Missing("created"))?,
            expires_s: stated.expires_s,
            nonce: stated.nonce.ok_or(ProofError::Missing("nonce"))?,
            parameters: canonical(&input),
            signature: signature_of(&signed)?,
        })
    }

    /// Reads one that was kept: its [`ReadProof::parameters`] and its [`ReadProof::signature`].
    ///
    /// # Errors
    /// Those of [`ReadProof::parse`], and parameters in any other form than the canonical one.
    pub fn from_parameters(
        parameters: &str,
        signature: Signature,
    ) -> Result<ReadProof, ProofError> {
        let fields = SignedFields::of(parameters, &signature);
        let proof = ReadProof::parse(
            fields.signature_input.as_bytes(),
            fields.signature.as_bytes(),
        )?;
        if proof.parameters != parameters {
            return Err(ProofError::Syntax {
                field: SIGNATURE_INPUT,
            });
        }
        Ok(proof)
    }

    /// What is covered and its parameters, in canonical form: the value of `@signature-params`.
    #[must_use]
    pub fn parameters(&self) -> &str {
        &self.parameters
    }

    /// The signature itself.
    #[must_use]
    pub fn signature(&self) -> Signature {
        self.signature
    }

    /// Whether the key it names signed this request, by strict verification. Whose key it is, the
    /// registry knows.
    #[must_use]
    pub fn verify(&self, target: &Target<'_>) -> bool {
        let base = target.base(&self.parameters);
        self.key_id.key.verify(base.as_bytes(), &self.signature)
    }
}

fn only_member<'a>(field: &'a [u8], name: &'static str) -> Result<Member<'a>, ProofError> {
    if field.len() > MAX_FIELD_BYTES {
        return Err(ProofError::TooLong { field: name });
    }
    let members = members(field).ok_or(ProofError::Syntax { field: name })?;
    let only: Result<[Member<'a>; 1], _> = members.try_into();
    only.map(|[member]| member)
        .map_err(|_| ProofError::NotOne { field: name })
}

fn check_covered(value: &Value<'_>) -> Result<(), ProofError> {
    let Value::List(elements) = value else {
        return Err(ProofError::Covered);
    };
    let is_expected = |(element, expected): (&Element<'_>, &&StringRef)| {
        !element.has_parameters && element.value.as_string() == Some(*expected)
    };
    if elements.len() == COVERED.len() && elements.iter().zip(&COVERED).all(is_expected) {
        Ok(())
    } else {
        Err(ProofError::Covered)
    }
}

fn canonical(input: &Member<'_>) -> String {
    let mut list = ListSerializer::new();
    let mut covered = list.inner_list();
    for component in COVERED {
        covered.bare_item(component);
    }
    let mut parameters = covered.finish();
    for (name, value) in &input.parameters {
        parameters = parameters.parameter(name, value);
    }
    let _: &mut String = parameters.finish();
    // A list with a member is never empty.
    list.finish().unwrap_or_default()
}

fn signature_of(signed: &Member<'_>) -> Result<Signature, ProofError> {
    let bytes = match &signed.value {
        Value::Item(item) if signed.parameters.is_empty() => item.as_byte_sequence(),
        Value::Item(_) | Value::List(_) => None,
    };
    let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
    bytes
        .map(Signature::from_bytes)
        .ok_or(ProofError::Signature)
}

/// The parameters that were given.
#[derive(Default)]
struct Stated {
    created_s: Option<u64>,
    expires_s: Option<u64>,
    nonce: Option<String>,
    key_id: Option<KeyId>,
    names_algorithm: bool,
}

impl Stated {
    fn read(input: &Member<'_>) -> Result<Stated, ProofError> {
        let mut stated = Stated::default();
        for (name, value) in &input.parameters {
            let is_repeated = match name.as_str() {
                "created" => stated
                    .created_s
                    .replace(seconds(value, "created")?)
                    .is_some(),
                "expires" => stated
                    .expires_s
                    .replace(seconds(value, "expires")?)
                    .is_some(),
                "nonce" => stated.nonce.replace(nonce(value)?).is_some(),
                "keyid" => stated.key_id.replace(key_id(value)?).is_some(),
                "alg" => {
                    check_algorithm(value)?;
                    std::mem::replace(&mut stated.names_algorithm, true)
                }
                _ => return Err(ProofError::Unknown),
            };
            if is_repeated {
                return Err(ProofError::Repeated);
            }
        }
        Ok(stated)
    }
}

fn seconds(value: &BareItemFromInput<'_>, name: &'static str) -> Result<u64, ProofError> {
    let seconds = value.as_integer().map(i64::from);
    seconds
        .and_then(|seconds| u64::try_from(seconds).ok())
        .ok_or(ProofError::Seconds(name))
}

fn nonce(value: &BareItemFromInput<'_>) -> Result<String, ProofError> {
    let nonce = value.as_string().map(StringRef::as_str);
    nonce
        .filter(|nonce| NONCE_CHARS.contains(&nonce.len()))
        .map(str::to_owned)
        .ok_or(ProofError::Nonce)
}

fn key_id(value: &BareItemFromInput<'_>) -> Result<KeyId, ProofError> {
    let text = value.as_string().map(StringRef::as_str);
    Ok(text.unwrap_or_default().parse()?)
}

fn check_algorithm(value: &BareItemFromInput<'_>) -> Result<(), ProofError> {
    match value.as_string().map(StringRef::as_str) {
        Some(ED25519) => Ok(()),
        _ => Err(ProofError::Algorithm),
    }
}

/// Why two fields are no proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// Longer than any proof.
    #[error("{field} is longer than {MAX_FIELD_BYTES} bytes: send one signature")]
    TooLong {
        /// Name of the HTTP field.
        field: &'static str,
    },
    /// Not RFC 9651.
    #[error("{field} is no dictionary of structured fields: write it as RFC 9421 section 4 says")]
    Syntax {
        /// Name of the HTTP field.
        field: &'static str,
    },
    /// No signature, or several.
    #[error("{field} has to hold one signature, not none and not several")]
    NotOne {
        /// Name of the HTTP field.
        field: &'static str,
    },
    /// The signature of something else.
    #[error("signature-input and signature have different labels: give both the same")]
    Labels,
    /// Other components, or another order.
    #[error("sign exactly (\"@method\" \"@authority\" \"@path\" \"@query\"), in this order")]
    Covered,
    /// A parameter nobody here understands.
    #[error(
        "the signature has an unknown parameter: created, nonce, keyid, expires and alg are known"
    )]
    Unknown,
    /// A parameter twice.
    #[error("the signature has a parameter twice: give each once")]
    Repeated,
    /// A parameter that must be there.
    #[error("the signature lacks the parameter {0}: created, nonce and keyid have to be there")]
    Missing(&'static str),
    /// A time that is none.
    #[error("{0} has to be a whole number of seconds since 1970")]
    Seconds(&'static str),
    /// Too short to be unique, or too long to be kept.
    #[error("nonce has to be a string of 16 to 64 characters")]
    Nonce,
    /// The signature names an algorithm other than `ed25519`.
    #[error("alg has to be \"ed25519\", or left out")]
    Algorithm,
    /// Not the DID URL of a key.
    #[error("keyid: {0}")]
    KeyId(#[from] KeyError),
    /// Not 64 bytes.
    #[error("the signature has to be 64 bytes between colons, in base64")]
    Signature,
}

impl ProofError {
    /// X811-2003 where key or signature are at fault, else X811-2004.
    pub const fn code(&self) -> Code {
        match self {
            ProofError::KeyId(_) | ProofError::Algorithm | ProofError::Signature => {
                Code::SignatureInvalid
            }
            ProofError::TooLong { .. }
            | ProofError::Syntax { .. }
            | ProofError::NotOne { .. }
            | ProofError::Labels
            | ProofError::Covered
            | ProofError::Unknown
            | ProofError::Repeated
            | ProofError::Missing(_)
            | ProofError::Seconds(_)
            | ProofError::Nonce => Code::MissingCredentials,
        }
    }
}

#[cfg(test)]
mod tests;
