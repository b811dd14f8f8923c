//! Whose request it is, as far as the network can say: the peer, or what a proxy that the operator
//! trusts says of it.

use axum::http::HeaderMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// A block of addresses, such as `10.0.0.0/8` or `::1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressBlock {
    address: IpAddr,
    prefix_bits: u8,
}

impl AddressBlock {
    /// This machine, in both families.
    pub const LOOPBACK: [AddressBlock; 2] = [
        AddressBlock {
            address: IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)),
            prefix_bits: 8,
        },
        AddressBlock {
            address: IpAddr::V6(Ipv6Addr::LOCALHOST),
            prefix_bits: 128,
        },
    ];

    fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(block), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(self.prefix_bits);
                let differ = block.to_bits() ^ address.to_bits();
                differ.checked_shr(shift).unwrap_or(0) == 0
            }
            (IpAddr::V6(block), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(self.prefix_bits);
                let differ = block.to_bits() ^ address.to_bits();
                differ.checked_shr(shift).unwrap_or(0) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// Text that is no block of addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is no block of addresses: write it like 10.0.0.0/8, fd00::/8 or 192.0.2.7")]
pub struct NoAddressBlock;

impl FromStr for AddressBlock {
    type Err = NoAddressBlock;

    fn from_str(text: &str) -> Result<AddressBlock, NoAddressBlock> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NoAddressBlock)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = match prefix {
            Some(prefix) => prefix.parse().map_err(|_| NoAddressBlock)?,
            None => most,
        };
        if prefix_bits > most {
            return Err(NoAddressBlock);
        }
        Ok(AddressBlock {
            address,
            prefix_bits,
        })
    }
}

impl fmt::Display for AddressBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_bits)
    }
}

/// The address a request counts for. `X-Forwarded-For` is read from its end, as far as trusted
/// proxies wrote it: whoever connects directly cannot choose its address.
pub(super) fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[AddressBlock]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|block| block.contains(address));
    let mut client = peer.to_canonical();
    let lines = headers.get_all(FORWARDED_FOR).iter();
    let hops: Vec<&str> = lines
        .flat_map(|line| line.to_str().unwrap_or("").split(','))
        .collect();
    for hop in hops.into_iter().rev() {
        if !is_trusted(client) {
            break;
        }
        let Some(before) = read(hop.trim()) else {
            break;
        };
        client = before.to_canonical();
    }
    client
}

/// An address as proxies write it, some of them with a port.
fn read(hop: &str) -> Option<IpAddr> {
    let bare = hop.trim_start_matches('[').trim_end_matches(']');
    let with_port = || hop.parse::<SocketAddr>().map(|socket| socket.ip());
    bare.parse().or_else(|_| with_port()).ok()
}

/// What an address is counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Counted {
    /// One address of IPv4, a /64 of IPv6, which is what one subscriber has.
    pub(crate) network: IpAddr,
    /// The /48 of IPv6 around it: one customer may have all of its 65,536 networks.
    pub(crate) site: Option<Ipv6Addr>,
}

impl Counted {
    pub(crate) fn of(address: IpAddr) -> Counted {
        match address.to_canonical() {
            IpAddr::V4(address) => Counted {
                network: IpAddr::V4(address),
                site: None,
            },
            IpAddr::V6(address) => Counted {
                network: IpAddr::V6(prefix(address, 64)),
                site: Some(prefix(address, 48)),
            },
        }
    }
}

/// The first `bits` of an address, 1 to 127 of them.
fn prefix(address: Ipv6Addr, bits: u32) -> Ipv6Addr {
    Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - bits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> AddressBlock {
        text.parse().unwrap()
    }

    #[test]
    fn blocks_are_read_and_contain_what_they_say() {
        for (text, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.0"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.6"),
            ("0.0.0.0/0", "203.0.113.9", "::1"),
            ("fd00::/8", "fdff::1", "fe00::1"),
            ("::/0", "2001:db8::1", "192.0.2.7"),
            ("::1", "::1", "::2"),
        ] {
            assert!(block(text).contains(inside.parse().unwrap()), "{text}");
            assert!(!block(text).contains(outside.parse().unwrap()), "{text}");
            assert_eq!(block(&block(text).to_string()), block(text));
        }
        for bad in ["", "10.0.0.0/33", "::/129", "host", "10.0.0.0/-1", "1.2.3"] {
            assert_eq!(bad.parse::<AddressBlock>(), Err(NoAddressBlock), "{bad}");
        }
    }

    #[test]
    fn lc_3_only_trusted_proxies_say_whose_a_request_is() {
        let trusted = [block("10.0.0.0/8"), block("::1")];
        for (peer, forwarded, expected) in [
            ("203.0.113.9", vec![], "203.0.113.9"),
            ("203.0.113.9", vec!["192.0.2.7"], "203.0.113.9"),
            ("10.0.0.1", vec!["192.0.2.7"], "192.0.2.7"),
            ("::ffff:10.0.0.1", vec!["::ffff:192.0.2.7"], "192.0.2.7"),
            ("10.0.0.1", vec!["198.51.100.1, 192.0.2.7"], "192.0.2.7"),
            ("10.0.0.1", vec!["198.51.100.1", "192.0.2.7"], "192.0.2.7"),
            ("10.0.0.1", vec!["192.0.2.7, 10.0.0.2"], "192.0.2.7"),
            ("10.0.0.1", vec!["192.0.2.7:5678"], "192.0.2.7"),
            ("10.0.0.1", vec!["[2001:db8::1]:80"], "2001:db8::1"),
            ("10.0.0.1", vec!["[2001:db8::1]"], "2001:db8::1"),
            ("10.0.0.1", vec!["192.0.2.7, unknown"], "10.0.0.1"),
            ("10.0.0.1", vec![""], "10.0.0.1"),
            ("10.0.0.1", vec![], "10.0.0.1"),
        ] {
            let mut headers = HeaderMap::new();
            for line in &forwarded {
                headers.append(FORWARDED_FOR, line.parse().unwrap());
            }
            let found = client(peer.parse().unwrap(), &headers, &trusted);
            assert_eq!(found, expected.parse::<IpAddr>().unwrap(), "{forwarded:?}");
        }
    }

    #[test]
    fn limits_ipv6_counts_by_its_64_and_by_its_48_bits_of_network() {
        let count = |text: &str| Counted::of(text.parse().unwrap());
        assert_eq!(count("2001:db8:1:2::1"), count("2001:db8:1:2:ffff::9"));
        let (one, other) = (count("2001:db8:1:2::1"), count("2001:db8:1:3::1"));
        assert_ne!(one.network, other.network);
        assert_eq!(one.site, other.site);
        assert_ne!(one.site, count("2001:db8:2:2::1").site);
        assert_ne!(count("192.0.2.7"), count("192.0.2.8"));
        assert_eq!(count("192.0.2.7").site, None);
        assert_eq!(count("::ffff:192.0.2.7"), count("192.0.2.7"));
    }
}
