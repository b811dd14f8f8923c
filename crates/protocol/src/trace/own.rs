//! Tokens of agents' own (CX-46): members `ect` of signed payloads. They are no facts and decide nothing;
//! whoever keeps a trace takes them step by step.
//!
//! A token is a JWT of type `exec+jwt` with exactly `alg`, `kid` and `typ` in its header. With `EdDSA`
//! (`Ed25519`) `kid` is a key of the agent, as in all its signatures. With `ES256` it is a `did:key` of P-256:
//! no such key is in a ledger, so what holds is that the agent signed a message with this token in it, and
//! the token by a key that it names itself.
//!
//! Beside a message, in the header `Execution-Context`, tokens are checked when they come and kept nowhere:
//! no signature of the message is over them, so that a log could not show them.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Verifier as _;
use p256::ecdsa::{Signature as P256Signature, VerifyingKey};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;
use uuid::Uuid;

use super::Node;
use super::token::{Claims, SKEW_S, TYP, TraceFault};
use crate::did::Did;
use crate::digest::Digest;
use crate::key::KeyId;
use crate::time::TimestampMs;

/// The member of a payload that holds one.
const MEMBER: &str = "ect";

/// The longest token that is shown, in bytes; of a longer one the ledger signs the hash alone.
const MOST_BYTES: usize = 4_096;

/// Most tokens beside one message: its sender's own, and those that it rests on.
const MOST_PRESENTED: usize = 8;

/// `alg` of tokens by a key that they name themselves.
const ES256: &str = "ES256";

/// Multicodec of a compressed P-256 key.
const P256: [u8; 2] = [0x80, 0x24];

/// An agent's token in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// Whose message it is.
    pub by: Did,
    /// The token as it stands there.
    pub token: String,
}

impl Own {
    pub(super) fn of(payload: &Map<String, Value>, by: Did) -> Option<Own> {
        let token = payload.get(MEMBER)?.as_str()?.to_owned();
        Some(Own { by, token })
    }

    /// SHA-256 of it.
    pub fn hash(&self) -> Digest {
        Digest::of(self.token.as_bytes())
    }
}

/// An agent's token beside a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = OwnTokenAnswer))]
pub struct OwnToken {
    /// `jti` of the ledger's node whose message it was in.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub node: Uuid,
    /// The token as it stands in the message.
    pub token: String,
}

/// The tokens of agents behind these nodes, in their order.
pub fn owns(nodes: &[Node]) -> Vec<OwnToken> {
    let each = nodes.iter().flat_map(|node| {
        let short = node.own.iter().filter(|own| own.token.len() <= MOST_BYTES);
        short.map(|own| OwnToken {
            node: node.jti,
            token: own.token.clone(),
        })
    });
    each.collect()
}

/// What became of one token of an agent's.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OwnStep {
    /// `jti` of the ledger's node.
    pub node: Uuid,
    /// Whose message it was in, by the ledger's word.
    pub by: Did,
    /// The key that it names, where its signature holds.
    pub key: Option<String>,
    /// Why it does not hold; absent where it does.
    pub fault: Option<String>,
}

/// What a node that the ledger signed says of agents' tokens.
#[derive(Deserialize)]
struct Named {
    by: Did,
    hash: Digest,
}

/// Takes the tokens of agents step by step, behind the checked claims of the ledger's: each is the one whose
/// hash the ledger signed, is signed by its agent, and rests on what stands before it. One that an agent
/// made badly is named, and takes nothing from the trace.
///
/// # Errors
/// A token that is not one of those the ledger names, or that comes twice: somebody changed the trace.
pub fn check_own(claims: &[Claims], own: &[OwnToken]) -> Result<Vec<OwnStep>, TraceFault> {
    let mut known = BTreeSet::new();
    let mut steps = Vec::new();
    let mut of_nodes: BTreeMap<Uuid, Vec<&str>> = BTreeMap::new();
    for own in own {
        of_nodes.entry(own.node).or_default().push(&own.token);
    }
    for (place, node) in claims.iter().enumerate() {
        let mut named = named(node);
        for token in of_nodes.remove(&node.jti).unwrap_or_default() {
            let hash = Digest::of(token.as_bytes());
            let Some(found) = named.iter().position(|named| named.hash == hash) else {
                return Err(fault(
                    place,
                    "a token of an agent is not the one in its message",
                ));
            };
            // Each of two agents may have sent the same token.
            let Named { by, .. } = named.remove(found);
            let step = |key, fault| OwnStep {
                node: node.jti,
                by,
                key,
                fault,
            };
            steps.push(match held(token, by, node, &known) {
                Ok((key, jti)) => {
                    known.insert(jti);
                    step(Some(key), None)
                }
                Err(why) => step(None, Some(why)),
            });
        }
        known.insert(node.jti);
    }
    if of_nodes.is_empty() {
        Ok(steps)
    } else {
        Err(fault(
            claims.len(),
            "a token of an agent is of no node here",
        ))
    }
}

/// Checks tokens that are shown beside a message, in a header that no record has: the first is its sender's,
/// signed where it is `EdDSA` by the key that signed the message, `by`; the others, which it may rest on,
/// are by whoever issued them. What they rest on is not looked up: a ledger keeps no tokens of agents.
///
/// # Errors
/// The first fault.
pub fn check_presented(tokens: &[&str], by: KeyId, now: TimestampMs) -> Result<(), TraceFault> {
    let now_s = now.as_ms() / 1_000;
    let mut known = BTreeSet::new();
    for (place, token) in tokens.iter().enumerate() {
        let fault = |why: &str| fault(place, why);
        if place == MOST_PRESENTED {
            return Err(fault("at most eight tokens are taken"));
        }
        if token.len() > MOST_BYTES {
            return Err(fault("a token has at most 4,096 bytes"));
        }
        let sender = (place == 0).then_some(by.did);
        let (header, claims) = read(token, sender).map_err(|why| fault(&why))?;
        let is_of_another_key = place == 0
            && header.alg != ES256
            && header.kid.parse::<KeyId>().is_ok_and(|kid| kid != by);
        let faults = [
            (is_of_another_key, "it is not by the key of the message"),
            (
                sender.is_some_and(|sender| claims.iss != sender),
                "its issuer is not whoever sent the message",
            ),
            (claims.exec_act.is_empty(), "it does not say what was done"),
            (!known.insert(claims.jti), "its jti was there before"),
            (
                claims.iat > now_s.saturating_add(SKEW_S),
                "it says that it was made later than now",
            ),
            (
                claims.exp.is_none_or(|exp| exp <= now_s.max(claims.iat)),
                "it says no end, or has ended",
            ),
        ];
        if let Some((_, why)) = faults.into_iter().find(|(is_there, _)| *is_there) {
            return Err(fault(why));
        }
    }
    Ok(())
}

fn fault(place: usize, why: &str) -> TraceFault {
    TraceFault {
        place,
        why: why.to_owned(),
    }
}

fn named(node: &Claims) -> Vec<Named> {
    let areas = node.ect_ext.values();
    let lists = areas.filter_map(|area| area.get(MEMBER));
    let each = lists.filter_map(|list| Vec::<Named>::deserialize(list).ok());
    each.flatten().collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    alg: String,
    kid: String,
    typ: String,
}

#[derive(Deserialize)]
struct OwnClaims {
    exec_act: String,
    exp: Option<u64>,
    iat: u64,
    iss: Did,
    jti: Uuid,
    #[serde(default)]
    pred: Vec<Uuid>,
    wid: Option<String>,
}

/// The key and `jti` of a token that holds.
fn held(
    token: &str,
    by: Did,
    node: &Claims,
    known: &BTreeSet<Uuid>,
) -> Result<(String, Uuid), String> {
    let (header, claims) = read(token, Some(by))?;
    claims.fit(by, node, known)?;
    Ok((header.kid, claims.jti))
}

/// A token whose signature holds: by a key of that agent, or of whoever it says that issued it.
fn read(token: &str, by: Option<Did>) -> Result<(Header, OwnClaims), String> {
    let parts: Vec<&str> = token.split('.').collect();
    let [protected, payload, signature] = parts.as_slice() else {
        return Err("a token has three parts".to_owned());
    };
    let decoded = |part: &str| {
        URL_SAFE_NO_PAD
            .decode(part)
            .map_err(|_| "a part is no base64url without padding".to_owned())
    };
    let header: Header = serde_json::from_slice(&decoded(protected)?)
        .map_err(|_| "its header must be exactly alg, kid and typ")?;
    if header.typ != TYP {
        return Err(format!("its typ must be {TYP}"));
    }
    let claims: Result<OwnClaims, _> = serde_json::from_slice(&decoded(payload)?);
    let input = format!("{protected}.{payload}");
    let issuer = claims.as_ref().ok().map(|claims| claims.iss);
    if let Some(by) = by.or(issuer) {
        signed_by(&header, by, input.as_bytes(), &decoded(signature)?)?;
    }
    let claims = claims.map_err(|error| format!("its claims cannot be read: {error}"))?;
    Ok((header, claims))
}

fn signed_by(header: &Header, by: Did, input: &[u8], signature: &[u8]) -> Result<(), String> {
    let wrong = || "its signature does not hold".to_owned();
    match header.alg.as_str() {
        "EdDSA" | "Ed25519" => {
            let kid: KeyId = header.kid.parse().map_err(|_| "its kid is no key")?;
            if kid.did != by {
                return Err("its key is not of whoever sent the message".to_owned());
            }
            let signature = signature.try_into().map_err(|_| wrong())?;
            let signature = crate::signature::Signature::from_bytes(signature);
            kid.key
                .verify(input, &signature)
                .then_some(())
                .ok_or_else(wrong)
        }
        ES256 => {
            let key = p256_key(&header.kid).ok_or("its kid is no did:key of P-256")?;
            let signature = P256Signature::from_slice(signature).map_err(|_| wrong())?;
            key.verify(input, &signature).map_err(|_| wrong())
        }
        _ => Err("its alg must be EdDSA or ES256".to_owned()),
    }
}

/// The key in `did:key:zDn…`, with or without a fragment that repeats it.
fn p256_key(kid: &str) -> Option<VerifyingKey> {
    let text = kid.strip_prefix("did:key:")?;
    let key = match text.split_once('#') {
        Some((key, again)) if key == again => key,
        Some(_) => return None,
        None => text,
    };
    let bytes = bs58::decode(key.strip_prefix('z')?).into_vec().ok()?;
    VerifyingKey::from_sec1_bytes(bytes.strip_prefix(&P256)?).ok()
}

impl OwnClaims {
    fn fit(&self, by: Did, node: &Claims, known: &BTreeSet<Uuid>) -> Result<(), String> {
        let recorded_s = node.recorded_at_ms.as_ms() / 1_000;
        let faults = [
            (self.iss != by, "its issuer is not whoever sent the message"),
            (
                self.wid.as_ref().is_some_and(|wid| *wid != node.wid),
                "it belongs to another trace",
            ),
            (self.exec_act.is_empty(), "it does not say what was done"),
            (known.contains(&self.jti), "its jti was there before"),
            (
                self.iat > recorded_s + SKEW_S,
                "it says that it was made after its message was recorded",
            ),
            (
                self.exp.is_some_and(|exp| exp <= self.iat),
                "it ends before it begins",
            ),
            (
                self.pred.iter().any(|pred| !known.contains(pred)),
                "it rests on what is not before it",
            ),
        ];
        match faults.into_iter().find(|(is_there, _)| *is_there) {
            Some((_, why)) => Err(why.to_owned()),
            None => Ok(()),
        }
    }
}
