//! Envelopes: their members and limits, what is signed of them, what the record keeps, and golden vectors.
#![cfg(test)]

mod keys;
mod properties;
mod record;
mod shape;
mod together;
mod vectors;

use x811_protocol::envelope::Header;
use x811_protocol::id::{EnvelopeId, Nonce};
use x811_protocol::time::TimestampMs;

const CREATED_MS: u64 = 1_767_225_600_000;

/// The header of a message of that type, between two agents.
fn header(message_type: &str) -> Header {
    Header {
        id: EnvelopeId::from_parts(CREATED_MS, &[1; 10]),
        version: "0.1.0".to_owned(),
        message_type: message_type.parse().unwrap(),
        from: "did:x811:019c8c61-8129-7511-9f31-aa5142e65448"
            .parse()
            .unwrap(),
        to: "did:x811:019c8c61-8129-7511-9f31-aa5142e65449"
            .parse()
            .unwrap(),
        created_ms: TimestampMs::new(CREATED_MS),
        expires_ms: None,
        nonce: Nonce::from_random([2; 16]),
    }
}
