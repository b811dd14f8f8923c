//! What happens in a storm, minute by minute: drawn from a seed, so that a bad one can be had again.

use std::fmt;

use fastrand::Rng;

/// Endpoints that the ledger asks. With two of them, one may lie.
pub(super) const ENDPOINTS: usize = 2;

/// From here on a reorganisation can take away what is confirmed on Base.
const CONFIRMED: u64 = 13;

/// The deepest reorganisation: deeper than what confirms a payment, and not so deep that it would take
/// away what the payers were given.
pub(super) const DEEPEST: u64 = 40;

/// One minute of Base, played in a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Minute {
    /// Blocks that are mined.
    pub(super) blocks: u64,
    pub(super) weather: Weather,
    /// Whether transactions that a reorganisation took away are sent again, as a node's pool would.
    pub(super) brings_back: bool,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weather {
    Calm,
    /// So many blocks are replaced by empty ones.
    Reorg(u64),
    /// An endpoint does this from now on.
    Endpoint(usize, Fault),
}

/// What an endpoint does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It answers as the node does.
    None,
    /// Its newest block is so many behind.
    Lags(u64),
    /// It answers HTTP status 500.
    Fails,
    /// It answers after a second and a half.
    IsSlow,
    /// It knows of no transfer.
    Hides,
    /// It doubles what transfers move.
    Forges,
}

impl Fault {
    pub(super) fn lies(self) -> bool {
        matches!(self, Fault::Hides | Fault::Forges)
    }
}

impl fmt::Display for Weather {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (which, fault) = match self {
            Weather::Calm => return f.write_str("calm"),
            Weather::Reorg(depth) => return write!(f, "{depth} blocks are replaced"),
            Weather::Endpoint(which, fault) => (which + 1, fault),
        };
        match fault {
            Fault::None => write!(f, "endpoint {which} is well again"),
            Fault::Lags(blocks) => write!(f, "endpoint {which} lags {blocks} blocks behind"),
            Fault::Fails => write!(f, "endpoint {which} fails"),
            Fault::IsSlow => write!(f, "endpoint {which} is slow"),
            Fault::Hides => write!(f, "endpoint {which} hides every transfer"),
            Fault::Forges => write!(f, "endpoint {which} forges amounts"),
        }
    }
}

/// The minutes of a storm.
pub(super) fn forecast(seed: u64, minutes: usize) -> Vec<Minute> {
    let mut dice = Rng::with_seed(seed);
    let mut liar = None;
    let mut hour = Vec::with_capacity(minutes);
    for _ in 0..minutes {
        let weather = weather(&mut dice, liar);
        if let Weather::Endpoint(which, fault) = weather {
            liar = match liar {
                Some(other) if other != which => liar,
                _ => fault.lies().then_some(which),
            };
        }
        hour.push(Minute {
            blocks: dice.u64(1..=16),
            weather,
            brings_back: dice.u8(..3) == 0,
        });
    }
    hour
}

/// Two endpoints must agree on what they say is paid; that two lie at once nobody promises to bear.
fn weather(dice: &mut Rng, liar: Option<usize>) -> Weather {
    if dice.u8(..3) == 0 {
        let least = if dice.bool() { 1 } else { CONFIRMED };
        return Weather::Reorg(dice.u64(least..=DEEPEST));
    }
    if dice.u8(..4) == 0 {
        return Weather::Calm;
    }
    let which = dice.usize(..ENDPOINTS);
    let fault = match dice.u8(..8) {
        0..=2 => Fault::None,
        3 => Fault::Lags(dice.u64(1..=40)),
        4 => Fault::Fails,
        5 => Fault::IsSlow,
        6 => Fault::Hides,
        _ => Fault::Forges,
    };
    match liar {
        Some(other) if other != which && fault.lies() => Weather::Endpoint(which, Fault::Fails),
        _ => Weather::Endpoint(which, fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_storm_and_never_do_two_endpoints_lie_at_once() {
        assert_eq!(forecast(7, 60), forecast(7, 60));
        assert_ne!(forecast(7, 60), forecast(8, 60));
        for seed in 0..200 {
            let mut lying = [false; ENDPOINTS];
            let mut reorgs = 0;
            for minute in forecast(seed, 60) {
                match minute.weather {
                    Weather::Endpoint(which, fault) => lying[which] = fault.lies(),
                    Weather::Reorg(_) => reorgs += 1,
                    Weather::Calm => {}
                }
                assert!(!lying.iter().all(|lies| *lies), "seed {seed}");
            }
            assert!(reorgs > 5, "seed {seed}");
        }
    }
}
