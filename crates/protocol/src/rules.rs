//! Versions of the decision rules. A log says from which record on which version holds, so that an
//! old log keeps its meaning under every later program.
//!
//! The version in force *before* a record selects the facts of its body and its decision; the version
//! *after* it the hashed form of states. Source: machines.md section 1.

use serde::{Deserialize, Serialize};

/// A version of the decision rules that this program knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub enum Rules {
    /// The rules of the first release.
    Two,
}

impl Rules {
    /// All that this program knows, the first before the others.
    pub const ALL: [Rules; 1] = [Rules::Two];

    /// The version that this program writes.
    pub const LATEST: Rules = Rules::Two;

    /// The version of that number; `None` for one that this program does not know.
    #[must_use]
    pub const fn of(version: u64) -> Option<Rules> {
        match version {
            2 => Some(Rules::Two),
            _ => None,
        }
    }

    /// Its number, as events and states have it.
    #[must_use]
    pub const fn version(self) -> u64 {
        match self {
            Rules::Two => 2,
        }
    }

    /// The member `reader` of the event that puts it in force: the least version that a program must
    /// know to read on.
    #[must_use]
    pub const fn reader(self) -> u64 {
        match self {
            Rules::Two => 2,
        }
    }

    /// Form of the states in a `state_root` while it is in force (`crates/eventlog/STATES.md`).
    #[must_use]
    pub const fn schema(self) -> u64 {
        self.version()
    }
}

impl From<Rules> for u64 {
    fn from(rules: Rules) -> u64 {
        rules.version()
    }
}

/// Rules that this program does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown version: the rules are {0}, this program knows {latest}; use the version of x811 that wrote them",
    latest = Rules::LATEST.version()
)]
pub struct UnknownRules(u64);

impl TryFrom<u64> for Rules {
    type Error = UnknownRules;

    fn try_from(version: u64) -> Result<Rules, UnknownRules> {
        Rules::of(version).ok_or(UnknownRules(version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::RulesChanged;

    #[test]
    fn mach_1_a_log_changes_to_later_rules_alone() {
        let of = |version| RulesChanged {
            rules_version: version,
            reader: version,
        };
        assert_eq!(of(3).due(2), Some(of(3)));
        assert_eq!(of(2).due(2), None);
        assert_eq!(of(2).due(3), None);
    }

    #[test]
    fn mach_1_each_known_version_is_found_by_its_number() {
        for rules in Rules::ALL {
            assert_eq!(Rules::of(rules.version()), Some(rules));
        }
        for unknown in [0, 1, Rules::LATEST.version() + 1] {
            assert_eq!(Rules::of(unknown), None, "{unknown}");
        }
    }
}
