//! Paid interactions, their receipts, and what a ledger that lies makes of them: it holds every key
//! of its own, and writes all hashes, proofs and signatures anew.

use serde_json::{Value, json};
use x811_audit::export::LastRecord;
use x811_audit::receipt::{
    Checked, ClaimVerdict, CompactReceipt, Leaf, LeafPlace, Receipt, verify,
};
use x811_eventlog::note::NoteKey;
use x811_eventlog::{
    Checkpoint, CoseReceipt, Hash, InclusionProof, Multiproof, Node, Policy, Record, root_of,
};
use x811_ledger::checkpoint::Signed;
use x811_ledger::port::ReadModel as _;
use x811_ledger::receipt::{self, Issuer, ReceiptError};
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::id::InteractionId;
use x811_protocol::key::SecretKey;
use x811_protocol::stream::Subject;
use x811_world::keys_statement::KeysStatement;

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
    let row = rows.subject(Subject::Interaction(id)).await?.unwrap();
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
    /// Positions of the records that follow another one of the file, and what each names as that.
    linked: Vec<(u64, Hash)>,
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
            linked: linked(&receipt),
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
        self.resealed(receipt).unwrap()
    }

    /// The same of a receipt that was changed; `None` where no record can say that.
    pub(crate) fn resealed(&self, mut receipt: Receipt) -> Option<Receipt> {
        let named = self.receipt.confirmed.place.position;
        let (before, behind) = self
            .linked
            .split_at(self.linked.partition_point(|it| it.0 <= named));
        link(&mut receipt, before);
        name_messages(&mut receipt)?;
        link(&mut receipt, behind);
        self.under_one_root(receipt)
    }

    fn under_one_root(&self, mut receipt: Receipt) -> Option<Receipt> {
        let stream = format!("interaction:{}", receipt.interaction);
        let agent = format!("agent:{}", receipt.envelopes.last()?.body["from"].as_str()?);
        let record = |leaf: &Leaf, stream: &str| leaf.record(stream.to_owned()).ok();
        let own = receipt.rotations.iter().chain([&receipt.parameters]);
        let own = own.map(|leaf| record(leaf, "ledger"));
        let keys = receipt.agent_keys.iter().map(|leaf| record(leaf, &agent));
        let records: Option<Vec<Record>> = own.chain(keys).collect();
        let mut records = records?;
        let confirmed = record(&receipt.confirmed, &stream)?;
        records.push(confirmed.clone());
        records.push(receipt.ledger.record().ok()?);
        let mut leaves = self.leaves.clone();
        let mut positions: Vec<u64> = records.iter().map(Record::position).collect();
        positions.sort_unstable();
        for record in &records {
            *leaves.get_mut(usize::try_from(record.position()).ok()?)? = record.hash();
        }
        let checkpoint = Checkpoint {
            origin: receipt.ledger.event["origin"].as_str()?.to_owned(),
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
        self.restate(&mut receipt, &checkpoint, &confirmed);
        Some(receipt.sign(&self.receipt_key))
    }

    /// The compact receipt of the confirmation that a changed receipt has, in a log that has it.
    pub(crate) fn compact_of(&self, receipt: &Receipt) -> Option<CompactReceipt> {
        let stream = format!("interaction:{}", receipt.interaction);
        let record = receipt.confirmed.record(stream).ok()?;
        let mut leaves = self.leaves.clone();
        *leaves.get_mut(usize::try_from(record.position()).ok()?)? = record.hash();
        let node = |node: Node| {
            let from = usize::try_from(node.index() << node.level()).unwrap();
            Ok::<_, std::convert::Infallible>(root_of(&leaves[from..from + (1 << node.level())]))
        };
        let Ok(proof) = InclusionProof::build(record.position(), leaves.len() as u64, node);
        let statement = &self.compact.statement;
        let (origin, public_key) = (&statement.receipt.origin, statement.receipt.public_key);
        let root = root_of(&leaves);
        let signed = CoseReceipt::signed_bytes(origin, public_key, root);
        let log = CoseReceipt {
            proof: proof?,
            signature: *self.checkpoint_key.sign(&signed).as_bytes(),
            ..statement.receipt.clone()
        };
        let keys = KeysStatement {
            root,
            ..self.compact.keys().ok()?.statement
        };
        Some(CompactReceipt::sign(
            receipt.interaction,
            statement.issuer.parse().ok()?,
            record.bytes().to_vec(),
            log,
            &keys.sign(&self.checkpoint_key),
            &self.receipt_key,
        ))
    }

    /// Signs keys statement and end anew, for that checkpoint.
    fn restate(&self, receipt: &mut Receipt, checkpoint: &Checkpoint, confirmed: &Record) {
        let statement = KeysStatement {
            origin: checkpoint.origin.clone(),
            root: checkpoint.root,
            ..receipt.keys.statement.clone()
        };
        receipt.keys = statement.sign(&self.checkpoint_key);
        let mut end = receipt.end.end.clone();
        let of_it = |last: &&mut LastRecord| last.seq == confirmed.stream_seq();
        if let Some(last) = end.last.as_mut().filter(of_it) {
            last.hash = confirmed.hash();
        }
        receipt.end = end.sign(&self.checkpoint_key);
    }
}

/// Names in the confirmation the messages that are there.
fn name_messages(receipt: &mut Receipt) -> Option<()> {
    let stream = format!("interaction:{}", receipt.interaction);
    let hashes = receipt.envelopes.iter().map(|enclosed| {
        let (record, _) = enclosed.record(stream.clone()).ok()?;
        Some(json!(record.hash()))
    });
    let hashes: Option<Vec<Value>> = hashes.collect();
    let hashes = hashes?;
    let records = receipt.confirmed.event.get_mut("records")?;
    let begins = receipt.envelopes.first().map(|first| &first.body["type"]);
    let skipped = usize::from(begins.is_none_or(|begins| begins != "x811/request"));
    let names = ["request", "offer", "accept", "verify"];
    for (name, hash) in names.into_iter().skip(skipped).zip(&hashes) {
        records[name] = hash.clone();
    }
    records["payments"] = json!(hashes.get(4 - skipped..)?);
    Some(())
}

/// The place of every record but the first.
fn places(receipt: &mut Receipt) -> Vec<&mut LeafPlace> {
    let Receipt {
        agent_keys,
        confirmed,
        envelopes,
        parameters,
        rotations,
        ..
    } = receipt;
    let leaves = agent_keys.iter_mut().chain(rotations);
    let leaves = leaves.chain([confirmed, parameters]);
    let leaves = leaves.map(|leaf| &mut leaf.place);
    let messages = envelopes.iter_mut().map(|it| &mut it.place);
    leaves.chain(messages).collect()
}

/// The hash of the record at a position, where the file has it.
fn hash_at(receipt: &Receipt, position: u64) -> Option<Hash> {
    let own = format!("interaction:{}", receipt.interaction);
    let initiator = receipt.envelopes.last()?.body["from"].as_str()?;
    let agent = format!("agent:{initiator}");
    if position == 0 {
        return Some(receipt.ledger.record().ok()?.hash());
    }
    let of_ledger = receipt.rotations.iter().chain([&receipt.parameters]);
    let of_ledger = of_ledger.map(|leaf| (leaf, "ledger"));
    let of_agent = receipt.agent_keys.iter().map(|leaf| (leaf, &*agent));
    let mut leaves = of_ledger
        .chain(of_agent)
        .chain([(&receipt.confirmed, &*own)]);
    if let Some((leaf, stream)) = leaves.find(|(leaf, _)| leaf.place.position == position) {
        return Some(leaf.record(stream.to_owned()).ok()?.hash());
    }
    let mut messages = receipt.envelopes.iter();
    let message = messages.find(|it| it.place.position == position)?;
    Some(message.record(own.clone()).ok()?.0.hash())
}

/// Positions of the records that follow another one of the file, and what each names as that.
fn linked(receipt: &Receipt) -> Vec<(u64, Hash)> {
    let mut copy = receipt.clone();
    let follows = |place: &LeafPlace| hash_at(receipt, place.position - 1) == Some(place.prev);
    let places = places(&mut copy).into_iter().filter(|it| follows(it));
    let mut linked: Vec<(u64, Hash)> = places.map(|it| (it.position, it.prev)).collect();
    linked.sort_unstable();
    linked
}

/// Links these records anew, but for those that were told to name another one.
fn link(receipt: &mut Receipt, linked: &[(u64, Hash)]) {
    for (position, honest) in linked {
        let Some(before) = hash_at(receipt, position - 1) else {
            continue;
        };
        let mut here = places(receipt).into_iter();
        if let Some(place) = here.find(|it| it.position == *position && it.prev == *honest) {
            place.prev = before;
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
