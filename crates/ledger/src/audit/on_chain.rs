//! Evidence of payments, kept for whoever holds it against the network once more
//! (settlement-watcher.md). The audit of a file asks nobody; this is what there is to ask for.

use foldhash::HashMap;
use x811_protocol::event::{Event, Evidence, RefutedCause};
use x811_protocol::evm::{ChainId, EvmAddress, TxHash};
use x811_protocol::id::InteractionId;
use x811_protocol::observation::Block;
use x811_protocol::parameters::Network;

use super::finding::{Cause, Finding, Spot};

/// What a record shows of one transaction, and what later records say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedEvidence {
    /// Place of the record in the log.
    pub position: u64,
    /// Its line in an export.
    pub line: Option<u64>,
    /// Its stream.
    pub stream: Option<String>,
    /// Which evidence of the record: `evidence[0]`, or `evidence` where there is one alone.
    pub field: String,
    /// The chain, as the parameters say that the interaction was opened under.
    pub chain_id: ChainId,
    /// The token, as the same parameters say.
    pub token: EvmAddress,
    /// What was shown.
    pub evidence: Evidence,
    /// Why it does not pay, where that is what it was shown for.
    pub refuted: Option<RefutedCause>,
    /// The block it is in by the last record that names one; none where a reorganisation took it
    /// back.
    pub block: Option<Block>,
}

impl RecordedEvidence {
    /// Whether the network says all that it was shown for when it says the same. That a transaction
    /// pays too little, or somebody else, rests on what else it moved too, which is not quoted.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        match self.refuted {
            None
            | Some(
                RefutedCause::Reverted | RefutedCause::WrongToken | RefutedCause::OlderThanAccept,
            ) => true,
            Some(
                RefutedCause::UsedAlready
                | RefutedCause::Short
                | RefutedCause::OtherPayee
                | RefutedCause::Unauthorized,
            ) => false,
        }
    }

    /// A finding: what the network says otherwise of `member`.
    pub fn differs(&self, member: &str, sentence: impl Into<String>) -> Finding {
        Finding {
            position: self.position,
            line: self.line,
            stream: self.stream.clone(),
            field: format!("{}.{member}", self.field),
            cause: Cause::EvidenceDiffers,
            sentence: sentence.into(),
        }
    }
}

/// Evidence so far, by transaction.
#[derive(Debug, Clone, Default)]
pub(super) struct Kept {
    list: Vec<RecordedEvidence>,
    places: HashMap<(InteractionId, TxHash), Vec<usize>>,
}

impl Kept {
    /// Takes a record of `interaction`, whose payment is on one of these `networks`.
    pub(super) fn take(
        &mut self,
        spot: &Spot,
        interaction: InteractionId,
        networks: &[Network],
        event: &Event,
    ) {
        let mut cause = None;
        if let Event::Refuted(refuted) = event {
            cause = Some(refuted.cause);
        }
        for (index, evidence) in shown(event).iter().enumerate() {
            let known = networks.iter().find(|known| known.name == evidence.network);
            let Some(network) = known else {
                continue;
            };
            let place = (interaction, evidence.tx_hash);
            self.places.entry(place).or_default().push(self.list.len());
            self.list.push(RecordedEvidence {
                position: spot.position,
                line: spot.line,
                stream: spot.stream.as_deref().map(str::to_owned),
                field: match cause {
                    Some(_) => "evidence".to_owned(),
                    None => format!("evidence[{index}]"),
                },
                chain_id: network.chain_id,
                token: network.token,
                evidence: evidence.clone(),
                refuted: cause,
                block: Some(evidence.block),
            });
        }
        if let Event::Seen(seen) = event {
            self.stand(interaction, seen.tx_hash, Some(seen.block));
        } else if let Event::Unseen(gone) = event {
            self.stand(interaction, gone.tx_hash, None);
        }
    }

    pub(super) fn finish(self) -> Vec<RecordedEvidence> {
        self.list
    }

    fn stand(&mut self, interaction: InteractionId, tx_hash: TxHash, block: Option<Block>) {
        let places = self.places.get(&(interaction, tx_hash));
        for place in places.into_iter().flatten() {
            self.list[*place].block = block;
        }
    }
}

/// The evidence of payments, and of what was none, in a record.
pub(super) fn shown(event: &Event) -> &[Evidence] {
    if let Event::Confirmed(confirmed) = event {
        &confirmed.evidence
    } else if let Event::Late(late) = event {
        &late.evidence
    } else if let Event::Refuted(refuted) = event {
        std::slice::from_ref(&refuted.evidence)
    } else {
        &[]
    }
}
