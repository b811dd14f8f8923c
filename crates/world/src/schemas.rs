//! Schemas of parameters, from the bodies of adverts: what a request of a session is held to. They are in
//! no state, so the sequencer looks them up in the store, and an audit keeps those it has passed.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use x811_protocol::canonical::to_canonical;
use x811_protocol::capability::schema::Schema;
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::refusal::{Kind, Refusal};

/// Schemas by the SHA-256 of their RFC 8785 form.
#[derive(Debug, Clone, Default)]
pub struct Schemas(HashMap<Digest, Arc<Schema>>);

impl Schemas {
    /// Those in the body of an advert.
    pub fn take_advert(&mut self, body: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(body) else {
            return;
        };
        let capabilities = message["payload"]["capabilities"].as_array();
        let schemas = capabilities
            .into_iter()
            .flatten()
            .filter_map(|capability| capability.get("parameters_schema"));
        for schema in schemas {
            if let Ok(read) = Schema::read(schema) {
                self.0
                    .insert(Digest::of(&to_canonical(schema)), Arc::new(read));
            }
        }
    }

    /// The schema of that hash, if it is known.
    pub fn get(&self, hash: Digest) -> Option<&Schema> {
        self.0.get(&hash).map(|schema| &**schema)
    }
}

/// CCN-1001 for a request whose parameters do not fit; `body` is its body.
pub fn unfit(schema: &Schema, body: &[u8]) -> Option<Refusal> {
    let message: Value = serde_json::from_slice(body).ok()?;
    let fault = schema.judge(&message["payload"]["parameters"]).err()?;
    Some(Refusal::new(
        Code::Schema,
        Kind::Shape,
        format!("parameters do not fit the schema of the capability: {fault}"),
    ))
}
