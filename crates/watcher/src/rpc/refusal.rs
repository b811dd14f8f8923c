//! Classification of JSON-RPC errors. Providers agree neither on codes nor on messages: the same code is a rate limit at
//! one provider and an oversized response at another, and both can have HTTP status 200.

/// Class of a JSON-RPC error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Rate limit: a later request can succeed.
    RateLimit,
    /// The node is still indexing the data.
    NotYet,
    /// The node does not have the block of that hash.
    UnknownBlock,
    /// Refusal of this request.
    Request,
}

/// Codes of rate limits: *limit exceeded* of EIP-1474, and those of large providers.
const RATE_LIMITS: [i64; 5] = [-32_005, -32_016, -32_029, -32_007, 429];

/// JSON-RPC code for invalid parameters.
const INVALID_PARAMS: i64 = -32_602;

/// Parts of messages about rate limits, in lower case and without separators.
const RATE_LIMIT_WORDS: [&str; 9] = [
    "ratelimit",
    "toomanyrequests",
    "requestlimit",
    "requestcount",
    "requestspersecond",
    "computeunits",
    "quota",
    "throttl",
    "slowdown",
];
/// Parts of messages about the size of a request or response, which have codes of rate limits at some providers.
const SIZE_WORDS: [&str; 6] = [
    "results",
    "logs",
    "range",
    "batch",
    "responsesize",
    "toolarge",
];
const NOT_YET_WORDS: [&str; 3] = ["indexing", "inprogress", "notyetavailable"];
const UNKNOWN_BLOCK_WORDS: [&str; 3] = ["unknownblock", "headernotfound", "blocknotfound"];

impl Refusal {
    pub(super) fn of(code: i64, message: &str) -> Refusal {
        let message = squeezed(message);
        let has = |words: &[&str]| words.iter().any(|words| message.contains(words));
        if code != INVALID_PARAMS && has(&UNKNOWN_BLOCK_WORDS) {
            Refusal::UnknownBlock
        } else if has(&NOT_YET_WORDS) {
            Refusal::NotYet
        } else if has(&RATE_LIMIT_WORDS) || (RATE_LIMITS.contains(&code) && !has(&SIZE_WORDS)) {
            Refusal::RateLimit
        } else {
            Refusal::Request
        }
    }
}

/// True if a response that is not JSON-RPC, such as an HTML page, is about a rate limit.
pub(super) fn is_rate_limit(text: &str) -> bool {
    let text = squeezed(text);
    RATE_LIMIT_WORDS.iter().any(|words| text.contains(words))
}

/// The letters and digits of a text, in lower case.
fn squeezed(text: &str) -> String {
    let kept = text.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|character| character.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sw_pitfalls_a_refusal_is_told_by_code_and_words() {
        for (code, message, refusal) in [
            (
                -32_005,
                "daily request count exceeded, request rate limited",
                Refusal::RateLimit,
            ),
            (-32_005, "limit exceeded", Refusal::RateLimit),
            (
                -32_005,
                "query returned more than 10000 results",
                Refusal::Request,
            ),
            (
                -32_005,
                "eth_getLogs is limited to a 10,000 range",
                Refusal::Request,
            ),
            (-32_016, "over rate limit", Refusal::RateLimit),
            (
                -32_007,
                "50/second request limit reached",
                Refusal::RateLimit,
            ),
            (
                429,
                "You have exceeded your compute units per second",
                Refusal::RateLimit,
            ),
            (-32_000, "Too Many Requests", Refusal::RateLimit),
            (-32_600, "batch too large", Refusal::Request),
            (-32_005, "batch too large", Refusal::Request),
            (
                -32_000,
                "transaction indexing is in progress",
                Refusal::NotYet,
            ),
            (-32_000, "unknown block", Refusal::UnknownBlock),
            (-32_000, "header not found", Refusal::UnknownBlock),
            (-32_602, "unknown block tag", Refusal::Request),
            (-32_601, "the method does not exist", Refusal::Request),
            (3, "execution reverted", Refusal::Request),
        ] {
            assert_eq!(Refusal::of(code, message), refusal, "{code} {message}");
        }
    }
}
