//! The payload of `x811/result` (AE-59, AE-60).

use serde_json::{Map, Value};

use super::PayloadRules;
use super::content_type::is_content_type;
use super::member::Members;
use crate::code::Code;
use crate::digest::Digest;
use crate::facts::{Location, ResultFacts};
use crate::refusal::{Kind, Refusal};

/// The most bytes a provider may announce behind `result_url`: 50 MiB (AX-41).
const MAX_LINKED_CONTENT_BYTES: u64 = 52_428_800;

/// Reads a RESULT. Inline content that does not have the stated hash is no fault here: the fact
/// says so, and the initiator's software decides (AX-19).
pub(super) fn facts(
    payload: &Map<String, Value>,
    rules: &PayloadRules,
) -> Result<ResultFacts, Refusal> {
    let members = Members::new("RESULT", payload);
    let request_id = members.envelope_id("request_id")?;
    let offer_id = members.envelope_id("offer_id")?;
    let content = members.optional_string("content")?;
    let content_type = members.string("content_type")?;
    if !is_content_type(content_type) {
        return Err(Refusal::new(
            Code::ContentTypeUnsupported,
            Kind::Shape,
            "content_type is no MIME type of at most 128 characters; write type/subtype, such as \
             application/json",
        ));
    }
    let result_url = members.optional_uri("result_url")?;
    let result_size = members.optional_integer("result_size")?;
    let result_hash = members.digest("result_hash")?;
    members.integer("execution_time_ms")?;
    members.optional_string("model_used")?;
    members.optional_string("methodology")?;

    let location = match (content, result_url) {
        (Some(content), _) => {
            refuse_over(content.len() as u64, rules.max_inline_content_bytes)?;
            Location::Inline
        }
        (None, Some(_)) => {
            refuse_over(result_size.unwrap_or(0), MAX_LINKED_CONTENT_BYTES)?;
            Location::Url
        }
        (None, None) => {
            return Err(Refusal::shape(
                "a RESULT needs content or result_url: without either nobody could verify it",
            ));
        }
    };
    Ok(ResultFacts {
        request_id,
        offer_id,
        result_hash,
        content_type: content_type.to_owned(),
        result_size,
        location,
        content_matches: content.map(|content| Digest::of(content.as_bytes()) == result_hash),
    })
}

fn refuse_over(bytes: u64, max_bytes: u64) -> Result<(), Refusal> {
    if bytes <= max_bytes {
        return Ok(());
    }
    let message = format!(
        "the content has {bytes} bytes and the limit here is {max_bytes}; {}",
        Code::ResultTooLarge.what_to_do(),
    );
    Err(Refusal::new(Code::ResultTooLarge, Kind::Limit, message))
}
