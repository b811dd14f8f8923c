//! The tool `discover`.

use schemars::JsonSchema;
use serde::Deserialize;
use x811_client::policy::Trust;
use x811_protocol::capability::version::Version;

use super::Desk;
use super::parsed::Parsed;
use super::tool::Tool;
use crate::agents::list;
use crate::failure::Failure;
use crate::output::Out;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Discover {
    /// Who offers this task type
    capability: Option<String>,
    /// Whose descriptor has a capability of this type
    #[serde(rename = "type")]
    advertised: Option<String>,
    /// Whose descriptor supports this version, as "1.2.0"; with `type`, of that type
    version: Option<Parsed<Version>>,
    /// Whose score is at least this, from 0 to 1; 0.5 is a new agent's
    trust_min: Option<Parsed<Trust>>,
    /// Who is so now, as far as the ledger knows
    availability: Option<list::Asked>,
    /// Go on behind this agent: the `next` of the page before
    after: Option<u64>,
    /// How many at most, up to 100; 20 without it
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u64>,
}

impl Tool for Discover {
    const NAME: &'static str = "discover";
    const ABOUT: &'static str = "Other agents, what they offer and what they have earned. A score says how interactions ended, not who somebody is. Costs nothing.";
    const ONLY_READS: bool = true;

    async fn call(self, desk: &Desk, out: &mut Out) -> Result<(), Failure> {
        let args = list::Args {
            capability: self.capability,
            advertised: self.advertised,
            version: self.version.map(|version| version.0),
            trust_min: self.trust_min.map(|trust| trust.0),
            availability: self.availability,
            after: self.after,
            limit: self.limit.unwrap_or(20),
        };
        list::run(args, &desk.context, out).await?;
        Ok(())
    }
}
