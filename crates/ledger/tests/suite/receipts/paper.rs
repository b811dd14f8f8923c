//! Paid interactions, their receipts, and what a ledger that lies makes of them: it holds every key
//! of its own, and writes all hashes, proofs and signatures anew.

use serde_json::{Value, json};
use x811_eventlog::note::NoteKey;
use x811_eventlog::{Checkpoint, CoseReceipt, Hash, Multiproof, Node, Policy, Record, root_of};
use x811_ledger::checkpoint::Signed;
use x811_ledger::export::LastRecord;
use x811_ledger::keys_statement::KeysStatement;
use x811_ledger::port::ReadModel as _;
use x811_ledger::receipt::{
    self, Checked, ClaimVerdict, CompactReceipt, Issuer, Leaf, Receipt, ReceiptError, verify,
};
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::id::InteractionId;
use x811_protocol::key::SecretKey;

use super::base::{Base, TREASURY, tx};
use super::bundles;
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::Ledgerbox;
use super::party::Account;

/// Of the total of every deal.
pub(crate) const FEE_MICRO_USDC: u64 = 25_000;

/// Blocks at which these ledgers take a transfer for confirmed.
pub(crate) const DEPTH: u64 = 2;

/// A ledger whose settlement schedule is over soon, and that has seen the network.
pub(crate) async fn impatient() -> Ledgerbox {
    let ledgerbox = super::ledgerbox::impatient().await;
    ledgerbox.sweep().await;
    ledgerbox
}

/// The next interaction of the same two.
pub(crate) fn again(ledgerbox: &Ledgerbox, deal: &Deal) -> Deal {
    let account = Account::new(0x46);
    Deal::between(ledgerbox, &deal.initiator, &deal.provider, account)
}

/// Waits until the interaction is completed.
pub(crate) async fn completed(ledgerbox: &Ledgerbox, deal: &Deal) {
    ledgerbox.watch_ms(20_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
}

/// Pays a verified deal by these amounts in the transaction of that number.
pub(crate) async fn pay(ledgerbox: &mut Ledgerbox, deal: &Deal, number: u16, micro_usdc: &[u64]) {
    deal.mine(ledgerbox, number, micro_usdc);
    ledgerbox.accept(&deal.payment(ledgerbox, number)).await;
    completed(ledgerbox, deal).await;
}

/// A ledger with a deal that one transfer paid.
pub(crate) async fn paid() -> (Ledgerbox, Deal) {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    pay(&mut ledgerbox, &deal, 1, &[TOTAL_MICRO_USDC]).await;
    (ledgerbox, deal)
}

/// A ledger with a deal whose price and fee came by a transaction and a PAYMENT each.
pub(crate) async fn paid_apart() -> (Ledgerbox, Deal) {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    let block = Base::head_number(ledgerbox.now()) + 1;
    let (payer, price) = (deal.account.address, TOTAL_MICRO_USDC - FEE_MICRO_USDC);
    ledgerbox.base.mine(tx(3), block, payer, &[price]);
    let fee = [FEE_MICRO_USDC];
    ledgerbox.base.mine_to(TREASURY, tx(4), block, payer, &fee);
    for number in [3, 4] {
        ledgerbox.accept(&deal.payment(&ledgerbox, number)).await;
    }
    completed(&ledgerbox, &deal).await;
    (ledgerbox, deal)
}

/// A checkpoint over all records.
async fn signed(ledgerbox: &Ledgerbox) -> Signed {
    let leaves: Vec<Hash> = ledgerbox.records().await.iter().map(Record::hash).collect();
    let checkpoint = Checkpoint {
        origin: ledgerbox.opened().origin,
        size: leaves.len() as u64,
        root: root_of(&leaves),
    };
    let key = &ledgerbox.checkpoint_key;
    let public_key = *key.public().as_bytes();
    let root = CoseReceipt::signed_bytes(&checkpoint.origin, public_key, checkpoint.root);
    let note = note(&checkpoint, key);
    Signed {
        keys: Some(bundles::keys(ledgerbox, &note)),
        note,
        cose_signature: *key.sign(&root).as_bytes(),
        checkpoint,
        monotonic_ms: 0,
    }
}

/// `checkpoint` as `key` signs it.
pub(crate) fn note(checkpoint: &Checkpoint, key: &SecretKey) -> String {
    let sign = |message: &[u8]| *key.sign(message).as_bytes();
    checkpoint.sign(*key.public().as_bytes(), sign).unwrap()
}

/// What the ledger issues for the interaction, or why it does not.
pub(crate) async fn issue(
    ledgerbox: &Ledgerbox,
    id: InteractionId,
) -> Result<(Receipt, CompactReceipt), ReceiptError> {
    let (signed, world) = (signed(ledgerbox).await, ledgerbox.ledger().world());
    let issuer = || Issuer {
        ledger: ledgerbox.identity.did,
        keyring: world.keyring().unwrap(),
        key: &ledgerbox.receipt_key,
        checkpoint_key: &ledgerbox.checkpoint_key,
        parameters: world.parameters().map(|(position, _)| position),
    };
    let (store, rows) = (&*ledgerbox.store, &*ledgerbox.rows);
    let row = rows.interaction(id).await?.unwrap();
    let whole = receipt::build(store, rows, &row, &signed, issuer()).await?;
    let whole = Receipt::from_bytes(&whole).unwrap();
    let compact = receipt::build_compact(store, rows, &row, &signed, issuer()).await?;
    Ok((whole, compact))
}

/// An honest receipt, and everything it takes to forge others in its place.
#[derive(Debug, Clone)]
pub(crate) struct Paper {
    pub(crate) receipt: Receipt,
    pub(crate) compact: CompactReceipt,
    /// Trusts the checkpoint key in force.
    pub(crate) policy: Policy,
    leaves: Vec<Hash>,
    checkpoint_key: SecretKey,
    pub(crate) receipt_key: SecretKey,
}

impl Paper {
    /// The receipt of a deal; it holds, also once it is written and read.
    pub(crate) async fn of(ledgerbox: &Ledgerbox, deal: &Deal) -> Paper {
        let (receipt, compact) = issue(ledgerbox, deal.id()).await.unwrap();
        let key = &ledgerbox.checkpoint_key;
        let log = NoteKey::new(&*ledgerbox.opened().origin, *key.public().as_bytes());
        let leaves = ledgerbox.records().await.iter().map(Record::hash).collect();
        let paper = Paper {
            policy: Policy::of_log(log.unwrap()),
            leaves,
            checkpoint_key: key.clone(),
            receipt_key: ledgerbox.receipt_key.clone(),
            receipt,
            compact,
        };
        let read = Receipt::from_bytes(&paper.receipt.to_bytes()).unwrap();
        assert_eq!(read, paper.receipt);
        assert!(paper.holds(&read).trusted);
        let unchanged = paper.forged(|_| {});
        assert_eq!(unchanged, paper.receipt, "forging nothing changes nothing");
        paper
    }

    pub(crate) fn verify(&self, receipt: &Receipt) -> Checked {
        verify(receipt, Some(&self.policy))
    }

    #[track_caller]
    pub(crate) fn holds(&self, receipt: &Receipt) -> Checked {
        let checked = self.verify(receipt);
        assert!(checked.paid.is_some(), "{:?}", checked.steps.last());
        checked
    }

    /// What breaks the receipt that the ledger makes of this one by `change`: the step, and its
    /// sentence.
    #[track_caller]
    pub(crate) fn breaks(&self, change: impl FnOnce(&mut Receipt)) -> (&'static str, String) {
        let checked = self.verify(&self.forged(change));
        let last = checked.steps.last().unwrap();
        assert_eq!(last.verdict, ClaimVerdict::Broken, "{last:?}");
        assert_eq!(checked.paid, None);
        (last.about, last.sentence.clone())
    }

    /// A step of the verification, which lies of the ledger have to break.
    pub(crate) fn on<'a>(&'a self, about: &'a str) -> Step<'a> {
        Step { paper: self, about }
    }

    /// The receipt with that change, in a log that has its records where it says, under a checkpoint
    /// by the ledger's own key; the confirmation names the messages that are there.
    pub(crate) fn forged(&self, change: impl FnOnce(&mut Receipt)) -> Receipt {
        let mut receipt = self.receipt.clone();
        change(&mut receipt);
        let stream = format!("interaction:{}", receipt.interaction);
        let hashes = receipt.envelopes.iter().map(|enclosed| {
            let (record, _) = enclosed.record(stream.clone()).unwrap();
            json!(record.hash())
        });
        let hashes: Vec<Value> = hashes.collect();
        let records = &mut receipt.confirmed.event["records"];
        let begins = receipt.envelopes.first().map(|first| &first.body["type"]);
        let skipped = usize::from(begins.is_none_or(|begins| begins != "x811/request"));
        let names = ["request", "offer", "accept", "verify"];
        for (name, hash) in names.into_iter().skip(skipped).zip(&hashes) {
            records[name] = hash.clone();
        }
        records["payments"] = json!(hashes[4 - skipped..]);
        self.under_one_root(receipt, &stream)
    }

    fn under_one_root(&self, mut receipt: Receipt, stream: &str) -> Receipt {
        let initiator = receipt.envelopes.last().unwrap().body["from"]
            .as_str()
            .unwrap();
        let agent = format!("agent:{initiator}");
        let record = |leaf: &Leaf, stream: &str| leaf.record(stream.to_owned()).unwrap();
        let own = receipt.rotations.iter().chain([&receipt.parameters]);
        let mut records: Vec<Record> = own.map(|leaf| record(leaf, "ledger")).collect();
        records.extend(receipt.agent_keys.iter().map(|leaf| record(leaf, &agent)));
        records.push(record(&receipt.confirmed, stream));
        records.push(receipt.ledger.record().unwrap());
        let mut leaves = self.leaves.clone();
        let mut positions: Vec<u64> = records.iter().map(Record::position).collect();
        positions.sort_unstable();
        for record in &records {
            leaves[usize::try_from(record.position()).unwrap()] = record.hash();
        }
        let checkpoint = Checkpoint {
            origin: receipt.ledger.event["origin"].as_str().unwrap().to_owned(),
            size: leaves.len() as u64,
            root: root_of(&leaves),
        };
        let node = |node: Node| {
            let from = usize::try_from(node.index() << node.level()).unwrap();
            Ok::<_, std::convert::Infallible>(root_of(&leaves[from..from + (1 << node.level())]))
        };
        let Ok(proof) = Multiproof::build(&positions, checkpoint.size, node);
        // Records in no order, or twice, have no proof: whatever is there is refused.
        receipt.hashes = proof.map_or_else(Vec::new, |proof| proof.hashes);
        receipt.checkpoint = note(&checkpoint, &self.checkpoint_key);
        let confirmed = record(&receipt.confirmed, stream);
        self.restate(&mut receipt, &checkpoint, &confirmed);
        receipt.sign(&self.receipt_key)
    }

    /// Signs keys statement and end anew, for that checkpoint.
    fn restate(&self, receipt: &mut Receipt, checkpoint: &Checkpoint, confirmed: &Record) {
        if let Some(keys) = receipt.keys.take() {
            let statement = KeysStatement {
                origin: checkpoint.origin.clone(),
                root: checkpoint.root,
                ..keys.statement
            };
            receipt.keys = Some(statement.sign(&self.checkpoint_key));
        }
        if let Some(end) = receipt.end.take() {
            let mut end = end.end;
            let of_it = |last: &&mut LastRecord| last.seq == confirmed.stream_seq();
            if let Some(last) = end.last.as_mut().filter(of_it) {
                last.hash = confirmed.hash();
            }
            receipt.end = Some(end.sign(&self.checkpoint_key));
        }
    }
}

/// A lie of the ledger: what it is, words of the sentence that shows it, and how it is told.
type Lie<'a> = (&'a str, &'a str, &'a dyn Fn(&mut Receipt));

/// What a step of the verification is about.
pub(crate) struct Step<'a> {
    paper: &'a Paper,
    about: &'a str,
}

impl Step<'_> {
    /// Every lie breaks this step, in those words.
    #[track_caller]
    pub(crate) fn breaks(&self, lies: &[Lie<'_>]) {
        for (what, words, lie) in lies {
            let (about, sentence) = self.paper.breaks(lie);
            assert_eq!(about, self.about, "{what}: {sentence}");
            assert!(sentence.contains(words), "{what}: {sentence}");
        }
    }
}

/// Puts another message in the place of one in the receipt.
pub(crate) fn put(receipt: &mut Receipt, at: usize, message: &SealedEnvelope, key: &SecretKey) {
    let mut body: Value = serde_json::from_slice(&message.json).unwrap();
    let signature = body.as_object_mut().unwrap().remove("signature").unwrap();
    let enclosed = &mut receipt.envelopes[at];
    enclosed.body = body;
    enclosed.signature = serde_json::from_value(signature).unwrap();
    enclosed.key = key.public();
}
