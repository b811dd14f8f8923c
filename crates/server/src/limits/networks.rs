//! Limits of an address: one of IPv4, or a /64 of IPv6 and the /48 around it, which may have
//! [`OF_A_SITE`] times as much.

use super::address::Counted;
use super::buckets::{Buckets, Rate};
use super::slots::{Slot, Slots};
use std::net::{IpAddr, Ipv6Addr};

/// What a /48 may have, in shares of a /64.
pub(crate) const OF_A_SITE: u32 = 2;

/// How often each address may ask.
#[derive(Debug)]
pub(super) struct AddressRates {
    networks: Buckets<IpAddr>,
    sites: Buckets<Ipv6Addr>,
}

impl AddressRates {
    /// `count` in `period_ms`, of which `burst` may come at once.
    pub(super) fn new(count: u32, period_ms: u64, burst: u32) -> AddressRates {
        let of_a_site = |share: u32| share.saturating_mul(OF_A_SITE);
        AddressRates {
            networks: Buckets::new(Rate::new(count, period_ms, burst)),
            sites: Buckets::new(Rate::new(of_a_site(count), period_ms, of_a_site(burst))),
        }
    }

    /// Takes a token, or says after how many milliseconds there is one.
    pub(super) fn take(&self, client: Counted, now_ms: u64) -> Result<(), u64> {
        self.networks.take(client.network, now_ms)?;
        match client.site {
            Some(site) => self.sites.take(site, now_ms),
            None => Ok(()),
        }
    }
}

/// How much of something each address holds.
#[derive(Debug)]
pub(super) struct AddressSlots {
    networks: Slots<IpAddr>,
    sites: Slots<Ipv6Addr>,
}

/// A share that is held until it is dropped.
#[derive(Debug)]
pub(super) struct AddressSlot {
    _network: Slot<IpAddr>,
    _site: Option<Slot<Ipv6Addr>>,
}

impl AddressSlots {
    pub(super) fn new(most: u64) -> AddressSlots {
        AddressSlots {
            networks: Slots::new(most),
            sites: Slots::new(most.saturating_mul(OF_A_SITE.into())),
        }
    }

    /// Takes `amount` for the address; `None` when that is more than it may hold.
    pub(super) fn take(&self, client: Counted, amount: u64) -> Option<AddressSlot> {
        let network = self.networks.take(client.network, amount)?;
        let site = match client.site {
            Some(site) => Some(self.sites.take(site, amount)?),
            None => None,
        };
        Some(AddressSlot {
            _network: network,
            _site: site,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(address: &str) -> Counted {
        Counted::of(address.parse().unwrap())
    }

    #[test]
    fn limits_all_networks_of_a_site_have_two_shares_together() {
        let rates = AddressRates::new(1, 1_000, 1);
        let slots = AddressSlots::new(1);
        let mut held = Vec::new();
        for network in ["2001:db8:1:1::", "2001:db8:1:2::"] {
            assert_eq!(rates.take(client(network), 0), Ok(()), "{network}");
            assert!(rates.take(client(network), 0).is_err(), "{network}");
            held.push(slots.take(client(network), 1).unwrap());
            assert!(slots.take(client(network), 1).is_none(), "{network}");
        }
        let third = client("2001:db8:1:3::");
        assert!(rates.take(third, 0).is_err());
        assert!(slots.take(third, 1).is_none());
        for neighbour in ["2001:db8:2:1::", "192.0.2.1"] {
            assert_eq!(rates.take(client(neighbour), 0), Ok(()), "{neighbour}");
            assert!(slots.take(client(neighbour), 1).is_some(), "{neighbour}");
        }
        held.pop();
        assert!(slots.take(third, 1).is_some(), "given back");
    }
}
