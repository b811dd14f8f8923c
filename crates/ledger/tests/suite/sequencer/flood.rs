//! A flood of REQUESTs that nobody answers: memory follows what is open and what the windows hold,
//! never how much there has been, and an honest pair does its business meanwhile.

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use super::party::{Account, Party};
use x811_protocol::code::Code;
use x811_world::Sizes;

const SPAMMERS: usize = 6;

/// REQUESTs of each spammer in one lap; half of them are over its limit.
const REQUESTS: usize = 20;

/// Interactions a pair may have open.
const OPEN_PER_PAIR: u64 = 10;

/// Longer than any window of nonces and ids.
const LAP_MS: u64 = 26 * 60_000;

struct Flood {
    ledgerbox: Ledgerbox,
    spammers: Vec<Party>,
    honest: (Party, Party),
}

impl Flood {
    async fn new() -> Flood {
        let ledgerbox = Ledgerbox::but(|it| it.limits.open_per_pair = OPEN_PER_PAIR).await;
        let mut spammers = Vec::new();
        for _ in 0..SPAMMERS {
            spammers.push(ledgerbox.initiator(&Account::new(0x46)).await);
        }
        let initiator = ledgerbox.initiator(&Account::new(0x47)).await;
        let honest = (initiator, ledgerbox.provider().await);
        Flood {
            ledgerbox,
            spammers,
            honest,
        }
    }

    /// Everybody floods the honest provider; what was held at the peak, and in the end.
    async fn lap(&self) -> (Sizes, Sizes) {
        let (initiator, provider) = &self.honest;
        let mut refused = 0;
        for number in 0..REQUESTS {
            for spammer in &self.spammers {
                let account = Account::new(0x46);
                let mut deal = Deal::between(&self.ledgerbox, spammer, provider, account);
                let request = deal.request(&self.ledgerbox);
                if let Err(refusal) = self.ledgerbox.submit(&request).await {
                    assert_eq!(refusal.code, Code::RateLimitExceeded);
                    refused += 1;
                }
            }
            if number == REQUESTS / 2 {
                let mut deal =
                    Deal::between(&self.ledgerbox, initiator, provider, Account::new(0x47));
                deal.go(&self.ledgerbox, Until::Verified).await;
            }
        }
        assert_eq!(refused, SPAMMERS * REQUESTS / 2);
        let peak = self.ledgerbox.ledger().world().sizes();
        for _ in 0..4 {
            self.ledgerbox.advance_ms(LAP_MS / 4).await;
        }
        (peak, self.ledgerbox.ledger().world().sizes())
    }
}

#[tokio::test]
async fn lc_3_memory_stays_flat_under_a_flood_of_requests() {
    let flood = Flood::new().await;
    flood.lap().await;
    let (once, after_once) = flood.lap().await;
    flood.lap().await;
    let (twice, after_twice) = flood.lap().await;
    let most = SPAMMERS * usize::try_from(OPEN_PER_PAIR).unwrap() + 1;
    assert_eq!(once.interactions, most);
    assert_eq!(once, twice, "after twice the work");
    assert_eq!(after_once, after_twice, "after twice the work");
    assert_eq!((after_twice.interactions, after_twice.routes), (0, 0));
    assert_eq!((after_twice.open_pairs, after_twice.notices_owed), (0, 0));
}
