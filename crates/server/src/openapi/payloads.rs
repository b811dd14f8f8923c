//! The payload of each message type as a schema, made of the table that refusals are named by
//! (`x811_protocol::payload::form`).

use serde_json::{Map, Value};
use utoipa::Modify;
use utoipa::openapi::schema::{
    AdditionalProperties, AnyOfBuilder, ArrayBuilder, Object, ObjectBuilder, Schema, SchemaType,
    Type,
};
use utoipa::openapi::{OpenApi, Ref, RefOr};
use x811_protocol::payload::form::{FORMS, Form, Member, TERMS};

/// Stands for any payload where an envelope is described; [`Payloads`] says what it is.
#[derive(serde::Serialize, utoipa::ToSchema)]
#[schema(value_type = Object)]
pub(crate) struct Payload(Map<String, Value>);

/// Its name among the schemas.
const ANY: &str = "Payload";

/// What terms are, by its name among the schemas.
const TERMS_NAME: &str = "NegotiationTerms";

/// All of them, and [`ANY`].
pub(super) struct Payloads;

impl Modify for Payloads {
    fn modify(&self, description: &mut OpenApi) {
        let schemas = &mut description.components.get_or_insert_default().schemas;
        let mut any = AnyOfBuilder::new().description(Some(
            "What the type demands; of a type of the sender's own, whatever the sender likes",
        ));
        for form in FORMS {
            let name = name_of(form.message_type);
            let description = format!("The payload of `{}`; see {}", form.message_type, form.see());
            let schema = object(form.members).description(Some(description));
            let schema = schema.examples([form.example()]).build();
            schemas.insert(name.clone(), schema.into());
            any = any.item(Ref::from_schema_name(name));
        }
        let terms = object(TERMS).description(Some("What is agreed on"));
        schemas.insert(TERMS_NAME.to_owned(), terms.build().into());
        any = any.item(open_object());
        schemas.insert(ANY.to_owned(), Schema::AnyOf(any.build()).into());
    }
}

/// `x811/offer` → `OfferPayload`, `x811.registry/register` → `RegistryRegisterPayload`.
fn name_of(message_type: &str) -> String {
    let words = message_type
        .trim_start_matches("x811")
        .split(['.', '/', '-']);
    let mut name: String = words.map(capitalised).collect();
    name.push_str("Payload");
    name
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn open_object() -> ObjectBuilder {
    let free = AdditionalProperties::FreeForm(true);
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(free))
}

fn object(members: &[Member]) -> ObjectBuilder {
    members.iter().fold(open_object(), |object, member| {
        let object = object.property(member.name, property(member));
        match member.is_required {
            true => object.required(member.name),
            false => object,
        }
    })
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "only these have a schema of their own"
)]
fn property(member: &Member) -> RefOr<Schema> {
    let reference = |name| {
        let mut reference = Ref::from_schema_name(name);
        member.says.clone_into(&mut reference.description);
        RefOr::Ref(reference)
    };
    match member.form {
        Form::Did | Form::Ledger => return reference("DidText"),
        Form::EnvelopeId => return reference("AnyUuid"),
        Form::Hash => return reference("HexHash"),
        Form::Address => return reference("EthereumAddress"),
        Form::Terms => return reference(TERMS_NAME),
        Form::Array | Form::Texts => return array(member).into(),
        _ => {}
    }
    let mut object = plain(member.form);
    object.description = Some(member.says.to_owned());
    RefOr::T(Schema::Object(object))
}

fn array(member: &Member) -> ArrayBuilder {
    let array = ArrayBuilder::new().description(Some(member.says));
    if matches!(member.form, Form::Texts) {
        return array.items(of(Type::String)).min_items(Some(1));
    }
    array.items(ObjectBuilder::new().schema_type(SchemaType::AnyValue))
}

fn of(kind: Type) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(kind)
}

fn text(pattern: &str) -> ObjectBuilder {
    of(Type::String).pattern(Some(pattern))
}

fn short(most: usize) -> ObjectBuilder {
    of(Type::String).min_length(Some(1)).max_length(Some(most))
}

/// The schema of a form that has no name of its own.
fn plain(form: Form) -> Object {
    match form {
        Form::TaskType | Form::Key => short(128),
        Form::ContentType => of(Type::String).max_length(Some(128)),
        Form::Network => text("^[a-z0-9-]{1,32}$"),
        Form::Object => open_object(),
        Form::Boolean => of(Type::Boolean),
        Form::Positive => of(Type::Integer).minimum(Some(1)),
        Form::Integer => of(Type::Integer).minimum(Some(0)),
        Form::Amount => text(r"^(0|[1-9][0-9]*)(\.[0-9]{1,6})?$"),
        Form::NumberAmount => of(Type::Number).minimum(Some(0)),
        Form::Currency => of(Type::String).enum_values(Some(["USDC"])),
        Form::NegotiationId => text("^neg-[0-9a-f-]{36}$"),
        Form::Moment => of(Type::String).format(Some(utoipa::openapi::SchemaFormat::KnownFormat(
            utoipa::openapi::KnownFormat::DateTime,
        ))),
        Form::Uri => of(Type::String).max_length(Some(2_048)),
        Form::TransactionHash => text("^0x[0-9a-fA-F]{64}$"),
        Form::Word(words) => of(Type::String).enum_values(Some(words.all())),
        Form::Token | Form::TextOrObject => ObjectBuilder::new().schema_type(SchemaType::AnyValue),
        Form::Jws => text(r"^[A-Za-z0-9_-]+\.\.[A-Za-z0-9_-]+$"),
        Form::Text
        | Form::Did
        | Form::Ledger
        | Form::EnvelopeId
        | Form::Hash
        | Form::Address
        | Form::Terms
        | Form::Array
        | Form::Texts => of(Type::String),
    }
    .build()
}
