//! From the lines of a file to a policy.

use std::collections::BTreeSet;
use std::str::FromStr;

use thiserror::Error;

use super::{Member, MemberIndex, Policy, Witness};
use crate::decimal;
use crate::note::{CosignerKey, NoteKey, VkeyError};

/// Most lines that define something; C2SP asks for at least 32 of each kind.
const MAX_DEFINITIONS: usize = 1_024;

/// The quorum that asks for no witness.
const NONE: &str = "none";

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let mut reader = Reader::default();
        for (number, line) in (1..).zip(text.split('\n')) {
            let at = |fault| PolicyError {
                line: number,
                fault,
            };
            reader.line(line).map_err(at)?;
        }
        let quorum = reader.quorum.ok_or(PolicyError {
            line: text.lines().count(),
            fault: Fault::NoQuorum,
        })?;
        Ok(Self {
            logs: reader.logs,
            members: reader.members,
            quorum,
        })
    }
}

#[derive(Debug, Default)]
struct Reader {
    logs: Vec<NoteKey>,
    members: Vec<Member>,
    /// Members that a group has.
    grouped: BTreeSet<MemberIndex>,
    /// The quorum, once its line was read.
    quorum: Option<Option<MemberIndex>>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), Fault> {
        if line
            .bytes()
            .any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f)
        {
            return Err(Fault::ControlCharacter);
        }
        if line.trim_start_matches([' ', '\t']).starts_with('#') {
            return Ok(());
        }
        let words: Vec<&str> = line
            .split([' ', '\t'])
            .filter(|word| !word.is_empty())
            .collect();
        if self.logs.len() + self.members.len() == MAX_DEFINITIONS {
            return Err(Fault::TooMany);
        }
        match words.as_slice() {
            [] => Ok(()),
            ["log", vkey] | ["log", vkey, _] => self.log(vkey),
            ["witness", name, vkey] | ["witness", name, vkey, _] => self.witness(name, vkey),
            ["group", name, threshold, members @ ..] => self.group(name, threshold, members),
            ["quorum", name] => self.quorum(name),
            [_, ..] => Err(Fault::Line),
        }
    }

    fn log(&mut self, vkey: &str) -> Result<(), Fault> {
        let log = NoteKey::from_vkey(vkey)?;
        let is_known = self
            .logs
            .iter()
            .any(|known| known.public_key() == log.public_key());
        if is_known {
            return Err(Fault::SameKey);
        }
        self.logs.push(log);
        Ok(())
    }

    fn witness(&mut self, name: &str, vkey: &str) -> Result<(), Fault> {
        let key = match CosignerKey::from_vkey(vkey) {
            Ok(key) => Some(key),
            // A type that a later version may know.
            Err(VkeyError::Type { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let is_same = |member: &Member| match (member, &key) {
            (
                Member::Witness(Witness {
                    key: Some(known), ..
                }),
                Some(key),
            ) => known.public_key() == key.public_key(),
            (Member::Witness(_) | Member::Group { .. }, _) => false,
        };
        if self.members.iter().any(is_same) {
            return Err(Fault::SameKey);
        }
        self.define(Member::Witness(Witness {
            name: name.to_owned(),
            key,
        }))
    }

    fn group(&mut self, name: &str, threshold: &str, members: &[&str]) -> Result<(), Fault> {
        let threshold = match threshold {
            "all" => members.len(),
            "any" => 1,
            number => decimal::parse(number, MAX_DEFINITIONS as u64)
                .and_then(|number| usize::try_from(number).ok())
                .ok_or(Fault::Threshold)?,
        };
        if members.is_empty() || !(1..=members.len()).contains(&threshold) {
            return Err(Fault::Threshold);
        }
        let mut indexes = Vec::with_capacity(members.len());
        for member in members {
            let index = self.find(member)?;
            if !self.grouped.insert(index) {
                return Err(Fault::Twice((*member).to_owned()));
            }
            indexes.push(index);
        }
        self.define(Member::Group {
            name: name.to_owned(),
            threshold,
            members: indexes,
        })
    }

    fn quorum(&mut self, name: &str) -> Result<(), Fault> {
        if self.quorum.is_some() {
            return Err(Fault::SecondQuorum);
        }
        let quorum = (name != NONE).then(|| self.find(name)).transpose()?;
        self.quorum = Some(quorum);
        Ok(())
    }

    fn define(&mut self, member: Member) -> Result<(), Fault> {
        let name = member.name();
        if name == NONE || self.find(name).is_ok() {
            return Err(Fault::Defined(name.to_owned()));
        }
        self.members.push(member);
        Ok(())
    }

    fn find(&self, name: &str) -> Result<MemberIndex, Fault> {
        let index = self.members.iter().position(|member| member.name() == name);
        index.ok_or_else(|| Fault::Undefined(name.to_owned()))
    }
}

/// Why a file is no policy, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line} of the policy: {fault}")]
pub struct PolicyError {
    /// The line, from 1.
    line: usize,
    fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
enum Fault {
    #[error("a control character; lines end with LF alone")]
    ControlCharacter,
    #[error(
        "it is none of: log <vkey> [url], witness <name> <vkey> [url], \
         group <name> all|any|<number> <member>..., quorum <name>|none"
    )]
    Line,
    #[error("more than {MAX_DEFINITIONS} logs, witnesses and groups")]
    TooMany,
    #[error(transparent)]
    Vkey(#[from] VkeyError),
    #[error("the same key stands in an earlier line: name each once")]
    SameKey,
    #[error("{0} is defined already, or is a name that cannot be given")]
    Defined(String),
    #[error("no line before this one defines {0}")]
    Undefined(String),
    #[error("{0} is a member already: each can count in one way only")]
    Twice(String),
    #[error("a group wants all, any or a number from 1 to the number of its members")]
    Threshold,
    #[error("a second quorum: a policy has one")]
    SecondQuorum,
    #[error("the file has no line `quorum <name>` or `quorum none`")]
    NoQuorum,
}
