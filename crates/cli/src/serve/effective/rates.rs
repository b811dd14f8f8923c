//! `[rates]` and back: limits of this process, all of which may be set.

use x811_server::RateLimits;

use super::super::settings::Rates;
use super::super::value::Block;
use super::put;

/// What is given, over what holds without it.
pub(super) fn apply(rates: &mut RateLimits, given: Rates) {
    put(
        &mut rates.requests_per_second_per_address,
        given.requests_per_second_per_address,
    );
    put(&mut rates.burst_per_address, given.burst_per_address);
    put(
        &mut rates.requests_per_second_per_did,
        given.requests_per_second_per_did,
    );
    put(&mut rates.burst_per_did, given.burst_per_did);
    put(
        &mut rates.registrations_per_address_per_hour,
        given.registrations_per_address_per_hour,
    );
    put(
        &mut rates.registrations_per_hour,
        given.registrations_per_hour,
    );
    put(
        &mut rates.long_polls_per_address,
        given.long_polls_per_address,
    );
    put(&mut rates.long_polls_per_did, given.long_polls_per_did);
    put(&mut rates.streams_per_did, given.streams_per_did);
    put(&mut rates.streams, given.streams);
    put(
        &mut rates.body_bytes_per_address,
        given.body_bytes_per_address,
    );
    let proxies = given
        .trusted_proxies
        .map(|blocks| blocks.into_iter().map(|block| block.0).collect());
    put(&mut rates.trusted_proxies, proxies);
    put(&mut rates.limit_loopback, given.limit_loopback);
}

/// As a file would have to say it.
pub(super) fn shown(rates: &RateLimits) -> Rates {
    Rates {
        requests_per_second_per_address: Some(rates.requests_per_second_per_address),
        burst_per_address: Some(rates.burst_per_address),
        requests_per_second_per_did: Some(rates.requests_per_second_per_did),
        burst_per_did: Some(rates.burst_per_did),
        registrations_per_address_per_hour: Some(rates.registrations_per_address_per_hour),
        registrations_per_hour: Some(rates.registrations_per_hour),
        long_polls_per_address: Some(rates.long_polls_per_address),
        long_polls_per_did: Some(rates.long_polls_per_did),
        streams_per_did: Some(rates.streams_per_did),
        streams: Some(rates.streams),
        body_bytes_per_address: Some(rates.body_bytes_per_address),
        trusted_proxies: Some(rates.trusted_proxies.iter().cloned().map(Block).collect()),
        limit_loopback: Some(rates.limit_loopback),
    }
}
