//! Versions of protocols and capabilities, and which of them two sides share (CX-35, CX-36).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};

/// The most versions that are supported and deprecated (capability.md, "Descriptor").
pub const MOST_DEPRECATED: usize = 16;

/// The largest number in a version.
const LARGEST: u32 = 99_999;

/// `MAJOR.MINOR.PATCH`, each 0 to 99999, no leading zeros, no suffix.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr,
)]
pub struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The text is no version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a version: write MAJOR.MINOR.PATCH, each 0 to {LARGEST} without leading zeros")]
pub struct NotAVersion;

impl FromStr for Version {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Version, NotAVersion> {
        let mut numbers = text.split('.').map(number);
        let mut next = || numbers.next().flatten().ok_or(NotAVersion);
        let (major, minor, patch) = (next()?, next()?, next()?);
        if numbers.next().is_some() {
            return Err(NotAVersion);
        }
        Ok(Version {
            major,
            minor,
            patch,
        })
    }
}

fn number(text: &str) -> Option<u32> {
    let leads_with_zero = text.len() > 1 && text.starts_with('0');
    let is_digits = (1..=5).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    (is_digits && !leads_with_zero).then_some(())?;
    text.parse().ok().filter(|number| *number <= LARGEST)
}

/// The versions one side supports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionRange {
    /// Supported, but to be used no longer.
    pub deprecated: Vec<Version>,
    /// The highest version that is supported.
    pub max: Version,
    /// The lowest version that is supported.
    pub min: Version,
}

impl VersionRange {
    /// What is wrong with it, if anything is (CX-35).
    pub fn fault(&self) -> Option<&'static str> {
        let repeats = |place: usize| self.deprecated[..place].contains(&self.deprecated[place]);
        if self.min > self.max {
            Some("min_version is above max_version")
        } else if self.deprecated.len() > MOST_DEPRECATED {
            Some("at most 16 deprecated_versions are taken")
        } else if !self
            .deprecated
            .iter()
            .all(|version| self.supports(*version))
        {
            Some("every one of deprecated_versions must lie from min_version to max_version")
        } else if (0..self.deprecated.len()).any(repeats) {
            Some("deprecated_versions name a version twice")
        } else {
            None
        }
    }

    /// Whether that version lies in it.
    pub fn supports(&self, version: Version) -> bool {
        (self.min..=self.max).contains(&version)
    }

    /// The versions that it names: its ends and what it deprecates.
    fn named(&self) -> impl Iterator<Item = Version> {
        let ends = [self.min, self.max].into_iter();
        ends.chain(self.deprecated.iter().copied())
    }
}

/// A version that two sides share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Common {
    /// Whether one of them deprecates it, or both: it works, and they are told.
    pub is_deprecated: bool,
    /// The version that both use.
    pub version: Version,
}

/// The version that two sides use: of those that either names and both support, the highest that
/// neither deprecates, else the highest. `None` if their ranges do not meet (CX-36).
pub fn common(one: &VersionRange, other: &VersionRange) -> Option<Common> {
    one.named()
        .chain(other.named())
        .filter(|version| one.supports(*version) && other.supports(*version))
        .map(|version| Common {
            is_deprecated: [one, other].map(|side| side.deprecated.contains(&version))
                != [false; 2],
            version,
        })
        .max_by_key(|common| (!common.is_deprecated, common.version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(min: &str, max: &str, deprecated: &[&str]) -> VersionRange {
        VersionRange {
            deprecated: deprecated.iter().map(|v| v.parse().unwrap()).collect(),
            max: max.parse().unwrap(),
            min: min.parse().unwrap(),
        }
    }

    #[test]
    fn cc_067_a_version_has_one_spelling() {
        for good in ["0.0.0", "1.2.3", "99999.0.10"] {
            assert_eq!(good.parse::<Version>().unwrap().to_string(), good);
        }
        for bad in [
            "",
            "1",
            "1.2",
            "1.2.3.4",
            "01.2.3",
            "1.2.3-beta",
            "1.2.100000",
            "+1.2.3",
            "1..3",
            " 1.2.3",
            "1.2.3 ",
            "a.b.c",
            "1.2.٣",
        ] {
            assert_eq!(bad.parse::<Version>(), Err(NotAVersion), "{bad}");
        }
        let order: [Version; 3] = ["1.9.0", "1.10.0", "2.0.0"].map(|v| v.parse().unwrap());
        assert!(order.is_sorted(), "numbers are compared, not texts");
    }

    #[test]
    fn cx_35_a_range_is_in_order_and_holds_what_it_deprecates() {
        assert_eq!(range("1.0.0", "2.0.0", &["1.0.0", "2.0.0"]).fault(), None);
        assert!(range("2.0.0", "1.0.0", &[]).fault().is_some());
        assert!(range("1.0.0", "2.0.0", &["2.0.1"]).fault().is_some());
        assert!(
            range("1.0.0", "2.0.0", &["1.5.0", "1.5.0"])
                .fault()
                .is_some()
        );
        let many: Vec<String> = (0..17).map(|patch| format!("1.0.{patch}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(range("1.0.0", "2.0.0", &many).fault().is_some());
        assert_eq!(range("1.0.0", "2.0.0", &many[..16]).fault(), None);
    }

    #[test]
    fn cc_073_and_cx_36_the_version_that_both_sides_use() {
        type Side = (&'static str, &'static str, &'static [&'static str]);
        type Row = (Side, Side, Option<(&'static str, bool)>);
        let table: [Row; 9] = [
            // The highest of both.
            (
                ("1.0.0", "2.0.0", &[]),
                ("1.5.0", "3.0.0", &[]),
                Some(("2.0.0", false)),
            ),
            (
                ("1.9.0", "1.10.0", &[]),
                ("1.0.0", "1.10.0", &[]),
                Some(("1.10.0", false)),
            ),
            // They meet in one.
            (
                ("1.0.0", "2.0.0", &[]),
                ("2.0.0", "3.0.0", &[]),
                Some(("2.0.0", false)),
            ),
            // One side deprecates the highest.
            (
                ("1.0.0", "2.0.0", &["2.0.0"]),
                ("1.5.0", "3.0.0", &[]),
                Some(("1.5.0", false)),
            ),
            (
                ("1.0.0", "2.0.0", &[]),
                ("1.0.0", "2.0.0", &["2.0.0"]),
                Some(("1.0.0", false)),
            ),
            // Only deprecated ones are left.
            (
                ("1.0.0", "2.0.0", &["2.0.0"]),
                ("1.5.0", "3.0.0", &["1.5.0"]),
                Some(("2.0.0", true)),
            ),
            (
                ("1.0.0", "2.0.0", &["1.2.0"]),
                ("1.1.0", "1.3.0", &["1.3.0", "1.1.0"]),
                Some(("1.3.0", true)),
            ),
            (
                ("1.0.0", "1.0.0", &["1.0.0"]),
                ("1.0.0", "1.0.0", &[]),
                Some(("1.0.0", true)),
            ),
            // They do not meet.
            (("1.0.0", "1.9.9", &[]), ("2.0.0", "3.0.0", &[]), None),
        ];
        for (one, other, expected) in table {
            let [first, second] = [one, other].map(|side| range(side.0, side.1, side.2));
            let expected = expected.map(|(version, is_deprecated)| Common {
                is_deprecated,
                version: version.parse().unwrap(),
            });
            assert_eq!(common(&first, &second), expected, "{one:?} {other:?}");
        }
    }

    fn any_range() -> impl Strategy<Value = VersionRange> {
        let numbers = proptest::collection::btree_set(0_u32..12, 1..6);
        (numbers, any::<u8>()).prop_map(|(numbers, mask)| {
            let versions: Vec<Version> = numbers
                .into_iter()
                .map(|minor| Version {
                    major: 1,
                    minor,
                    patch: 0,
                })
                .collect();
            let is_deprecated = |place: usize| mask >> place & 1 == 1;
            VersionRange {
                deprecated: (0..versions.len())
                    .filter(|place| is_deprecated(*place))
                    .map(|place| versions[place])
                    .collect(),
                max: versions[versions.len() - 1],
                min: versions[0],
            }
        })
    }

    proptest! {
        /// Both sides come to the same without asking each other, and nobody is moved to a version
        /// that it does not support or, while another is left, to a deprecated one.
        #[test]
        fn cx_36_both_sides_choose_alike(one in any_range(), other in any_range()) {
            prop_assert!(one.fault().is_none() && other.fault().is_none());
            let chosen = common(&one, &other);
            prop_assert_eq!(chosen, common(&other, &one));
            let do_meet = one.min.max(other.min) <= one.max.min(other.max);
            prop_assert_eq!(chosen.is_some(), do_meet);
            let Some(chosen) = chosen else { return Ok(()); };
            prop_assert!(one.supports(chosen.version) && other.supports(chosen.version));
            let is_old = |v: &Version| one.deprecated.contains(v) || other.deprecated.contains(v);
            prop_assert_eq!(chosen.is_deprecated, is_old(&chosen.version));
            for version in one.named().chain(other.named()) {
                if one.supports(version) && other.supports(version) && version > chosen.version {
                    prop_assert!(is_old(&version) && !chosen.is_deprecated);
                }
                if chosen.is_deprecated && one.supports(version) && other.supports(version) {
                    prop_assert!(is_old(&version));
                }
            }
        }
    }
}
