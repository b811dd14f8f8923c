//! The agreed head: the highest block that as many endpoints as must agree carry, by the same header
//! (ledger-contract.md section 5). What one endpoint alone has above it counts for nothing.
//!
//! Each endpoint's head is where it begins. Whoever stands highest goes down, until enough of them
//! stand on one header, of which each said all there is. A step costs no call where the endpoint was
//! asked for it before, and none down the held branch, where nothing new can follow.

use std::collections::{BTreeMap, BTreeSet};

use super::Watcher;
use super::follow::Failed;
use crate::block_store::BlockStore;
use crate::endpoint::EndpointFailure;
use crate::source::{ChainSource, Header};
use crate::verdict::EndpointId;
use crate::window::MIN_CAPACITY_BLOCKS;

/// Most steps in a look to find out where endpoints part: each may go down by a window's length.
const MOST_STEPS: usize = 2 * MIN_CAPACITY_BLOCKS;

/// Most of them that are kept for the next look.
const MOST_KEPT: usize = 1_024;

/// Where each endpoint stands.
type Stands = BTreeMap<EndpointId, Header>;

impl<S: ChainSource, B: BlockStore> Watcher<S, B> {
    /// The agreed head, and who carries it as far as is known. None while too few answer, or they part
    /// further down than is looked for.
    pub(super) async fn agreed(
        &mut self,
        candidate: EndpointId,
    ) -> Result<Option<(Header, BTreeSet<EndpointId>)>, Failed> {
        let heads = self.endpoints.iter().enumerate();
        let heads = heads.filter_map(|(id, endpoint)| Some((id, endpoint.head?)));
        let mut stands: Stands = heads.collect();
        let quorum = self.quorum();
        if quorum == 1 {
            let head = stands.remove(&candidate);
            return Ok(head.map(|head| (head, BTreeSet::from([candidate]))));
        }
        for _ in 0..MOST_STEPS {
            if stands.len() < quorum {
                return Ok(None);
            }
            if let Some(agreed) = same(&stands, quorum) {
                return Ok(Some(agreed));
            }
            self.step_down(&mut stands).await?;
        }
        Ok(None)
    }

    /// Takes one of those who stand highest down to the height of the next; where several stand at
    /// that height on different blocks, one block.
    async fn step_down(&mut self, stands: &mut Stands) -> Result<(), Failed> {
        let mut highest: Vec<(EndpointId, Header)> =
            stands.iter().map(|(id, header)| (*id, *header)).collect();
        highest.sort_by_key(|(_, header)| std::cmp::Reverse(header.number));
        let [(id, header), (_, next), ..] = highest[..] else {
            return Ok(());
        };
        let below = if header.number > next.number + 1 {
            self.at_height(id, header, next.number).await?
        } else {
            self.below(id, header).await?
        };
        match below {
            Some(below) => drop(stands.insert(id, below)),
            None => drop(stands.remove(&id)),
        }
        Ok(())
    }

    /// The block below, as the endpoint has it.
    async fn below(&mut self, id: EndpointId, header: Header) -> Result<Option<Header>, Failed> {
        let Some(number) = header.number.checked_sub(1) else {
            return Ok(None);
        };
        let is_parent = |it: &Header| (it.number, it.hash) == (number, header.parent);
        if self.window.contains(header.number, &header.hash)
            && let Some(held) = self.window.at(number)
        {
            return Ok(Some(*held));
        }
        if let Some(given) = self.fetched.below.get(&(id, header.parent)) {
            return Ok(Some(*given));
        }
        let given = self.endpoints[id].header(header.parent).await;
        let given = given.map_err(|error| (id, EndpointFailure::Source(error)))?;
        let given = given.filter(is_parent);
        if self.fetched.below.len() >= MOST_KEPT {
            self.fetched.below.clear();
        }
        let kept = given.map(|given| ((id, header.parent), given));
        self.fetched.below.extend(kept);
        Ok(given)
    }

    /// What the endpoint has at that height, far below where it stands.
    async fn at_height(
        &mut self,
        id: EndpointId,
        header: Header,
        number: u64,
    ) -> Result<Option<Header>, Failed> {
        if self.window.contains(header.number, &header.hash)
            && let Some(held) = self.window.at(number)
        {
            return Ok(Some(*held));
        }
        let given = self.endpoints[id].header_at(number).await;
        let given = given.map_err(|error| (id, EndpointFailure::Source(error)))?;
        Ok(given.filter(|given| given.number == number))
    }
}

/// The block that so many stand on, and who does.
fn same(stands: &Stands, quorum: usize) -> Option<(Header, BTreeSet<EndpointId>)> {
    let mut highest: Vec<Header> = stands.values().copied().collect();
    highest.sort_by_key(|header| std::cmp::Reverse(header.number));
    highest.into_iter().find_map(|header| {
        let on_it = stands.iter().filter(|(_, stands)| **stands == header);
        let on_it: BTreeSet<EndpointId> = on_it.map(|(id, _)| *id).collect();
        (on_it.len() >= quorum).then_some((header, on_it))
    })
}
