//! Nodes as tokens: JWTs by the ledger's receipt key, and the check of a stored trace.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::Node;
use crate::canonical::to_canonical;
use crate::did::Did;
use crate::jws::{self, JwsSignature};
use crate::key::{KeyId, SecretKey};
use crate::time::TimestampMs;

/// `typ` of the tokens.
pub(super) const TYP: &str = "exec+jwt";

/// Seconds from `iat` to `exp`. A stored trace is checked as of `iat`: it is a record, and authorizes
/// nothing.
const LIFE_S: u64 = 600;

/// How far the clocks of agents and of processes of a ledger may differ, in seconds.
pub const SKEW_S: u64 = 300;

/// The longest `ect_ext`, in bytes of its RFC 8785 form.
const MOST_EXT_BYTES: usize = 4_096;

/// How deep `ect_ext` may be.
const MOST_DEPTH: usize = 5;

/// The same of terms, which lie two levels below.
pub(super) const MOST_TERMS_DEPTH: usize = MOST_DEPTH - 2;

/// What a token says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// `consensus`, `capability_negotiation` or `contract`: what was decided or agreed on, and where its
    /// record stands.
    pub ect_ext: Map<String, Value>,
    /// What was done.
    pub exec_act: String,
    /// When it counts as an authorization no longer, in seconds; it is none.
    pub exp: u64,
    /// When it was served, in seconds since the Unix epoch.
    pub iat: u64,
    /// DID of the ledger, which issues the token.
    pub iss: Did,
    /// Id of the token, which others name in `pred` (RFC 7519).
    pub jti: Uuid,
    /// Those that it rests on.
    pub pred: Vec<Uuid>,
    /// When its record was recorded.
    pub recorded_at_ms: TimestampMs,
    /// The id of the first attempt, of the session or agreement, or of the contract.
    pub wid: String,
}

/// The token of a node of the trace `wid`, served at `now` and signed by `key` of that id.
pub fn token(node: &Node, wid: &str, now: TimestampMs, kid: KeyId, key: &SecretKey) -> String {
    Claims::of(node, wid, now, kid.did).signed(kid, key)
}

impl Claims {
    /// The claims of a node of the trace `wid`, served at `now` by the ledger `iss`.
    pub fn of(node: &Node, wid: &str, now: TimestampMs, iss: Did) -> Claims {
        let iat = now.as_ms() / 1_000;
        let mut ect_ext = Map::new();
        ect_ext.insert(node.act.area().to_owned(), node.said.clone().into());
        Claims {
            ect_ext,
            exec_act: node.act.as_str().to_owned(),
            exp: iat + LIFE_S,
            iat,
            iss,
            jti: node.jti,
            pred: node.pred.clone(),
            recorded_at_ms: node.recorded_at_ms,
            wid: wid.to_owned(),
        }
    }

    /// The token with these claims, signed by `key` of that id.
    pub fn signed(&self, kid: KeyId, key: &SecretKey) -> String {
        let payload = to_canonical(self);
        let signed = jws::sign(kid, TYP, &payload, key);
        let payload = URL_SAFE_NO_PAD.encode(payload);
        format!("{}.{payload}.{}", signed.protected, signed.signature)
    }
}

/// What is wrong with a trace: the place of the token, from 0, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("token {place}: {why}")]
pub struct TraceFault {
    /// Place of that token in the trace, from 0.
    pub place: usize,
    /// What is wrong with it.
    pub why: String,
}

/// Checks a stored trace, in order: every signature, that all are by one key of their issuer, that each
/// comes behind what it rests on, and what bounds them. Returns the claims and that key.
///
/// # Errors
/// The first fault.
pub fn check(tokens: &[&str]) -> Result<(Vec<Claims>, Option<KeyId>), TraceFault> {
    let mut known = BTreeMap::<Uuid, TimestampMs>::new();
    let (mut all, mut by) = (Vec::<Claims>::new(), None);
    for (place, token) in tokens.iter().enumerate() {
        let fault = |why: &str| TraceFault {
            place,
            why: why.to_owned(),
        };
        let (kid, claims) = read(token).map_err(|why| fault(&why))?;
        if *by.get_or_insert(kid) != kid {
            return Err(fault("another key signed it than those before"));
        }
        if claims.iss != kid.did {
            return Err(fault("its issuer is not whose key signed it"));
        }
        if claims.exp != claims.iat.saturating_add(LIFE_S) {
            return Err(fault("exp must be iat and 600 seconds"));
        }
        if all.first().is_some_and(|first| first.wid != claims.wid) {
            return Err(fault("it belongs to another trace"));
        }
        for pred in &claims.pred {
            match known.get(pred) {
                None => return Err(fault("it rests on a node that is not before it")),
                Some(at) if *at > claims.recorded_at_ms => {
                    return Err(fault("it rests on what was recorded later"));
                }
                Some(_) => {}
            }
        }
        let is_new = known.insert(claims.jti, claims.recorded_at_ms).is_none();
        if !is_new {
            return Err(fault("its jti was there before"));
        }
        all.push(claims);
    }
    Ok((all, by))
}

/// A token whose signature holds.
fn read(token: &str) -> Result<(KeyId, Claims), String> {
    let parts: Vec<&str> = token.split('.').collect();
    let [protected, payload, signature] = parts.as_slice() else {
        return Err("a token has three parts".to_owned());
    };
    let payload = URL_SAFE_NO_PAD
        .decode(payload)
        .map_err(|_| "its payload is no base64url without padding")?;
    let signed = JwsSignature {
        protected: (*protected).to_owned(),
        signature: signature
            .parse()
            .map_err(|_| "its signature must be 64 bytes in base64url without padding")?,
    };
    let kid = jws::check(&signed, TYP, &payload).map_err(|fault| fault.to_string())?;
    let claims: Claims = serde_json::from_slice(&payload)
        .map_err(|error| format!("its claims cannot be read: {error}"))?;
    if to_canonical(&claims) != payload {
        return Err("its payload is not in the RFC 8785 form".to_owned());
    }
    let ext = Value::Object(claims.ect_ext.clone());
    if to_canonical(&ext).len() > MOST_EXT_BYTES || crate::json::depth(&ext) > MOST_DEPTH {
        return Err("ect_ext has at most 4,096 bytes and five levels".to_owned());
    }
    Ok((kid, claims))
}
