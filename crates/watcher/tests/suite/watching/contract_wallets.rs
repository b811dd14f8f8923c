//! Contract wallets: whose word it takes.

use super::scripted::{CHAIN_ID, ScriptedChain, unreachable};
use x811_protocol::evm::{ChainId, EvmAddress};
use x811_watcher::CallAnswer;
use x811_watcher::contract_wallet::{Undecided, is_valid_signature};

/// How one endpoint answers.
#[derive(Debug, Clone, Copy)]
enum Says {
    Yes,
    No,
    Fails,
    Empty,
    Nothing,
    OtherChain,
}

async fn verdict(endpoints: &[Says]) -> Result<bool, Undecided> {
    let chains: Vec<ScriptedChain> = endpoints
        .iter()
        .map(|says| {
            let chain = ScriptedChain::with_blocks(3);
            let yes = [&[0x16, 0x26, 0xba, 0x7e][..], &[0; 28]].concat();
            let mut world = chain.world();
            match says {
                Says::Yes => world.call = CallAnswer::Returned(yes),
                Says::No => world.call = CallAnswer::Returned(vec![0; 32]),
                Says::Empty => world.call = CallAnswer::Returned(Vec::new()),
                Says::Fails => world.call = CallAnswer::Failed,
                Says::OtherChain => world.chain_id = ChainId::new(1),
                Says::Nothing => world.failure = Some(unreachable()),
            }
            drop(world);
            chain
        })
        .collect();
    is_valid_signature(
        &chains,
        CHAIN_ID,
        EvmAddress::from_bytes([7; 20]),
        [1; 32],
        &[2; 65],
    )
    .await
}

#[tokio::test]
async fn rule_18_two_endpoints_must_say_the_same_where_there_are_two() {
    use Says::{Empty, Fails, No, Nothing, OtherChain, Yes};
    let silent = || Err(Undecided::Silent(unreachable()));
    let contradiction = || Err(Undecided::Contradiction);
    let other_chain = || {
        Err(Undecided::OtherChain {
            expected: CHAIN_ID,
            actual: ChainId::new(1),
        })
    };
    let table: [(&[Says], Result<bool, Undecided>); 18] = [
        (&[Yes], Ok(true)),
        (&[No], Ok(false)),
        (&[Fails], Ok(false)),
        (&[Nothing], silent()),
        (&[Empty], Err(Undecided::Empty)),
        (&[Empty, Empty], Err(Undecided::Empty)),
        (&[Yes, Empty], Err(Undecided::Empty)),
        (&[Yes, Empty, Yes], Ok(true)),
        (&[Yes, Yes], Ok(true)),
        (&[No, Fails], Ok(false)),
        (&[Yes, No], contradiction()),
        (&[Yes, Nothing], silent()),
        (&[No, Nothing], silent()),
        (&[Yes, Nothing, Yes], Ok(true)),
        (&[Yes, Yes, No, No], contradiction()),
        (&[OtherChain], other_chain()),
        (&[Yes, OtherChain], other_chain()),
        (&[], contradiction()),
    ];
    for (endpoints, expected) in table {
        assert_eq!(verdict(endpoints).await, expected, "{endpoints:?}");
    }
}
