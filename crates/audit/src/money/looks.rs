//! What a look says of each transaction, held against how it stood and against the other findings
//! (ledger-contract.md section 5). What the same head shows is recorded before the look is, so that
//! a finding and the standing of its transaction belong together.

use x811_protocol::event::{Finding, FindingStatus, Looked};
use x811_protocol::observation::Block;
use x811_protocol::settlement::{Declared, DeclaredStanding};

use crate::finding::findings::Findings;
use crate::money::evidence::stands_on;
use crate::money::grounds::Grounds;

/// Checks the findings of a look, one for each declared transaction in their order.
pub(crate) fn check(grounds: &Grounds<'_>, looked: &Looked, findings: &mut Findings) {
    let each = looked.finding.iter().zip(grounds.declared);
    for (index, (found, declared)) in each.enumerate() {
        let field = format!("finding[{index}]");
        let said = of_standing(found, declared, &looked.head);
        let said = said.or_else(|| of_depth(grounds, found));
        if let Some(sentence) = said {
            grounds.decided.differs(&field, sentence, findings);
        }
    }
    let all: Vec<_> = looked.finding.iter().zip(grounds.declared).collect();
    if let Some(sentence) = of_all(grounds, &all) {
        grounds.decided.differs("finding", sentence, findings);
    }
}

/// What is wrong with a finding by how its transaction stood.
fn of_standing(found: &Finding, declared: &Declared, head: &Block) -> Option<&'static str> {
    const NOT_SO: &str = "what the look says of the transaction is not how it stood";
    let is_refuted = matches!(declared.standing, DeclaredStanding::Refuted(_));
    if is_refuted != (found.status == FindingStatus::Refuted) {
        return Some(NOT_SO);
    }
    let is_in_a_block = found.depth.is_some();
    match (found.status, declared.standing) {
        (FindingStatus::Refuted, _) if found.depth.is_none_or(|depth| is_a_depth(depth, head)) => {
            None
        }
        (FindingStatus::Refuted, _) => Some("no block is so deep below the head"),
        (FindingStatus::NotFound, _) if is_in_a_block => {
            Some("it is nowhere to be found and has a depth")
        }
        // A head below its block only lags.
        (FindingStatus::NotFound, DeclaredStanding::Seen(block)) if head.number >= block.number => {
            Some(NOT_SO)
        }
        (FindingStatus::NotFound, _) => None,
        (FindingStatus::Seen | FindingStatus::Insufficient, DeclaredStanding::Seen(block)) => {
            under(found, &block, head)
        }
        (FindingStatus::Seen | FindingStatus::Insufficient, _) => Some(NOT_SO),
    }
}

/// What is wrong with a transaction that is to be in `block`, below `head`.
fn under(found: &Finding, block: &Block, head: &Block) -> Option<&'static str> {
    let depth = head.number.saturating_add(1).checked_sub(block.number);
    if found.depth != depth.filter(|depth| *depth > 0) || found.depth.is_none() {
        return Some("the depth does not follow from the head and the block it was seen in");
    }
    (!stands_on(head, block)).then_some("no branch has both the head and the block it was seen in")
}

fn is_a_depth(depth: u64, head: &Block) -> bool {
    (1..=head.number.saturating_add(1)).contains(&depth)
}

/// What is wrong with a finding by its depth.
fn of_depth(grounds: &Grounds<'_>, found: &Finding) -> Option<&'static str> {
    let is_deep = is_deep(grounds, found);
    match found.status {
        FindingStatus::Insufficient if !is_deep => {
            Some("only what is deep enough is found to be too little")
        }
        // Deep enough and seen: what came in too many parts waits, which `short` knows.
        FindingStatus::NotFound
        | FindingStatus::Seen
        | FindingStatus::Insufficient
        | FindingStatus::Refuted => None,
    }
}

/// What is wrong with the findings together.
fn of_all(grounds: &Grounds<'_>, all: &[(&Finding, &Declared)]) -> Option<&'static str> {
    let is_little =
        |(found, _): &&(&Finding, &Declared)| found.status == FindingStatus::Insufficient;
    let little = all.iter().filter(is_little).count();
    if little == 0 {
        return None;
    }
    if all
        .iter()
        .all(|(found, _)| is_deep(grounds, found) && found.status != FindingStatus::Seen)
    {
        return Some("everything is deep: what is too little then is refuted");
    }
    let is_mixed = all
        .iter()
        .any(|(found, declared)| is_decided(grounds, found, declared));
    is_mixed.then_some("what is deep is enough together, or it is too little together")
}

/// Whether what is seen was for the ledger to decide on: deep enough, shown by as many endpoints as
/// must, and of a known age.
pub(crate) fn is_decided(grounds: &Grounds<'_>, found: &Finding, declared: &Declared) -> bool {
    is_seen_deep(grounds, found) && !may_wait(grounds, declared)
}

/// Whether it is deep enough and waits all the same, which is the ledger's word: a look says neither
/// who showed it nor where the head recorded at ACCEPT stood.
pub(crate) fn waits_undecided(grounds: &Grounds<'_>, found: &Finding, declared: &Declared) -> bool {
    is_seen_deep(grounds, found) && may_wait(grounds, declared)
}

fn is_seen_deep(grounds: &Grounds<'_>, found: &Finding) -> bool {
    found.status == FindingStatus::Seen && is_deep(grounds, found)
}

fn may_wait(grounds: &Grounds<'_>, declared: &Declared) -> bool {
    let may_be_old =
        matches!(declared.standing, DeclaredStanding::Seen(block) if grounds.bill.is_older(&block));
    may_be_old || grounds.waits_for_endpoints()
}

pub(crate) fn is_deep(grounds: &Grounds<'_>, found: &Finding) -> bool {
    let depth = grounds.bill.network.confirmed_depth;
    found.depth.is_some_and(|found| found >= depth)
}
