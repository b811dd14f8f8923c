//! Under which rules and parameters a ledger decided, and what changed when: a payment is only as good as the
//! network, the token and the depth that it was decided by.
//!
//! What such a record must not say any more ([`Parameters::unfit`]) is a remark where an older
//! version recorded it: the rules in force allowed it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;
use x811_protocol::event::{Event, LedgerEvent, LedgerOpened};
use x811_protocol::evm::{ChainId, EvmAddress};
use x811_protocol::money::MicroUsdc;
use x811_protocol::parameters::{FinalBy, Network, Parameters, PayerBindingRule};

use crate::finding::remarks::Remarks;
use x811_world::World;

/// Most records that are listed with their changes; a ledger writes one when its configuration changes.
/// Of the others only the positions are listed.
const MAX_LISTED: usize = 1_000;

/// What a record `parameters_set` says of payments, and what it changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParametersReport {
    /// Place of the record.
    pub position: u64,
    /// Whether a payer must be bound to the initiator.
    pub payer_binding: PayerBindingRule,
    /// Where payments may be made.
    pub networks: Vec<NetworkReport>,
    /// What is otherwise than in the record before; empty for the first.
    pub changes: Vec<ParameterChange>,
}

/// Decision rules, and from where on they were in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RulesReport {
    /// Place of the record that put them in force.
    pub position: u64,
    /// Their number: the version of the decision rules.
    pub rules_version: u64,
}

/// A network that payments may be made on.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NetworkReport {
    /// The name a PAYMENT uses.
    pub name: String,
    /// EIP-155 chain id.
    pub chain_id: ChainId,
    /// The contract of the token.
    pub token: EvmAddress,
    /// Where protocol fees may go; absent when they go to the payee.
    pub treasury: Option<EvmAddress>,
    /// Blocks, the transfer's own counted, at which a transfer is confirmed.
    pub confirmed_depth: u64,
    /// Endpoints that must agree before anything is concluded; absent where the log does not say.
    pub endpoint_quorum: Option<u64>,
    /// Totals above this wait for level *safe*; absent when none does. In micro-USDC as text.
    pub safe_above: Option<MicroUsdc>,
    /// Condition for *safe* and *final* blocks; absent if the log does not have it.
    pub final_by: Option<FinalBy>,
}

/// One member that changed.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParameterChange {
    /// Which: `windows.offer_ms`, `networks.base.confirmed_depth`, …
    pub member: String,
    /// Its value before, as text; absent when there was none.
    pub before: Option<String>,
    /// Its value from here on, as text; absent when there is none.
    pub after: Option<String>,
}

/// Rules and parameters so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct ParametersSeen {
    /// As many as there are versions, at most: they change to a later one only.
    pub(crate) rules: Vec<RulesReport>,
    pub(crate) list: Vec<ParametersReport>,
    /// Positions of those that are not listed.
    pub(crate) left_out: Vec<u64>,
    /// The last of those.
    pub(crate) in_force: Option<ParametersReport>,
    last: BTreeMap<String, String>,
}

impl ParametersSeen {
    /// Takes a record at `position` that was replayed to `world`.
    pub(crate) fn take(
        &mut self,
        position: u64,
        event: &Event,
        world: &World,
        remarks: &mut Remarks,
    ) {
        let rules_version = world.rules_version();
        if self.rules.last().map(|last| last.rules_version) != Some(rules_version) {
            self.rules.push(RulesReport {
                position,
                rules_version,
            });
        }
        if let Event::Ledger(LedgerEvent::Opened(LedgerOpened {
            continues: Some(before),
            ..
        })) = event
        {
            let sentence = format!(
                "the log goes on from {} with {} records and root {}: compare that with the last \
                 checkpoint of it that anybody has; what was open there has ended",
                before.origin, before.size, before.root
            );
            remarks.add(position, sentence);
        }
        let Event::Ledger(LedgerEvent::ParametersSet(parameters)) = event else {
            return;
        };
        let members = members(parameters);
        let changes = if self.list.is_empty() {
            Vec::new()
        } else {
            changes(&self.last, &members)
        };
        self.last = members;
        self.list(
            ParametersReport {
                position,
                payer_binding: parameters.payer_binding,
                networks: parameters.networks.iter().map(NetworkReport::of).collect(),
                changes,
            },
            remarks,
        );
        for fault in parameters.unfit() {
            remarks.add(position, format!("the parameters were set so: {fault}"));
        }
        for (name, count) in world.networks_moved(parameters) {
            let sentence = format!(
                "{name} got another chain or token under {count} interactions that were opened \
                 before and not over: what was seen of their payments since then was seen elsewhere"
            );
            remarks.add(position, sentence);
        }
    }

    fn list(&mut self, report: ParametersReport, remarks: &mut Remarks) {
        if self.list.len() < MAX_LISTED {
            self.list.push(report);
            return;
        }
        if self.left_out.is_empty() {
            let sentence = format!(
                "{MAX_LISTED} records that set parameters are listed with their changes; from here on only \
                 the positions are (`parameters_left_out_at`), and the last one (`parameters_in_force`)"
            );
            remarks.add(report.position, sentence);
        }
        self.left_out.push(report.position);
        self.in_force = Some(report);
    }
}

impl NetworkReport {
    fn of(network: &Network) -> NetworkReport {
        NetworkReport {
            name: network.name.clone(),
            chain_id: network.chain_id,
            token: network.token,
            treasury: network.treasury,
            confirmed_depth: network.confirmed_depth,
            endpoint_quorum: network.endpoint_quorum,
            safe_above: network.safe_above,
            final_by: network.final_by,
        }
    }
}

fn changes(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<ParameterChange> {
    let names = before.keys().chain(after.keys());
    let names: std::collections::BTreeSet<&String> = names.collect();
    let change = |name: &String| {
        let (before, after) = (before.get(name).cloned(), after.get(name).cloned());
        (before != after).then(|| ParameterChange {
            member: name.clone(),
            before,
            after,
        })
    };
    names.into_iter().filter_map(change).collect()
}

/// Every member by its path, as text.
fn members(parameters: &Parameters) -> BTreeMap<String, String> {
    let mut members = BTreeMap::new();
    // Parameters come from a record, which is JSON: they can be written as such.
    let value = serde_json::to_value(parameters).unwrap_or_default();
    flatten("", &value, &mut members);
    members
}

fn flatten(path: &str, value: &Value, members: &mut BTreeMap<String, String>) {
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                flatten(&below(name), value, members);
            }
        }
        Value::Array(values) if path == "networks" => {
            for value in values {
                let name = value["name"].as_str().unwrap_or_default();
                flatten(&below(name), value, members);
            }
        }
        Value::String(text) => drop(members.insert(path.to_owned(), text.clone())),
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {
            members.insert(path.to_owned(), value.to_string());
        }
    }
}
