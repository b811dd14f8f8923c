//! The form of each payload as data: what a refusal names all faults by, and what the description
//! of the HTTP interface has its schemas from.
//!
//! The files beside this folder read a payload and stop at its first fault. A sender who learns one
//! fault per try needs as many tries: [`all_faults`] goes through the table and names the rest.
//! `tests/payload_rules/forms.rs` holds table, readers and `docs/connect.md` together.

mod table;

pub use table::{FORMS, TERMS};

use serde_json::{Map, Value, json};

use super::PayloadRules;
use super::content_type::is_content_type;
use super::member::Members;
use crate::code::Code;
use crate::facts::{
    AcceptancePolicy, AmountOf, DisputeCode, RejectCode, is_network_name, is_task_type,
};
use crate::key::Profile;
use crate::refusal::{Kind, Refusal};

/// The page that all of it is written on.
const PAGE: &str = "docs/connect.md";

/// A payload of each type, by type.
const EXAMPLES: &str = include_str!("examples.json");

/// Room that a refusal's message leaves for the page, in characters.
const MESSAGE_CHARS: usize = 420;

/// What a member looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A string of whatever content.
    Text,
    /// 1 to 128 printable characters.
    TaskType,
    /// 1 to 128 characters.
    Key,
    /// 1 to 32 of `[a-z0-9-]`.
    Network,
    /// A MIME type.
    ContentType,
    /// An object whose members are the sender's.
    Object,
    /// An array of whatever items.
    Array,
    /// An array of at least one text.
    Texts,
    /// `true` or `false`.
    Boolean,
    /// An integer of at least 1.
    Positive,
    /// An integer of zero or more.
    Integer,
    /// USDC as a decimal string.
    Amount,
    /// USDC as a JSON number.
    NumberAmount,
    /// The text `USDC`.
    Currency,
    /// The UUID that is the id of an envelope.
    EnvelopeId,
    /// `neg-` and a UUID.
    NegotiationId,
    /// `did:x811:` and a UUID.
    Did,
    /// The DID of a ledger; what is none names no ledger, and is no fault (decision 0101).
    Ledger,
    /// A moment in RFC 3339.
    Moment,
    /// SHA-256 in lower-case hex.
    Hash,
    /// An absolute URI.
    Uri,
    /// An account with its checksum.
    Address,
    /// `0x` and 64 hex digits.
    TransactionHash,
    /// One of these words.
    Word(Words),
    /// The terms of a negotiation, [`TERMS`].
    Terms,
    /// A text or an object.
    TextOrObject,
    /// A detached JWS over the payload; what is wrong with it is no matter of form.
    Jws,
    /// A token that nobody reads at submission, whatever it is.
    Token,
}

/// The words that a member may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// The words of the member `acceptance_policy`.
    AcceptancePolicy,
    /// `code` of a REJECT.
    Reject,
    /// The words of the member `dispute_code`.
    Dispute,
    /// `code` of an ERROR.
    Error,
    /// The words of the member `amount_of`.
    AmountOf,
    /// The words of the member `profile`.
    Profile,
}

impl Words {
    /// All of them, as on the wire.
    pub fn all(self) -> Vec<&'static str> {
        match self {
            Words::AcceptancePolicy => AcceptancePolicy::ALL.iter().map(|it| it.as_str()).collect(),
            Words::Reject => RejectCode::ALL.iter().map(|it| it.as_str()).collect(),
            Words::Dispute => DisputeCode::ALL.iter().map(|it| it.as_str()).collect(),
            Words::Error => Code::ALL.iter().map(|it| it.as_str()).collect(),
            Words::AmountOf => AmountOf::ALL.iter().map(|it| it.as_str()).collect(),
            Words::Profile => vec!["digest", "direct"],
        }
    }

    fn fault(self, members: Members<'_>, name: &str) -> Option<Refusal> {
        match self {
            Words::AcceptancePolicy => members.optional_word::<AcceptancePolicy>(name).err(),
            Words::Reject => members.optional_word::<RejectCode>(name).err(),
            Words::Dispute => members.optional_word::<DisputeCode>(name).err(),
            Words::Error => members.optional_word::<Code>(name).err(),
            Words::AmountOf => members.optional_word::<AmountOf>(name).err(),
            Words::Profile => members.optional_word::<Profile>(name).err(),
        }
    }
}

/// A member that a payload has or may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Name of the member.
    pub name: &'static str,
    /// What it looks like.
    pub form: Form,
    /// Whether a payload without it is refused.
    pub is_required: bool,
    /// What it says, in a few words.
    pub says: &'static str,
}

/// What a payload of one type has. Members that are not named are covered by the signature and
/// otherwise ignored (AE-39).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadForm {
    /// The envelope's `type`.
    pub message_type: &'static str,
    /// Where it stands in the page: the anchor of its heading.
    pub anchor: &'static str,
    /// The members that it knows.
    pub members: &'static [Member],
}

impl PayloadForm {
    /// That of messages of this type; `None` for types of the sender's own.
    pub fn of(message_type: &str) -> Option<&'static PayloadForm> {
        FORMS.iter().find(|form| form.message_type == message_type)
    }

    /// A payload that is well formed.
    pub fn example(&self) -> Value {
        let examples: Value = serde_json::from_str(EXAMPLES).unwrap_or_default();
        examples[self.message_type].clone()
    }

    /// The page and the place on it that says so.
    pub fn see(&self) -> String {
        format!("{PAGE}#{}", self.anchor)
    }
}

/// `first`, which a payload of this type was refused with, and beside it every other member that is
/// missing or wrong, and where the page says how it must be. Code and kind stay those of `first`.
/// A refusal that is not about the form stays as it is.
pub fn all_faults(
    first: Refusal,
    message_type: &str,
    payload: &Map<String, Value>,
    rules: &PayloadRules,
) -> Refusal {
    let Some(form) = PayloadForm::of(message_type).filter(|_| first.kind == Kind::Shape) else {
        return first;
    };
    let found: Vec<(String, String)> = faults(form.members, payload, rules).collect();
    let is_named = |name: &str| first.message.starts_with(name);
    let others: Vec<&str> = found
        .iter()
        .filter(|(name, _)| !is_named(name))
        .map(|(_, fault)| fault.as_str())
        .collect();
    let message: String = [&[first.message.as_str()], others.as_slice()]
        .concat()
        .join("; ")
        .chars()
        .take(MESSAGE_CHARS)
        .collect();
    let see = form.see();
    let mut refusal = Refusal::new(first.code, first.kind, format!("{message} (see {see})"));
    let names: Vec<&String> = found.iter().map(|(name, _)| name).collect();
    refusal.details = Some(json!({ "members": names, "see": see }));
    refusal.related = first.related;
    refusal
}

/// Each member that is missing or wrong, with what is wrong with it, in the order of the table.
fn faults<'a>(
    members: &'a [Member],
    payload: &'a Map<String, Value>,
    rules: &'a PayloadRules,
) -> impl Iterator<Item = (String, String)> + 'a {
    members.iter().flat_map(move |member| {
        let name = member.name;
        if !payload.contains_key(name) {
            let missing = (name.to_owned(), format!("{name} is missing"));
            return Vec::from_iter(member.is_required.then_some(missing));
        }
        if matches!(member.form, Form::Terms)
            && let Some(inside) = payload[name].as_object()
        {
            let inner = faults(TERMS, inside, rules);
            let below = |(inner, fault)| (format!("{name}.{inner}"), format!("{name}.{fault}"));
            return inner.map(below).collect();
        }
        let fault = member
            .form
            .fault(Members::new("payload", payload), name, rules);
        Vec::from_iter(fault.map(|fault| (name.to_owned(), fault.message)))
    })
}

impl Form {
    /// What is wrong with the member of this name, which is there.
    fn fault(self, members: Members<'_>, name: &str, rules: &PayloadRules) -> Option<Refusal> {
        let checked = |is_good: fn(&str) -> bool, rule: &str| match members.optional_string(name) {
            Ok(text) if text.is_none_or(is_good) => None,
            Ok(_) => Some(Refusal::shape(format!("{name} must be {rule}"))),
            Err(fault) => Some(fault),
        };
        match self {
            Form::Text | Form::Jws => members.optional_string(name).err(),
            Form::TaskType => checked(is_task_type, "1 to 128 printable characters"),
            Form::Key => checked(is_key, "1 to 128 characters"),
            Form::Network => checked(is_network_name, "1 to 32 of [a-z0-9-]"),
            Form::ContentType => checked(is_content_type, "a MIME type"),
            Form::Object | Form::Terms => members.optional_object(name).err(),
            Form::Array => members.optional_array(name).err(),
            Form::Texts => match members.optional_array(name) {
                Ok(list) if list.is_none_or(are_texts) => None,
                Ok(_) => Some(Refusal::shape(format!(
                    "{name} must be an array of at least one string"
                ))),
                Err(fault) => Some(fault),
            },
            Form::Boolean => members.boolean(name).err(),
            Form::Positive => members.optional_positive_integer(name).err(),
            Form::Integer => members.optional_integer(name).err(),
            Form::Amount => members.decimal_amount(name).err(),
            Form::NumberAmount => members.optional_number_amount(name).err(),
            Form::Currency => members.currency().err(),
            Form::EnvelopeId => members.optional_envelope_id(name).err(),
            Form::NegotiationId => members.optional_contract_id(name).err(),
            Form::Did => members.did(name).err(),
            Form::Ledger | Form::Token => None,
            Form::TextOrObject => match members.optional_string(name) {
                Ok(_) => None,
                Err(_) => members.optional_object(name).err(),
            },
            Form::Moment => members.optional_moment(name).err(),
            Form::Hash => members.optional_digest(name).err(),
            Form::Uri => members.optional_uri(name).err(),
            Form::Address => members.optional_address(name, rules).err(),
            Form::TransactionHash => members.optional_tx_hash(name).err(),
            Form::Word(words) => words.fault(members, name),
        }
    }
}

fn is_key(text: &str) -> bool {
    (1..=128).contains(&text.chars().count())
}

fn are_texts(list: &[Value]) -> bool {
    !list.is_empty() && list.iter().all(Value::is_string)
}
