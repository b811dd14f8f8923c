//! One story of the network over the whole log: what a record says of a block or a transaction, every
//! other says too, whoever's interaction it is in.
//!
//! | about | said once and for all |
//! |---|---|
//! | a block's hash | its number and its time |
//! | a transaction in a block | how many transfers of the token it made |
//! | the transfer of an ordinal there | from, to, amount |
//! | an interaction's transaction in a block | which transfers fit, where all of them are quoted |
//!
//! | about | said once as long as nothing is reorganised |
//! |---|---|
//! | a height | the hash of its block |
//! | an interaction's transaction | which transfers fit, whatever their ordinals, where all are quoted |
//! | a transaction that is final | its block, whoever's interaction it is in |
//!
//! What `seen` and `refuted` say of transfers rests on as many endpoints as must agree (settlement-watcher.md rule
//! 26). Where the parameters ask for two or more, two stories are *broken*: no endpoint alone can have
//! told the second. Where they ask for one, or do not say, each may be the word of a single endpoint:
//! where another record says otherwise, either that endpoint lied or the ledger did. That is
//! *contested*, and no finding (decision 0082).
//!
//! A reorganisation moves a transaction to another block, of another hash: there all may be
//! otherwise, and a height has another block. Not all reorganisations leave a record, so that what the
//! second table says otherwise is a remark (decision 0182), but for the last line: whoever watches a
//! transaction is told of its block by the same look. An interaction that kept it in one block while
//! another had it final in another, and then had it final itself, was told something else. What is
//! quoted is a part, so that nothing follows from what is not.
//!
//! What else must fit is *when*: a block is not younger than the record that names it, a blind
//! network shows no fresh block, and a look stands on one branch: `heads`.
//!
//! Memory: 53 bytes for each such word, which are some nine for an interaction that was paid: 480
//! bytes. They are kept by the first half of a SHA-256; two that share it take 2^64 attempts to
//! find, and would be a false alarm for whoever made them, or a lie missed. What only makes a remark is
//! compared by eight bytes.

use x811_protocol::digest::Digest;
use x811_protocol::event::{Event, Evidence, RefutedCause, SettlementEvent};
use x811_protocol::evm::TxHash;
use x811_protocol::id::InteractionId;
use x811_protocol::observation::{Block, Transfer};
use x811_protocol::settlement::{Aftermath, DeclaredStanding, Phase};

use crate::finding::findings::{Cause, Findings, Spot};
use crate::finding::remarks::Remarks;
use crate::money::grounds::are_all_quoted;
use crate::network::heads::{Chain, Heads, Mentioned};
use crate::record::numbered::{Entered, Keyed, Number, Numbered};
use crate::report::outcome::{Gap, Undecided};
use x811_protocol::stream::{Stream, Subject};
use x811_world::World;

/// The first half of a hash.
type Half = [u8; 16];

/// All that was said so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stories {
    words: Numbered<Word>,
    /// What `seen` says otherwise than another record.
    contested: u64,
}

/// What was said, and where first.
#[derive(Debug, Clone)]
struct Word {
    about: Half,
    said: Half,
    position: u64,
    /// True if one endpoint may have said it alone.
    is_contestable: bool,
}

/// What it means that something is said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// It cannot be on any chain.
    Sure,
    /// One endpoint may have said it alone.
    Contestable,
    /// A reorganisation may be between the two; how a remark goes on.
    Movable(&'static str),
    /// A later record may replace it.
    Latest,
    /// It cannot differ while the statement with this key is unchanged.
    Kept(Half),
}

impl Keyed for Word {
    type Key = Half;

    fn key(&self) -> &Half {
        &self.about
    }
}

/// What a record says.
#[derive(Debug)]
pub(crate) struct Telling {
    field: String,
    about: Half,
    said: Half,
    sentence: &'static str,
    weight: Weight,
}

impl Telling {
    /// The statement, contestable if one endpoint alone may have made it.
    fn of_one_endpoint(self, is_contestable: bool) -> Telling {
        let weight = match self.weight {
            Weight::Sure if is_contestable => Weight::Contestable,
            weight @ (Weight::Sure
            | Weight::Contestable
            | Weight::Movable(_)
            | Weight::Latest
            | Weight::Kept(_)) => weight,
        };
        Telling { weight, ..self }
    }
}

impl Stories {
    /// Takes what a record says, and names what an earlier one said otherwise.
    pub(crate) fn take(
        &mut self,
        spot: &Spot,
        tellings: Vec<Telling>,
        findings: &mut Findings,
        remarks: &mut Remarks,
    ) {
        for telling in tellings {
            let Entered { number, is_new } = self.words.enter(Word {
                about: telling.about,
                said: telling.said,
                position: spot.position,
                is_contestable: telling.weight == Weight::Contestable,
            });
            if is_new {
                continue;
            }
            if let Weight::Kept(until_moved) = telling.weight {
                self.keep(number, until_moved, spot, telling, findings);
                continue;
            }
            let word = &mut self.words[number];
            if telling.weight == Weight::Latest {
                if word.said != telling.said {
                    (word.said, word.position) = (telling.said, spot.position);
                }
                continue;
            }
            if let Weight::Movable(how) = telling.weight {
                if another(&word.said, &telling.said) {
                    let sentence = format!(
                        "{}, and the record at position {} {how}, or one of the two is not true",
                        telling.sentence, word.position
                    );
                    remarks.add(spot.position, sentence);
                }
                (word.said, word.position) = (telling.said, spot.position);
                continue;
            }
            let (is_same, is_contested) = (
                word.said == telling.said,
                word.is_contestable || telling.weight == Weight::Contestable,
            );
            if word.is_contestable && telling.weight == Weight::Sure {
                // From here on what several endpoints said counts.
                (word.said, word.position, word.is_contestable) =
                    (telling.said, spot.position, false);
            }
            if is_same {
                continue;
            }
            if is_contested {
                self.contested += 1;
                continue;
            }
            let sentence = format!(
                "{}; the record at position {} says otherwise",
                telling.sentence, word.position
            );
            findings.add(spot, telling.field, Cause::Contradicts, sentence);
        }
    }

    /// Names what is said otherwise, if what is about `until_moved` was said before the other word.
    fn keep(
        &mut self,
        number: Number,
        until_moved: Half,
        spot: &Spot,
        telling: Telling,
        findings: &mut Findings,
    ) {
        let since = self.words.get(&until_moved).map(|word| word.position);
        let word = &mut self.words[number];
        if word.said != telling.said && since.is_some_and(|since| since < word.position) {
            let sentence = format!(
                "{}; by the record at position {} it was final in another block, and this one was kept \
                 all along",
                telling.sentence, word.position
            );
            findings.add(spot, telling.field, Cause::Contradicts, sentence);
        }
        (word.said, word.position) = (telling.said, spot.position);
    }

    /// That a payment was seen otherwise than others saw it.
    pub(crate) fn undecided(&self) -> Option<Undecided> {
        let count = self.contested;
        let sentence = format!(
            "{count} things that `seen` or `refuted` says of a transaction are otherwise in another record: a single \
             endpoint may have lied, or the ledger did; hold the log against the chain with --rpc"
        );
        Undecided::of(Gap::ContestedSightings, count, sentence)
    }
}

/// What a record of `stream` says of the network, by the world before it, the blocks that it mentions
/// first.
pub(crate) fn told(
    before: &World,
    stream: Option<&Stream>,
    event: &Event,
    (mentioned, heads): (Vec<Mentioned>, &Heads),
) -> Vec<Telling> {
    let mut tellings: Vec<Telling> = Vec::with_capacity(2 * mentioned.len());
    for (field, chain, block) in mentioned {
        tellings.push(at_height(chain, block, heads.reorganised(chain)));
        tellings.push(of_block(field, chain, block));
    }
    let Some(Stream::Of(Subject::Interaction(id))) = stream else {
        return tellings;
    };
    let live = before.watching(*id);
    let Some(payment) = live.and_then(|live| live.state.watched()) else {
        return tellings;
    };
    let Some(chain) = Chain::of(before, payment.network) else {
        return tellings;
    };
    let is_contestable = !must_agree(before, payment.network);
    let teller = Teller {
        chain,
        interaction: *id,
        declared: payment.declared.len(),
    };
    if let Event::Settlement(SettlementEvent::Seen(seen)) = event {
        let (tx, block) = (seen.tx_hash, seen.block);
        let seen = teller.transfers("transfers", tx, block, &seen.transfers, true);
        let seen = seen.into_iter();
        tellings.extend(seen.map(|telling| telling.of_one_endpoint(is_contestable)));
        tellings.push(teller.lies_in(tx, block.hash.as_bytes()));
    } else if let Event::Settlement(SettlementEvent::Unseen(unseen)) = event {
        tellings.push(teller.lies_in(unseen.tx_hash, b"unseen"));
    } else if let Event::Settlement(SettlementEvent::Reversed(reversed)) = event {
        tellings.push(teller.lies_in(reversed.tx_hash, b"reversed"));
    } else if let Event::Settlement(SettlementEvent::Returned(returned)) = event {
        tellings.push(teller.lies_in(returned.tx_hash, b"returned"));
    } else if let Event::Settlement(SettlementEvent::Final(reached)) = event
        && let Phase::Over(aftermath) = payment.phase
    {
        tellings.extend(teller.finals(aftermath, reached.head.number));
    } else if let Event::Settlement(SettlementEvent::Refuted(refuted)) = event {
        // Which transfers fit an authorization is all that this cause is about.
        let fitting = refuted.cause != RefutedCause::Unauthorized;
        let evidence = teller
            .evidence("evidence", &refuted.evidence, fitting)
            .into_iter();
        tellings.extend(evidence.map(|telling| telling.of_one_endpoint(is_contestable)));
    } else if let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = event {
        tellings.extend(teller.each(&confirmed.evidence));
    } else if let Event::Settlement(SettlementEvent::Late(late)) = event {
        tellings.extend(teller.each(&late.evidence));
    }
    tellings
}

/// Whether two endpoints or more must agree on whatever is recorded now.
fn must_agree(before: &World, network: &str) -> bool {
    let set = before
        .parameters()
        .and_then(|(_, set)| set.network(network));
    let quorum = set.and_then(|network| network.endpoint_quorum);
    quorum.is_some_and(|quorum| quorum > 1)
}

/// Whether the two are otherwise, of which a part may say where that is so.
fn another(was: &Half, is: &Half) -> bool {
    was[..8] != is[..8] && was[8..] != is[8..]
}

/// The first eight bytes of each.
fn two(one: &[u8], other: &[u8]) -> Half {
    let mut two = Half::default();
    two[..8].copy_from_slice(&one[..8]);
    two[8..].copy_from_slice(&other[..8]);
    two
}

/// Which block stands at a height, as long as nothing is reorganised.
fn at_height(chain: Chain, block: Block, reorganised: u64) -> Telling {
    let parts = [chain.id.as_u64(), block.number, reorganised].map(u64::to_be_bytes);
    let hash = block.hash.as_bytes();
    Telling {
        field: String::new(),
        about: half(&[b"h", &parts.concat()]),
        said: two(hash, hash),
        sentence: "a height has one block",
        weight: Weight::Movable(
            "names another one of this height: the chain was reorganised without a trace in the log",
        ),
    }
}

fn of_block(field: String, chain: Chain, block: Block) -> Telling {
    let mut said = Half::default();
    said[..8].copy_from_slice(&block.number.to_be_bytes());
    said[8..].copy_from_slice(&block.timestamp_s.to_be_bytes());
    Telling {
        field,
        about: half(&[
            b"b",
            &chain.id.as_u64().to_be_bytes(),
            block.hash.as_bytes(),
        ]),
        said,
        sentence: "a block has one number and one time",
        weight: Weight::Sure,
    }
}

/// An interaction and the chain that it is paid on.
struct Teller {
    chain: Chain,
    interaction: InteractionId,
    /// How many transactions it declared.
    declared: usize,
}

impl Teller {
    fn each(&self, evidence: &[Evidence]) -> Vec<Telling> {
        let each = evidence.iter().enumerate().map(|(index, evidence)| {
            let field = format!("evidence[{index}]");
            self.evidence(&field, evidence, true)
        });
        each.flatten().collect()
    }

    fn evidence(&self, field: &str, evidence: &Evidence, fitting: bool) -> Vec<Telling> {
        let (tx, block) = (evidence.tx_hash, evidence.block);
        let place = self.place(tx, block);
        let mut said = Half::default();
        said[..8].copy_from_slice(&evidence.transfer_count.to_be_bytes());
        let mut tellings = vec![Telling {
            field: format!("{field}.transfer_count"),
            about: half(&[b"c", &place]),
            said,
            sentence: "a transaction makes as many transfers in a block, whoever looks",
            weight: Weight::Sure,
        }];
        let field = format!("{field}.transfers");
        tellings.extend(self.transfers(&field, tx, block, &evidence.transfers, fitting));
        tellings.push(self.lies_in(tx, block.hash.as_bytes()));
        tellings
    }

    /// Where the transaction lies, for this interaction.
    fn lies_in(&self, tx: TxHash, said: &[u8]) -> Telling {
        Telling {
            field: String::new(),
            about: self.whereabouts(tx),
            said: half(&[said]),
            sentence: "",
            weight: Weight::Latest,
        }
    }

    fn whereabouts(&self, tx: TxHash) -> Half {
        let interaction = self.interaction.request_id().uuid().into_bytes();
        half(&[b"w", &self.chain.bytes(), tx.as_bytes(), &interaction])
    }

    /// The blocks of the transactions that are final at that height.
    fn finals(&self, aftermath: &Aftermath, height: u64) -> Vec<Telling> {
        let bound = aftermath
            .declared
            .iter()
            .filter(|it| aftermath.is_bound(it.tx_hash));
        let each = bound.filter_map(|declared| {
            let DeclaredStanding::Seen(block) = declared.standing else {
                return None;
            };
            if block.number > height {
                return None;
            }
            let tx = declared.tx_hash;
            Some(Telling {
                field: "event".to_owned(),
                about: half(&[b"k", &self.chain.bytes(), tx.as_bytes()]),
                said: half(&[block.hash.as_bytes()]),
                sentence: "a transaction is final in one block",
                weight: Weight::Kept(self.whereabouts(tx)),
            })
        });
        each.collect()
    }

    fn transfers(
        &self,
        field: &str,
        tx: TxHash,
        block: Block,
        transfers: &[Transfer],
        fitting: bool,
    ) -> Vec<Telling> {
        let place = self.place(tx, block);
        let each = transfers
            .iter()
            .enumerate()
            .map(|(index, transfer)| Telling {
                field: format!("{field}[{index}]"),
                about: half(&[b"t", &place, &transfer.ordinal.to_be_bytes()]),
                said: written(transfer),
                sentence: "a transfer is from one account to one other, of one amount",
                weight: Weight::Sure,
            });
        let mut tellings: Vec<Telling> = each.collect();
        if fitting && are_all_quoted(transfers, self.declared) {
            let list: Vec<u8> = transfers.iter().flat_map(written).collect();
            let ordinals = transfers.iter().flat_map(|t| t.ordinal.to_be_bytes());
            let ordinals: Vec<u8> = ordinals.collect();
            let interaction = self.interaction.request_id().uuid().into_bytes();
            tellings.push(Telling {
                field: field.to_owned(),
                about: half(&[b"f", &place, &interaction]),
                said: half(&[&list, &ordinals]),
                sentence: "the transfers that fit are the same whenever the transaction is in this \
                           block",
                weight: Weight::Sure,
            });
            tellings.push(Telling {
                field: String::new(),
                about: half(&[b"m", &self.chain.bytes(), tx.as_bytes(), &interaction]),
                said: two(&half(&[&list]), block.hash.as_bytes()),
                sentence: "a transaction moves the same in whichever block",
                weight: Weight::Movable(
                    "shows other transfers of it: it did something else after a reorganisation",
                ),
            });
        }
        tellings
    }

    /// A transaction in a block.
    fn place(&self, tx: TxHash, block: Block) -> Vec<u8> {
        let chain = self.chain.bytes();
        [&chain[..], tx.as_bytes(), block.hash.as_bytes()].concat()
    }
}

fn written(transfer: &Transfer) -> Half {
    let amount = transfer.amount.as_micro_usdc().to_be_bytes();
    half(&[transfer.from.as_bytes(), transfer.to.as_bytes(), &amount])
}

fn half(parts: &[&[u8]]) -> Half {
    let mut half = Half::default();
    half.copy_from_slice(&Digest::of_parts(parts).as_bytes()[..16]);
    half
}
