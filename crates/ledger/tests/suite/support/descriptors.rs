//! A descriptor that has every member.

use super::party::Party;
use serde_json::{Value, json};

/// The type of its message.
pub(crate) const ADVERTISE: &str = "x811.capability/advertise";

/// What that agent says that it can do.
pub(crate) fn descriptor(agent: &Party, revision: u64) -> Value {
    json!({
        "agent_id": agent.did,
        "revision": revision,
        "min_version": "1.0.0",
        "max_version": "2.1.0",
        "deprecated_versions": ["1.0.0"],
        "capabilities": [
            {
                "type": "compute.inference",
                "category": "compute",
                "version": "3.2.1",
                "parameters": {"models": ["small", "large"]},
                "constraints": {"requests_per_minute": 60, "max_payload_bytes": 65536},
                "availability": "available",
            },
            {
                "type": "com.example.translate",
                "category": "knowledge",
                "version": "0.9.0",
                "description": "translates texts",
                "parameters": {},
                "parameters_schema": {
                    "type": "object",
                    "required": ["to"],
                    "properties": {"to": {"enum": ["de", "en"]}},
                },
                "constraints": {},
                "availability": "busy",
                "min_version": "2.0.0",
                "max_version": "2.1.0",
                "deprecated_versions": ["2.0.0"],
            },
        ],
    })
}
