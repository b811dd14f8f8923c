//! The table: every payload that the ledger reads, member by member.

use super::{Form, Member, PayloadForm, Words};

const fn required(name: &'static str, form: Form, says: &'static str) -> Member {
    Member {
        name,
        form,
        is_required: true,
        says,
    }
}

const fn optional(name: &'static str, form: Form, says: &'static str) -> Member {
    Member {
        name,
        form,
        is_required: false,
        says,
    }
}

const REQUEST_ID: Member = required("request_id", Form::EnvelopeId, "the REQUEST");
const OFFER_ID: Member = required("offer_id", Form::EnvelopeId, "the OFFER");
const CURRENCY: Member = required("currency", Form::Currency, "USDC");
const NEGOTIATION_ID: Member = required(
    "negotiation_id",
    Form::NegotiationId,
    "neg- and the envelope id of the offer",
);
const STEP_ID: Member = required("step_id", Form::EnvelopeId, "envelope id of the last terms");
const MESSAGE: Member = optional("message", Form::Text, "text for the other party");
const TERMS_MEMBER: Member = required("terms", Form::Terms, "what is agreed on");
const DOCUMENT: Member = required(
    "document",
    Form::Object,
    "the DID document; its id is the sender",
);
const ENTRY: [Member; 4] = [
    DOCUMENT,
    required(
        "capabilities",
        Form::Array,
        "at most 64 different names: the task types that are taken",
    ),
    optional(
        "wallets",
        Form::Array,
        "at most 8 of {address, kind: eoa or erc1271, proof}",
    ),
    optional(
        "expires_at_ms",
        Form::Integer,
        "after it the DID may only update or revoke, in ms since the Unix epoch",
    ),
];

const DECIDING: &str = "x811consensus-deciding-together";
const ROUND: Member = required(
    "proposal_id",
    Form::EnvelopeId,
    "the round: envelope id of its proposal",
);
const CONSENSUS_ROUND_ID: Member =
    required("consensus_round_id", Form::EnvelopeId, "the same again");
const PROPOSAL_HASH: Member = required(
    "proposal_hash",
    Form::Hash,
    "SHA-256 of the RFC 8785 form of the proposal's payload without its signature",
);
const TERM: Member = required("term", Form::Positive, "the attempt");
const WEIGHTS_HASH: Member = optional(
    "weights_hash",
    Form::Hash,
    "of participants and weights, where there are weights",
);
const VOTER: Member = required("voter", Form::Did, "the sender");
const TIMESTAMP: Member = required(
    "timestamp",
    Form::Text,
    "when: an HTTP-date, or RFC 3339; of a reveal that of the vote",
);
const SIGNATURE: Member = required(
    "signature",
    Form::Jws,
    "detached JWS by the envelope's key over the payload without it",
);
const ECT: Member = optional(
    "ect",
    Form::Token,
    "an execution-context token of the sender's own",
);

/// What `terms` has at least; other members are agreed on too.
pub const TERMS: &[Member] = &[
    required("payer", Form::Did, "who pays"),
    required("payee", Form::Did, "who works"),
    required("amount", Form::Object, "{value, currency}"),
    required(
        "amount_of",
        Form::Word(Words::AmountOf),
        "the price, or the total with the fee in it",
    ),
    optional("task_type", Form::TaskType, "what is to be done"),
    optional("deliverables", Form::Texts, "what will be delivered"),
    optional("deadline_s", Form::Positive, "seconds for the work"),
];

/// Every payload whose form the ledger checks, in the order of the page.
pub const FORMS: &[PayloadForm] = &[
    PayloadForm {
        message_type: "x811.registry/register",
        anchor: "5-registering",
        members: &[
            ENTRY[0],
            ENTRY[1],
            ENTRY[2],
            ENTRY[3],
            optional(
                "profiles",
                Form::Object,
                "a key in multibase, and digest or direct",
            ),
        ],
    },
    PayloadForm {
        message_type: "x811.registry/update",
        anchor: "5-registering",
        members: &ENTRY,
    },
    PayloadForm {
        message_type: "x811.registry/rotate",
        anchor: "5-registering",
        members: &[
            DOCUMENT,
            required("new_key", Form::Text, "the key that begins, in multibase"),
            optional("profile", Form::Word(Words::Profile), "what it signs"),
            required(
                "proof",
                Form::Text,
                "the new key's signature over the rotation text, base64url",
            ),
        ],
    },
    PayloadForm {
        message_type: "x811/request",
        anchor: "x811request-initiator--provider",
        members: &[
            required(
                "task_type",
                Form::TaskType,
                "a capability that the provider registered",
            ),
            required("parameters", Form::Object, "of the task"),
            required(
                "max_budget",
                Form::NumberAmount,
                "the most it may cost, fee included",
            ),
            CURRENCY,
            required("deadline", Form::Positive, "seconds for the work"),
            required(
                "acceptance_policy",
                Form::Word(Words::AcceptancePolicy),
                "who accepts an OFFER",
            ),
            optional(
                "threshold_amount",
                Form::NumberAmount,
                "up to which the policy threshold accepts by itself",
            ),
            optional("callback_url", Form::Uri, "recorded, never called"),
            required(
                "idempotency_key",
                Form::Key,
                "a new UUID for every new request",
            ),
            optional("ledger", Form::Ledger, "the ledger it is for"),
        ],
    },
    PayloadForm {
        message_type: "x811/offer",
        anchor: "x811offer-provider--initiator",
        members: &[
            REQUEST_ID,
            required("price", Form::Amount, "what the provider gets"),
            required("protocol_fee", Form::Amount, "2.5 % of the price, half up"),
            required("total_cost", Form::Amount, "their sum, exactly"),
            CURRENCY,
            required("estimated_time", Form::Positive, "seconds for the work"),
            required("deliverables", Form::Texts, "what will be delivered"),
            optional("terms", Form::Text, "further conditions"),
            required("expiry", Form::Positive, "seconds from created"),
            optional(
                "payment_address",
                Form::Address,
                "the account to be paid; optional if one is registered",
            ),
        ],
    },
    PayloadForm {
        message_type: "x811/accept",
        anchor: "x811accept-initiator--provider",
        members: &[
            OFFER_ID,
            required(
                "offer_hash",
                Form::Hash,
                "SHA-256 of the RFC 8785 form of the OFFER's payload",
            ),
        ],
    },
    PayloadForm {
        message_type: "x811/reject",
        anchor: "x811reject-initiator--provider",
        members: &[
            OFFER_ID,
            required("reason", Form::Text, "why"),
            required("code", Form::Word(Words::Reject), "why, in a word"),
        ],
    },
    PayloadForm {
        message_type: "x811/result",
        anchor: "x811result-provider--initiator",
        members: &[
            REQUEST_ID,
            OFFER_ID,
            optional(
                "content",
                Form::Text,
                "the result; it or result_url must be there",
            ),
            required("content_type", Form::ContentType, "a MIME type"),
            optional("result_url", Form::Uri, "where the result is"),
            optional("result_size", Form::Integer, "its bytes"),
            required(
                "result_hash",
                Form::Hash,
                "SHA-256 of the content, or of the bytes behind result_url",
            ),
            required("execution_time_ms", Form::Integer, "how long it took"),
            optional("model_used", Form::Text, "what made it"),
            optional("methodology", Form::Text, "how"),
        ],
    },
    PayloadForm {
        message_type: "x811/verify",
        anchor: "x811verify-initiator--provider",
        members: &[
            REQUEST_ID,
            OFFER_ID,
            required("result_hash", Form::Hash, "that of the RESULT"),
            required("verified", Form::Boolean, "whether the result is good"),
            optional("dispute_reason", Form::Text, "required with false"),
            optional(
                "dispute_code",
                Form::Word(Words::Dispute),
                "required with false",
            ),
        ],
    },
    PayloadForm {
        message_type: "x811/payment",
        anchor: "x811payment-initiator--provider",
        members: &[
            REQUEST_ID,
            OFFER_ID,
            required(
                "tx_hash",
                Form::TransactionHash,
                "the transaction that paid",
            ),
            required("amount", Form::Amount, "the whole, at least the total"),
            CURRENCY,
            required(
                "network",
                Form::Network,
                "a network of this ledger, such as base",
            ),
            required(
                "payer_address",
                Form::Address,
                "a wallet bound to the initiator",
            ),
            required("payee_address", Form::Address, "the account of the OFFER"),
            optional(
                "fee_tx_hash",
                Form::TransactionHash,
                "where the fee moved in another transaction",
            ),
            optional(
                "authorization_nonce",
                Form::Hash,
                "of an EIP-3009 authorization",
            ),
        ],
    },
    PayloadForm {
        message_type: "x811/error",
        anchor: "x811error-either-party-or-the-ledger",
        members: &[
            required("code", Form::Word(Words::Error), "a code of the registry"),
            required("message", Form::Text, "what happened"),
            optional(
                "related_message_id",
                Form::EnvelopeId,
                "the message it is about",
            ),
        ],
    },
    PayloadForm {
        message_type: "x811.negotiation/offer",
        anchor: "x811negotiation-terms-before-work",
        members: &[
            TERMS_MEMBER,
            required("expires_at", Form::Moment, "5 s to 24 h from now"),
            optional("max_rounds", Form::Positive, "the most turns"),
            optional(
                "parent_negotiation_id",
                Form::NegotiationId,
                "the negotiation that this one follows",
            ),
            MESSAGE,
        ],
    },
    PayloadForm {
        message_type: "x811.negotiation/counter",
        anchor: "x811negotiation-terms-before-work",
        members: &[
            NEGOTIATION_ID,
            STEP_ID,
            TERMS_MEMBER,
            optional(
                "expires_at",
                Form::Moment,
                "without it the one before stays",
            ),
            MESSAGE,
        ],
    },
    PayloadForm {
        message_type: "x811.negotiation/accept",
        anchor: "x811negotiation-terms-before-work",
        members: &[
            NEGOTIATION_ID,
            STEP_ID,
            required(
                "terms_hash",
                Form::Hash,
                "SHA-256 of the RFC 8785 form of the terms",
            ),
        ],
    },
    PayloadForm {
        message_type: "x811.negotiation/reject",
        anchor: "x811negotiation-terms-before-work",
        members: &[NEGOTIATION_ID, STEP_ID, MESSAGE],
    },
    PayloadForm {
        message_type: "x811.negotiation/withdraw",
        anchor: "x811negotiation-terms-before-work",
        members: &[NEGOTIATION_ID, STEP_ID, MESSAGE],
    },
    PayloadForm {
        message_type: "x811.consensus/propose",
        anchor: DECIDING,
        members: &[
            ROUND,
            CONSENSUS_ROUND_ID,
            required("proposer", Form::Did, "the sender"),
            required("subject", Form::Text, "what is decided, for whoever votes"),
            required(
                "action",
                Form::Object,
                "{type}, and resource, risk, reversible where it has them",
            ),
            required(
                "mechanism",
                Form::Text,
                "majority, weighted, optimistic or leader",
            ),
            required("participants", Form::Array, "DIDs of who votes"),
            required("quorum", Form::Integer, "the least number of votes"),
            required("leader", Form::Did, "the ledger, or the agent that leads"),
            required(
                "timeout",
                Form::Text,
                "the last moment for votes: an HTTP-date, or RFC 3339",
            ),
            optional("voting", Form::Text, "open or sealed"),
            optional(
                "reveal_ms",
                Form::Positive,
                "how long sealed votes may be revealed",
            ),
            optional(
                "weights",
                Form::Array,
                "of each participant, in their order",
            ),
            optional("threshold", Form::Object, "{num, den}"),
            optional("f", Form::Integer, "how many faulty agents are tolerated"),
            optional("urgency", Form::Integer, "how soon it must be decided"),
            optional("specificity", Form::Integer, "how narrow the action is"),
            optional("blocked_by", Form::Array, "rounds that stand in its way"),
            optional(
                "resubmission_of",
                Form::EnvelopeId,
                "the failed round that it retries",
            ),
            optional("attempt", Form::Positive, "which attempt it is"),
            SIGNATURE,
            ECT,
        ],
    },
    PayloadForm {
        message_type: "x811.consensus/vote-request",
        anchor: DECIDING,
        members: &[ROUND, PROPOSAL_HASH, TERM, WEIGHTS_HASH, SIGNATURE, ECT],
    },
    PayloadForm {
        message_type: "x811.consensus/ready",
        anchor: DECIDING,
        members: &[
            ROUND,
            PROPOSAL_HASH,
            required("leader", Form::Did, "whom the sender takes as leader"),
            TERM,
            WEIGHTS_HASH,
            SIGNATURE,
            ECT,
        ],
    },
    PayloadForm {
        message_type: "x811.consensus/vote",
        anchor: DECIDING,
        members: &[
            ROUND,
            CONSENSUS_ROUND_ID,
            PROPOSAL_HASH,
            VOTER,
            TIMESTAMP,
            optional(
                "decision",
                Form::Text,
                "approve, reject or abstain; it or commitment must be there",
            ),
            optional("rationale", Form::Text, "why; a rejection needs it"),
            optional("commitment", Form::Hash, "of a sealed vote"),
            optional("blocked_by", Form::Array, "rounds that stand in the way"),
            SIGNATURE,
            ECT,
        ],
    },
    PayloadForm {
        message_type: "x811.consensus/reveal",
        anchor: DECIDING,
        members: &[
            ROUND,
            CONSENSUS_ROUND_ID,
            VOTER,
            TIMESTAMP,
            required("decision", Form::Text, "approve, reject or abstain"),
            optional("rationale", Form::Text, "why; a rejection needs it"),
            required("salt", Form::Text, "16 to 32 random bytes in base64url"),
            SIGNATURE,
            ECT,
        ],
    },
    PayloadForm {
        message_type: "x811.consensus/commit",
        anchor: DECIDING,
        members: &[
            ROUND,
            optional(
                "tally",
                Form::Object,
                "the final tally as the ledger has it",
            ),
            optional("rationale", Form::Text, "why; needed against the votes"),
            SIGNATURE,
            ECT,
        ],
    },
    PayloadForm {
        message_type: "x811.consensus/abort",
        anchor: DECIDING,
        members: &[
            ROUND,
            optional(
                "tally",
                Form::Object,
                "the final tally as the ledger has it",
            ),
            optional("rationale", Form::Text, "why; needed against the votes"),
            SIGNATURE,
            ECT,
        ],
    },
    PayloadForm {
        message_type: "x811.consensus/suspend",
        anchor: DECIDING,
        members: &[ROUND, SIGNATURE, ECT],
    },
    PayloadForm {
        message_type: "x811.consensus/resume",
        anchor: DECIDING,
        members: &[ROUND, SIGNATURE, ECT],
    },
    PayloadForm {
        message_type: "x811.consensus/withdraw",
        anchor: DECIDING,
        members: &[ROUND, SIGNATURE, ECT],
    },
    PayloadForm {
        message_type: "x811.consensus/escalate",
        anchor: DECIDING,
        members: &[
            ROUND,
            required("reason", Form::Text, "time_critical"),
            SIGNATURE,
            ECT,
        ],
    },
    PayloadForm {
        message_type: "x811.consensus/human-decision",
        anchor: DECIDING,
        members: &[
            ROUND,
            required("escalation", Form::Integer, "position of the escalation"),
            required("decision", Form::Text, "approve or reject"),
            required("rationale", Form::Text, "why"),
            SIGNATURE,
            ECT,
        ],
    },
    PayloadForm {
        message_type: "x811.consensus/executed",
        anchor: DECIDING,
        members: &[
            ROUND,
            optional("report", Form::TextOrObject, "a text or an object"),
            SIGNATURE,
            ECT,
        ],
    },
    PayloadForm {
        message_type: "x811.consensus/failed",
        anchor: DECIDING,
        members: &[
            ROUND,
            optional("report", Form::TextOrObject, "a text or an object"),
            SIGNATURE,
            ECT,
        ],
    },
];
