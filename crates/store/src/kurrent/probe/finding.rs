//! Causes why nodes cannot be used, as one sentence for the operator.

use std::fmt;

use super::{Address, PATIENCE};

const PORTS: &str = "Correct the ports in the log's URL: a node answers HTTP on 2113 by default, \
                     and 1113 is the old port for clients over TCP";

/// The outcome of one look at a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kurrent) enum Cause {
    /// DNS has no address for the name.
    Unresolved,
    Refused,
    Silent,
    /// An error of the operating system.
    Unreachable(String),
    /// The connection was closed, or the answer was not HTTP.
    NotHttp,
    /// No trusted CA signed the certificate.
    Untrusted,
    /// The certificate is for these names only.
    OtherName(String),
    Expired,
    NotYetValid,
    BadCertificate(String),
    /// Any other error of TLS.
    Tls(String),
    /// The node answers without TLS, and was asked with it.
    NoTls,
    /// The node answers with TLS, and was asked without.
    OnlyTls,
    Unauthorized,
    Forbidden,
    /// Status 503: the node starts, or cannot look up a user without a leader.
    NotReady,
    Status(u16),
    /// Status 200, with something other than a gossip.
    NoGossip,
    /// A gossip without a leader.
    NoLeader {
        alive: usize,
        members: usize,
    },
    /// A gossip with this leader.
    Leads(String),
}

impl Cause {
    /// Returns true if the cause may be gone later although nobody changes a setting.
    pub(in crate::kurrent) fn passes_by_itself(&self) -> bool {
        match self {
            Cause::Unresolved
            | Cause::Refused
            | Cause::Silent
            | Cause::Unreachable(_)
            | Cause::NotHttp
            | Cause::NotReady
            | Cause::Status(_)
            | Cause::NoGossip
            | Cause::NoLeader { .. }
            | Cause::Leads(_) => true,
            Cause::Untrusted
            | Cause::OtherName(_)
            | Cause::Expired
            | Cause::NotYetValid
            | Cause::BadCertificate(_)
            | Cause::Tls(_)
            | Cause::NoTls
            | Cause::OnlyTls
            | Cause::Unauthorized
            | Cause::Forbidden => false,
        }
    }

    /// Returns the leader that the node names.
    pub(super) fn leader(&self) -> Option<&str> {
        let Cause::Leads(leader) = self else {
            return None;
        };
        Some(leader)
    }

    /// Returns the order in which causes decide what to do next. A node that sent its gossip shows
    /// that the settings are right.
    fn rank(&self) -> u8 {
        if self.leader().is_some() {
            0
        } else if matches!(self, Cause::NoLeader { .. }) {
            1
        } else if !self.passes_by_itself() {
            2
        } else {
            3
        }
    }

    /// Returns what a node did, in the past tense: the same words are right for several nodes.
    fn did(&self, address: &Address) -> String {
        let words = match self {
            Cause::Unresolved => "could not be found by name",
            Cause::Refused => "refused the connection",
            Cause::Silent => return format!("did not answer within {} s", PATIENCE.as_secs()),
            Cause::Unreachable(error) => return format!("could not be reached ({error})"),
            Cause::NotHttp => "closed the connection, or did not answer in HTTP",
            Cause::Untrusted => match address.settings().tls_ca_file() {
                Some(file) => {
                    return format!("presented a certificate that no CA in {file} signed");
                }
                None => "presented a certificate of a CA that this machine does not trust",
            },
            Cause::OtherName(names) => {
                return format!("presented a certificate for another name (it is for {names})");
            }
            Cause::Expired => "presented a certificate that has expired",
            Cause::NotYetValid => "presented a certificate that is not valid yet",
            Cause::BadCertificate(error) => {
                return format!("presented an unusable certificate ({error})");
            }
            Cause::Tls(error) => return format!("did not agree on TLS ({error})"),
            Cause::NoTls => "answered without TLS, which the log's URL asks for",
            Cause::OnlyTls => "answered with TLS only, which the log's URL turns off",
            Cause::Unauthorized => match address.user() {
                Some(_) => "did not accept the user and the password of the log's URL",
                None => "asked for a user and a password",
            },
            Cause::Forbidden => "denied access to the user of the log's URL",
            Cause::NotReady => "answered with HTTP status 503 (not ready)",
            Cause::Status(status) => return format!("answered with HTTP status {status}"),
            Cause::NoGossip => "answered, but not as a node of EventStoreDB",
            Cause::NoLeader { alive, members } => {
                return format!("knew no leader, and {alive} of {members} members to be alive");
            }
            Cause::Leads(leader) => return format!("answered and named {leader} as the leader"),
        };
        words.to_owned()
    }

    /// Returns the next step. `said` is the error of the vendor's client.
    fn next(&self, address: &Address, said: &str) -> String {
        let next = match self {
            Cause::Unresolved => "Correct the names in the log's URL, or the DNS of this machine",
            Cause::Refused => {
                "Start the nodes, or correct the ports in the log's URL (2113 by default)"
            }
            Cause::Silent | Cause::Unreachable(_) => {
                "Check the nodes, and the network between them and this machine"
            }
            Cause::NotHttp | Cause::NoGossip => PORTS,
            Cause::Status(status) if *status < 500 => PORTS,
            Cause::Status(_) => "Read the logs of the nodes, or of the proxy in front of them",
            Cause::Untrusted => {
                "Set tlsCaFile=FILE in the log's URL to the certificate of the cluster's own CA"
            }
            Cause::OtherName(_) => {
                "Write the nodes in the log's URL as their certificates name them, or issue \
                 certificates for these names"
            }
            Cause::Expired => "Renew the nodes' certificates, or correct the clock of this machine",
            Cause::NotYetValid => "Correct the clock of this machine, or of the one with the CA",
            Cause::BadCertificate(_) => "Replace the certificates of the nodes",
            Cause::Tls(_) => {
                "Let the nodes offer TLS 1.2 or 1.3, and name a user certificate (userCertFile and \
                 userKeyFile) if they ask for one"
            }
            Cause::NoTls => "Add tls=false to the log's URL, or let the nodes use TLS",
            Cause::OnlyTls => {
                "Remove tls=false from the log's URL, and set tlsCaFile=FILE to the certificate of \
                 the cluster's own CA"
            }
            Cause::Unauthorized => match address.user() {
                // The vendor's client sends `%40` where `@` is meant.
                Some((name, password)) if name.contains('%') || password.contains('%') => {
                    "Correct them. The client sends special characters in their encoded form (%40 \
                     for @): choose letters, digits and -._~ for both"
                }
                Some(_) => "Correct them",
                None => "Write them in the log's URL: kurrentdb://USER:PASSWORD@HOST:2113",
            },
            Cause::Forbidden => "Give this user access to the cluster, or name another user",
            Cause::NotReady => "Wait until the cluster has started and has a leader",
            Cause::NoLeader { alive, members } if alive * 2 <= *members => {
                "Start the other members: only more than half of all elect a leader"
            }
            Cause::NoLeader { .. } => {
                "Wait for the election; if it does not end, read the logs of the nodes"
            }
            Cause::Leads(_) => {
                return format!(
                    "The client could not use the leader ({said}); if this goes on, read the logs \
                     of the nodes"
                );
            }
        };
        next.to_owned()
    }
}

/// The cause why a cluster cannot be used, as a sentence.
#[derive(Debug)]
pub(in crate::kurrent) struct Finding {
    sentence: String,
    passes_by_itself: bool,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl Finding {
    /// Makes a finding that somebody has to resolve.
    pub(super) fn lasting(sentence: String) -> Finding {
        Finding {
            sentence,
            passes_by_itself: false,
        }
    }

    /// Makes one sentence of what the nodes showed. With `is_last_unlisted` the last of them is the
    /// leader, which the log's URL does not name.
    pub(in crate::kurrent) fn of(
        nodes: &[(String, Cause)],
        is_last_unlisted: bool,
        address: &Address,
        said: &str,
    ) -> Finding {
        let mut groups: Vec<(&Cause, Vec<&str>)> = Vec::new();
        for (node, cause) in nodes {
            match groups.iter_mut().find(|(known, _)| *known == cause) {
                Some((_, alike)) => alike.push(node),
                None => groups.push((cause, vec![node.as_str()])),
            }
        }
        let parts: Vec<String> = groups
            .iter()
            .map(|(cause, nodes)| format!("{} {}", listed(nodes), cause.did(address)))
            .collect();
        let unlisted = nodes.last().filter(|_| is_last_unlisted);
        let (decisive, next) = match unlisted {
            Some((_, cause)) if cause.leader().is_none() => {
                let next = "Check this leader, or let it advertise an address that can be used \
                            from here (AdvertiseHostToClientAs)";
                (Some(cause), next.to_owned())
            }
            _ => {
                let cause = decisive(nodes);
                let next = cause.map_or_else(String::new, |cause| cause.next(address, said));
                (cause, next)
            }
        };
        Finding {
            sentence: format!("{}. {next}", parts.join("; ")),
            passes_by_itself: decisive.is_none_or(Cause::passes_by_itself),
        }
    }

    /// Returns true if a later attempt may succeed although nobody changes a setting.
    pub(in crate::kurrent) fn passes_by_itself(&self) -> bool {
        self.passes_by_itself
    }
}

/// Returns the cause that decides what to do next.
fn decisive(nodes: &[(String, Cause)]) -> Option<&Cause> {
    let leader = nodes.iter().find_map(|(_, cause)| cause.leader());
    let of_leader = nodes.iter().find(|(node, _)| Some(node.as_str()) == leader);
    match of_leader {
        // The others do not know yet that it cannot be used.
        Some((_, cause)) if cause.leader().is_none() => Some(cause),
        _ => {
            let causes = nodes.iter().map(|(_, cause)| cause);
            causes.min_by_key(|cause| cause.rank())
        }
    }
}

fn listed(nodes: &[&str]) -> String {
    match nodes {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
