//! The part of an audit report about the keys of agents.

use x811_audit::Report;

use super::summary::Check;

/// The largest number of agents that a note names.
const MAX_NAMED: usize = 8;

/// The row of the table.
pub(super) fn check(report: &Report) -> Check {
    let keys = &report.agent_keys;
    Check {
        about: "agent keys",
        how: "The keys that an agent registered are keys that you know from another source (--agent-key), or \
              rotations connect them. Asserted: attested by the ledger only.",
        proven: keys.proven,
        asserted: keys.asserted,
        broken: keys.broken,
        not_checked: 0,
    }
}

/// The agents whose keys the ledger alone attests, and what to do about it; `None` where there are none.
pub(super) fn note(report: &Report) -> Option<String> {
    let keys = &report.agent_keys;
    let named = keys.asserted_agents.iter().take(MAX_NAMED);
    let named: Vec<String> = named.map(ToString::to_string).collect();
    let more = keys.asserted.saturating_sub(named.len() as u64);
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (keys.asserted > 0).then(|| {
        format!(
            "attested by the ledger only: the keys of {}{more}; compare them with keys from another source: \
             --agent-key DID=KEY",
            named.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use x811_audit::{AgentKeysReport, Auditor};

    use super::*;

    #[test]
    fn lc_9_the_agents_whose_keys_the_ledger_alone_attests_are_named() {
        let mut report = Auditor::new().finish();
        assert_eq!(note(&report), None);
        let did = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
        report.agent_keys = AgentKeysReport {
            proven: 1,
            asserted: 12,
            broken: 0,
            asserted_agents: vec![did.parse().unwrap(); 12],
        };
        let said = note(&report).unwrap();
        assert_eq!(said.matches(did).count(), MAX_NAMED, "{said}");
        assert!(said.contains(" and 4 more; "), "{said}");
        assert_eq!(check(&report).counts(), [1, 12, 0, 0]);
    }
}
