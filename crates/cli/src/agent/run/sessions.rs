//! The block `[sessions]` of the files of `x811 agent run`, with what is granted and what is asked for.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use x811_client::agent::{Dealer, Grant, Order, Want};
use x811_client::usage::{Halfway, Straight, Usage, UsageStrategy};
use x811_protocol::capability::version::{Version, VersionRange};
use x811_protocol::did::Did;

use crate::failure::Failure;

/// How it takes part in sessions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionsFile {
    strategy: StrategyName,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StrategyName {
    Halfway,
    Straight,
}

/// Numbers of terms; absent limits are none.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct UsageFile {
    duration_s: u64,
    max_requests: Option<u64>,
    requests_per_minute: Option<u64>,
    max_request_bytes: Option<u64>,
}

impl UsageFile {
    fn usage(self, name: &str) -> Result<Usage, Failure> {
        let limits = [
            Some(self.duration_s),
            self.max_requests,
            self.requests_per_minute,
            self.max_request_bytes,
        ];
        if limits.contains(&Some(0)) {
            let message =
                format!("{name}: numbers of terms are at least 1; leave a limit out for none");
            return Err(Failure::usage(&message));
        }
        Ok(Usage {
            duration_s: self.duration_s,
            max_requests: self.max_requests,
            requests_per_minute: self.requests_per_minute,
            max_request_bytes: self.max_request_bytes,
        })
    }

    /// As the least that is taken: a limit that is left out may be any.
    fn least(self, name: &str) -> Result<Usage, Failure> {
        let any = |limit: Option<u64>| Some(limit.unwrap_or(1));
        let least = self.usage(name)?;
        Ok(Usage {
            max_requests: any(least.max_requests),
            requests_per_minute: any(least.requests_per_minute),
            max_request_bytes: any(least.max_request_bytes),
            ..least
        })
    }
}

/// Use that a provider grants by itself.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GrantFile {
    /// The type, as in the agent's descriptor.
    #[serde(rename = "type")]
    capability: String,
    /// The first terms that it names; the most without it.
    first: Option<UsageFile>,
    /// The most that it grants.
    most: UsageFile,
    /// What `data_handling` must say, if terms may have it.
    data_handling: Option<Map<String, Value>>,
}

impl GrantFile {
    fn grant(&self) -> Result<Grant, Failure> {
        let most = self.most.usage("grant.most")?;
        Ok(Grant {
            capability: self.capability.clone(),
            first: match self.first {
                Some(first) => first.usage("grant.first")?,
                None => most,
            },
            most,
            rest: rest(self.data_handling.as_ref()),
        })
    }
}

/// An agreement that an initiator asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgreementFile {
    /// Orders name it.
    pub(super) key: String,
    provider: Did,
    /// The type, as in the provider's descriptor.
    #[serde(rename = "type")]
    capability: String,
    /// The lowest version that it speaks; `max_version` without it.
    min_version: Option<Version>,
    max_version: Version,
    #[serde(default)]
    deprecated_versions: Vec<Version>,
    #[serde(default)]
    parameters: Map<String, Value>,
    /// The first terms that it names.
    first: UsageFile,
    /// The least that it takes.
    least: UsageFile,
    /// What `data_handling` says, if terms are to have it.
    data_handling: Option<Map<String, Value>>,
}

impl AgreementFile {
    fn want(&self, orders: Vec<Order>) -> Result<Want, Failure> {
        Ok(Want {
            key: self.key.clone(),
            provider: self.provider,
            capability: self.capability.clone(),
            protocol: VersionRange {
                deprecated: self.deprecated_versions.clone(),
                max: self.max_version,
                min: self.min_version.unwrap_or(self.max_version),
            },
            parameters: self.parameters.clone(),
            first: self.first.usage("agreement.first")?,
            least: self.least.least("agreement.least")?,
            rest: rest(self.data_handling.as_ref()),
            orders,
        })
    }
}

fn rest(data_handling: Option<&Map<String, Value>>) -> Map<String, Value> {
    let members = data_handling.map(|members| ("data_handling".to_owned(), members.clone().into()));
    members.into_iter().collect()
}

impl SessionsFile {
    fn dealer(&self, wants: Vec<Want>, grants: Vec<Grant>) -> Dealer {
        let strategy: Arc<dyn UsageStrategy> = match self.strategy {
            StrategyName::Halfway => Arc::new(Halfway),
            StrategyName::Straight => Arc::new(Straight),
        };
        Dealer {
            strategy,
            wants,
            grants,
        }
    }
}

/// What a provider grants.
pub(super) fn granting(
    block: Option<&SessionsFile>,
    grants: &[GrantFile],
) -> Result<Option<Dealer>, Failure> {
    let grants = grants
        .iter()
        .map(GrantFile::grant)
        .collect::<Result<Vec<_>, _>>()?;
    match block {
        Some(block) => Ok(Some(block.dealer(Vec::new(), grants))),
        None if grants.is_empty() => Ok(None),
        None => Err(missing("[[grant]]")),
    }
}

/// What an initiator asks for; `orders` gives those under an agreement, by its key.
pub(super) fn asking(
    block: Option<&SessionsFile>,
    agreements: &[AgreementFile],
    orders: impl Fn(&str) -> Result<Vec<Order>, Failure>,
) -> Result<Option<Dealer>, Failure> {
    let wants = agreements
        .iter()
        .map(|agreement| agreement.want(orders(&agreement.key)?));
    let wants = wants.collect::<Result<Vec<_>, _>>()?;
    match block {
        Some(block) => Ok(Some(block.dealer(wants, Vec::new()))),
        None if wants.is_empty() => Ok(None),
        None => Err(missing("[[agreement]]")),
    }
}

fn missing(what: &str) -> Failure {
    Failure::usage(&format!("the file has {what} and no block [sessions]"))
        .hint("docs/agents.md says what that block holds")
}
