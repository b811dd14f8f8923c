//! Who reads (promise 7, AX-44, ledger-contract.md section 6): agents by a signature of RFC 9421,
//! and on loopback anybody, when the operator said so.
//!
//! A handler of others' business takes a [`Reader`], so that it cannot be written without one, and
//! asks it before anything is shown. Whoever may not see an interaction or a message is answered as
//! if there were none.

mod authority;
mod bearer;
mod log_reader;
mod nonces;
mod operator;
mod signed_by;

use crate::app::App;
use crate::error::ApiError;
use crate::feed::Scope;
use crate::loopback;
use crate::passing::PassedOn;
pub(crate) use bearer::FeedReader;
pub(crate) use log_reader::LogReader;
pub(crate) use operator::Operator;
pub(crate) use signed_by::SignedBy;

use authority::Authorities;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use nonces::SpentNonces;
use serde_json::json;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use x811_ledger::clock::Clock;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::key::KeyId;
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::signed_read::{
    ACCEPT_SIGNATURE, ProofError, ReadProof, SIGNATURE, SIGNATURE_INPUT, Target, WANTED,
};
use x811_protocol::time::TimestampMs;
use x811_world::World;
use x811_world::agent::AgentStanding;

/// Who may do more than the parties.
#[derive(Debug, Clone, Default)]
pub(crate) struct Privileges {
    /// They read everything.
    pub(crate) auditors: Vec<Did>,
    /// They have bodies erased.
    pub(crate) operators: Vec<Did>,
}

/// What the checks of all signed reads share.
pub(crate) struct SignedReads {
    authorities: Authorities,
    privileges: Privileges,
    /// Nonces spent before are forgotten, so nothing dated to a second before this one is taken.
    /// What was dated ahead, by a clock that runs fast, or to this very second may be read again in
    /// the first 5 s: by whoever took the request down, who had its answer then, and reads what the
    /// same agent may read now. Nothing changes by it: bodies are erased once.
    begun_at: TimestampMs,
    nonces: Mutex<SpentNonces>,
}

impl SignedReads {
    /// For a server at `public_authorities`, or without any at `listen` and the loopback names.
    pub(crate) fn new(
        public_authorities: &[String],
        listen: SocketAddr,
        privileges: Privileges,
        begun_at: TimestampMs,
    ) -> SignedReads {
        SignedReads {
            authorities: Authorities::new(public_authorities, listen),
            privileges,
            begun_at,
            nonces: Mutex::default(),
        }
    }

    /// The authorities that a request from `peer` may be signed for, separated by commas; `None`
    /// without any.
    pub(crate) fn accepted(&self, peer: IpAddr, headers: &HeaderMap, uri: &Uri) -> Option<String> {
        let is_from_here = loopback::is_from_here(peer, headers, uri);
        let accepted = self.authorities.accepted(headers, is_from_here);
        accepted.ok().map(|accepted| accepted.join(","))
    }

    fn spend(&self, proof: &ReadProof, now: TimestampMs) -> Result<(), Refusal> {
        let mut nonces = self.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        nonces.spend(proof.key_id.did, &proof.nonce, now)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reader {
    /// An agent, by one of its present keys.
    Agent {
        /// The key it proved.
        key_id: Box<KeyId>,
        /// Whether the operator lets it read everything.
        is_auditor: bool,
        /// Whether it signed this very request; else it has a token.
        is_signed: bool,
    },
    /// Whoever is on this machine, where reads are open.
    Anyone,
}

impl Reader {
    /// The agent that has proved that key, by the request itself or by a token.
    fn by<C>(key_id: KeyId, is_signed: bool, app: &App<C>) -> Reader {
        let auditors = &app.signed_reads.privileges.auditors;
        Reader::Agent {
            is_auditor: auditors.contains(&key_id.did),
            key_id: Box::new(key_id),
            is_signed,
        }
    }

    /// Who signed, or where reads are open, whoever is on this machine.
    fn without_token<C: Clock>(parts: &Parts, app: &App<C>) -> Result<Reader, ReadRefusal> {
        if !is_signed(parts) && app.open_reads {
            loopback::check(parts)?;
            return Ok(Reader::Anyone);
        }
        Ok(Reader::by(verified(parts, app)?, true, app))
    }

    /// Whose reads these count as, of a feed of `recipient`.
    pub(crate) fn counts_as(&self, recipient: Did) -> Did {
        match self {
            Reader::Agent { key_id, .. } => key_id.did,
            Reader::Anyone => recipient,
        }
    }

    /// Whether this is `agent` itself, by a signature, or this machine where reads are open. Tokens
    /// lie about in browsers and only show.
    pub(crate) fn acts_for(&self, agent: Did) -> bool {
        match self {
            Reader::Agent {
                key_id, is_signed, ..
            } => *is_signed && key_id.did == agent,
            Reader::Anyone => true,
        }
    }

    /// Whether the business of these agents may be shown.
    pub(crate) fn may_read(&self, parties: &[Did]) -> bool {
        match self {
            Reader::Agent {
                key_id, is_auditor, ..
            } => *is_auditor || parties.contains(&key_id.did),
            Reader::Anyone => true,
        }
    }

    /// The agent whose business alone it may read; `None` where that of all may be.
    pub(crate) fn alone(&self) -> Option<Did> {
        match self {
            Reader::Agent {
                key_id, is_auditor, ..
            } => (!is_auditor).then_some(key_id.did),
            Reader::Anyone => None,
        }
    }

    /// The agent that reads, also an auditor.
    pub(crate) fn agent(&self) -> Option<Did> {
        match self {
            Reader::Agent { key_id, .. } => Some(key_id.did),
            Reader::Anyone => None,
        }
    }

    /// The reader's DID, if it signed and is one of the operators.
    pub(crate) fn operator<C: Clock>(&self, app: &App<C>) -> Option<Did> {
        let Reader::Agent { key_id, .. } = self else {
            return None;
        };
        let operators = &app.signed_reads.privileges.operators;
        operators.contains(&key_id.did).then_some(key_id.did)
    }

    /// Refuses a reader whose standing or key has gone since it asked: a long poll must not
    /// outlive a rotation.
    pub(crate) fn check_standing<C: Clock>(&self, app: &App<C>) -> Result<(), ReadRefusal> {
        match self {
            Reader::Agent { key_id, .. } => Ok(check_standing(
                key_id,
                &app.ledger.world(),
                app.ledger.now(),
            )?),
            Reader::Anyone => Ok(()),
        }
    }
}

impl<C: Clock> FromRequestParts<Arc<App<C>>> for Reader {
    type Rejection = ReadRefusal;

    async fn from_request_parts(
        parts: &mut Parts,
        app: &Arc<App<C>>,
    ) -> Result<Reader, ReadRefusal> {
        // Nothing is done by a token, it only reads.
        if [Method::GET, Method::HEAD].contains(&parts.method)
            && let Some(claims) = bearer::claims(parts, Scope::Explorer, app)?
        {
            return Ok(Reader::by(claims.key_id, false, app));
        }
        Reader::without_token(parts, app)
    }
}

pub(crate) fn is_signed(parts: &Parts) -> bool {
    let mut fields = [SIGNATURE_INPUT, SIGNATURE].iter();
    fields.any(|field| parts.headers.contains_key(*field))
}

/// The key whose signature the request carries. The order: form, time, registry, signature,
/// nonce; so only the agent itself can spend its nonces.
fn verified<C: Clock>(parts: &Parts, app: &App<C>) -> Result<KeyId, Refusal> {
    let proof = ReadProof::parse(
        only(&parts.headers, SIGNATURE_INPUT)?,
        only(&parts.headers, SIGNATURE)?,
    )
    .map_err(malformed)?;
    let (now, reads) = (app.ledger.now(), &app.signed_reads);
    check_times(&proof, now, reads.begun_at)?;
    check_standing(&proof.key_id, &app.ledger.world(), now)?;
    covered_authority(parts, app, &proof)?;
    reads.spend(&proof, now)?;
    Ok(proof.key_id)
}

/// The authority that the signature covers, of those that this request may be signed for.
fn covered_authority<'a, C: Clock>(
    parts: &'a Parts,
    app: &'a App<C>,
    proof: &ReadProof,
) -> Result<&'a str, Refusal> {
    let accepted = accepted_authorities(parts, app)?;
    for authority in accepted.iter().copied() {
        let target = Target {
            method: parts.method.as_str(),
            authority,
            path: parts.uri.path(),
            query: parts.uri.query(),
        };
        if proof.verify(&target) {
            return Ok(authority);
        }
    }
    Err(not_signed(&accepted))
}

fn accepted_authorities<'a, C: Clock>(
    parts: &'a Parts,
    app: &'a App<C>,
) -> Result<Vec<&'a str>, Refusal> {
    // Another process of this ledger was asked, under names of its own.
    let passed_on = parts.extensions.get::<PassedOn>();
    if let Some(authorities) = passed_on.and_then(|passed_on| passed_on.authorities.as_deref()) {
        return Ok(authorities.split(',').collect());
    }
    let is_from_here = loopback::check(parts).is_ok();
    let authorities = &app.signed_reads.authorities;
    authorities.accepted(&parts.headers, is_from_here)
}

/// The value of a field that has to come once.
fn only<'a>(headers: &'a HeaderMap, field: &str) -> Result<&'a [u8], Refusal> {
    let mut values = headers.get_all(field).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(value.as_bytes()),
        (None, _) => Err(unsigned(format!(
            "this is for whom it concerns alone, and {field} is missing: sign the request as RFC 9421 and \
             the Accept-Signature header of this answer say"
        ))),
        (Some(_), Some(_)) => Err(unsigned(format!(
            "{field} came twice: send it once, with one signature"
        ))),
    }
}

fn malformed(error: ProofError) -> Refusal {
    Refusal::new(error.code(), Kind::Authentication, error.to_string())
}

fn unsigned(message: String) -> Refusal {
    Refusal::new(Code::MissingCredentials, Kind::Authentication, message)
}

/// X811-2002, with the offset of the reader's clock: the ledger's time minus the signed time.
fn check_times(proof: &ReadProof, now: TimestampMs, begun_at: TimestampMs) -> Result<(), Refusal> {
    let why = match proof.check_fresh(now) {
        Err(why) => why.to_string(),
        Ok(()) if proof.created_s < begun_at.as_ms() / 1_000 => {
            "it was created before this ledger was started, so it cannot know whether it was used: \
             sign anew"
                .to_owned()
        }
        Ok(()) => return Ok(()),
    };
    let (created_ms, now_ms) = (proof.created().as_ms(), now.as_ms());
    let as_signed = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
    let offset_ms = as_signed(now_ms).saturating_sub(as_signed(created_ms));
    let side = if offset_ms < 0 { "ahead of" } else { "behind" };
    let message = format!(
        "the signature is dated {} ms {side} this ledger's clock, which says {}: {why}",
        offset_ms.unsigned_abs(),
        now.to_rfc3339()
    );
    let refusal = Refusal::new(Code::TimestampInvalid, Kind::Authentication, message);
    Err(refusal.with_details(json!({
        "created_ms": created_ms,
        "now_ms": now_ms,
        "offset_ms": offset_ms,
    })))
}

/// A registered, active DID and one of its present keys (AX-29, AX-30).
fn check_standing(key_id: &KeyId, world: &World, now: TimestampMs) -> Result<(), Refusal> {
    let agent = world.agent(key_id.did).ok_or_else(|| {
        let message = "the DID in keyid is not registered here: register it first";
        Refusal::new(Code::DidNotFound, Kind::NotFound, message)
    })?;
    let standing = agent.standing(now);
    let invalid = |message: String| {
        let refusal = Refusal::new(Code::SignatureInvalid, Kind::Authentication, message);
        refusal.with_details(json!({ "did_status": standing.as_str() }))
    };
    if standing != AgentStanding::Active {
        let status = standing.as_str();
        return Err(invalid(format!(
            "the DID in keyid is {status}: it reads nothing until it is active again"
        )));
    }
    match agent.key(&key_id.key) {
        Some(_) => Ok(()),
        None => Err(invalid(
            "the key in keyid is no present key of its DID: sign with the present one".to_owned(),
        )),
    }
}

/// The client must not sign for an authority because a refusal names it (decision 0297): the sentence
/// is for a person.
fn not_signed(authorities: &[&str]) -> Refusal {
    let message = format!(
        "the key in keyid did not sign this request for this ledger: sign its method, its path and \
         query as they are sent, and the authority {}. If you ask under another name, use that one as \
         the ledger's address, or have its operator add yours to --public-authority",
        authorities.join(" or ")
    );
    let refusal = Refusal::new(Code::SignatureInvalid, Kind::Authentication, message);
    refusal.with_details(json!({ "authorities": authorities }))
}

/// A read that is not answered. What lacks a good signature is told which one is wanted.
#[derive(Debug)]
pub(crate) struct ReadRefusal(ApiError);

impl<E: Into<ApiError>> From<E> for ReadRefusal {
    fn from(error: E) -> ReadRefusal {
        ReadRefusal(error.into())
    }
}

impl IntoResponse for ReadRefusal {
    fn into_response(self) -> Response {
        let mut response = self.0.into_response();
        if response.status() == StatusCode::UNAUTHORIZED {
            let wanted = HeaderValue::from_static(WANTED);
            response.headers_mut().insert(ACCEPT_SIGNATURE, wanted);
        }
        response
    }
}
