//! `x811 capability show`.

use serde::Serialize;
use serde_json::{Map, Value};
use x811_client::http::Descriptor;
use x811_protocol::capability::version::{Version, VersionRange, common};
use x811_protocol::did::Did;
use x811_protocol::facts::OfferedCapability;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose capabilities
    #[arg(value_name = "DID")]
    // Not `agent`: clap knows arguments by name, and `--agent` is one of all verbs.
    whose: Did,
    /// The lowest version that you support; shows which version you both would use
    #[arg(long, value_name = "VERSION", requires = "max")]
    min: Option<Version>,
    /// The highest version that you support
    #[arg(long, value_name = "VERSION", requires = "min")]
    max: Option<Version>,
    /// A version that you support but deprecate; may be repeated
    #[arg(long, value_name = "VERSION", requires = "min")]
    deprecated: Vec<Version>,
}

impl Args {
    /// The versions of who asks, if they were given.
    fn yours(&self) -> Result<Option<VersionRange>, Failure> {
        let (Some(min), Some(max)) = (self.min, self.max) else {
            return Ok(None);
        };
        let yours = VersionRange {
            deprecated: self.deprecated.clone(),
            max,
            min,
        };
        match yours.fault() {
            Some(fault) => Err(Failure::usage(fault)),
            None => Ok(Some(yours)),
        }
    }
}

/// The version that both sides would use of one capability.
#[derive(Debug, PartialEq, Serialize)]
struct Together {
    #[serde(rename = "type")]
    capability: String,
    /// None if there is no such version.
    version: Option<Version>,
    is_deprecated: bool,
}

impl Together {
    fn of(known: &OfferedCapability, theirs: &VersionRange, yours: &VersionRange) -> Together {
        let common = common(&known.range(theirs), yours);
        Together {
            capability: known.capability.clone(),
            version: common.map(|common| common.version),
            is_deprecated: common.is_some_and(|common| common.is_deprecated),
        }
    }

    fn in_words(&self) -> String {
        match self.version {
            None => "none".to_owned(),
            Some(version) if self.is_deprecated => format!("{version}, deprecated"),
            Some(version) => version.to_string(),
        }
    }
}

/// What an agent says of itself.
#[derive(Serialize)]
struct Published {
    did: Did,
    position: u64,
    revision: u64,
    /// As it was signed.
    descriptor: Map<String, Value>,
    /// One for each capability, if who asks gave versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    together: Option<Vec<Together>>,
    #[serde(skip)]
    capabilities: Vec<OfferedCapability>,
    #[serde(skip)]
    protocol: String,
}

/// Fetches it; nothing is shown whose signature does not hold.
pub(super) async fn run(args: Args, context: &Context) -> Result<impl Report, Failure> {
    let yours = args.yours()?;
    let found = context.client()?.descriptor(args.whose).await?;
    let Some(Descriptor {
        agent,
        position,
        facts,
        payload,
    }) = found
    else {
        return Err(
            Failure::state("the agent has published no descriptor of its capabilities")
                .hint("it publishes one with `x811 capability advertise`"),
        );
    };
    let protocol = range(
        facts.protocol.min,
        facts.protocol.max,
        &facts.protocol.deprecated,
    );
    let together = yours.map(|yours| {
        let of = |known| Together::of(known, &facts.protocol, &yours);
        facts.capabilities.iter().map(of).collect()
    });
    Ok(Published {
        did: agent,
        position,
        revision: facts.revision,
        descriptor: payload,
        together,
        capabilities: facts.capabilities,
        protocol,
    })
}

fn range(min: Version, max: Version, deprecated: &[Version]) -> String {
    let deprecated: Vec<String> = deprecated.iter().map(Version::to_string).collect();
    if deprecated.is_empty() {
        return format!("{min} to {max}");
    }
    format!("{min} to {max}, deprecated {}", deprecated.join(" "))
}

/// The versions that a capability is used under, if it has a range of its own.
fn own_range(known: &OfferedCapability) -> String {
    let (Some(min), Some(max)) = (known.min, known.max) else {
        return "as the agent's".to_owned();
    };
    range(min, max, known.deprecated.as_deref().unwrap_or_default())
}

fn limits(known: &OfferedCapability) -> String {
    let rate = known
        .requests_per_minute
        .map(|most| format!("{most} a minute"));
    let size = known.max_payload_bytes.map(|most| format!("{most} bytes"));
    let limits: Vec<String> = rate.into_iter().chain(size).collect();
    if limits.is_empty() {
        return "none".to_owned();
    }
    limits.join(", ")
}

impl Report for Published {
    fn print(&self, out: &mut Out) {
        let heading = format!("{}: revision {}", self.did, self.revision);
        out.heading(Tone::Good, heading);
        out.fields(&[
            ("protocol", self.protocol.clone()),
            ("record", self.position.to_string()),
        ]);
        let mut rows: Vec<Vec<String>> = self
            .capabilities
            .iter()
            .map(|known| {
                vec![
                    known.capability.clone(),
                    known.version.to_string(),
                    known.availability.to_string(),
                    own_range(known),
                    limits(known),
                ]
            })
            .collect();
        let mut header = vec!["type", "version", "availability", "protocol", "limits"];
        if let Some(together) = &self.together {
            header.push("together");
            for (row, together) in rows.iter_mut().zip(together) {
                row.push(together.in_words());
            }
        }
        out.table(&header, &rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn range(min: &str, max: &str, deprecated: &[&str]) -> VersionRange {
        VersionRange {
            deprecated: deprecated.iter().map(|v| v.parse().unwrap()).collect(),
            max: max.parse().unwrap(),
            min: min.parse().unwrap(),
        }
    }

    #[test]
    fn cx_35_and_cx_36_a_capabilitys_own_range_decides_what_is_used_together() {
        let plain = json!({"type": "tool.api", "category": "tool_access", "version": "4.0.0",
            "availability": "available"});
        let mut own = plain.clone();
        own["min"] = json!("2.0.0");
        own["max"] = json!("3.0.0");
        own["deprecated"] = json!(["2.0.0"]);
        let theirs = range("1.0.0", "1.5.0", &[]);
        let said = |known: &Value, yours: &VersionRange| {
            let known: OfferedCapability = serde_json::from_value(known.clone()).unwrap();
            Together::of(&known, &theirs, yours).in_words()
        };
        let yours = range("1.0.0", "2.0.0", &[]);
        assert_eq!(said(&plain, &yours), "1.5.0");
        assert_eq!(said(&own, &yours), "2.0.0, deprecated");
        assert_eq!(said(&own, &range("1.0.0", "1.9.0", &[])), "none");
    }
}
