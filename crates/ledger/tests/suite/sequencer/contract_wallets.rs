//! Contract wallets (ERC-1271): what their contracts say decides, once, before the message's turn
//! (settlement-watcher.md rule 18, ledger-contract.md section 4).

use super::bundles::audited;
use super::ledgerbox::{Ledgerbox, TASK};
use super::party::{Account, Party};
use super::registry::ask;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use x811_audit::FactCounts;
use x811_ledger::answer::Answer;
use x811_ledger::port::{ContractProof, ContractVerdict, ContractWallets, ContractsNotAsked};
use x811_protocol::code::Code;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::evm::EvmAddress;
use x811_protocol::refusal::Refusal;
use x811_protocol::wallet::{WalletKind, binding_hash};

/// Contracts that answer as the test says.
struct Scripted {
    answer: Mutex<Result<bool, ContractsNotAsked>>,
    asked: AtomicUsize,
    last: Mutex<Vec<ContractProof>>,
}

impl Scripted {
    fn saying(answer: Result<bool, ContractsNotAsked>) -> Scripted {
        Scripted {
            answer: Mutex::new(answer),
            asked: AtomicUsize::new(0),
            last: Mutex::new(Vec::new()),
        }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl ContractWallets for Scripted {
    async fn judge(
        &self,
        proofs: &[ContractProof],
    ) -> Result<Vec<ContractVerdict>, ContractsNotAsked> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        *self.last.lock().unwrap() = proofs.to_vec();
        let accepts = self.answer.lock().unwrap().clone()?;
        let network = || "base".to_owned();
        let verdict = |_| match accepts {
            true => ContractVerdict::Accepted,
            false => ContractVerdict::Rejected { network: network() },
        };
        Ok(proofs.iter().map(verdict).collect())
    }
}

fn silent() -> ContractsNotAsked {
    ContractsNotAsked::Silent {
        network: "base".to_owned(),
        detail: "unplugged".to_owned(),
    }
}

fn contract(byte: u8, proof: &str) -> Value {
    let address = EvmAddress::from_bytes([byte; 20]).to_checksum();
    json!({ "address": address, "kind": "erc1271", "proof": proof })
}

async fn submit(
    ledgerbox: &Ledgerbox,
    envelope: &SealedEnvelope,
    contracts: &Scripted,
) -> Result<Answer, Refusal> {
    let ledger = ledgerbox.ledger();
    let bytes = envelope.json.clone();
    ledger.submit_if(bytes, |_| Ok(()), contracts).await
}

fn registering(ledgerbox: &Ledgerbox, party: &Party, wallets: &[Value]) -> SealedEnvelope {
    let payload = party.registration(&[TASK], wallets);
    ask(ledgerbox, party, "register", payload)
}

fn updating(ledgerbox: &Ledgerbox, party: &Party, wallets: &[Value]) -> SealedEnvelope {
    let payload = party.registration(&[TASK], wallets);
    ask(ledgerbox, party, "update", payload)
}

#[tokio::test]
async fn rule_18_a_wallet_whose_contract_says_yes_is_bound_and_survives_a_replay() {
    let mut ledgerbox = Ledgerbox::open().await;
    let party = ledgerbox.party();
    let key = Account::new(7).bound_to(party.did, ledgerbox.identity.did);
    let wallets = [contract(3, "0x0102"), key, contract(4, "0xff")];
    let contracts = Scripted::saying(Ok(true));
    let registration = registering(&ledgerbox, &party, &wallets);
    let accepted = submit(&ledgerbox, &registration, &contracts).await;
    assert!(matches!(accepted, Ok(Answer::Accepted(_))), "{accepted:?}");
    assert_eq!(contracts.asked(), 1, "all of a message together");
    let last = contracts.last.lock().unwrap().clone();
    let asked = [(3, vec![1, 2]), (4, vec![0xff])].map(|(byte, signature)| {
        let wallet = EvmAddress::from_bytes([byte; 20]);
        ContractProof {
            wallet,
            hash: binding_hash(party.did, ledgerbox.identity.did, wallet),
            signature,
        }
    });
    assert_eq!(last, asked);

    ledgerbox.restart().await;
    let world = ledgerbox.ledger().world();
    let bound = &world.agent(party.did).unwrap().wallets;
    let kinds: Vec<WalletKind> = bound.iter().map(|wallet| wallet.kind).collect();
    let (eoa, erc1271) = (WalletKind::Eoa, WalletKind::Erc1271);
    assert_eq!(kinds, [erc1271, eoa, erc1271]);
    assert_eq!(contracts.asked(), 1, "a replay asks nobody");

    let report = audited(&ledgerbox).await;
    assert!(report.is_clean(), "{:#?}", report.findings);
    let expected = FactCounts {
        proven: 1,
        asserted: 2,
        broken: 0,
    };
    assert_eq!(report.wallets, expected);
}

#[tokio::test]
async fn rule_18_a_wallet_whose_contract_says_no_is_refused_as_other_bad_proofs_are() {
    let ledgerbox = Ledgerbox::open().await;
    let party = ledgerbox.provider().await;
    let size = ledgerbox.records().await.len();
    let contracts = Scripted::saying(Ok(false));
    let key = Account::new(7).bound_to(party.did, ledgerbox.identity.did);
    let update = updating(&ledgerbox, &party, &[key, contract(3, "0x01")]);
    let refusal = submit(&ledgerbox, &update, &contracts).await.unwrap_err();
    assert_eq!(refusal.code, Code::DidDocumentInvalid);
    assert_eq!(refusal.http_status(), 400);
    assert!(refusal.message.contains("wallets[1]"), "{refusal}");
    assert!(refusal.message.contains("base"), "{refusal}");
    *contracts.answer.lock().unwrap() = Ok(true);
    let again = submit(&ledgerbox, &update, &contracts).await.unwrap_err();
    assert_eq!(again.code, Code::NonceReplay, "the first answer stands");
    assert_eq!(ledgerbox.records().await.len(), size);
}

#[tokio::test]
async fn rule_18_a_contract_that_cannot_be_asked_leaves_the_nonce_unspent() {
    let ledgerbox = Ledgerbox::open().await;
    let party = ledgerbox.party();
    let message = registering(&ledgerbox, &party, &[contract(3, "0x01")]);
    let table = [
        (silent(), Code::InternalError, 503),
        (ContractsNotAsked::NotConfigured, Code::InternalError, 500),
        (ContractsNotAsked::Busy, Code::RateLimitExceeded, 429),
    ];
    for (why, code, status) in table {
        let contracts = Scripted::saying(Err(why));
        let refusal = submit(&ledgerbox, &message, &contracts).await.unwrap_err();
        assert_eq!((refusal.code, refusal.http_status()), (code, status));
        assert_eq!(refusal.related, Some(message.header.id));
    }
    let refusal = ledgerbox.refuse(&message).await;
    assert_eq!(refusal.code, Code::InternalError, "nobody to ask");
    let accepted = submit(&ledgerbox, &message, &Scripted::saying(Ok(true))).await;
    assert!(matches!(accepted, Ok(Answer::Accepted(_))), "{accepted:?}");
}

#[tokio::test]
async fn rule_18_nobody_is_asked_for_what_the_registry_does_not_take() {
    let ledgerbox = Ledgerbox::open().await;
    let party = ledgerbox.provider().await;
    let contracts = Scripted::saying(Ok(true));
    let taken = registering(&ledgerbox, &party, &[contract(3, "0x01")]);
    let refusal = submit(&ledgerbox, &taken, &contracts).await.unwrap_err();
    assert_eq!(refusal.code, Code::DidDocumentInvalid);
    let key = Account::new(7).bound_to(party.did, ledgerbox.identity.did);
    let accepted = submit(
        &ledgerbox,
        &updating(&ledgerbox, &party, &[key]),
        &contracts,
    )
    .await;
    assert!(matches!(accepted, Ok(Answer::Accepted(_))), "{accepted:?}");
    assert_eq!(contracts.asked(), 0, "a key needs no chain");
}
