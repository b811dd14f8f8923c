//! What descriptors, sessions and agreements are held to (capability.md, "Parameters").

use serde::{Deserialize, Serialize};

use super::{BlockVersion, no_limit};

/// What descriptors of capabilities, sessions and agreements are held to (capability.md, "Parameters").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = CapabilitiesInForce))]
pub struct Capabilities {
    /// Most active agreements, open sessions included, that a request may add to between one
    /// consumer and one provider.
    #[serde(default = "no_limit")]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub active_agreements_per_pair: u64,
    /// Most adverts of one agent in an hour of UTC.
    #[serde(default = "no_limit")]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub adverts_per_hour: u64,
    /// How long the signatures of accepted terms are waited for.
    pub agree_ms: u64,
    /// The longest duration of an agreement, in seconds.
    pub agreement_max_s: u64,
    /// The most counters in a session, of both sides together.
    pub counters: u64,
    /// When breaches of agreements exclude from new sessions and rounds; absent: they are recorded only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusion: Option<Exclusion>,
    /// Most sessions one initiator may have open.
    #[serde(default = "no_limit")]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub open_sessions_per_initiator: u64,
    /// Most sessions one initiator may have open with one target.
    #[serde(default = "no_limit")]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub open_sessions_per_pair: u64,
    /// How long a request waits for its response.
    pub response_ms: u64,
    /// The longest life of a session.
    pub session_max_ms: u64,
    /// The shortest life of a session.
    pub session_min_ms: u64,
    /// Its life where the response names none.
    pub session_ms: u64,
    /// The version of the block.
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub version: BlockVersion,
}

impl Capabilities {
    /// The defaults of capability.md.
    pub const DEFAULT: Capabilities = Capabilities {
        active_agreements_per_pair: 100,
        adverts_per_hour: 60,
        agree_ms: 30_000,
        agreement_max_s: 31_536_000,
        counters: 5,
        exclusion: None,
        open_sessions_per_initiator: 200,
        open_sessions_per_pair: 20,
        response_ms: 30_000,
        session_max_ms: 86_400_000,
        session_min_ms: 1_000,
        session_ms: 60_000,
        version: BlockVersion::Two,
    };
}

/// When breaches of agreements exclude an agent from new sessions and rounds (capability.md, "Breach and
/// exclusion").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ExclusionInForce))]
pub struct Exclusion {
    /// So many breaches; of two consumers at least, so no fewer than two.
    pub breaches: u64,
    /// How long it lasts.
    pub for_ms: u64,
    /// Breaches count for so long.
    pub within_ms: u64,
}

impl Exclusion {
    /// The defaults of capability.md: three in 30 days exclude for 30 days.
    pub const DEFAULT: Exclusion = Exclusion {
        breaches: 3,
        for_ms: 2_592_000_000,
        within_ms: 2_592_000_000,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mach_1_a_block_of_another_version_is_refused_by_its_number() {
        let mut written = serde_json::to_value(Capabilities::DEFAULT).unwrap();
        assert_eq!(written["version"], 2);
        let why = |written: &serde_json::Value| {
            let read = serde_json::from_value::<Capabilities>(written.clone());
            read.unwrap_err().to_string()
        };
        for unknown in [0, 1, 3] {
            written["version"] = unknown.into();
            let names = format!("`version` is {unknown}, this program knows 2");
            assert!(why(&written).contains(&names), "{unknown}");
        }
        written.as_object_mut().unwrap().remove("version");
        assert!(
            why(&written).contains("missing field `version`"),
            "{}",
            why(&written)
        );
    }
}
