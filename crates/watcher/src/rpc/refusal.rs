//! What a JSON-RPC error means. Providers agree neither on codes nor on words: one code stands for a rate limit with one of
//! them and for an answer that is too long with another, and both come inside HTTP status 200.

/// What kind of refusal an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Too much was asked for in too short a time: asked for later, it is answered.
    RateLimit,
    /// The node does not have it yet.
    NotYet,
    /// The node does not know a block that was named by its hash.
    UnknownBlock,
    /// This request is not answered.
    Request,
}

/// Codes that stand for a rate limit: EIP-1474's *limit exceeded*, and those of large providers.
const RATE_LIMITS: [i64; 5] = [-32_005, -32_016, -32_029, -32_007, 429];

/// JSON-RPC's own code for parameters that the method does not take.
const INVALID_PARAMS: i64 = -32_602;

/// Words, in small letters without anything between them, that say what the code does not.
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
/// Of these the answer would be too long, however slowly it is asked for.
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

/// Whether a text that is no JSON-RPC at all speaks of a rate limit, as a provider's page does.
pub(super) fn is_rate_limit(text: &str) -> bool {
    let text = squeezed(text);
    RATE_LIMIT_WORDS.iter().any(|words| text.contains(words))
}

/// Small letters and digits alone.
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
